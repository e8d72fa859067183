"""`python -m benchmarks.auto`: the regret of `Auto`, given nothing, over that of `Recommended`, given b and σ.

Every case of the leaderboard's suite at T = 10,000; bars: a geometric mean of at most 1.1, and no case above 2.
`python -m benchmarks.auto 4` plays four times as many runs.

`python -m benchmarks.auto --long`: does the regret of `Auto` ever grow in proportion to time? To T = 10^6, without a
horizon; 8 runs of 24 worlds, ten minutes.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, NamedTuple

import numpy as np

import apportion as ap
from apportion.simulation.families import means_of
from apportion.studies.leaderboard.scores import Estimate, Score, ratio, score
from apportion.studies.leaderboard.suite import SUITE, Case
from benchmarks.results import write_results

HORIZON = 10_000
BAR, CASE_BAR = 1.1, 2.0


class Family(NamedTuple):
    """Worlds that differ in b alone."""

    name: str
    arms: int
    gap: float
    sigma: float


LONG = 1_000_000
LONG_RUNS = 8
EXPONENTS = (0.0, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0)
# The last one is out of reach before about T = 10^5: K (σ/Δ)² = 12,500.
WORLDS = (Family("one good arm", 3, 0.5, 1.0), Family("linear", 10, 0.1, 1.0), Family("one good arm", 5, 0.1, 5.0))
# Growth is an exponent of time over the last tenfold: 1 is linear, 0 is none, log T is 0.08 at 10^6.
GROWTH_BAR, RUN_BAR = 0.6, 0.9


def compare(case: Case, runs: int, horizon: int = HORIZON, seed: int = 1) -> tuple[Score, Score]:
    """Regret of `Recommended`, given b and σ, and of `Auto`, given nothing; they share the seed but not the noise."""

    def play(policy: ap.Policy) -> Score:
        found = ap.simulate(
            policy, case.instance, horizon=horizon, replications=runs, seed=seed, record=["regret"], periods=1,
            progress=False,
        )  # fmt: skip
        return score(found.regret.values.ravel())

    return play(ap.Recommended(b=case.b, sigma=case.sigma)), play(ap.Auto())


def geometric_mean(ratios: list[Estimate]) -> Estimate:
    """Of independent ratios; the error is that of the mean of their logarithms."""
    values, errors = np.array(ratios).T
    mean = float(np.exp(np.log(values).mean()))
    return Estimate(mean, mean * float(np.hypot.reduce(errors / values)) / len(values))


def main(effort: float = 1.0) -> int:
    """Print a row per case as it is done, and the geometric mean; exit code 1 if the bar is missed."""
    rows, ratios = [], []
    print("| case, at T = 10,000 | Recommended, given b and σ | Auto, given nothing | ratio |\n|---|---|---|---|")
    for case in SUITE:
        runs = int(effort * max(20, min(200, 400 // case.arms)))
        informed, auto = compare(case, runs)
        ratios.append(ratio(auto.of_mean, informed.of_mean))
        label = case._replace(horizon=HORIZON).label.replace(f", T={HORIZON:,}", "")
        print(
            f"| {label} | {informed.mean:.1f} | {auto.mean:.1f} | {ratios[-1][0]:.2f} ± {ratios[-1][1]:.2f} |",
            flush=True,
        )
        rows.append({"case": label, "runs": runs, "told": informed.mean, "auto": auto.mean,
                     "ratio": ratios[-1][0], "error": ratios[-1][1]})  # fmt: skip
    mean, error = geometric_mean(ratios)
    largest = max(each for each, _ in ratios)
    print(f"\nGeometric mean of the ratios: {mean:.3f} ± {error:.3f}, largest {largest:.2f}; bars {BAR}, {CASE_BAR}.")
    write_results("auto", [*rows, {"case": "geometric mean", "ratio": mean, "error": error, "bar": BAR}])
    return int(mean > BAR or largest > CASE_BAR)


def grow(policy: ap.Policy, world: ap.Instance, runs: int, horizon: int = LONG, seed: int = 1) -> dict[str, Any]:
    """The regret at four periods a decade from 1000 on, and how it grew over the last tenfold of time.

    `growth` = log10 of the mean regret at T over that at T/10, with the standard error from the runs; `run_growth`
    is the largest of a single run, and `lost` the largest part of the last nine tenths of T that a single run spent
    on arms other than the best, counted at the smallest gap: a run caught on a wrong arm for good has 1 or more.
    """
    count = round(4 * np.log10(horizon / 1000)) + 1
    periods = np.unique(np.geomspace(1000, horizon, count).round().astype(int)).tolist()
    before = periods.index(horizon // 10)
    found = ap.simulate(
        policy, world, horizon=horizon, replications=runs, seed=seed, record=["regret"], periods=periods,
        engine="dense", progress=False,
    )  # fmt: skip
    regret = found.regret.isel(policy=0, instance=0).transpose("replication", "period").values
    early, late = regret[:, before], regret[:, -1]
    each = late / late.mean() - early / early.mean()
    smallest = min(gap for gap in world.gaps if gap > 0)
    return {
        "periods": periods,
        "mean": [float(f"{value:.5g}") for value in regret.mean(axis=0)],
        "error": [float(f"{value:.3g}") for value in regret.std(axis=0, ddof=1) / np.sqrt(runs)],
        "worst": [float(f"{value:.5g}") for value in regret.max(axis=0)],
        "growth": float(np.log10(late.mean() / early.mean())),
        "growth_error": float(each.std(ddof=1) / np.sqrt(runs) / np.log(10)),
        "run_growth": float(np.log10(late / early).max()),
        "lost": float((late - early).max() / smallest / (horizon - horizon // 10)),
    }


def long(effort: float = 1.0) -> int:
    """Print a row per world; exit code 1 if mean regret or a single run grows too nearly as fast as time."""
    runs, rows, missed = max(2, int(effort * LONG_RUNS)), [], 0
    print(
        f"| world, T = {LONG:,}, {runs} runs | b | given nothing | growth | of a run | given b and σ | growth |\n"
        "|---|---|---|---|---|---|---|"
    )
    for family, arms, gap, sigma in WORLDS:
        for b in EXPONENTS:
            world = ap.Instance(means_of(family, arms, gap), b, sigma)
            # A horizon that is over counts as none: from period 2 on neither policy knows how long it will last.
            found = grow(ap.Auto(horizon=1), world, runs)
            informed = grow(ap.Recommended(b=b, sigma=sigma, horizon=1), world, runs)
            label = f"{family}, K={arms}, gap {gap:g}, σ={sigma:g}"
            print(
                f"| {label} | {b:g} | {found['mean'][-1]:.4g} ± {found['error'][-1]:.2g} "
                f"| {found['growth']:.2f} ± {found['growth_error']:.2f} | {found['run_growth']:.2f} "
                f"| {informed['mean'][-1]:.4g} ± {informed['error'][-1]:.2g} | {informed['growth']:.2f} |",
                flush=True,
            )
            rows.append({"world": label, "b": b, "runs": runs, **found, "told": informed})
            missed += found["growth"] > GROWTH_BAR or found["run_growth"] > RUN_BAR
    write_results("auto_long", rows)
    print(f"\n{missed} of {len(rows)} worlds above {GROWTH_BAR} in the mean or {RUN_BAR} in a run.")
    return int(missed > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What knowing nothing costs `Auto`.")
    parser.add_argument("effort", nargs="?", type=float, default=1.0, help="so many times the runs")
    parser.add_argument("--long", action="store_true", help="does regret grow in proportion to time, to T = 10^6?")
    given = parser.parse_args()
    sys.exit(long(given.effort) if given.long else main(given.effort))
