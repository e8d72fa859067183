"""The picture of what single runs lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D

from apportion.reporting.figures.canvas import choose_panels, new_canvas, note_left_out
from apportion.reporting.figures.data import policies_of, runs_of, worlds_of
from apportion.reporting.figures.phrases import as_text, compare_facts, number, runs_text, thousands, wrapped
from apportion.reporting.figures.scales import log_axis
from apportion.reporting.figures.style import FAINT, INK, SMALL, look, picture_style
from apportion.reporting.figures.titles import tail_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from apportion.simulation.result import Result

# Of more runs than this, evenly spaced ranks are drawn.
MOST_DOTS = 400
GOLDEN_RATIO = 0.6180339887


@picture_style()
def final_regret_distribution(result: Result, *, instance: str | Sequence[str] | None = None) -> Figure:
    """What single runs lose by the end: a row per policy, a dot per run, with the mean and the 99% quantile.

    The axis is logarithmic, which shows the tails; runs without regret are at its left end. Of more than 400 runs
    every dot is one of 400 evenly spaced ranks, the least and the largest among them.
    """
    worlds = worlds_of(result, instance)
    shown = choose_panels(worlds)
    names = policies_of(result)
    common, apart = compare_facts([world.facts for world in shown], but="horizon")
    runs = [[runs_of(result, p, world)[:, -1] for p in range(len(names))] for world in shown]
    positive = np.concatenate([values[values > 0] for panel in runs for values in panel])
    count = max(len(values) for panel in runs for values in panel)
    notes = [
        common,
        f"{runs_text(count)} of {thousands(shown[0].horizon)} periods",
        *note_left_out(shown, worlds),
    ]
    low, high = (float(positive.min()), float(positive.max())) if len(positive) else (0.0, 1.0)
    log = len(positive) > 0
    left = low / 1.5 if log else 0.0
    canvas = new_canvas(len(shown), tail_title(names, runs, shown[0].horizon), notes, share=True, rows=len(names))
    for ax, panel in zip(canvas.axes, runs):
        for p, values in enumerate(panel):
            if not len(values):
                continue
            style, ordered = look(p), np.maximum(np.sort(values), left)
            dots = ordered[np.unique(np.linspace(0, len(ordered) - 1, MOST_DOTS).round().astype(int))]
            # Steps of the golden ratio spread neighbours in rank over the height of the row: no chance, no overlap.
            heights = p - 0.14 - 0.24 * ((np.arange(len(dots)) * GOLDEN_RATIO) % 1.0)
            ax.plot(dots, heights, ls="", marker=style.marker, ms=3.2, mew=0, color=style.colour, alpha=0.55)
            q25, q75, tail = (max(float(q), left) for q in np.quantile(values, (0.25, 0.75, 0.99)))
            mean = max(float(values.mean()), left)
            ax.plot([ordered[0], ordered[-1]], [p, p], color=INK, lw=0.9)
            ax.plot([q25, q75], [p, p], color=style.colour, lw=6, solid_capstyle="butt")
            ax.plot([tail, tail], [p - 0.14, p + 0.14], color=INK, lw=2.2)
            ax.plot([mean], [p], marker="D", ms=7.5, color=style.colour, mec="white", mew=1.2, ls="", zorder=4)
            if len(shown) == 1:
                summary = f"mean {number(float(values.mean()))}, 99% up to {number(float(np.quantile(values, 0.99)))}"
                ax.annotate(
                    summary if values.max() > 0 else "no regret", (1.0, p), xycoords=("axes fraction", "data"),
                    xytext=(8, 0), textcoords="offset points", va="center", fontsize=SMALL,
                )  # fmt: skip
        ax.set_yticks(range(len(names)), [as_text(wrapped(label, 22)) for label in names])
        ax.set_ylim(len(names) - 0.55, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(visible=False, axis="y")
        if log:
            log_axis(ax, "x", left / 1.1, high * 1.3)
        else:
            ax.set_xlim(0, 1)
    handles = [
        Line2D([], [], ls="", marker="o", ms=4, mew=0, color=FAINT, label="one run"),
        Line2D([], [], ls="", marker="D", ms=8, mec="white", color=FAINT, label="mean"),
        Line2D([], [], lw=6, solid_capstyle="butt", color=FAINT, label="the middle half"),
        Line2D([], [], ls="", marker="|", ms=13, mew=2.2, color=INK, label="99% of the runs lose no more"),
    ]
    canvas.figure.legend(handles=handles, loc="outside lower center", ncols=4)
    canvas.finish("final regret of a run, in units of reward", "", apart, legend=False)
    return canvas.figure
