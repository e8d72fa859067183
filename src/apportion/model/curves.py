"""Worlds whose returns diminish on a scale of their own: saturating, logarithmic, and capped.

The first two are μ_i·h_i·φ(x/h_i) with φ(u) ≈ u for a small u: below its scale h an arm returns nearly μ per unit,
far above it next to nothing more. Under the power law μ·A^c, in contrast, no amount is small or large.

*The best split.* With μ_i > 0 the marginal returns μ_i·φ'(x_i/h_i) are equal where x_i > 0. For both curves that
makes x_i = h_i·(r·w_i − 1) with a weight w (√μ, or μ) and one level r for all, Σ x_i = M. Over the arms that get
something, H = Σ h and W = Σ h·w, so r = (M + H)/W, and with the gaps g_i = max w − w_i and G = Σ h·g

  x_i / h_i = (M·w_i + G − H·g_i) / W,

which keeps its digits for amounts far below the scale. Arms for which it is not positive are left out, and the rest
is computed again, until none is: r only falls. Arms with μ ≤ 0 get nothing while another mean is positive; where none
is, all goes to the one arm that loses least: losses diminish too. (Capped returns μ_i·min(x, cap_i) have no marginal
return between μ and 0: their arms are filled from the largest mean down.)
"""

import math
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import generic, implements, kernel
from apportion.model.law import ResponseWorld, positive_per_arm, span
from apportion.model.noise import Gaussian, Noise, draw_noise
from apportion.model.sums import Floats


@generic
def curve(world: Any, ratio: float) -> float:  # type: ignore[empty-body]
    """φ(u), the response to u times the scale, in units of the scale."""


@generic
def weight(world: Any, mean: float) -> float:  # type: ignore[empty-body]
    """w, in proportion to which the amounts and their scales together are best given."""


class CurveTerms(NamedTuple):
    """What a curve needs of an amount A: itself, and A^b."""

    amount: float
    deviation: float


class CurveRecord(NamedTuple):
    """A world as compiled code sees it: arrays per arm, and the value of the best split of one unit."""

    means: Floats
    scales: Floats
    sigmas: Floats
    b: float
    value: float
    noise: Any


class _Curved(ResponseWorld):
    """What the curves below share: everything but φ and w."""

    Record = CurveRecord

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        implements(curve, cls.Record)(cls.curve)
        implements(weight, cls.Record)(cls.weight)

    def __post_init__(self: Any) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", positive_per_arm("scale", self.scale, self.arms))

    @property
    def scales(self: Any) -> tuple[float, ...]:
        """h_i, one per arm."""
        return self.scale if isinstance(self.scale, tuple) else (self.scale,) * self.arms

    @property
    def best_split(self: Any) -> tuple[float, ...]:
        """The optimal shares of one unit."""
        shares = np.zeros(self.arms)
        best_amounts(self.record(), self.means, 1.0, shares)
        return tuple(shares.tolist())

    @property
    def label(self: Any) -> str:
        """A short name for people."""
        text = f"{type(self).__name__} K={self.arms} b={self.b:g} h={span(self.scales)} σ={span(self.sigmas)}"
        return text if isinstance(self.noise, Gaussian) else f"{text} {self.noise.name}"

    def record(self: Any, b: float | None = None, c: float | None = None) -> Any:
        """The world as compiled code sees it."""
        arrays = (np.array(values) for values in (self.means, self.scales, self.sigmas))
        record = self.Record(*arrays, self.b, 0.0, self.noise)
        return record._replace(value=value_at_means(record, record.means, 1.0))

    def curve(self: Any, ratio: Any) -> Any:
        """φ."""
        raise NotImplementedError

    def weight(self: Any, mean: Any) -> Any:
        """w."""
        raise NotImplementedError

    def terms(self: Any, powers: Any) -> Any:
        """A and A^b."""
        deviation = powers.deviation if powers.b == self.b else powers.amount**self.b
        return CurveTerms(powers.amount, deviation)

    def respond(self: Any, arm: Any, mean: Any, amount: Any, rng: Any) -> Any:
        """μ·h·φ(A/h), and with noise σ·A^b·ξ."""
        scale = self.scales[arm]
        expected = mean * scale * curve(self, amount.amount / scale)
        return expected, expected + amount.deviation * self.sigmas[arm] * draw_noise(self.noise, amount.amount, rng)

    def value_at(self: Any, means: Any, budget: Any) -> Any:
        """What the best split returns on average."""
        return value_at_means(self, means, budget)

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """The same at the arms' own means."""
        return self.value if budget == 1.0 else value_at_means(self, self.means, budget)


class Saturating(_Curved):
    """A world of arms that obey Y_i = μ_i·h_i·A/(h_i + A) + σ_i·A^b·ξ_i, each ξ independent with mean 0.

    μ is the return per unit of a small amount, h (`scale`: a number, or one per arm) the amount that brings half of
    what there is to be had, μ·h. Marginal returns are μ/(1 + A/h)².

    >>> world = Saturating(means=(4.0, 1.0), scale=0.5, b=0.5)
    >>> [round(share, 6) for share in world.best_split], round(world.regret([0.5, 0.5]), 6)
    ([0.833333, 0.166667], 0.125)
    """

    means: tuple[float, ...]
    scale: float | tuple[float, ...]
    b: float
    sigma: float | tuple[float, ...] = 1.0
    noise: Noise = field(default="gaussian")  # type: ignore[assignment]

    def curve(self: Any, ratio: Any) -> Any:
        """φ(u) = u/(1 + u)."""
        return ratio / (1.0 + ratio)

    def weight(self: Any, mean: Any) -> Any:
        """√μ."""
        return math.sqrt(mean)


class Logarithmic(_Curved):
    """A world of arms that obey Y_i = μ_i·h_i·log(1 + A/h_i) + σ_i·A^b·ξ_i, each ξ independent with mean 0.

    μ is the return per unit of a small amount, h (`scale`: a number, or one per arm) the amount at which the marginal
    return μ/(1 + A/h) is half of that. Every doubling of a large amount adds the same.

    >>> world = Logarithmic(means=(2.0, 1.0), scale=(0.5, 1.0), b=0.5)
    >>> [round(share, 6) for share in world.best_split], round(world.regret([0.5, 0.5]), 6)
    ([0.75, 0.25], 0.040822)
    """

    means: tuple[float, ...]
    scale: float | tuple[float, ...]
    b: float
    sigma: float | tuple[float, ...] = 1.0
    noise: Noise = field(default="gaussian")  # type: ignore[assignment]

    def curve(self: Any, ratio: Any) -> Any:
        """φ(u) = log(1 + u)."""
        return math.log1p(ratio)

    def weight(self: Any, mean: Any) -> Any:
        """μ."""
        return mean


class CappedRecord(NamedTuple):
    """A capped world as compiled code sees it: arrays per arm, and the value of the best split of one unit."""

    means: Floats
    caps: Floats
    sigmas: Floats
    b: float
    value: float
    noise: Any


class Capped(ResponseWorld):
    """A world of arms that obey Y_i = μ_i·min(A, cap_i) + σ_i·A^b·ξ_i, each ξ independent with mean 0.

    An arm returns μ per unit up to its cap (`cap`: a number, or one per arm), and nothing for more: demand that is
    met, tickets that are sold out. The best split fills arms up from the largest mean down; what all caps together
    leave over is spent on a full arm, where it does no harm. Where no mean is positive, all goes to the one arm that
    loses least: losses are capped too.

    >>> world = Capped(means=(1.0, 0.8, 0.1), cap=(0.5, 0.3, 1.0), b=0.5)
    >>> [round(share, 6) for share in world.best_split], round(world.regret([0.2, 0.3, 0.5]), 6)
    ([0.5, 0.3, 0.2], 0.27)
    """

    means: tuple[float, ...]
    cap: float | tuple[float, ...]
    b: float
    sigma: float | tuple[float, ...] = 1.0
    noise: Noise = field(default="gaussian")  # type: ignore[assignment]

    Record = CappedRecord

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cap", positive_per_arm("cap", self.cap, self.arms))

    @property
    def caps(self) -> tuple[float, ...]:
        """cap_i, one per arm."""
        return self.cap if isinstance(self.cap, tuple) else (self.cap,) * self.arms

    @property
    def best_split(self) -> tuple[float, ...]:
        """The optimal shares of one unit; one of them, where means are equal or all caps leave something over."""
        shares = np.zeros(self.arms)
        fill_up(np.array(self.means), np.array(self.caps), 1.0, shares)
        return tuple(shares.tolist())

    @property
    def label(self) -> str:
        """A short name for people."""
        text = f"Capped K={self.arms} b={self.b:g} cap={span(self.caps)} σ={span(self.sigmas)}"
        return text if isinstance(self.noise, Gaussian) else f"{text} {self.noise.name}"

    def record(self, b: float | None = None, c: float | None = None) -> CappedRecord:
        """The world as compiled code sees it."""
        means, caps, sigmas = (np.array(values) for values in (self.means, self.caps, self.sigmas))
        return self.Record(means, caps, sigmas, self.b, filled_value(means, caps, 1.0), self.noise)

    def terms(self: Any, powers: Any) -> Any:
        """A and A^b."""
        deviation = powers.deviation if powers.b == self.b else powers.amount**self.b
        return CurveTerms(powers.amount, deviation)

    def respond(self: Any, arm: Any, mean: Any, amount: Any, rng: Any) -> Any:
        """μ·min(A, cap), and with noise σ·A^b·ξ."""
        expected = mean * min(amount.amount, self.caps[arm])
        return expected, expected + amount.deviation * self.sigmas[arm] * draw_noise(self.noise, amount.amount, rng)

    def value_at(self: Any, means: Any, budget: Any) -> Any:
        """What the best split returns on average."""
        return filled_value(means, self.caps, budget)

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """The same at the arms' own means."""
        return self.value if budget == 1.0 else filled_value(self.means, self.caps, budget)


@kernel
def fill_up(means: Any, caps: Any, budget: float, amounts: Any) -> None:
    """Arms filled to their caps from the largest mean down, into `amounts`."""
    order = np.argsort(-means)
    for arm in range(len(means)):
        amounts[arm] = 0.0
    first = order[0]
    if means[first] <= 0.0:
        for arm in range(len(means)):
            if means[arm] * min(budget, caps[arm]) > means[first] * min(budget, caps[first]):
                first = arm
        amounts[first] = budget
        return
    left = budget
    for arm in order:
        if means[arm] > 0.0:
            amounts[arm] = min(left, caps[arm])
            left -= amounts[arm]
    amounts[first] += left


@kernel
def filled_value(means: Any, caps: Any, budget: float) -> float:
    """What `fill_up` returns on average."""
    amounts = np.zeros(len(means))
    fill_up(means, caps, budget, amounts)
    value = 0.0
    for arm in range(len(means)):
        value += means[arm] * min(amounts[arm], caps[arm])
    return value


@kernel
def best_amounts(world: Any, means: Any, budget: float, amounts: Any) -> None:
    """The best split of a budget into `amounts`."""
    arms = len(means)
    best = means[0]
    for arm in range(arms):
        best = max(best, means[arm])
    if best <= 0.0:
        cheapest, least = 0, -math.inf
        for arm in range(arms):
            amounts[arm] = 0.0
            returned = means[arm] * world.scales[arm] * curve(world, budget / world.scales[arm])
            if returned > least:
                cheapest, least = arm, returned
        amounts[cheapest] = budget
        return
    top = weight(world, best)
    count = 0
    for arm in range(arms):  # first all that can get something; a positive number marks them
        amounts[arm] = 1.0 if means[arm] > 0.0 else 0.0
        count += 1 if means[arm] > 0.0 else 0
    while True:
        whole, weighted, behind = 0.0, 0.0, 0.0
        for arm in range(arms):
            if amounts[arm] > 0.0:
                own = weight(world, means[arm])
                whole += world.scales[arm]
                weighted += world.scales[arm] * own
                behind += world.scales[arm] * (top - own)
        left = 0
        for arm in range(arms):
            if amounts[arm] > 0.0:
                own = weight(world, means[arm])
                ratio = (budget * own + (behind - whole * (top - own))) / weighted
                amounts[arm] = max(0.0, world.scales[arm] * ratio)
                left += 1 if amounts[arm] > 0.0 else 0
        if left == count:
            return
        count = left


@kernel
def value_at_means(world: Any, means: Any, budget: float) -> float:
    """What `best_amounts` returns on average."""
    amounts = np.zeros(len(means))
    best_amounts(world, means, budget, amounts)
    value = 0.0
    for arm in range(len(means)):
        if amounts[arm] > 0.0:
            value += means[arm] * world.scales[arm] * curve(world, amounts[arm] / world.scales[arm])
    return value
