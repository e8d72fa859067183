"""The board that pictures are drawn on: a headline, a line of facts, panels, and names beside the lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from apportion.reporting.figures.bounds import Bound
from apportion.reporting.figures.data import Floats
from apportion.reporting.figures.scales import log_axis, plain_axis
from apportion.reporting.figures.style import FAINT, GRID, INK, LARGE, SMALL
from apportion.reporting.figures.words import balanced, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS = 6


class View:
    """The range of what is drawn on a vertical axis."""

    def __init__(self, log: bool) -> None:
        self.log = log
        self.low, self.high = math.inf, 0.0

    def see(self, values: Floats) -> None:
        """Make room for these."""
        visible = values[np.isfinite(values) & ((values > 0) | (not self.log))]
        self.low = min(self.low, float(visible.min(initial=math.inf)))
        self.high = max(self.high, float(visible.max(initial=0.0)))

    def admits(self, bound: Bound) -> bool:
        """Whether a bound can be drawn without squeezing the data; then make room for it."""
        peak = float(bound.values[np.isfinite(bound.values)].max(initial=0.0))
        if bound.upper:
            fits = 0 < peak <= (10.0 if self.log else 1.2) * self.high
        else:
            fits = peak > 0 and (self.log or 0.04 * self.high <= peak <= 1.2 * self.high)
        if fits:
            self.see(bound.values)
        return fits


class Board:
    """A figure with a headline, a line of facts under it, and panels."""

    def __init__(self, figure: Figure, axes: list[Axes], columns: int, inches: float, share: bool) -> None:
        self.figure, self.axes, self.columns, self.inches, self.share = figure, axes, columns, inches, share
        self.notes: list[tuple[Axes, View, list[tuple[float, str]]]] = []

    def note(self, ax: Axes, view: View, ends: list[tuple[float, str]]) -> None:
        """Remember what a panel shows, and the names at the ends of its lines."""
        self.notes.append((ax, view, [end for end in ends if end[1]]))

    def set_y(self, log: bool) -> None:
        """The vertical axes, once all panels are known."""
        lows, highs = [view.low for _, view, _ in self.notes], [view.high for _, view, _ in self.notes]
        for (ax, _, _), own in zip(self.notes, highs):
            if log and max(highs) > 0:
                log_axis(ax, "y", min(lows) / 1.5, max(highs) * 1.5)
            else:
                ax.set_ylim(0, 1.06 * (max(highs) if self.share else own) or 1.0)
                plain_axis(ax, "y")

    def label_ends(self, last: float) -> None:
        """Write the names beside the ends of the lines, moved apart, with a thin line to where they belong."""
        from scipy.optimize import isotonic_regression

        for ax, _, ends in self.notes:
            if not ends:
                continue
            logarithmic = ax.get_yscale() == "log"
            bend = math.log10 if logarithmic else float
            low, high = (bend(limit) for limit in ax.get_ylim())
            seen = [math.isfinite(y) and (y > 0 or not logarithmic) for y, _ in ends]
            at = np.array([(bend(y) - low) / (high - low) if ok else -0.02 for (y, _), ok in zip(ends, seen)])
            heights = np.array([(text.count("\n") + 1.25) * SMALL * 1.22 / 72 / self.inches for _, text in ends])
            order = np.argsort(-at, kind="stable")
            # Centres from the top down, each at least half of both heights below the one before, nearest to `at`.
            steps = np.concatenate([[0.0], np.cumsum((heights[order][1:] + heights[order][:-1]) / 2)])
            levels = isotonic_regression(at[order] + steps, increasing=False).x
            # Not below the axis, where its numbers are, unless there are too many names for its height.
            placed = np.minimum(np.maximum(levels, steps[-1] + 0.02), max(1.02, at.max())) - steps
            for y_text, place in zip(placed, order):
                y, text = ends[place]
                leader = {
                    "arrowstyle": "-",
                    "color": FAINT,
                    "lw": 0.7,
                    "shrinkA": 2,
                    "shrinkB": 1,
                    "relpos": (0.0, 0.5),
                }
                ax.annotate(
                    plain(text),
                    xy=(last, y) if seen[place] else (1.0, 0.0),
                    xycoords="data" if seen[place] else "axes fraction",
                    xytext=(1.045 if len(self.axes) == 1 else 1.06, y_text),
                    textcoords="axes fraction",
                    va="center",
                    ha="left",
                    fontsize=SMALL if len(self.axes) == 1 else SMALL - 1,
                    linespacing=1.15,
                    annotation_clip=False,
                    arrowprops=leader if seen[place] else None,
                )

    def finish(self, across: str, up: str, panels: list[str], legend: bool = True) -> None:
        """Axis labels, panel headings, grid, and one legend where lines are not named at their ends."""
        for ax, heading in zip(self.axes, panels):
            if len(self.axes) > 1:
                ax.set_title(plain(heading), loc="left", color=INK)
        if len(self.axes) == 1:
            self.axes[0].set_xlabel(across)
            self.axes[0].set_ylabel(up)
            return
        for place, ax in enumerate(self.axes):
            if place + self.columns >= len(self.axes):  # nothing below it
                ax.set_xlabel(across.replace(", ", ",\n"))
            if place % self.columns == 0:
                ax.set_ylabel(up.replace(", ", ",\n"))
        found: dict[str, Any] = {}
        for ax in self.axes:
            for handle, label in zip(*ax.get_legend_handles_labels()):
                found.setdefault(label.replace("\n", " "), handle)
        if legend and found:
            columns = math.ceil(len(found) / math.ceil(len(found) / 4))
            bare = [isinstance(handle, Line2D) and handle.get_marker() == "None" for handle in found.values()]
            order = sorted(found, key=dict(zip(found, bare)).__getitem__)  # policies before bounds
            self.figure.legend(
                [found[label] for label in order], order, loc="outside lower center", ncols=columns, handlelength=3.4
            )


def blank_board(count: int, title: str, notes: list[str], *, share: bool = False, rows: int | None = None) -> Board:
    """An empty figure for that many panels; `rows` of text make a panel as high as they need."""
    columns = 1 if count == 1 else 2 if count in (2, 4) else 3
    lines = math.ceil(count / columns)
    width = 9.6 if count == 1 else 11.2
    panel = 4.4 if count == 1 else 2.9
    if rows is not None:
        panel = 0.95 + rows * (0.62 if count == 1 else 0.5)
    headline = balanced(title, int(width * 72 / (LARGE * 0.64)))
    facts = balanced("  ·  ".join(filter(None, notes)), int(width * 72 / (SMALL * 0.58)))
    top = 0.14 + 0.27 * len(headline) + 0.2 * len(facts) + 0.14
    height = top + lines * panel + (0.9 if count > 1 else 0.35)
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.0, 0.0, 0.985, 1.0 - top / height), w_pad=0.1, h_pad=0.08)
    left = 0.14 / width
    heading = figure.suptitle(
        plain("\n".join(headline)), x=left, y=1 - 0.14 / height, ha="left", va="top", fontsize=LARGE,
        fontweight="bold", linespacing=1.2,
    )  # fmt: skip
    below = figure.text(
        left, 1 - (0.2 + 0.27 * len(headline)) / height, plain("\n".join(facts)), ha="left", va="top",
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
    return Board(figure, axes[:count], columns, panel - 0.75, share)


def sample(items: list[Any]) -> list[Any]:
    """At most as many as there is room for, evenly chosen."""
    if len(items) <= MOST_PANELS:
        return items
    return [items[place] for place in np.linspace(0, len(items) - 1, MOST_PANELS).round().astype(int)]


def left_out(shown: list[Any], there: list[Any]) -> list[str]:
    """A note if not all worlds are shown."""
    return [f"{len(shown)} of {len(there)} worlds shown"] if len(shown) < len(there) else []
