"""How the world moves: which filters foresee outcomes best, and what they believe together (`inference.filters`).

Old periods count less in their scores, by half after 60, so that it is seen how the world moves now; but a world that
stands still must explain all of the last periods too.
"""

import math
from typing import Any

import numpy as np

from apportion._common.compiled import kernel, large_kernel, when_compiled
from apportion.inference.filters import DEGREES

# After so many periods a score counts half.
SCORE_HALF_LIFE = 60.0
# A world that stands still is taken for more probable than each kind of movement, by so much in the logarithm; and by
# log(1 + t/200) more after t periods, as otherwise one false alarm would be a matter of time.
STILL_ADVANTAGE = 4.0
_PERIODS_OF_GROWTH, _LARGEST_GROWTH = 200.0, 5.0
# Movement that all arms share is more probable than that of each alone, by so much: where nearly all is spent on one
# arm, outcomes alone hardly tell the two apart.
COMMON_ADVANTAGE = 2.5
# Above the one probability the world is taken as still, below the other as moving, and in between as partly so.
_STILL_ABOVE, _MOVES_BELOW = 0.5, 0.2
# Each kind of movement is scored with the noise that fits it best: noise that was learned as if nothing moved is too
# wide where something does. With n errors of r times the expected variance the likelihood gains n/2·(r − 1 − log r)
# when it is Gaussian, and ν/(ν + 3) of that with ν degrees of freedom.
_PROFILED, _SMALLEST_RATIO = 0.5 * DEGREES / (DEGREES + 3.0), 1e-3
# A filter that is believed less does not count.
_LEAST_WEIGHT = 1e-4
_SMALLEST = 1e-300


@kernel
def still_advantage(period: int) -> float:
    """How much more probable a world that stands still is taken to be, in the logarithm, after so many periods."""
    return STILL_ADVANTAGE + min(math.log1p(period / _PERIODS_OF_GROWTH), _LARGEST_GROWTH)


@large_kernel
def with_best_noise(score: Any, misfit: Any, outcomes: float) -> Any:
    """Scores as they would be with the noise that fits each filter best."""
    ratio = np.maximum(misfit / max(outcomes, _SMALLEST), _SMALLEST_RATIO)
    return score + _PROFILED * outcomes * (ratio - 1.0 - np.log(ratio))


@large_kernel
def log_weights(filters: Any, period: int) -> Any:
    """How well each filter foresaw the outcomes up to this period, in logarithms, with the advantages above.

    The still world is as far ahead as it is lately, or over all of the last periods, whichever is less.
    """
    weights, lately, ever = compared(filters, period)
    weights[0] -= max(ever - lately, 0.0)
    return weights


@large_kernel
def compared(filters: Any, period: int) -> Any:
    """How well each filter foresaw lately; and how far the best kind of movement is ahead of the still world.

    The first margin is that of lately, the second that over all of the last periods.
    """
    whole = filters.whole
    return compared_by(
        filters.score, filters.misfit, filters.seen, whole[:, 0], whole[:, 1], whole[0, 2], filters.q_own, period
    )


@kernel
def compared_by(
    score: Any, misfit: Any, seen: Any, whole: Any, all_misfit: Any, outcomes: float, q_own: Any, period: int
) -> Any:
    """`compared`, of the arrays that it reads."""
    common, still = COMMON_ADVANTAGE * (q_own.ravel() == 0.0), still_advantage(period)
    lately = with_best_noise(score, misfit.sum(axis=1), seen.sum()) + common
    lately[0] += still - COMMON_ADVANTAGE
    if len(score) < 2:
        return lately, -math.inf, -math.inf
    ever = with_best_noise(whole, all_misfit, outcomes) + common
    ever[0] += still - COMMON_ADVANTAGE
    return lately, lately[1:].max() - lately[0], ever[1:].max() - ever[0]


@large_kernel
def weights_of(filters: Any, period: int) -> Any:
    """How much each filter counts after this period, adding up to 1: the exponentials of `log_weights`.

    What moves a little is as good as still, and not to be taken for it costs: the still world counts whole from a
    probability of one half on.
    """
    return shares_of(log_weights(filters, period))


@kernel
def shares_of(weights: Any) -> Any:
    """What weights in logarithms come to, the first being that of the still world."""
    weights = np.exp(weights - weights.max())
    first, rest = weights[0] / weights.sum(), weights[1:]
    part = min(max((first - _MOVES_BELOW) / (_STILL_ABOVE - _MOVES_BELOW), 0.0), 1.0)
    part = part * part * (3.0 - 2.0 * part)
    rest /= max(rest.sum(), _SMALLEST)
    rest *= rest > _LEAST_WEIGHT
    rest *= (1.0 - part) / max(rest.sum(), _SMALLEST)
    weights[0] = part if len(weights) > 1 else 1.0
    return weights


@kernel
def mixture(filters: Any, weights: Any, means: Any, variances: Any, contrasts: Any) -> None:
    """Write what all filters together believe: the means, their variances, and those that matter for a comparison.

    What all arms have in common, in proportion to their means, changes no comparison: `contrasts` are the variances
    without it.
    """
    if weights[0] == 1.0 and not filters.common[0].any():  # the still world alone
        means[:], variances[:], contrasts[:] = filters.mean[0], filters.own[0], filters.own[0]
        return
    means[:] = weights @ filters.mean
    square = max(means @ means, _SMALLEST)
    away, common, own = filters.mean - means, filters.common, weights @ filters.own
    variances[:] = own + weights @ (common * common + away * away)
    common = common - np.outer(common @ means / square, means)
    away = away - np.outer(away @ means / square, means)
    contrasts[:] = own + weights @ (common * common + away * away)


@when_compiled(mixture)
def _mixture_by_loops(filters: Any, weights: Any, means: Any, variances: Any, contrasts: Any) -> None:
    """`mixture`, filter by filter."""
    mean, own, common = filters.mean, filters.own, filters.common
    arms, square = len(means), 0.0
    if weights[0] == 1.0 and not filters.common[0].any():
        for arm in range(arms):
            means[arm], variances[arm], contrasts[arm] = mean[0, arm], own[0, arm], own[0, arm]
        return
    for arm in range(arms):
        means[arm] = variances[arm] = contrasts[arm] = 0.0
        for index in range(len(weights)):
            means[arm] += weights[index] * mean[index, arm]
        square += means[arm] * means[arm]
    square = max(square, _SMALLEST)
    for index in range(len(weights)):
        if weights[index] > 0.0:
            shared, shifted = 0.0, 0.0
            for arm in range(arms):
                shared += common[index, arm] * means[arm]
                shifted += (mean[index, arm] - means[arm]) * means[arm]
            shared /= square
            shifted /= square
            for arm in range(arms):
                away = mean[index, arm] - means[arm]
                variances[arm] += weights[index] * (own[index, arm] + common[index, arm] ** 2 + away * away)
                away -= shifted * means[arm]
                across = common[index, arm] - shared * means[arm]
                contrasts[arm] += weights[index] * (own[index, arm] + across * across + away * away)


# How the world moves, by index: the relative step of an arm alone, its 95% interval, the step that all have in
# common, the probability that nothing moves, and whether it is learned.
STEP, STEP_LOW, STEP_HIGH, COMMON_STEP, STILL, LEARNED = range(6)
MOTIONS = 6


@large_kernel
def motion_of(filters: Any, weights: Any, motion: Any) -> None:
    """Write how the world moves, as the filters together have it; steps are means in the square."""
    own, common = filters.q_own.ravel(), filters.q_common.ravel()
    motion[LEARNED] = 1.0 if len(weights) > 1 else 0.0
    if weights[0] == 1.0:  # nothing moves
        motion[STILL] = 1.0
        return
    motion[STEP], motion[COMMON_STEP] = math.sqrt((weights * own**2).sum()), math.sqrt((weights * common**2).sum())
    motion[STILL] = (weights * ((own == 0.0) & (common == 0.0))).sum()
    below = ((own.reshape((1, -1)) < own.reshape((-1, 1))) * weights).sum(axis=1)
    motion[STEP_LOW], motion[STEP_HIGH] = (own * (below < 0.025)).max(), (own * (below < 0.975)).max()
