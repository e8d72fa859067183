"""Proposition 1: the tail of the worst monotone weighting, printed, corrected, exact, closed form, and drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from apportion.model import confidence
from apportion.reporting.html import shown
from apportion.studies.page import Block, Figure, Picture, Text, table_of
from apportion.studies.paper.section import OnStep, Section, Sizes, Values

COUNTS = (1, 2, 10, 1000)
LEVEL = 0.001
# Beyond this ε the exact probability is too small for a float at t = 3.
LARGEST_EPSILON = 20.0
# A supremum at this t costs as much as a hundred at t = 10.
COSTLY_T = 1000
# A frequency of fewer draws is not drawn.
FEWEST_DRAWS = 5


def measure(sizes: Sizes, seed: int, on_step: OnStep) -> Values:
    """Tails on a grid of thresholds, quantiles at one level, and where the printed statement fails."""
    curves = []
    for t in COUNTS:
        on_step(f"Proposition 1, t = {t}")
        draws = sizes.draws // (10 if t >= COSTLY_T else 1)
        suprema = drawn_suprema(t, draws, seed)
        highest = min(confidence.corrected_quantile(LEVEL, t), 8.0)
        grid = np.linspace(0.1, highest, 40)
        edge = math.sqrt(confidence.harmonic(t) / 2)
        frequency = [float(np.mean(suprema >= x)) for x in grid]
        exact = confidence.cone_tail(grid, t)
        spread = np.sqrt(exact * (1 - exact) / draws)
        off = float(np.max(np.abs(np.array(frequency) - exact) / np.maximum(spread, 1.0 / draws)))
        curves.append({
            "t": t, "draws": draws, "x": grid, "drawn": frequency, "exact": exact, "off": off,
            "printed": [confidence.printed_tail(float(x), t) for x in grid],
            "corrected": [confidence.corrected_tail(float(x), t) for x in grid],
            "closed": [math.exp(-0.5 * max(0.0, x - edge) ** 2) for x in grid],
            "mean square": float(np.mean(np.maximum(suprema, 0.0) ** 2)), "half harmonic": confidence.harmonic(t) / 2,
            "quantiles": {
                "printed": confidence.printed_quantile(LEVEL, t),
                "corrected": confidence.corrected_quantile(LEVEL, t),
                "closed": confidence.cone_closed_form(LEVEL, t), "exact": confidence.cone_quantile(LEVEL, t),
            },
        })  # fmt: skip
    return {"level": LEVEL, "curves": curves, "failures": [failure(t) for t in (1, 2, 3)]}


def drawn_suprema(t: int, draws: int, seed: int) -> Any:
    """The supremum for Gaussian noise by isotonic regression (SciPy's), the norm of what is above zero."""
    from scipy.optimize import isotonic_regression

    rng = np.random.default_rng([seed, t])
    found = np.empty(draws)
    for index in range(draws):
        levels = isotonic_regression(rng.standard_normal(t)).x
        found[index] = math.sqrt(float(np.sum(np.square(np.maximum(levels, 0.0)))))
    return found


def failure(t: int) -> dict[str, Any]:
    """The ε from which on the exact probability is above the printed bound; None if it never is."""
    from scipy.optimize import brentq

    def excess(epsilon: float) -> float:
        x = math.sqrt(1.5) * math.log(t) * epsilon
        exact = confidence.cone_tail(x, t) if x > 0 else 0.5  # at t = 1 the threshold is 0: half are above it
        return math.log(exact) + epsilon * epsilon / 2

    grid = np.linspace(0.05, LARGEST_EPSILON, 600)
    signs = [excess(float(epsilon)) > 0 for epsilon in grid]
    if not signs[-1]:
        return {"t": t, "from": None, "exact": None, "printed": None}
    last = max((index for index, sign in enumerate(signs) if not sign), default=0)
    start = float(brentq(excess, grid[last], grid[last + 1]))
    later = start + 1.0
    printed = math.exp(-(later**2) / 2)
    return {"t": t, "from": start, "exact": math.exp(excess(later) - later**2 / 2), "printed": printed}


def show(values: Values) -> list[Block]:
    """Where it fails, quantiles, how well draws agree, and the picture."""
    first, second, third = values["failures"]
    quantiles = [{"t": curve["t"], **curve["quantiles"]} for curve in values["curves"]]
    from_three = "No violation was found" if third["from"] is None else f"It fails from ε = {shown(third['from'])} on"
    return [
        Text(
            "Printed: the largest normalised sum over rising weights exceeds √(3/2)·log t·ε with probability at "
            "most exp(−ε²/2σ²). For Gaussian noise the exact probability is above that from ε = "
            f"{shown(first['from'])} on at t = 1 and from ε = {shown(second['from'])} on at t = 2 (one further on it "
            f"is {shown(second['exact'])} against {shown(second['printed'])}). {from_three} at t = 3. Corrected, for "
            "all t: √h(t)·ε is exceeded with probability at most t·exp(−ε²/2σ²). Exact for Gaussian noise: a "
            "mixture of chi laws, the cone law, which grows as √log t, not as log t."
        ),
        Picture("proposition-1", "P(supremum ≥ x) against x.", lambda: draw(values)),
        table_of(
            f"The threshold at which each law puts the tail at {shown(values['level'])}. At t = 1 the printed one is "
            "no bound.", quantiles,
            {"t": "t", "printed": "printed", "corrected": "corrected", "closed form": "closed", "exact": "exact"},
        ),
        table_of(
            "Draws by isotonic regression against the exact law: the largest distance in standard errors over all "
            "thresholds, and the mean square, which is half the harmonic number.", values["curves"],
            {"t": "t", "draws": "draws", "largest distance": "off", "H_t/2": "half harmonic",
             "mean square of draws": "mean square"},
        ),
    ]  # fmt: skip


def draw(values: Values) -> Figure:
    """Tails against the threshold, a panel for each t."""
    from apportion.reporting.figures.canvas import log_axis, new_canvas
    from apportion.reporting.figures.style import FAINT, look, picture_style

    first, second = values["failures"][:2]
    words = {"printed": "printed", "corrected": "corrected", "closed": "closed form", "exact": "exact (cone law)"}
    with picture_style():
        title = f"The printed tail is below the exact one at t = 1, and at t = 2 from ε = {second['from']:.3g} on"
        canvas = new_canvas(4, title, ["Gaussian noise", "grey: beyond the first failure of the printed bound"])
        for ax, curve in zip(canvas.axes, values["curves"]):
            for index, (name, label) in enumerate(words.items()):
                style = look(index)
                tail = np.array(curve[name], dtype=float)
                keep = tail > 0
                x = np.array(curve["x"])[keep]
                ax.plot(x, tail[keep], color=style.colour, ls=style.dashes, lw=1.8, label=label)
            drawn = np.array(curve["drawn"])
            often = drawn * curve["draws"] >= FEWEST_DRAWS
            ax.plot(np.array(curve["x"])[often], drawn[often], "o", color="black", ms=3.5, label="drawn")
            log_axis(ax, "y", values["level"] / 10, 1.5)
            ax.set_xlim(0, curve["x"][-1])
            fails = {1: first, 2: second}.get(curve["t"])
            if fails is not None:
                start = math.sqrt(1.5) * math.log(curve["t"]) * fails["from"]
                ax.axvspan(start, curve["x"][-1], color=FAINT, alpha=0.13, lw=0)
        canvas.finish("threshold x, in units of σ", "P(supremum ≥ x)", [f"t = {c['t']:,}" for c in values["curves"]])
    return canvas.figure


SECTION = Section("proposition-1", "Proposition 1: concentration for rising weights", __name__, measure, show)
