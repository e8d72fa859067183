"""The health check: what in the data of a campaign makes its splits worse, or its figures wrong.

Each finding stands on a test that would be as clear by chance less than once in a hundred campaigns, and on an effect
that is large enough to matter. What is tested twice is tested by one function: `inference.fit.assumptions` has those
that a fit shows too.

Where this fails: noise that is far from Gaussian, or that the arms of a period share, makes false alarms likelier;
a few outliers do not, as they are found first and left out of the rest.
"""

import math
from collections.abc import Iterator

import numpy as np

from apportion.inference.fit.assumptions import drift, equal_noise, proportional, weekdays
from apportion.inference.fit.estimate import EqualNoise, Estimate, estimated_quickly
from apportion.inference.fit.history import History
from apportion.inference.fit.words import NEARLY_TWICE
from apportion.inference.health import words
from apportion.inference.health.findings import LEAST_PERIODS, Finding, Handling, Health
from apportion.inference.health.movement import memory_found, own_movement
from apportion.inference.health.observations import Observations
from apportion.inference.health.outliers import find_slips

MOST_PERIODS = 400
MOST_ARMS = 200
MOST_ROWS = 2400
"""No more than these are looked at, the latest and those with most rows; so a check takes tens of milliseconds."""

FAR = 2.0  # times the largest amount tried
_ROUNDED = 1.01  # an amount at the limit may be rounded up, to a cent or a unit
# Policies choose amounts by results: an arm that was lucky gets more, and is so good no more. That looks like returns
# that diminish; in campaigns of 30 to 300 periods p-values come out up to five times too small.
_CHOSEN = 0.001
_MOVED = 1.1  # the best over the worst quarter of an arm that got a fair part
_NOISIER = 1.5
_WEEKDAYS_APART = 1.1
# Splits swing where so many of the last ones moved so large a part of the budget, and most of it came back.
LAST_SPLITS = 7
_SWUNG, _OFTEN, _CAME_BACK, _SWING_PERIODS = 0.2, 4, 0.5, 20
_STEADY = 0.15  # the spread of the logarithm of an arm's amounts


def check_health(table: Observations, handling: Handling | None = None) -> Health:
    """What is found in these data, in words; `handling` says how the campaign is run.

    >>> rng = np.random.default_rng(1)
    >>> amounts = rng.uniform(50, 400, 200)
    >>> outcomes = 8 * amounts**0.6 + rng.normal(size=200)
    >>> history = History(("search", "social"), np.tile([0, 1], 100), amounts, outcomes, None)
    >>> for finding in check_health(Observations(history, np.repeat(np.arange(100), 2))).findings:
    ...     print(finding.kind, "-", finding.meaning)
    bent-returns - Doubling what an arm gets brings about 1.5 times as much, not twice.
    """
    how = Handling() if handling is None else handling
    seen = _recent(table)
    findings = list(_findings(seen, table, how))
    enough = seen.length >= LEAST_PERIODS
    summary = words.summary(len(findings), seen, table, enough)
    return Health(tuple(findings), summary, seen.length, len(seen.history.names), enough)


def _findings(seen: Observations, table: Observations, how: Handling) -> Iterator[Finding]:
    known = estimated_quickly(seen.history) if seen.length >= LEAST_PERIODS else None
    slips = find_slips(seen, None if known is None else known[0])
    if slips:
        yield words.outliers(slips, seen, how)
        if known is not None:
            seen = seen.part(np.isin(np.arange(len(seen.periods)), [slip.row for slip in slips], invert=True))
            known = estimated_quickly(seen.history)
    yield from _untried(table, how)
    if known is None:
        return
    yield from _swings(seen, table, how)
    found, equal = known
    moved = drift(found, seen.history, None)
    moves = moved.holds is False and _moved(seen) > _MOVED
    if moves:  # amounts may have followed the returns, and what moved looks like noise: each block has its own mean
        still = estimated_quickly(seen.history, seen.blocks()) or known
        yield from _bent(still[0], how, moving=True)
        apart = own_movement(found, seen.periods)
        if apart.holds:
            yield words.season(seen, how, moved)
        else:
            yield words.drift(seen, how, moved, apart, memory_found(found, seen.periods))
        found, equal = still
    else:
        yield from _bent(found, how)
    yield from _unequal(found, equal, seen.history, how)
    by_day = weekdays(known[0], seen.history)
    if by_day.holds is False and by_day.effect > _WEEKDAYS_APART:
        yield words.weekdays(by_day, how)
    if found.c_source == "assumed" and _spread(seen.history) < _STEADY:
        yield words.steady_amounts(_spread(seen.history), how)


def _bent(found: Estimate, how: Handling, moving: bool = False) -> Iterator[Finding]:
    if found.c_source != "estimated" or not found.c_interval[1] < 1.0 or 2**found.c > NEARLY_TWICE:
        return
    evidence = proportional(found)
    if evidence.p_value < _CHOSEN and evidence.effect < 1.0 and 2**evidence.effect < NEARLY_TWICE:
        yield words.bent_returns(evidence, how, moving)


def _unequal(found: Estimate, equal: EqualNoise, history: History, how: Handling) -> Iterator[Finding]:
    evidence = equal_noise(found, equal, history.names)
    least = _NOISIER
    if found.c_source == "assumed":  # b is not known: what larger amounts do to the noise is not the arm's doing
        typical = np.exp(found.data.log_sums / found.data.counts)
        least *= math.sqrt(float(typical.max() / typical.min()))
    if evidence.holds is False and evidence.effect > least:
        yield words.unequal_noise(evidence, how)


def _untried(table: Observations, how: Handling) -> Iterator[Finding]:
    """Arms that the open split gives more than twice the most they ever got, and more than an even share."""
    history = table.history
    most = np.zeros(len(history.names))
    np.maximum.at(most, history.codes, history.amounts)
    tried = dict(zip(history.names, most.tolist()))
    even = math.fsum(table.waiting.values()) / max(len(table.waiting), 1)
    far = {
        arm: (amount, tried[arm])
        for arm, amount in table.waiting.items()
        if tried.get(arm, 0.0) > 0.0 and amount > _ROUNDED * max(FAR * tried[arm], even)
    }
    if far:
        yield words.untried_amounts(far, how)


def _swings(seen: Observations, table: Observations, how: Handling) -> Iterator[Finding]:
    """Splits that go to and fro, where nothing limits that. Before the first periods are over that is learning."""
    if table.splits is None or how.change is not None or table.earlier + seen.length < _SWING_PERIODS:
        return
    moved = 0.5 * np.abs(np.diff(table.splits, axis=0)).sum(axis=1)
    there = 0.5 * float(np.abs(table.splits[-1] - table.splits[0]).sum()) if len(table.splits) else 0.0
    if int((moved >= _SWUNG).sum()) >= _OFTEN and there <= _CAME_BACK * float(moved.sum()):
        yield words.swings(moved, how)


def _moved(seen: Observations) -> float:
    """The largest factor between two quarters of the time, of the arms that got a fair part of what was spent."""
    levels = [levels for _, levels in seen.returns()]
    return max((max(each) / min(each) for each in levels if min(each) > 0), default=math.inf)


def _spread(history: History) -> float:
    """How much the amounts of an arm vary: the root mean square of log amount around each arm's mean."""
    logs = np.log(history.amounts)
    counts = np.bincount(history.codes)
    centre = np.bincount(history.codes, logs) / np.maximum(counts, 1)
    return float(np.sqrt(np.mean(np.square(logs - centre[history.codes]))))


def _recent(table: Observations) -> Observations:
    """The latest periods, and of their arms those with most rows."""
    history, periods = table.history, table.periods
    if not len(periods):
        return table
    kept = periods > np.sort(np.unique(periods))[-MOST_PERIODS:][0] - 1
    counts = np.bincount(history.codes[kept], minlength=len(history.names))
    chosen = np.zeros(len(counts), np.bool_)
    chosen[np.argsort(-counts, kind="stable")[:MOST_ARMS]] = True
    kept &= chosen[history.codes]
    if kept.sum() > MOST_ROWS:
        kept &= periods > np.sort(periods[kept])[-MOST_ROWS]
    return table if kept.all() else table.part(kept)
