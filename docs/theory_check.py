"""The tables and the picture of docs/theory.md, measured regret over proven bound: python docs/theory_check.py"""

import math
import sys
from pathlib import Path

import numpy as np

import apportion as ap
from apportion import theory

PICTURE = Path(__file__).parent / "theory" / "bounds"
SPLITS = ("even", "leader")
SEED = 31


def one_good(arms, gap):
    """One arm better than all others by `gap`."""
    return (0.5 + gap,) + (0.5,) * (arms - 1)


def measured(policy, means, b, horizon, runs, periods=None):
    """Regret by period (rows) and run (columns)."""
    instance = ap.Instance(means, b=b)
    marks = [horizon] if periods is None else periods
    found = ap.simulate(
        policy, instance, horizon=horizon, replications=runs, seed=SEED, periods=marks, progress=False,
        record=("regret",),
    )  # fmt: skip
    return np.asarray(found.regret.transpose("period", ...).values).reshape(len(marks), -1)


def described(values):
    """A mean with its standard error."""
    return f"{np.mean(values):.0f} ({np.std(values) / math.sqrt(len(values)):.0f})"


def fixed_gaps():
    """One line a setting: both splits, measured and proven."""
    yield "| K | b | gap | T | even: measured | bound | ratio | leader: measured | bound | ratio | limit |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for arms, b, gap, horizon, runs in (
        (5, 0.5, 0.5, 10**5, 40), (5, 0.6, 0.5, 10**5, 40), (5, 0.75, 0.5, 10**5, 40), (5, 0.9, 0.5, 10**5, 40),
        (5, 1.0, 0.5, 10**5, 40), (2, 0.75, 1.0, 10**6, 10), (30, 0.75, 0.5, 10**5, 10), (30, 0.9, 0.5, 10**5, 10),
    ):  # fmt: skip
        means = one_good(arms, gap)
        cells = [str(arms), str(b), str(gap), f"10^{round(math.log10(horizon))}"]
        for split in SPLITS:
            values = measured(ap.AdaptiveElimination(b=b, split=split), means, b, horizon, runs)[-1]
            bound = theory.adaptive_regret_bound(means, b=b, horizon=horizon, split=split)
            cells += [described(values), f"{bound:,.0f}", f"{np.mean(values) / bound:.3f}"]
        limit = f"{theory.adaptive_regret_bound(means, b=b, split='leader'):,.0f}" if b > 0.5 else "none"
        yield "| " + " | ".join([*cells, limit]) + " |"


def worst_gaps():
    """One line a setting: the largest mean regret over a grid of gaps around K^(1-b) sqrt(L/T)."""
    yield "| K | b | T | even: measured | bound | ratio | leader: measured | bound | ratio |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for arms, b, horizon in (
        (5, 0.5, 10**5),
        (5, 0.75, 10**5),
        (30, 0.75, 10**5),
        (30, 0.9, 10**5),
        (30, 1.0, 10**5),
    ):
        unit = arms ** (1 - b) * math.sqrt(2 * math.log(arms * (horizon + 1)) / horizon)
        cells = [str(arms), str(b), f"10^{round(math.log10(horizon))}"]
        for split in SPLITS:
            policy = ap.AdaptiveElimination(b=b, split=split)
            grid = [
                (f * unit, measured(policy, one_good(arms, f * unit), b, horizon, 6)[-1]) for f in (1, 1.4, 2, 2.8)
            ]
            gap, values = max(grid, key=lambda pair: np.mean(pair[1]))
            bound = theory.adaptive_regret_bound(
                arms=arms, max_gap=gap, b=b, horizon=horizon, split=split, kind="worst"
            )
            cells += [described(values), f"{bound:,.0f}", f"{np.mean(values) / bound:.3f}"]
        yield "| " + " | ".join(cells) + " |"


def picture():
    """Regret and its bound over time: the curve settles, and so does what is proven of it."""
    from matplotlib.figure import Figure

    arms, gap, horizon = 3, 1.0, 10**6
    marks = [round(10**power) for power in np.linspace(1, 6, 26)]
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.subplots()
    for place, b in enumerate((0.75, 0.9, 1.0)):
        means, look = one_good(arms, gap), ap.figures.look(place)
        found = measured(ap.AdaptiveElimination(b=b, split="leader"), means, b, horizon, 8, marks).mean(axis=1)
        later = [*marks, *(10**power for power in range(7, 17))]
        bounds = [theory.adaptive_regret_bound(means, b=b, horizon=t, split="leader") for t in later]
        axes.plot(marks, found, color=look.colour, marker=look.marker, markersize=4)
        axes.plot(later, bounds, color=look.colour, linestyle=look.dashes, marker=look.marker, markersize=4)
        side = 0.88 if b == 1.0 else 1.12  # the two lowest curves are close
        axes.text(1.6 * horizon, found[-1] * side, f"measured, b = {b}", color=look.colour, va="center", fontsize=9)
        axes.text(later[-1], bounds[-1] * 1.15, f"bound, b = {b}", color=look.colour, ha="right", fontsize=9)
    axes.set(xscale="log", yscale="log", xlabel="period", ylabel="regret", ylim=(5, 1.5e4))
    title = 'Both settle: regret of AdaptiveElimination(split="leader") and its bound (K = 3, gap 1)'
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(alpha=0.25)
    png, vector = ap.figures.save(figure, PICTURE)
    vector.unlink()
    return png


def main():
    """Print the tables, draw the picture."""
    for table in (fixed_gaps(), worst_gaps()):
        sys.stdout.writelines(f"{line}\n" for line in table)
        sys.stdout.write("\n")
        sys.stdout.flush()
    sys.stdout.write(f"{picture()}\n")


if __name__ == "__main__":
    main()
