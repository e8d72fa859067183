"""The law from the sums alone: what `GridSums` say, as outcomes come in, about c, b and the noise of each arm.

The law: Y = μ_i·A^c + σ_i·A^b·ξ. For each pair of exponents on the grid the best means are Z_i/B_i, and what they
leave of an arm's outcomes is SS_i = ΣY²·A^(−2b) − Z_i²/B_i. Noise levels are pooled partly, as if each arm had three
outcomes more like those of all: σ_i² = (3·s² + SS_i)/(n_i + 2), s² = ΣSS_j/Σ(n_j − 1). The log-likelihood is then,
amounts in units of their mean,

    ℓ(c, b) = Σ_i [−b·Σ log A − ½·log B_i − ½·(n_i + 2)·log σ_i² + log N(Z_i/B_i; g, τ² + σ_i²/B_i)].

The last term says that means are draws from one law N(g, τ²), found with them (DerSimonian and Laird). Without it an
arm whose first outcome was lucky, and which so got more afterwards, would seem to bring less the more it got: luck
that does not last would be taken for returns that diminish.

Half of the prior is on c = 1, half even over c < 1; b is even over [0, 1]: returns are taken as proportional until
the outcomes reject it. Between the exponents ℓ is interpolated, in b by cubics and in c by parabolas. Where σ is
given, the third term is −½·SS_i/σ_i².

Where this fails: it is a Gaussian likelihood, so with heavy tails the intervals are too narrow; where all amounts are
alike b and c are not identified, and the posterior stays as the prior is; means that move bend the returns and widen
the noise (`inference.filters` has the law of worlds that move); a σ below a millionth of the returns cannot be told
from rounding.
"""

import math
from typing import Any

import numpy as np

from apportion._common.compiled import kernel, large_kernel, when_compiled
from apportion.model.sums import POINTS_PER_STEP, information_row, score_row, square_row

RETURN_EXPONENTS = tuple(index / 10.0 for index in range(3, 11))
"""The values of c that sums are kept for."""
NOISE_EXPONENTS = tuple(index / 20.0 for index in range(21))
"""The values of b that sums are kept for."""

# The residual is at least this part of the squares: less is rounding.
ROUNDING = 1e-12
SMALLEST = 1e-300
_LARGEST_WEIGHT = 1e140
# Means are taken to differ at least by this part of them.
_LEAST_SPREAD = 0.05
# So many outcomes like those of all arms stand for what is not known yet of the noise of one.
POOLED_OUTCOMES = 3.0
# With more arms than this, c and b are learned from so many of them, evenly chosen; their noise is each arm's own.
_MOST_ARMS = 2000
# A log density this far above the largest on the grid comes from the cubic alone; more would overflow.
_HIGHEST_RISE = 50.0
# One this far below it counts for nothing, and its exponential need not be taken.
_LOWEST_FALL = -100.0
_LARGEST_HEIGHT = 1e12
# Between fewer exponents than this nothing is interpolated.
_FEWEST_REFINED = 4
# Between these probabilities of c = 1 the exponents go over from one belief to the other: no split jumps.
_BENT_BELOW, _PROPORTIONAL_ABOVE = 0.1, 0.3


# What a law says, by index: the exponents to decide with, P(c = 1), 95% intervals, P(c − b < 1/2), and how far the
# arms have curves of their own (`inference.response_curves`).
C, B, PROPORTIONAL, C_LOW, C_HIGH, B_LOW, B_HIGH, DIVIDES, CURVED = range(9)
_ON_THE_LINE = 1e-9


@kernel
def log_likelihood(sums: Any, given: Any) -> Any:
    """ℓ at the exponents of the grid, (c, b); `given` are the σ_i, 0 where they are to be learned."""
    stride = max(1, len(sums.count) // _MOST_ARMS)
    sizes = (len(sums.c), len(sums.b))
    cells = sizes[0] * sizes[1]
    information_rows, score_rows = np.empty(cells, np.int64), np.empty(cells, np.int64)
    square_rows = np.empty(cells, np.int64)
    c, b = np.empty(cells), np.empty(cells)
    for c_index in range(sizes[0]):
        for b_index in range(sizes[1]):
            cell = c_index * sizes[1] + b_index
            information_rows[cell] = information_row(sums.c, sums.b, c_index, b_index)
            score_rows[cell] = score_row(sums.c, sums.b, c_index, b_index)
            square_rows[cell] = square_row(sums.b, b_index)
            c[cell], b[cell] = sums.c[c_index], sums.b[b_index]
    count = np.ascontiguousarray(sums.count[::stride])
    known = 1.0 * (count > 0.0)
    information = sums.information[information_rows][:, ::stride] + (1.0 - known)
    score, square = sums.score[score_rows][:, ::stride], sums.square[square_rows][:, ::stride]
    residual = np.maximum(square - score * (score / information), ROUNDING * square + SMALLEST)
    outcomes, means = count.sum(), np.minimum(count, 1.0).sum()
    log_unit = math.log(max(sums.resource[::stride].sum(), SMALLEST) / max(outcomes, SMALLEST))
    shown = outcomes > 0.0
    free = max(outcomes - means, 0.0)
    found = -b * sums.log_amount[::stride].sum() + means * (c * (free <= 0.0) - b) * log_unit * shown
    found -= 0.5 * (np.minimum(count, 1.0) * np.log(information)).sum(axis=1)
    if given[0] > 0.0:
        level = np.ascontiguousarray(given[::stride])
        pooled = np.ones((cells, 1)) * (level * level)
        found -= 0.5 * (known * residual / (level * level)).sum(axis=1)
        found += b * outcomes * log_unit * shown
    else:
        degrees = known * (np.maximum(count - 1.0, 0.0) + POOLED_OUTCOMES)
        common = ((known * residual).sum(axis=1) / max(free, 1.0)).reshape((cells, 1))
        pooled = (POOLED_OUTCOMES * common + residual) / (degrees + (1.0 - known)) + SMALLEST
        # Without a second outcome of any arm there is nothing to tell the noise by.
        found -= 0.5 * (free > 0.0) * (degrees * np.log(pooled)).sum(axis=1)
        found += b * (outcomes - (free > 0.0) * degrees.sum()) * log_unit * shown
    if free > 0.0:
        found += alike(score / information, pooled / information, known)
    return found.reshape(sizes)


@kernel
def alike(means: Any, variances: Any, known: Any) -> Any:
    """How probable the means of the known arms are as draws from one normal law, Σ log N(μ*_i; g, τ² + v_i), by row.

    τ² is the spread that the errors v_i do not explain (DerSimonian and Laird).
    """
    centre, spread = common_laws(means, variances, known)
    total = variances + spread
    return -0.5 * (known * (np.log(total) + (means - centre) ** 2 / total)).sum(axis=1)


@kernel
def common_laws(means: Any, variances: Any, known: Any) -> Any:
    """The normal laws (g, τ²) that the means of the known arms are taken as draws from, by row: (rows, 1) each."""
    weights = known * np.minimum(1.0 / variances, _LARGEST_WEIGHT)
    weight = weights.sum(axis=1)
    centre = (weights * means).sum(axis=1) / weight
    away = means - centre.reshape((-1, 1))
    excess = (weights * away * away).sum(axis=1) - (known.sum() - 1.0)
    degrees = np.maximum(weight - (weights * weights).sum(axis=1) / weight, SMALLEST)
    spread = np.maximum(excess / degrees, (_LEAST_SPREAD * centre) ** 2).reshape((-1, 1))
    total = variances + spread
    return ((known * means / total).sum(axis=1) / (known / total).sum(axis=1)).reshape((-1, 1)), spread


@when_compiled(log_likelihood)
def _log_likelihood_by_loops(sums: Any, given: Any) -> Any:
    """`log_likelihood`, exponent by exponent and arm by arm."""
    counts, c_grid, b_grid = sums.count, sums.c, sums.b
    informations, scores, squares = sums.information, sums.score, sums.square
    log_amount, resources = sums.log_amount, sums.resource
    arms = len(counts)
    stride = max(1, arms // _MOST_ARMS)
    outcomes, means, logs, resource, degrees = 0.0, 0.0, 0.0, 0.0, 0.0
    for arm in range(0, arms, stride):
        count = counts[arm]
        outcomes += count
        means += min(count, 1.0)
        logs += log_amount[arm]
        resource += resources[arm]
        degrees += max(count - 1.0, 0.0) + POOLED_OUTCOMES if count > 0.0 else 0.0
    found = np.zeros((len(c_grid), len(b_grid)))
    if not outcomes > 0.0:
        return found
    free = max(outcomes - means, 0.0)
    log_unit = math.log(max(resource, SMALLEST) / outcomes)
    residual, mean, variance = np.empty(arms), np.empty(arms), np.empty(arms)
    widths = np.zeros(len(informations))  # Σ log B_i of each row, which several exponents share
    for row in range(len(informations)):
        for arm in range(0, arms, stride):
            if counts[arm] > 0.0:
                widths[row] += min(counts[arm], 1.0) * math.log(informations[row, arm])
    for c_index in range(len(c_grid)):
        for b_index in range(len(b_grid)):
            c, b = c_grid[c_index], b_grid[b_index]
            width = information_row(c_grid, b_grid, c_index, b_index)
            information = informations[width]
            score = scores[score_row(c_grid, b_grid, c_index, b_index)]
            square = squares[square_row(b_grid, b_index)]
            total, common = -0.5 * widths[width] - b * logs + means * ((0.0 if free > 0.0 else c) - b) * log_unit, 0.0
            for arm in range(0, arms, stride):
                if counts[arm] > 0.0:
                    mean[arm] = score[arm] / information[arm]
                    rest = square[arm] - score[arm] * mean[arm]
                    residual[arm] = max(rest, ROUNDING * square[arm] + SMALLEST)
                    common += residual[arm]
            if given[0] > 0.0:
                for arm in range(0, arms, stride):
                    if counts[arm] > 0.0:
                        variance[arm] = given[arm] ** 2 / information[arm]
                        total -= 0.5 * residual[arm] / (given[arm] * given[arm])
                total += b * outcomes * log_unit
            elif free > 0.0:
                common /= max(free, 1.0)
                for arm in range(0, arms, stride):
                    if counts[arm] > 0.0:
                        degree = max(counts[arm] - 1.0, 0.0) + POOLED_OUTCOMES
                        pooled = (POOLED_OUTCOMES * common + residual[arm]) / degree + SMALLEST
                        total -= 0.5 * degree * math.log(pooled)
                        variance[arm] = pooled / information[arm]
                total += b * (outcomes - degrees) * log_unit
            else:
                total += b * outcomes * log_unit
            if free > 0.0:
                total += _alike_by_loops(mean, variance, counts, stride)
            found[c_index, b_index] = total
    return found


@kernel
def _alike_by_loops(mean: Any, variance: Any, counts: Any, stride: int) -> float:
    """`alike`, arm by arm."""
    centre, spread = common_law(mean, variance, counts, stride)
    height, product = 0.0, 1.0
    for arm in range(0, len(counts), stride):
        if counts[arm] > 0.0:
            total = variance[arm] + spread
            height += (mean[arm] - centre) ** 2 / total
            product *= total  # of which one logarithm is taken when it grows large or small
            if not 1e-100 < product < 1e100:
                height += math.log(product)
                product = 1.0
    return -0.5 * (height + math.log(product))


@kernel
def common_law(mean: Any, variance: Any, counts: Any, stride: int) -> Any:
    """The normal law (g, τ²) that the means of the known arms are taken as draws from; every `stride`th is read."""
    weights, squares, centre, known = 0.0, 0.0, 0.0, 0.0
    for arm in range(0, len(counts), stride):
        if counts[arm] > 0.0:
            weight = min(1.0 / variance[arm], _LARGEST_WEIGHT)
            weights += weight
            squares += weight * weight
            centre += weight * mean[arm]
            known += 1.0
    centre /= weights
    excess = 1.0 - known
    for arm in range(0, len(counts), stride):
        if counts[arm] > 0.0:
            excess += (mean[arm] - centre) ** 2 * min(1.0 / variance[arm], _LARGEST_WEIGHT)
    spread = max(excess / max(weights - squares / weights, SMALLEST), (_LEAST_SPREAD * centre) ** 2)
    weights, centre = 0.0, 0.0
    for arm in range(0, len(counts), stride):
        if counts[arm] > 0.0:
            weights += 1.0 / (variance[arm] + spread)
            centre += mean[arm] / (variance[arm] + spread)
    return centre / weights, spread


@large_kernel
def fit_law(sums: Any, given: Any, law: Any) -> None:
    """Write the law to decide with; `given` are the σ_i, 0 where they are to be learned."""
    summarise(
        log_likelihood(sums, given),
        sums.c,
        sums.b,
        sums.refine_b,
        _BENT_BELOW,
        _PROPORTIONAL_ABOVE,
        law,
    )


@kernel
def posterior_of(height: Any, c: Any, refine_b: Any) -> Any:
    """The posterior over the refined grid for log-likelihoods on the grid, adding up to 1.

    The last c is the paper's, if it is 1: it has half of the prior.
    """
    posterior = np.exp(np.minimum(between_c(height @ refine_b.T) - height.max(), _HIGHEST_RISE))
    if posterior.shape[1] > 1:
        posterior[:, 0] *= 0.5
        posterior[:, -1] *= 0.5
    if len(posterior) > 1 and c[-1] == 1.0:
        posterior[:-1] /= len(posterior) - 1.0
    return posterior / posterior.sum()


@kernel
def between_c(height: Any) -> Any:
    """`height`, (c, b), at the places between its rows too: by parabolas, each as flat as its neighbours allow.

    ℓ may fall by thousands from one c to the next and then hardly at all. A cubic swings there, and its overshoot
    would be taken for a c between the two. Of the second differences at both ends of a step the smaller is taken; at
    the largest c they are taken to go on shrinking as they do before it.
    """
    size = len(height)
    if size < _FEWEST_REFINED:
        return height
    found = np.empty(((size - 1) * POINTS_PER_STEP + 1, height.shape[1]))
    bend = np.zeros(height.shape)
    bend[1 : size - 1] = height[2:] - 2.0 * height[1 : size - 1] + height[: size - 2]
    bend[0] = bend[1]
    last, before = bend[size - 2], bend[size - 3]
    bend[size - 1] = last * np.minimum(np.maximum(last / np.where(before == 0.0, -1.0, before), 0.0), 1.0)
    low, high = np.minimum(bend[: size - 1], bend[1:]), np.maximum(bend[: size - 1], bend[1:])
    bent = np.maximum(low, 0.0) + np.minimum(high, 0.0)
    for point in range(POINTS_PER_STEP):
        part = point / POINTS_PER_STEP
        line = (1.0 - part) * height[: size - 1] + part * height[1:]
        found[point : (size - 1) * POINTS_PER_STEP : POINTS_PER_STEP] = line - 0.5 * part * (1.0 - part) * bent
    found[(size - 1) * POINTS_PER_STEP] = height[size - 1]
    return found


@when_compiled(posterior_of)
def _posterior_by_loops(height: Any, c: Any, refine_b: Any) -> Any:
    """`posterior_of`, point by point."""
    sizes, columns = height.shape, len(refine_b)
    largest, total = height[0, 0], 0.0
    finer, refined = np.zeros((sizes[0], columns)), np.ascontiguousarray(refine_b.T)
    for c_index in range(sizes[0]):
        for b_index in range(sizes[1]):
            largest = max(largest, height[c_index, b_index])
            for column in range(columns):
                finer[c_index, column] += refined[b_index, column] * height[c_index, b_index]
    posterior = between_c(finer)
    rows = len(posterior)
    for row in range(rows):
        part = 1.0 / (rows - 1.0) if 1 < rows != row + 1 and c[-1] == 1.0 else 1.0
        for column in range(columns):
            value = posterior[row, column] - largest
            end = columns > 1 and (column == 0 or column == columns - 1)
            posterior[row, column] = 0.0
            if value > _LOWEST_FALL:
                posterior[row, column] = part * (0.5 if end else 1.0) * math.exp(min(value, _HIGHEST_RISE))
                total += posterior[row, column]
    for row in range(rows):
        for column in range(columns):
            posterior[row, column] /= total
    return posterior


@large_kernel
def summarise(height: Any, c: Any, b: Any, refine_b: Any, low: float, high: float, law: Any) -> None:
    """Write the law for log-likelihoods on a grid of c and b; `C`, `B` and the others are the indices of `law`.

    Where P(c = 1) is above `high` the law is the mean of b with c = 1, below `low` the means of both with c < 1, and
    in between it goes from one to the other. The intervals hold 95% of the posterior.
    """
    for c_index in range(len(c)):  # numbers beyond all bounds say nothing
        for b_index in range(len(b)):
            if not abs(height[c_index, b_index]) < _LARGEST_HEIGHT:
                height[c_index, b_index] = -_LARGEST_HEIGHT
    posterior = posterior_of(height, c, refine_b)
    rows, columns = posterior.shape
    c_step, b_step = (c[-1] - c[0]) / max(rows - 1, 1), (b[-1] - b[0]) / max(columns - 1, 1)
    of_c, of_b = posterior.sum(axis=1), posterior.sum(axis=0)
    of_b_bent = of_b - posterior[rows - 1]
    above = c[0] + c_step * np.arange(rows).reshape((rows, 1)) - (b[0] + b_step * np.arange(columns)) - 0.5
    on_the_line = np.abs(above) <= _ON_THE_LINE
    divides = (posterior * ((above < -_ON_THE_LINE) + 0.5 * on_the_line)).sum()
    law[DIVIDES] = divides
    law[C_LOW], law[C_HIGH] = interval_of(of_c, c[0], c_step)
    law[B_LOW], law[B_HIGH] = interval_of(of_b, b[0], b_step)
    one = 0.0 if c[-1] < 1.0 else of_c[rows - 1] if rows > 1 else 1.0
    law[PROPORTIONAL] = one
    law[C], law[B] = mean_of(of_c, c[0], c_step), mean_of(of_b, b[0], b_step)
    if rows == 1 or c[-1] < 1.0:
        return
    part = min(max((one - low) / (high - low), 0.0), 1.0)
    part = part * part * (3.0 - 2.0 * part)
    of_c[rows - 1] = 0.0
    c_bent, b_bent = mean_of(of_c, c[0], c_step), mean_of(of_b_bent, b[0], b_step)
    b_one = mean_of(posterior[rows - 1], b[0], b_step)
    law[C] = 1.0 if part >= 1.0 else c_bent + part * (1.0 - c_bent)
    law[B] = b_bent + part * (b_one - b_bent) if columns > 1 else b[0]


@kernel
def mean_of(weights: Any, first: float, step: float) -> float:
    """The mean of first, first + step, … with these weights."""
    total, mean = 0.0, 0.0
    for index in range(len(weights)):
        total += weights[index]
        mean += weights[index] * (first + index * step)
    return mean / max(total, SMALLEST) if len(weights) > 1 else first


@kernel
def interval_of(weights: Any, first: float, step: float) -> Any:
    """Where 2.5% and 97.5% of the weights, which add up to 1, are passed; straight lines between the points."""
    total, low, high = 0.0, first, first + step * (len(weights) - 1)
    for index in range(len(weights)):
        before, total = total, total + weights[index]
        place = first + step * (index - 0.5)
        if before < 0.025 <= total:
            low = place + step * (0.025 - before) / weights[index]
        if before < 0.975 <= total:
            high = place + step * (0.975 - before) / weights[index]
    last = first + step * (len(weights) - 1)
    return min(max(low, first), last), min(max(high, first), last)
