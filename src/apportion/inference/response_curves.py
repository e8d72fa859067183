"""Where returns do not follow one power law: the curve of each arm from the last periods, and the best split for it.

A common c has the best split where all arms return the same per unit. With caps, or with arms that saturate at
different amounts, that is not the best split: it fills the best arms beyond what they can use. What matters is how
much more an arm brings for a little more, at the amounts that it gets.

The law says that arm i returns m_i·A^c. Against it stands that every arm has a shape of its own, m_i·φ(A): with a
cap, φ(A) = min(A, κ); saturating, φ(A) = A·h/(h + A); or that of the law. κ and h are on a grid around the even
share. The scales m_i are draws from one normal law, found for each shape with its data, and all shapes are written so
that m_i is what an even share returns. Amounts are put into classes, each an eighth larger than the one before; what
their outcomes say is Gaussian, so the likelihood of every shape is in closed form. Law and shapes are each told with
the scale of noise that fits them best, as σ was learned as if the law held.

From this come the odds for shapes, and the curve that is expected of each arm, E m_i·φ(A), over both. It is concave.
The best split of it fills the steepest pieces first. So it is a hedge where the odds say little: an arm of which it
is not known whether larger amounts are of use gets more only if it is so much better than the next.

Where this fails: in a world that moves, amounts and means move together and would be taken for a shape; so it is
believed only where it explains more than movement does.
"""

import math
from typing import Any

import numpy as np

from apportion._common.compiled import kernel, large_kernel, when_compiled
from apportion.inference.learning import common_laws

# Caps in even shares, by steps of e^¼ from the first; the scales of saturation, in even shares.
_FIRST_CAP, _LOG_CAP_STEP, _MOST_CAPS = 0.5, 0.25, 20
_SCALES = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
# How probable it is that an arm has the shape of the law, a cap, or saturates, where arms have shapes.
_AS_THE_LAW, _HAS_A_CAP, _SATURATES = 0.4, 0.4, 0.2
# The law has this advantage in the log-likelihood, and the second number times log(1 + t/third) more after t periods.
_LAW_ADVANTAGE, _GROWTH, _PERIODS_OF_GROWTH = 1.0, 1.5, 50.0
# The scales differ at least by this part of them.
_LEAST_SPREAD = 0.3
_CLASSES = 56
_LOG_WIDTH = 0.12
# With more arms than this the law is trusted: there is too little to see of each. So it is in the first periods.
_MOST_ARMS, _FEWEST_PERIODS = 256, 3
# The split goes this part of the way, in logarithms, from what the arms got in the last periods, so many of them.
_PART_OF_THE_WAY, _PERIODS_BEFORE = 0.75, 64
# An arm keeps at least this part of the even share of the split that is aimed at.
_LEAST_PART = 0.03
# Between these probabilities of shapes the split goes over from the law's to the one aimed at.
_LAW_BELOW, _AIM_ABOVE = 0.15, 0.6
_LEAST_RATIO = 1e-3
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
    total, periods, top = spent_in(amounts, outcomes, first, last)
    recent = np.zeros(arms)
    for period in range(max(first, last + 1 - _PERIODS_BEFORE), last + 1):
        recent += amounts[period % rows]
    if periods < _FEWEST_PERIODS:
        return -math.inf, -math.inf
    budget = total / periods
    top = max(top, budget)
    size = top * np.exp((np.arange(_CLASSES) - (_CLASSES - 1.0)) * _LOG_WIDTH)
    sides = 2 if fade < 1.0 else 1
    tables, rest = np.zeros((sides, 2, arms, _CLASSES)), np.zeros((sides, 2, arms))
    classify(amounts, outcomes, first, last, top, c, b, sigma, counts, fade, tables, rest)
    shapes, prior = shapes_of(size, budget / arms, arms, c)
    gain, scales, scale = log_odds_of_shapes(tables[0], rest[0], shapes, prior, last)
    faded = log_odds_of_shapes(tables[1], rest[1], shapes, prior, last)[0] if sides > 1 else gain
    if not (believed(gain) > 0.0 and recent.sum() > 0.0):
        return gain, faded
    part = probability(gain)
    expected = part * products(scales, shapes.T.copy()) + (1.0 - part) * scale.reshape((-1, 1))
    slopes, lengths = np.empty((arms, _CLASSES)), np.empty((arms, _CLASSES))
    response = size**c
    for arm in range(arms):
        value, reached = 0.0, 0.0
        for each in range(_CLASSES):
            lengths[arm, each] = size[each] - reached
            slopes[arm, each] = (expected[arm, each] * response[each] - value) / lengths[arm, each]
            value, reached = expected[arm, each] * response[each], size[each]
    fill_steepest(slopes, lengths, budget, aim)
    filled = aim.sum()
    if not filled > 0.0:
        return -math.inf, -math.inf
    least = _LEAST_PART / arms
    for arm in range(arms):
        last_share = max(recent[arm] / recent.sum(), least)
        aim[arm] = last_share * (max(aim[arm] / filled, least) / last_share) ** _PART_OF_THE_WAY
    aim[:] /= aim.sum()
    return gain, faded


@kernel
def spent_in(amounts: Any, outcomes: Any, first: int, last: int) -> Any:
    """What was spent in some periods on what came back, in how many of them, and the largest amount."""
    rows = np.arange(first, last + 1) % len(amounts)
    spent = np.where(np.isnan(outcomes[rows]), 0.0, amounts[rows])
    totals = spent.sum(axis=1)
    return totals.sum(), np.count_nonzero(totals), spent.max()


@when_compiled(spent_in)
def _spent_by_loops(amounts: Any, outcomes: Any, first: int, last: int) -> Any:
    total, periods, top = 0.0, 0, 0.0
    for period in range(first, last + 1):
        row, spent = period % len(amounts), 0.0
        for arm in range(amounts.shape[1]):
            if not math.isnan(outcomes[row, arm]):
                spent += amounts[row, arm]
                top = max(top, amounts[row, arm])
        total += spent
        periods += 1 if spent > 0.0 else 0
    return total, periods, top


@kernel
def shapes_of(size: Any, even: float, arms: int, c: float) -> Any:
    """φ(A)/A^c of every shape at the sizes, over the same at an even share; and how probable each is beforehand."""
    caps = min(int((math.log(arms) - math.log(_FIRST_CAP)) / _LOG_CAP_STEP), _MOST_CAPS)
    shapes, prior = np.empty((1 + caps + len(_SCALES), len(size))), np.empty(1 + caps + len(_SCALES))
    shapes[0], prior[0] = 1.0, _AS_THE_LAW
    law = size**c
    for each in range(caps):
        cap = even * _FIRST_CAP * math.exp(each * _LOG_CAP_STEP)
        shapes[1 + each] = np.minimum(size, cap) / law * (even**c / min(even, cap))
        prior[1 + each] = _HAS_A_CAP / caps
    for each in range(len(_SCALES)):
        scale = even * _SCALES[each]
        shapes[1 + caps + each] = size * scale / (scale + size) / law * (even**c * (scale + even) / (even * scale))
        prior[1 + caps + each] = _SATURATES / len(_SCALES)
    return shapes, prior


@kernel
def log_odds_of_shapes(tables: Any, rest: Any, shapes: Any, prior: Any, period: int) -> Any:
    """The logarithm of the odds that arms have shapes, and the scales of the arms.

    If they have shapes, times how probable each is, (arms, shapes); and if they have that of the law.

    `tables` has Σ A^(2c)/v and Σ A^c·Y/v by class, `rest` Σ Y²/v and the number of outcomes by arm.
    """
    weight, value = tables
    squares, number = rest
    known, outcomes = 1.0 * (number > 0.0), max(number.sum(), _SMALLEST)
    precision = np.maximum(products(shapes * shapes, weight), _SMALLEST)
    score = products(shapes, value)
    misfit = np.maximum(squares - score * score / precision, 0.0)
    free = max(outcomes - known.sum(), 1.0)
    best = np.full(len(known), math.inf)
    for shape in range(len(shapes)):
        best = np.minimum(best, misfit[shape])
    noise_of_law = max((known * misfit[0]).sum() / free, _LEAST_RATIO)
    noise_of_shapes = max((known * best).sum() / free, _LEAST_RATIO)
    heights, means = likelihoods(precision, score, misfit, known, noise_of_law)
    law, mean = heights[0].sum() - 0.5 * outcomes * math.log(noise_of_law), means[0]
    finer, own = likelihoods(precision, score, misfit, known, noise_of_shapes)
    posterior, height = posterior_of_shapes(heights, prior)
    other, fitting = posterior_of_shapes(finer, prior)
    height -= 0.5 * outcomes * math.log(noise_of_law)
    fitting -= 0.5 * outcomes * math.log(noise_of_shapes)
    if fitting > height:
        posterior, means, height = other, own, fitting
    odds = height - law - _LAW_ADVANTAGE - _GROWTH * math.log1p(period / _PERIODS_OF_GROWTH)
    return odds, (posterior * means).T.copy(), mean


@kernel
def likelihoods(precision: Any, score: Any, misfit: Any, known: Any, noise: float) -> Any:
    """The log-likelihood of every shape for every arm, and the mean of the arm's scale with it, (shapes, arms)."""
    error, mean = noise / precision, score / precision
    centre, spread = common_laws(mean, error, known)
    spread = np.maximum(spread, (_LEAST_SPREAD * centre) ** 2)
    away = mean - centre
    total = error + spread
    height = -0.5 * known * (np.log(total / error) + away * away / total + misfit / noise)
    return height, centre + known * away * spread / total


@kernel
def posterior_of_shapes(heights: Any, prior: Any) -> Any:
    """How probable each shape of each arm is, (shapes, arms), and the log-likelihood of all arms together."""
    largest = heights[0].copy()
    for shape in range(len(heights)):
        largest = np.maximum(largest, heights[shape])
    parts = np.exp(heights - largest) * prior.reshape((-1, 1))
    total = parts.sum(axis=0)
    return parts / total, (largest + np.log(total)).sum()


@kernel
def products(rows: Any, others: Any) -> Any:
    """Σ_k rows[i, k]·others[j, k], as an array (i, j)."""
    return rows @ others.T


@when_compiled(products)
def _products_by_loops(rows: Any, others: Any) -> Any:
    found = np.zeros((len(rows), len(others)))
    for other in range(len(others)):
        for each in range(rows.shape[1]):
            factor = others[other, each]
            if factor != 0.0:  # of most classes there are no amounts
                for row in range(len(rows)):
                    found[row, other] += rows[row, each] * factor
    return found


@kernel
def probability(odds: float) -> float:
    """That of something with these odds, in logarithms."""
    return 1.0 / (1.0 + math.exp(-odds)) if odds > -700.0 else 0.0


@kernel
def believed(odds: float) -> float:
    """How far the split goes over from the law's to the one aimed at, for the logarithm of the odds for shapes."""
    part = min(max((probability(odds) - _LAW_BELOW) / (_AIM_ABOVE - _LAW_BELOW), 0.0), 1.0)
    return part * part * (3.0 - 2.0 * part)


@kernel
def classify(
    amounts: Any, outcomes: Any, first: int, last: int, top: float, c: float, b: float, sigma: Any, counts: bool,
    fade: float, tables: Any, rest: Any,
) -> None:  # fmt: skip
    """Add up, for each arm and class of amounts, A^(2c)/v and A^c·Y/v, for each arm Y²/v and outcomes; v: variance.

    Once as they are; where there is room for it, once with periods that count less by `fade` for each that followed.
    """
    periods = np.arange(first, last + 1)
    amount, outcome = amounts[periods % len(amounts)], outcomes[periods % len(amounts)]
    seen, arm = np.nonzero((amount > 0.0) & ~np.isnan(outcome))
    log, outcome = np.log(amount[seen, arm]), outcome[seen, arm]
    each = np.clip(_CLASSES - 0.5 - (math.log(top) - log) / _LOG_WIDTH, 0.0, _CLASSES - 1.0).astype(np.int64)
    variance = sigma[arm] ** 2 * np.exp(2.0 * b * log) + _SMALLEST
    if counts:
        variance = np.maximum(variance, np.abs(outcome) + 1.0)
    response = np.exp(c * log)
    for side in range(len(tables)):
        part = np.power(fade if side else 1.0, last - periods[seen])
        for index, added in enumerate((response * response / variance, response * outcome / variance)):
            np.add.at(tables[side, index], (arm, each), part * added)
        for index, added in enumerate((outcome * outcome / variance, np.ones(len(log)))):
            np.add.at(rest[side, index], arm, part * added)


@when_compiled(classify)
def _classify_by_loops(
    amounts: Any, outcomes: Any, first: int, last: int, top: float, c: float, b: float, sigma: Any, counts: bool,
    fade: float, tables: Any, rest: Any,
) -> None:  # fmt: skip
    """`classify`, outcome by outcome."""
    rows, arms = amounts.shape
    log_top, part = math.log(top), fade ** (last - first + 1)
    # Of the last amount of each arm, which is mostly that of the next period too: its class, (σ·A^b)² and A^c.
    known, place, spread, power = np.zeros(arms), np.zeros(arms, np.int64), np.empty(arms), np.empty(arms)
    for period in range(first, last + 1):
        row, part = period % rows, part / fade
        for arm in range(arms):
            amount, outcome = amounts[row, arm], outcomes[row, arm]
            if amount > 0.0 and not math.isnan(outcome):
                if amount != known[arm]:
                    log, known[arm] = math.log(amount), amount
                    each = int(_CLASSES - 0.5 - (log_top - log) / _LOG_WIDTH)
                    place[arm] = min(max(each, 0), _CLASSES - 1)
                    spread[arm] = sigma[arm] * sigma[arm] * math.exp(2.0 * b * log) + _SMALLEST
                    power[arm] = math.exp(c * log)
                each, variance, response = place[arm], spread[arm], power[arm]
                if counts:
                    variance = max(variance, abs(outcome) + 1.0)
                weight = 1.0 / variance
                for side in range(len(tables)):
                    tables[side, 0, arm, each] += weight * response * response
                    tables[side, 1, arm, each] += weight * response * outcome
                    rest[side, 0, arm] += weight * outcome * outcome
                    rest[side, 1, arm] += weight * variance
                    weight *= part


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
