"""What the law of returns μ·A^c makes best: the optimal split of a budget, its value, marginal returns.

An arm given the amount A returns μ·A^c on average, 0 < c ≤ 1. For c < 1 returns diminish: the budget M is split so
that every arm has the same marginal return λ = c·μ_i·x_i^(c−1), which gives x_i = M·a_i with a_i = μ_i^e / Σ μ_j^e,
e = 1/(1−c), and the value V(M) = M^c·(Σ μ_j^e)^(1−c), V'(M) = λ. With bounds x_i = clip((c·μ_i/λ)^e, low_i, high_i).
As c → 1 the best arm gets all; at c = 1 the best share evenly.

An arm with μ ≤ 0 gets nothing while another mean is positive. Where none is, the budget must be spent all the same:
for c < 1 losses diminish too, so it all goes to one arm with the largest mean.

The functions marked `kernel` are bare loops that run plain and compiled. The others validate.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from apportion._common.compiled import compiled, kernel
from apportion._common.validation import number, refuse
from apportion.errors import Infeasible
from apportion.model.sums import MANY_ARMS, Floats
from apportion.model.water_filling import LARGEST_LOG, bounded_amounts

__all__ = ["amount_for_marginal", "marginal_return", "optimal_split", "value"]

# An arm whose weight is below this, relative to the best arm's, gets nothing: it would not move the sum of shares.
_SMALLEST_WEIGHT: Final = 1e-18
_SMALLEST_AMOUNT: Final = 1e-290  # a smaller one has the marginal return of this, or its power would overflow
_SMALLEST_FLOAT: Final = 5e-324
_SUM_SLACK: Final = 1e-12  # bounds may miss the budget by this part of it


@kernel
def best_shares(means: Any, c: float, shares: Any) -> None:
    """a_i = μ_i^e / Σ μ_j^e, e = 1/(1−c), into `shares`: the optimal split of one unit, without bounds.

    Computed as exp(e·log(μ_i/max)), which for c → 1 underflows to 0 and is never NaN. Shares below 1e-18 of the
    largest are 0, as are those of means ≤ 0. At c = 1 the arms with the largest mean share evenly, and so they do
    where it is 0; where it is negative and c < 1 the first of them gets all: −x^c is cheaper whole than in parts.

    >>> shares = [0.0, 0.0, 0.0]
    >>> best_shares([2.0, 1.0, -1.0], 0.5, shares)
    >>> shares
    [0.8, 0.2, 0.0]
    """
    arms = len(means)
    best = means[0]
    for arm in range(1, arms):
        best = max(best, means[arm])
    total = 0.0
    if best > 0.0 and c < 1.0:
        power = 1.0 / (1.0 - c)
        cut = best * _SMALLEST_WEIGHT ** (1.0 - c)
        for arm in range(arms):
            shares[arm] = _weight(means[arm], best, cut, power)
            total += shares[arm]
    else:
        whole = best < 0.0 and c < 1.0
        for arm in range(arms):
            chosen = means[arm] == best and not (whole and total > 0.0)
            shares[arm] = 1.0 if chosen else 0.0
            total += shares[arm]
    for arm in range(arms):
        shares[arm] /= total


def best_splits(means: Floats, c: float) -> Floats:
    """`best_shares` of each row of `means`, all at once.

    >>> best_splits(np.array([[2.0, 1.0, -1.0], [-2.0, -1.0, -1.0]]), 0.5).tolist()
    [[0.8, 0.2, 0.0], [0.0, 1.0, 0.0]]
    """
    best = means.max(axis=1, keepdims=True)
    if c < 1.0 and best.min() > 0.0:
        ratio = means / best
        weights = np.where(ratio > _SMALLEST_WEIGHT ** (1.0 - c), ratio, 0.0) ** (1.0 / (1.0 - c))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
    shares = np.empty(means.shape)
    for row, split in zip(means, shares):
        best_shares(row, c, split)
    return shares


@kernel
def best_value(means: Any, c: float, budget: float) -> float:
    """V(M) = M^c·(Σ μ_j^e)^(1−c), e = 1/(1−c): what `best_shares` of the budget M returns on average.

    Scaled by the largest mean, so that nothing overflows that the value itself does not. At c = 1, and where no mean
    is positive, it is M^c·max μ.

    >>> round(best_value([2.0, 1.0, -1.0], 0.5, 5.0), 12)      # 2·√4 + 1·√1
    5.0
    """
    best = means[0]
    for arm in range(1, len(means)):
        best = max(best, means[arm])
    if best <= 0.0 or c == 1.0:
        return float(best * budget**c)
    power = 1.0 / (1.0 - c)
    cut = best * _SMALLEST_WEIGHT ** (1.0 - c)
    total = 0.0
    for arm in range(len(means)):
        total += _weight(means[arm], best, cut, power)
    return float(best * budget**c * total ** (1.0 - c))


def best_values(means: Floats, c: float, budget: float) -> Floats:
    """V(M) for each row of `means`: `best_value` of many means at once.

    >>> best_values(np.array([[2.0, 1.0, -1.0], [-2.0, -1.0, -3.0]]), 0.5, 5.0).round(6)
    array([ 5.      , -2.236068])
    """
    best = means.max(axis=1)
    if c == 1.0:
        return np.asarray(best * budget)
    scale = np.where(best > 0.0, best, 1.0)
    weights = np.maximum(means / scale[:, np.newaxis], 0.0) ** (1.0 / (1.0 - c))
    factor = np.where(best > 0.0, weights.sum(axis=1) ** (1.0 - c), 1.0)
    return np.asarray(best * factor * budget**c)


@kernel
def _weight(mean: float, best: float, cut: float, power: float) -> float:
    """(μ/best)^e, and 0 for a mean up to `cut`."""
    if mean == best:
        return 1.0
    return math.exp(power * math.log(mean / best)) if mean > cut else 0.0


@kernel
def marginal_returns(means: Any, amounts: Any, c: float, out: Any) -> None:
    """c·μ_i·x_i^(c−1) into `out`; see `marginal_return`."""
    for arm in range(len(means)):
        if c == 1.0 or means[arm] == 0.0:
            out[arm] = means[arm]
        elif amounts[arm] == 0.0:
            out[arm] = math.inf if means[arm] > 0.0 else -math.inf
        else:
            out[arm] = c * means[arm] * max(amounts[arm], _SMALLEST_AMOUNT) ** (c - 1.0)


@kernel
def amounts_for_marginal(means: Any, target: float, c: float, out: Any) -> None:
    """(c·μ_i/target)^e into `out`; see `amount_for_marginal`."""
    for arm in range(len(means)):
        ratio = c * means[arm] / target
        out[arm] = 0.0
        if c == 1.0:
            out[arm] = math.inf if ratio >= 1.0 else 0.0
        elif ratio > 0.0:
            power = math.log(ratio) / (1.0 - c)
            out[arm] = math.exp(power) if power < LARGEST_LOG else math.inf


def optimal_split(
    means: ArrayLike, budget: float = 1.0, c: float = 1.0, low: ArrayLike | None = None, high: ArrayLike | None = None
) -> Floats:
    """The amounts x with Σ x_i = budget and low_i ≤ x_i ≤ high_i that maximise Σ μ_i·x_i^c.

    x_i = clip((c·μ_i/λ)^e, low_i, high_i), e = 1/(1−c), with the λ that makes them add up. Bounds are amounts, one
    per arm or one number for all. At c = 1 arms are filled from the best down, and ties share at one level.

    An arm with μ ≤ 0 gets its minimum, unless the maxima of the others leave more to spend: then such arms are filled
    from the largest mean down. For c < 1 and negative means that need not be the best: losses diminish, and finding
    the best would be a search over subsets of arms.

    >>> optimal_split([2.0, 1.0], budget=100.0, c=0.5)
    array([80., 20.])
    >>> optimal_split([2.0, 1.0, 1.0], budget=100.0, c=0.5, high=[50.0, 50.0, 10.0])
    array([50., 40., 10.])
    >>> optimal_split([2.0, 1.0], budget=100.0, c=0.5, low=[0.0, 120.0])
    Traceback (most recent call last):
    apportion.errors.Infeasible: The minimum amounts add up to 120; the budget is 100.
    """
    given = _numbers("means", means)
    total, c = number("budget", budget, above=0.0), _exponent(c)
    least, most = _bounds(low, high, given.size, total)
    if c == 1.0:
        return _filled_in_order(given, total, c, least, most)
    gaining = given > 0.0
    losing = ~gaining
    out = np.where(gaining, most, least)
    if float(out.sum()) >= total or not losing.any():
        logs = np.log(np.maximum(given[gaining] / given.max(), _SMALLEST_FLOAT)) / (1.0 - c)
        out[gaining] = _filled(logs, total - float(least[losing].sum()), least[gaining], most[gaining])
    else:
        rest = total - float(most[gaining].sum())
        out[losing] = _filled_in_order(given[losing], rest, c, least[losing], most[losing])
    return out


def value(
    means: ArrayLike, budget: float = 1.0, c: float = 1.0, low: ArrayLike | None = None, high: ArrayLike | None = None
) -> float:
    """V(M) = Σ μ_i·x_i^c of the `optimal_split` x of the budget M; without bounds M^c·(Σ μ_j^e)^(1−c).

    >>> round(value([2.0, 1.0], budget=5.0, c=0.5), 12)      # 2·√4 + 1·√1
    5.0
    >>> round(value([2.0, 1.0], budget=5.0, c=0.5, high=[1.0, 9.0]), 12)
    4.0
    """
    if low is None and high is None:
        given = _numbers("means", means)
        return float(_kernel(best_value, given.size)(given, _exponent(c), number("budget", budget, above=0.0)))
    return float(np.dot(_numbers("means", means), optimal_split(means, budget, c, low, high) ** c))


def marginal_return(means: ArrayLike, amounts: ArrayLike, c: float = 1.0) -> Floats:
    """c·μ_i·x_i^(c−1): what the next unit adds to the return of arm i. `amounts` is one per arm, or one number.

    At c = 1 it is μ_i, whatever the amount. For c < 1 it is infinite at x_i = 0, with the sign of μ_i.

    >>> marginal_return([2.0, 1.0], [80.0, 20.0], c=0.5).round(6)
    array([0.111803, 0.111803])
    """
    given = _numbers("means", means)
    spent, out = _per_arm("amounts", amounts, given.size), np.empty(given.size)
    _kernel(marginal_returns, given.size)(given, spent, _exponent(c), out)
    return out


def amount_for_marginal(means: ArrayLike, target: float, c: float = 1.0) -> Floats:
    """(c·μ_i/target)^e, e = 1/(1−c): the largest amount at which the marginal return of arm i is still `target` > 0.

    It is 0 for μ_i ≤ 0. At c = 1 the marginal return is the same for every amount: the answer is infinite for
    μ_i ≥ target, where no amount is too large, and 0 for μ_i < target, where every amount is.

    >>> amount_for_marginal([2.0, 1.0, -1.0], target=0.1, c=0.5)
    array([100.,  25.,   0.])
    >>> amount_for_marginal([2.0, 1.0], target=1.5)
    array([inf,  0.])
    """
    given = _numbers("means", means)
    out = np.empty(given.size)
    _kernel(amounts_for_marginal, given.size)(given, number("target", target, above=0.0), _exponent(c), out)
    return out


def _filled(logs: Floats, budget: float, low: Floats, high: Floats) -> Floats:
    out = np.empty_like(logs)
    _kernel(bounded_amounts, logs.size)(logs, budget, low, high, out)
    return out


def _filled_in_order(means: Floats, budget: float, c: float, low: Floats, high: Floats) -> Floats:
    """Arms filled to their maximum from the largest mean down. The last of them share at one level where they tie.

    They do not where c < 1 and the mean is negative: losses diminish, so one arm takes what it can before the next.
    """
    order = np.argsort(-means, kind="stable" if c < 1.0 else None)  # at c = 1 ties need no order, and it takes half
    room = np.cumsum((high - low)[order])
    last = min(int(np.searchsorted(room, budget - float(low.sum()))), means.size - 1)
    out = low.copy()
    out[order[:last]] = high[order[:last]]
    mean = means[order[last]]
    tied = order[last : last + 1] if c < 1.0 and mean < 0.0 else np.flatnonzero(means == mean)
    out[tied] = 0.0
    out[tied] = _filled(np.zeros(tied.size), budget - float(out.sum()), low[tied], high[tied])
    return out


def _kernel(function: Callable[..., Any], arms: int) -> Callable[..., Any]:
    return compiled(function) if arms >= MANY_ARMS else function


def _exponent(c: float) -> float:
    return number("c", c, above=0.0, high=1.0)


def _numbers(name: str, values: ArrayLike) -> Floats:
    """One finite number per arm."""
    try:
        given = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse(name, "a list with one number per arm", values) from None
    if given.ndim != 1 or not given.size:
        raise refuse(name, "a list with one number per arm", values)
    if not np.isfinite(given).all():
        raise refuse(name, "finite numbers", float(given[~np.isfinite(given)][0]))
    return given


def _per_arm(name: str, values: ArrayLike, arms: int, largest: float = math.nextafter(math.inf, 0.0)) -> Floats:
    """A non-negative number for every arm, given as one number or as a list; at most `largest`."""
    try:
        given = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse(name, "a number or one per arm", values) from None
    if given.shape not in ((), (arms,)):
        raise refuse(name, f"a number or one for each of {arms} arms", values)
    bad = ~((given >= 0.0) & (given <= largest))
    if bad.any():
        raise refuse(name, "non-negative numbers", float(given[bad][0]))
    return np.full(arms, given)


def _bounds(low: ArrayLike | None, high: ArrayLike | None, arms: int, budget: float) -> tuple[Floats, Floats]:
    """The smallest and largest amount of every arm, such that some split of the budget satisfies them."""
    least = _per_arm("low", 0.0 if low is None else low, arms)
    most = _per_arm("high", math.inf if high is None else high, arms, largest=math.inf)
    if (least > most).any():
        arm = int(np.argmax(least > most))
        raise Infeasible(f"The minimum amount of arm {arm} ({least[arm]:g}) is above its maximum ({most[arm]:g}).")
    for bounds, what, over in ((least, "minimum", 1.0), (most, "maximum", -1.0)):
        total = float(bounds.sum())
        if over * (total - budget) > _SUM_SLACK * budget:
            raise Infeasible(f"The {what} amounts add up to {total:.12g}; the budget is {budget:.12g}.")
    return least, most
