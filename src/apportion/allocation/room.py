"""The room of one split: where wanted shares go within bounds, rules and limits.

Bounds and rules are hard. The limits on growth and change give way where they leave no split, those on change first:
evenly, no further than needed.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from apportion.allocation.conflicts import Box, widening
from apportion.allocation.feasible import project
from apportion.allocation.limits import LimitedShares
from apportion.allocation.nearest import Nearest, Rows, nearest
from apportion.allocation.rules import ActiveRules, impossible
from apportion.allocation.share_bounds import SUM_SLACK
from apportion.inference.best_probabilities import best_probabilities
from apportion.model.sums import Floats

LITTLE_SHARE, LITTLE_OF_EVEN = 0.02, 0.25
"""An arm that is wanted less than both, of the budget and of an even share, is only kept an eye on: that says nothing
of which of these arms is better."""

_NEGLIGIBLE = 1e-3  # of the budget: less than this is not worth moving
_NO_PULL = 1e-9  # of a rule that a split meets, but is not moved by


class Fitted(NamedTuple):
    """Shares that fit, what held them, and how hard each rule pulled, by its text."""

    shares: Floats
    limited: LimitedShares | None
    pulls: tuple[tuple[str, float], ...] = ()


def fit(
    wanted: Floats,
    budget: float,
    names: tuple[str, ...],
    low: Floats | None,
    high: Floats | None,
    limited: LimitedShares | None,
    rules: ActiveRules | None,
    change: ActiveRules | None,
) -> Fitted:
    """The nearest shares to the wanted ones; `Infeasible` with the rules in the way where there are none."""
    least, most = (low, high) if limited is None else (limited.low, limited.high)
    if rules is None and change is None:
        return Fitted(wanted if least is None else project(wanted, least, most, names), limited)
    hard = Box(np.zeros(wanted.size) if low is None else low, np.ones(wanted.size) if high is None else high)
    box = hard if limited is None else Box(limited.low, limited.high)
    rows = Rows(np.zeros((0, wanted.size)), np.zeros(0), np.zeros(0)) if rules is None else rules.rows
    soft = None if change is None else change.rows
    inside = bool(((wanted >= box.low) & (wanted <= box.high)).all())
    if inside and rows.and_(soft).kept(wanted, SUM_SLACK):
        return Fitted(wanted, limited)
    if limited is None:  # so that a reason can tell a bound from a rule
        limited = LimitedShares(*hard, (hard.low, hard.high), None, np.zeros(wanted.size), np.ones(wanted.size), None)
    found = nearest(wanted, *box, rows.and_(soft))
    if found is None:
        loose = nearest(wanted, *hard, rows)
        if loose is None:
            raise impossible(rules or ActiveRules((), rows), hard.low, hard.high, names, budget)
        found, box = _widened(wanted, hard, box, limited, rows, soft) or (loose, hard)
        capped = np.where(box.high < hard.high, np.minimum(box.high, limited.capped), 1.0)
        limited = limited._replace(low=box.low, high=box.high, capped=capped, change=None)
    texts = [rule.text for active in (rules, change) if active is not None for rule in active.rules]
    pulls = tuple((text, pull) for text, pull in zip(texts, found.pulls.tolist()) if abs(pull) > _NO_PULL)
    return Fitted(found.shares, limited, pulls)


def raised_rest(wanted: Floats, fitted: Fitted) -> bool:
    """Whether arms that are wanted little got more than a little, as others are held: see `toward_best`."""
    little = _little(wanted)
    return int(little.sum()) > 1 and float((fitted.shares - wanted)[little].sum()) > _NEGLIGIBLE


def toward_best(
    wanted: Floats,
    fitted: Floats,
    low: Floats,
    high: Floats,
    gains: Floats,
    spread: Floats,
    held: npt.NDArray[np.bool_] | None = None,
) -> Floats:
    """The fitted shares, with what arms got beyond the little that is wanted given to the likely best of them.

    A policy that wants (almost) all for arms that bounds, limits or rules hold says nothing of where the rest should
    go. Each such arm keeps what is wanted for it; what is over is divided by the chance of being the best among those
    with room, round by round as arms reach their maximum. For proportional returns: where they diminish, keeping
    proportions is already best (A_i ∝ μ_i^(1/(1−c)), cut at the maxima). Arms that are `held`, by a rule that leaves
    no room for them, stay as they are.

    >>> toward_best(np.array([1.0, 0.0, 0.0]), np.array([0.4, 0.3, 0.3]), np.zeros(3), np.array([0.4, 0.5, 1.0]),
    ...             np.array([3.0, 2.0, 1.0]), np.full(3, 0.01)).round(9)
    array([0.4, 0.5, 0.1])
    """
    little = _little(wanted) if held is None else _little(wanted) & ~held
    if np.isnan(gains[little]).any() or np.isnan(spread[little]).any():
        return fitted
    found = np.where(little, np.minimum(fitted, np.maximum(wanted, low)), fitted)
    over, free = float((fitted - found).sum()), little & (high > found)
    while over > 0.0 and free.any():
        given = found[free] + over * best_probabilities(gains[free], spread[free])
        found[free] = np.minimum(given, high[free])
        over = float(np.maximum(given - high[free], 0.0).sum())
        free &= found < high
    return found if over <= SUM_SLACK else fitted


def _little(wanted: Floats) -> npt.NDArray[np.bool_]:
    little: npt.NDArray[np.bool_] = wanted < min(LITTLE_SHARE, LITTLE_OF_EVEN / wanted.size)
    return little


def _widened(
    wanted: Floats, hard: Box, box: Box, limited: LimitedShares, rows: Rows, soft: Rows | None
) -> tuple[Nearest, Box] | None:
    """The nearest shares where the limits give way no further than needed: first those on change, then on growth."""
    grown = Box(hard.low, np.minimum(hard.high, limited.capped))
    part = widening(box, grown, rows, soft)
    if part is not None:
        wider = box.within(grown, part)
        wide = None if soft is None else soft._replace(least=soft.least - part, most=soft.most + part)
        found = nearest(wanted, *wider, rows.and_(wide))
        if found is not None:
            return found, wider
    part = widening(grown, hard, rows)
    wider = hard if part is None else grown.within(hard, part)
    found = nearest(wanted, *wider, rows)
    return None if found is None else (found, wider)
