"""The estimated cost of still not being sure: what the next split is expected to fall short of knowing the best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from apportion.allocation.beliefs import Beliefs
from apportion.allocation.best_split import best_within
from apportion.allocation.rules import Rules
from apportion.errors import ApportionError
from apportion.model.response import best_values
from apportion.model.sums import Floats

if TYPE_CHECKING:
    from apportion.allocation.decision import Decision
    from apportion.campaigns.state import CampaignState

_TELLING = 2  # so many splits with results say how much these vary
_DRAWS, _LEAST_DRAWS = 4096, 256
# No more numbers than this are drawn in all: with 10,000 arms 4,096 draws of each take six seconds.
_MOST_NUMBERS = 1 << 22


def cost_of_doubt(state: CampaignState, beliefs: Beliefs) -> float:
    """What a split of the present budget, as it would be made now, is expected to cost; NaN where none can be.

    How much results vary shows in the second split: before that the figure would be a guess without bounds.
    """
    own, learned = state.allocator, beliefs.learned
    waiting = set(own.open_tickets) - set(state.tickets.provisional)
    with_results = own.period - len(state.tickets.cancelled) - len(waiting)
    if learned is not None and not learned.sigma_given and with_results < _TELLING:
        return math.nan
    try:
        decision = state.allocator.decide(state.settings_budget)
    except ApportionError:  # every arm is paused, say
        return math.nan
    return expected_regret(
        beliefs, dict(zip(decision.arms, decision.amounts.tolist())), _best_allowed(state, beliefs, decision)
    )


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
    given = np.array([amounts.get(name, 0.0) for name in beliefs])
    counts = beliefs.in_play | (given > 0.0)
    gains, spread = -beliefs.mean if beliefs.minimise else beliefs.mean, beliefs.spread
    if not counts.any() or not np.isfinite(spread[counts]).all() or np.isnan(gains[counts]).any():
        return float("nan")
    count = min(_DRAWS, max(_LEAST_DRAWS, _MOST_NUMBERS // len(given)))
    noise = np.random.Generator(np.random.PCG64(20_23)).standard_normal((count, len(given)))
    draws = (gains + spread * noise)[:, counts]
    chosen, spent = draws[:, beliefs.in_play[counts]], given[counts]
    if beliefs.c == 1.0:
        found = float(np.maximum(0.0, (chosen.max(axis=1)[:, np.newaxis] - draws) @ spent).mean())
    else:
        value = best_values(chosen, beliefs.c, float(spent.sum()))
        found = float(np.maximum(0.0, value - draws @ spent**beliefs.c).mean())
    return found if allowed is None else max(0.0, found - _cost_of_bounds(beliefs, gains, allowed))


def _cost_of_bounds(beliefs: Beliefs, gains: Floats, allowed: Mapping[str, float]) -> float:
    """What the best split that is allowed falls short of the best one, as things are believed."""
    within = np.array([allowed.get(name, 0.0) for name in beliefs])
    best = best_values(gains[beliefs.in_play][np.newaxis], beliefs.c, float(within.sum()))
    held = np.where(within > 0.0, gains * within**beliefs.c, 0.0)
    return max(0.0, float(best[0]) - float(held.sum()))
