"""The picture of final regret against a parameter of the worlds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from apportion._common import validation
from apportion.reporting.figures.bounds import LOWER, lower_curve
from apportion.reporting.figures.canvas import AxisRange, choose_panels, new_canvas, note_left_out
from apportion.reporting.figures.data import Curve, curves_of, finals_of_worlds, grouped, policies_of, shared_facts
from apportion.reporting.figures.exponent import fitted_exponent
from apportion.reporting.figures.phrases import PARAMETER_NAMES, as_text, compare_facts, signed, thousands, wrapped
from apportion.reporting.figures.scales import log_axis, log_limits, tick_at
from apportion.reporting.figures.style import FAINT, look, picture_style
from apportion.reporting.figures.titles import scaling_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from apportion.simulation.result import Result


@picture_style()
def regret_against(results: Result | Sequence[Result], parameter: str, *, bounds: bool = True) -> Figure:
    """Final regret against "b", "arms", "gap" or "horizon", with standard errors; panels where other things vary too.

    `results` is one result, or several that differ in their horizon. For arms, gap and horizon each line carries the
    exponent of a power law fitted to the means, with its standard error (`fitted_exponent`). `bounds` adds the lower
    bound of Theorem 1 where the noise is Gaussian.
    """
    validation.choice("parameter", parameter, tuple(PARAMETER_NAMES))
    listed = list(results) if isinstance(results, Sequence) else [results]
    if not listed:
        raise validation.refuse("results", "one result or a list of results", listed)
    names = list(dict.fromkeys(label for result in listed for label in policies_of(result)))
    points = [point for result in listed for point in finals_of_worlds(result)]
    values = sorted({point.world.facts[parameter] for point in points})
    if len(values) < 2:
        raise validation.refuse(
            "parameter", f"one that varies in the results ({parameter} is {values[0]:g})", parameter
        )
    groups = grouped(points, parameter)
    shown = choose_panels(groups)
    common, apart = compare_facts([shared_facts(group) for group in shown], but=parameter)
    x_label = PARAMETER_NAMES[parameter]
    fits = parameter != "b" and values[0] > 0
    notes = [
        common,
        "bars: standard errors",
        f"exponents: fitted powers of the {x_label.split(' in ')[0]}" if fits else "",
    ]
    notes += note_left_out(shown, groups)
    panels = [curves_of(group, names, parameter) for group in shown]
    log = any((line.mean > 0).any() for panel in panels for line in panel)
    canvas = new_canvas(len(shown), scaling_title(panels, parameter, fits), notes, share=True)
    for ax, group, panel in zip(canvas.axes, shown, panels):
        span, ends = AxisRange(log), []
        for line in panel:
            end, fit = _draw_line(ax, span, line, fits)
            alone = f"{wrapped(line.label)}\n{fit}" if fit else wrapped(line.label)
            among = fit.removeprefix("exponent ") if math.isfinite(end) else f"{wrapped(line.label)}: {fit}"
            ends.append((end, alone if len(shown) == 1 else among))
        if bounds and parameter != "gap" and (curve := lower_curve(group, parameter)) is not None:
            span.include(curve[1])
            ax.plot(*curve, color=FAINT, lw=1.3, zorder=2, label=as_text(LOWER))
            ends.append((float(curve[1][-1]), LOWER if len(shown) == 1 else ""))
        canvas.add_panel(ax, span, ends)
    canvas.scale_y(log)
    for ax in canvas.axes:
        if fits:
            log_axis(ax, "x", *log_limits(np.array(values), pad=0.04))
        tick_at(ax, values, fits)
    canvas.label_ends(float(values[-1]))
    horizons = {point.world.horizon for point in points}
    when = f"after {thousands(horizons.pop())} periods" if len(horizons) == 1 else "at the horizon"
    canvas.finish(x_label, f"mean regret {when}, in units of reward", apart)
    return canvas.figure


def _draw_line(ax: Axes, span: AxisRange, line: Curve, fits: bool) -> tuple[float, str]:
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
        label=as_text(line.label),
    )  # fmt: skip
    if not len(x):
        return math.nan, "no regret"
    if not fits or len(x) < 2 or not (mean > 0).all():
        return float(mean[-1]), ""
    slope, doubt = fitted_exponent(x, mean, error)
    return float(mean[-1]), f"exponent {signed(slope)} ± {doubt:.2f}"
