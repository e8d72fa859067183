"""What the sums say of every arm at any exponents: its mean, the variance of that, and its noise."""

import math
from typing import Any

import numpy as np

from apportion._common.compiled import kernel, large_kernel, when_compiled
from apportion.inference.learning import POOLED_OUTCOMES, ROUNDING, SMALLEST
from apportion.model.sums import Floats, information_row, score_row, square_row

_LARGEST_LOG = 460.0


@kernel
def bounded_exp(log: float) -> float:
    """exp(log), of numbers so large or small that more would overflow when they are multiplied."""
    return math.exp(min(max(log, -_LARGEST_LOG), _LARGEST_LOG))


@kernel
def read_off(sums: Any, c: float, b: float, given: Any, means: Any, variances: Any, sigma: Any) -> None:
    """What the sums say at exponents between those of the grid: means μ*, their variances σ_i²/B_i, and σ_i, per arm.

    Information and residuals are interpolated by their logarithms, and means by what they say of the arm's typical
    amount: both are exact for an arm whose amounts are all alike, and the unit of amounts does not matter. An arm
    without outcomes has NaN. To the residuals one outcome is added that stands for what one would say if all arms
    were alike: so there is a first word on σ after one even split, too large where arms differ, and its weight fades.
    """
    count, c_grid, b_grid = sums.count, sums.c, sums.b
    known, typical = count > 0.0, sums.log_amount / np.maximum(count, 1.0)
    mean, log_information, log_residual = np.zeros((3, len(count)))
    log_alike = 0.0
    for c_index, c_weight in _neighbours(c, c_grid):
        for b_index, b_weight in _neighbours(b, b_grid):
            weight = c_weight * b_weight
            information = sums.information[information_row(c_grid, b_grid, c_index, b_index)]
            score = sums.score[score_row(c_grid, b_grid, c_index, b_index)]
            square = sums.square[square_row(b_grid, b_index)]
            positive = np.maximum(information, SMALLEST)
            ratio = score / positive
            residual = np.maximum(square - score * ratio, ROUNDING * square + SMALLEST)
            mean += weight * ratio * _bounded_exp((c_grid[c_index] - c) * typical)
            log_information += weight * np.log(positive)
            log_residual += weight * np.log(residual)
            all_score, all_square = score.sum(), square.sum()
            rest = all_square - all_score * (all_score / max(information.sum(), SMALLEST))
            log_alike += weight * math.log(max(rest, ROUNDING * all_square + SMALLEST))
    residual = np.where(known, _bounded_exp(log_residual), 0.0)
    outcomes, residuals = count.sum(), residual.sum()
    alike = max(bounded_exp(log_alike), residuals)
    common = (residuals + alike / max(outcomes - 1.0, 1.0)) / (max(outcomes - known.sum(), 0.0) + 1.0)
    degrees = np.maximum(count - 1.0, 0.0) + POOLED_OUTCOMES
    levels = np.where(given > 0.0, given, np.sqrt((POOLED_OUTCOMES * common + residual) / degrees))
    sigma[:], means[:] = levels, np.where(known, mean, math.nan)
    variances[:] = np.where(known, levels * levels * _bounded_exp(-log_information), math.nan)


def _neighbours(value: float, grid: Floats) -> list[tuple[int, float]]:
    """The indices in the grid around a value, and how much each counts, of those that count."""
    if len(grid) == 1:
        return [(0, 1.0)]
    place = (value - grid[0]) / (grid[-1] - grid[0]) * (len(grid) - 1)
    low = max(min(int(place), len(grid) - 2), 0)
    both = (low, 1.0 - abs(place - low)), (low + 1, 1.0 - abs(place - low - 1))
    return [(index, weight) for index, weight in both if weight != 0.0]


def _bounded_exp(logs: Floats) -> Floats:
    """`bounded_exp` of an array."""
    found: Floats = np.exp(np.minimum(np.maximum(logs, -_LARGEST_LOG), _LARGEST_LOG))
    return found


@when_compiled(read_off)
def _read_off_compiled(sums: Any, c: float, b: float, given: Any, means: Any, variances: Any, sigma: Any) -> None:
    read_off_by_loops(sums, c, b, given, means, variances, sigma)


@large_kernel
def read_off_by_loops(sums: Any, c: float, b: float, given: Any, means: Any, variances: Any, sigma: Any) -> None:
    """`read_off`, arm by arm."""
    count, c_grid, b_grid = sums.count, sums.c, sums.b
    informations, scores, squares = sums.information, sums.score, sums.square
    c_rows, b_rows = len(c_grid), len(b_grid)
    c_place = (c - c_grid[0]) / (c_grid[-1] - c_grid[0]) * (c_rows - 1) if c_rows > 1 else 0.0
    b_place = (b - b_grid[0]) / (b_grid[-1] - b_grid[0]) * (b_rows - 1) if b_rows > 1 else 0.0
    c_low, b_low = max(min(int(c_place), c_rows - 2), 0), max(min(int(b_place), b_rows - 2), 0)
    log_alike, outcomes, arms, residuals = 0.0, 0.0, 0.0, 0.0
    for arm in range(len(means)):
        means[arm] = variances[arm] = sigma[arm] = 0.0
    for c_index in range(c_low, min(c_low + 2, c_rows)):
        for b_index in range(b_low, min(b_low + 2, b_rows)):
            weight = (1.0 - abs(c_place - c_index)) * (1.0 - abs(b_place - b_index))
            information = informations[information_row(c_grid, b_grid, c_index, b_index)]
            score = scores[score_row(c_grid, b_grid, c_index, b_index)]
            square = squares[square_row(b_grid, b_index)]
            if weight != 0.0:
                all_information, all_score, all_square = 0.0, 0.0, 0.0
                for arm in range(len(means)):
                    if count[arm] > 0.0:
                        mean = score[arm] / max(information[arm], SMALLEST)
                        residual = max(square[arm] - score[arm] * mean, ROUNDING * square[arm] + SMALLEST)
                        typical = sums.log_amount[arm] / count[arm]
                        means[arm] += weight * mean * bounded_exp((c_grid[c_index] - c) * typical)
                        # The logarithm, until below.
                        variances[arm] += weight * math.log(max(information[arm], SMALLEST))
                        sigma[arm] += weight * math.log(residual)
                        all_information += information[arm]
                        all_score += score[arm]
                        all_square += square[arm]
                rest = all_square - all_score * (all_score / max(all_information, SMALLEST))
                log_alike += weight * math.log(max(rest, ROUNDING * all_square + SMALLEST))
    for arm in range(len(means)):
        if count[arm] > 0.0:
            outcomes += count[arm]
            arms += 1.0
            sigma[arm] = bounded_exp(sigma[arm])
            residuals += sigma[arm]
    alike = max(bounded_exp(log_alike), residuals)
    common = (residuals + alike / max(outcomes - 1.0, 1.0)) / (max(outcomes - arms, 0.0) + 1.0)
    for arm in range(len(means)):
        if given[arm] > 0.0:
            sigma[arm] = given[arm]
        else:
            degrees = max(count[arm] - 1.0, 0.0) + POOLED_OUTCOMES
            sigma[arm] = math.sqrt((POOLED_OUTCOMES * common + sigma[arm]) / degrees)
        variances[arm] = sigma[arm] * sigma[arm] * bounded_exp(-variances[arm])
        if not count[arm] > 0.0:
            means[arm] = variances[arm] = math.nan
