"""What was spent and what came back, as arrays for the fit."""

from datetime import UTC
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from apportion.inference.fit.likelihood import Floats
from apportion.inference.history import Reading, Summary, read_history


class History(NamedTuple):
    """Observations in the order they were given: arm `names[codes[j]]` got `amounts[j]` and returned `outcomes[j]`.

    `moments` says when each was, if all rows have a date; `lines` in which row it stands (the first, where several
    were summed). `summary` has what was done with the rows.
    """

    names: tuple[str, ...]
    codes: npt.NDArray[np.intp]
    amounts: Floats
    outcomes: Floats
    moments: npt.NDArray[np.datetime64] | None
    summary: Summary = Summary()
    lines: npt.NDArray[np.int64] | None = None


def observed_history(history: Any, **options: Any) -> History:
    """The observations of `history` that have an amount and an outcome; `options` are those of `read_history`."""
    return to_arrays(read_history(history, **options))


def to_arrays(reading: Reading) -> History:
    """A reading as arrays, in the order of its rows."""
    known = sorted(line for line in reading.observations if line.amount > 0.0 and line.outcome is not None)
    indices: dict[str, int] = {}
    codes = [indices.setdefault(line.arm, len(indices)) for line in known]
    moments = None
    if reading.moments is not None:
        plain = {date: moment.astimezone(UTC).replace(tzinfo=None) for date, moment in reading.moments.items()}
        moments = np.array([plain[line.date] for line in known], "datetime64[s]")
    return History(
        tuple(indices), np.array(codes, np.intp), np.array([line.amount for line in known], float),
        np.array([line.outcome for line in known], float), moments, reading.summary,
        np.array([line.row for line in known], np.int64),
    )  # fmt: skip


def weeks_and_days(moments: npt.NDArray[np.datetime64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The week of each moment, counted on from 1970, and its weekday: 0 is Monday.

    >>> weeks_and_days(np.array(["1970-01-01", "2026-11-16"], "datetime64[s]"))
    (array([   0, 2968]), array([3, 0]))
    """
    days = moments.astype("datetime64[D]").astype(np.int64) + 3  # 1970-01-01 was a Thursday
    week, day = np.divmod(days, 7)
    return week, day
