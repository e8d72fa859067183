"""Where returns do not follow one power law: the curve of each arm from the last periods, and the best split for it.

A common c has the best split where all arms return the same per unit. With caps, or with arms that saturate at
different amounts, that is not the best split: it fills the best arms beyond what they can use. What matters is how
much more an arm brings for a little more, at the amounts that it gets.

The curve of arm i is s_i(A)·A^c. In the law s_i is constant; else it moves with the logarithm of the amount, as a
random walk with steps of variance (τ·m_i)² per unit, m_i its typical size. Amounts are put into classes, each an
eighth larger than the one before. What the outcomes of a class say of s_i is Gaussian, so s_i and the likelihood of
each τ are found by one pass forth and one back (Kalman; Rauch, Tung and Striebel). All arms have one τ: it is 0 until
the outcomes of the last periods reject it. The best split fills the upper concave hulls of the curves, steepest
pieces first.

Where this fails: in a world that moves, amounts and means move together and would be taken for a curve; so it is
believed only where it explains more than movement does. A little beyond the largest amount of an arm the curve goes
on as the law says, which is how larger amounts come to be tried.
"""

import math
from typing import Any

import numpy as np

from apportion._common.compiled import kernel, large_kernel, when_compiled

# τ: how much the return at A^c changes over an e-fold of the amount; beyond a cap it is about c.
_STEPS = np.array([0.0, 0.2, 0.6])
# The law has this advantage in the log-likelihood, and so much more for every e-fold of periods.
_LAW_ADVANTAGE, _LAW_GROWTH = 3.0, 0.5
_CLASSES = 56
_LOG_WIDTH = 0.12
# With more arms than this the law is trusted: there is too little to see of each.
_MOST_ARMS = 256
# So many classes beyond the largest amount of an arm its curve is believed.
_CLASSES_BEYOND = 3
# The split goes this part of the way, in logarithms, from what the arms got in the last periods, so many of them.
_PART_OF_THE_WAY, _PERIODS_BEFORE = 0.75, 64
# An arm keeps at least this part of the even share of the split that is aimed at.
_LEAST_PART = 0.03
# From even odds to these, in logarithms, the split goes over from the law's to that of the curves.
_CURVES_FROM = 3.0
_LEAST_SCALE = 0.1
_SMALLEST = 1e-300


@large_kernel
def fit_curves(
    amounts: Any, outcomes: Any, first: int, last: int, c: float, b: float, sigma: Any, counts: bool, fade: float,
    aim: Any,
) -> tuple[float, float]:  # fmt: skip
    """Write the best split for the arms' own curves into `aim`; the logarithm of the odds that they have such.

    The rows `first` to `last` of the last periods are read, and the split is for the mean total of these. The second
    number is the same with periods that count less by `fade` for every one that followed.
    """
    rows, arms = amounts.shape
    aim[:] = 0.0
    if arms > _MOST_ARMS or arms < 2:
        return -math.inf, -math.inf
    top, total, periods = 0.0, 0.0, 0
    for period in range(first, last + 1):
        row = period % rows
        known = amounts[row] * ~np.isnan(outcomes[row])
        spent = known.sum()
        total += spent
        periods += 1 if spent > 0.0 else 0
        top = max(top, known.max())
    if periods < 4:
        return -math.inf, -math.inf
    all_weights, all_values = np.zeros((2, arms, _CLASSES)), np.zeros((2, arms, _CLASSES))
    classify(amounts, outcomes, first, last, top, c, b, sigma, counts, fade, all_weights, all_values)
    weight, value, scales = all_weights[0], all_values[0], np.empty((2, arms))
    for table in range(2):
        scales[table] = sizes_of(all_weights[table], all_values[table])
    gain, faded, best = log_odds_of_curves(all_weights, all_values, scales, last)
    scale = scales[0]
    if not gain > 0.0:
        return gain, faded
    level, spread = np.empty(_CLASSES), np.empty(_CLASSES)
    size = np.empty(_CLASSES)
    for each in range(_CLASSES):
        size[each] = top * math.exp((each - _CLASSES + 1.0) * _LOG_WIDTH)
    slopes, lengths = np.zeros((arms, _CLASSES)), np.zeros((arms, _CLASSES))
    for arm in range(arms):
        step = (_STEPS[best] * scale[arm]) ** 2 * _LOG_WIDTH
        filtered(weight[arm], value[arm], step, level, spread)
        smoothed(weight[arm], step, level, spread)
        for each in range(_CLASSES):
            level[each] *= size[each] ** c
        concave_hull(size, level, tried_up_to(weight[arm]) + _CLASSES_BEYOND + 1, slopes[arm], lengths[arm])
    fill_steepest(slopes, lengths, total / periods, aim)
    before, filled = np.zeros(arms), aim.sum()
    for period in range(max(first, last + 1 - _PERIODS_BEFORE), last + 1):
        before += amounts[period % rows]
    if not (filled > 0.0 and before.sum() > 0.0):
        return -math.inf, -math.inf
    least = _LEAST_PART / arms
    for arm in range(arms):
        last_share = max(before[arm] / before.sum(), least)
        aim[arm] = last_share * (max(aim[arm] / filled, least) / last_share) ** _PART_OF_THE_WAY
    aim[:] /= aim.sum()
    return gain, faded


@kernel
def sizes_of(weight: Any, value: Any) -> Any:
    """The typical size of what each arm returns; an arm near 0 counts as one of a tenth of all."""
    arms = len(weight)
    scale = np.zeros(arms)
    for arm in range(arms):
        precision, total = weight[arm].sum(), value[arm].sum()
        scale[arm] = abs(total / precision) if precision > 0.0 else 0.0
    return np.maximum(scale, _LEAST_SCALE * scale.sum() / arms)


@kernel
def log_odds_of_curves(weights: Any, values: Any, scales: Any, period: int) -> Any:
    """The logarithm of the odds that arms have curves, against the law, and which of the steps explains most.

    From two tables of weights and values, (2, arms, classes), as are the odds; the best step is that of the first.
    """
    shown = weights[0] > 0.0
    number = shown.sum(axis=1)
    # The classes that were seen of each arm come first: there are few.
    seen = np.argsort(~shown, axis=1, kind="stable")[:, : number.max()]
    error = np.take_along_axis(weights, seen[np.newaxis], 2)
    error = 1.0 / np.where(error > 0.0, error, 1.0)
    found = np.take_along_axis(values, seen[np.newaxis], 2) * error
    # Also the classes passed over let the level move.
    grown = (_STEPS**2 * _LOG_WIDTH)[:, np.newaxis, np.newaxis, np.newaxis] * scales[..., np.newaxis] ** 2
    grown = grown * np.maximum(np.diff(seen, axis=1), 0)
    mean, variance = found[..., 0], error[..., 0]
    totals, errors = np.ones((2, *grown.shape))
    for index in range(grown.shape[-1]):
        before = variance + grown[..., index]
        total = np.add(before, error[..., index + 1], out=totals[..., index])
        away = np.subtract(found[..., index + 1], mean, out=errors[..., index])
        gain = before / total
        mean = mean + gain * away
        variance = before * (1.0 - gain)
    known = np.arange(1, grown.shape[-1] + 1) < number[:, np.newaxis]
    height = -0.5 * np.where(known, np.log(totals) + errors * errors / totals, 0.0).sum(axis=(2, 3))
    return odds_of(height[:, 0], period), odds_of(height[:, 1], period), 1 + int(np.argmax(height[1:, 0]))


@kernel
def odds_of(height: Any, period: int) -> float:
    """The logarithm of the odds for curves with the best step, from the log-likelihoods of all steps."""
    advantage = _LAW_ADVANTAGE + _LAW_GROWTH * math.log(period + 1.0)
    return float(height[1:].max() - height[0] - advantage)


@when_compiled(log_odds_of_curves)
def _log_odds_by_loops(weights: Any, values: Any, scales: Any, period: int) -> Any:
    """`log_odds_of_curves`, arm by arm."""
    level, spread, height = np.empty(_CLASSES), np.empty(_CLASSES), np.zeros((2, len(_STEPS)))
    for table in range(2):
        for index in range(len(_STEPS)):
            for arm in range(scales.shape[1]):
                step = (_STEPS[index] * scales[table, arm]) ** 2 * _LOG_WIDTH
                height[table, index] += filtered(weights[table, arm], values[table, arm], step, level, spread)
    return odds_of(height[0], period), odds_of(height[1], period), 1 + int(np.argmax(height[0, 1:]))


@kernel
def believed(gain: float) -> float:
    """How far the split goes over from the law's to that of the curves, for the logarithm of their odds."""
    return min(max(gain / _CURVES_FROM, 0.0), 1.0)


@kernel
def classify(
    amounts: Any, outcomes: Any, first: int, last: int, top: float, c: float, b: float, sigma: Any, counts: bool,
    fade: float, weight: Any, value: Any,
) -> None:  # fmt: skip
    """Add up, for each arm and class of amounts, A^(2c)/v and A^c·Y/v; v is the variance of the outcome.

    Once as they are, once with periods that count less by `fade` for every one that followed.
    """
    periods = np.arange(first, last + 1)
    amount, outcome = amounts[periods % len(amounts)], outcomes[periods % len(amounts)]
    seen, arm = np.nonzero((amount > 0.0) & ~np.isnan(outcome))
    log, outcome = np.log(amount[seen, arm]), outcome[seen, arm]
    each = np.clip(_CLASSES - 0.5 - (math.log(top) - log) / _LOG_WIDTH, 0.0, _CLASSES - 1.0).astype(np.int64)
    variance = sigma[arm] ** 2 * np.exp(2.0 * b * log) + _SMALLEST
    if counts:
        variance = np.maximum(variance, np.abs(outcome) + 1.0)
    response, part = np.exp(c * log), fade ** (last - periods[seen])
    for table, added in ((weight, response * response / variance), (value, response * outcome / variance)):
        np.add.at(table[0], (arm, each), added)
        np.add.at(table[1], (arm, each), part * added)


@when_compiled(classify)
def _classify_by_loops(
    amounts: Any, outcomes: Any, first: int, last: int, top: float, c: float, b: float, sigma: Any, counts: bool,
    fade: float, weight: Any, value: Any,
) -> None:  # fmt: skip
    """`classify`, outcome by outcome."""
    rows, arms = amounts.shape
    log_top, part = math.log(top), fade ** (last - first + 1)
    for period in range(first, last + 1):
        row, part = period % rows, part / fade
        for arm in range(arms):
            amount, outcome = amounts[row, arm], outcomes[row, arm]
            if amount > 0.0 and not math.isnan(outcome):
                log = math.log(amount)
                each = int(_CLASSES - 0.5 - (log_top - log) / _LOG_WIDTH)
                each = min(max(each, 0), _CLASSES - 1)
                variance = sigma[arm] * sigma[arm] * math.exp(2.0 * b * log) + _SMALLEST
                if counts:
                    variance = max(variance, abs(outcome) + 1.0)
                response = math.exp(c * log)
                added = response * response / variance
                weight[0, arm, each] += added
                weight[1, arm, each] += part * added
                added = response * outcome / variance
                value[0, arm, each] += added
                value[1, arm, each] += part * added


@kernel
def filtered(weight: Any, value: Any, step: float, level: Any, spread: Any) -> float:
    """Take in the classes of one arm from the smallest on; their log-likelihood. Writes means and variances."""
    height, mean, variance, begun = 0.0, 0.0, 0.0, False
    for each in range(len(weight)):
        variance += step
        if weight[each] > 0.0:
            found, error = value[each] / weight[each], 1.0 / weight[each]
            if begun:
                total = variance + error
                height -= 0.5 * (math.log(total) + (found - mean) ** 2 / total)
                gain = variance / total
                mean += gain * (found - mean)
                variance *= 1.0 - gain
            else:
                mean, variance, begun = found, error, True
        level[each], spread[each] = mean, variance
    return height


@kernel
def smoothed(weight: Any, step: float, level: Any, spread: Any) -> None:
    """Take in what larger amounts say of smaller ones; below the smallest that was tried, the curve is the law's."""
    first = 0
    while first < len(weight) - 1 and not weight[first] > 0.0:
        first += 1
    for back in range(len(weight) - 1 - first):
        each = len(weight) - 2 - back
        gain = spread[each] / max(spread[each] + step, 1e-300)
        level[each] += gain * (level[each + 1] - level[each])
    for each in range(first):
        level[each] = level[first]


@kernel
def tried_up_to(weight: Any) -> int:
    """The class of the largest amount that was tried."""
    last = len(weight) - 1
    while last > 0 and not weight[last] > 0.0:
        last -= 1
    return last


@kernel
def concave_hull(size: Any, level: Any, end: int, slopes: Any, lengths: Any) -> None:
    """Write the pieces of the least concave curve above (0, 0) and the points (size, level) before `end`.

    Each piece has a slope and a length.
    """
    kept = np.empty(len(size) + 1, np.int64)
    kept[0], number = -1, 1
    for each in range(min(end, len(size))):
        while number > 1:
            before, last = kept[number - 2], kept[number - 1]
            x, y = (0.0, 0.0) if before < 0 else (size[before], level[before])
            if (level[last] - y) * (size[each] - x) > (level[each] - y) * (size[last] - x):
                break
            number -= 1
        kept[number] = each
        number += 1
    for piece in range(1, number):
        before, last = kept[piece - 1], kept[piece]
        x, y = (0.0, 0.0) if before < 0 else (size[before], level[before])
        lengths[piece - 1] = size[last] - x
        slopes[piece - 1] = (level[last] - y) / (size[last] - x)


@kernel
def fill_steepest(slopes: Any, lengths: Any, budget: float, aim: Any) -> None:
    """Spend the budget on the steepest pieces first, as far as they rise; write what each arm gets into `aim`."""
    arms, pieces = slopes.shape
    for place in np.argsort(-slopes.reshape(arms * pieces), kind="mergesort"):
        arm, piece = place // pieces, place % pieces
        if slopes[arm, piece] <= 0.0 or budget <= 0.0:
            return
        taken = min(lengths[arm, piece], budget)
        aim[arm] += taken
        budget -= taken
