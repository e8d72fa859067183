"""A fit: everything is learned anew from all outcomes up to a period.

1. The sums of all periods give c, b and σ_i, as if the world stood still (`inference.learning`).
2. The bank of filters (`inference.filters`) runs over the last periods with that law, and is scored.
3. If it is a filter of a world that moves that foresees best, the law is that of the filter's own likelihood over
   these periods, as means that move bend the returns and widen the noise of sums; and the bank runs again.
   Else the last periods say whether each arm has a curve of its own (`inference.response_curves`).
4. The filter of the still world is replaced by what the sums say: it knows all periods, not the last alone.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel, large_kernel, when_compiled
from apportion.inference.estimates import read_off
from apportion.inference.filters import first_of, restart
from apportion.inference.learner import (
    CALM,
    FIT,
    NEXT,
    followed,
    longest_interval,
    next_fit,
    recent_periods,
    shape_periods,
)
from apportion.inference.learning import CURVED, POOLED_OUTCOMES, B, C, common_law, fit_law, summarise
from apportion.inference.movement import SCORE_HALF_LIFE, compared, still_advantage, with_best_noise
from apportion.inference.response_curves import believed, fit_curves
from apportion.inference.running import run, typical_amounts
from apportion.model.sums import observe_grid

# A law from the last periods alone is less sure, and to put all on one arm where returns diminish costs most: between
# these probabilities of c = 1 the exponents go over from one belief to the other.
_MOVING_BENT_BELOW, _MOVING_PROPORTIONAL_ABOVE = 0.3, 0.9
# Before the last periods are taken in, means are believed to differ at least by this part of them.
_LEAST_PRIOR_SPREAD = 0.3
# Movement at another c is looked for where the budget was divided, no arm having more than this part of it: what tiny
# amounts bring says little of c, and errors in b would be taken for it. There are several, so each is less probable.
_LARGEST_DIVIDED_PART, _RIVALS_HANDICAP = 0.8, 2.3
# With more arms than this there is too little to see of each to tell such rivals, and they would take most of a fit.
_MOST_ARMS = 2000
# The same for arms that are full at some part of the budget; where they are, each arm still gets this part of an even
# share.
_CAPS_HANDICAP, _LEAST_AIM = 2.3, 0.03
FADE = 0.5 ** (1.0 / SCORE_HALF_LIFE)
# An arm of which the sums alone say so many times less than all filters began with, in the variance, is not scored.
_MUCH_LESS_KNOWN = 4.0
# Where all else is behind the still world by so much in the log-likelihood, few filters are asked and followed.
_CALM = 1.25
_SMALLEST = 1e-300


class Verdict(NamedTuple):
    """What foresaw the last periods best, by its row in the bank, and how far movement, and caps, are ahead.

    The first margin over the still world is that of lately, the second that over all of the last periods; `full` is
    the row of the best cap, `ahead` its margin.
    """

    best: int
    lately: float
    ever: float
    full: int
    ahead: float


@large_kernel
def fit(learner: Any, period: int) -> None:
    """Learn everything anew from all periods up to this one; those since the last fit come to the sums."""
    observe_grid(learner.grid, learner.amounts, learner.outcomes, learner.clock[FIT] + 1, period)
    fit_from_sums(learner, period)


@large_kernel
def fit_from_sums(learner: Any, period: int) -> None:
    """Learn the law from the sums of all periods up to this one, and how the world moves from the last of them."""
    arms = learner.amounts.shape[1]
    recent = recent_periods(arms)
    learner.clock[FIT] = period
    learner.clock[NEXT] = next_fit(period, arms, longest_interval(arms))
    law = learner.law
    fit_law(learner.grid, learner.given, law)
    means, variances = np.empty(arms), np.empty(arms)
    read_off(learner.grid, law[C], law[B], learner.given, means, variances, learner.sigma)
    first = max(period - recent, 0) + 1
    divided = len(learner.bank.score) > len(learner.filters.score) and arms <= _MOST_ARMS
    divided = divided and largest_part(learner.amounts, first, period) < _LARGEST_DIVIDED_PART
    best, lately, ever, full, ahead = survey(learner, divided, first, period)
    filters, bank = followed(learner), learner.bank
    moves = lately > 0.0 or ever > 0.0
    counts = learner.grid.fractions.sum() == 0.0
    begun = first if moves else max(period - shape_periods(arms), 0) + 1
    gain, faded = fit_curves(
        learner.amounts, learner.outcomes, begun, period, law[C], law[B], learner.sigma, counts,
        FADE if moves else 1.0, learner.aim,
    )  # fmt: skip
    # An exponent that is given stays given.
    curved = len(learner.grid.c) > 1 and (not moves or (faded > lately and gain > ever))
    law[CURVED] = believed(gain) if curved else 0.0
    over = ahead - max(ever, gain if curved else 0.0, 0.0)
    if over > 0.0:
        law[CURVED] = believed(over)
        fill_up_to(bank.cap[full, 0], bank.mean[full], learner.aim)
    if moves and not law[CURVED] > 0.0:
        if not learner.given[0] > 0.0:
            correct_noise(learner.sigma, bank.misfit[best], bank.seen)
        fit_moving_law(learner, bank.q_common[best, 0], bank.q_own[best, 0], first, period)
        run_anew(learner, filters, first, period, FADE)
        still = learner.sigma.copy()
        read_off(learner.grid, law[C], law[B], still, means, variances, learner.sigma)
    set_still(filters, learner.grid.count, means, variances, recent)


@kernel
def survey(learner: Any, divided: bool, first: int, last: int) -> Verdict:
    """Say which filters foresaw the last periods best, and whether it is calm: only a few are followed then.

    Rivals are asked where the budget was `divided`. Where the few see nothing near, nothing that the others say can
    matter. Here all run at once, as the number of periods is what takes time; compiled, the few run first.
    """
    filters, watch, c = learner.filters, learner.watch, learner.law[C]
    bank, coarse = asked(filters, learner.bank, divided, c), asked(watch, learner.coarse, divided, c)
    look(learner, filters, bank, first, last)
    picked = learner.picked[: len(coarse.mean)]
    for name in ("mean", "own", "common", "score", "misfit", "whole"):
        getattr(coarse, name)[:] = getattr(bank, name)[picked]
    watch.known[:], watch.seen[:], watch.scored[:] = bank.known, bank.seen, bank.scored
    take_law(watch, coarse, learner.law)
    verdict = verdict_of(watch, coarse, last)
    learner.clock[CALM] = is_calm(verdict)
    return verdict if learner.clock[CALM] else verdict_of(filters, bank, last)


@when_compiled(survey)
def _survey_by_few_first(learner: Any, divided: bool, first: int, last: int) -> Verdict:
    coarse = asked(learner.watch, learner.coarse, divided, learner.law[C])
    look(learner, learner.watch, coarse, first, last)
    verdict = verdict_of(learner.watch, coarse, last)
    learner.clock[CALM] = is_calm(verdict)
    if not learner.clock[CALM]:
        bank = asked(learner.filters, learner.bank, divided, learner.law[C])
        look(learner, learner.filters, bank, first, last)
        verdict = verdict_of(learner.filters, bank, last)
    return verdict


@kernel
def asked(filters: Any, bank: Any, divided: bool, c: float) -> Any:
    """The rows of a bank that are asked: the filters, and where the budget was `divided` their rivals.

    Where returns diminish anyway that explains what a cap would, so those with caps, the last, are not asked.
    """
    size = len(filters.mean)
    if divided:
        while size < len(bank.mean) and (c == 1.0 or bank.cap[size, 0] == 1.0):
            size += 1
    return first_of(bank, size)


@large_kernel
def look(learner: Any, filters: Any, bank: Any, first: int, last: int) -> None:
    """Let a bank that begins with some filters take in the last periods with the law as it is."""
    take_law(filters, bank, learner.law)
    # Filters alone have one law, whose powers are taken once.
    run_anew(learner, bank if len(bank.mean) > len(filters.mean) else filters, first, last, FADE)


@kernel
def take_law(filters: Any, bank: Any, law: Any) -> None:
    """Give filters the exponents of the law; their rivals have their own c."""
    filters.c[0, 0], filters.b[0, 0] = law[C], law[B]
    bank.c[: len(filters.mean), 0] = law[C]
    bank.b[:, 0] = law[B]


@kernel
def verdict_of(filters: Any, bank: Any, last: int) -> Verdict:
    """What a bank that begins with some filters says of the last periods that it took in."""
    weights, lately, ever = compared(filters, last)
    weights[0] -= max(ever - lately, 0.0)
    best, full, ahead = int(np.argmax(weights)), -1, -math.inf
    if len(bank.mean) > len(filters.mean):
        winner, margin, full, ahead = best_rivals(bank, len(filters.mean), last)
        best = winner if best == 0 and margin > 0.0 else best
        ever = max(ever, margin)
    return Verdict(best, lately, ever, full, ahead)


@kernel
def is_calm(verdict: Verdict) -> bool:
    """Whether the world that stands still is far ahead of all others."""
    return bool(max(verdict.lately, verdict.ever, verdict.ahead) < -_CALM)


@large_kernel
def best_rivals(bank: Any, size: int, last: int) -> tuple[int, float, int, float]:
    """What else foresaw the last periods best, and how far it is ahead of the still world: two rivals and margins.

    The rivals are those in the bank from `size` on, where it runs over the last periods. The first is a kind of
    movement at any c. A policy that follows a jump keeps the arms' returns per unit alike, so that sums of two worlds
    look like one at rest whose returns are proportional; only another c shows that it moved. The second is that arms
    are full at a part of the budget. Shares of a leader above it and of others far below look like returns in
    proportion, and a leader that seems to bring less each time it leads, like movement.
    """
    heights = with_best_noise(bank.whole[:, 0], bank.whole[:, 1], bank.whole[0, 2])
    moving, full = -1, -1
    for index in range(size, len(heights)):
        if bank.cap[index, 0] < 1.0:
            full = index if full < 0 or heights[index] > heights[full] else full
        else:
            moving = index if moving < 0 or heights[index] > heights[moving] else moving
    base = heights[0] + still_advantage(last)
    ahead = -math.inf if full < 0 else heights[full] - base - _CAPS_HANDICAP
    return moving, heights[moving] - base - _RIVALS_HANDICAP, full, ahead


@kernel
def fill_up_to(cap: float, means: Any, aim: Any) -> None:
    """Write the best split of a budget of 1 where no arm can use more than `cap`: the best first, each up to it."""
    left = 1.0
    aim[:] = _LEAST_AIM / len(aim)
    for arm in np.argsort(-means, kind="mergesort"):
        if means[arm] > 0.0:
            aim[arm] += min(cap, left)
            left -= min(cap, left)
    aim[:] /= aim.sum()


@kernel
def largest_part(amounts: Any, first: int, last: int) -> float:
    """What the arm that got most in each of some periods got of all that was spent in them."""
    spent = amounts[np.arange(first, last + 1) % len(amounts)]
    return float(spent.max(axis=1).sum() / max(spent.sum(), _SMALLEST))


@when_compiled(largest_part)
def _largest_part_by_loops(amounts: Any, first: int, last: int) -> float:
    largest, total = 0.0, 0.0
    for period in range(first, last + 1):
        row, most = period % len(amounts), 0.0
        for arm in range(amounts.shape[1]):
            most = max(most, amounts[row, arm])
            total += amounts[row, arm]
        largest += most
    return largest / max(total, _SMALLEST)


@large_kernel
def begin(learner: Any, filters: Any) -> None:
    """Let the filters know no more of an arm than that it is one of those that the sums are of.

    Or an arm whose first outcome was lucky, and which so gets more, would seem to bring less the more it gets.
    """
    restart(filters)
    count, known, law, all_c, all_b = learner.grid.count, filters.known, learner.law, filters.c, filters.b
    arms = len(count)
    if not count.sum() > 0.0:
        return
    typical, observed = typical_amounts_of(learner.grid), np.minimum(count, 1.0)
    means, variances, sigma, levels = np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms)
    for index in range(len(filters.mean)):
        own = min(index, len(all_c) - 1)
        if index == 0 or all_c[own, 0] != all_c[own - 1, 0] or all_b[own, 0] != all_b[own - 1, 0]:
            c, b = all_c[own, 0], all_b[own, 0]
            levels[:] = learner.sigma * typical ** (law[B] - b)
            read_off(learner.grid, c, b, levels, means, variances, sigma)
            centre, spread = common_law(means, variances, count, 1)
            spread = max(spread, (_LEAST_PRIOR_SPREAD * centre) ** 2)
        filters.mean[index] = centre * observed
        filters.own[index] = spread * observed
    known[:] = observed


@large_kernel
def set_still(filters: Any, count: Any, means: Any, variances: Any, recent: int) -> None:
    """Let the filter of the still world know what the sums say; all of them, of arms without recent outcomes.

    The others began from what all arms have in common. An arm that the sums say next to nothing of is a surprise to
    the still world alone when it is tried. So it is not scored: that would be taken for movement.
    """
    mean, own, common, known, seen = filters.mean, filters.own, filters.common, filters.known, filters.seen
    for arm in range(len(count)):
        shared = own[0, arm] + common[0, arm] ** 2
        vague = seen[arm] > 0.0 and variances[arm] > _MUCH_LESS_KNOWN * shared
        filters.scored[arm] = 0.0 if vague else 1.0
    for index in range(len(mean)):
        q_own = filters.q_own[index, 0]
        still = q_own == 0.0 and filters.q_common[index, 0] == 0.0
        for arm in range(len(count)):
            if count[arm] > 0.0 and (still or seen[arm] == 0.0):
                mean[index, arm] = means[arm]
                own[index, arm] = variances[arm] + (q_own * means[arm]) ** 2 * recent
                common[index, arm] = 0.0
    for arm in range(len(count)):
        if count[arm] > 0.0:
            known[arm] = 1.0


@large_kernel
def fit_moving_law(learner: Any, q_common: float, q_own: float, first: int, last: int) -> None:
    """c and b by the likelihood of one kind of movement over the last periods, and the noise that goes with them."""
    laws, law, sigma, before = learner.laws, learner.law, learner.sigma, learner.law[B]
    laws.q_common[:, 0] = q_common
    laws.q_own[:, 0] = q_own
    run_anew(learner, laws, first, last, 1.0)
    height = laws.score.copy().reshape((len(learner.laws_c), len(learner.laws_b)))
    summarise(
        height,
        learner.laws_c,
        learner.laws_b,
        learner.refine_b,
        _MOVING_BENT_BELOW,
        _MOVING_PROPORTIONAL_ABOVE,
        law,
    )
    learner.filters.c[0, 0], learner.filters.b[0, 0] = law[C], law[B]
    if learner.given[0] > 0.0:
        return
    typical = typical_amounts(learner.amounts, learner.outcomes, first, last)
    nearest, least = 0, math.inf
    for index in range(len(laws.score)):
        distance = abs(laws.c[index, 0] - law[C]) + abs(laws.b[index, 0] - law[B])
        if distance < least:
            nearest, least = index, distance
    for arm in range(len(sigma)):  # the noise at an arm's typical amount is what it was
        sigma[arm] *= typical[arm] ** (before - law[B])
    correct_noise(sigma, laws.misfit[nearest], laws.seen)


@kernel
def typical_amounts_of(sums: Any) -> Any:
    """The geometric mean of each arm's amounts; 1 where there is none."""
    return np.exp(sums.log_amount / np.maximum(sums.count, 1.0))


@large_kernel
def correct_noise(sigma: Any, misfit: Any, seen: Any) -> None:
    """Correct σ_i by how far the errors of a filter were from what it expected, pooled partly."""
    ratio = misfit.sum() / max(seen.sum(), 1.0)
    for arm in range(len(sigma)):
        sigma[arm] *= math.sqrt((POOLED_OUTCOMES * ratio + misfit[arm]) / (POOLED_OUTCOMES + seen[arm]))


@kernel
def run_anew(learner: Any, filters: Any, first: int, last: int, fade: float) -> None:
    """Take periods into a bank of filters that knows nothing but the sums of all."""
    begin(learner, filters)
    run(learner, filters, first, last, fade)
