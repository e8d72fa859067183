"""The canvas that pictures are drawn on: a headline, a line of facts, panels, axes, and names beside the lines."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from apportion.reporting.figures.bounds import Bound
from apportion.reporting.figures.data import Floats
from apportion.reporting.figures.phrases import as_text, balanced
from apportion.reporting.figures.style import FAINT, GRID, INK, LARGE, SMALL

MOST_PANELS = 6

POINTS_PER_INCH = 72
# A bound is drawn where its largest value is at most so many times that of the data, and on a linear axis not so much
# smaller that it would look like none.
_LARGEST_ON_LOG, _LARGEST_ON_LINEAR, _SMALLEST_ON_LINEAR = 10.0, 1.2, 0.04


class AxisRange:
    """The range of what is drawn on a vertical axis."""

    def __init__(self, log: bool) -> None:
        self.log = log
        self.low, self.high = math.inf, 0.0

    def include(self, values: Floats) -> None:
        """Make room for these."""
        visible = values[np.isfinite(values) & ((values > 0) | (not self.log))]
        self.low = min(self.low, float(visible.min(initial=math.inf)))
        self.high = max(self.high, float(visible.max(initial=0.0)))

    def makes_room_for(self, bound: Bound) -> bool:
        """Whether a bound can be drawn without squeezing the data; if so it is included."""
        peak = float(bound.values[np.isfinite(bound.values)].max(initial=0.0))
        if bound.upper:
            fits = 0 < peak <= (_LARGEST_ON_LOG if self.log else _LARGEST_ON_LINEAR) * self.high
        else:
            linear = _SMALLEST_ON_LINEAR * self.high <= peak <= _LARGEST_ON_LINEAR * self.high
            fits = peak > 0 and (self.log or linear)
        if fits:
            self.include(bound.values)
        return fits


class EndLabel(NamedTuple):
    """A name to be written beside the end of a line, which is at height `y`; NaN where no line is drawn."""

    y: float
    text: str


class Panel(NamedTuple):
    """What a panel shows: the range of its vertical axis, and the names of its lines."""

    ax: Axes
    span: AxisRange
    ends: list[EndLabel]


class Canvas:
    """A figure with a headline, a line of facts under it, and panels."""

    def __init__(self, figure: Figure, axes: list[Axes], columns: int, inches: float, share: bool) -> None:
        self.figure, self.axes, self.columns, self.inches, self.share = figure, axes, columns, inches, share
        self.panels: list[Panel] = []

    def add_panel(self, ax: Axes, span: AxisRange, ends: Sequence[tuple[float, str]]) -> None:
        """Say what a panel shows, and which names (height, text) belong at the ends of its lines."""
        self.panels.append(Panel(ax, span, [EndLabel(*end) for end in ends if end[1]]))

    def scale_y(self, log: bool) -> None:
        """Set the vertical axes, once all panels are known."""
        lowest = min(panel.span.low for panel in self.panels)
        highest = max(panel.span.high for panel in self.panels)
        for ax, span, _ in self.panels:
            if log and highest > 0:
                log_axis(ax, "y", lowest / 1.5, highest * 1.5)
            else:
                ax.set_ylim(0, 1.06 * (highest if self.share else span.high) or 1.0)
                plain_axis(ax, "y")

    def label_ends(self, last: float) -> None:
        """Write the names beside the ends of the lines (at x = `last`), moved apart, each joined to its line."""
        from scipy.optimize import isotonic_regression

        for ax, _, ends in self.panels:
            if not ends:
                continue
            logarithmic = ax.get_yscale() == "log"
            transform = math.log10 if logarithmic else float
            low, high = (transform(limit) for limit in ax.get_ylim())
            drawn = [math.isfinite(end.y) and (end.y > 0 or not logarithmic) for end in ends]
            heights = np.array(
                [(transform(end.y) - low) / (high - low) if ok else -0.02 for end, ok in zip(ends, drawn)]
            )
            inch = SMALL * 1.22 / POINTS_PER_INCH / self.inches
            sizes = np.array([(end.text.count("\n") + 1.25) * inch for end in ends])
            order = np.argsort(-heights, kind="stable")
            # Centres from the top down, each at least half of both sizes below the one before, nearest to its line.
            steps = np.concatenate([[0.0], np.cumsum((sizes[order][1:] + sizes[order][:-1]) / 2)])
            levels = isotonic_regression(heights[order] + steps, increasing=False).x
            # Not below the axis, where its numbers are, unless there are too many names for its height.
            centres = np.minimum(np.maximum(levels, steps[-1] + 0.02), max(1.02, heights.max())) - steps
            for centre, index in zip(centres, order):
                self._label_end(ax, ends[index], drawn[index], last, centre)

    def _label_end(self, ax: Axes, end: EndLabel, drawn: bool, last: float, centre: float) -> None:
        join = {"arrowstyle": "-", "color": FAINT, "lw": 0.7, "shrinkA": 2, "shrinkB": 1, "relpos": (0.0, 0.5)}
        alone = len(self.axes) == 1
        ax.annotate(
            as_text(end.text), (last, end.y) if drawn else (1.0, 0.0), (1.045 if alone else 1.06, centre),
            xycoords="data" if drawn else "axes fraction", textcoords="axes fraction", va="center", ha="left",
            fontsize=SMALL if alone else SMALL - 1, linespacing=1.15, annotation_clip=False,
            arrowprops=join if drawn else None,
        )  # fmt: skip

    def finish(self, x_label: str, y_label: str, headings: list[str], legend: bool = True) -> None:
        """Axis labels, panel headings, grid, and one legend where lines are not named at their ends."""
        for ax, heading in zip(self.axes, headings):
            if len(self.axes) > 1:
                ax.set_title(as_text(heading), loc="left", color=INK)
        if len(self.axes) == 1:
            self.axes[0].set(xlabel=x_label, ylabel=y_label)
            return
        for index, ax in enumerate(self.axes):
            if index + self.columns >= len(self.axes):  # nothing below it
                ax.set_xlabel(x_label.replace(", ", ",\n"))
            if index % self.columns == 0:
                ax.set_ylabel(y_label.replace(", ", ",\n"))
        handles: dict[str, Any] = {}
        for ax in self.axes:
            for handle, label in zip(*ax.get_legend_handles_labels()):
                handles.setdefault(label.replace("\n", " "), handle)
        if legend and handles:
            columns = math.ceil(len(handles) / math.ceil(len(handles) / 4))
            unmarked = [isinstance(handle, Line2D) and handle.get_marker() == "None" for handle in handles.values()]
            order = sorted(handles, key=dict(zip(handles, unmarked)).__getitem__)  # policies before bounds
            marks = [handles[label] for label in order]
            self.figure.legend(marks, order, loc="outside lower center", ncols=columns, handlelength=3.4)


def new_canvas(count: int, title: str, notes: list[str], *, share: bool = False, rows: int | None = None) -> Canvas:
    """An empty figure for that many panels; `rows` of text make a panel as high as they need."""
    columns = 1 if count == 1 else 2 if count in (2, 4) else 3
    lines = math.ceil(count / columns)
    width = 9.6 if count == 1 else 11.2
    panel = 4.4 if count == 1 else 2.9
    if rows is not None:
        panel = 0.95 + rows * (0.62 if count == 1 else 0.5)
    headline = balanced(title, int(width * POINTS_PER_INCH / (LARGE * 0.64)))
    facts = balanced("  ·  ".join(filter(None, notes)), int(width * POINTS_PER_INCH / (SMALL * 0.58)))
    top = 0.14 + 0.27 * len(headline) + 0.2 * len(facts) + 0.14
    height = top + lines * panel + (0.9 if count > 1 else 0.35)
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.0, 0.0, 0.985, 1.0 - top / height), w_pad=0.1, h_pad=0.08)
    left = 0.14 / width
    heading = figure.suptitle(
        as_text("\n".join(headline)), x=left, y=1 - 0.14 / height, ha="left", va="top", fontsize=LARGE,
        fontweight="bold", linespacing=1.2,
    )  # fmt: skip
    below = figure.text(
        left, 1 - (0.2 + 0.27 * len(headline)) / height, as_text("\n".join(facts)), ha="left", va="top",
        fontsize=SMALL, color=FAINT, linespacing=1.3,
    )  # fmt: skip
    heading.set_in_layout(False)
    below.set_in_layout(False)
    grid = figure.subplots(lines, columns, sharey=share, squeeze=False)
    axes = list(grid.flat)
    for spare in axes[count:]:
        spare.remove()
    for ax in axes[:count]:
        ax.grid(visible=True, color=GRID, lw=0.8)
        ax.tick_params(colors=FAINT, labelcolor=INK, labelsize=SMALL)
    return Canvas(figure, axes[:count], columns, panel - 0.75, share)


def choose_panels(items: list[Any]) -> tuple[list[Any], str]:
    """At most as many as there is room for, evenly chosen; and a note if those are not all."""
    if len(items) <= MOST_PANELS:
        return items, ""
    shown = [items[index] for index in np.linspace(0, len(items) - 1, MOST_PANELS).round().astype(int)]
    return shown, f"{len(shown)} of {len(items)} worlds shown"


def log_axis(ax: Axes, which: str, low: float, high: float) -> None:
    """Make the "x" or "y" axis logarithmic between the limits, with about as many ticks as it has room for."""
    if low == high:
        low, high = low / 2, high * 2
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    (ax.set_xlim if which == "x" else ax.set_ylim)(low, high)
    axis = ax.xaxis if which == "x" else ax.yaxis
    decades = math.log10(high / low)
    subs = (1.0,) if decades > 2.5 else (1.0, 3.0) if decades > 1.6 else (1.0, 2.0, 5.0)
    # Side by side, "10,000" and "100,000" need half an inch each; one above the other there is room for nine.
    inches = ax.get_position().width * ax.figure.bbox.width / ax.figure.dpi
    most = 9 if which == "y" else max(3, min(9, round(2.0 * inches)))
    axis.set_major_locator(LogLocator(subs=subs, numticks=most))
    axis.set_major_formatter(FuncFormatter(_power))
    axis.set_minor_formatter(NullFormatter())


def plain_axis(ax: Axes, which: str, most: int = 7) -> None:
    """Round numbers, at most so many, on the "x" or "y" axis."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def tick_at(ax: Axes, values: list[float], log: bool) -> None:
    """The "x" axis around the simulated values, with ticks at them unless they are too many or too close."""
    if log:
        room = (values[-1] / values[0]) ** 0.04
        log_axis(ax, "x", values[0] / room, values[-1] * room)
    else:
        room = 0.06 * (values[-1] - values[0])
        ax.set_xlim(values[0] - room, values[-1] + room)
    positions = np.log(values) if log else np.array(values, np.float64)
    if len(values) <= 10 and np.diff(positions).min() > 0.06 * (positions[-1] - positions[0]):
        ax.xaxis.set_major_locator(FixedLocator(values))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(_power) if log else FuncFormatter(lambda v, _: f"{v:.4g}"))


def _power(value: float, _: object = None) -> str:
    """A tick: 1,000 rather than 10³, and powers from a million on."""
    if 1e-4 < value < 1e6:
        return f"{value:,.0f}" if value >= 1 and value == round(value) else f"{value:.10g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = value / 10**exponent
    lead = "" if abs(factor - 1) < 1e-9 else rf"{factor:.3g}\cdot "
    return rf"${lead}10^{{{exponent}}}$"
