"""The leaderboard: every arm's mean and interval on one shared axis, ready to be drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from apportion._common.formatting import chance as chance_shown
from apportion._common.formatting import column_cells, readable, side_by_side
from apportion.allocation.beliefs import Belief
from apportion.campaigns.status import Status, back_words, marginal_heading, spent_heading
from apportion.web.pages.paging import in_pages, matches

# An interval that is wider than so many times the rest is cut off, with an arrow: one unknown arm must not press all
# others into a point.
_WIDEST = 3.0
_TICKS = 4
# The axis goes beyond what it shows by this part of it.
_MARGIN = 0.04


class Bar(NamedTuple):
    """An interval on the axis, in percent of its width; `left` and `right` say whether it goes on beyond it."""

    start: float
    width: float
    mean: float
    left: bool
    right: bool


class Row(NamedTuple):
    """One arm, in words and as a bar. `mean` is None where there is not enough data."""

    name: str
    colour_index: int
    state: str
    leads: bool
    spent: str
    returned: str
    so_far: str
    mean: str | None
    interval: str | None
    bar: Bar | None
    marginal: str | None
    best: str | None
    chance: float


class Tick(NamedTuple):
    """A mark on the axis: where, in percent of its width, and what it says."""

    at: float
    label: str
    side: str


class Board(NamedTuple):
    """The rows, best mean first, and the axis that all share; `zero` is where 0 lies, if it does."""

    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]
    zero: float | None
    heading: str
    """What is estimated: 'Return per EUR', 'Return per EUR at 600 EUR'."""
    marginal: str | None
    """'Return of the next EUR', where that is another."""
    assumed: bool
    resource: str
    """Which amounts the estimates stand on: not all that was spent."""
    back: str
    """'Came back', or 'Cost'."""
    so_far: str
    """'Return so far', or 'Cost so far'."""
    together: tuple[str, str, str]
    """Spent, came back and return so far of all arms, the removed ones too."""
    at: int
    pages: int
    total: int
    """The page of the rows, how many pages there are, and how many arms on them."""


def board(status: Status, wanted: str = "", at: int = 1) -> Board:
    """The leaderboard of a campaign: arms that were not removed, the best first; one page of it.

    `wanted`: only arms with these words in their name.
    """
    beliefs, settings = status.beliefs, status.settings
    known_arms = ((index, arm, arm.belief) for index, arm in enumerate(status.arms))
    every = [(index, arm, status.estimate(belief)) for index, arm, belief in known_arms if belief is not None]
    axis = _axis([belief for _, _, belief in every])
    sign = 1.0 if settings.minimise else -1.0
    every.sort(key=lambda row: (math.isnan(row[2].mean), sign * row[2].mean, row[0]))
    found = in_pages([row for row in every if matches(row[1].name, wanted)], at)
    arms = found.rows
    rows = []
    columns = (
        column_cells([getattr(arm, field) for arm in (*status.arms, status)]) for field in ("spent", "returned")
    )
    totals = list(zip(*columns))
    for index, arm, belief in arms:
        spent, returned = totals[index]
        known = not math.isnan(belief.mean)
        bounded = known and math.isfinite(belief.low) and math.isfinite(belief.high)
        low, mean, high = side_by_side(belief.low, belief.mean, belief.high) if bounded else ("", "", "")
        chance = belief.probability_best
        rows.append(
            Row(
                name=arm.name,
                colour_index=index,
                state=arm.state,
                leads=arm.name == beliefs.leader,
                spent=spent,
                returned=returned,
                so_far=readable(arm.return_so_far),
                mean=(mean or readable(belief.mean)) if known else None,
                interval=f"{low} to {high}" if bounded else None,
                bar=_bar(belief, axis) if known and axis else None,
                marginal=None if math.isnan(belief.marginal) else readable(belief.marginal),
                best=None if not known or math.isnan(chance) else chance_shown(chance, status.most_sure),
                chance=0.0 if math.isnan(chance) else chance,
            )
        )
    ticks, zero = _ticks(axis) if axis else ((), None)
    back, so_far = back_words(settings)
    return Board(
        rows=tuple(rows),
        ticks=ticks,
        zero=zero,
        heading=status.estimate_heading,
        marginal=marginal_heading(settings) if settings.c < 1.0 else None,
        assumed="sigma" in settings.assumed and settings.policy != "Auto",
        resource=spent_heading(settings),
        back=f"{back} ({settings.outcome_unit})" if settings.outcome_unit else back,
        so_far=so_far,
        together=(*totals[-1], readable(status.return_so_far)),
        at=found.at,
        pages=found.pages,
        total=found.total,
    )


def _axis(beliefs: Sequence[Belief]) -> tuple[float, float] | None:
    """The ends of the axis that all arms share; None before any outcome."""
    known = [belief for belief in beliefs if not math.isnan(belief.mean)]
    if not known:
        return None
    means = [belief.mean for belief in known]
    halves = sorted(belief.high - belief.mean for belief in known if math.isfinite(belief.high))
    middle = halves[len(halves) // 2] if halves else 0.0
    room = _WIDEST * max(max(means) - min(means), middle)
    low = max(min((b.low for b in known if math.isfinite(b.low)), default=min(means)), min(means) - room)
    high = min(max((b.high for b in known if math.isfinite(b.high)), default=max(means)), max(means) + room)
    spread = (high - low) or abs(high) or 1.0
    return low - _MARGIN * spread, high + _MARGIN * spread


def _bar(belief: Belief, axis: tuple[float, float]) -> Bar:
    low, high = axis
    bounded = math.isfinite(belief.low) and math.isfinite(belief.high)
    start = max(belief.low if bounded else belief.mean, low)
    end = min(belief.high if bounded else belief.mean, high)
    scale = 100.0 / (high - low)
    return Bar(
        round((start - low) * scale, 3), round((end - start) * scale, 3), round((belief.mean - low) * scale, 3),
        bounded and belief.low < low, bounded and belief.high > high,
    )  # fmt: skip


def _ticks(axis: tuple[float, float]) -> tuple[tuple[Tick, ...], float | None]:
    low, high = axis
    rough = (high - low) / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * 0.7)
    values = [count * step for count in range(math.ceil(low / step), math.floor(high / step) + 1)]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9) + (1 if f"{step:e}".startswith("2.5") else 0))
    scale = 100.0 / (high - low)
    found = []
    for value in values:
        at = round((value - low) * scale, 3)
        side = "start" if at < 4 else "end" if at > 96 else "middle"
        found.append(Tick(at, f"{value + 0.0:,.{min(decimals, 12)}f}", side))
    return tuple(found), round(-low * scale, 3) if low < 0 < high else None
