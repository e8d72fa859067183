"""From shares to amounts that add up: bounds per arm, pinned arms, money to the last bit, whole units.

A policy says which share of the budget each arm should get. Here the shares meet what the world allows:

- `project` moves shares between a minimum and a maximum per arm, keeping proportions;
- `units` rounds them to whole units, at random, so that nothing is lost on average;
- `amounts` gives the budget away, continuous or in steps (1 for kits, 0.01 for cents).

All are pure functions of arrays; arms are named only in messages.
"""

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from apportion._common.validation import number, refuse, whole
from apportion.allocation.nearest import Rows, nearest
from apportion.allocation.rules import ActiveRules, impossible
from apportion.allocation.share_bounds import SUM_SLACK, Names, checked_bounds, checked_shares, listed_arms
from apportion.allocation.whole_rules import attainable, grouped_order, repaired, whole_rows
from apportion.errors import Infeasible
from apportion.model.sums import Floats

__all__ = ["amounts", "project", "units"]

Whole = npt.NDArray[np.int64]

_SMALLEST_WEIGHT: Final = 1e-290  # smaller shares are scaled as if they were this, or the scale would overflow
_SMALLEST_BUDGET: Final = 1e-290  # below, a budget no longer has the 2^52 quanta that `amounts` counts in
_MOST_UNITS: Final = 10**15  # the largest count whose fractions a float still tells apart
_SMALLEST_FLOAT: Final = 5e-324


def project(
    shares: npt.ArrayLike,
    low: npt.ArrayLike | None,
    high: npt.ArrayLike | None,
    names: Names = None,
    rules: ActiveRules | None = None,
) -> Floats:
    """Shares with low ≤ a ≤ high that sum to 1 and keep the proportions of the arms no bound holds.

    a_i = clip(λ·shares_i, low_i, high_i), with the one λ that makes them sum to 1 (up to rounding). Where
    every arm with a positive share is at its maximum and something remains, the other arms are filled to one
    common level. An arm with low = high is pinned. Shares that satisfy the bounds come back unchanged, so
    projecting twice is projecting once; the order of the arms plays no part. With `rules` it is the nearest split
    that keeps them too (`nearest`), which keeps proportions in the same way.

    >>> project([0.7, 0.2, 0.1], low=[0.0, 0.0, 0.2], high=[0.5, 1.0, 1.0]).round(3)
    array([0.5, 0.3, 0.2])
    >>> project([1.0, 0.0, 0.0], low=None, high=[0.4, 1.0, 0.2]).round(3)
    array([0.4, 0.4, 0.2])
    >>> project([0.5, 0.5], low=[0.6, 0.5], high=None, names=["a", "b"])
    Traceback (most recent call last):
    apportion.errors.Infeasible: The minimum shares of 'a' (0.6) and 'b' (0.5) add up to 1.1; they must \
add up to at most 1.
    """
    given = checked_shares(shares)
    if low is None and high is None and rules is None:
        return _fill(given, 0.0, 1.0, 1.0)
    return _within(given, *checked_bounds(low, high, given.size, names), names, rules)


def amounts(
    shares: npt.ArrayLike,
    budget: float,
    *,
    low: npt.ArrayLike | None = None,
    high: npt.ArrayLike | None = None,
    step: float | None = None,
    rng: np.random.Generator | None = None,
    names: Names = None,
    rules: ActiveRules | None = None,
) -> Floats:
    """The budget, given away by `shares` within the bounds `low` and `high` (shares too), to the last bit.

    Without a `step`, amounts are multiples of q = ulp(budget), about budget·1e-16, each within q/2 of its
    share; what is then missing or over, at most a few q, goes to the largest arm with room for it. Sums of
    multiples of q up to the budget are exact in any order, so every way of adding the amounts gives the
    budget. The one exception: a positive amount below q/2 (a very small exploration share) is not rounded to
    0. It stays as it is where `math.fsum` and the sum from left to right are the budget all the same, else it
    becomes q. Amounts are never negative. Bounds hold up to q; only where every arm is held by one does the
    largest go further, by at most q for each arm. `rules` hold up to a few q.

    With a `step`, amounts are whole multiples of it, as `units` rounds them: n_i·step, each the float nearest
    to that decimal, with Σ n_i = budget/step exactly. `rng` must be given.

    >>> split = amounts([1 / 3, 1 / 3, 1 / 3], 100.0)
    >>> split.sum() == math.fsum(split) == 100.0
    True
    >>> amounts([0.5, 0.3, 0.2], 25, step=1, rng=np.random.default_rng(1))
    array([12.,  8.,  5.])
    """
    total = number("budget", budget, low=_SMALLEST_BUDGET)
    if step is not None:
        size = _exactly(number("step", step, low=_SMALLEST_BUDGET))
        count = _steps(total, size)
        return _times(units(shares, count, low=low, high=high, rng=rng, names=names, rules=rules), count, size)
    given = checked_shares(shares)
    if low is None and high is None and rules is None:
        return _money(_fill(given, 0.0, 1.0, 1.0), total, 0.0, 1.0)
    least, most = checked_bounds(low, high, given.size, names)
    return _money(_within(given, least, most, names, rules), total, least, most)


def units(
    shares: npt.ArrayLike,
    total: int,
    *,
    low: npt.ArrayLike | None = None,
    high: npt.ArrayLike | None = None,
    rng: np.random.Generator | None,
    names: Names = None,
    rules: ActiveRules | None = None,
) -> Whole:
    """`total` whole units by `shares`: n_i is total·a_i rounded down or up, with that mean; Σ n_i = total.

    Bounds are shares: n_i ≥ ⌈low_i·total⌉ and n_i ≤ ⌊high_i·total⌋, and a is `shares` projected on these.
    Where no whole number lies between the two (an arm pinned to a quarter of 10 kits) the arm gets the one
    below or above, with the right mean. The rounding is systematic sampling, one uniform draw and one random
    order of the arms: the mean is exact (in steps of ulp(total)), so a small share is not rounded away for
    ever, and no two arms are always rounded together. `rules` are kept (`whole_rules`): the units of a group are
    its target rounded down or up, and a share of the total that is no whole number is rounded inwards.

    >>> units([0.25, 0.75], 10, rng=np.random.default_rng(0))
    array([3, 7])
    >>> units([0.2] * 5, 3, low=0.01, rng=np.random.default_rng(0), names="abcde")
    Traceback (most recent call last):
    apportion.errors.Infeasible: 5 arms with a minimum ('a', 'b', 'c', 'd' and 'e') need at least 5 whole \
units; the budget has 3.
    """
    total = whole("total", total, low=1, high=_MOST_UNITS)
    if not isinstance(rng, np.random.Generator):
        raise refuse("rng", "a numpy.random.Generator where whole units are given", rng)
    given = checked_shares(shares)
    if low is None and high is None and rules is None:
        targets = _fill(given, 0.0, float(total), float(total))
        return _sample(_quantised(targets, total, 0.0, float(total)), total, rng)
    least, most = _whole_bounds(*checked_bounds(low, high, given.size, names), total, names)
    if rules is not None:
        return _units_by_rules(given, total, least, most, rng, names, rules)
    targets = _fill(given, least, most, float(total))
    # An arm with no whole number between its bounds may take either neighbour.
    return _sample(_quantised(targets, total, np.floor(least), np.ceil(most)), total, rng)


def _within(given: Floats, low: Floats, high: Floats, names: Names, rules: ActiveRules | None) -> Floats:
    """Shares within the bounds and, where there are rules, the nearest that keep them."""
    if rules is None:
        return _fill(given, low, high, 1.0)
    summed = abs(float(given.sum()) - 1.0) <= SUM_SLACK
    if summed and bool(((given >= low) & (given <= high)).all()) and rules.rows.kept(given, SUM_SLACK):
        return given
    found = nearest(given, low, high, rules.rows)
    if found is None:
        raise impossible(rules, low, high, names or [f"arm {arm}" for arm in range(given.size)], None)
    return found.shares


def _units_by_rules(
    shares: Floats,
    total: int,
    least: Floats,
    most: Floats,
    rng: np.random.Generator,
    names: Names,
    rules: ActiveRules,
) -> Whole:
    """Whole units that keep the rules: the nearest targets, rounded so that groups stay within theirs."""
    whole_ends = whole_rows(rules.rows, total)
    reachable = attainable(whole_ends)
    for rows in (whole_ends, reachable):
        found = nearest(shares, least / total, most / total, Rows(rows.matrix, rows.least / total, rows.most / total))
        if found is not None:
            break
    else:
        known = names or [f"arm {arm}" for arm in range(shares.size)]
        raise impossible(rules, least / total, most / total, known, None, f"of {total} whole units")
    low, high = np.floor(least), np.ceil(most)
    targets = found.shares * total
    counts = _sample(_quantised(targets, total, low, high), total, rng, whole_ends)
    settled: Whole = repaired(counts, targets, total, low, high, reachable)
    return settled


def _fill(shares: Floats, low: Floats | float, high: Floats | float, total: float) -> Floats:
    """clip(λ·shares, low, high) summing to `total`; needs Σ low ≤ total ≤ Σ high up to rounding."""
    wanted = shares * total
    if abs(float(shares.sum()) - 1.0) <= SUM_SLACK and bool(((wanted >= low) & (wanted <= high)).all()):
        return wanted
    least, most = np.broadcast_to(low, shares.shape), np.broadcast_to(high, shares.shape)
    asked = shares > 0.0
    fixed = np.where(asked, most, least)
    if float(fixed.sum()) >= total * (1.0 - SUM_SLACK):
        return _scaled(np.where(asked, np.maximum(shares, _SMALLEST_WEIGHT), 0.0), least, most, total)
    # Every arm that was asked for is full: level the others up, as if they had equal, very small shares.
    return _scaled(np.where(asked, 0.0, 1.0), fixed, most, total)


def _scaled(weights: Floats, low: Floats, high: Floats, total: float) -> Floats:
    """clip(λ·weights, low, high) with sum `total`. An arm of weight 0 stays at `low`.

    The sum grows with λ and is linear between the breakpoints low/weight and high/weight. Breakpoints are
    ruled out, half of them at a time, until none is left around the answer. Then it is known which arms are
    held, and λ follows in closed form. (The sum is evaluated afresh at each: running sums over sorted
    breakpoints would lose the small arms to cancellation, and sorting takes most of the time.)
    """
    positive = weights > 0.0
    if not positive.all():
        out = low.copy()
        rest = total - float(low[~positive].sum())
        out[positive] = _scaled(weights[positive], low[positive], high[positive], rest)
        return out
    # The λ at which an arm leaves its minimum, and arrives at its maximum.
    leaves, arrives = low / weights, high / weights
    below, above = 0.0, math.inf
    inside = np.concatenate((leaves, arrives))
    value = np.empty_like(weights)
    while inside.size:
        sample = np.sort(inside[:: inside.size // 1024 + 1])
        middle = float(sample[sample.size // 2])
        if float(_clipped(middle, weights, low, high, value).sum()) < total:
            below, inside = middle, inside[inside > middle]
        else:
            above, inside = middle, inside[inside < middle]
    # Compare the breakpoints themselves: w·(h/w) may differ from h in the last bit.
    at_high, at_low = arrives <= below, leaves >= above
    held = np.where(at_high, high, np.where(at_low, low, 0.0))
    weight = float(np.where(at_high | at_low, 0.0, weights).sum())
    scale = (total - float(held.sum())) / weight if weight > 0.0 else above
    return _clipped(scale, weights, low, high, value)


def _clipped(scale: float, weights: Floats, low: Floats, high: Floats, out: Floats) -> Floats:
    """clip(scale·weights, low, high), into `out`."""
    np.multiply(weights, scale, out=out)
    np.maximum(out, low, out=out)
    return np.minimum(out, high, out=out)


def _money(shares: Floats, budget: float, low: Floats | float, high: Floats | float) -> Floats:
    """Shares of the budget in multiples of its ulp; see `amounts` for what is promised."""
    quantum = math.ulp(budget)
    total = round(budget / quantum)
    wanted = shares * budget
    least, most = _counted(low * budget, quantum), _counted(high * budget, quantum)
    nearest = _counted(wanted, quantum)
    counts = _settled(nearest.copy(), total, least, most)
    out = counts * np.float64(quantum)
    small = (counts == 0) & (shares > 0.0)
    if not small.any():
        return out
    out[small] = np.maximum(wanted[small], _SMALLEST_FLOAT)
    # Added to the budget, less than half a quantum rounds away. From left to right the small amounts may have
    # been carried up by rounding before: look. (`add.accumulate` adds in order, where `sum` adds in pairs.)
    if float(out[small].sum()) < 0.49 * quantum and float(np.add.accumulate(out)[-1]) == budget:
        return out
    nearest[small] = 1
    return _settled(nearest, total, least, most) * np.float64(quantum)


def _quantised(wanted: Floats, total: int, low: Floats | float, high: Floats | float) -> Floats:
    """`wanted` in multiples of ulp(total), within whole bounds, with sum exactly `total` in any order."""
    quantum = math.ulp(float(total))
    least, most = _counted(low, quantum), _counted(high, quantum)
    counts = _settled(_counted(wanted, quantum), round(total / quantum), least, most)
    return counts * np.float64(quantum)


def _counted(values: Floats | float, quantum: float) -> Whole:
    """`values` as counts of `quantum`, a power of two: the division is exact."""
    return np.rint(np.asarray(values) / quantum).astype(np.int64)


def _settled(counts: Whole, total: int, low: Whole, high: Whole) -> Whole:
    """`counts`, changed in place: the largest arm with room settles what is missing to `total`, or over."""
    missing = total - int(counts.sum())
    if missing == 0:
        return counts
    sign = 1 if missing > 0 else -1
    room = (high - counts) if missing > 0 else (counts - low)
    enough = room >= abs(missing)
    if enough.any():
        counts[np.argmax(np.where(enough, counts, -1))] += missing
        return counts
    # Every arm is about to meet a bound: the roomiest go first, and the largest takes what no bound admits.
    order = np.argsort(-room, kind="stable")
    offered = np.maximum(room[order], 0)
    taken = np.clip(abs(missing) - (np.cumsum(offered) - offered), 0, offered)
    counts[order] += sign * taken
    counts[np.argmax(counts)] += missing - sign * int(taken.sum())
    return counts


def _sample(targets: Floats, total: int, rng: np.random.Generator, rows: Rows | None = None) -> Whole:
    """Each target rounded down or up, with its own value as the mean, by systematic sampling.

    The fractions are laid end to end in a random order; the points u, u + 1, u + 2, … each give one unit to
    the arm they fall into; with `rows` their groups stand together. Everything is a multiple of ulp(total), u
    included, so no step rounds.
    """
    down = np.floor(targets)
    counts = down.astype(np.int64)
    fractions = targets - down
    open_ = np.flatnonzero(fractions)
    if open_.size:
        order = rng.permutation(open_) if rows is None else grouped_order(rows, open_, rng)
        quantum = math.ulp(float(total))
        start = math.floor(rng.random() / quantum) * quantum
        before = np.ceil(np.add.accumulate(fractions[order]) - start)  # points before each arm's end
        counts[order] += np.diff(before, prepend=0.0).astype(np.int64)
    return counts


def _whole_bounds(low: Floats, high: Floats, total: int, names: Names) -> tuple[Floats, Floats]:
    """Bounds in whole units, left as they are for an arm where no whole number lies between."""
    least, most = low * total, high * total
    # 0.07·100 is 7.000000000000001: within rounding of a whole number is that whole number.
    up = np.ceil(least - (1e-9 + 1e-15 * least))
    down = np.floor(most + (1e-9 + 1e-15 * most))
    whole_between = up <= down
    least, most = np.where(whole_between, up, least), np.where(whole_between, down, most)
    slack = 0.0 if whole_between.all() else 1e-9 + 1e-15 * total  # sums of whole numbers are exact
    if least.sum() > total + slack or most.sum() < total - slack:
        # The arms without a whole number between may still give way to one of their neighbours.
        least, most, slack = np.floor(least), np.ceil(most), 0.0
    needed, admitted = round(least.sum()), round(most.sum())
    if needed > total + slack:
        held = np.flatnonzero(least > 0.0)
        noun, verb = ("arm", "needs") if held.size == 1 else ("arms", "need")
        raise Infeasible(
            f"{held.size} {noun} with a minimum ({listed_arms(held, names)}) {verb} at least {needed} whole "
            f"units; the budget has {total}."
        )
    if admitted < total - slack:
        raise Infeasible(
            f"The maximum shares of {listed_arms(np.arange(low.size), names)} admit at most {admitted} whole "
            f"units; the budget has {total}."
        )
    return least, most


@lru_cache(maxsize=64)
def _exactly(value: float) -> Fraction:
    """The decimal a person wrote: 0.01 is 1/100, not the binary float next to it."""
    return Fraction(Decimal(repr(value)))


def _steps(budget: float, step: Fraction) -> int:
    """How many steps the budget has, up to float error (0.1 + 0.2 is three steps of 0.1)."""
    written = _exactly(budget)
    count = round(written / step)
    if count < 1 or abs(count * step - written) > 4 * Fraction(math.ulp(budget)):
        raise refuse("budget", f"a multiple of the step {float(step):g}", budget)
    if count > _MOST_UNITS:
        raise refuse("budget", f"at most {_MOST_UNITS:g} steps of {float(step):g}", budget)
    return count


def _times(counts: Whole, most: int, step: Fraction) -> Floats:
    """The float nearest to count·step, for each count up to `most`."""
    up, down = step.numerator, step.denominator
    if most * up <= 2**53 and down <= 2**53:
        return (counts * up) / float(down)  # both exact, so the division rounds once
    return np.array([count * up / down for count in counts.tolist()])
