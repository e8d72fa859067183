"""The probability that an arm is the best, for independent normal beliefs, by exact quadrature."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from apportion._common import validation
from apportion._common.compiled import compiled, kernel
from apportion.model.sums import MANY_ARMS, Floats

# Gauss–Legendre on [−1, 1]; tuples of plain numbers, quicker than arrays where nothing is compiled.
_POINTS = 8
_NODES, _WEIGHTS = (tuple(part.tolist()) for part in np.polynomial.legendre.leggauss(_POINTS))

# Beyond this many deviations an arm's density does not matter: 1e-15 of its mass.
_REACH = 8.0

# Panels, in deviations of the narrowest arm that matters there: 1e-13 and 1e-6 of error in each.
ACCURATE = 1.5
QUICK = 4.0

# Narrower beliefs are as good as points; products with them would leave the range of floating point.
_NARROWEST = 1e-290

_ROOT_HALF = math.sqrt(0.5)
_DENSITY_SCALE = 1.0 / math.sqrt(2.0 * math.pi)


@kernel
def probability_best(means: Any, deviations: Any, width: float, result: Any) -> None:
    """P(arm i has the largest of independent N(m_i, s_i²)), into `result`, adding up to 1.

    P_i = ∫ φ_i(x)·Π_{j≠i} Φ_j(x) dx = ∫ (φ_i/Φ_i)(x)·F(x) dx with F = Π Φ_j: one pass over the arms per node
    serves all of them. Panels are as wide as the narrowest arm that is not yet past allows. An infinite
    deviation means that nothing is known: the limit, in which u such arms are above the others together with
    probability 1 − 2^(−u).
    """
    arms = len(means)
    unknown = 0
    bottom = top = -math.inf
    centre = 0.0
    for arm in range(arms):
        result[arm] = 0.0
        if deviations[arm] == math.inf:
            unknown += 1
        elif means[arm] - _REACH * deviations[arm] > bottom:
            bottom = means[arm] - _REACH * deviations[arm]
            centre = means[arm]
    if unknown == arms:
        for arm in range(arms):
            result[arm] = 1.0 / arms
        return
    # From here on all is relative to the mean of the arm that starts highest: a deviation may be smaller than the
    # distance between floating-point numbers as large as the means are.
    bottom = -math.inf
    for arm in range(arms):
        if deviations[arm] < math.inf:
            bottom = max(bottom, means[arm] - centre - _REACH * deviations[arm])
            top = max(top, means[arm] - centre + _REACH * deviations[arm])
    hazard = np.empty(arms)
    total = 0.0
    start = bottom
    while start < top:
        end = math.inf
        for arm in range(arms):
            step_end = start + width * deviations[arm]
            ahead = means[arm] - centre + _REACH * deviations[arm] > start
            if ahead and start < step_end < end:  # an arm too narrow to make a step is a point that is past
                end = step_end
        if end == math.inf:
            break
        end = min(end, top)
        half = 0.5 * (end - start)
        for node in range(_POINTS):
            x = start + half * (1.0 + _NODES[node])
            below = _WEIGHTS[node]
            for arm in range(arms):
                z = (x - (means[arm] - centre)) / deviations[arm]
                hazard[arm] = 0.0
                if z < _REACH and deviations[arm] < math.inf:
                    cumulative = 0.5 * math.erfc(-z * _ROOT_HALF)
                    density = _DENSITY_SCALE * math.exp(-0.5 * z * z)
                    hazard[arm] = half * density / (deviations[arm] * cumulative)
                    below *= cumulative
            if below > 0.0:
                for arm in range(arms):
                    result[arm] += hazard[arm] * below
                    total += hazard[arm] * below
        start = end
    if not total > 0.0:  # beliefs that are points: the best share it
        best = -math.inf
        for arm in range(arms):
            if deviations[arm] < math.inf:
                best = max(best, means[arm])
        for arm in range(arms):
            result[arm] = 1.0 if deviations[arm] < math.inf and means[arm] == best else 0.0
            total += result[arm]
    known_mass = 0.5**unknown
    for arm in range(arms):
        if deviations[arm] == math.inf:
            result[arm] = (1.0 - known_mass) / unknown
        else:
            result[arm] *= known_mass / total


def best_probabilities(means: ArrayLike, deviations: ArrayLike) -> Floats:
    """P(arm i is the best) under independent normal beliefs; a deviation of infinity means nothing is known.

    >>> best_probabilities([1.0, 1.0], [0.1, 0.1]).round(6).tolist()
    [0.5, 0.5]
    >>> best_probabilities([0.0, 1.0], [1.0, 1.0]).round(6).tolist()      # Φ(−1/√2), Φ(1/√2)
    [0.23975, 0.76025]
    """
    try:
        mean, deviation = (np.array(values, dtype=np.float64) for values in (means, deviations))
    except (TypeError, ValueError):
        raise validation.refuse("means", "numbers, and so must `deviations`", means) from None
    if mean.shape != deviation.shape or mean.ndim != 1 or not mean.size:
        raise validation.refuse("deviations", f"one number per mean ({mean.shape})", deviation.shape)
    if not (deviation > 0.0).all():
        raise validation.refuse("deviations", "numbers above 0", deviation)
    mean[np.isinf(deviation)] = 0.0
    if not np.isfinite(mean).all():
        raise validation.refuse("means", "finite numbers", mean)
    deviation = np.maximum(deviation, _NARROWEST)
    if mean.size >= MANY_ARMS:
        result = np.empty_like(mean)
        compiled(probability_best)(mean, deviation, ACCURATE, result)
        return result
    found = [0.0] * mean.size
    with np.errstate(over="ignore", under="ignore"):
        probability_best(mean.tolist(), deviation.tolist(), ACCURATE, found)
    return np.array(found)
