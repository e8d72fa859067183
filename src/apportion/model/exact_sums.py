"""The sums of `model.sums`, kept exactly over the life of a campaign: in any order, and taken back again."""

import copy
import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from apportion._common import validation
from apportion._common.compiled import compiled, kernel
from apportion.errors import IncompatibleState, InvalidValue
from apportion.model.sums import (
    MANY_ARMS,
    Floats,
    Grid,
    Sums,
    grid_terms,
    outcome_terms,
    powers_of,
    rows_of,
    sums_over,
)

# In periods. Shorter ones forget everything at once anyway.
SHORTEST_HALF_LIFE = 1e-3

# After so many halvings every number is 0.
_NOTHING_LEFT = 5000
# Weights grow by 2 with every half-life; after so many the sums are scaled down, by a power of two and so exactly.
_MOST_HALVINGS = 64

_RESOURCE, _RESPONSE = Sums._fields.index("resource"), Sums._fields.index("response")

# Terms are held to this size so that no sum can reach infinity and spoil the exact arithmetic.
_LARGEST = 1e300


@kernel
def two_sum(a: Any, b: Any) -> Any:
    """(s, e) with s = fl(a + b) and s + e = a + b exactly (Knuth). Numbers or arrays."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


@kernel
def accumulate(limbs: Any, increment: Any) -> Any:
    """Add `increment` to the unevaluated sum `limbs`, exactly; returns what the last limb could not take."""
    rest = increment
    for limb in range(len(limbs)):
        limbs[limb], rest = two_sum(limbs[limb], rest)
    return rest


@kernel
def accumulate_columns(limbs: Floats, increments: Floats) -> None:
    """`accumulate` entry by entry; on return `increments` holds the rests."""
    for row in range(increments.shape[0]):
        for column in range(increments.shape[1]):
            increments[row, column] = accumulate(limbs[:, row, column], increments[row, column])


def with_rest(limbs: Floats, rest: Floats) -> Floats:
    """`limbs` with what they could not take: if there is any, one limb more, and nothing is lost."""
    return np.concatenate([limbs, rest[np.newaxis]]) if rest.any() else limbs


class Statistics:
    """The nine sums, kept exactly: updates commute, and `revert` undoes `update` to the last bit.

    Each sum is an unevaluated sum of a few floating-point numbers without rounding error (error-free
    transformations, Knuth's two-sum), so the statistics are a function of the *set* of outcomes they hold:
    the order of arrival, merging, and taking outcomes back leave no trace.

    Forgetting: with a half-life of h periods an outcome of age a counts 2^(−a/h). Instead of shrinking the
    old sums (which would round), new outcomes weigh more, by 2^(period/h), and everything is rescaled by
    powers of two on reading. Information is then counted as Σ w·A^(2c−2b); since w² ≤ w this understates the
    precision of the weighted estimate, so intervals stay on the safe side for the *noise*; they do not cover
    the drift.

    `b` may also be a `Grid` of exponents: then these are `GridSums`.

    >>> past = Statistics(arms=2, b=0.75)
    >>> past.update([0.5, 0.5], [2.0, 1.0])
    >>> past.update([1.0, 0.0], [3.0, np.nan])      # nothing spent on the second arm: nothing observed
    >>> past.sums().reward.tolist(), past.sums().count.tolist()
    ([5.0, 1.0], [2.0, 1.0])
    >>> past.revert([0.5, 0.5], [2.0, 1.0])
    >>> past.sums().reward.tolist()
    [3.0, 0.0]
    """

    def __init__(self, arms: int, b: float | Grid, half_life: float | None = None, c: float = 1.0) -> None:
        self._kind: Any = _checked_grid(b) if isinstance(b, Grid) else Sums
        # Typed as numbers, which they are but where the law is to be learned.
        self.b: Any = b.b if isinstance(b, Grid) else validation.number("b", b, low=0.0, high=1.0)
        self.c: Any = b.c if isinstance(b, Grid) else validation.number("c", c, above=0.0, high=1.0)
        self.half_life = (
            None if half_life is None else validation.number("half_life", half_life, low=SHORTEST_HALF_LIFE)
        )
        self.period = 0
        # In whole half-lives: weights are 2^(period / half_life − anchor), kept from growing large.
        self._anchor = 0
        self._limbs = np.zeros((2, rows_of(self._kind), validation.whole("arms", arms, low=0)))

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return int(self._limbs.shape[2])

    def update(self, amounts: ArrayLike, outcomes: ArrayLike, period: int | None = None) -> None:
        """Take in outcomes, one per arm; NaN, or an amount of 0, means that nothing was observed.

        `period` is when the amounts were spent; only forgetting looks at it. The present period by default.
        """
        self._add(amounts, outcomes, period, 1.0)

    def revert(self, amounts: ArrayLike, outcomes: ArrayLike, period: int | None = None) -> None:
        """Take back outcomes that `update` took in with the same arguments, exactly."""
        self._add(amounts, outcomes, period, -1.0)

    def advance(self, periods: int = 1) -> None:
        """Let time pass: everything known is `periods` older. Without a half-life this changes nothing."""
        self.period += validation.whole("periods", periods, low=0)
        if self.half_life is not None:
            halvings = int(self.period // self.half_life) - self._anchor
            if halvings > _MOST_HALVINGS:
                self._limbs = np.ldexp(self._limbs, -min(halvings, _NOTHING_LEFT))
                self._anchor += halvings

    def merge(self, other: "Statistics") -> None:
        """Take in all that `other` holds: as if its outcomes had been observed here."""
        mine, theirs = ((s.arms, s.b, s.c, s.half_life, s.period) for s in (self, other))
        if mine != theirs:
            raise InvalidValue(f"`other` must have the same arms, b, c, half-life and period {mine}; got {theirs}.")
        for limb in np.ldexp(other._limbs, other._anchor - self._anchor):
            self._accumulate(limb.copy())

    def add_arms(self, arms: int = 1) -> None:
        """Make room for arms that nothing is known about, after those there are."""
        count = validation.whole("arms", arms, low=1)
        self._limbs = np.concatenate([self._limbs, np.zeros((*self._limbs.shape[:2], count))], axis=2)

    def sums(self) -> Any:
        """`Sums`, or `GridSums`, as of the present period, each the correctly rounded exact sum."""
        values = rounded(self._limbs)
        if self.half_life is not None:
            values /= self._weight(self.period)
        return sums_over(self._kind, values)

    def _weight(self, period: int) -> float:
        """2^(period / half-life − anchor), with the whole half-lives split off: they must scale exactly."""
        if self.half_life is None:
            return 1.0
        halvings, rest = divmod(period, self.half_life)
        return float(np.ldexp(2.0 ** (rest / self.half_life), max(int(halvings) - self._anchor, -_NOTHING_LEFT)))

    def _add(self, amounts: ArrayLike, outcomes: ArrayLike, period: int | None, sign: float) -> None:
        amount, outcome = np.asarray(amounts, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
        observed = check_outcomes(amount, outcome, self.arms)
        if not amount.size:
            return
        with np.errstate(over="ignore", divide="ignore", under="ignore", invalid="ignore"):
            if observed is not None:
                amount, outcome = np.where(observed, amount, 1.0), np.where(observed, outcome, 0.0)
            increments = np.empty(self._limbs.shape[1:])
            if self._kind is Sums:
                added: Any = outcome_terms(outcome, powers_of(amount, self.b, self.c))
            else:
                added = grid_terms(outcome, amount, self._kind)
            for row, term in zip(increments, added):
                row[:] = term
            if observed is not None:
                increments *= observed
            # Between two scalings weights stay below 2^(64 + 2).
            largest = _LARGEST if self.half_life is None else _LARGEST * 2.0 ** -(_MOST_HALVINGS + 2)
            if not np.abs(increments).max() <= largest:
                np.nan_to_num(increments, copy=False)  # 0·∞, an outcome of 0 from an amount below 1e-308
                np.clip(increments, -largest, largest, out=increments)
            weight = sign * self._weight(self.period if period is None else period)
            if weight != 1.0:
                increments *= weight
        self._accumulate(increments)

    def _accumulate(self, increments: Floats) -> None:
        if self.arms < MANY_ARMS:
            rest = accumulate(self._limbs, increments)
        else:
            compiled(accumulate_columns)(self._limbs, increments)
            rest = increments
        self._limbs = with_rest(self._limbs, rest)

    @property
    def spent(self) -> Floats:
        """The sum of the amounts with an outcome, exactly, as limbs; without forgetting."""
        return self._limbs[:, 1]

    @property
    def count(self) -> int:
        """How many outcomes it holds, of all arms; without forgetting."""
        return round(float(self._limbs[:, 0].sum()))

    def copy(self) -> Self:
        """The same, to go on with apart from this."""
        found = copy.copy(self)
        found._limbs = self._limbs.copy()
        return found

    def in_order(self) -> Self:
        """This, its sums written in the one way that does not depend on the order in which outcomes came."""
        parts: list[Floats] = []
        rest = self._limbs
        while len(parts) < 2 or rest.any():
            parts.append(rounded(rest))
            rest = np.concatenate([rest, -parts[-1][np.newaxis]])
            if not rounded(rest).any():
                rest = np.zeros_like(self._limbs)
        self._limbs = np.stack(parts)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `from_dict` restores it to the last bit. At c = 1 it is what it was before c."""
        limbs, bent = self._limbs, {"c": self.c}
        if self.c == 1.0:
            limbs, bent = _without_response(limbs), {}
        return {
            "b": self.b,
            **bent,
            "half_life": self.half_life,
            "period": self.period,
            "anchor": self._anchor,
            "limbs": limbs.tolist(),
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        """The statistics that `to_dict` wrote."""
        limbs = np.array(state["limbs"], dtype=np.float64)
        b, c = exponents_from(state)
        restored = cls(limbs.shape[2] if limbs.ndim == 3 else 0, b, state["half_life"], c)
        if (
            restored._kind is Sums
            and restored.c == 1.0
            and limbs.ndim == 3
            and limbs.shape[1] == len(Sums._fields) - 1
        ):
            limbs = np.insert(limbs, _RESPONSE, limbs[:, _RESOURCE], axis=1)
        whole_sums = limbs.ndim == 3 and len(limbs) >= 2 and limbs.shape[1:] == restored._limbs.shape[1:]
        if not whole_sums or not np.isfinite(limbs).all():
            raise IncompatibleState(
                f"The saved statistics are damaged: {len(restored._limbs[0])} sums per arm were expected."
            )
        restored.period = validation.whole("period", state["period"], low=0)
        halvings = 0 if restored.half_life is None else int(restored.period // restored.half_life)
        restored._anchor = validation.whole("anchor", state["anchor"], low=0, high=halvings)
        restored._limbs = limbs
        return restored


def exponents_from(state: dict[str, Any]) -> tuple[Any, float]:
    """b and c of saved statistics, as `Statistics` takes them: numbers, or a grid."""
    b, c = state["b"], state.get("c", 1.0)
    return (Grid(tuple(c), tuple(b)), 1.0) if isinstance(c, (list, tuple)) else (b, c)


def _without_response(limbs: Floats) -> Floats:
    """At c = 1 the response is the resource, and need not be written down."""
    return np.delete(limbs, _RESPONSE, axis=1)


def _checked_grid(grid: Grid) -> Grid:
    """A grid of exponents, checked: of each one, or several at the same even steps."""
    steps = np.concatenate([np.diff(grid.c) / (2.0 if len(grid.b) > 1 else 1.0), np.diff(grid.b)])
    if not grid.c or not grid.b or (len(steps) and not (steps.min() > 0.0 and np.ptp(steps) < 1e-9)):
        raise validation.refuse("b", "a grid of exponents that rise at even steps", grid)
    for name, values in (("c", grid.c), ("b", grid.b)):
        for value in values:
            validation.number(name, value, low=0.0, high=1.0)
    return grid


def check_outcomes(amount: Floats, outcome: Floats, arms: int) -> NDArray[np.bool_] | None:
    """Where there is an outcome, None for everywhere; an error where a number is none that can be."""
    for name, values in (("amounts", amount), ("outcomes", outcome)):
        if values.shape != (arms,):
            raise validation.refuse(name, f"one number per arm ({arms})", f"shape {values.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        # One sum tells whether everything was observed and is finite; then there is nothing to look for.
        everything = arms > 0 and amount.min() > 0.0 and math.isfinite(amount.sum() + outcome.sum())
    return None if everything else _observed(amount, outcome)


def _observed(amount: Floats, outcome: Floats) -> NDArray[np.bool_]:
    """Where an amount was spent and an outcome came back; an error where a number is none that can be."""
    if not (np.isfinite(amount) & (amount >= 0.0)).all():
        raise validation.refuse(
            "amounts", "finite numbers of at least 0", amount[~(amount >= 0.0) | np.isinf(amount)]
        )
    if np.isinf(outcome).any():
        raise validation.refuse("outcomes", "finite numbers, or NaN where nothing came back", outcome)
    return (amount > 0.0) & ~np.isnan(outcome)


def rounded(limbs: Floats) -> Floats:
    """The correctly rounded sum over the first axis, of limbs as `accumulate` keeps them."""
    if len(limbs) == 2:
        return np.asarray(limbs[0] + limbs[1])
    parts = limbs.copy()
    for _ in range(len(parts)):  # distil: afterwards no part reaches half a unit in the last place above it
        for limb in range(len(parts) - 1, 0, -1):
            parts[limb - 1], parts[limb] = two_sum(parts[limb - 1], parts[limb])
    values = np.asarray(parts[0])
    # Exactly between two floats, what lies below decides, and only a sum in one go gets that right.
    tied = (np.abs(parts[1]) * 2.0 >= np.spacing(np.abs(values)) / 2.0) & (parts[2:] != 0.0).any(axis=0)
    if tied.any():
        for index in zip(*np.nonzero(tied)):
            values[index] = math.fsum(limbs[(slice(None), *index)])
    return values
