"""How the world moves: a bank of filters, each with steps of its own, and how well each foresees the next period.

The means θ_i of the law Y = θ_i·A^c + σ_i·A^b·ξ take a step every period, in proportion to themselves: one that all
arms have in common, of relative size q_common (a season, a weekday), and one of each arm alone, q_own (drift). Every
filter has its q_common and q_own; (0, 0) is a world that stands still. What a filter believes of the means is

    θ_i = m_i + g_i·z + δ_i,   z ~ N(0, 1),   δ_i ~ N(0, d_i),

a covariance that is diagonal but for one direction, which makes a step cost K operations and not K². Taking outcomes
in keeps that form exactly (Woodbury). A common step adds a second direction, q_common·m; of the two the one that
explains most of both is kept, and the rest becomes each arm's own.

Filters are scored by how probable they held the outcomes of each period just before, with tails as heavy as those
of Student's law, 3 degrees of freedom: an outlier must not decide. Old periods count less, by half after 60, so that
it is seen how the world moves now; but a world that stands still must explain all of the last periods too.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel, large_kernel, when_compiled
from apportion.model.sums import Floats

COMMON_STEPS = (0.0, 0.03, 0.3)
OWN_STEPS = (0.0, 0.015, 0.05, 0.15)
RIVAL_STEPS = (0.015, 0.05)
# What arms may be full at, as parts of the budget of a period, where movement of such steps goes with it.
CAPS = (0.12, 0.18, 0.27, 0.4, 0.6)
CAPPED_STEPS = (0.0, 0.03)
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

_DEGREES = 3.0
# Each kind of movement is scored with the noise that fits it best: noise that was learned as if nothing moved is too
# wide where something does. With n errors of r times the expected variance the likelihood gains n/2·(r − 1 − log r)
# when it is Gaussian, and ν/(ν + 3) of that with ν degrees of freedom.
_PROFILED, _SMALLEST_RATIO = 0.5 * _DEGREES / (_DEGREES + 3.0), 1e-3
# An arm whose mean is near 0 moves as one of this part of the typical mean would.
_LEAST_SCALE = 0.1
# A single outcome counts no more than this many variances where noise levels are learned.
_LARGEST_MISFIT = 16.0
_SMALLEST = 1e-300
# A filter that is believed less does not count.
_LEAST_WEIGHT = 1e-4


class Filters(NamedTuple):
    """A bank of filters over the arms: steps (filters, 1), beliefs (filters, arms), and a score per filter.

    `c` and `b` are the exponents of each filter, (filters, 1), or those of all, (1, 1); beyond the part `cap` of the
    budget of a period an arm returns no more. `known`: 1 for arms of which there was an outcome. `misfit` is the sum
    of squared standardised errors per filter and arm, `seen` their number. `whole` has the score, the misfit and the
    number of errors of each filter as if nothing faded. `scored`: 0 for arms that the filter of the still world knows
    so much less of than the others that their outcomes compare no movement.
    """

    q_common: Floats
    q_own: Floats
    c: Floats
    b: Floats
    cap: Floats
    mean: Floats
    own: Floats
    common: Floats
    score: Floats
    known: Floats
    misfit: Floats
    seen: Floats
    whole: Floats
    scored: Floats

    def take(self, arms: Any) -> "Filters":
        """The filters for some of the arms."""
        per_arm = {
            name: getattr(self, name)[..., arms]
            for name in ("mean", "own", "common", "known", "misfit", "seen", "scored")
        }
        return self._replace(**per_arm)


def bank_of_steps(moving: bool, arms: int) -> Filters:
    """Filters for all pairs of steps at one law, the still world first; that one alone where nothing moves."""
    pairs = [(common, own) for common in COMMON_STEPS for own in OWN_STEPS] if moving else [(0.0, 0.0)]
    q_common, q_own = np.array(pairs).T[:, :, np.newaxis]
    return _no_filters(q_common.copy(), q_own.copy(), np.ones((1, 1)), np.full((1, 1), 0.5), arms)


def bank_of_laws(c: Floats, b: Floats, arms: int) -> Filters:
    """Filters for all pairs of exponents, with steps to be set."""
    cs, bs = (each.reshape(-1, 1).copy() for each in np.meshgrid(c, b, indexing="ij"))
    return _no_filters(np.zeros_like(cs), np.zeros_like(cs), cs, bs, arms)


def bank_of_rivals(c: Floats, arms: int) -> Filters:
    """Filters of arms that move alone, slowly or fast, at each c, and of arms that are full at a part of the budget.

    None where there is but one c: it is given, or nothing moves.
    """
    rows = [(each, 1.0, step) for each in c for step in RIVAL_STEPS]
    rows += [(1.0, cap, step) for cap in CAPS for step in CAPPED_STEPS]
    cs, caps, q_own = np.array(rows if len(c) > 1 else rows[:0]).reshape(-1, 3).T[:, :, np.newaxis].copy()
    return _no_filters(np.zeros_like(cs), q_own, cs, np.full_like(cs, 0.5), arms, caps)


def _no_filters(
    q_common: Floats, q_own: Floats, c: Floats, b: Floats, arms: int, cap: Floats | None = None
) -> Filters:
    mean, own, common, misfit = np.zeros((4, len(q_own), arms))
    score, whole = np.zeros(len(q_own)), np.zeros((len(q_own), 3))
    cap = np.ones_like(c) if cap is None else cap
    return Filters(
        q_common, q_own, c, b, cap, mean, own, common, score, np.zeros(arms), misfit, np.zeros(arms), whole,
        np.ones(arms),
    )  # fmt: skip


@kernel
def restart(filters: Any) -> None:
    """Forget everything, in place."""
    filters.mean[:, :] = 0.0
    filters.own[:, :] = 0.0
    filters.common[:, :] = 0.0
    filters.score[:] = 0.0
    filters.known[:] = 0.0
    filters.misfit[:, :] = 0.0
    filters.seen[:] = 0.0
    filters.whole[:, :] = 0.0
    filters.scored[:] = 1.0


@kernel
def take_in(filters: Any, response: Any, noise: Any, outcomes: Any, fade: float) -> None:
    """One period: the means take their steps, then the outcomes are taken in and the filters scored.

    `response` is A^c and `noise` the variance of an outcome, (filters or 1, arms); `outcomes` one per arm, NaN where
    there is none. Scores are multiplied by `fade` before the new one is added.
    """
    size = len(filters.mean)
    mean, common, known = filters.mean, filters.common, filters.known
    seen = 1.0 - np.isnan(outcomes)
    taken = seen * known
    every = bool(taken.all())  # as nearly always; then there is nothing to leave out
    outcome = outcomes if every else np.where(seen > 0.0, outcomes, 0.0)
    typical = np.sqrt(by_row(mean * mean) / max(known.sum(), 1.0)).reshape((size, 1))
    step = np.abs(mean)
    step += _LEAST_SCALE * typical
    step *= filters.q_own if every else filters.q_own * known
    own = np.multiply(step, step, out=step)
    own += filters.own
    if filters.q_common[size - 1, 0] > 0.0:
        step = filters.q_common * mean if every else filters.q_common * known * mean
        difference = by_row(common * common) - by_row(step * step)
        cross = by_row(common * step)
        # The larger eigenvalue of the two directions' products, and its vector (cosine, sine).
        angle = 0.5 * np.arctan2(2.0 * cross, difference)
        cosine, sine = np.cos(angle).reshape((size, 1)), np.sin(angle).reshape((size, 1))
        rest = cosine * step
        rest -= sine * common
        common = cosine * common
        common += np.multiply(sine, step, out=step)
        own += np.multiply(rest, rest, out=rest)
    error = outcome - response * mean
    variance = response * response * own
    variance += noise
    loading = response * common
    if not every:
        error *= taken
        loading *= taken
    weighted = loading / variance
    precision = 1.0 + by_row(weighted * loading)
    shift = (by_row(np.multiply(weighted, error, out=weighted)) / precision).reshape((size, 1))
    kept = np.divide(noise, variance, out=weighted)
    np.subtract(1.0, kept, out=kept)
    if not every:
        kept *= taken
    np.subtract(1.0, kept, out=kept)
    common = common * kept
    moved = response * own
    moved /= variance
    moved *= error
    moved += mean
    moved += common * shift
    common /= np.sqrt(precision).reshape((size, 1))
    own *= kept
    if not every:
        inverse = (seen - taken) / response
        moved += inverse * outcome
        own += inverse * inverse * noise
        known[:] = np.maximum(known, seen)
    filters.mean[:, :], filters.common[:, :], filters.own[:, :] = moved, common, own
    loading *= shift
    error -= loading
    squares = np.multiply(error, error, out=error)
    squares /= variance
    misfit = np.minimum(squares, _LARGEST_MISFIT, out=loading)
    filters.misfit[...] = fade * filters.misfit + misfit
    filters.seen[...] = fade * filters.seen + taken
    spread = np.log(variance, out=variance)
    if not every:
        spread *= taken
    if not filters.scored.all():
        spread *= filters.scored
        squares *= filters.scored
    squares /= _DEGREES
    squares += 1.0
    surprise = by_row(np.log(squares, out=squares)) + np.log(1.0 + shift[:, 0] ** 2 / _DEGREES)
    height = -0.5 * (by_row(spread) + np.log(precision) + (_DEGREES + 1.0) * surprise)
    filters.score[...] = fade * filters.score + height
    filters.whole[:, 0] += height
    filters.whole[:, 1] += by_row(misfit)
    filters.whole[:, 2] += taken.sum()


def by_row(values: Floats) -> Floats:
    """The sum of each row; the method of arrays takes twice as long where rows are short."""
    found: Floats = np.add.reduce(values, 1)
    return found


@when_compiled(take_in)
def _take_in_by_loops(filters: Any, response: Any, noise: Any, outcomes: Any, fade: float) -> None:
    """`take_in`, filter by filter and arm by arm."""
    mean, own, common, misfit = filters.mean, filters.own, filters.common, filters.misfit
    known, seen, score, whole, scored = filters.known, filters.seen, filters.score, filters.whole, filters.scored
    q_commons, q_owns = filters.q_common, filters.q_own
    size, arms = mean.shape
    inverse, error, taken = np.empty(arms), np.empty(arms), np.empty(arms)
    arms_known = 0.0
    for arm in range(arms):
        arms_known += known[arm]
        taken[arm] = 0.0 if math.isnan(outcomes[arm]) else known[arm]
    for index in range(size):
        law = index if len(response) > 1 else 0
        typical, before, steps, cross = 0.0, 0.0, 0.0, 0.0
        q_common, q_own = q_commons[index, 0], q_owns[index, 0]
        for arm in range(arms):  # the mean of an unknown arm is 0
            typical += mean[index, arm] * mean[index, arm]
            before += common[index, arm] * common[index, arm]
            cross += common[index, arm] * mean[index, arm]
        steps = q_common * q_common * typical
        cross *= q_common
        typical = _LEAST_SCALE * math.sqrt(typical / max(arms_known, 1.0))
        cosine, sine = 1.0, 0.0
        if q_common > 0.0:
            # Half the angle of (difference, 2·cross), by its cosine.
            difference = before - steps
            length = math.sqrt(difference * difference + 4.0 * cross * cross)
            double = difference / length if length > 0.0 else 1.0
            cosine = math.sqrt(max(0.5 * (1.0 + double), 0.0))
            sine = math.copysign(math.sqrt(max(0.5 * (1.0 - double), 0.0)), cross)
        for arm in range(arms):
            misfit[index, arm] *= fade
            step = q_own * known[arm] * (abs(mean[index, arm]) + typical)
            along = q_common * mean[index, arm]
            rest = cosine * along - sine * common[index, arm]
            common[index, arm] = cosine * common[index, arm] + sine * along
            own[index, arm] += step * step + rest * rest
            inverse[arm] = taken[arm] / (response[law, arm] * response[law, arm] * own[index, arm] + noise[law, arm])
        precision, shift = 1.0, 0.0
        for arm in range(arms):
            error[arm] = 0.0
            if taken[arm] > 0.0:
                error[arm] = outcomes[arm] - response[law, arm] * mean[index, arm]
                loading = response[law, arm] * common[index, arm]
                weighted = loading * inverse[arm]
                precision += weighted * loading
                shift += weighted * error[arm]
        shift /= precision
        shrink = 1.0 / math.sqrt(precision)
        surprise, product, spread = 0.0, 1.0 + shift * shift / _DEGREES, 1.0 / precision
        for arm in range(arms):
            if taken[arm] > 0.0:
                kept = noise[law, arm] * inverse[arm]
                rest = error[arm] - response[law, arm] * common[index, arm] * shift
                square = rest * rest * inverse[arm]
                gain = response[law, arm] * own[index, arm] * inverse[arm]
                mean[index, arm] += gain * error[arm] + common[index, arm] * kept * shift
                common[index, arm] *= kept * shrink
                own[index, arm] *= kept
                misfit[index, arm] += min(square, _LARGEST_MISFIT)
                whole[index, 1] += min(square, _LARGEST_MISFIT)
                whole[index, 2] += 1.0
                # Products, of which one logarithm is taken when they grow large or small.
                if scored[arm] > 0.0:
                    product *= 1.0 + square * (1.0 / _DEGREES)
                    spread *= inverse[arm]
                if not (1e-100 < spread < 1e100 and product < 1e40):
                    surprise += math.log(product * product * product * product) - math.log(spread)
                    product, spread = 1.0, 1.0
            elif math.isnan(outcomes[arm]):
                mean[index, arm] += common[index, arm] * shift
                common[index, arm] *= shrink
            else:
                mean[index, arm] = outcomes[arm] / response[law, arm]
                own[index, arm] = noise[law, arm] / (response[law, arm] * response[law, arm])
                common[index, arm] = 0.0
        product *= product
        surprise += math.log(product * product / spread)
        score[index] = fade * score[index] - 0.5 * surprise
        whole[index, 0] -= 0.5 * surprise
    for arm in range(arms):
        seen[arm] *= fade
        if not math.isnan(outcomes[arm]):
            seen[arm] += known[arm]
            known[arm] = 1.0


@kernel
def still_advantage(period: int) -> float:
    """How much more probable a world that stands still is taken to be, in the logarithm, after so many periods."""
    return STILL_ADVANTAGE + min(math.log1p(period / _PERIODS_OF_GROWTH), _LARGEST_GROWTH)


@large_kernel
def with_best_noise(score: Any, misfit: Any, outcomes: float) -> Any:
    """Scores as they would be with the noise that fits each filter best."""
    ratio = np.maximum(misfit / max(outcomes, _SMALLEST), _SMALLEST_RATIO)
    return score + _PROFILED * outcomes * (ratio - 1.0 - np.log(ratio))


@kernel
def with_advantages(filters: Any, score: Any, period: int) -> Any:
    """Scores of the filters with the advantages above."""
    found = score + COMMON_ADVANTAGE * (filters.q_own.ravel() == 0.0)
    found[0] = score[0] + still_advantage(period)
    return found


@large_kernel
def log_weights(filters: Any, period: int) -> Any:
    """How well each filter foresaw the outcomes up to this period, in logarithms, with the advantages above.

    The still world is as far ahead as it is lately, or over all of the last periods, whichever is less.
    """
    score = with_best_noise(filters.score, filters.misfit.sum(axis=1), filters.seen.sum())
    weights = with_advantages(filters, score, period)
    lately, ever = margins_of_movement(filters, period)
    weights[0] -= max(ever - lately, 0.0)
    return weights


@large_kernel
def margins_of_movement(filters: Any, period: int) -> tuple[float, float]:
    """How far the best kind of movement is ahead of the still world: lately, and over all of the last periods."""
    if len(filters.score) < 2:
        return -math.inf, -math.inf
    score = with_best_noise(filters.score, filters.misfit.sum(axis=1), filters.seen.sum())
    lately = with_advantages(filters, score, period)
    whole = filters.whole
    ever = with_advantages(filters, with_best_noise(whole[:, 0], whole[:, 1], whole[0, 2]), period)
    return lately[1:].max() - lately[0], ever[1:].max() - ever[0]


@large_kernel
def weights_of(filters: Any, period: int) -> Any:
    """How much each filter counts after this period, adding up to 1: the exponentials of `log_weights`.

    What moves a little is as good as still, and not to be taken for it costs: the still world counts whole from a
    probability of one half on.
    """
    score, weights = filters.score, log_weights(filters, period)
    largest, total = weights.max(), 0.0
    for index in range(len(score)):
        weights[index] = math.exp(weights[index] - largest)
        total += weights[index]
    first = weights[0] / total  # the still world
    part = min(max((first - _MOVES_BELOW) / (_STILL_ABOVE - _MOVES_BELOW), 0.0), 1.0)
    part = part * part * (3.0 - 2.0 * part)
    rest = 0.0
    for index in range(1, len(score)):
        weights[index] /= max(total - weights[0], _SMALLEST)
        weights[index] = weights[index] if weights[index] > _LEAST_WEIGHT else 0.0
        rest += weights[index]
    for index in range(1, len(score)):
        weights[index] *= (1.0 - part) / max(rest, _SMALLEST)
    weights[0] = part if len(score) > 1 else 1.0
    return weights


@kernel
def mixture(filters: Any, weights: Any, means: Any, variances: Any, contrasts: Any) -> None:
    """Write what all filters together believe: the means, their variances, and those that matter for a comparison.

    What all arms have in common, in proportion to their means, changes no comparison: `contrasts` are the variances
    without it.
    """
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
    motion[STEP], motion[COMMON_STEP] = math.sqrt((weights * own**2).sum()), math.sqrt((weights * common**2).sum())
    motion[STILL] = (weights * ((own == 0.0) & (common == 0.0))).sum()
    below = ((own.reshape((1, -1)) < own.reshape((-1, 1))) * weights).sum(axis=1)
    motion[STEP_LOW], motion[STEP_HIGH] = (own * (below < 0.025)).max(), (own * (below < 0.975)).max()
    motion[LEARNED] = 1.0 if len(weights) > 1 else 0.0
