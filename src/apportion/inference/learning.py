"""b and σ from the sums alone: what `GridSums` say, as outcomes come in, about how noise grows with the amount.

The law: Y = A·μ_i + A^b·σ·ξ. For each exponent b of the grid the best means are μ_i(b) = Z_i/B_i, and what they leave
is the residual R(b) = Σ_i [ΣY²·A^(−2b) − Z_i²/B_i]. With flat priors on the means, and 1/σ on σ, the means and σ
integrate out, and b has the density, flat prior on [0, 1],

    log p(b) = −((N − K)/2)·log R(b) − b·Σ log A − ½·Σ_i log B_i(b)

the restricted likelihood of `inference.fit`. Between the exponents it is interpolated by a cubic, and the posterior
of b is worked out at a few points in between. Where σ is given the first term is −R(b)/2σ².

σ² is R(b)/(N − K), with one observation more that stands for what one would say if all arms were alike: its square is
the variance around a common mean. So there is a first word on σ after one even split, too large where arms differ,
and its weight fades. An arm with a weight below 1 (a half-life) counts as that part of an arm.

Where this fails: it is the Gaussian likelihood, so with heavy tails the interval for b is too narrow, though b itself
stays in place; where all amounts are equal b is not identified, and the posterior stays flat; a σ below a millionth
of the returns cannot be told from rounding.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import compiled, kernel
from apportion._common.formatting import readable
from apportion.model.sums import MANY_ARMS, Floats, GridSums, Sums

EXPONENTS = tuple(index / 10.0 for index in range(11))
"""The values of b that sums are kept for."""

# Points of the posterior per step of the grid: 40 steps of 0.025 from 0 to 1.
_POINTS_PER_STEP = 4

# The residual is at least this part of the squares: less is rounding.
_ROUNDING = 1e-12
_SMALLEST = 1e-300
# Where nothing is known the probability that b is above 1/2 is 1/2 up to rounding, and shares are divided.
_DIVIDE_FROM = 0.499
# A log density this far above the largest on the grid comes from the cubic alone; more would overflow.
_HIGHEST_RISE = 50.0

# So many outcomes stand for σ as all arms together have it, where that of the largest arm is worked out.
SIGMA_PRIOR_OUTCOMES = 20.0

_LEARNED = ", learned from the outcomes"


@kernel
def posterior_over_b(sums: Any, sigma: float, posterior: Any, log_variance: Any) -> None:
    """Write p(b) at evenly spaced points into `posterior`, adding up to 1, and log σ² at each exponent.

    A `sigma` of 0 is unknown.
    """
    arms, size = len(sums.count), len(sums.exponents)
    outcomes, means, logs = 0.0, 0.0, 0.0
    for arm in range(arms):
        outcomes += sums.count[arm]
        means += min(sums.count[arm], 1.0)
        logs += sums.log_amount[arm]
    free = max(outcomes - means, 0.0)
    log_density = np.empty(size)
    largest = -math.inf
    for index in range(size):
        residual, volume, squares, information, score = 0.0, 0.0, 0.0, 0.0, 0.0
        for arm in range(arms):
            if sums.count[arm] > 0.0:
                own = max(sums.information[index, arm], _SMALLEST)
                information += own
                score += sums.score[index, arm]
                squares += sums.square[index, arm]
                residual += max(
                    sums.square[index, arm] - sums.score[index, arm] * (sums.score[index, arm] / own), 0.0
                )
                volume += min(sums.count[arm], 1.0) * math.log(own)
        residual = max(residual, _ROUNDING * squares, _SMALLEST)
        pooled_residual = residual
        if information > 0.0:
            pooled_residual = max(squares - score * (score / information), residual)
        if sigma > 0.0:
            log_variance[index] = 2.0 * math.log(sigma)
            log_density[index] = -0.5 * residual / (sigma * sigma)
        else:
            log_variance[index] = math.log((residual + pooled_residual / max(outcomes - 1.0, 1.0)) / (free + 1.0))
            log_density[index] = -0.5 * free * math.log(residual)
        log_density[index] -= sums.exponents[index] * logs + 0.5 * volume
        largest = max(largest, log_density[index])
    points = len(posterior)
    total = 0.0
    for point in range(points):
        position = point * (size - 1.0) / max(points - 1.0, 1.0)
        posterior[point] = math.exp(min(between(log_density, position) - largest, _HIGHEST_RISE))
        if 0 < point < points - 1:
            posterior[point] *= 2.0  # a point at an end stands for half as much
        total += posterior[point]
    for point in range(points):
        posterior[point] /= total


@kernel
def between(values: Any, position: float) -> Any:
    """The cubic through the four values around `position`; a single value is everywhere the same."""
    if len(values) < 4:
        return values[0]
    first = min(max(int(position) - 1, 0), len(values) - 4)
    x = position - first
    outer = values[first + 3] * x * (x - 1.0) * (x - 2.0) - values[first] * (x - 1.0) * (x - 2.0) * (x - 3.0)
    inner = values[first + 1] * x * (x - 2.0) * (x - 3.0) - values[first + 2] * x * (x - 1.0) * (x - 3.0)
    return outer / 6.0 + inner / 2.0


@kernel
def empty_posterior(exponents: Any) -> Any:
    """Room for the posterior of b over a grid of exponents."""
    return np.empty((len(exponents) - 1) * _POINTS_PER_STEP + 1)


@kernel
def centre_of(posterior: Any) -> Any:
    """The posterior mean of b, as a part of the grid's length, and the probability of the upper half of the grid."""
    last = max(len(posterior) - 1, 1)
    mean, above = 0.0, 0.0
    for point in range(len(posterior)):
        mean += posterior[point] * point / last
        if 2 * point > last:
            above += posterior[point]
        elif 2 * point == last:
            above += 0.5 * posterior[point]
    return mean, above


@kernel
def sums_at(sums: Any, position: float, information: Any, score: Any) -> None:
    """Information and score per arm at a position between two exponents.

    Information is interpolated by its logarithm, which is exact for an arm whose amounts are all equal, and the mean
    by itself; so the unit of amounts does not matter.
    """
    low = max(min(int(position), len(sums.exponents) - 2), 0)
    high = min(low + 1, len(sums.exponents) - 1)
    part = position - low
    for arm in range(len(information)):
        information[arm] = score[arm] = 0.0
        if sums.count[arm] > 0.0:
            first, second = max(sums.information[low, arm], _SMALLEST), max(sums.information[high, arm], _SMALLEST)
            mean = (1.0 - part) * sums.score[low, arm] / first + part * sums.score[high, arm] / second
            information[arm] = first * (second / first) ** part
            score[arm] = mean * information[arm]


@kernel
def divides(above_half: float) -> bool:
    """Whether to divide, given P(b > 1/2). Where nothing is known rounding must not decide."""
    return above_half > _DIVIDE_FROM


@kernel
def sigma_of_largest_arm(sums: Any, position: float, sigma: float) -> float:
    """σ by the outcomes of the arm that got most: what its mean leaves of ΣY² over ΣA^(2b), b at `position`.

    Where they are few, `sigma`, what all arms together say, counts as `SIGMA_PRIOR_OUTCOMES` more.

    Traces shrink without end, and the σ of all outcomes together is that of an amount between them and the whole
    budget. Carried over to the whole budget, an error of 0.02 in b, about what the grid leaves, becomes a third of σ
    and more. In ΣY² traces hardly count, and the arm that got most has few.
    """
    most = 0
    for arm in range(len(sums.count)):
        if sums.resource[arm] > sums.resource[most]:
            most = arm
    last = len(sums.information) - 1
    mirrored = last - position  # ΣA^(2b) is the information at 1 − b
    low = max(min(int(mirrored), last - 1), 0)
    first, second = sums.information[low, most], sums.information[min(low + 1, last), most]
    information, score, square = sums.information[0, most], sums.score[0, most], sums.square[0, most]
    if not (first > 0.0 and second > 0.0 and information > 0.0):
        return sigma
    spread = first * (second / first) ** (mirrored - low)
    residual = max(square - score * (score / information), _ROUNDING * square)
    outcomes = sums.count[most]
    known = residual / spread * outcomes + SIGMA_PRIOR_OUTCOMES * sigma * sigma
    return math.sqrt(known / (max(outcomes - 1.0, 0.0) + SIGMA_PRIOR_OUTCOMES))


class Learned(NamedTuple):
    """What is believed about the noise: b with a 95% interval, σ, and the probability that b is above 1/2.

    σ is NaN before the first outcome. A b that was given has no width; `sigma_given` says the same of σ.
    """

    b: float
    low: float
    high: float
    sigma: float
    above_half: float
    sigma_given: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Which of b and σ are learned; the others were given."""
        return ("b",) * (self.low < self.high) + ("σ",) * (not self.sigma_given)

    @property
    def sentence(self) -> str:
        """What it says, and what follows from it; what was given is called so.

        >>> Learned(0.75, 0.75, 0.75, 12.5, 1.0).sentence
        'b is 0.75, as given, and σ about 12.50, learned from the outcomes.'
        """
        if math.isnan(self.sigma):
            known = "Nothing is known of the noise" if len(self.names) == 2 else "Nothing is known of the arms"
            unknown = f"{self.names[0]} is not known" if len(self.names) == 1 else known
            return f"{unknown} yet: splits are as even as the bounds allow until outcomes come."
        sigma = f"{self.sigma:g}, as given" if self.sigma_given else f"about {readable(self.sigma)}"
        if "b" not in self.names:
            return f"b is {self.b:g}, as given, and σ {sigma}{'' if self.sigma_given else _LEARNED}."
        b = f"b is about {self.b:.2f} ({self.low:.2f} to {self.high:.2f})"
        noise = f"{b}{_LEARNED}, and σ is {sigma}" if self.sigma_given else f"{b} and σ {sigma}{_LEARNED}"
        # Not all of it: a policy that pools still tries the others a little, and bounds hold in any case.
        pooled = "within the bounds almost all of the budget goes to one arm at a time"
        result = "shares are divided" if divides(self.above_half) else pooled
        doubt = "" if abs(self.above_half - 0.5) > 0.45 else ", for now"
        return f"{noise}; so {result}{doubt}."


def learned(sums: GridSums, sigma: float | None = None) -> Learned:
    """What the sums say about b and σ; a σ that is known makes b more certain.

    >>> from apportion.model.exact_sums import Statistics
    >>> past = Statistics(arms=1, b=EXPONENTS)
    >>> rng = np.random.default_rng(1)
    >>> for amount in np.geomspace(0.001, 1.0, 200):
    ...     past.update([amount], [amount * 2.0 + amount**0.7 * 0.5 * rng.standard_normal()])
    >>> found = learned(past.sums())
    >>> f"{found.b:.2f} ({found.low:.2f} to {found.high:.2f}), {found.sigma:.2f}"
    '0.74 (0.68 to 0.80), 0.53'
    """
    posterior, log_variance = empty_posterior(sums.exponents), np.empty(len(sums.exponents))
    with np.errstate(all="ignore"):
        many = len(sums.count) >= MANY_ARMS
        (compiled(posterior_over_b) if many else posterior_over_b)(
            sums, 0.0 if sigma is None else sigma, posterior, log_variance
        )
        mean, above = centre_of(posterior)
        first, last = float(sums.exponents[0]), float(sums.exponents[-1])
        position = mean * (len(sums.exponents) - 1)
        known = math.exp(between(log_variance, position) / 2.0) if sigma is None else sigma
        if sigma is None and len(posterior) > 1 and not divides(above):  # traces of what is pooled would mislead
            known = (compiled(sigma_of_largest_arm) if many else sigma_of_largest_arm)(sums, position, known)
    b = first + mean * (last - first)
    if len(posterior) == 1:
        low, high, above = first, first, float(first > 0.5)
    else:
        below = np.concatenate(([0.0], np.cumsum((posterior[1:] + posterior[:-1]) / 2.0)))
        low, high = np.interp((0.025, 0.975), below / below[-1], np.linspace(first, last, len(posterior))).tolist()
    sigma_now = float(known) if sums.count.any() else math.nan
    return Learned(float(b), float(min(low, b)), float(max(high, b)), sigma_now, float(above), sigma is not None)


def sums_for(sums: GridSums, b: float) -> Sums:
    """The sums at one b, as far as the grid has them: what beliefs are made of. The others are NaN."""
    information, score = np.empty(len(sums.count)), np.empty(len(sums.count))
    first, last = float(sums.exponents[0]), float(sums.exponents[-1])
    position = (b - first) / (last - first) * (len(sums.exponents) - 1) if last > first else 0.0
    with np.errstate(all="ignore"):
        sums_at(sums, position, information, score)
    missing: Floats = np.full(len(sums.count), math.nan)
    return Sums(sums.count, sums.resource, missing, missing, missing, missing, missing, information, score)
