"""The phase diagram over (b, c): the constant C* as a colour, three transitions as lines, measured slopes as dots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from apportion import theory
from apportion.model.law import Instance
from apportion.studies.intervals import mean_and_error
from apportion.studies.page import Figure
from apportion.studies.paper.bent_policies import SplitOfEstimates
from apportion.studies.paper.runs import growth_in_log
from apportion.studies.paper.section import OnStep, Values
from apportion.studies.seeds import seed_of

MEANS = (1.0, 0.8, 0.6)
# So little noise that slopes are those of the limit within the horizon; C* goes as σ² and is shown in units of it.
SIGMA = 0.01
GRID_STEPS = 48
SMALLEST_C, LARGEST_C = 0.01, 0.995
COLOURS = (0.02, 100.0)
DOT_B = (0.03, 0.15, 0.3, 0.45, 0.6, 0.75)
DOT_C = (0.15, 0.3, 0.45, 0.6, 0.75, 0.85)


def measure_diagram(horizon: int, runs: int, seed: int, on_step: OnStep) -> Values:
    """C* on a grid, and slopes measured at some points."""
    # b as a part of c, so that the grid ends at the line b = c.
    c_grid, parts = np.linspace(SMALLEST_C, LARGEST_C, GRID_STEPS + 1).tolist(), np.linspace(0.0, 1.0, GRID_STEPS + 1)
    b_grid = [(parts * c).tolist() for c in c_grid]
    constants = [[_constant(b, c) for b in row] for row, c in zip(b_grid, c_grid)]
    dots: list[dict[str, Any]] = []
    for c in DOT_C:
        on_step(f"phase diagram, c = {c:g}")
        for b in DOT_B:
            if b <= c:
                power = 2 * c - 2 * b
                policy = SplitOfEstimates(b=b, c=c, floor=min(1.5, 0.9 / power) if power > 0 else 1.5)
                world = Instance(MEANS, b=b, sigma=SIGMA, c=c)
                slope = mean_and_error(growth_in_log(policy, world, horizon, runs, seed_of(seed, "dot", b, c)))
                dots.append({"b": b, "c": c, "constant": _constant(b, c), "slope": slope.value / SIGMA**2,
                             "error": slope.error / SIGMA**2})  # fmt: skip
    ratios = [dot["slope"] / dot["constant"] for dot in dots]
    relative = float(np.median([dot["error"] / dot["slope"] for dot in dots]))
    return {
        "means": list(MEANS), "b": b_grid, "c": c_grid, "constants": constants, "dots": dots,
        "median": float(np.median(ratios)), "least": min(ratios), "largest": max(ratios), "relative error": relative,
    }  # fmt: skip


def _constant(b: float, c: float) -> float:
    """C* in units of σ², to six digits."""
    return float(f"{theory.bent_constant(MEANS, min(b, c), 1.0, c):.6g}")


def draw(diagram: Values) -> Figure:
    """Colours, lines, dots, and a word for each region."""
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import FuncFormatter, LogLocator

    from apportion.reporting.figures.canvas import new_canvas
    from apportion.reporting.figures.style import INK, SMALL, picture_style

    dots = diagram["dots"]
    heights = np.repeat(np.array(diagram["c"])[:, np.newaxis], len(diagram["b"][0]), axis=1)
    shared: dict[str, Any] = {"norm": LogNorm(*COLOURS, clip=True), "cmap": "viridis"}
    with picture_style():
        notes = ["colour: C*, regret is C*·log T", "dots: measured", "upper edge: the paper"]
        canvas = new_canvas(1, "Where returns diminish, one transition becomes three", notes, rows=10)
        ax = canvas.axes[0]
        mesh = ax.pcolormesh(
            diagram["b"], heights, diagram["constants"], shading="gouraud", rasterized=True, **shared
        )
        ax.fill_between([0.0, 1.0], [0.0, 1.0], color="#ECECEC", lw=0)
        b, c, slopes = ([dot[name] for dot in dots] for name in ("b", "c", "slope"))
        ax.scatter(b, c, c=slopes, s=120, edgecolors="white", linewidths=0.7, zorder=3, **shared)
        for dashes, ends in (("-", [(0.5, 0.5), (0.5, 1.0)]), ("--", [(0.0, 0.0), (0.5, 1.0)]),
                             (":", [(0.0, 0.5), (0.5, 1.0)])):  # fmt: skip
            ax.plot(*zip(*ends), color="white", ls=dashes, lw=2.2, zorder=2)
        ax.plot([0.5], [1.0], "o", color=INK, ms=9, zorder=4, clip_on=False)
        words: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALL, "zorder": 5}
        ax.text(
            0.66,
            0.3,
            "b > c: a tiny amount\ntells without limit,\nregret is bounded for\na known horizon only",
            color=INK,
            **words,
        )
        ax.text(0.52, 1.035, "the transition of the paper", color=INK, **words | {"ha": "left"})
        steep = math.degrees(math.atan(2.0))
        for text, b_at, c_at, angle in (
            ("b = c − 1/2: above, explore in turns", 0.148, 0.678, 45.0),
            ("b = c/2: left, losing arms cost log T", 0.2225, 0.515, steep),
            ("b = 1/2: left, small arms cost more", 0.525, 0.76, 90.0),
        ):
            ax.text(b_at, c_at, text, color="white", rotation=angle, rotation_mode="anchor", **words)
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(0.0, 1.0)
        ax.set_aspect("equal")
        ax.grid(visible=False)
        plain = FuncFormatter(lambda value, _: f"{value:g}")
        bar = canvas.figure.colorbar(mesh, ax=ax, shrink=0.85, extend="both", ticks=LogLocator(), format=plain)
        bar.set_label("C* in units of σ²")
        canvas.finish("b: noise grows as amount^b", "c: returns grow as amount^c", [""])
    return canvas.figure
