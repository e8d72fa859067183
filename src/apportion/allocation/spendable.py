"""Amounts that a person can spend, where nobody gave a step: cents, and no crumbs.

A policy may want a thousandth of a cent on an arm, to keep watching it. Nobody can spend that. Such a crumb becomes
the smallest amount worth spending, or nothing, at random and with its own size as the mean, as whole units are
rounded: what is explored on average stays, and what is paid out is real.
"""

from typing import Final

import numpy as np

from apportion.allocation.feasible import amounts, project
from apportion.allocation.rules import ActiveRules
from apportion.allocation.share_bounds import SUM_SLACK, Names
from apportion.errors import Infeasible, InvalidValue
from apportion.model.sums import Floats

SMALLEST_SHARE: Final = 1e-4
"""Less than this share of the budget is a crumb; with over 100 arms, less than a hundredth of an even share."""


def spendable_amounts(
    shares: Floats,
    budget: float,
    resolution: float,
    *,
    low: Floats | None,
    high: Floats | None,
    rng: np.random.Generator,
    names: Names = None,
    rules: ActiveRules | None = None,
    testing: bool = True,
) -> Floats:
    """The budget by `shares` without crumbs, in multiples of `resolution` where the budget is one.

    Where it is not (a third of a euro), and where the resolution is 0, amounts are any but crumbs, and add up to the
    last bit. Bounds and `rules` hold: an arm with a minimum, or with a maximum below a crumb, is left as it is.
    Without `testing` crumbs are not drawn, but all taken away.

    >>> rng = np.random.default_rng(0)
    >>> spendable_amounts(np.array([0.99999, 0.00001]), 5000.0, 0.01, low=None, high=None, rng=rng)
    array([5000.,    0.])
    """
    kept = without_crumbs(shares, low, high, rng if testing else None, rules)
    if resolution > 0.0:
        try:
            return amounts(kept, budget, low=low, high=high, step=resolution, rng=rng, names=names, rules=rules)
        except (InvalidValue, Infeasible):
            pass  # nobody asked for this step: what it does not divide, or has too few of, is split without it
    return amounts(kept, budget, low=low, high=high, names=names, rules=rules)


def without_crumbs(
    shares: Floats,
    low: Floats | None,
    high: Floats | None,
    rng: np.random.Generator | None,
    rules: ActiveRules | None = None,
) -> Floats:
    """`shares` with each crumb raised to the smallest share or taken away, at random, by its own size on average.

    Without a generator all are taken away: in a plan nothing is tested. The other arms keep their proportions within
    the bounds and rules. Where these leave no room, nothing is changed.
    """
    count = shares.size
    smallest = min(SMALLEST_SHARE, 0.01 / count)
    least = np.zeros(count) if low is None else low
    most = np.ones(count) if high is None else high
    crumbs = (shares > 0.0) & (shares < smallest) & (least == 0.0) & (most >= smallest)
    if not crumbs.any():
        return shares
    rounded = shares.copy()
    chances = 1.0 if rng is None else rng.random(int(crumbs.sum()))
    rounded[crumbs] = np.where(chances < shares[crumbs] / smallest, smallest, 0.0)
    least, most = np.where(crumbs, rounded, least), np.where(crumbs, rounded, most)
    if float(least.sum()) > 1.0 + SUM_SLACK or float(most.sum()) < 1.0 - SUM_SLACK:
        return shares
    rest = np.where(crumbs, 0.0, shares)
    if not rest.any():
        return shares
    try:
        return project(rest / rest.sum(), least, most, rules=rules)
    except Infeasible:  # the rules leave no room
        return shares
