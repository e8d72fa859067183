"""The estimated cost of still not being sure: what a usual split is expected to fall short of knowing the best."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from apportion.allocation.beliefs import Beliefs
from apportion.allocation.best_split import best_within
from apportion.allocation.rules import Rules
from apportion.errors import ApportionError
from apportion.model.response import best_values
from apportion.model.sums import MANY_ARMS, Floats

if TYPE_CHECKING:
    from apportion.allocation.decision import Decision
    from apportion.campaigns.state import CampaignState

_TELLING = 2  # so many splits with results say how much these vary
_DRAWS, _LEAST_DRAWS = 4096, 256
# No more numbers than this are drawn in all: with 10,000 arms 4,096 draws of each take six seconds.
_MOST_NUMBERS = 1 << 22
# A split that costs this part of what an even one costs may be a test, which the periods after it are not: the usual
# cost is the middle one of so many splits. In the first periods every split is one, and there is no usual one.
_MAY_BE_A_TEST, _LOOKED_AT, _FIRST_PERIODS = 0.1, 5, 3


def cost_of_doubt(state: CampaignState, beliefs: Beliefs) -> float:
    """What a split of the present budget, as it is usually made now, is expected to cost; NaN where none can be.

    How much results vary shows in the second split: before that the figure would be a guess without bounds. A policy
    that learns the law tests, in some periods, what it would not do in others: a figure that told of these would jump
    up and down. So where the next split may be such a test, it is the middle one of the splits to come, as they
    would be made if what came back were as expected. With very many arms that would take too long.
    """
    own, learned = state.allocator, beliefs.learned
    waiting = set(own.open_tickets) - set(state.tickets.provisional)
    with_results = own.period - len(state.tickets.cancelled) - len(waiting)
    if learned is not None and not learned.sigma_given and with_results < _TELLING:
        return math.nan
    try:
        decision = own.decide(state.settings_budget)
    except ApportionError:  # every arm is paused, say
        return math.nan
    allowed = _best_allowed(state, beliefs, decision)
    even = dict.fromkeys(decision.arms, decision.budget / len(decision.arms))
    cost, of_even = _expected_regrets(beliefs, [_amounts(decision), even], allowed)
    settled = own.learns and own.period > _FIRST_PERIODS and len(beliefs) <= MANY_ARMS
    if not (settled and cost > _MAY_BE_A_TEST * of_even):
        return cost
    later = _later(state, beliefs, decision, _LOOKED_AT - 1)
    return statistics.median([cost, *_expected_regrets(beliefs, list(map(_amounts, later)), allowed)])


def _later(state: CampaignState, beliefs: Beliefs, first: Decision, count: int) -> list[Decision]:
    """The splits after this one, on a copy to which everything comes back as it is believed to."""
    from apportion.campaigns.state import CampaignState

    own, found = CampaignState.from_text(state.text(), state.number).allocator, [first]
    for _ in range(count):
        ticket = own.commit(found[-1])
        spent = {name: amount for name, amount in _amounts(found[-1]).items() if amount > 0.0}
        own.tell(ticket, {name: beliefs[name].mean * amount**beliefs.c for name, amount in spent.items()})
        found.append(own.decide(first.budget))
    return found[1:]


def _amounts(decision: Decision) -> dict[str, float]:
    return dict(zip(decision.arms, decision.amounts.tolist()))


def _best_allowed(state: CampaignState, beliefs: Beliefs, decision: Decision) -> dict[str, float] | None:
    """The best amounts within bounds and rules as things are believed; None where nothing is bounded."""
    own, names = state.allocator, tuple(decision.arms)
    arms = {arm.name: arm for arm in own.all_arms}
    low, high = (np.array([getattr(arms[name], end) for name in names]) for end in ("minimum", "maximum"))
    rules = Rules(state.settings.rules, tuple(arms)).active(names, decision.budget) if state.settings.rules else None
    if rules is None and not low.any() and (high >= 1.0).all():
        return None
    means = np.array([beliefs[name].mean for name in names]) * (-1.0 if beliefs.minimise else 1.0)
    if np.isnan(means).any():
        return None
    best = best_within(means, beliefs.c, low, high, None if rules is None else rules.rows)
    return dict(zip(names, (decision.budget * best).tolist()))


def expected_regret(
    beliefs: Beliefs, amounts: Mapping[str, float], allowed: Mapping[str, float] | None = None
) -> float:
    """E[V(M)] − Σ E[μ]·amount^c under independent N(μ*, σ_i²/B), V(M) the best value of the budget M in play.

    At c = 1 the best value is that of the best arm. NaN where an arm is unknown. The draws are fixed: the same
    beliefs give the same figure. What bounds and rules cost even those who know is no cost of doubt: `allowed` are
    the best amounts within them as things are believed, and what these fall short of V(M) at the means is taken off.
    """
    return _expected_regrets(beliefs, [amounts], allowed)[0]


def _expected_regrets(
    beliefs: Beliefs, splits: Sequence[Mapping[str, float]], allowed: Mapping[str, float] | None
) -> list[float]:
    """`expected_regret` of several splits of one budget."""
    given = np.array([[amounts.get(name, 0.0) for name in beliefs] for amounts in splits])
    counts = beliefs.in_play | (given > 0.0).any(axis=0)
    gains, spread = -beliefs.mean if beliefs.minimise else beliefs.mean, beliefs.spread
    if not counts.any() or not np.isfinite(spread[counts]).all() or np.isnan(gains[counts]).any():
        return [math.nan] * len(splits)
    count = min(_DRAWS, max(_LEAST_DRAWS, _MOST_NUMBERS // len(beliefs)))
    noise = np.random.Generator(np.random.PCG64(20_23)).standard_normal((count, len(beliefs)))
    draws = (gains + spread * noise)[:, counts]
    chosen, spent = draws[:, beliefs.in_play[counts]], given[:, counts]
    if beliefs.c == 1.0:
        value = chosen.max(axis=1)[:, np.newaxis]
        found = [float(np.maximum(0.0, (value - draws) @ own).mean()) for own in spent]
    else:
        value = best_values(chosen, beliefs.c, float(spent[0].sum()))
        found = [float(np.maximum(0.0, value - draws @ own**beliefs.c).mean()) for own in spent]
    known = 0.0 if allowed is None else _cost_of_bounds(beliefs, gains, allowed)
    return found if allowed is None else [max(0.0, cost - known) for cost in found]


def _cost_of_bounds(beliefs: Beliefs, gains: Floats, allowed: Mapping[str, float]) -> float:
    """What the best split that is allowed falls short of the best one, as things are believed."""
    within = np.array([allowed.get(name, 0.0) for name in beliefs])
    best = best_values(gains[beliefs.in_play][np.newaxis], beliefs.c, float(within.sum()))
    held = np.where(within > 0.0, gains * within**beliefs.c, 0.0)
    return max(0.0, float(best[0]) - float(held.sum()))
