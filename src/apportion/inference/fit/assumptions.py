"""What the law takes for granted, tested on the history it was fitted to.

Each test says how often its statistic would be as large if the assumption held (`p_value`, for Gaussian noise), and
what it found in words. They are separate looks at one history: means that drift also make residuals remember, and a
weekday pattern of amounts and returns together looks like a bent mean.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from apportion._common.distributions import chi_squared_above, chi_squared_quantile, f_above, normal_below
from apportion.inference.fit.estimate import LOWEST_C, EqualNoise, Estimate, error_of_c
from apportion.inference.fit.history import History, weeks_and_days
from apportion.inference.fit.likelihood import Data
from apportion.inference.fit.surface import Axis, Surface

# An assumption is given up where what was seen would come by chance less often than this.
REJECTED = 0.01
HIGHEST_C = 2.0  # how far the test of proportional returns looks

_QUARTERS = 4
_ROWS_OF_A_PART = 3  # a part of an arm's time with fewer rows is not looked at by itself
_LEAST_CHANCE = 1e-300
_DAILY = np.timedelta64(3, "D")  # dates further apart than this have no weekday
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Assumption(NamedTuple):
    """The test of one assumption.

    `holds` is None where it could not be tested; `words` says what was found, or why not, `details` the same in
    numbers. `effect` is its size: the c that fits best, the ratio of the largest to the smallest σ, the factor by
    which a typical arm moved, that between the best and the worst weekday, the correlation of neighbours. `shown`
    holds what the picture shows.
    """

    name: str
    statistic: float
    freedom: tuple[int, ...]
    p_value: float
    holds: bool | None
    effect: float
    words: str
    details: str
    shown: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON, without what is shown."""
        numbers = {"statistic": self.statistic, "p_value": self.p_value, "effect": self.effect}
        return {
            "name": self.name, "holds": self.holds, "freedom": list(self.freedom), "words": self.words,
            "details": self.details,
            **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        }  # fmt: skip


class Evidence(NamedTuple):
    """A statistic with its law, before it is put in words."""

    statistic: float = math.nan
    freedom: tuple[int, ...] = ()
    p_value: float = math.nan
    effect: float = math.nan
    shown: Mapping[str, Any] = {}
    reason: str = ""

    @property
    def holds(self) -> bool | None:
        """None where there was nothing to test."""
        return None if math.isnan(self.p_value) else self.p_value >= REJECTED


def evidence(found: Estimate, test: EqualNoise, observed: History, *, apart: str | None) -> dict[str, Evidence]:
    """All five, in the order in which they matter."""
    return {
        "proportional returns": proportional(found),
        "equal noise": equal_noise(found, test, observed.names),
        "no drift": drift(found, observed, apart),
        "no weekday pattern": weekdays(found, observed),
        "no memory": memory(found, observed),
    }


def proportional(found: Estimate) -> Evidence:
    """The likelihood ratio of the best c in [0.05, 2] against c = 1, divided by its mean; χ² with one degree of
    freedom."""
    if found.c_source == "assumed":
        return Evidence(reason="amounts vary too little within the arms")
    surface = Surface(found.data, Axis(LOWEST_C, HIGHEST_C), found.surface.b_range, per_arm=found.data.per_arm)
    scales = found.own_scales if found.data.per_arm else found.scales
    _, mean = error_of_c(found.data, surface.c, surface.b, scales)
    statistic = max(0.0, -2 * float(surface.along_c(found.data, np.array([1.0]))[0])) / mean
    grid = np.union1d(surface.c_axis.points(201), [surface.c])
    shown = {"c": grid, "height": np.exp(surface.profile_c(grid))}
    return Evidence(statistic, (1,), float(chi_squared_above(1, statistic)), surface.c, shown)


def equal_noise(found: Estimate, test: EqualNoise, names: tuple[str, ...]) -> Evidence:
    """One σ for all arms: `estimate.EqualNoise`, and each arm's own σ at b with its 95% interval."""
    scales, free = found.own_scales, found.data.free
    if math.isnan(test.p_value):
        return Evidence(reason="it takes two arms with noise and with amounts that vary")
    known = found.data.own_scale & (scales > 0)
    unit = math.exp(-found.b * found.data.log_unit) * found.data.size
    count = free[known].astype(np.float64)
    low, high = (scales[known] * np.sqrt(count / chi_squared_quantile(count, tail)) for tail in (0.025, 0.975))
    shown = {
        "arms": [name for name, one in zip(names, known) if one], "sigma": scales[known] * unit, "low": low * unit,
        "high": high * unit,
    }  # fmt: skip
    effect = float(scales[known].max() / scales[known].min())
    return Evidence(test.statistic, (test.freedom,), test.p_value, effect, shown)


def drift(found: Estimate, observed: History, apart: str | None) -> Evidence:
    """Whether quarters of an arm's time have means of their own: the F test of the residuals that would save.

    With a scale per arm there is a test for each; turned into χ² of the same chance, they add up.
    """
    if apart is not None:
        return Evidence(reason=f"each {apart} has a mean of its own")
    data = found.data
    parts = np.zeros(len(data.codes), np.intp)
    sequence = _in_time(data, observed)
    for own in np.split(sequence, np.cumsum(data.counts)[:-1]):
        pieces = max(1, min(_QUARTERS, len(own) // _ROWS_OF_A_PART))
        parts[own] = np.arange(len(own)) * pieces // len(own)
    split = Data(data.codes, np.exp(data.logs), data.y, per_arm=data.per_arm, blocks=parts)
    whole, apart_fit = data.at(found.c, found.b).residual, split.at(found.c, found.b)
    table = np.array([whole - apart_fit.residual, apart_fit.residual, data.free - split.free, split.free])
    saved, left, saved_freedom, freedom = table if data.per_arm else table.sum(axis=1, keepdims=True)
    known = (saved_freedom > 0) & (freedom > 0) & (left > 0)
    if not known.any():
        return Evidence(reason="there are too few rows of an arm")
    ratios = (saved / np.maximum(saved_freedom, 1))[known] / (left[known] / freedom[known])
    chances = np.maximum(f_above(saved_freedom[known], freedom[known], ratios), _LEAST_CHANCE)
    total = int(saved_freedom[known].sum())
    statistic = float(chi_squared_quantile(saved_freedom[known], chances).sum())
    means = np.split(apart_fit.means, split.arm_starts[1:])
    rows = [row for row in means if len(row) > 1 and (row > 0).all()]
    moved = [abs(math.log(row[-1] / row[0])) for row in rows]
    shown = {
        "levels": [row / np.exp(np.log(row).mean()) for row in rows],
        "arms": [name for name, row in zip(observed.names, means) if len(row) > 1 and (row > 0).all()],
    }
    effect = math.exp(float(np.median(moved))) if moved else math.nan
    return Evidence(statistic, (total,), float(chi_squared_above(total, statistic)), effect, shown)


def weekdays(found: Estimate, observed: History) -> Evidence:
    """Whether a factor per weekday on all means, on top of what c explains, saves residuals: an F test.

    Where days differ by more than their rows do (what all arms of a day share), the days are what it counts.
    """
    if observed.moments is None:
        return Evidence(reason="the history has no dates")
    days = np.unique(observed.moments.astype("datetime64[D]"))
    if len(days) < 2 * len(_WEEKDAYS) or np.median(np.diff(days)) > _DAILY:
        return Evidence(reason="it takes two weeks of days")
    data, c, b = found.data, found.c, found.b
    at = data.at(c, b)
    base = np.exp((c - b) * data.logs)
    scales = np.repeat(found.own_scales if data.per_arm else found.scales, data.counts)
    scales = np.where(scales > 0, scales, np.nan)
    signal = data.spread(at.means) * base / scales
    rest = (data.y * np.exp(-b * data.logs) - data.spread(at.means) * base) / scales
    known = np.isfinite(rest) & np.isfinite(signal)
    _, weekday = weeks_and_days(observed.moments[data.order])
    there = np.unique(weekday)
    columns = np.column_stack([signal * data.logs, *(signal * (weekday == day) for day in there)])
    # The means are fitted along: what they explain of each column is taken out.
    columns = np.nan_to_num(columns)
    pulled = np.column_stack([base * data.spread(data.sums(base * column) / at.information) for column in columns.T])
    columns = (columns - pulled)[known]
    sums = []
    for used in (columns[:, :1], columns):
        solution, _, rank, _ = np.linalg.lstsq(used, rest[known], rcond=1e-9)
        sums.append((float(np.square(rest[known] - used @ solution).sum()), int(rank)))
    (without, first_rank), (left_over, rank) = sums
    left = left_over
    saved_freedom, freedom = rank - first_rank, data.dof - rank
    if saved_freedom < 1 or freedom < 1:
        return Evidence(reason="it takes two weeks of days")
    signal, rest, moments = signal[known], rest[known] - columns @ solution, observed.moments[data.order][known]
    _, day = np.unique(moments.astype("datetime64[D]"), return_inverse=True)
    shared = np.square(np.bincount(day, signal * rest)) / np.maximum(
        np.bincount(day, np.square(signal)), _LEAST_CHANCE
    )
    between = len(shared) - rank
    if between > 0 and freedom > between and shared.sum() < left:
        ratio = float(shared.sum()) / between / ((left - float(shared.sum())) / (freedom - between))
        if f_above(between, freedom - between, ratio) < REJECTED:
            left, freedom = float(shared.sum()), between
    statistic = (without - left_over) / saved_freedom / (left / freedom)
    factors = 1 + solution[1:] - np.average(solution[1:], weights=np.bincount(weekday)[there])
    shown = {"days": [_WEEKDAYS[day] for day in there], "factors": factors}
    effect = float(factors.max() / factors.min()) if factors.min() > 0 else math.inf
    return Evidence(
        statistic, (saved_freedom, freedom), float(f_above(saved_freedom, freedom, statistic)), effect, shown
    )


def memory(found: Estimate, observed: History) -> Evidence:
    """The correlation of a residual with the next one of its arm, over all arms; normal with variance 1/pairs."""
    data = found.data
    sequence = _in_time(data, observed)
    values, codes = found.residuals[sequence], data.codes[sequence]
    together = (codes[1:] == codes[:-1]) & np.isfinite(values[1:]) & np.isfinite(values[:-1])
    before, after = values[:-1][together], values[1:][together]
    arms, pairs = len(np.unique(codes[:-1][together])), len(before)
    if pairs < 3 * max(arms, 1) or pairs < 8:
        return Evidence(reason="there are too few rows of an arm")
    # Residuals add up to nearly 0 with each mean, which pulls the correlation down by one over the rows of a mean.
    lost = len(data.sizes) / len(data.codes)
    correlation = float(before @ after) / float(np.square(values[np.isfinite(values)]).sum()) * len(values) / pairs
    correlation = max(-1.0, min(1.0, correlation + lost))
    statistic = correlation * math.sqrt(pairs)
    shown = {"before": before, "after": after}
    return Evidence(statistic, (), float(2 * normal_below(-abs(statistic))), correlation, shown)


def _in_time(data: Data, observed: History) -> npt.NDArray[np.intp]:
    """The sorted observations, each arm's in the order of time: that of the dates, or of the rows."""
    moments: Any = data.order if observed.moments is None else observed.moments[data.order]
    return np.lexsort((data.order, moments, data.codes))
