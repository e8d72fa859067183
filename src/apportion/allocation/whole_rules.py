"""Whole units that keep rules: an order of arms in which rounding keeps sums of groups; a repair where it does not.

Systematic sampling rounds the sum of neighbours down or up. So with the arms in an order in which every group stands
together, the units of a group are its target rounded down or up, and a group whose limits are whole numbers keeps
them, whatever is drawn. Such an order exists for groups that are disjoint or nested. For rules that overlap, and for
ratios, what was drawn may miss one: then the nearest whole split that keeps them all is found by HiGHS (integer
programming). Where whole units leave none, the one that misses them least.
"""

from typing import Any, Final

import numpy as np

from apportion._common import optional
from apportion.allocation.nearest import Rows
from apportion.model.sums import Floats

_ROUNDING: Final = 1e-9
_NEAR: Final = 3.0  # units around its target within which a whole split is sought first
_SECONDS: Final = 5.0  # after which the best whole split found so far is taken


def whole_rows(rows: Rows, total: int) -> Rows:
    """The rows in units, their ends moved inwards to whole numbers where sums of whole units are whole."""
    scale = np.array([_whole_scale(row) for row in rows.matrix])
    usable = scale > 0.0
    factor = np.where(usable, scale, 1.0)
    matrix = np.where(usable[:, np.newaxis], np.rint(rows.matrix * factor[:, np.newaxis]), rows.matrix)
    least, most = rows.least * factor * total, rows.most * factor * total
    with np.errstate(invalid="ignore"):
        up = np.ceil(least - (_ROUNDING + 1e-15 * np.abs(least)))
        down = np.floor(most + (_ROUNDING + 1e-15 * np.abs(most)))
    inwards = usable & (up <= down)
    return Rows(matrix, np.where(inwards, up, least), np.where(inwards, down, most))


def attainable(rows: Rows) -> Rows:
    """Rows in units as whole splits can keep them: where no whole number lies between its ends, the next ones do."""
    gap = np.ceil(rows.least - _ROUNDING) > np.floor(rows.most + _ROUNDING)
    whole = gap & (rows.matrix == np.rint(rows.matrix)).all(axis=1)
    return rows._replace(
        least=np.where(whole, np.floor(rows.least), rows.least), most=np.where(whole, np.ceil(rows.most), rows.most)
    )


def grouped_order(rows: Rows, arms: Any, rng: np.random.Generator) -> Any:
    """`arms` in a random order in which groups stand together: all that are disjoint or nested, the larger first."""
    groups = [set(np.flatnonzero(row).tolist()) for row in rows.matrix if set(row.tolist()) <= {0.0, 1.0}]
    kept: list[set[int]] = []
    for group in sorted(groups, key=len, reverse=True):
        if all(group <= other or group.isdisjoint(other) for other in kept):
            kept.append(group)
    places = rng.permutation(len(kept) + rows.matrix.shape[1]).tolist()
    own = places[len(kept) :]
    keys = {arm: (*(place for place, group in zip(places, kept) if arm in group), own[arm]) for arm in arms.tolist()}
    return np.array(sorted(keys, key=keys.__getitem__), dtype=np.int64)


def repaired(counts: Any, targets: Floats, total: int, low: Any, high: Any, rows: Rows) -> Any:
    """`counts` where they keep the rows, else the nearest whole split that does."""
    if rows.kept(counts.astype(np.float64), _ROUNDING * max(1.0, total * 1e-6)):
        return counts
    near = np.maximum(low, np.floor(targets) - _NEAR), np.minimum(high, np.ceil(targets) + _NEAR)
    found, missed = _nearest_whole(counts, total, *near, rows)
    if found is None or missed > 0.5 * _ROUNDING * max(1.0, total):
        wide, still = _nearest_whole(counts, total, np.asarray(low), np.asarray(high), rows)
        if wide is not None and (found is None or still < missed):
            found = wide
    return counts if found is None else found


def _nearest_whole(counts: Any, total: int, low: Floats, high: Floats, rows: Rows) -> tuple[Any, float]:
    """The whole split that misses the rows least and then moves the fewest units, and what it misses in all.

    Unknown are the moves up and down of each arm, and what each row is missed by.
    """
    # Heavy to import, and seldom needed.
    solver = optional.load("scipy.optimize", "Whole units that keep rules which overlap")
    arms, many = counts.size, len(rows.least)
    now = rows.matrix @ counts
    slack = np.eye(many)
    matrix = np.column_stack([rows.matrix, -rows.matrix, slack, -slack])
    even = np.concatenate([np.ones(arms), -np.ones(arms), np.zeros(2 * many)])
    room = np.concatenate([np.maximum(high - counts, 0.0), np.maximum(counts - low, 0.0), np.full(2 * many, np.inf)])
    cost = np.concatenate([np.ones(2 * arms), np.full(2 * many, 1000.0)])
    found = solver.milp(
        cost,
        integrality=np.concatenate([np.ones(2 * arms), np.zeros(2 * many)]),
        bounds=solver.Bounds(np.zeros(cost.size), np.where(room < np.inf, room, np.inf)),
        constraints=[
            solver.LinearConstraint(matrix, rows.least - now, rows.most - now),
            solver.LinearConstraint(even[np.newaxis], total - counts.sum(), total - counts.sum()),
        ],
        options={"time_limit": _SECONDS},
    )
    if found.x is None:
        return None, np.inf
    moves = np.rint(found.x[: 2 * arms]).astype(np.int64)
    whole = counts + moves[:arms] - moves[arms:]
    if int(whole.sum()) != total or (whole < 0).any():
        return None, np.inf
    return whole, float(rows.missed(whole.astype(np.float64)).sum())


def _whole_scale(row: Floats) -> float:
    """What makes the coefficients of a row whole, 1 to 100; 0 where nothing does."""
    for scale in range(1, 101):
        times = row * scale
        if np.abs(times - np.rint(times)).max() <= 1e-9:
            return float(scale)
    return 0.0
