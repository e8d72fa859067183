"""The likelihood over (c, b) as a polynomial on the box where it matters: its maximum and its profiles.

A profile takes the best of the other exponent at each value of one. Done on the data, every step of a search would
cost a pass over all observations; here the likelihood is computed once, at the Chebyshev points of a box that holds
all that is not far below the maximum. Analytic as it is, a polynomial of degree 15 in each exponent follows it.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev

from apportion.inference.fit.likelihood import Data, Floats

_NODES = 16
_DEGREES = np.arange(_NODES)
_POINTS = -np.cos(np.pi * (_DEGREES + 0.5) / _NODES)
_DENSE = np.linspace(-1.0, 1.0, 49)
# The coefficients of the first and second derivatives of each polynomial.
_ONCE, _TWICE = chebyshev.chebder(np.eye(_NODES)), chebyshev.chebder(np.eye(_NODES), 2)

_DEEP = 12.0  # below the maximum by more than this is out of the box; twice it is a χ²
_LOOKS = 15  # points of a look at the whole range, in each exponent
_RESOLVED = 3  # so many of them must be in the box


def _polynomials(values: Floats) -> Floats:
    """Chebyshev's polynomials at values in [−1, 1]: T_k(v) = cos(k·arccos v)."""
    found: Floats = np.cos(np.multiply.outer(np.arccos(np.clip(values, -1.0, 1.0)), _DEGREES))
    return found


_ON_DENSE = _polynomials(_DENSE)
_TO_COEFFICIENTS = np.linalg.inv(_polynomials(_POINTS))


class Axis(NamedTuple):
    """One exponent between `low` and `high`; a given one has low = high."""

    low: float
    high: float

    @property
    def given(self) -> bool:
        """Whether there is nothing to estimate."""
        return self.low == self.high

    def points(self, count: int) -> Floats:
        """From one end to the other."""
        return np.linspace(self.low, self.high, 1 if self.given else count)

    def nodes(self) -> Floats:
        """Where the likelihood is computed."""
        return np.array([self.low]) if self.given else self.from_unit(_POINTS)

    def from_unit(self, values: Floats) -> Floats:
        """From [−1, 1]; the ends are met exactly."""
        found: Floats = np.clip(self.low + (self.high - self.low) * (values + 1) / 2, self.low, self.high)
        return found

    def basis(self, values: Floats) -> Floats:
        """The polynomials at `values`."""
        if self.given:
            return np.ones((len(values), 1))
        return _polynomials((2 * values - self.low - self.high) / (self.high - self.low))

    def around(self, near: npt.NDArray[np.bool_]) -> "Axis":
        """The part of it that holds the points `near`, and one step more on each side."""
        if self.given:
            return self
        points, within = self.points(len(near)), np.flatnonzero(near)
        return Axis(float(points[max(within[0] - 1, 0)]), float(points[min(within[-1] + 1, len(near) - 1)]))


class Surface:
    """l(c, b) on a box of the range, relative to its maximum at (`c`, `b`); `top` is the maximum."""

    def __init__(self, data: Data, c: Axis, b: Axis, *, per_arm: bool, deep: float = _DEEP) -> None:
        self.c_range, self.b_range, self.per_arm, self.deep = c, b, per_arm, max(deep, _DEEP)
        self.c_axis, self.b_axis, reference = _box(data, c, b, per_arm, self.deep)
        fitted, information = data.terms(data.grid(self.c_axis.nodes(), self.b_axis.nodes()), per_arm=per_arm)
        fitted, information = self._coefficients(fitted), self._coefficients(information)
        for rounds in (2, 4):  # b₀ is the estimate of b; a rough one is enough to find it
            self._surface = fitted + information
            self._surface[:, 0] -= information @ self.b_axis.basis(np.array([reference]))[0]
            self.c, self.b, self.top = self._maximum(rounds)
            reference = self.b

    def profile_c(self, c: Floats) -> Floats:
        """l at the best b for each c, relative to the maximum."""
        return _best(self.c_axis.basis(c) @ self._surface, self.b_axis)[1] - self.top

    def profile_b(self, b: Floats) -> Floats:
        """l at the best c for each b, relative to the maximum."""
        return _best(self.b_axis.basis(b) @ self._surface.T, self.c_axis)[1] - self.top

    def along_c(self, data: Data, c: Floats) -> Floats:
        """`profile_c` computed from the data, for any c, also outside the box."""
        return self._along(data, c, self.b_axis.nodes(), self.b_axis)

    def along_b(self, data: Data, b: Floats) -> Floats:
        """`profile_b` computed from the data, for any b, also outside the box."""
        return self._along(data, self.c_axis.nodes(), b, self.c_axis)

    def _along(self, data: Data, c: Floats, b: Floats, best: Axis) -> Floats:
        fitted, information = data.terms(data.grid(c, b), per_arm=self.per_arm)
        _, reference = data.terms(data.grid(c, np.array([self.b])), per_arm=self.per_arm)
        heights = fitted + information - reference
        rows = heights if best is self.b_axis else heights.T
        return _best(rows if best.given else rows @ _TO_COEFFICIENTS.T, best)[1] - self.top

    def values(self, c: Floats, b: Floats) -> Floats:
        """l for each c (rows) and b (columns) of the box, relative to the maximum."""
        found: Floats = self.c_axis.basis(c) @ self._surface @ self.b_axis.basis(b).T - self.top
        return found

    def _coefficients(self, values: Floats) -> Floats:
        rows = values if self.c_axis.given else _TO_COEFFICIENTS @ values
        return rows if self.b_axis.given else rows @ _TO_COEFFICIENTS.T

    def _maximum(self, rounds: int) -> tuple[float, float, float]:
        """The best of the profile of c, by grids of which each is 24 times as fine, and its b."""
        axis = self.c_axis
        for _ in range(1 if axis.given else rounds):
            points = axis.points(len(_DENSE))
            best_b, heights = _best(self.c_axis.basis(points) @ self._surface, self.b_axis)
            best = int(np.argmax(heights))
            axis = axis.around(np.arange(len(points)) == best)
        return float(points[best]), float(best_b[best]), float(heights[best])


def _best(rows: Floats, axis: Axis) -> tuple[Floats, Floats]:
    """For polynomials in rows: where each is highest on the axis, and how high. A grid, then Newton's method."""
    if axis.given:
        return np.full(len(rows), axis.low), rows[:, 0]
    at = _DENSE[np.argmax(rows @ _ON_DENSE.T, axis=1)]
    once, twice = rows @ _ONCE.T, rows @ _TWICE.T
    step = _DENSE[1] - _DENSE[0]
    for _ in range(2):  # from a grid as dense as this it takes no more
        basis = _polynomials(at)
        slope = np.einsum("ij,ij->i", once, basis[:, :-1])
        bend = np.einsum("ij,ij->i", twice, basis[:, :-2])
        move = -slope / np.minimum(bend, -1e-300)
        at = np.minimum(np.maximum(at + np.minimum(np.maximum(move, -step), step), -1.0), 1.0)
    return axis.from_unit(at), np.einsum("ij,ij->i", rows, _polynomials(at))


def _box(data: Data, c: Axis, b: Axis, per_arm: bool, deep: float) -> tuple[Axis, Axis, float]:
    """Where l is less than `deep` below its maximum, and a first estimate of b."""
    for _ in range(20):
        points = b.points(_LOOKS)
        fitted, information = data.terms(data.grid(c.points(_LOOKS), points), per_arm=per_arm)
        reference = int(np.argmax(fitted.max(axis=0)))
        height = fitted + information - information[:, [reference]]
        near = height > height.max() - deep
        rows, columns = near.any(axis=1), near.any(axis=0)
        c, b = c.around(rows), b.around(columns)
        if (c.given or rows.sum() >= _RESOLVED) and (b.given or columns.sum() >= _RESOLVED):
            break
    return c, b, float(points[reference])
