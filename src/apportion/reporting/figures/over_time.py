"""The picture of regret against time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from apportion._common import validation
from apportion.reporting.figures.board import View, blank_board, left_out, sample
from apportion.reporting.figures.bounds import bounds_of
from apportion.reporting.figures.data import Floats, final_of, policies_of, runs_of, worlds_of
from apportion.reporting.figures.scales import log_axis, plain_axis, reach
from apportion.reporting.figures.style import light, look
from apportion.reporting.figures.titles import ranking
from apportion.reporting.figures.words import counted, number, plain, short, thousands, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from apportion.simulation.result import Result


@light()
def regret_over_time(
    result: Result,
    *,
    instance: str | Sequence[str] | None = None,
    scale: str = "linear",
    bands: bool = True,
    bounds: bool = True,
) -> Figure:
    """Mean regret against time, a line per policy and a panel per instance (at most six, or those in `instance`).

    - `scale`: "linear", or "log" for both axes; a policy without regret has no line there, only its name.
    - `bands`: what 5% to 95% of the runs lose.
    - `bounds`: theory where it applies. For Gaussian noise the lower bound of Theorem 1, which holds for the worst
      instance, so on a single one a policy may lie below; at b ≤ 1/2 the slope of Theorem 3. The guarantees of
      Theorems 2 and 4 where they are on the scale of the data.
    """
    log = validation.choice("scale", scale, ("linear", "log")) == "log"
    worlds = worlds_of(result, instance)
    shown = sample(worlds)
    names = policies_of(result)
    common, apart = told_apart([world.facts for world in shown], but="horizon")
    notes = [common, counted(result.dataset.sizes["replication"]), "bands: 5% to 95% of them" if bands else ""]
    notes += left_out(shown, worlds)
    finals = [[final_of(label, runs_of(result, p, world)) for p, label in enumerate(names)] for world in shown]
    board = blank_board(len(shown), ranking(finals, f"after {thousands(shown[0].horizon)} periods"), notes, share=log)
    periods = result.dataset["period"].values
    for ax, world in zip(board.axes, shown):
        view, ends = View(log), []
        for p, label in enumerate(names):
            runs = runs_of(result, p, world)
            if len(runs):
                mean = _draw_runs(ax, view, periods, runs, p, label, bands)
                ends.append((mean, f"{short(label)}: {number(mean)}"))
        for bound in bounds_of(result, world, periods, names) if bounds else ():
            if view.admits(bound):
                ax.plot(periods, bound.values, color=bound.colour, lw=1.3, ls=bound.dashes, label=plain(bound.label))
                ends.append((float(bound.values[-1]), bound.label))
        board.note(ax, view, ends if len(shown) == 1 else [])
    board.set_y(log)
    for ax in board.axes:
        if log:
            log_axis(ax, "x", *reach(periods))
        else:
            ax.set_xlim(0, float(periods[-1]))
            plain_axis(ax, "x", most=6 if len(shown) == 1 else 4)
    board.label_ends(float(periods[-1]))
    board.finish("time in periods", "regret so far, in units of reward", apart)
    return board.figure


def _draw_runs(ax: Axes, view: View, periods: Any, runs: Floats, place: int, label: str, bands: bool) -> float:
    """One policy over time; returns where its mean ends."""
    style, mean = look(place), runs.mean(axis=0)
    line = np.where(mean > 0, mean, math.nan) if view.log else mean
    view.see(line)
    if bands and len(runs) > 1:
        low, high = np.quantile(runs, (0.05, 0.95), axis=0)
        view.see(high)
        if view.log:  # down to a run without regret the band would reach to minus infinity
            low, high = np.maximum(low, mean / 30), np.maximum(high, mean / 30)
        ax.fill_between(periods, low, high, where=~np.isnan(line), color=style.colour, alpha=0.13, lw=0)
    ax.plot(
        periods, line, color=style.colour, ls=style.dashes, marker=style.marker, markeredgecolor="white",
        markeredgewidth=0.8, markevery=(0.02 * (place % 6), 0.14) if np.isfinite(line).sum() > 1 else None, zorder=3,
        label=plain(label),
    )  # fmt: skip
    return float(mean[-1])
