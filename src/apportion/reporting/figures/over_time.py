"""The picture of regret against time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from apportion._common import validation
from apportion.reporting.figures.bounds import bounds_of
from apportion.reporting.figures.canvas import AxisRange, choose_panels, new_canvas, note_left_out
from apportion.reporting.figures.data import Floats, final_of, policies_of, runs_of, worlds_of
from apportion.reporting.figures.phrases import as_text, compare_facts, number, runs_text, thousands, wrapped
from apportion.reporting.figures.scales import log_axis, log_limits, plain_axis
from apportion.reporting.figures.style import look, picture_style
from apportion.reporting.figures.titles import ranking_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from apportion.simulation.result import Result


@picture_style()
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
    shown = choose_panels(worlds)
    names = policies_of(result)
    common, apart = compare_facts([world.facts for world in shown], but="horizon")
    notes = [common, runs_text(result.dataset.sizes["replication"]), "bands: 5% to 95% of them" if bands else ""]
    notes += note_left_out(shown, worlds)
    finals = [[final_of(label, runs_of(result, p, world)) for p, label in enumerate(names)] for world in shown]
    canvas = new_canvas(
        len(shown), ranking_title(finals, f"after {thousands(shown[0].horizon)} periods"), notes, share=log
    )
    periods = result.dataset["period"].values
    for ax, world in zip(canvas.axes, shown):
        span, ends = AxisRange(log), []
        for p, label in enumerate(names):
            runs = runs_of(result, p, world)
            if len(runs):
                mean = _draw_runs(ax, span, periods, runs, p, label, bands)
                ends.append((mean, f"{wrapped(label)}: {number(mean)}"))
        for bound in bounds_of(result, world, periods, names) if bounds else ():
            if span.makes_room_for(bound):
                ax.plot(
                    periods, bound.values, color=bound.colour, lw=1.3, ls=bound.dashes, label=as_text(bound.label)
                )
                ends.append((float(bound.values[-1]), bound.label))
        canvas.add_panel(ax, span, ends if len(shown) == 1 else [])
    canvas.scale_y(log)
    for ax in canvas.axes:
        if log:
            log_axis(ax, "x", *log_limits(periods))
        else:
            ax.set_xlim(0, float(periods[-1]))
            plain_axis(ax, "x", most=6 if len(shown) == 1 else 4)
    canvas.label_ends(float(periods[-1]))
    canvas.finish("time in periods", "regret so far, in units of reward", apart)
    return canvas.figure


def _draw_runs(ax: Axes, span: AxisRange, periods: Any, runs: Floats, policy: int, label: str, bands: bool) -> float:
    """One policy over time; returns where its mean ends."""
    style, mean = look(policy), runs.mean(axis=0)
    line = np.where(mean > 0, mean, math.nan) if span.log else mean
    span.include(line)
    if bands and len(runs) > 1:
        low, high = np.quantile(runs, (0.05, 0.95), axis=0)
        span.include(high)
        if span.log:  # down to a run without regret the band would log_limits to minus infinity
            low, high = np.maximum(low, mean / 30), np.maximum(high, mean / 30)
        ax.fill_between(periods, low, high, where=~np.isnan(line), color=style.colour, alpha=0.13, lw=0)
    ax.plot(
        periods, line, color=style.colour, ls=style.dashes, marker=style.marker, markeredgecolor="white",
        markeredgewidth=0.8, markevery=(0.02 * (policy % 6), 0.14) if np.isfinite(line).sum() > 1 else None, zorder=3,
        label=as_text(label),
    )  # fmt: skip
    return float(mean[-1])
