"""What a health check looks at: what was spent and what came back, period by period."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from apportion.inference.fit.history import History
from apportion.inference.fit.likelihood import Floats

QUARTERS = 4
_MOST_BLOCKS = 12
_FAIR_PART = 0.5  # of an even share of all that was spent
_USED_PART = 0.05  # of what an arm got: a quarter with less says nothing of it


class Observations(NamedTuple):
    """What was spent and what came back: a row of `history` for each outcome that is known, with its period.

    `advised` is what each row was advised to get, if that is known. `waiting` has the amounts of the last split where
    its outcomes are still to come, `earlier` counts periods that are left out. `splits` has the shares of the last
    splits that somebody was advised to make, a row for each.
    """

    history: History
    periods: npt.NDArray[np.int64]
    advised: Floats | None = None
    waiting: Mapping[str, float] = {}
    earlier: int = 0
    splits: Floats | None = None

    @property
    def length(self) -> int:
        """How many periods there are."""
        return len(np.unique(self.periods))

    def blocks(self) -> npt.NDArray[np.intp]:
        """A block of time for each row, of eight periods or more: short enough that returns hardly move within."""
        _, time = np.unique(self.periods, return_inverse=True)
        count = int(time.max()) + 1
        found: npt.NDArray[np.intp] = (time * max(1, min(_MOST_BLOCKS, count // 8)) // count).astype(np.intp)
        return found

    def quarters(self) -> npt.NDArray[np.int64]:
        """The quarter of the time of each row, from 0 to 3."""
        _, time = np.unique(self.periods, return_inverse=True)
        found: npt.NDArray[np.int64] = time * QUARTERS // (int(time.max()) + 1)
        return found

    def returns(self) -> Iterator[tuple[str, list[float]]]:
        """The arms that got a fair part of what was spent, and what each unit brought in each quarter of the time."""
        history, arms = self.history, len(self.history.names)
        at = history.codes * QUARTERS + self.quarters()
        spent, back = (
            np.bincount(at, values, QUARTERS * arms).reshape(arms, QUARTERS)
            for values in (history.amounts, history.outcomes)
        )
        for index in np.flatnonzero(spent.sum(axis=1) > _FAIR_PART * spent.sum() / arms).tolist():
            used = spent[index] > _USED_PART * spent[index].sum()
            yield history.names[index], (back[index][used] / spent[index][used]).tolist()

    def part(self, kept: npt.NDArray[np.bool_]) -> "Observations":
        """These rows only, and of the arms those that have some."""
        history = self.history
        there, codes = np.unique(history.codes[kept], return_inverse=True)
        smaller = history._replace(
            names=tuple(history.names[index] for index in there.tolist()), codes=codes.astype(np.intp),
            amounts=history.amounts[kept], outcomes=history.outcomes[kept],
            moments=None if history.moments is None else history.moments[kept],
            lines=None if history.lines is None else history.lines[kept],
        )  # fmt: skip
        return self._replace(
            history=smaller, periods=self.periods[kept],
            advised=None if self.advised is None else self.advised[kept],
        )  # fmt: skip

    @classmethod
    def of_file(cls, history: History) -> "Observations":
        """A history that was read: a period is a date; without dates the first rows of all arms are the first."""
        if history.moments is not None:
            _, periods = np.unique(history.moments, return_inverse=True)
            return cls(history, periods + 1)
        order = np.argsort(history.codes, kind="stable")
        counts = np.bincount(history.codes)
        periods = np.empty(len(order), np.int64)
        periods[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        return cls(history, periods + 1)
