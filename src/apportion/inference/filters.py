"""A bank of filters: each follows the means with steps of its own, and is scored by how well it foresees outcomes.

The means θ_i of the law Y = θ_i·A^c + σ_i·A^b·ξ take a step every period, in proportion to themselves: one that all
arms have in common, of relative size q_common (a season, a weekday), and one of each arm alone, q_own (drift). Every
filter has its q_common and q_own; (0, 0) is a world that stands still. What a filter believes of the means is

    θ_i = m_i + g_i·z + δ_i,   z ~ N(0, 1),   δ_i ~ N(0, d_i),

a covariance that is diagonal but for one direction, which makes a step cost K operations and not K². Taking outcomes
in keeps that form exactly (Woodbury). A common step adds a second direction, q_common·m; of the two the one that
explains most of both is kept, and the rest becomes each arm's own.

Filters are scored by how probable they held the outcomes of each period just before, with tails as heavy as those
of Student's law, 3 degrees of freedom: an outlier must not decide.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel, when_compiled
from apportion.model.sums import Floats

_COMMON_STEPS, _OWN_STEPS = (0.0, 0.03, 0.3), (0.0, 0.015, 0.05, 0.15)
# The steps of filters, (in common, of each arm alone): all of them, the still world first; and those that are
# followed where nothing speaks for movement.
STEPS = tuple((common, own) for common in _COMMON_STEPS for own in _OWN_STEPS)
WATCHED_STEPS = ((0.0, 0.0), (0.0, 0.015), (0.0, 0.05), (0.03, 0.0))
_RIVAL_STEPS = (0.015, 0.05)
# What arms may be full at, as parts of the budget of a period, where movement of such steps goes with it.
_CAPS, _CAPPED_STEPS = (0.12, 0.18, 0.27, 0.4, 0.6), (0.0, 0.03)

DEGREES = 3.0
"""Of Student's law, by which outcomes are scored."""
# An arm whose mean is near 0 moves as one of this part of the typical mean would.
_LEAST_SCALE = 0.1
# A single outcome counts no more than this many variances where noise levels are learned.
_LARGEST_MISFIT = 16.0
# Counts vary at least as Poisson's law has it; one of nothing, where nothing is expected, is no certainty.
_LEAST_COUNT_VARIANCE = 0.1
_PRIOR_RATE = 0.25


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


def bank_of_laws(c: Floats, b: Floats, arms: int) -> Filters:
    """Filters for all pairs of exponents, with steps to be set."""
    cs, bs = (each.reshape(-1, 1).copy() for each in np.meshgrid(c, b, indexing="ij"))
    return _no_filters(np.zeros_like(cs), np.zeros_like(cs), cs, bs, arms)


class Rival(NamedTuple):
    """A filter of another law: returns of exponent c, none beyond a part of the budget, a step of each arm alone."""

    c: float
    cap: float
    q_own: float


def rivals_at(c: tuple[float, ...]) -> tuple[Rival, ...]:
    """Arms that move alone, slowly or fast, at each c, and arms that are full at a part of the budget.

    There are none where there is but one c: it is given, or nothing moves.
    """
    if len(c) < 2:
        return ()
    moving = tuple(Rival(each, 1.0, step) for each in c for step in _RIVAL_STEPS)
    return moving + tuple(Rival(1.0, cap, step) for cap in _CAPS for step in _CAPPED_STEPS)


def few_of(rivals: tuple[Rival, ...]) -> tuple[Rival, ...]:
    """Those of the rivals that show whether the others need be asked."""
    capped = [rival for rival in rivals if rival.cap < 1.0 and rival.q_own == _CAPPED_STEPS[0]]
    moving = [rival for rival in rivals if rival.cap == 1.0 and rival.q_own == _RIVAL_STEPS[-1]]
    return (*moving[::2], *capped[::2])


def bank_of_steps(
    steps: tuple[tuple[float, float], ...], rivals: tuple[Rival, ...], arms: int
) -> tuple[Filters, Filters]:
    """Filters for these steps, in common and of each arm alone, at one law; and a bank of them and rivals.

    The filters are the first rows of the bank, and share its memory.
    """
    q_common, q_own, c, cap = _rows_of(steps, rivals).copy()
    bank = _no_filters(q_common, q_own, c, np.full_like(c, 0.5), arms, cap)
    one = np.ones((1, 1))
    return first_of(bank, len(steps))._replace(c=one, b=0.5 * one, cap=one.copy()), bank


@functools.cache
def _rows_of(steps: tuple[tuple[float, float], ...], rivals: tuple[Rival, ...]) -> Floats:
    """q_common, q_own, c and the cap of each row, (4, rows, 1)."""
    rows = [(*step, 1.0, 1.0) for step in steps] + [(0.0, each.q_own, each.c, each.cap) for each in rivals]
    return np.ascontiguousarray(np.array(rows).T[:, :, np.newaxis])


@kernel
def first_of(bank: Any, size: int) -> Filters:
    """The first rows of a bank; they share its memory."""
    return Filters(
        bank.q_common[:size], bank.q_own[:size], bank.c[:size], bank.b[:size], bank.cap[:size], bank.mean[:size],
        bank.own[:size], bank.common[:size], bank.score[:size], bank.known, bank.misfit[:size], bank.seen,
        bank.whole[:size], bank.scored,
    )  # fmt: skip


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
def take_in(filters: Any, response: Any, noise: Any, outcomes: Any, counts: bool, fade: float) -> None:
    """Period after period: the means take their steps, then the outcomes are taken in and the filters scored.

    `response` is A^c and `noise` the variance of an outcome, (periods, filters or 1, arms); `outcomes`, (periods,
    arms), are NaN where there is none. Where they are `counts`, their variance is at least what the mean says. Scores
    are multiplied by `fade` before that of a new period is added. How periods are cut into calls changes no number.
    """
    size, periods = len(filters.mean), len(outcomes)
    q_common, q_own = filters.q_common, filters.q_own
    seen = 1.0 - np.isnan(outcomes)
    known = np.maximum.accumulate(np.concatenate((filters.known[np.newaxis], seen)))
    taken = seen * known[:-1]
    whole_rows = taken.all(axis=1)  # as nearly always; then there is nothing to leave out
    outcome = np.where(seen > 0.0, outcomes, 0.0)
    number = np.maximum(known[:-1].sum(axis=1), 1.0)
    mean, own, common = filters.mean.copy(), filters.own.copy(), filters.common
    moving = np.flatnonzero(q_common)  # those with a direction in common, which are next to each other
    shares = slice(moving[0], moving[-1] + 1) if len(moving) else slice(0, 0)
    g, q, squared = common[shares].copy(), q_common[shares], q_common[shares, 0] ** 2
    errors, variances = np.empty((2, periods, *mean.shape))
    precisions, shifts = np.ones((periods, size)), np.zeros((periods, size))
    for period in range(periods):
        every, error, variance = whole_rows[period], errors[period], variances[period]
        power, spread = response[period], noise[period]
        if counts:
            expected = np.maximum(mean, _PRIOR_RATE * np.abs(mean).max(axis=1, keepdims=True))
            spread = np.maximum(spread, power * expected + _LEAST_COUNT_VARIANCE)
        total = by_row(mean * mean)
        step = np.abs(mean)
        step += (_LEAST_SCALE * np.sqrt(total / number[period])).reshape((size, 1))
        step *= q_own if every else q_own * known[period]
        step *= step
        own += step
        if len(moving):
            m = mean[shares]
            along = q * m
            # The larger eigenvalue of the two directions' products, and its vector (cosine, sine).
            angle = 0.5 * np.arctan2(2.0 * by_row(g * along), by_row(g * g) - squared * total[shares])
            cosine, sine = np.cos(angle).reshape((-1, 1)), np.sin(angle).reshape((-1, 1))
            rest = cosine * along
            rest -= sine * g
            g *= cosine
            along *= sine
            g += along
            rest *= rest
            own[shares] += rest
        np.multiply(power, mean, out=error)
        np.subtract(outcome[period], error, out=error)
        gain = power * own
        np.multiply(power, gain, out=variance)
        variance += spread
        gain /= variance
        kept = spread / variance
        if not every:
            error *= taken[period]
            kept = 1.0 - (1.0 - kept) * taken[period]
        gain *= error
        mean += gain
        own *= kept
        if len(moving):
            loading = power[shares] * g if len(power) > 1 else power * g
            if not every:
                loading *= taken[period]
            weighted = loading / variance[shares]
            precision = precisions[period, shares]
            precision += by_row(weighted * loading)
            weighted *= error[shares]
            shift = by_row(weighted)
            shift /= precision
            shifts[period, shares] = shift
            shift = shift.reshape((-1, 1))
            g *= kept[shares]
            mean[shares] += g * shift
            g /= np.sqrt(precision).reshape((-1, 1))
            loading *= shift
            error[shares] -= loading
        if not every:
            inverse = (seen[period] - taken[period]) / power
            mean += inverse * outcome[period]
            own += inverse * inverse * spread
    filters.mean[:, :], filters.own[:, :], common[shares], filters.known[:] = mean, own, g, known[-1]
    squares = np.multiply(errors, errors, out=errors)
    squares /= variances
    misfit = np.minimum(squares, _LARGEST_MISFIT)
    spread = np.log(variances, out=variances)
    if not whole_rows.all():
        spread *= taken[:, np.newaxis]
    if not filters.scored.all():
        spread *= filters.scored
        squares *= filters.scored
    squares /= DEGREES
    squares += 1.0
    surprise = np.add.reduce(np.log(squares, out=squares), 2) + np.log(1.0 + shifts**2 / DEGREES)
    whole = np.empty((periods, size, 3))
    whole[:, :, 0] = -0.5 * (np.add.reduce(spread, 2) + np.log(precisions) + (DEGREES + 1.0) * surprise)
    whole[:, :, 1] = np.add.reduce(misfit, 2)
    whole[:, :, 2] = taken.sum(axis=1).reshape((-1, 1))
    for period in range(periods):
        for sums, added in ((filters.score, whole[period, :, 0]), (filters.misfit, misfit[period]),
                            (filters.seen, taken[period])):  # fmt: skip
            sums *= fade
            sums += added
        filters.whole[...] += whole[period]


def by_row(values: Floats) -> Floats:
    """The sum of each row; the method of arrays takes twice as long where rows are short."""
    found: Floats = np.add.reduce(values, 1)
    return found


@when_compiled(take_in)
def _take_in_by_loops(filters: Any, response: Any, noise: Any, outcomes: Any, counts: bool, fade: float) -> None:
    """`take_in`, filter by filter, period by period and arm by arm; all loops here, as calls with records cost."""
    means, owns, commons, misfits = filters.mean, filters.own, filters.common, filters.misfit
    known, seen, score, whole, scored = filters.known, filters.seen, filters.score, filters.whole, filters.scored
    q_commons, q_owns = filters.q_common, filters.q_own
    size, arms = means.shape
    periods = len(outcomes)
    present, taken, fresh = np.empty((periods, arms)), np.empty((periods, arms)), np.zeros((periods, arms))
    number, new, outcome = np.zeros(periods), np.zeros(periods), np.zeros((periods, arms))
    came, scores = np.zeros(periods), np.empty((periods, arms))
    for period in range(periods):
        for arm in range(arms):
            number[period] += known[arm]
            present[period, arm] = known[arm]
            taken[period, arm] = 0.0
            if not math.isnan(outcomes[period, arm]):
                outcome[period, arm] = outcomes[period, arm]
                taken[period, arm], fresh[period, arm] = known[arm], 1.0 - known[arm]
                new[period] += fresh[period, arm]
                known[arm] = 1.0
            seen[arm] = fade * seen[arm] + taken[period, arm]
            came[period] += taken[period, arm]
            scores[period, arm] = taken[period, arm] * scored[arm]
    mean, own, common, misfit = np.empty(arms), np.empty(arms), np.zeros(arms), np.empty(arms)
    spread, inverse, error, kept = np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms)
    for index in range(size):
        law = index if response.shape[1] > 1 else 0
        noisy = index if noise.shape[1] > 1 else 0
        q_common, q_own = q_commons[index, 0], q_owns[index, 0]
        for arm in range(arms):
            mean[arm], own[arm], misfit[arm] = means[index, arm], owns[index, arm], misfits[index, arm]
            common[arm] = commons[index, arm]
        for period in range(periods):
            total, before, cross, largest = 0.0, 0.0, 0.0, 0.0
            for arm in range(arms):  # the mean of an unknown arm is 0
                total += mean[arm] * mean[arm]
                before += common[arm] * common[arm]
                cross += common[arm] * mean[arm]
                spread[arm] = noise[period, noisy, arm]
            typical = _LEAST_SCALE * math.sqrt(total / max(number[period], 1.0))
            if counts:
                for arm in range(arms):
                    largest = max(largest, abs(mean[arm]))
                for arm in range(arms):
                    expected = response[period, law, arm] * max(mean[arm], _PRIOR_RATE * largest)
                    spread[arm] = max(spread[arm], expected + _LEAST_COUNT_VARIANCE)
            if q_own > 0.0:
                for arm in range(arms):
                    step = q_own * present[period, arm] * (abs(mean[arm]) + typical)
                    own[arm] += step * step
            if q_common > 0.0:
                cross *= q_common
                # Half the angle of (difference, 2·cross), by its cosine.
                difference = before - q_common * q_common * total
                length = math.sqrt(difference * difference + 4.0 * cross * cross)
                double = difference / length if length > 0.0 else 1.0
                cosine = math.sqrt(max(0.5 * (1.0 + double), 0.0))
                sine = math.copysign(math.sqrt(max(0.5 * (1.0 - double), 0.0)), cross)
                for arm in range(arms):
                    along = q_common * mean[arm]
                    rest = cosine * along - sine * common[arm]
                    common[arm] = cosine * common[arm] + sine * along
                    own[arm] += rest * rest
            for arm in range(arms):
                power = response[period, law, arm]
                inverse[arm] = 1.0 / (power * power * own[arm] + spread[arm])
                error[arm] = taken[period, arm] * (outcome[period, arm] - power * mean[arm])
            for arm in range(arms):
                mean[arm] += response[period, law, arm] * own[arm] * inverse[arm] * error[arm]
                # What is kept of the variance: all of it where there is no outcome.
                kept[arm] = 1.0 - taken[period, arm] * (1.0 - spread[arm] * inverse[arm])
                own[arm] *= kept[arm]
            precision, shift = 1.0, 0.0
            if q_common > 0.0:
                for arm in range(arms):
                    loading = taken[period, arm] * response[period, law, arm] * common[arm]
                    weighted = loading * inverse[arm]
                    precision += weighted * loading
                    shift += weighted * error[arm]
                shift /= precision
                shrink = 1.0 / math.sqrt(precision)
                for arm in range(arms):
                    error[arm] -= taken[period, arm] * response[period, law, arm] * common[arm] * shift
                    common[arm] *= kept[arm]
                    mean[arm] += common[arm] * shift
                    common[arm] *= shrink
            surprise, product, width = 0.0, 1.0 + shift * shift / DEGREES, 1.0 / precision
            for arm in range(arms):
                square = error[arm] * error[arm] * inverse[arm]
                misfit[arm] = fade * misfit[arm] + min(square, _LARGEST_MISFIT)
                error[arm] = square
            wrong = 0.0
            for arm in range(arms):
                wrong += min(error[arm], _LARGEST_MISFIT)
                # Products, of which one logarithm is taken when they grow large or small.
                if scores[period, arm] > 0.0:
                    product *= 1.0 + error[arm] * (1.0 / DEGREES)
                    width *= inverse[arm]
                if not (1e-100 < width < 1e100 and product < 1e40):
                    surprise += math.log(product * product * product * product) - math.log(width)
                    product, width = 1.0, 1.0
            product *= product
            surprise += math.log(product * product / width)
            score[index] = fade * score[index] - 0.5 * surprise
            whole[index, 0] -= 0.5 * surprise
            whole[index, 1] += wrong
            whole[index, 2] += came[period]
            if new[period] > 0.0:
                for arm in range(arms):
                    if fresh[period, arm] > 0.0:
                        power = response[period, law, arm]
                        mean[arm] = outcome[period, arm] / power
                        own[arm] = spread[arm] / (power * power)
                        common[arm] = 0.0
        for arm in range(arms):
            means[index, arm], owns[index, arm], misfits[index, arm] = mean[arm], own[arm], misfit[arm]
            commons[index, arm] = common[arm]
