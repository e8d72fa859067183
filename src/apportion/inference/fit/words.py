"""What a fit means, in sentences."""

import math
from typing import TYPE_CHECKING

import numpy as np

from apportion._common.formatting import readable, side_by_side
from apportion.inference.fit.assumptions import Assumption, Evidence

if TYPE_CHECKING:
    from apportion.inference.fit.result import NoiseFit

# Heavy tails that stretch an interval by less than this are not worth a sentence.
_HEAVY = 1.25
# A likelihood ratio above this, for an exponent outside [0, 1], comes by chance once in a hundred times.
_MISFIT = 6.63
# Below this c twice the amount brings less than a tenth more.
HARDLY = 0.1375
# Twice the amount bringing more than this is as good as twice as much.
NEARLY_TWICE = 1.9
# A chance below this that the arms have one scale is worth a sentence.
_UNEQUAL = 0.001


def sentences(fit: "NoiseFit") -> list[str]:
    """The summary, a sentence or two per line. It is read in Python, on the command line and on a page: options are
    named so that all can find them."""
    arms = len(fit.arms.names)
    low, high = (f"{end:.2f}" for end in fit.b_interval)
    amount = float(np.exp(np.mean(np.log(fit.amounts))))
    within = "" if low == high else f" ({100 * fit.level:g}% interval {low} to {high})"
    lines = [
        f"b = {fit.b:.2f}{within} from {fit.observations:,} observations of {arms} arm{'s' * (arms != 1)}.",
        _bend(fit),
        f"An outcome scatters by {_three(fit.deviation_at(amount))} at the typical amount of {_three(amount)}"
        f" (σ = {_three(fit.sigma)} at amount 1{_range(fit)}).",
        _scale(fit),
        f"{halved(fit.b, fit.c).capitalize()} about an arm.",
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
            f"The noise has heavier tails than a Gaussian: intervals of b should be {fit.stretch:.1f} times as wide "
            f"as for Gaussian noise; {done}."
        )
    if fit.scale == "common" and fit.equal_scales < _UNEQUAL:
        own = [value for value in fit.arms.sigmas if value > 0]
        least, most = side_by_side(min(own), max(own))
        lines.append(
            f"The arms differ in scale (σ of their own from {least} to {most}): compare with sigma set to per-arm, "
            "where only changes of amount within an arm count."
        )
    return [line for line in (*lines, *fit.notes) if line]


def _bend(fit: "NoiseFit") -> str:
    """What c says; nothing where the paper's law was asked for."""
    if fit.c_source == "assumed":
        return "c = 1 is assumed: these amounts vary too little within the arms to tell whether returns diminish."
    if fit.c_source == "given":
        return "" if fit.c == 1 else f"c = {fit.c:g} is given: twice the amount brings {2**fit.c:.3g} times as much."
    low, high = fit.c_interval
    said = f"c = {fit.c:.2f} ({100 * fit.level:g}% interval {low:.2f} to {high:.2f}): "
    free = fit.assumptions[0]
    if fit.c == 1 and free.holds is False and free.effect > 1:
        return said + (
            f"an exponent of {free.effect:.2f} would fit better, which the law does not allow. Perhaps returns moved "
            "over time, or more was spent when more was to be had."
        )
    if fit.c < HARDLY:
        return said + (
            "outcomes hardly depend on the amount. Perhaps something else brings them, or less was spent when more "
            "was to be had."
        )
    if high < 1:
        return said + f"returns diminish, twice the amount brings {2**fit.c:.2f} times as much."
    if 2**low > NEARLY_TWICE:
        return said + "returns grow in proportion to the amount."
    return said + f"twice the amount brings {2**low:.2f} to 2 times as much; they may be in proportion."


def _scale(fit: "NoiseFit") -> str:
    """Which scale was chosen and why; nothing where it was asked for, or there is one arm."""
    if not fit.scale_chosen or len(fit.arms.names) == 1:
        return ""
    if math.isnan(fit.equal_scales):
        return "One σ for all arms: whether each has its own cannot be tested."
    chance = _chance(fit.equal_scales)
    if fit.scale == "common":
        return f"One σ for all arms: these data do not tell them apart ({chance})."
    return f"A σ for each arm: equal ones would come out like this hardly ever ({chance})."


def _chance(p_value: float) -> str:
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"


def _three(value: float) -> str:
    """Three figures."""
    return f"{float(f'{value:.3g}'):,.10g}" if 1e-4 <= value < 1e9 else f"{value:.3g}"


def halved(b: float, c: float = 1.0) -> str:
    """What half the amount tells: information grows as amount^(2c − 2b).

    >>> halved(0.75), halved(1.0)
    ('half the amount tells 71% as much', 'half the amount tells as much as the whole')
    """
    part = 2 ** (2 * b - 2 * c)
    if 0.995 <= part < 1.005:
        return "half the amount tells as much as the whole"
    return "half the amount tells " + (f"{part:.0%} as much" if part < 1 else f"{part:.1f} times as much")


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
    gain = 2 ** (2 * fit.b - 2 * fit.c + 1)
    # Exploring divides where c − b ≤ 1/2; c may be anything in its interval.
    least, most = fit.c_interval if fit.c_source == "estimated" else (fit.c, fit.c)
    named = "1/2" if fit.c == 1 else f"c − 1/2 = {fit.c - 0.5:.2f}"
    if low > most:
        return (
            "Noise grows faster with the amount than returns do: small amounts tell more than large ones, so divide. "
            "This cannot go on down to the smallest amounts."
        )
    if low > most - 0.5:
        return (
            f"The interval lies above {named}: divide. A budget split over two arms tells {gain:.2f} times as much "
            "in all as the whole on one."
        )
    if high < least - 0.5:
        return (
            f"The interval lies below {named}: pool. A budget put on one arm at a time tells {1 / gain:.2f} times as "
            "much as the same budget split over two."
        )
    if high - low > 0.8:
        return "These data say next to nothing about b: more observations, or amounts that vary more, are needed."
    return f"The interval includes {named}: these data do not say whether to pool or to divide."


def assumption(name: str, evidence: Evidence) -> Assumption:
    """Evidence in words: a verdict in business English, and the numbers behind it."""
    return Assumption(
        name, evidence.statistic, evidence.freedom, evidence.p_value, evidence.holds, evidence.effect,
        _verdict(name, evidence), _numbers(name, evidence), evidence.shown,
    )  # fmt: skip


def _verdict(name: str, evidence: Evidence) -> str:
    if evidence.holds is None:
        return f"Not tested: {evidence.reason}."
    effect = evidence.effect
    good, bad = _VERDICTS[name]
    if name == "proportional returns" and effect > 1:
        bad = (
            "Returns seem to grow faster than the amount, which the law does not allow: perhaps returns moved over "
            "time, or more was spent when more was to be had."
        )
    if name == "proportional returns":
        bad = bad.format(times=f"{2**effect:.2f}")
    elif name == "no weekday pattern":
        factors = evidence.shown["factors"]
        best, worst = int(np.argmax(factors)), int(np.argmin(factors))
        days = evidence.shown["days"]
        bad = bad.format(
            best=days[best], worst=days[worst], more=f"{factors[best] - 1:+.0%}", less=f"{factors[worst] - 1:+.0%}"
        )
    elif name == "no drift":
        moved = f" by a factor of {effect:.2f}" if math.isfinite(effect) else ""
        bad = bad.format(moved=moved)
    elif name == "equal noise":
        bad = bad.format(ratio=f"{effect:.1f}" if effect < 10 else f"{effect:,.0f}")
    elif effect < 0:
        bad = "Good and bad periods take turns (correlation {effect:.2f}): the ranges are wider than they need be."
    return good if evidence.holds else bad.format(effect=effect)


# What is said where an assumption holds, and where it does not.
_VERDICTS = {
    "proportional returns": (
        "Returns grow in proportion to the amount, as far as these data tell.",
        "Returns diminish: twice the amount brings {times} times as much.",
    ),
    "equal noise": (
        "All arms are about equally noisy.",
        "Some arms are much noisier than others: the noisiest {ratio} times the quietest.",
    ),
    "no drift": (
        "Returns stay the same over time, as far as these data tell.",
        "Returns move over time: a typical arm{moved} from the first to the last quarter. Ranges are too narrow, and "
        "c and b are distorted; compare with apart set to week or month.",
    ),
    "no weekday pattern": (
        "Weekdays do not matter, as far as these data tell.",
        "Weekdays matter: {best} {more}, {worst} {less}.",
    ),
    "no memory": (
        "Good and bad periods come by chance, as far as these data tell.",
        "A good period is followed by another good one (correlation {effect:.2f}): ranges are too narrow.",
    ),
}

_STATISTICS = {
    "proportional returns": "likelihood ratio of c = {effect:.2f} against c = 1: {statistic:.1f}",
    "equal noise": "likelihood ratio of a σ per arm against one: {statistic:.1f}, {first} degrees of freedom",
    "no drift": "χ² of a mean per quarter: {statistic:.1f}, {first} degrees of freedom",
    "no weekday pattern": "F({first}, {second}) = {statistic:.2f} for a factor per weekday",
    "no memory": "correlation of neighbouring residuals {effect:.2f}, {statistic:.1f} standard errors",
}


def _numbers(name: str, evidence: Evidence) -> str:
    if evidence.holds is None:
        return ""
    first, second = (*evidence.freedom, 0, 0)[:2]
    said = _STATISTICS[name].format(statistic=evidence.statistic, effect=evidence.effect, first=first, second=second)
    return f"{said}, {_chance(evidence.p_value)}"
