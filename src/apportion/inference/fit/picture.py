"""The picture of a fit: how mean and noise grow with the amount, and how sure that is."""

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from apportion._common.distributions import chi_squared_quantile
from apportion.inference.fit.estimate import LOWEST_C
from apportion.inference.fit.likelihood import Floats
from apportion.inference.fit.words import halved
from apportion.reporting.figures.canvas import log_axis, new_canvas, plain_axis
from apportion.reporting.figures.style import FAINT, INK, PALETTE, SMALL, picture_style

if TYPE_CHECKING:
    from apportion.inference.fit.result import NoiseFit

# More dots than this are a cloud in which none is seen, and a large file.
_MOST_DOTS = 3000
_BINS = 10


@picture_style()
def draw(fit: "NoiseFit") -> Figure:
    """Left: outcomes against the amount. Middle: what is left after the mean. Right: the likelihood of c and b."""
    low, high = fit.b_interval
    count = len(fit.arms.names)
    notes = [
        f"{fit.observations:,} observations of {count} arm{'s' * (count != 1)}",
        f"c between {fit.c_interval[0]:.2f} and {fit.c_interval[1]:.2f}" if fit.c_source == "estimated" else "",
        f"b between {low:.2f} and {high:.2f} at {100 * fit.level:g}%",
        "one σ for all arms" if fit.scale == "common" else "a σ for each arm",
        "" if fit.apart is None else f"each {fit.apart} taken apart",
    ]
    canvas = new_canvas(3, _title(fit), notes, rows=6)
    _means(canvas.axes[0], fit)
    _sizes(canvas.axes[1], fit)
    if fit.c_source == "estimated" and low < high:
        _region(canvas.axes[2], fit)
    else:
        _curve(canvas.axes[2], fit, "b" if low < high else "c")
    return canvas.figure


def _title(fit: "NoiseFit") -> str:
    """Both exponents in words."""
    mean = "Returns may be in proportion to the amount" if fit.c < 1 else "Returns grow in proportion to the amount"
    if fit.c_interval[1] < 1 or (fit.c_source == "given" and fit.c < 1):
        mean = f"Twice the amount brings {2**fit.c:.2f} times as much"
    noise = f"noise grows as its power {fit.b:.2f}"
    if fit.b > 0.995:
        noise = "noise grows in proportion to it"
    elif fit.b < 0.005:
        noise = "noise does not depend on it"
    return f"{mean}; {noise}: {halved(fit.b, fit.c)}"


def _means(ax: Axes, fit: "NoiseFit") -> None:
    """y against x, each arm brought to the typical mean, with the fitted curve and that of returns in proportion."""
    means = np.array(fit.arms.means)[fit.codes]
    known = means > 2 * np.array(fit.arms.errors)[fit.codes]  # a mean that may be 0 is no yardstick
    if not known.any():
        ax.text(0.5, 0.5, "no arm is surely above 0", ha="center", va="center", transform=ax.transAxes, color=FAINT)
        return
    typical = float(np.exp(np.log(means[known]).mean()))
    amounts, outcomes = fit.amounts[known], fit.outcomes[known] * (typical / means[known])
    ends = np.array([amounts.min(), amounts.max()])
    centre = float(np.exp(np.log(amounts).mean()))
    line_at = np.geomspace(ends[0], ends[1], 50)
    line = typical * line_at**fit.c
    seen = outcomes > 0
    chosen = np.flatnonzero(seen)[
        np.unique(np.linspace(0, max(seen.sum() - 1, 0), _MOST_DOTS).astype(int))[: seen.sum()]
    ]
    ax.plot(
        amounts[chosen], outcomes[chosen], ls="", marker="o", ms=3.4, mew=0, color=PALETTE[0], alpha=0.35,
        label="one outcome",
    )  # fmt: skip
    if fit.c < 0.98:
        straight = typical * centre**fit.c * (ends / centre)
        ax.plot(ends, straight, color=FAINT, lw=1.1, ls=(0, (5, 2)), label="in proportion", zorder=3)
    ax.plot(line_at, line, color=PALETTE[1], lw=2.6, zorder=5, label=f"fitted, c = {fit.c:.2f}")
    parts = _tenths(amounts)
    middles = np.array([np.exp(np.log(amounts[part]).mean()) for part in parts])
    heights = np.array([outcomes[part].mean() for part in parts])
    errors = np.array([2 * outcomes[part].std() / math.sqrt(len(part)) for part in parts])
    shown = heights > 0
    ax.errorbar(
        middles[shown], heights[shown], yerr=(np.minimum(errors, 0.9 * heights)[shown], errors[shown]), ls="",
        marker="D", ms=6.5, color=INK, mec="white", mew=1.0, lw=1.4, zorder=6, label="mean of a tenth",
    )  # fmt: skip
    log_axis(ax, "x", ends[0] / 1.15, ends[1] * 1.15)
    low = max(min(float(line.min()), float(np.percentile(outcomes[seen], 2)) if seen.any() else np.inf), 1e-300)
    log_axis(ax, "y", low / 1.5, max(float(line.max()), float(outcomes.max())) * 1.6)
    ax.set_xlabel("amount")
    ax.set_ylabel("outcome" + ("\n(arms brought to one mean)" if len(fit.arms.names) > 1 else ""))
    ax.set_title("Returns against the amount", loc="left", color=INK)
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.2), ncols=1, handlelength=2.4)


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
    ax.set_title("Noise against the amount", loc="left", color=INK)
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.2), ncols=1, handlelength=2.4)


def _binned(amounts: Floats, sizes: Floats) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
    """Root mean squares over tenths of the observations, by amount, with bars of two standard errors of log."""
    parts = _tenths(amounts)
    middles = np.array([np.exp(np.log(amounts[part]).mean()) for part in parts])
    heights = np.array([math.sqrt(np.square(sizes[part]).mean()) for part in parts])
    factor = np.exp(2 / np.sqrt([2 * len(part) for part in parts]))
    return middles, heights, (heights - heights / factor, heights * factor - heights)


def _tenths(amounts: Floats) -> list[npt.NDArray[np.intp]]:
    """The observations in tenths, by amount; fewer parts of few observations."""
    order = np.argsort(amounts, kind="stable")
    return np.array_split(order, max(1, min(_BINS, len(order) // 8)))


def _region(ax: Axes, fit: "NoiseFit") -> None:
    """Where c and b are together, at the level of the intervals and at one half."""
    c, b, heights = fit.likelihood_region()
    outer = float(chi_squared_quantile(2, 1 - fit.level)) / 2
    core = min(0.5, fit.level / 2)
    inner = float(chi_squared_quantile(2, 1 - core)) / 2
    ax.contourf(c, b, heights.T, levels=[-outer, -inner, 1.0], colors=[PALETTE[5], PALETTE[0]], alpha=0.5)
    ax.contour(c, b, heights.T, levels=[-outer, -inner], colors=PALETTE[0], linewidths=1.2, linestyles="solid")
    ax.plot([fit.c], [fit.b], ls="", marker="o", ms=8, color=PALETTE[1], mec="white", mew=1.2, zorder=5,
            label=f"best: {fit.c:.2f} and {fit.b:.2f}", clip_on=False)  # fmt: skip
    near = heights > -1.6 * outer
    rows, columns = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
    left, right = float(c[rows[0]]), float(c[rows[-1]])
    low, high = float(b[columns[0]]), float(b[columns[-1]])
    border = np.array([left, right])
    ax.plot(border, border - 0.5, color=FAINT, lw=1.3, ls=(0, (5, 2)), label="divide above, pool below")
    ax.set_xlim(left, right + 0.02 * (right - left))
    ax.set_ylim(low, high)
    plain_axis(ax, "x", most=5)
    plain_axis(ax, "y", most=6)
    ax.set_xlabel("exponent of the mean c")
    ax.set_ylabel("noise exponent b")
    ax.set_title(f"Likely exponents, {100 * core:g}% and {100 * fit.level:g}%", loc="left", color=INK)
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.2), ncols=1, handlelength=2.0)


def _curve(ax: Axes, fit: "NoiseFit", which: str) -> None:
    """exp of the log-likelihood of the exponent that was estimated, relative to the best; its interval is shaded."""
    (low, high), best, error, curve, least = (
        (fit.b_interval, fit.b, fit.b_error, fit.log_likelihood, 0.0)
        if which == "b"
        else (fit.c_interval, fit.c, fit.c_error, fit.log_likelihood_of_c, LOWEST_C)
    )
    border = fit.c - 0.5 if which == "b" else fit.b + 0.5
    room = max(3.5 * error, 0.6 * (high - low), 0.02)
    # The border belongs in the picture if it is anywhere near; the question is whether it is out.
    left, right = max(min(low, best) - room, least), min(max(high, best) + room, 1.0)
    if left - 0.5 * (right - left) < border < right + 0.5 * (right - left):
        left, right = max(min(left, border - 0.02), least), min(max(right, border + 0.02), 1.0)
    grid = np.union1d(np.linspace(left, right, 401), [best, low, high])
    height = np.exp(curve(grid))
    inside = (grid >= low) & (grid <= high)
    ax.fill_between(
        grid[inside], height[inside], color=PALETTE[5], alpha=0.45, lw=0,
        label=f"{100 * fit.level:g}% interval, {low:.2f} to {high:.2f}",
    )  # fmt: skip
    ax.plot(grid, height, color=PALETTE[0], lw=2.4)
    ax.plot([best], [1.0], ls="", marker="o", ms=8, color=PALETTE[1], mec="white", mew=1.2, zorder=5,
            label=f"best, {best:.2f}", clip_on=False)  # fmt: skip
    sides = ("pool ", " divide") if which == "b" else ("divide ", " pool")
    if left <= border <= right:
        ax.axvline(border, color=FAINT, lw=1.3, ls=(0, (5, 2)))
        ends = ((sides[0], "right", border - left), (sides[1], "left", right - border))
        for word, side, width in ends:
            if width > 0.16 * (right - left):
                ax.text(border, 1.13, word, ha=side, va="center", fontsize=SMALL, color=FAINT)
    else:
        word = sides[left > border].strip()
        ax.text((left + right) / 2, 1.13, word, ha="center", va="center", fontsize=SMALL, color=FAINT)
    ax.set_xlim(left, right)
    ax.set_ylim(0, 1.2)
    plain_axis(ax, "x", most=6)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    ax.set_xlabel("noise exponent b" if which == "b" else "exponent of the mean c")
    ax.set_ylabel("likelihood, relative to the best")
    ax.set_title(f"How well each {which} explains the data", loc="left", color=INK)
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.2), ncols=1, handlelength=2.0)
