"""Curves with error bars in panels: the picture that most sections of a study draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from apportion.studies.page import Figure

# Of an error bar on a logarithmic axis at most this part of the value goes down.
LARGEST_DROP = 0.9
# Points that would cover each other are moved this far apart.
BESIDE = 0.009


class Curve(NamedTuple):
    """A named curve; `look` is the number of its colour, dashes and marker, the same in every panel."""

    name: str
    look: int
    x: Sequence[float]
    y: Sequence[float]
    errors: Sequence[float] | None = None


class Reference(NamedTuple):
    """A grey dotted line to compare curves with."""

    x: Sequence[float]
    y: Sequence[float]
    name: str | None = None


class Panel(NamedTuple):
    """Curves under a heading, and what they are compared with."""

    heading: str
    curves: Sequence[Curve]
    reference: Reference | None = None


class Labels(NamedTuple):
    """The words around a picture: what it says, facts about it, and the two axes."""

    title: str
    notes: list[str]
    x: str
    y: str


def draw_panels(
    labels: Labels, panels: Sequence[Panel], *, log_x: bool = False, log_y: bool = True, share: bool = False
) -> Figure:
    """All panels on one canvas; the curves of a single one are named at their ends, not in a legend."""
    from apportion.reporting.figures.canvas import AxisRange, log_axis, new_canvas
    from apportion.reporting.figures.style import FAINT, look, picture_style

    with picture_style():
        canvas = new_canvas(len(panels), labels.title, labels.notes, share=share)
        for ax, panel in zip(canvas.axes, panels):
            span = AxisRange(log=log_y)
            for curve in panel.curves:
                style = look(curve.look)
                bars = None
                if curve.errors is not None:
                    drops = np.minimum(curve.errors, LARGEST_DROP * np.array(curve.y)) if log_y else curve.errors
                    bars = np.array([drops, curve.errors])
                ax.errorbar(
                    curve.x, curve.y, yerr=bars, color=style.colour, ls=style.dashes, marker=style.marker,
                    ms=4, lw=1.5, capsize=2, label=curve.name,
                )  # fmt: skip
                span.include(np.array(curve.y, dtype=float))
            if panel.reference is not None:
                ax.plot(panel.reference.x, panel.reference.y, color=FAINT, ls=":", lw=1.6, label=panel.reference.name)
                span.include(np.array(panel.reference.y, dtype=float))
            if log_x:
                ends = [end for curve in panel.curves for end in (curve.x[0], curve.x[-1])]
                log_axis(ax, "x", min(ends) / 1.3, max(ends) * 1.3)
            ends_named = panel.curves if len(panels) == 1 else ()
            canvas.add_panel(ax, span, [(curve.y[-1], curve.name) for curve in ends_named])
        if log_y:
            canvas.scale_y(log=True)
        if len(panels) == 1:
            canvas.label_ends(max(curve.x[-1] for curve in panels[0].curves))
        canvas.finish(labels.x, labels.y, [panel.heading for panel in panels])
    return canvas.figure
