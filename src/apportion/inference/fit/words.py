"""What a fit means, in sentences."""

import math
from typing import TYPE_CHECKING

import numpy as np

from apportion._common.formatting import readable, side_by_side

if TYPE_CHECKING:
    from apportion.inference.fit.noise import NoiseFit

# Heavy tails that stretch an interval by less than this are not worth a sentence.
_HEAVY = 1.25
# A likelihood ratio above this, for an exponent outside [0, 1], comes by chance once in a hundred times.
_MISFIT = 6.63
# A chance below this that the arms have one scale is worth a sentence.
_UNEQUAL = 0.001


def sentences(fit: "NoiseFit") -> list[str]:
    """The summary, a sentence or two per line. It is read in Python, on the command line and on a page: options are
    named so that all can find them."""
    arms = len(fit.arms.names)
    low, high = (f"{end:.2f}" for end in fit.b_interval)
    sigma, amount = _three(fit.sigma), float(np.exp(np.mean(np.log(fit.amounts))))
    lines = [
        f"b = {fit.b:.2f} ({100 * fit.level:g}% interval {low} to {high}) from {fit.observations:,} observations of "
        f"{arms} arm{'s' * (arms != 1)}.",
        f"An outcome scatters by {_three(fit.deviation_at(amount))} at the typical amount of {_three(amount)}"
        f" (σ = {sigma} at amount 1{_range(fit)}).",
        f"{halved(fit.b).capitalize()} about an arm.",
        _advice(fit),
    ]
    if fit.beyond > _MISFIT:
        lines.append(
            f"An exponent {'above 1' if fit.b > 0.5 else 'below 0'} would fit better, which the law does not allow: "
            "something besides the amount drives the noise, such as means that drift or arms of different scale."
        )
    if fit.stretch > _HEAVY:
        done = "they are" if fit.tails == "measured" else "with tails set to measured they are"
        lines.append(
            f"The noise has heavier tails than a Gaussian: intervals should be {fit.stretch:.1f} times as wide as "
            f"for Gaussian noise; {done}."
        )
    if fit.scale == "common" and fit.equal_scales < _UNEQUAL:
        own = [value for value in fit.arms.sigmas if value > 0]
        least, most = side_by_side(min(own), max(own))
        lines.append(
            f"The arms differ in scale (σ of their own from {least} to {most}): compare with sigma set to per-arm, "
            "where only changes of amount within an arm count."
        )
    if fit.skipped:
        rows = (
            "1 row with an amount of 0 was" if fit.skipped == 1 else f"{fit.skipped:,} rows with an amount of 0 were"
        )
        lines.append(f"{rows} skipped: nothing was observed there.")
    return lines


def _three(value: float) -> str:
    """Three figures."""
    return f"{float(f'{value:.3g}'):,.10g}" if 1e-4 <= value < 1e9 else f"{value:.3g}"


def halved(b: float) -> str:
    """What half the amount tells: information grows as amount^(2 − 2b).

    >>> halved(0.75), halved(1.0)
    ('half the amount tells 71% as much', 'half the amount tells as much as the whole')
    """
    part = f"{2 ** (2 * b - 2):.0%}"
    return "half the amount tells " + ("as much as the whole" if part == "100%" else f"{part} as much")


def with_error(value: float, error: float) -> tuple[str, str]:
    """A value and its standard error with two figures of the error.

    >>> with_error(0.01234567, 0.00052)
    ('0.01235', '0.00052')
    >>> with_error(12345.6, 789.0)
    ('12,346', '789')
    """
    if not (math.isfinite(error) and 1e-9 < error < 1e9):
        return readable(value), readable(error)
    decimals = max(1 - math.floor(math.log10(error)), 0)
    return f"{value:,.{decimals}f}", f"{error:,.{decimals}f}"


def _range(fit: "NoiseFit") -> str:
    if fit.sigma_interval is None:
        return ", the arms' root mean square"
    low, high = (_three(end) for end in fit.sigma_interval)
    return f", interval {low} to {high}"


def _advice(fit: "NoiseFit") -> str:
    low, high = fit.b_interval
    gain = 2 ** (2 * fit.b - 1)
    if low > 0.5:
        return (
            f"The interval lies above 1/2: divide. A budget split over two arms tells {gain:.2f} times as much in "
            "all as the whole on one."
        )
    if high < 0.5:
        return (
            f"The interval lies below 1/2: pool. A budget put on one arm at a time tells {1 / gain:.2f} times as "
            "much as the same budget split over two."
        )
    if high - low > 0.8:
        return "These data say next to nothing about b: more observations, or amounts that vary more, are needed."
    return "The interval includes 1/2: these data do not say whether to pool or to divide."
