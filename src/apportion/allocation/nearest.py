"""The nearest split that keeps linear rules: a strictly convex problem, solved exactly through its dual.

Wanted are the shares x with low ≤ x ≤ high, Σ x = 1 and least ≤ A x ≤ most that move least from what a policy wants,
each arm counted relative to its own share:

    minimise  ½ Σ (x_i − s_i)² / s_i.

Why this distance: without rules its answer is x_i = clip(λ·s_i, low_i, high_i), which keeps proportions (`feasible.
project`); and where the rules are sums of arms whose groups are disjoint or nested, it is water filling, group by
group: members of a group that is held keep their proportions among themselves, and so do the others. (Proof: the
conditions of Karush, Kuhn and Tucker are x_i = clip(s_i·(1 + ν + Σ y_g), low_i, high_i) with one multiplier y_g for
each group that is at its limit, of the sign of that limit. On a tree of groups those of relative entropy, which is
what keeps proportions, are x_i = clip(s_i·λ·Π μ_g, …) with the same signs, and 1 + ν + Σ y_g = λ·Π μ_g maps one to
the other.) For rules that overlap, and for ratios, it is the answer of a quadratic program.

The dual has one unknown per rule, not per arm: D(y) is concave and piecewise quadratic, and its gradient is what the
rules miss. Newton steps with an exact line search over its breakpoints end after finitely many pieces, on two hundred
arms and fifty overlapping groups after a few dozen. Along a direction in which D grows without end no split exists.
"""

import math
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from apportion.model.sums import Floats

Flags = npt.NDArray[np.bool_]

TOLERANCE: Final = 1e-12
"""What a rule may miss by, in shares, and is kept."""

_IMPOSSIBLE: Final = 1e-10  # a contradiction smaller than this, in shares, is rounding
_SMALLEST_WEIGHT: Final = 1e-12  # smaller shares move as if they were this
_COARSE_WEIGHT: Final = 1e-4  # or this, where weights that are so unlike would take too many steps
_UNWANTED_WEIGHT: Final = 1e-6  # an arm that is wanted nothing, where the others cannot do it alone
_FEW_STEPS: Final = 60  # for weights as they are
_MOST_STEPS: Final = 500


class Rows(NamedTuple):
    """Rules as rows: least ≤ matrix · shares ≤ most."""

    matrix: Floats
    least: Floats
    most: Floats

    def missed(self, shares: Floats) -> Floats:
        """By how much each row is missed; 0 where it is kept."""
        value = self.matrix @ shares
        return np.maximum(np.maximum(self.least - value, value - self.most), 0.0)

    def kept(self, shares: Floats, slack: float = 1e-9) -> bool:
        """Whether every row is, up to rounding."""
        return not (self.missed(shares) > slack).any()

    def among(self, arms: Floats) -> Self:
        """The same rows for some of the arms."""
        return self._replace(matrix=self.matrix[:, arms])

    def and_(self, more: Self | None) -> Self:
        """These rows and more of them."""
        return self if more is None else type(self)(*(np.concatenate(pair) for pair in zip(self, more)))


class Nearest(NamedTuple):
    """The nearest shares, and how hard each row pulls: above 0 up to its least, below 0 down to its most."""

    shares: Floats
    pulls: Floats


def nearest(shares: Floats, low: Floats, high: Floats, rows: Rows) -> Nearest | None:
    """The nearest shares within the bounds and rows; None where there are none.

    An arm that is wanted nothing gets no more than its minimum, unless the others cannot keep the rows without it;
    then all of these are alike.

    >>> rows = Rows(np.array([[0.0, 1.0, 1.0]]), np.array([0.0]), np.array([0.4]))
    >>> nearest(np.array([0.2, 0.6, 0.2]), np.zeros(3), np.ones(3), rows).shares.round(3)
    array([0.6, 0.3, 0.1])
    """
    wanted = shares > 0.0
    if not wanted.all():
        found = _weighed(shares, np.maximum(shares, _SMALLEST_WEIGHT), low, np.where(wanted, high, low), rows)
        if found is not None:
            return found
    weights = np.where(wanted, np.maximum(shares, _SMALLEST_WEIGHT), _UNWANTED_WEIGHT)
    return _weighed(shares, weights, low, high, rows)


def _weighed(shares: Floats, weights: Floats, low: Floats, high: Floats, rows: Rows) -> Nearest | None:
    """The nearest shares by these weights, or by coarser ones where that takes too many steps."""
    found, _ = _solve(shares, weights, low, high, rows, _FEW_STEPS)
    if found is None and weights.min() < _COARSE_WEIGHT:
        found, _ = _solve(shares, np.maximum(weights, _COARSE_WEIGHT), low, high, rows)
    return found


def contradiction(low: Floats, high: Floats, rows: Rows) -> Floats | None:
    """What proves that no split keeps the rows: a factor for the whole budget and one per row; None where one does.

    The rows, added with these factors, ask for more than any shares within the bounds add up to (`excess` > 0).
    """
    even = np.full(low.size, 1.0 / low.size)
    found, direction = _solve(even, even, low, high, rows)
    return None if found is not None else direction


def excess(factors: Floats, low: Floats, high: Floats, rows: Rows) -> float:
    """By how much the rows, with these factors, ask for more than shares within the bounds can give."""
    matrix, least, most = _with_budget(rows)
    pull = factors @ matrix
    return float(factors @ np.where(factors > 0.0, least, most) - np.maximum(pull * low, pull * high).sum())


def _with_budget(rows: Rows) -> tuple[Floats, Floats, Floats]:
    """The rows below one that says that shares add up to 1."""
    # Ends that no split reaches are finite here: a row never pulls towards them.
    reach = np.abs(rows.matrix).sum(axis=1) + 1.0
    matrix = np.concatenate([np.ones((1, rows.matrix.shape[1])), rows.matrix])
    return matrix, np.append(1.0, np.maximum(rows.least, -reach)), np.append(1.0, np.minimum(rows.most, reach))


def _solve(
    shares: Floats, weights: Floats, low: Floats, high: Floats, rows: Rows, steps: int = _MOST_STEPS
) -> tuple[Nearest | None, Floats]:
    """The nearest shares, if there are any, and the last direction of the dual: without end where there are none."""
    matrix, least, most = _with_budget(rows)
    fixed = least == most
    direction = np.zeros(least.size)
    y = np.zeros(least.size)
    for _ in range(steps):
        plain = shares + weights * (y @ matrix)
        x = np.minimum(np.maximum(plain, low), high)
        missing = _missing(y, matrix @ x, least, most)
        if np.abs(missing).max() <= TOLERANCE:
            return Nearest(x, y[1:]), direction
        direction = _direction(y, missing, fixed, matrix, weights, (plain > low) & (plain < high))
        step, snapped = _line_search(y, direction, plain, weights, matrix, low, high, least, most)
        if step is None:
            return None, direction
        y = y + step * direction
        y[snapped] = 0.0
    return (Nearest(x, y[1:]) if np.abs(missing).max() <= _IMPOSSIBLE else None), direction


def _missing(y: Floats, value: Floats, least: Floats, most: Floats) -> Floats:
    """The gradient of the dual: how far each row is from the end that its multiplier holds it at."""
    short, over = least - value, most - value
    idle = np.maximum(short, 0.0) + np.minimum(over, 0.0)
    return np.where(y > 0.0, short, np.where(y < 0.0, over, idle))


def _direction(y: Floats, missing: Floats, fixed: Flags, matrix: Floats, weights: Floats, free: Flags) -> Floats:
    """A Newton step over the rows at work, by the arms that no bound holds."""
    work = np.flatnonzero((y != 0.0) | (missing != 0.0) | fixed)
    part = matrix[:, free]
    curvature = (part * weights[free]) @ part.T
    curvature[np.diag_indices_from(curvature)] += 1e-11 * max(float(curvature.diagonal().max()), 1e-6)
    out = np.zeros_like(y)
    while work.size:
        found = np.linalg.solve(curvature[np.ix_(work, work)], missing[work])
        # A row that begins to pull must do so towards its own end.
        wrong = (y[work] == 0.0) & ~fixed[work] & (found * missing[work] <= 0.0)
        if not wrong.any():
            out[work] = found
            return out
        work = work[~wrong]
    return missing


def _line_search(
    y: Floats, d: Floats, plain: Floats, weights: Floats, matrix: Floats, low: Floats, high: Floats, least: Floats,
    most: Floats,
) -> tuple[float | None, Flags]:  # fmt: skip
    """The step along `d` that makes the dual largest, and the multipliers that are 0 then; None: it has no end."""
    speed = weights * (d @ matrix)
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = np.concatenate([(low - plain) / speed, (high - plain) / speed, -y / d])
    signs = turns[2 * plain.size :]
    turns = np.unique(turns[np.isfinite(turns) & (turns > 0.0)])
    none = np.zeros(y.size, dtype=bool)

    def slope(step: float, before: bool = False) -> float:
        """The derivative just after a step, or just before it."""
        x = np.minimum(np.maximum(plain + step * speed, low), high)
        now = y + step * d
        now[signs == step] = 0.0
        up = np.where(now != 0.0, now > 0.0, (d < 0.0) if before else (d > 0.0))
        return float(d @ (np.where(up, least, most) - matrix @ x))

    def ends(index: int) -> bool:
        return slope(float(turns[index])) <= 0.0

    first, last = 0, turns.size
    while first < last:  # the first breakpoint after which it falls
        middle = (first + last) // 2
        first, last = (first, middle) if ends(middle) else (middle + 1, last)
    if first == turns.size:
        end = float(turns[-1]) if turns.size else 0.0
        if slope(end) > _IMPOSSIBLE * float(np.abs(d).sum()) or end == 0.0:
            return None, none
        return end, signs == end
    right = float(turns[first])
    left = float(turns[first - 1]) if first else 0.0
    rising, falling = slope(left), slope(right, before=True)
    if falling >= 0.0:
        return right, signs == right
    if not rising > 0.0 or not math.isfinite(rising - falling):
        return (left, signs == left) if left > 0.0 else (right, signs == right)
    return left + (right - left) * (rising / (rising - falling)), none
