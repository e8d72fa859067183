"""The picture of a fit: how the noise grows with the amount, and how sure that is."""

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from apportion.inference.fit.likelihood import Floats
from apportion.inference.fit.words import halved
from apportion.reporting.figures.canvas import log_axis, new_canvas, plain_axis
from apportion.reporting.figures.style import FAINT, INK, PALETTE, SMALL, picture_style

if TYPE_CHECKING:
    from apportion.inference.fit.noise import NoiseFit

# More dots than this are a cloud in which none is seen, and a large file.
_MOST_DOTS = 3000
_BINS = 10


@picture_style()
def draw(fit: "NoiseFit") -> Figure:
    """Left: what is left of each outcome after its mean, against the amount. Right: the likelihood of b."""
    low, high = fit.b_interval
    count = len(fit.arms.names)
    title = f"Noise grows as the amount to the power {fit.b:.2f}: {halved(fit.b)}"
    if fit.b > 0.995:
        title = f"Noise grows in proportion to the amount: {halved(fit.b)}"
    elif fit.b < 0.005:
        title = f"Noise does not grow with the amount: {halved(fit.b)}"
    notes = [
        f"{fit.observations:,} observations of {count} arm{'s' * (count != 1)}",
        f"b between {low:.2f} and {high:.2f} at {100 * fit.level:g}%",
        "one σ for all arms" if fit.scale == "common" else "a σ for each arm",
    ]
    canvas = new_canvas(2, title, notes, rows=6)
    _sizes(canvas.axes[0], fit)
    _curve(canvas.axes[1], fit)
    return canvas.figure


def _sizes(ax: Axes, fit: "NoiseFit") -> None:
    """|y − μx| against x, brought to the common σ where arms have their own, with the fitted line."""
    known = np.isfinite(fit.residuals)
    amounts = fit.amounts[known]
    line = np.exp(math.log(fit.sigma) + fit.b * np.log(amounts))
    sizes = np.abs(fit.residuals[known]) * line
    # Anything below a hundredth of the line is as good as none; it stands at the foot of the picture.
    floor = line * 0.02
    chosen = np.unique(np.linspace(0, len(amounts) - 1, _MOST_DOTS).round().astype(int))
    ax.plot(
        amounts[chosen], np.maximum(sizes, floor)[chosen], ls="", marker="o", ms=3.4, mew=0, color=PALETTE[0],
        alpha=0.35, label="one outcome",
    )  # fmt: skip
    ends = np.array([amounts.min(), amounts.max()])
    fitted = np.array([fit.deviation_at(float(end)) for end in ends])
    centre = float(np.exp(np.log(amounts).mean()))
    for power, dashes, label in ((0.5, (0, (5, 2)), "b = 1/2"), (1.0, (0, (1, 1.4)), "b = 1")):
        if abs(fit.b - power) < 0.02:  # it would hide under the fitted line
            continue
        at = fit.deviation_at(centre) * (ends / centre) ** power
        ax.plot(ends, at, color=FAINT, lw=1.1, ls=dashes, label=f"would be {label}", zorder=3)
    ax.plot(ends, fitted, color=PALETTE[1], lw=2.6, zorder=5, label=f"fitted, b = {fit.b:.2f}")
    middles, heights, errors = _binned(amounts, sizes)
    ax.errorbar(
        middles, heights, yerr=errors, ls="", marker="D", ms=6.5, color=INK, mec="white", mew=1.0, lw=1.4, zorder=6,
        label="root mean square of a tenth",
    )  # fmt: skip
    log_axis(ax, "x", ends[0] / 1.15, ends[1] * 1.15)
    shown = np.maximum(sizes, floor)
    log_axis(ax, "y", float(shown.min()) / 1.3, max(float(shown.max()), fitted.max()) * 1.6)
    ax.set_xlabel("amount")
    ax.set_ylabel(
        "distance of the outcome from its mean" + ("\n(arms brought to one σ)" if fit.scale != "common" else "")
    )
    ax.set_title("Size of the noise against the amount", loc="left", color=INK)
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.2), ncols=2, handlelength=2.4, columnspacing=1.4)


def _binned(amounts: Floats, sizes: Floats) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
    """Root mean squares over tenths of the observations, by amount, with bars of two standard errors of log."""
    order = np.argsort(amounts, kind="stable")
    parts = np.array_split(order, max(1, min(_BINS, len(order) // 8)))
    middles = np.array([np.exp(np.log(amounts[part]).mean()) for part in parts])
    heights = np.array([math.sqrt(np.square(sizes[part]).mean()) for part in parts])
    factor = np.exp(2 / np.sqrt([2 * len(part) for part in parts]))
    return middles, heights, (heights - heights / factor, heights * factor - heights)


def _curve(ax: Axes, fit: "NoiseFit") -> None:
    """exp of the log-likelihood, relative to the best; the interval is shaded."""
    low, high = fit.b_interval
    room = max(3.5 * fit.b_error, 0.6 * (high - low), 0.02)
    # The half belongs in the picture if it is anywhere near; the question is whether it is out.
    left, right = max(min(low - room, fit.b - room), 0.0), min(max(high + room, fit.b + room), 1.0)
    if left - 0.5 * (right - left) < 0.5 < right + 0.5 * (right - left):
        left, right = min(left, 0.48), max(right, 0.52)
    grid = np.union1d(np.linspace(left, right, 401), [fit.b, low, high])
    height = np.exp(fit.log_likelihood(grid))
    inside = (grid >= low) & (grid <= high)
    ax.fill_between(
        grid[inside], height[inside], color=PALETTE[5], alpha=0.45, lw=0,
        label=f"{100 * fit.level:g}% interval, {low:.2f} to {high:.2f}",
    )  # fmt: skip
    ax.plot(grid, height, color=PALETTE[0], lw=2.4)
    ax.plot([fit.b], [1.0], ls="", marker="o", ms=8, color=PALETTE[1], mec="white", mew=1.2, zorder=5,
            label=f"best, {fit.b:.2f}", clip_on=False)  # fmt: skip
    if left <= 0.5 <= right:
        ax.axvline(0.5, color=FAINT, lw=1.3, ls=(0, (5, 2)))
        ends = ((0.5, "pool ", "right", 0.5 - left), (0.5, " divide", "left", right - 0.5))
        for x, word, side, width in ends:
            if width > 0.16 * (right - left):
                ax.text(x, 1.13, word, ha=side, va="center", fontsize=SMALL, color=FAINT)
    else:
        word = "divide: all of this lies above 1/2" if left > 0.5 else "pool: all of this lies below 1/2"
        ax.text((left + right) / 2, 1.13, word, ha="center", va="center", fontsize=SMALL, color=FAINT)
    ax.set_xlim(left, right)
    ax.set_ylim(0, 1.2)
    plain_axis(ax, "x", most=6)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    ax.set_xlabel("noise exponent b")
    ax.set_ylabel("likelihood, relative to the best")
    ax.set_title("How well each b explains the data", loc="left", color=INK)
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.2), ncols=1, handlelength=2.0)
