"""The law of returns, Y_i = μ_i·A^c + σ_i·A^b·ξ, and a world that obeys it. c = 1 and one σ is the paper's.

`ResponseWorld` is what it shares with other curves: a mean per arm times a response to the amount, and this noise.
"""

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from apportion._common.compiled import generic, implements
from apportion._common.validation import number, number_or_each, refuse, require_one_per_arm
from apportion.errors import InvalidValue
from apportion.model.noise import Gaussian, Noise, draw_noise, noise_family
from apportion.model.response import best_shares, best_value
from apportion.model.sums import Floats
from apportion.model.world import World, shortfall, terms


@generic
def respond(world: Any, arm: int, mean: float, amount: Any, rng: Any) -> tuple[float, float]:  # type: ignore[empty-body]
    """What is expected of an amount (as `terms` has it) on an arm whose mean is `mean`, and what comes back."""


@generic
def value_at(world: Any, means: Any, budget: float) -> float:  # type: ignore[empty-body]
    """The largest expected return of a split of `budget` where the arms have these means."""


class ResponseWorld(World):
    """A world of arms that return their mean times a response to the amount, with noise σ_i·A^b·ξ.

    Parameters `means`, `b`, `sigma` (a number, or one per arm) and `noise` are checked here. A subclass says what
    comes back of a mean in `respond` and what the best split is worth in `value_at`, so that `Moving` can ask it
    about means that are not its own.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        implements(respond, cls.Record)(cls.respond)
        implements(value_at, cls.Record)(cls.value_at)

    def __post_init__(self: Any) -> None:
        set_ = object.__setattr__  # the record is frozen for everyone else
        set_(self, "means", numbers_per_arm("means", self.means))
        set_(self, "b", number("b", self.b, low=0, high=1))
        set_(self, "sigma", positive_per_arm("sigma", self.sigma, len(self.means)))
        set_(self, "noise", noise_family(self.noise))

    @property
    def arms(self: Any) -> int:
        """The number of arms, K."""
        return len(self.means)

    @property
    def sigmas(self: Any) -> tuple[float, ...]:
        """σ_i, one per arm."""
        return self.sigma if isinstance(self.sigma, tuple) else (self.sigma,) * self.arms

    def respond(self: Any, arm: Any, mean: Any, amount: Any, rng: Any) -> Any:
        """See `apportion.model.law.respond`."""
        raise NotImplementedError(f"{type(self).__name__} has no `respond`")

    def value_at(self: Any, means: Any, budget: Any) -> Any:
        """See `apportion.model.law.value_at`."""
        raise NotImplementedError(f"{type(self).__name__} has no `value_at`")

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """What comes back of the arm's own mean."""
        return respond(self, arm, self.means[arm], amount, rng)

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """The value of the best split at the arms' own means."""
        return value_at(self, self.means, budget)


class AmountTerms(NamedTuple):
    """What the law needs of an amount A: itself, A^c and A^b."""

    amount: float
    response: float
    deviation: float


class InstanceRecord(NamedTuple):
    """An instance as compiled code sees it: arrays per arm (gaps Δ_i = max μ − μ_i), and V(1), the best value."""

    means: Floats
    gaps: Floats
    sigmas: Floats
    b: float
    c: float
    value: float
    noise: Any


class ProportionalRecord(InstanceRecord):
    """The same at c = 1, where the policy's sums are taken at the b of the law: their powers of an amount will do."""

    __slots__ = ()


class Instance(ResponseWorld):
    """A world of arms that obey Y_i = μ_i·A_i^c + σ_i·A_i^b·ξ_i, each ξ independent with mean 0.

    `sigma` is a number, or one per arm. Amounts are raw: the law holds for any A ≥ 0, not only for shares of one
    unit. `dataclasses.replace` makes a changed copy.

    >>> world = Instance(means=(0.9, 1.0, 0.7), b=0.75)
    >>> world.best, world.best_mean, world.label
    (1, 1.0, 'K=3 b=0.75 σ=1 Δmin=0.1')
    >>> world.draw([0.5, 0.5, 0.0], np.random.default_rng(7)).round(3)
    array([0.451, 0.678,   nan])
    >>> bent = Instance(means=(2.0, 1.0), b=0.5, sigma=(1.0, 0.2), c=0.5)
    >>> bent.best_split, bent.label
    ((0.8, 0.2), 'K=2 b=0.5 c=0.5 σ=0.2–1 Δmin=1')
    """

    means: tuple[float, ...]
    b: float
    sigma: float | tuple[float, ...] = 1.0
    c: float = 1.0
    noise: Noise = field(default="gaussian")  # type: ignore[assignment]

    Record = InstanceRecord

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "c", number("c", self.c, above=0, high=1))

    @cached_property
    def best(self) -> int:
        """The index of the arm with the largest mean, the first of them where several have it."""
        return self.means.index(max(self.means))

    @property
    def best_mean(self) -> float:
        """μ*, the largest mean."""
        return self.means[self.best]

    @cached_property
    def gaps(self) -> tuple[float, ...]:
        """Δ_i = μ* − μ_i."""
        return tuple(self.best_mean - mean for mean in self.means)

    @cached_property
    def best_split(self) -> tuple[float, ...]:
        """The optimal shares of one unit: all on the best arms at c = 1 (`apportion.model.response`)."""
        shares = [0.0] * self.arms
        best_shares(self.means, self.c, shares)
        return tuple(shares)

    @cached_property
    def label(self) -> str:
        """A short name for people. Two instances that differ may share it."""
        smallest = min((gap for gap in self.gaps if gap > 0), default=0.0)
        bent = "" if self.c == 1.0 else f" c={self.c:g}"
        text = f"K={self.arms} b={self.b:g}{bent} σ={span(self.sigmas)} Δmin={smallest:g}"
        return text if isinstance(self.noise, Gaussian) else f"{text} {self.noise.name}"

    def record(self, b: float | None = None, c: float | None = None) -> InstanceRecord:
        """The law as compiled code sees it."""
        means, gaps, sigmas = (np.array(values) for values in (self.means, self.gaps, self.sigmas))
        proportional = type(self) is Instance and self.c == c == 1.0 and self.b == b
        kind = ProportionalRecord if proportional else self.Record
        return kind(means, gaps, sigmas, self.b, self.c, best_value(self.means, self.c, 1.0), self.noise)

    def terms(self: Any, powers: Any) -> Any:
        """A, A^c and A^b; those of the policy's sums where they have the same exponents."""
        if powers.b == self.b and powers.c == self.c:
            return AmountTerms(powers.amount, powers.response, powers.deviation)
        response = powers.amount if self.c == 1.0 else powers.amount**self.c
        return AmountTerms(powers.amount, response, powers.amount**self.b)

    def respond(self: Any, arm: Any, mean: Any, amount: Any, rng: Any) -> Any:
        """μ·A^c, and with noise σ·A^b·ξ; `amount` has the powers (`AmountTerms`)."""
        expected = amount.response * mean
        return expected, expected + amount.deviation * self.sigmas[arm] * draw_noise(self.noise, amount.amount, rng)

    def value_at(self: Any, means: Any, budget: Any) -> Any:
        """V(M) = M^c·(Σ μ_j^e)^(1−c), e = 1/(1−c)."""
        return best_value(means, self.c, budget)

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """V(M) = M^c·V(1)."""
        return self.value if budget == 1.0 else self.value * budget**self.c

    def shortfall(self: Any, arm: Any, amount: Any, expected: Any, per_unit: Any) -> Any:
        """A·Δ at c = 1, without cancellation."""
        return amount * self.gaps[arm] if self.c == 1.0 else amount * per_unit - expected

    def to_dict(self) -> dict[str, Any]:
        """The instance as JSON-friendly values; `from_dict` reads them back."""
        if type(self) is not Instance:
            return super().to_dict()
        sigma = list(self.sigma) if isinstance(self.sigma, tuple) else self.sigma
        plain = {"means": list(self.means), "b": self.b, "sigma": sigma, "noise": self.noise.describe()}
        return plain if self.c == 1.0 else {**plain, "c": self.c}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The instance that `to_dict` wrote down.

        >>> world = Instance(means=(0.9, 1.0), b=0.75, noise="laplace")
        >>> Instance.from_dict(world.to_dict()) == world
        True
        """
        fields = {"means", "b", "sigma", "noise", "c"}
        if not isinstance(values, Mapping) or not {"means", "b"} <= set(values) <= fields:
            shown = sorted(map(str, values)) if isinstance(values, Mapping) else values
            raise refuse("instance", "a mapping with means, b and optionally sigma, noise, c", shown)
        return cls(**values)


@implements(terms, ProportionalRecord)
def _powers_as_terms(world: Any, powers: Any) -> Any:
    return powers


@implements(shortfall, ProportionalRecord)
def _gap_of_amount(world: Any, arm: Any, amount: Any, expected: Any, per_unit: Any) -> Any:
    return amount * world.gaps[arm]


def numbers_per_arm(name: str, values: Any) -> tuple[float, ...]:
    """One finite float per arm; the entry that is not one is named."""
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise refuse(name, "a list with one number per arm", values)
    given = list(values)
    if not given:
        raise refuse(name, "a list with at least one number", given)
    return tuple(number(f"{name}[{index}]", value) for index, value in enumerate(given))


def rows_of_numbers(name: str, rows: Any, columns: int) -> tuple[tuple[float, ...], ...]:
    """A row of so many finite numbers for each arm."""
    try:
        table = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse(name, f"a row of {columns} numbers per arm", rows) from None
    if table.ndim != 2 or table.shape[1] != columns or not len(table):
        raise InvalidValue(f"`{name}` must be rows of {columns} numbers, one row per arm; got shape {table.shape}.")
    if not np.isfinite(table).all():
        raise refuse(name, "finite numbers", float(table[~np.isfinite(table)][0]))
    return tuple(map(tuple, table.tolist()))


def span(values: tuple[float, ...]) -> str:
    """Numbers for a label: the one that all are, or the least and the largest."""
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"


def positive_per_arm(name: str, value: Any, arms: int) -> float | tuple[float, ...]:
    """A parameter such as σ as it is given: a number above 0, or one per arm."""
    given = number_or_each(name, value, above=0)
    require_one_per_arm(name, given, arms)
    return given
