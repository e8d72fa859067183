"""The look of every picture and of every policy in it, and the files it is written to."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, distinct to every kind of colour vision; their yellow is too pale for lines on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000")
# Five kinds of dashes and eight markers have no common divisor: the first forty pairs are all different.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.6)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)), (0, (2.6, 1.1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "ooo", "|||")

INK, FAINT, GRID, OTHERS = "#222222", "#5A5A5A", "#E4E4E4", "#B0B0B0"
_SIZE, SMALL, LARGE = 11.0, 10.0, 14.0
_SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": _SIZE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": _SIZE,
    "axes.axisbelow": True,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "hatch.linewidth": 0.6,
    "lines.linewidth": 2.0,
    "lines.markersize": 6.0,
    "svg.fonttype": "path",
    "svg.hashsalt": "apportion",
}
_lock = threading.RLock()


@contextmanager
def picture_style() -> Iterator[None]:
    """The look of every picture, whatever style the user's session has; put back afterwards."""
    with _lock, mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


class Look(NamedTuple):
    """How one policy is drawn; any two of the first forty differ in dashes or marker, not only in colour."""

    colour: str
    dashes: Any
    marker: str


def look(policy: int) -> Look:
    """The look of a policy by its number (from 0) in the result."""
    return Look(PALETTE[policy % len(PALETTE)], DASHES[policy % len(DASHES)], MARKERS[policy % len(MARKERS)])


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """The picture with its parts in their places, which are sought once for all files written inside."""
    engine = figure.get_layout_engine()
    with picture_style():
        figure.draw_without_rendering()
        if engine is None:
            yield
            return
        figure.set_layout_engine("none")
        try:
            yield
        finally:
            figure.set_layout_engine(engine)


def _svg(figure: Figure) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue().decode()


def svg(figure: Figure) -> str:
    """The picture as SVG text: letters as outlines, and the same bytes for the same picture."""
    with _laid_out(figure):
        return _svg(figure)


def save(figure: Figure, stem: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write `stem`.png and `stem`.svg, make the folder if need be, and return both paths."""
    target = Path(stem)
    target.parent.mkdir(parents=True, exist_ok=True)
    png, vector = target.with_name(target.name + ".png"), target.with_name(target.name + ".svg")
    with _laid_out(figure):
        figure.savefig(png, dpi=150, metadata={"Software": None})
        vector.write_text(_svg(figure), encoding="utf-8", newline="\n")
    return png, vector
