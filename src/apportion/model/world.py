"""What a world is: a record of parameters, the outcome of an amount on an arm, and the best value of a period.

A world of one's own takes about ten lines. The same functions run plainly in live use and compiled in simulation, so
they are written like kernels: numbers, arrays, `math`, no other objects.

>>> class Capped(World):
...     '''Each arm returns its rate per unit, up to a cap; noise of one size.'''
...     rates: tuple[float, ...]
...     cap: float = 0.5
...     def outcome(self, number, arm, amount, state, rng):
...         expected = self.rates[arm] * min(amount, self.cap)
...         return expected, expected + 0.1 * rng.standard_normal()
...     def best_value(self, number, budget, state):
...         left, value = budget, 0.0
...         for rate in -np.sort(-self.rates):          # the best arms first, each up to its cap
...             value += max(rate, 0.0) * min(left, self.cap)
...             left -= min(left, self.cap)
...         return value
>>> world = Capped(rates=(0.9, 1.0, 0.2))
>>> world.arms, round(world.regret([0.2, 0.3, 0.5]), 12)
(3, 0.37)

`apportion.testing.check_world(world)` says whether it keeps the contract.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, dataclass_transform

import numpy as np
import numpy.typing as npt

from apportion._common import optional
from apportion._common.compiled import compiled, generic, implements, kernel
from apportion._common.validation import number, refuse, shown
from apportion.errors import InvalidValue
from apportion.model.noise import noise_family
from apportion.model.sums import Floats, Powers, powers_of

Generator = np.random.Generator

# From this many numbers on, a block is drawn by the compiled kernel: before, loading it would take longer.
_COMPILE_FROM = 20_000


@generic
def advance(world: Any, number: int, state: Floats, rng: Generator) -> None:
    """Let period `number` (from 1 on) begin: what moves in the world is written into `state`."""


@generic
def terms(world: Any, powers: Powers) -> Any:
    """What an amount alone says of its outcome on any arm: worked out once for amounts that come again.

    `powers` are those of the amount, at the exponents of the policy's sums. The amount itself by default.
    """


@generic
def outcome(world: Any, number: int, arm: int, amount: Any, state: Floats, rng: Generator) -> tuple[float, float]:  # type: ignore[empty-body]
    """What is to be expected of an amount > 0 on an arm in period `number`, and what comes back.

    `amount` is what `terms` gives: the amount itself where the world does not have that function.
    """


@generic
def best_value(world: Any, number: int, budget: float, state: Floats) -> float:  # type: ignore[empty-body]
    """The largest expected return of a split of `budget` in period `number`: regret is measured against it."""


@generic
def shortfall(world: Any, arm: int, amount: float, expected: float, per_unit: float) -> float:  # type: ignore[empty-body]
    """What an amount on an arm falls short of its part of the best value, `per_unit` = best value / budget.

    Summed over a split of the whole budget this is its regret. A world may have a form without cancellation.
    """


_FUNCTIONS = (advance, terms, outcome, best_value, shortfall)


@dataclass_transform(frozen_default=True)
class World:
    """The base of every world. Subclasses declare parameters like a dataclass, and `outcome` and `best_value`.

    Inside these functions `self` is a record of numbers: a parameter that is a list of numbers is an array there. A
    parameter called `noise` is a family of noise, also by name: `draw_noise(self.noise, amount, rng)` draws ξ.
    A subclass may also have

    - `terms`, where powers of an amount are dear and the same amounts come again;
    - `initial_state` and `advance`, where the world moves: the state is an array that belongs to one run;
    - `shortfall`, where regret can be had without cancellation;
    - `arms`, where it is not the length of its first list, and `label`.
    """

    Record: ClassVar[type]
    """The NamedTuple that compiled code sees; made from the parameters unless the subclass has its own."""
    shows: ClassVar[str] = "returns"
    """What comes back: "returns", or "slopes" where what is seen is how much a little more would bring."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("draw", "draw_block", "regret"):
            if name in cls.__dict__:
                raise InvalidValue(
                    f"A world says what comes back in `outcome`; got a `{name}` of its own: {cls.__name__}."
                )
        dataclasses.dataclass(frozen=True)(cls)
        if "Record" not in cls.__dict__:
            cls.Record = _record_type(cls)
        for function in _FUNCTIONS:
            implements(function, cls.Record)(getattr(cls, function.__name__))

    def __post_init__(self) -> None:
        """Lists become tuples, numbers of NumPy plain ones; a world that cannot be played is refused."""
        for name in ("outcome", "best_value"):
            if getattr(type(self), name) is getattr(World, name):
                raise InvalidValue(
                    f"`{type(self).__name__}` must have a function `{name}`, without which it cannot be played."
                )
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, _frozen(field.name, getattr(self, field.name)))
        if "noise" in self.parameters:
            object.__setattr__(self, "noise", noise_family(self.parameters["noise"]))

    # What a world says of itself, as kernels: `self` is the record

    def outcome(self, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """What is expected, and what comes back; see `apportion.model.world.outcome`."""
        raise NotImplementedError(f"{type(self).__name__} has no `outcome`")

    def best_value(self, number: Any, budget: Any, state: Any) -> Any:
        """The value of the best split; see `apportion.model.world.best_value`."""
        raise NotImplementedError(f"{type(self).__name__} has no `best_value`")

    def advance(self, number: Any, state: Any, rng: Any) -> None:
        """Nothing moves."""

    def terms(self, powers: Any) -> Any:
        """The amount itself."""
        return powers.amount

    def shortfall(self, arm: Any, amount: Any, expected: Any, per_unit: Any) -> Any:
        """The difference."""
        return amount * per_unit - expected

    # The world as people use it

    @property
    def arms(self) -> int:
        """The number of arms, K: the length of the first parameter that is a list."""
        for value in self.parameters.values():
            if isinstance(value, tuple) and not hasattr(value, "_fields"):
                return len(value)
        raise InvalidValue(
            f"`{type(self).__name__}` must have a parameter with one number per arm, or a property `arms`."
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    @property
    def label(self) -> str:
        """A short name for people. Two worlds that differ may share it."""
        return f"{type(self).__name__} K={self.arms}"

    def record(self, b: float | None = None, c: float | None = None) -> Any:
        """The parameters as compiled code sees them; `b` and `c` are the exponents of the policy's sums, if known."""
        del b, c
        return self.Record(*(_plain_or_array(value) for value in self.parameters.values()))

    def initial_state(self) -> Floats:
        """What moves in the world, before the first period: an array, empty where nothing does."""
        return np.zeros(0)

    @property
    def moves(self) -> bool:
        """Whether something moves from period to period."""
        return type(self).advance is not World.advance

    def draw(self, amounts: npt.ArrayLike, rng: Generator) -> Floats:
        """The outcomes of one period: a number per arm, NaN where the amount is 0."""
        return self.draw_block(np.asarray(self._amounts(amounts, (1,)))[np.newaxis], rng).reshape(self.arms)

    def draw_block(self, amounts: npt.ArrayLike, rng: Generator) -> Floats:
        """The outcomes of the first n periods from an (n, K) array of amounts.

        An arm with amount 0 draws no noise, so the stream goes on with the next arm that is observed.
        """
        given = self._amounts(amounts, (2,))
        if not isinstance(rng, Generator):
            raise refuse("rng", "a numpy.random.Generator", rng)
        return Course(self, rng).play(given).outcomes

    def regret(self, amounts: npt.ArrayLike) -> float:
        """What a split falls short of the best one in expectation: summed over periods where there is a row for each.

        In a world that moves by chance this is not known before it is played: see `Course`.
        """
        given = self._amounts(amounts, (1, 2))
        if self.moves:
            raise InvalidValue(f"The regret in {self.label} depends on how it moves: play it with a `Course`.")
        course = Course(self, np.random.default_rng(0))  # what is expected does not depend on the noise
        return float(course.play(np.atleast_2d(given)).regret.sum())

    def to_dict(self) -> dict[str, Any]:
        """The world as JSON-friendly values; `apportion.model.worlds.world_from_dict` reads them back."""
        from apportion.model.worlds import described

        return described(self)

    def _amounts(self, amounts: npt.ArrayLike, dimensions: tuple[int, ...]) -> Floats:
        """`amounts` as non-negative finite floats, one per arm (1 dimension) or rows of these (2)."""
        shapes = {1: f"({self.arms},)", 2: f"(n, {self.arms})"}
        allowed = "one amount per arm, of shape " + " or ".join(shapes[count] for count in dimensions)
        try:
            given = np.ascontiguousarray(amounts, dtype=np.float64)
        except (TypeError, ValueError):
            raise refuse("amounts", allowed, amounts) from None
        if np.ndim(amounts) not in dimensions or given.shape[-1] != self.arms:
            raise refuse("amounts", allowed, np.shape(amounts))
        bad = ~((given >= 0.0) & (given < np.inf))
        if bad.any():
            raise refuse("amounts", "non-negative finite numbers", float(given[bad][0]))
        return given


class Played(NamedTuple):
    """What was given in some periods and what came back, (n, K), NaN where nothing was given; per period the expected
    return of the split, the best value, and the regret."""

    amounts: Floats
    outcomes: Floats
    expected: Floats
    best: Floats
    regret: Floats


class Course:
    """A world as time passes, for those who decide period by period: the loop of the simulation, from outside.

    >>> from apportion import Instance
    >>> course = Course(Instance(means=(0.5, 1.0), b=0.5), np.random.default_rng(1))
    >>> course.play([[0.5, 0.5]]).regret.tolist(), course.play([[0.2, 0.8]]).regret.round(12).tolist()
    ([0.25], [0.1])

    `common`: noise is drawn for arms that get nothing too, so that courses of two policies can share it.
    """

    def __init__(self, world: World, rng: Generator, common: bool = False) -> None:
        self.world, self.number, self._common = world, 0, common
        self._record, self._state, self._rng = world.record(), world.initial_state(), rng

    def play(self, amounts: npt.ArrayLike) -> Played:
        """The next periods, one per row of `amounts`; the budget of a period is the sum of its row."""
        given = np.ascontiguousarray(amounts, dtype=np.float64)
        periods, arms = given.shape
        played = Played(given, np.full((periods, arms), np.nan), *(np.zeros(periods) for _ in range(3)))
        quick = given.size >= _COMPILE_FROM and not optional.missing("fast")  # without, it only takes longer
        loop = compiled(play_amounts) if quick else play_amounts
        with np.errstate(all="ignore"):  # the inverse of an amount below 1e-308 is infinite, and not needed
            loop(self._record, self.number, self._state, self._rng, self._common, played)
        self.number += periods
        return played


@kernel
def play_amounts(world: Any, start: int, state: Any, rng: Generator, common: bool, played: Any) -> None:
    """Row after row, arm after arm."""
    amounts = played.amounts
    for row in range(amounts.shape[0]):
        number = start + row + 1
        advance(world, number, state, rng)
        budget = 0.0
        for arm in range(amounts.shape[1]):
            budget += amounts[row, arm]
        best = best_value(world, number, budget, state)
        played.best[row] = best
        per_unit = best / budget if budget > 0.0 else 0.0
        for arm in range(amounts.shape[1]):
            amount = amounts[row, arm]
            if amount > 0.0:  # an arm with A = 0 is not observed, also at b = 0, where 0^0 would be 1
                expected, returned = outcome(
                    world, number, arm, terms(world, powers_of(amount, 1.0, 1.0)), state, rng
                )
                played.outcomes[row, arm] = returned
                played.expected[row] += expected
                played.regret[row] += shortfall(world, arm, amount, expected, per_unit)
            elif common:
                outcome(world, number, arm, terms(world, powers_of(1.0, 1.0, 1.0)), state, rng)


def _record_type(cls: type[World]) -> type:
    """A NamedTuple of the parameters; a subclass that prepares a record of its own gets that under its own type."""
    inherited = getattr(cls, "Record", None)
    if inherited is not None and cls.record is not World.record:
        record = type(f"{cls.__name__}Record", (inherited,), {"__slots__": ()})
    else:
        fields = [(field.name, Any) for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
        record = NamedTuple(f"{cls.__name__}Record", fields)  # type: ignore[misc, no-redef]
    record.__module__ = cls.__module__
    record.__qualname__ = f"{cls.__qualname__}.Record"
    return record


def _frozen(name: str, value: Any) -> Any:
    """A parameter as an immutable value: a list of numbers as a tuple, a number of NumPy as a plain one."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        if not value:
            raise refuse(name, "a list with at least one number", value)
        return tuple(_frozen(f"{name}[{index}]", item) for index, item in enumerate(value))
    if isinstance(value, (bool, str, tuple, World, Mapping)) or value is None:
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    try:
        return number(name, value)
    except InvalidValue:
        raise refuse(name, "a finite number, or a list of them", shown(value)) from None


def _plain_or_array(value: Any) -> Any:
    if isinstance(value, World):
        return value.record()
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return np.array(value, dtype=np.float64)
    return value
