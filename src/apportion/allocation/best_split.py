"""The best split that keeps linear rules, for returns that are known: a linear program.

Wanted are the shares x with low ≤ x ≤ high, Σ x = 1 and least ≤ A x ≤ most that make Σ μ_i·x_i^c largest. At c = 1
that is a linear program. For c < 1 the sum is concave where no μ_i is below 0: each term is replaced by chords
between points of a grid, which makes it linear again, and the grid is drawn anew, narrower, around the answer. Chords
of width h around a share x miss the value by at most μ·c·(1−c)·x^(c−2)·h²/8.

Where it fails: with c < 1 and a μ_i below 0 the problem is not concave; such an arm counts as if it returned μ_i·x.
"""

from typing import Final

import numpy as np

from apportion._common import optional
from apportion.allocation.nearest import Rows, nearest
from apportion.model.response import optimal_split
from apportion.model.sums import Floats

_CHORDS: Final = 16  # of each arm's curve
_NARROWER: Final = 6.0  # from one grid to the next
_GRIDS: Final = 4
_LEAST_SHARE: Final = 1e-6  # the grid is not drawn finer than this


def best_within(means: Floats, c: float, low: Floats, high: Floats, rows: Rows | None) -> Floats:
    """The best shares within the bounds, and within the rows where there is such a split.

    Without a solver (SciPy, which comes with an extra) they are those that keep the rows nearest to the best.
    """
    free = optimal_split(means, 1.0, c, low, high)
    if rows is None or rows.kept(free):
        return free
    if "scipy" in optional.missing("lab"):
        near = nearest(free, low, high, rows)
        return free if near is None else near.shares
    found = best_split(means, c, low, high, rows)
    return free if found is None else found


def best_split(means: Floats, c: float, low: Floats, high: Floats, rows: Rows) -> Floats | None:
    """The shares that return most within the bounds and rows; None where there are none.

    >>> rows = Rows(np.array([[1.0, 1.0, 0.0, 0.0]]), np.array([0.0]), np.array([0.4]))
    >>> best_split(np.array([3.0, 2.0, 1.0, 0.5]), 1.0, np.zeros(4), np.ones(4), rows).round(6)
    array([0.4, 0. , 0.6, 0. ])
    >>> best_split(np.array([2.0, 1.0, 1.0, 0.0]), 0.5, np.zeros(4), np.ones(4), rows).round(3)
    array([0.32, 0.08, 0.6 , 0.  ])
    """
    bent = (means > 0.0) & (c < 1.0)
    if not bent.any():
        return _solve(means[:, np.newaxis], (high - low)[:, np.newaxis], low, rows)
    begin, end = low.copy(), np.maximum(high, low)
    found: Floats | None = None
    for _ in range(_GRIDS):
        grid = np.linspace(begin, end, _CHORDS + 1, axis=1)
        grid = np.concatenate([low[:, np.newaxis], grid, high[:, np.newaxis]], axis=1)
        widths = np.diff(grid, axis=1)
        powers = np.where(bent[:, np.newaxis], np.maximum(grid, 0.0) ** c, grid)
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = means[:, np.newaxis] * np.where(widths > 0.0, np.diff(powers, axis=1) / widths, 0.0)
        shares = _solve(slopes, widths, low, rows)
        if shares is None:
            return found
        found = shares
        room = np.maximum((end - begin) / (2.0 * _NARROWER), _LEAST_SHARE)
        begin, end = np.maximum(found - room, low), np.minimum(found + room, high)
    return found


def _solve(slopes: Floats, widths: Floats, low: Floats, rows: Rows) -> Floats | None:
    """The shares low + Σ of pieces of each arm, each piece with a slope and a width, that are worth most."""
    # Heavy to import, and needed where rules bind.
    solver = optional.load("scipy.optimize", "The best split that keeps rules")
    sparse = optional.load("scipy.sparse", "The best split that keeps rules")
    arms, pieces = slopes.shape
    spread = np.ones((1, pieces))
    at_least, at_most = np.isfinite(rows.least), np.isfinite(rows.most)
    signed = np.concatenate([rows.matrix[at_most], -rows.matrix[at_least]])
    ends = np.concatenate([rows.most[at_most], -rows.least[at_least]]) - signed @ low
    found = solver.linprog(
        -slopes.ravel(),
        A_ub=sparse.kron(sparse.csr_array(signed), spread) if signed.size else None,
        b_ub=ends + 1e-12 if signed.size else None,
        A_eq=sparse.csr_array(np.ones((1, arms * pieces))),
        b_eq=[1.0 - low.sum()],
        bounds=np.column_stack([np.zeros(arms * pieces), np.maximum(widths.ravel(), 0.0)]),
        method="highs",
    )
    if not found.success:
        return None
    shares: Floats = low + found.x.reshape(arms, pieces).sum(axis=1)
    return shares
