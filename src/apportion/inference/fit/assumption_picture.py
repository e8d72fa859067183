"""The picture of the assumptions: a panel for each test, with its verdict."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from apportion.reporting.figures.canvas import log_axis, new_canvas, plain_axis
from apportion.reporting.figures.style import FAINT, INK, PALETTE, SMALL, picture_style

if TYPE_CHECKING:
    from apportion.inference.fit.result import NoiseFit

_MOST_ARMS = 15
_MOST_DOTS = 3000


@picture_style()
def draw(fit: "NoiseFit") -> Figure:
    """Each panel shows what its test looked at; what would be there if the assumption held is dashed."""
    failed = [test.name for test in fit.assumptions if test.holds is False]
    title = "What the law takes for granted holds, as far as these data tell"
    if failed:
        title = f"These data speak against: {', '.join(failed)}"
    canvas = new_canvas(len(fit.assumptions), title, [f"{fit.observations:,} observations"], rows=4)
    for ax, test in zip(canvas.axes, fit.assumptions):
        verdict = {True: "holds", False: "does not hold", None: "not tested"}[test.holds]
        ax.set_title(f"{test.name[0].upper()}{test.name[1:]}: {verdict}", loc="left", color=INK)
        if test.holds is None:
            ax.text(0.5, 0.5, _wrapped(test.words), ha="center", va="center", transform=ax.transAxes, color=FAINT,
                    fontsize=SMALL)  # fmt: skip
            ax.set_axis_off()
            continue
        _PANELS[test.name](ax, test.shown)
    return canvas.figure


def _wrapped(text: str) -> str:
    return text.replace(": ", ":\n", 1)


def _proportional(ax: Axes, shown: Mapping[str, Any]) -> None:
    ax.plot(shown["c"], shown["height"], color=PALETTE[0], lw=2.2)
    ax.axvline(1.0, color=FAINT, lw=1.3, ls=(0, (5, 2)))
    ax.set_ylim(0, 1.1)
    ax.set_xlim(min(shown["c"].min(), 0.98), max(shown["c"].max(), 1.02))
    plain_axis(ax, "x", most=5)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    ax.set_xlabel("exponent of the mean c (1: in proportion)")
    ax.set_ylabel("likelihood")


def _equal_noise(ax: Axes, shown: Mapping[str, Any]) -> None:
    order = np.argsort(shown["sigma"], kind="stable")
    if len(order) > _MOST_ARMS:
        order = order[np.linspace(0, len(order) - 1, _MOST_ARMS).round().astype(int)]
    sigma, low, high = (np.asarray(shown[name])[order] for name in ("sigma", "low", "high"))
    places = np.arange(len(order))
    ax.errorbar(sigma, places, xerr=(sigma - low, high - sigma), ls="", marker="o", ms=5, color=PALETTE[0], lw=1.4)
    ax.axvline(float(np.exp(np.log(sigma).mean())), color=FAINT, lw=1.3, ls=(0, (5, 2)))
    log_axis(ax, "x", float(low.min()) / 1.2, float(high.max()) * 1.2)
    ax.set_yticks(places, [_short(shown["arms"][index]) for index in order])
    ax.set_xlabel("σ of each arm, with its 95% interval")


def _drift(ax: Axes, shown: Mapping[str, Any]) -> None:
    for index, levels in enumerate(shown["levels"]):
        few = len(shown["levels"]) <= len(PALETTE)
        ax.plot(
            np.linspace(0, 1, len(levels)), levels, marker="o", ms=4, lw=1.4,
            color=PALETTE[index % len(PALETTE)] if few else PALETTE[0], alpha=0.9 if few else 0.4,
            label=_short(shown["arms"][index]) if few else None,
        )  # fmt: skip
    ax.axhline(1.0, color=FAINT, lw=1.3, ls=(0, (5, 2)))
    ax.set_xticks([0, 1], ["first", "last"])
    ax.set_xlabel("quarter of the time")
    ax.set_ylabel("return, relative to the arm's mean")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=SMALL - 1, ncols=2, loc="best")


def _weekdays(ax: Axes, shown: Mapping[str, Any]) -> None:
    places = np.arange(len(shown["days"]))
    ax.bar(places, 100 * (shown["factors"] - 1), color=PALETTE[0], width=0.7)
    ax.axhline(0.0, color=FAINT, lw=1.3, ls=(0, (5, 2)))
    ax.set_xticks(places, [day[:2] for day in shown["days"]])
    ax.set_ylabel("return against the average, %")


def _memory(ax: Axes, shown: Mapping[str, Any]) -> None:
    before, after = shown["before"], shown["after"]
    chosen = np.unique(np.linspace(0, len(before) - 1, _MOST_DOTS).round().astype(int))
    ax.plot(before[chosen], after[chosen], ls="", marker="o", ms=3, mew=0, alpha=0.35, color=PALETTE[0])
    slope = float(before @ after) / float(before @ before)
    reach = float(np.percentile(np.abs(before), 99)) * 1.3
    ends = np.array([-reach, reach])
    ax.plot(ends, slope * ends, color=PALETTE[1], lw=2.2)
    ax.axhline(0.0, color=FAINT, lw=1.3, ls=(0, (5, 2)))
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-reach, reach)
    ax.set_xlabel("a period's residual")
    ax.set_ylabel("the next one's")


def _short(name: str) -> str:
    return name if len(name) <= 14 else name[:13] + "…"


_PANELS: Mapping[str, Callable[[Axes, Mapping[str, Any]], None]] = {
    "proportional returns": _proportional,
    "equal noise": _equal_noise,
    "no drift": _drift,
    "no weekday pattern": _weekdays,
    "no memory": _memory,
}
