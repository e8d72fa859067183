"""The maximum of a likelihood, and the interval around it, which near an end of the range has a law of its own."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from apportion._common.distributions import normal_below
from apportion.inference.fit.likelihood import Floats

Curve = Callable[[Floats], Floats]

_COARSE = np.linspace(0.0, 1.0, 41)


def highest(curve: Curve, low: float = 0.0, high: float = 1.0) -> float:
    """Where `curve` is largest between the ends: a coarse grid, then ever finer ones around the best point.

    >>> round(highest(lambda b: -(b - 0.3) ** 2), 8)
    0.3
    """
    grid = low + (high - low) * _COARSE
    for _ in range(10):  # each makes it five times as fine
        best = int(np.argmax(curve(grid)))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 11)
    return float(grid[int(np.argmax(curve(grid)))])


def confidence(values: Floats, drop: Floats, error: float, ends: tuple[float, float] = (0.0, 1.0)) -> Floats:
    """How often the likelihood ratio at a true value would be below `drop`; it is in the interval if that is ≤ level.

    `drop` is 2·(l(best) − l(value)), the best taken between the ends. Away from them the ratio is χ² with one degree
    of freedom. Near an end it is smaller: the estimate cannot leave the range. With estimates that are normal around
    the value with standard error `error` before they are cut off, the ratio has the law used here (Feldman and
    Cousins 1998, section IV.B), so the interval covers as often at an end as in the middle, and is never empty.

    >>> confidence(np.array([0.5, 0.0]), np.array([1.96**2, 1.645**2]), 0.05).round(3)
    array([0.95, 0.95])
    """
    root = np.sqrt(np.maximum(drop, 0.0))
    low, high = ends

    def reach(distance: Floats) -> Floats:
        """How many standard errors the estimate may be off towards an end at that distance."""
        with np.errstate(divide="ignore", invalid="ignore"):
            cut = (np.square(root) + np.square(distance)) / (2 * distance)
        # On the end itself the estimate may be off by anything.
        return np.where(root <= distance, root, np.where(distance > 0, cut, np.inf))

    found: Floats = normal_below(reach((high - values) / error)) - normal_below(-reach((values - low) / error))
    return found


def interval(
    curve: Curve,
    best: float,
    error: float,
    level: float,
    widen: float = 1.0,
    *,
    ends: tuple[float, float] = (0.0, 1.0),
    within: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """Where `confidence` is at most `level`. `widen` divides the likelihood ratio: 1 for Gaussian noise.

    `within` is the part of the range where `curve` is known; beyond it nothing is likely enough.
    """
    top = float(curve(np.array([best]))[0])
    error = error * math.sqrt(widen)

    def inside(values: Floats) -> npt.NDArray[np.bool_]:
        return confidence(values, 2 * (top - curve(values)) / widen, error, ends) <= level

    first_known, last_known = ends if within is None else within
    grid = np.union1d(first_known + (last_known - first_known) * _COARSE, [best])
    found = np.flatnonzero(inside(grid) | (grid == best))
    ends_inside = np.array([found[0], found[-1]])
    neighbours = np.clip(ends_inside + [-1, 1], 0, len(grid) - 1)
    low, high = _edges(inside, grid[ends_inside], grid[neighbours])
    return float(low), float(high)


def _edges(inside: Callable[[Floats], npt.NDArray[np.bool_]], within: Floats, beyond: Floats) -> Floats:
    """The last points that are inside on the way from `within` to `beyond`, for several pairs at once."""
    pairs = np.arange(len(within))
    for _ in range(4):  # each makes it 32 times as fine
        points = np.linspace(within, beyond, 33)
        outside = ~inside(points.ravel()).reshape(points.shape)
        outside[0], outside[-1] = False, True
        first = np.argmax(outside, axis=0)
        within, beyond = points[first - 1, pairs], points[first, pairs]
    return within
