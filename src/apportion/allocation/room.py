"""The room of one split: where wanted shares go within bounds, rules and limits.

Bounds and rules are hard. The limits on growth and change give way where they leave no split, those on change first:
evenly, no further than needed.
"""

from typing import NamedTuple

import numpy as np

from apportion.allocation.conflicts import Box, widening
from apportion.allocation.feasible import project
from apportion.allocation.limits import LimitedShares
from apportion.allocation.nearest import Nearest, Rows, nearest
from apportion.allocation.rules import ActiveRules, impossible
from apportion.allocation.share_bounds import SUM_SLACK
from apportion.model.sums import Floats

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
        found, box = _widened(wanted, hard, box, limited, rows, soft)
        if found is None:
            raise impossible(rules or ActiveRules((), rows), hard.low, hard.high, names, budget)
        capped = np.where(box.high < hard.high, np.minimum(box.high, limited.capped), 1.0)
        limited = limited._replace(low=box.low, high=box.high, capped=capped, change=None)
    texts = [rule.text for active in (rules, change) if active is not None for rule in active.rules]
    pulls = tuple((text, pull) for text, pull in zip(texts, found.pulls.tolist()) if abs(pull) > _NO_PULL)
    return Fitted(found.shares, limited, pulls)


def _widened(
    wanted: Floats, hard: Box, box: Box, limited: LimitedShares, rows: Rows, soft: Rows | None
) -> tuple[Nearest | None, Box]:
    """The nearest shares where the limits give way: first those on change, then those on growth."""
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
    return (found, wider) if found is not None else (nearest(wanted, *hard, rows), hard)
