"""The outcomes of a campaign as `Auto` learns from them: in any order, late or corrected, to the last bit."""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from apportion._common import validation
from apportion._common.compiled import compiled
from apportion.errors import IncompatibleState
from apportion.inference.fitting import fit_from_sums
from apportion.inference.knowledge import Knowledge, catch_up, known_by
from apportion.inference.learner import (
    DONE,
    FIT,
    KEPT_PERIODS,
    LONGEST_INTERVAL,
    NEXT,
    PRESENT,
    Learner,
    Learning,
    followed,
    longest_interval,
    longest_wait,
    next_fit,
    shape_periods,
)
from apportion.model.exact_sums import Statistics, accumulate, check_outcomes, rounded, with_rest
from apportion.model.sums import GRID_FIELDS, MANY_ARMS, Floats, Grid, GridSums

_NEVER = -1  # no fit yet, or none that holds
# So many of the last periods may come out of order, as where several people record, and cost no fit.
_MOST_KEPT = 16
# What a filter knows, and so what is kept of it before a period that may still change.
_CHANGING = ("mean", "own", "common", "score", "known", "misfit", "seen", "whole")


class LearnedPast:
    """All outcomes: the exact sums of those up to the last fit, and the last periods one by one.

    What is learned is a function of these outcomes alone (`inference.learner`). It is worked out when it is asked
    for, from the last period that nothing has changed since; so the usual outcome, of the present period, costs one
    step, and one of long ago a fit.
    """

    half_life: float | None = None  # it learns its own

    def __init__(self, arms: int, kind: Learning) -> None:
        self.kind = kind
        self.period = 0
        self._sums = Statistics(arms, kind.grid)
        self._learner = kind.new(arms)
        self._spent = self._sums.spent.copy()  # of all outcomes, settled or not
        self._kept: dict[int, dict[str, Floats]] = {}  # the filters as they were after each of the last periods
        self._settled = 0  # the period up to which `_sums` goes
        self._ahead: tuple[int, Statistics] | None = None  # what they will be when the fit that was made is settled
        self._known: Knowledge | None = None

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return self._sums.arms

    @property
    def b(self) -> Any:
        """The exponents that sums are taken at."""
        return self.kind.grid.b

    @property
    def c(self) -> Any:
        """The exponents of the mean that sums are taken at."""
        return self.kind.grid.c

    def advance(self, periods: int = 1) -> None:
        """Let time pass."""
        for _ in range(validation.whole("periods", periods, low=0)):
            self._known = None
            self._settle()  # or a row would be written over that is not in the sums
            self.period += 1
            amounts, outcomes = self._row(self.period)
            amounts[:], outcomes[:] = 0.0, math.nan

    def _settle(self) -> None:
        """Bring to the sums what the fits that are due learn from: those after periods that outcomes came of.

        A period that is only begun teaches nothing: what is known must not change with it.
        """
        due = self._due(self._last())
        if due > self._settled:
            self._sums, self._settled, self._ahead = self._until(due), due, None

    def _due(self, last: int) -> int:
        """The period of the last fit that is due after period `last`."""
        due = self._settled
        while (after := next_fit(due, self.arms, longest_interval(self.arms))) <= last:
            due = after
        return due

    def _fitted_after(self, last: int) -> int:
        """The period of the fit to go by after period `last`: the one that is due, or one of today.

        The schedule counts periods. Where most of those up to the fit were taken back, as by undoing an import, or
        have no outcome yet, it knows next to nothing, and filters that go on with its σ would be sure of anything.
        So the periods with outcomes since are counted: as many as call for the next fit call for one now.
        """
        due = self._due(last)
        known = min(due, self._until(due).count)
        if known == due:
            return due
        since = sum(not np.isnan(self._row(period)[1]).all() for period in range(due + 1, last + 1))
        return last if since and known + since >= next_fit(known, self.arms, longest_interval(self.arms)) else due

    def _last(self) -> int:
        """The last period that is over: one with an outcome, or so long ago that none is waited for."""
        last = self.period
        while last > max(0, self.period - longest_wait(self.arms)) and np.isnan(self._row(last)[1]).all():
            last -= 1
        return last

    def _row(self, period: int) -> tuple[Floats, Floats]:
        row = period % len(self._learner.amounts)
        return self._learner.amounts[row], self._learner.outcomes[row]

    def update(self, amounts: ArrayLike, outcomes: ArrayLike, period: int | None = None) -> None:
        """Take in outcomes of a period, one per arm; NaN, or an amount of 0, means that nothing was observed."""
        self._change(amounts, outcomes, period, taken_back=False)

    def revert(self, amounts: ArrayLike, outcomes: ArrayLike, period: int | None = None) -> None:
        """Take back outcomes that `update` took in with the same arguments, exactly."""
        self._change(amounts, outcomes, period, taken_back=True)

    def _change(self, amounts: ArrayLike, outcomes: ArrayLike, period: int | None, *, taken_back: bool) -> None:
        when = self.period if period is None else period
        amount, outcome = np.asarray(amounts, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
        if when <= self._settled:
            (self._sums.revert if taken_back else self._sums.update)(amount, outcome)
        else:
            check_outcomes(amount, outcome, self.arms)
        observed = (amount > 0.0) & ~np.isnan(outcome)
        self._spend(np.where(observed, -amount if taken_back else amount, 0.0))
        if when > self._settled - shape_periods(self.arms) and observed.any():
            spent, came = self._row(when)
            spent[observed] = 0.0 if taken_back else amount[observed]
            came[observed] = math.nan if taken_back else outcome[observed]
        self._stale(when)

    def _spend(self, amounts: Floats) -> None:
        self._spent = with_rest(self._spent, accumulate(self._spent, amounts))

    def _stale(self, period: int) -> None:
        """What was learned from `period` on is to be worked out again."""
        self._known = None
        if self._ahead is not None and period <= self._ahead[0]:
            self._ahead = None
        clock = self._learner.clock
        if period > max(clock[DONE], 0):
            return
        self._kept = {kept: values for kept, values in self._kept.items() if kept < period}
        if clock[FIT] < period and self._kept:
            clock[DONE] = max(self._kept)
            for name, values in self._kept[int(clock[DONE])].items():
                getattr(followed(self._learner), name)[...] = values
        else:
            clock[FIT], self._kept = _NEVER, {}

    def give_sigma(self, levels: Floats) -> None:
        """Learn with these σ_i from now on; 0 where they are to be learned."""
        if not np.array_equal(levels, self._learner.given):
            self._learner.given[:] = levels
            self.kind = self.kind._replace(sigma=tuple(levels.tolist()) if levels.any() else ())
            self._stale(0)

    def add_arms(self, arms: int = 1) -> None:
        """Make room for arms that nothing is known about, after those there are."""
        old = self._learner
        self._sums.add_arms(arms)
        kind = self.kind if len(self.kind.sigma) < 2 else self.kind._replace(sigma=())
        self._learner, self._kept, self._known, self._ahead = kind.new(self.arms), {}, None, None
        self._learner.clock[FIT] = _NEVER
        self._spent = np.concatenate([self._spent, np.zeros((len(self._spent), arms))], axis=1)
        for period in range(max(1, self.period + 1 - len(self._learner.amounts)), self.period + 1):
            for new, known in zip(self._row(period), (old.amounts, old.outcomes)):
                new[: known.shape[1]] = known[period % len(known)]

    def sums(self) -> Knowledge:
        """What is known, as of the present period."""
        if self._known is None:
            self._known = self._learn()
        return self._known

    def _learn(self) -> Knowledge:
        learner, clock = self._learner, self._learner.clock
        clock[PRESENT] = self.period + 1  # rows are this past's to clear
        fit, step = (compiled(each) if self.arms >= MANY_ARMS else each for each in (fit_from_sums, catch_up))
        with np.errstate(all="ignore"):
            last = self._last()
            due = self._fitted_after(last)
            if clock[FIT] != due:
                if (exact := self._until(due)).count:
                    held = exact.sums()
                    for name in GridSums._fields[GRID_FIELDS:]:
                        getattr(learner.grid, name)[...] = getattr(held, name)
                    fit(learner, min(due, last))
                else:
                    learner = self._learner = self._knowing_nothing()
                    clock = learner.clock
                clock[FIT], clock[DONE], self._kept = due, min(due, last), {}
            clock[NEXT] = self.period + 2  # fits are begun here, with exact sums
            late = _MOST_KEPT if self.arms < MANY_ARMS else 1
            if clock[DONE] < last - late:
                step(learner, last - late + 1)
            while clock[DONE] < last:
                done, filters = int(clock[DONE]), followed(learner)
                self._kept[done] = {name: getattr(filters, name).copy() for name in _CHANGING}
                step(learner, done + 2)
            self._kept = {done: values for done, values in self._kept.items() if done >= last - late}
            known = (compiled(known_by) if self.arms >= MANY_ARMS else known_by)(learner)
        # Of its own arrays: the learner goes on, and an earlier split explains itself from what was known then.
        return known._replace(law=known.law.copy(), sigma=known.sigma.copy(), resource=rounded(self._spent))

    def _knowing_nothing(self) -> Learner:
        """The learner as it was before any outcome: none is left."""
        old = self._learner
        clock = old.clock.copy()
        return self.kind.new(self.arms)._replace(
            amounts=old.amounts, outcomes=old.outcomes, given=old.given, clock=clock
        )

    def _until(self, period: int) -> Statistics:
        """The exact sums of all periods up to this one, which is settled or the next to be."""
        if period == self._settled:
            return self._sums
        if self._ahead is None or self._ahead[0] != period:
            sums = self._sums.copy()
            for later in range(self._settled + 1, period + 1):
                sums.update(*self._row(later))
            self._ahead = period, sums
        return self._ahead[1]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the exact sums, and the outcomes of the last periods; what was learned follows."""
        first = max(1, self._settled + 1 - shape_periods(self.arms))
        rows: list[dict[str, Any]] = []
        before: Any = None
        for period in range(first, self.period + 1):
            amounts, outcomes = (values.tolist() for values in self._row(period))
            if not all(map(math.isnan, outcomes)):
                spent = {} if amounts == before else {"amounts": amounts}  # as in the row before
                came = [None if math.isnan(value) else value for value in outcomes]
                rows.append({"period": period, **spent, "outcomes": came})
                before = amounts
        kind = {"c": self.kind.grid.c, "b": self.kind.grid.b, "moving": self.kind.moving, "sigma": self.kind.sigma}
        sums = self._sums.in_order().to_dict()
        when = {"kept": KEPT_PERIODS, "longest": LONGEST_INTERVAL, "period": self.period, "settled": self._settled}
        return {"learned": kind, **when, "sums": sums, "rows": rows}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        """The past that `to_dict` wrote."""
        saved = state["learned"]
        grid = Grid(tuple(saved["c"]), tuple(saved["b"]))
        sums = Statistics.from_dict(state["sums"])
        restored = cls(sums.arms, Learning(grid, validation.flag("moving", saved["moving"]), tuple(saved["sigma"])))
        restored.period = validation.whole("period", state["period"], low=0)
        restored._settled = validation.whole("settled", state["settled"], low=0, high=restored.period)
        restored._sums, restored._spent = sums, sums.spent.copy()
        restored._learner.clock[FIT] = _NEVER
        before: Any = None
        for row in state["rows"]:
            before = row.get("amounts", before)
            period = validation.whole("period", row["period"], low=1, high=restored.period)
            amounts, outcomes = restored._row(period)
            amounts[:] = before
            outcomes[:] = np.array(row["outcomes"], dtype=np.float64)
            if not (np.isfinite(amounts) & (amounts >= 0.0)).all() or np.isinf(outcomes).any():
                raise IncompatibleState("The saved state is damaged: it has outcomes that cannot be.")
            if period > restored._settled:
                restored._spend(np.where(np.isnan(outcomes), 0.0, amounts))
        if sums._kind != grid:
            raise IncompatibleState("The saved state is damaged: its sums are of another law.")
        return restored
