"""The pictures of regret: against time, against a parameter of the worlds, and of what single runs lose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from apportion._common import validation
from apportion.reporting.figures import data, phrases
from apportion.reporting.figures.bounds import LOWER, bounds_of, lower_curve
from apportion.reporting.figures.canvas import AxisRange, choose_panels, log_axis, new_canvas, plain_axis, tick_at
from apportion.reporting.figures.style import FAINT, INK, SMALL, look, picture_style
from apportion.reporting.figures.titles import ranking_title, scaling_title, tail_title

if TYPE_CHECKING:
    from apportion.simulation.result import Result

# Of more runs than this, evenly spaced ranks are drawn.
MOST_DOTS = 400
GOLDEN_RATIO = 0.6180339887


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
    worlds = data.worlds_of(result, instance)
    shown, left_out = choose_panels(worlds)
    names = data.policies_of(result)
    common, apart = phrases.compare_facts([world.facts for world in shown], but="horizon")
    runs_shown = "bands: 5% to 95% of them" if bands else ""
    notes = [common, phrases.runs_text(result.dataset.sizes["replication"]), runs_shown, left_out]
    runs = [[data.runs_of(result, p, world) for p in range(len(names))] for world in shown]
    finals = [[data.final_of(*pair) for pair in zip(names, panel)] for panel in runs]
    title = ranking_title(finals, f"after {phrases.thousands(shown[0].horizon)} periods")
    canvas = new_canvas(len(shown), title, notes, share=log)
    periods = result.dataset["period"].values
    for ax, world, panel in zip(canvas.axes, shown, runs):
        span, ends = AxisRange(log), []
        for p, (label, values) in enumerate(zip(names, panel)):
            if len(values):
                mean = _draw_runs(ax, span, periods, values, p, label, bands)
                ends.append((mean, f"{phrases.wrapped(label)}: {phrases.number(mean)}"))
        for bound in bounds_of(result, world, periods, names) if bounds else ():
            if span.makes_room_for(bound):
                label = phrases.as_text(bound.label)
                ax.plot(periods, bound.values, color=bound.colour, lw=1.3, ls=bound.dashes, label=label)
                ends.append((float(bound.values[-1]), bound.label))
        canvas.add_panel(ax, span, ends if len(shown) == 1 else [])
    canvas.scale_y(log)
    for ax in canvas.axes:
        if log:
            log_axis(ax, "x", float(periods[0]), float(periods[-1]))
        else:
            ax.set_xlim(0, float(periods[-1]))
            plain_axis(ax, "x", most=6 if len(shown) == 1 else 4)
    canvas.label_ends(float(periods[-1]))
    canvas.finish("time in periods", "regret so far, in units of reward", apart)
    return canvas.figure


def _draw_runs(
    ax: Axes, span: AxisRange, periods: Any, runs: data.Floats, policy: int, label: str, bands: bool
) -> float:
    """One policy over time; returns where its mean ends."""
    style, mean = look(policy), runs.mean(axis=0)
    line = np.where(mean > 0, mean, math.nan) if span.log else mean
    span.include(line)
    if bands and len(runs) > 1:
        low, high = np.quantile(runs, (0.05, 0.95), axis=0)
        span.include(high)
        if span.log:  # down to a run without regret the band would reach to minus infinity
            low, high = np.maximum(low, mean / 30), np.maximum(high, mean / 30)
        ax.fill_between(periods, low, high, where=~np.isnan(line), color=style.colour, alpha=0.13, lw=0)
    ax.plot(
        periods, line, color=style.colour, ls=style.dashes, marker=style.marker, markeredgecolor="white",
        markeredgewidth=0.8, markevery=(0.02 * (policy % 6), 0.14) if np.isfinite(line).sum() > 1 else None, zorder=3,
        label=phrases.as_text(label),
    )  # fmt: skip
    return float(mean[-1])


@picture_style()
def regret_against(results: Result | Sequence[Result], parameter: str, *, bounds: bool = True) -> Figure:
    """Final regret against "b", "arms", "gap" or "horizon", with standard errors; panels where other things vary too.

    `results` is one result, or several that differ in their horizon. For arms, gap and horizon each line carries the
    exponent of a power law fitted to the means, with its standard error (`fitted_exponent`). `bounds` adds the lower
    bound of Theorem 1 where the noise is Gaussian.
    """
    validation.choice("parameter", parameter, tuple(phrases.PARAMETER_NAMES))
    listed = list(results) if isinstance(results, Sequence) else [results]
    if not listed:
        raise validation.refuse("results", "one result or a list of results", listed)
    names = list(dict.fromkeys(label for result in listed for label in data.policies_of(result)))
    all_points = [point for result in listed for point in data.finals_of_worlds(result)]
    points = [point for point in all_points if point.world.facts[parameter] is not None]
    values = sorted({point.world.facts[parameter] for point in points})
    if len(values) < 2:
        known = f"{parameter} is {values[0]:g}" if values else f"these worlds have no {parameter}"
        raise validation.refuse("parameter", f"one that varies in the results ({known})", parameter)
    groups = data.grouped(points, parameter)
    shown, left_out = choose_panels(groups)
    common, apart = phrases.compare_facts([data.shared_facts(group) for group in shown], but=parameter)
    x_label = phrases.PARAMETER_NAMES[parameter]
    fits = parameter != "b" and values[0] > 0
    exponents = f"exponents: fitted powers of the {x_label.split(' in ')[0]}" if fits else ""
    notes = [common, "bars: standard errors", exponents, left_out]
    panels = [data.curves_of(group, names, parameter) for group in shown]
    log = any((line.mean > 0).any() for panel in panels for line in panel)
    canvas = new_canvas(len(shown), scaling_title(panels, parameter, fits), notes, share=True)
    for ax, group, panel in zip(canvas.axes, shown, panels):
        span, ends = AxisRange(log), []
        for line in panel:
            end, fit = _draw_line(ax, span, line, fits)
            alone = f"{phrases.wrapped(line.label)}\n{fit}" if fit else phrases.wrapped(line.label)
            among = fit.removeprefix("exponent ") if math.isfinite(end) else f"{phrases.wrapped(line.label)}: {fit}"
            ends.append((end, alone if len(shown) == 1 else among))
        if bounds and parameter != "gap" and (curve := lower_curve(group, parameter)) is not None:
            span.include(curve[1])
            ax.plot(*curve, color=FAINT, lw=1.3, zorder=2, label=phrases.as_text(LOWER))
            ends.append((float(curve[1][-1]), LOWER if len(shown) == 1 else ""))
        canvas.add_panel(ax, span, ends)
    canvas.scale_y(log)
    for ax in canvas.axes:
        tick_at(ax, values, fits)
    canvas.label_ends(float(values[-1]))
    horizons = {point.world.horizon for point in points}
    when = f"after {phrases.thousands(horizons.pop())} periods" if len(horizons) == 1 else "at the horizon"
    canvas.finish(x_label, f"mean regret {when}, in units of reward", apart)
    return canvas.figure


def _draw_line(ax: Axes, span: AxisRange, line: data.Curve, fits: bool) -> tuple[float, str]:
    """One policy over a parameter; returns where it ends, and its exponent in words."""
    style = look(line.policy)
    keep = (line.mean > 0) | (not span.log)
    x, mean, error = line.x[keep], line.mean[keep], line.error[keep]
    below = np.minimum(error, 0.9 * mean) if span.log else error
    span.include(mean - below)
    span.include(mean + error)
    ax.errorbar(
        x, mean, yerr=(below, error), color=style.colour, ls=style.dashes, marker=style.marker, capsize=3,
        elinewidth=1.2, markeredgecolor="white", markeredgewidth=0.8, markersize=7, zorder=3,
        label=phrases.as_text(line.label),
    )  # fmt: skip
    if not len(x):
        return math.nan, "no regret"
    if not fits or len(x) < 2 or not (mean > 0).all():
        return float(mean[-1]), ""
    slope, doubt = data.fitted_exponent(x, mean, error)
    return float(mean[-1]), f"exponent {phrases.signed(slope)} ± {doubt:.2f}"


@picture_style()
def final_regret_distribution(result: Result, *, instance: str | Sequence[str] | None = None) -> Figure:
    """What single runs lose by the end: a row per policy, a dot per run, with the mean and the 99% quantile.

    The axis is logarithmic, which shows the tails; runs without regret are at its left end. Of more than 400 runs
    every dot is one of 400 evenly spaced ranks, the least and the largest among them.
    """
    worlds = data.worlds_of(result, instance)
    shown, left_out = choose_panels(worlds)
    names = data.policies_of(result)
    common, apart = phrases.compare_facts([world.facts for world in shown], but="horizon")
    runs = [[data.runs_of(result, p, world)[:, -1] for p in range(len(names))] for world in shown]
    positive = np.concatenate([values[values > 0] for panel in runs for values in panel])
    count = max(len(values) for panel in runs for values in panel)
    notes = [common, f"{phrases.runs_text(count)} of {phrases.thousands(shown[0].horizon)} periods", left_out]
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
                facts = (phrases.number(float(value)) for value in (values.mean(), np.quantile(values, 0.99)))
                summary = "mean {}, 99% up to {}".format(*facts)
                ax.annotate(
                    summary if values.max() > 0 else "no regret", (1.0, p), xycoords=("axes fraction", "data"),
                    xytext=(8, 0), textcoords="offset points", va="center", fontsize=SMALL,
                )  # fmt: skip
        ax.set_yticks(range(len(names)), [phrases.as_text(phrases.wrapped(label, 22)) for label in names])
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
