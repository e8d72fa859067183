"""A history as a world: the rate of every arm on every day, and binomial counts at these rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from apportion._common import tables
from apportion._common.validation import refuse, whole
from apportion.errors import InvalidValue
from apportion.inference.history import read_history
from apportion.model.sums import Floats
from apportion.model.world import World

MEAN_DAYS = 3


class Rates(NamedTuple):
    """The rate of every arm on every day, (days, arms)."""

    dates: tuple[str, ...]
    arms: tuple[str, ...]
    rates: Floats


def read_rates(
    source: tables.Source, *, arms: Sequence[str] | None = None, days: int | None = None, mean_days: int = MEAN_DAYS,
    **columns: Any,
) -> Rates:  # fmt: skip
    """outcome/amount of every arm and day of a file, from its first date on; `columns` are options of `read_history`.

    The rate of a day is that of the `mean_days` days around it together: a day's report is noisy, and the truth is
    not. A day without a row takes the rate of the last day before that has one; at the start that of the first.
    """
    around = whole("mean_days", mean_days, low=1)
    observations = read_history(source, **columns).observations
    dates = list(dict.fromkeys(line.date for line in observations))
    found = list(dict.fromkeys(line.arm for line in observations))
    names = found if arms is None else list(arms)
    for name in names:
        if name not in found:
            raise refuse("arms", f"some of {', '.join(sorted(found))}", name)
    if len(names) < 2:
        raise refuse("arms", "at least two", names)
    place = {date: index for index, date in enumerate(dates)}, {name: index for index, name in enumerate(names)}
    sums = np.zeros((2, len(dates), len(names)))
    for line in observations:
        if line.arm in place[1] and line.outcome is not None:
            sums[:, place[0][line.date], place[1][line.arm]] = line.amount, line.outcome
    shifts = range(-((around - 1) // 2), around // 2 + 1)
    padded = np.pad(sums, ((0, 0), (around, around), (0, 0)))
    parts = [padded[:, around + shift : around + shift + len(dates)] for shift in shifts]
    spent, returned = np.sum(parts, axis=0)
    with np.errstate(invalid="ignore"):
        rates = returned / spent
    for arm, name in enumerate(names):
        rates[:, arm] = _filled(rates[:, arm], name)
    if not ((rates >= 0.0) & (rates <= 1.0)).all():
        raise InvalidValue("A replay needs outcomes from 0 to their amount, as positives of tests; some are not.")
    last = len(dates) if days is None else min(len(dates), whole("days", days, low=2))
    return Rates(tuple(dates[:last]), tuple(names), rates[:last])


def _filled(rates: Floats, name: str) -> Floats:
    """Gaps as the last known rate before; at the start the first one after."""
    known = np.flatnonzero(~np.isnan(rates))
    if not known.size:
        raise InvalidValue(f"Arm '{name}' has no day with an amount and an outcome.")
    return np.asarray(rates[known[np.maximum(np.searchsorted(known, np.arange(len(rates)), side="right") - 1, 0)]])


class Replay(World):
    """Each of a whole number of units succeeds with the rate of its arm on that day, (days, arms)."""

    rates: Floats

    def __post_init__(self) -> None:
        """The array stays as it is."""

    @property
    def arms(self) -> int:
        """The number of arms."""
        return int(self.rates.shape[1])

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """A·p, and a binomial count."""
        rate = self.rates[number - 1, arm]
        return amount * rate, float(rng.binomial(int(amount), rate))

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """All units on the best arm of the day."""
        return budget * self.rates[number - 1].max()
