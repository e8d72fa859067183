"""The likelihood of b, with means and scale taken out, its maximum, and the interval around it.

The law: y = μ_i·x + x^b·σ·ξ for arm i. For each b the means that fit best are the information-weighted ones,
μ_i(b) = Σ x^(1−2b)·y / Σ x^(2−2b), and what is left over is R(b) = Σ (y − μ_i·x)² / x^(2b). Putting both into the
Gaussian likelihood gives the profile likelihood −(N/2)·log R(b) − b·Σ log x. It forgets that the means cost K
observations, and at 20 observations an arm that shows. Here the *restricted* likelihood is used: the likelihood of
what the data say apart from the means,

    l(b) = −((N − K)/2)·log R(b) − b·Σ log x − ½·Σ_i log Σ x^(2−2b)

(for a scale per arm the first term is −Σ_i ((n_i − 1)/2)·log R_i(b)). It is the same function, up to a constant, in
every unit of amount and outcome, and an arm with one observation drops out of it, as it must.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Curve = Callable[[Floats], Floats]

# So many numbers are held at once at most: 8 MB.
_AT_ONCE = 1_000_000
_COARSE = np.linspace(0.0, 1.0, 41)


@dataclass(frozen=True)
class Fit:
    """Everything at one b: a mean and a residual sum of squares per arm, in the scaled units of `Data`."""

    means: Floats
    information: Floats
    residual: Floats


class Data:
    """Amounts and outcomes sorted by arm, in units where nothing overflows.

    Amounts are measured in `unit`, their geometric mean, outcomes in `size`, the largest: the powers that occur are
    those of ratios of amounts.
    `means=False` is for data whose means are 0, the differences of a burn-in.
    """

    def __init__(
        self, codes: npt.NDArray[np.intp], amounts: Floats, outcomes: Floats, *, per_arm: bool, means: bool = True
    ) -> None:
        self.order = np.argsort(codes, kind="stable")
        self.counts = np.bincount(codes)
        self.starts = np.concatenate(([0], np.cumsum(self.counts)[:-1]))
        self.per_arm = per_arm
        self.with_means = means
        self.free = self.counts - int(means)  # what the mean of an arm leaves
        self.dof = int(self.free.sum())
        logs = np.log(amounts[self.order])
        log_unit = float(logs.mean())
        self.log_unit, self.unit, self.size = log_unit, math.exp(log_unit), float(np.abs(outcomes).max()) or 1.0
        self.logs = logs - log_unit
        self.y = outcomes[self.order] / self.size
        self.total_log = float(self.logs.sum())

    def information(self, b: float) -> float:
        """The expected information about b, 2·[tr(MLML) − tr(ML)²/(N − K)] with L = diag(log x) and M what the means
        leave (I − uu' per arm, u ∝ x^(1−b)); for a scale per arm the bracket is summed over arms.

        1/√ of it is the standard error of b for Gaussian noise. With means known it is 2·Σ(log x − mean)².
        """
        pull = np.zeros(len(self.logs))  # how much of an observation the mean of its arm takes
        if self.with_means:
            squares = np.exp((2 - 2 * b) * self.logs)
            pull = squares / np.repeat(self.sums(squares), self.counts)
        centre = np.repeat(self.sums(self.logs) / self.counts, self.counts) if self.per_arm else 0.0
        logs = self.logs - centre
        once = self.sums((1 - pull) * logs)
        twice = self.sums((1 - 2 * pull) * np.square(logs)) + np.square(self.sums(pull * logs))
        if self.per_arm:
            estimable = self.free > 1
            return 2 * float((twice[estimable] - np.square(once[estimable]) / self.free[estimable]).sum())
        return 2 * float(twice.sum() - np.square(once.sum()) / self.dof)

    def sums(self, values: Floats) -> Floats:
        """Sums per arm of values sorted by arm, along the last axis."""
        found: Floats = np.add.reduceat(values, self.starts, axis=-1)
        return found

    def at(self, b: float) -> Fit:
        """Means, information and residual sums of squares per arm."""
        means, information, residual = self._solve(np.array([b]))
        return Fit(means[0], information[0], residual[0])

    def _solve(self, b: Floats) -> tuple[Floats, Floats, Floats]:
        """Rows are values of b, columns are arms. No power is a quotient of powers, so none is 0/0."""
        tilted = np.exp(np.multiply.outer(-b, self.logs))  # x^-b
        scaled = tilted * self.y
        if not self.with_means:
            nothing = np.zeros((len(b), len(self.counts)))
            return nothing, nothing, self.sums(np.square(scaled))
        base = np.exp(self.logs) * tilted  # x^(1-b)
        information = self.sums(np.square(base))
        means = self.sums(base * scaled) / information
        rest = scaled - np.repeat(means, self.counts, axis=1) * base
        return means, information, self.sums(np.square(rest))

    def log_likelihood(self, b: npt.ArrayLike, *, restricted: bool = True) -> Floats:
        """l(b) for many b at once, up to a constant; `restricted=False` is the plain profile likelihood."""
        values = np.atleast_1d(np.asarray(b, np.float64))
        step = max(1, _AT_ONCE // len(self.logs))
        return np.concatenate(
            [self._log_likelihood(values[i : i + step], restricted) for i in range(0, len(values), step)]
        )

    def _log_likelihood(self, b: Floats, restricted: bool) -> Floats:
        _, information, residual = self._solve(b)
        counts = self.free if restricted else self.counts
        if self.per_arm:
            estimable = self.free > 0
            fitted = np.log(residual[:, estimable]) @ counts[estimable]
        else:
            fitted = np.log(residual.sum(axis=1)) * counts.sum()
        found: Floats = -0.5 * fitted - b * self.total_log
        if restricted and self.with_means:
            found -= 0.5 * np.log(information).sum(axis=1)
        return found


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


def confidence(b: Floats, drop: Floats, error: float) -> Floats:
    """How often the likelihood ratio at a true b would be below `drop`; b is in the interval if that is ≤ level.

    `drop` is 2·(l(best) − l(b)), the best taken on [0, 1]. Away from the ends the ratio is χ² with one degree of
    freedom. Near an end it is smaller: the estimate cannot leave [0, 1]. With estimates that are normal around b
    with standard error `error` before they are cut off, the ratio has the law used here (Feldman and Cousins 1998,
    section IV.B), so the interval covers as often at b = 0 and 1 as in the middle, and is never empty.

    >>> confidence(np.array([0.5, 0.0]), np.array([1.96**2, 1.645**2]), 0.05).round(3)
    array([0.95, 0.95])
    """
    from scipy.special import ndtr

    root = np.sqrt(np.maximum(drop, 0.0))

    def reach(distance: Floats) -> Floats:
        """How many standard errors the estimate may be off towards an end at that distance."""
        with np.errstate(divide="ignore", invalid="ignore"):
            cut = (np.square(root) + np.square(distance)) / (2 * distance)
        # On the end itself the estimate may be off by anything.
        return np.where(root <= distance, root, np.where(distance > 0, cut, np.inf))

    found: Floats = ndtr(reach((1 - b) / error)) - ndtr(-reach(b / error))
    return found


def interval(curve: Curve, best: float, error: float, level: float, widen: float = 1.0) -> tuple[float, float]:
    """Where `confidence` is at most `level`. `widen` divides the likelihood ratio: 1 for Gaussian noise."""
    top = float(curve(np.array([best]))[0])
    error = error * math.sqrt(widen)

    def inside(b: Floats) -> npt.NDArray[np.bool_]:
        return confidence(b, 2 * (top - curve(b)) / widen, error) <= level

    grid = np.union1d(_COARSE, [best])
    within = np.flatnonzero(inside(grid) | (grid == best))
    first, last = int(within[0]), int(within[-1])
    low, high = float(grid[first]), float(grid[last])
    if first > 0:
        low = _edge(inside, low, float(grid[first - 1]))
    if last < len(grid) - 1:
        high = _edge(inside, high, float(grid[last + 1]))
    return low, high


def _edge(inside: Callable[[Floats], npt.NDArray[np.bool_]], within: float, beyond: float) -> float:
    """The last point that is inside on the way from `within` to `beyond`."""
    for _ in range(8):
        points = np.linspace(within, beyond, 9)
        outside = ~inside(points)
        outside[0], outside[-1] = False, True
        first = int(np.argmax(outside))
        within, beyond = float(points[first - 1]), float(points[first])
    return within
