"""A sliding window: the sums of the last so many periods, and nothing of what came before.

A half-life (`model.exact_sums`) lets the past fade; a window cuts it off. A window is easier to explain and to
size ("the last 100 days"), and after a jump it is free of the old level once it has passed; a half-life needs no
memory of the periods themselves. Neither has a guarantee while means move: intervals cover the noise inside the
window, not the drift.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from apportion._common import validation
from apportion.errors import Conflict, IncompatibleState, InvalidValue
from apportion.model.exact_sums import Statistics, exponents_from
from apportion.model.sums import Floats, Grid

# A window keeps two numbers per arm and period, in memory and in every saved state.
LONGEST_WINDOW = 100_000


class PeriodOutcomes(NamedTuple):
    """What came back in one period: amounts, and outcomes with NaN where there is none."""

    amounts: Floats
    outcomes: Floats


class Window(Statistics):
    """The nine sums over the last `window` periods: an outcome counts while its age is below `window`, then not.

    Outcomes inside the window are held, one per period and arm, and reverted exactly when they leave it. So these
    are at any time the correctly rounded sums of what is inside, in whatever order it came. What comes back later
    than that counts nothing, and so does reverting it.

    >>> past = Window(arms=1, b=0.5, window=2)
    >>> for reward in (1.0, 2.0, 4.0):
    ...     past.advance()
    ...     past.update([1.0], [reward])
    >>> past.sums().reward.tolist()                      # of the last two periods
    [6.0]
    >>> past.revert([1.0], [4.0])
    >>> past.sums().reward.tolist()
    [2.0]
    """

    def __init__(self, arms: int, b: float | Grid, window: int, c: float = 1.0) -> None:
        super().__init__(arms, b, c=c)
        self.window = validation.whole("window", window, low=1, high=LONGEST_WINDOW)
        self._rows: dict[int, PeriodOutcomes] = {}

    def advance(self, periods: int = 1) -> None:
        """Let time pass; what leaves the window is reverted."""
        super().advance(periods)
        for period in [known for known in self._rows if not self._inside(known)]:
            row = self._row(period)
            super()._add(row.amounts, row.outcomes, period, -1.0)
            del self._rows[period]

    def merge(self, other: Statistics) -> None:
        """Take in all that `other` holds; the two must not speak of the same outcome."""
        if not isinstance(other, Window) or other.window != self.window:
            raise InvalidValue(f"`other` must have the same window, {self.window} periods.")
        for period, row in other._rows.items():
            if other.arms == self.arms and period in self._rows:
                self._require_new(period, ~np.isnan(row.outcomes))
        super().merge(other)
        for period, row in other._rows.items():
            self._write(period, row.amounts, row.outcomes, ~np.isnan(row.outcomes))

    def _inside(self, period: int) -> bool:
        return period > self.period - self.window

    def _row(self, period: int) -> PeriodOutcomes:
        """The outcomes of a period, for all arms of today."""
        row = self._rows.get(period, PeriodOutcomes(np.zeros(0), np.zeros(0)))
        late = self.arms - len(row.amounts)
        if late == 0:
            return row
        return PeriodOutcomes(
            np.append(row.amounts, np.zeros(late)), np.append(row.outcomes, np.full(late, math.nan))
        )

    def _require_new(self, period: int, observed: Any) -> None:
        known = observed & ~np.isnan(self._row(period).outcomes)
        if known.any():
            raise Conflict(f"Arm {int(known.argmax())} already has an outcome in period {period} of the window.")

    def _add(self, amounts: ArrayLike, outcomes: ArrayLike, period: int | None, sign: float) -> None:
        when = self.period if period is None else period
        amount, outcome = np.asarray(amounts, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
        if not self._inside(when):
            return
        same = amount.shape == outcome.shape == (self.arms,)  # where not, the sums refuse it below
        observed = (amount > 0.0) & ~np.isnan(outcome) if same else np.zeros(self.arms, dtype=bool)
        row = self._row(when)
        if sign > 0.0:
            self._require_new(when, observed)
        elif (observed & ((row.amounts != amount) | (row.outcomes != outcome))).any():
            raise Conflict(f"The outcomes to be reverted are not those recorded for period {when}.")
        super()._add(amount, outcome, when, sign)
        if observed.any():
            self._write(when, amount, outcome if sign > 0.0 else np.full(self.arms, math.nan), observed)

    def _write(self, period: int, amounts: Floats, outcomes: Floats, observed: Any) -> None:
        row = self._row(period)
        merged = np.where(observed, outcomes, row.outcomes)
        known = ~np.isnan(merged)
        if known.any():
            self._rows[period] = PeriodOutcomes(
                np.where(known, np.where(observed, amounts, row.amounts), 0.0), merged
            )
        else:
            self._rows.pop(period, None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the outcomes inside the window, from which the sums follow to the last bit."""
        rows = [
            {
                "period": period,
                "amounts": self._row(period).amounts.tolist(),
                "outcomes": [None if math.isnan(value) else value for value in self._row(period).outcomes.tolist()],
            }
            for period in sorted(self._rows)
        ]
        return {
            "b": self.b,
            **({} if self.c == 1.0 else {"c": self.c}),
            "window": self.window,
            "period": self.period,
            "arms": self.arms,
            "rows": rows,
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        """The window that `to_dict` wrote."""
        b, c = exponents_from(state)
        restored = cls(state["arms"], b, state["window"], c)
        restored.period = validation.whole("period", state["period"], low=0)
        for row in state["rows"]:
            period = validation.whole("period", row["period"], low=0)
            outcomes = np.array(row["outcomes"], dtype=np.float64)
            restored.update(row["amounts"], outcomes, period)
            found = restored._rows.get(period)
            if (
                period > restored.period
                or found is None
                or not np.array_equal(found.outcomes, outcomes, equal_nan=True)
            ):
                raise IncompatibleState("The saved window is damaged: it holds outcomes that cannot be in it.")
        return restored
