"""What is kept to learn from: the sums of all outcomes, the last periods one by one, filters, and what was learned.

What is known after period t is a function of the outcomes alone, whatever their order of arrival: the law was fitted
after period r ≤ t, the last of a schedule that grows with time (`inference.fitting`); from then on the filters take
in one period after the other (`inference.knowledge`). So an outcome that is late or corrected is exact: it changes
the sums, or a row, and what follows is worked out again.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import generic, implements, kernel
from apportion.inference.filters import (
    STEPS,
    WATCHED_STEPS,
    Filters,
    bank_of_laws,
    bank_of_steps,
    few_of,
    rivals_at,
)
from apportion.model.sums import MANY_ARMS, Floats, Grid, GridSums, Powers, observe, refinement

# So many of the last periods say how the world moves, and so many may follow a fit before the next; fewer where there
# are so many arms that these numbers would not fit. With half as many of the first, regret in worlds that move is a
# tenth larger.
RECENT_PERIODS = 256
LONGEST_INTERVAL = 1024
# So many before a fit are kept, for the shapes of arms. States that say another of these numbers are counted again.
KEPT_PERIODS = 768
_LONGEST_WAIT = 30
_MOST_RECENT_NUMBERS = 2_000_000
_FEWEST_RECENT = 8
# The time between two fits is this part of the time that has passed; with many arms the law is known sooner.
_GROWTH = 0.2

# The exponents at which the filters' own likelihood is worked out.
_LAWS_C = np.array([0.4, 0.55, 0.7, 0.85, 1.0])
_LAWS_B = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


class Learner(NamedTuple):
    """All that is known, as arrays.

    `filters` are the first rows of `bank`; the others are their rivals, which run with them at a fit. `watch` and
    `coarse` are the same with few of either, those that are `picked` of the bank: where these see nothing, the others
    need not be asked. `amounts` and `outcomes` are those of the last periods, a row per period in turn. `law` is that
    of `inference.learning`. `clock` has the period of the last fit, of the next one, the last period taken in, the
    present one, its row, and whether it is calm: then the filters of `watch` are followed.
    """

    grid: GridSums
    filters: Filters
    laws: Filters
    bank: Filters
    watch: Filters
    coarse: Filters
    picked: Any
    laws_c: Floats
    laws_b: Floats
    refine_b: Floats
    amounts: Floats
    outcomes: Floats
    given: Floats
    sigma: Floats
    aim: Floats
    law: Floats
    clock: Any

    @property
    def count(self) -> Floats:  # type: ignore[override]
        """1 for an arm of which something is known."""
        found: Floats = followed(self).known
        return found

    def take(self, arms: Any) -> "Learner":
        """What is known of some arms. The law stays that of all."""
        return self._replace(
            filters=self.filters.take(arms), watch=self.watch.take(arms), amounts=self.amounts[:, arms],
            outcomes=self.outcomes[:, arms], sigma=self.sigma[arms], aim=self.aim[arms], given=self.given[arms],
            grid=self.grid.take(arms),
        )  # fmt: skip


FIT, NEXT, DONE, PRESENT, ROW, CALM = range(6)


@kernel
def followed(learner: Any) -> Any:
    """The filters that take in one period after the other."""
    return learner.watch if learner.clock[CALM] else learner.filters


class Learning(NamedTuple):
    """The kind of sums that `Auto` reads: a `Learner` with this grid, of a world that may move or not.

    `sigma`: as given, one or one per arm; empty where it is to be learned.
    """

    grid: Grid
    moving: bool = True
    sigma: tuple[float, ...] = ()

    def new(self, arms: int) -> Learner:
        """A learner that knows nothing."""
        grid = self.grid.new(arms)
        laws_c, laws_b = (
            values if len(given) > 1 else np.array(given)
            for given, values in ((self.grid.c, _LAWS_C), (self.grid.b, _LAWS_B))
        )
        steps, rivals, watched, few, picked = _asked(tuple(laws_c.tolist()) if self.moving else ())
        filters, bank = bank_of_steps(steps, rivals, arms)
        watch, coarse = bank_of_steps(watched, few, arms)
        rows = shape_periods(arms) + longest_interval(arms) + longest_wait(arms) + 1
        given = np.zeros(arms)
        given[:] = self.sigma if len(self.sigma) > 1 else self.sigma[0] if self.sigma else 0.0
        return Learner(
            grid, filters, bank_of_laws(laws_c, laws_b, arms), bank, watch, coarse, picked, laws_c, laws_b,
            refinement(len(laws_b)), np.zeros((rows, arms)),
            np.full((rows, arms), np.nan), given, np.zeros(arms), np.zeros(arms), _law_before(self.grid),
            np.zeros(CALM + 1, dtype=np.int64),
        )  # fmt: skip


@functools.cache
def _asked(c: tuple[float, ...]) -> Any:
    """The steps of filters and their rivals at these exponents, the few that are watched, and where those stand.

    The still world alone where there are no exponents: nothing moves.
    """
    steps, watched = (STEPS, WATCHED_STEPS) if c else (STEPS[:1], STEPS[:1])
    rivals = rivals_at(c)
    few = few_of(rivals)
    picked = [steps.index(each) for each in watched] + [len(steps) + rivals.index(each) for each in few]
    return steps, rivals, watched, few, np.array(picked)


def _law_before(grid: Grid) -> Floats:
    """The law before any outcome: c as in the paper, or as given; b even over the grid."""
    c, b = grid.c, grid.b
    proportional = 0.0 if c[-1] < 1.0 else 1.0 if len(c) == 1 else 0.5
    return np.array([c[-1], sum(b) / len(b), proportional, c[0], c[-1], b[0], b[-1], 0.5, 0.0])


@kernel
def recent_periods(arms: int) -> int:
    """How many of the last periods say how the world moves."""
    return max(_FEWEST_RECENT, min(RECENT_PERIODS, _MOST_RECENT_NUMBERS // max(arms, 1)))


@kernel
def longest_interval(arms: int) -> int:
    """The longest time between two fits."""
    return max(_FEWEST_RECENT, min(LONGEST_INTERVAL, _MOST_RECENT_NUMBERS // max(arms, 1)))


@kernel
def shape_periods(arms: int) -> int:
    """How many of the last periods say which shapes the arms have, where nothing moves."""
    return min(KEPT_PERIODS, recent_periods(arms) + longest_interval(arms))


def longest_wait(arms: int) -> int:
    """After how many periods without any outcome time passes without them."""
    return min(_LONGEST_WAIT, recent_periods(arms))


@kernel
def next_fit(period: int, arms: int, longest: int) -> int:
    """The period of the fit that follows the one after `period`; the first is after period 1."""
    growth = max(1, int(period * _GROWTH)) if arms < MANY_ARMS else max(1, period)
    return period + min(growth, longest)


@kernel
def make_room(amounts: Any, outcomes: Any, clock: Any, number: int) -> None:
    """Clear the row of a period that begins."""
    if clock[PRESENT] < number:
        clock[PRESENT] = number
        clock[ROW] = row = number % len(amounts)
        for arm in range(amounts.shape[1]):
            amounts[row, arm], outcomes[row, arm] = 0.0, np.nan


@generic
def expect(sums: Any, number: int) -> None:
    """Be ready for the outcomes of period `number`; what came before is taken in when it is asked for."""


@implements(expect, Learner)
def _expect_outcomes(learner: Any, number: int) -> None:
    make_room(learner.amounts, learner.outcomes, learner.clock, number)


@implements(expect, GridSums)
def _always_ready(sums: Any, number: int) -> None:
    return


@implements(observe, Learner)
def _note(learner: Any, arm: int, outcome: float, powers: Powers) -> None:
    row = learner.clock[ROW]
    learner.amounts[row, arm] = powers.amount
    learner.outcomes[row, arm] = outcome
