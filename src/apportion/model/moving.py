"""Worlds whose means move: by a random walk, by jumps, along a given path, or all together with the season."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel
from apportion._common.validation import number, refuse, whole
from apportion.errors import InvalidValue
from apportion.model.law import ResponseWorld, numbers_per_arm, respond, value_at
from apportion.model.sums import Floats
from apportion.model.world import World, terms
from apportion.model.worlds import world_from_dict


class MovingRecord(NamedTuple):
    """A world that moves as compiled code sees it; `path` (rows, K) has one row where none was given."""

    base: Any
    path: Floats
    step: float
    common_step: float
    jump_every: int
    season: float
    season_length: float
    pattern: Floats
    spread: float


class Moving(World):
    """A world with the response and the noise of `base`, whose means are μ_i(t) = S_t·exp(L_i(t))·m_i(t) in period t.

    `base` is a world given by means: `Instance`, `Saturating`, `Logarithmic`, `Capped`. Each part is left out unless
    given:

    - `path`: m(t), a row of means per period; beyond its end the last row stays. Without it m is `base.means`.
    - `jump_every`: after every so many periods the means move on by one arm, so another arm is the best one.
    - `step`: L_i is a random walk, its steps normal with this standard deviation; `common_step`: one more such walk
      that all arms share. A mean keeps its sign, and a mean of 0 stays.
    - S_t, the same for all arms: `season`, 1 + season·sin(2π·(t − 1)/season_length); `pattern`, factors that come
      again and again (weekdays); `spread`, a factor exp(spread·ξ − spread²/2) of mean 1, drawn afresh.

    Regret is against the best split of each period. What is drawn comes from the stream of the noise: with
    `simulate(..., common=True)` the means of every policy move alike.

    >>> from apportion import Course, Instance
    >>> base = Instance(means=(1.0, 0.85, 0.7), b=0.5, sigma=0.3)
    >>> Moving(base, step=0.03).label
    'K=3 b=0.5 σ=0.3 Δmin=0.15 step=0.03'
    >>> weekly = Moving(base, jump_every=150, pattern=(0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3))
    >>> course = Course(weekly, np.random.default_rng(1))
    >>> course.play([[1.0, 0.0, 0.0]] * 151).best[[0, 1, 149, 150]].round(6).tolist()
    [0.7, 0.8, 0.9, 1.0]
    """

    base: Any
    step: float = 0.0
    common_step: float = 0.0
    jump_every: int = 0
    path: tuple[tuple[float, ...], ...] | None = None
    season: float = 0.0
    season_length: float = 200.0
    pattern: tuple[float, ...] | None = None
    spread: float = 0.0

    Record = MovingRecord

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if isinstance(self.base, Mapping):  # as it is written in files
            set_(self, "base", world_from_dict(self.base))
        if not isinstance(self.base, ResponseWorld):
            raise refuse("base", "a world given by means, such as apportion.Instance", self.base)
        for name in ("step", "common_step", "spread"):
            set_(self, name, number(name, getattr(self, name), low=0))
        set_(self, "jump_every", whole("jump_every", self.jump_every, low=0))
        set_(self, "season", number("season", self.season, low=0, high=1))
        set_(self, "season_length", number("season_length", self.season_length, above=0))
        if self.pattern is not None:
            set_(self, "pattern", numbers_per_arm("pattern", self.pattern))
        if self.path is not None:
            set_(self, "path", _rows(self.path, self.base.arms))

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return int(self.base.arms)

    @property
    def b(self) -> float:
        """The noise exponent."""
        return float(self.base.b)

    @property
    def c(self) -> float | None:
        """The exponent of returns; None where they are no power of the amount."""
        return getattr(self.base, "c", None)

    @property
    def sigma(self) -> Any:
        """The noise level, as `base` has it."""
        return self.base.sigma

    @property
    def noise(self) -> Any:
        """The family of noise."""
        return self.base.noise

    @property
    def label(self) -> str:
        """That of the world that moves, and how it moves."""
        moves = [
            f"{name}={value:g}"
            for name, value in self.parameters.items()
            if name in ("step", "common_step", "jump_every", "season", "spread") and value
        ]
        given = [name for name in ("path", "pattern") if getattr(self, name) is not None]
        return " ".join([self.base.label, *moves, *given])

    def record(self, b: float | None = None, c: float | None = None) -> MovingRecord:
        """The world as compiled code sees it."""
        path = (self.base.means,) if self.path is None else self.path
        return self.Record(
            self.base.record(b, c), np.array(path), self.step, self.common_step, self.jump_every, self.season,
            self.season_length, np.array(self.pattern or (1.0,)), self.spread,
        )  # fmt: skip

    def initial_state(self) -> Floats:
        """The means of the period, then L: two numbers per arm."""
        return np.zeros(2 * self.arms)

    def advance(self: Any, number: Any, state: Any, rng: Any) -> Any:
        """The means of period `number`, into the first half of the state."""
        move_means(self, number, state, rng)

    def terms(self: Any, powers: Any) -> Any:
        """Those of the world that moves."""
        return terms(self.base, powers)

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """What comes back of the mean of today."""
        return respond(self.base, arm, state[arm], amount, rng)

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """The value of the best split for the means of today."""
        return value_at(self.base, state[: len(state) // 2], budget)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without what is left out."""
        plain = super().to_dict()
        fields = dataclasses.fields(self)
        at_rest = {field.name for field in fields if getattr(self, field.name) == field.default}
        return {name: value for name, value in plain.items() if name not in at_rest}


@kernel
def move_means(world: Any, number: int, state: Any, rng: Any) -> None:
    """The first half of the state becomes the means of period `number`; the second half is L."""
    arms = len(state) // 2
    factor = world.pattern[(number - 1) % len(world.pattern)]
    if world.season > 0.0:
        factor *= 1.0 + world.season * math.sin(2.0 * math.pi * ((number - 1) / world.season_length))
    if world.spread > 0.0:
        factor *= math.exp(world.spread * rng.standard_normal() - 0.5 * world.spread * world.spread)
    common = 0.0
    if world.common_step > 0.0 and number > 1:
        common = world.common_step * rng.standard_normal()
    row = min(number, world.path.shape[0]) - 1
    shift = (number - 1) // world.jump_every if world.jump_every > 0 else 0
    for arm in range(arms):
        if number > 1:
            state[arms + arm] += common
            if world.step > 0.0:
                state[arms + arm] += world.step * rng.standard_normal()
        level = state[arms + arm]
        moved = factor if level == 0.0 else factor * math.exp(level)
        state[arm] = moved * world.path[row, (arm - shift) % arms]


def _rows(path: Any, arms: int) -> tuple[tuple[float, ...], ...]:
    """The path as rows of one number per arm; an array is looked at as a whole."""
    try:
        rows = np.asarray(path, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse("path", f"rows of {arms} numbers, one per arm", path) from None
    if rows.ndim != 2 or rows.shape[1] != arms or not len(rows):
        raise InvalidValue(f"`path` must be rows of {arms} numbers, one per arm; got shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise refuse("path", "finite numbers", float(rows[~np.isfinite(rows)][0]))
    return tuple(map(tuple, rows.tolist()))
