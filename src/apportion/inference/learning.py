"""b and σ from the sums alone: what `GridSums` say, as outcomes come in, about how noise grows with the amount.

The law: Y = A·μ_i + A^b·σ·ξ. For each order b of the grid the best means are μ_i(b) = Z_i/B_i, and what they leave is
R(b) = Σ_i [ΣY²·A^(−2b) − Z_i²/B_i]. With flat priors on the means, and 1/σ on σ, the means and σ integrate out, and b
has the density, flat prior on [0, 1],

    log p(b) = −((N − K)/2)·log R(b) − b·Σ log A − ½·Σ_i log B_i(b)

the restricted likelihood of `inference.fit`. Between the orders it is interpolated by a cubic, and the belief about b
is kept at a few points in between. Where σ is given the first term is −R(b)/2σ².

σ² is R(b)/(N − K), with one observation more that stands for what one would say if all arms were alike: its square is
the variance around a common mean. So there is a first word on σ after one even split, too large where arms differ,
and its weight fades. An arm with a weight below 1 (a half-life) counts as that part of an arm.

Where this fails: it is the Gaussian likelihood, so with heavy tails the interval for b is too narrow, though b itself
stays in place; where all amounts are equal b is not identified, and the belief stays flat; a σ below a millionth of
the returns cannot be told from rounding.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import compiled, kernel
from apportion._common.formatting import readable
from apportion.model.sums import MANY_ARMS, Floats, GridSums, Sums

ORDERS = tuple(place / 10.0 for place in range(11))
"""The values of b that sums are kept for."""

# Points of the belief per step of the grid: 40 steps of 0.025 from 0 to 1.
_FINER = 4

# What is left is at least this part of the squares: less is rounding.
_ROUNDING = 1e-12
_SMALLEST = 1e-300

# So many outcomes stand for σ as all arms together have it, where that of the arm with most is worked out.
STEADY = 20.0

_LEARNED = ", learned from the outcomes"


@kernel
def weigh_orders(seen: Any, sigma: float, chances: Any, log_variance: Any) -> None:
    """Write the belief about b at evenly spaced points into `chances`, and log σ² for each order; σ 0: unknown."""
    arms, many = len(seen.count), len(seen.orders)
    outcomes, means, logs = 0.0, 0.0, 0.0
    for arm in range(arms):
        outcomes += seen.count[arm]
        means += min(seen.count[arm], 1.0)
        logs += seen.log_amount[arm]
    free = max(outcomes - means, 0.0)
    heights = np.empty(many)
    top = -math.inf
    for place in range(many):
        left, volume, squares, information, score = 0.0, 0.0, 0.0, 0.0, 0.0
        for arm in range(arms):
            if seen.count[arm] > 0.0:
                own = max(seen.information[place, arm], _SMALLEST)
                information += own
                score += seen.score[place, arm]
                squares += seen.square[place, arm]
                left += max(seen.square[place, arm] - seen.score[place, arm] * (seen.score[place, arm] / own), 0.0)
                volume += min(seen.count[arm], 1.0) * math.log(own)
        left = max(left, _ROUNDING * squares, _SMALLEST)
        alike = left
        if information > 0.0:
            alike = max(squares - score * (score / information), left)
        if sigma > 0.0:
            log_variance[place] = 2.0 * math.log(sigma)
            heights[place] = -0.5 * left / (sigma * sigma)
        else:
            log_variance[place] = math.log((left + alike / max(outcomes - 1.0, 1.0)) / (free + 1.0))
            heights[place] = -0.5 * free * math.log(left)
        heights[place] -= seen.orders[place] * logs + 0.5 * volume
        top = max(top, heights[place])
    points = len(chances)
    total = 0.0
    for point in range(points):
        at = point * (many - 1.0) / max(points - 1.0, 1.0)
        chances[point] = math.exp(min(between(heights, at) - top, 50.0))
        if 0 < point < points - 1:
            chances[point] *= 2.0  # a point at an end stands for half as much
        total += chances[point]
    for point in range(points):
        chances[point] /= total


@kernel
def between(values: Any, at: float) -> Any:
    """The cubic through the four values around the place `at`; a single value is everywhere the same."""
    if len(values) < 4:
        return values[0]
    first = min(max(int(at) - 1, 0), len(values) - 4)
    x = at - first
    outer = values[first + 3] * x * (x - 1.0) * (x - 2.0) - values[first] * (x - 1.0) * (x - 2.0) * (x - 3.0)
    inner = values[first + 1] * x * (x - 2.0) * (x - 3.0) - values[first + 2] * x * (x - 1.0) * (x - 3.0)
    return outer / 6.0 + inner / 2.0


@kernel
def room_for_chances(orders: Any) -> Any:
    """An array for `chances`."""
    return np.empty((len(orders) - 1) * _FINER + 1)


@kernel
def centre_of(chances: Any) -> Any:
    """The mean of b in steps of the grid's whole length, and the chance of the upper half of the grid."""
    last = max(len(chances) - 1, 1)
    mean, above = 0.0, 0.0
    for point in range(len(chances)):
        mean += chances[point] * point / last
        if 2 * point > last:
            above += chances[point]
        elif 2 * point == last:
            above += 0.5 * chances[point]
    return mean, above


@kernel
def sums_at(seen: Any, at: float, information: Any, score: Any) -> None:
    """Information and score per arm at a place between two orders.

    Information is interpolated by its logarithm, which is exact for an arm whose amounts are all equal, and the mean
    by itself; so the unit of amounts does not matter.
    """
    low = max(min(int(at), len(seen.orders) - 2), 0)
    high = min(low + 1, len(seen.orders) - 1)
    part = at - low
    for arm in range(len(information)):
        information[arm] = score[arm] = 0.0
        if seen.count[arm] > 0.0:
            first, second = max(seen.information[low, arm], _SMALLEST), max(seen.information[high, arm], _SMALLEST)
            mean = (1.0 - part) * seen.score[low, arm] / first + part * seen.score[high, arm] / second
            information[arm] = first * (second / first) ** part
            score[arm] = mean * information[arm]


@kernel
def divides(above_half: float) -> bool:
    """Whether to divide, given the chance that b is above 1/2. Where nothing is known rounding must not decide."""
    return above_half > 0.499


@kernel
def sigma_where_played(
    count: Any, resource: Any, information: Any, score: Any, square: Any, at: float, sigma: float
) -> float:
    """σ by the outcomes of the arm that had most: what its mean leaves of ΣY² over ΣA^(2b), b at a place of the grid.

    Traces shrink without end, and the σ of all outcomes together is that of an amount between them and the whole
    budget. Carried over to the whole budget, an error of 0.02 in b, about what a grid of orders leaves, becomes a
    third of σ and more. In ΣY² traces hardly count, and the arm that had most has few.
    """
    most = 0
    for arm in range(len(count)):
        if resource[arm] > resource[most]:
            most = arm
    last = len(information) - 1
    place = last - at  # ΣA^(2b) is the information at 1 − b
    low = max(min(int(place), last - 1), 0)
    first, second = information[low, most], information[min(low + 1, last), most]
    if not (first > 0.0 and second > 0.0 and information[0, most] > 0.0):
        return sigma
    spread = first * (second / first) ** (place - low)
    # Less is rounding, as in `weigh_orders`.
    least = 1e-12 * square[0, most]
    left = max(square[0, most] - score[0, most] * (score[0, most] / information[0, most]), least)
    outcomes = count[most]
    known = left / spread * outcomes + STEADY * sigma * sigma
    return math.sqrt(known / (max(outcomes - 1.0, 0.0) + STEADY))


class Learned(NamedTuple):
    """What is believed about the noise: b with a 95% interval, σ, and the chance that b is above 1/2.

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


def learned(seen: GridSums, sigma: float | None = None) -> Learned:
    """What the sums say about b and σ; a σ that is known makes b more certain.

    >>> from apportion.model.exact_sums import Statistics
    >>> past = Statistics(arms=1, b=ORDERS)
    >>> rng = np.random.default_rng(1)
    >>> for amount in np.geomspace(0.001, 1.0, 200):
    ...     past.update([amount], [amount * 2.0 + amount**0.7 * 0.5 * rng.standard_normal()])
    >>> found = learned(past.sums())
    >>> f"{found.b:.2f} ({found.low:.2f} to {found.high:.2f}), {found.sigma:.2f}"
    '0.74 (0.68 to 0.80), 0.53'
    """
    chances, log_variance = room_for_chances(seen.orders), np.empty(len(seen.orders))
    with np.errstate(all="ignore"):
        many = len(seen.count) >= MANY_ARMS
        (compiled(weigh_orders) if many else weigh_orders)(
            seen, 0.0 if sigma is None else sigma, chances, log_variance
        )
        mean, above = centre_of(chances)
        first, last = float(seen.orders[0]), float(seen.orders[-1])
        place = mean * (len(seen.orders) - 1)
        known = math.exp(between(log_variance, place) / 2.0) if sigma is None else sigma
        if sigma is None and len(chances) > 1 and not divides(above):  # traces of what is pooled would mislead
            known = (compiled(sigma_where_played) if many else sigma_where_played)(
                seen.count, seen.resource, seen.information, seen.score, seen.square, place, known
            )  # fmt: skip
    b = first + mean * (last - first)
    if len(chances) == 1:
        low, high, above = first, first, float(first > 0.5)
    else:
        below = np.concatenate(([0.0], np.cumsum((chances[1:] + chances[:-1]) / 2.0)))
        low, high = np.interp((0.025, 0.975), below / below[-1], np.linspace(first, last, len(chances))).tolist()
    sigma_now = float(known) if seen.count.any() else math.nan
    return Learned(float(b), float(min(low, b)), float(max(high, b)), sigma_now, float(above), sigma is not None)


def sums_for(seen: GridSums, b: float) -> Sums:
    """The sums at one b, as far as the grid has them: what beliefs are made of. The others are NaN."""
    information, score = np.empty(len(seen.count)), np.empty(len(seen.count))
    first, last = float(seen.orders[0]), float(seen.orders[-1])
    at = (b - first) / (last - first) * (len(seen.orders) - 1) if last > first else 0.0
    with np.errstate(all="ignore"):
        sums_at(seen, at, information, score)
    missing: Floats = np.full(len(seen.count), math.nan)
    return Sums(seen.count, seen.resource, missing, missing, missing, missing, information, score)
