"""What every policy needs to know of the past: nine sums per arm, whatever the number of periods.

The law is Y = μ·A^c + σ·A^b·ξ; c = 1 is the paper's. For one arm, over the periods s in which it got an amount
A_s > 0 and an outcome Y_s came back:

============  =================  ===================================================================
`count`       n = Σ 1            how many outcomes
`resource`    S = Σ A            how much was spent
`response`    M = Σ A^c          what would have come back at a mean of 1: S where c = 1
`noise`       V = Σ A^(2b)       the variance of `reward`, in units of σ²
`reward`      Y = Σ Y_s          what came back
`ratio`       Q = Σ Y_s / A^c    the sum of returns per unit of response
`ratio_noise` W = Σ A^(2b−2c)    the variance of `ratio`, in units of σ²
`information` B = Σ A^(2c−2b)    the Fisher information about the arm's mean, in units of 1/σ²
`score`       Z = Σ A^(c−2b)Y_s  information-weighted reward: Z / B is the best linear estimate
============  =================  ===================================================================

An arm with A = 0 is not observed and adds nothing, also at b = 0 and b = c. Amounts are raw (5000 EUR, 12
kits), not shares: a budget that changes from period to period needs no special case.

Where the law is to be learned, the last two and Σ Y_s²·A^(−2b) are kept for a grid of exponents (`GridSums`).
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion._common.compiled import generic, implements, kernel

Floats = NDArray[np.float64]

# From this many arms on, compiled loops beat whole-array arithmetic by enough to be worth loading Numba.
MANY_ARMS = 512


class Sums(NamedTuple):
    """The nine sums of every arm, as arrays; what a policy reads."""

    count: Floats  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    resource: Floats
    response: Floats
    noise: Floats
    reward: Floats
    ratio: Floats
    ratio_noise: Floats
    information: Floats
    score: Floats

    def take(self, arms: Any) -> "Sums":
        """The sums of some arms, in the order asked for."""
        return Sums(*(values[arms] for values in self))


class Powers(NamedTuple):
    """The powers of an amount A > 0, all that it says alone about its outcome. Numbers or arrays."""

    amount: Any
    response: Any  # A^c: the outcome's mean, in units of μ
    deviation: Any  # A^b: the outcome's standard deviation, in units of σ
    noise: Any  # A^(2b)
    inverse: Any  # A^(−c)
    ratio_noise: Any  # A^(2b−2c)
    information: Any  # A^(2c−2b)
    score: Any  # A^(c−2b)
    b: float
    c: float


@kernel
def powers_of(amount: Any, b: float, c: float = 1.0) -> Powers:
    """The powers of an amount A > 0; number or array.

    Two powers serve all, one where c = 1: with r = A^(c−b), A^b = A^c / r, and products are ordered so that none
    underflows before its result does (A² / A^(2b) would be 0/0 at A = 1e-170, b = 0).
    """
    response = amount if c == 1.0 else amount**c
    root = amount ** (c - b)
    inverse, inverse_root = 1.0 / response, 1.0 / root
    deviation = response * inverse_root
    return Powers(
        amount,
        response,
        deviation,
        deviation * deviation,
        inverse,
        inverse_root * inverse_root,
        root * root,
        root * (root * inverse),
        b,
        c,
    )


@kernel
def outcome_terms(outcome: Any, powers: Powers) -> Sums:
    """What one outcome adds to the nine sums; `powers` are those of its amount."""
    return Sums(
        1.0,  # type: ignore[arg-type]  # numbers here where `Sums` has arrays
        powers.amount,
        powers.response,
        powers.noise,
        outcome,
        outcome * powers.inverse,
        powers.ratio_noise,
        powers.information,
        outcome * powers.score,
    )


class InformationSums(NamedTuple):
    """Those of the nine sums that policies around μ* read; a simulation keeps no others for them."""

    count: Floats  # type: ignore[assignment]  # hides tuple.count
    information: Floats
    score: Floats


class RatioSums(NamedTuple):
    """Those that policies around μ2 read."""

    count: Floats  # type: ignore[assignment]  # hides tuple.count
    ratio: Floats


class RewardSums(NamedTuple):
    """Those that policies around μ1 read."""

    count: Floats  # type: ignore[assignment]  # hides tuple.count
    response: Floats
    noise: Floats
    reward: Floats
    information: Floats
    score: Floats


class GridSums(NamedTuple):
    """The sums for a grid of exponents c and b, from which the law and the means are learned (`inference.learning`).

    `information` = Σ A^(2c−2b), `score` = Σ A^(c−2b)·Y and `square` = Σ A^(−2b)·Y² have a row per power of A; which
    rows belong to c and b is said by `information_row` and its like. The other sums do not depend on them. `refine_b`
    interpolates between the exponents b (`refinement`): f on the grid is f·refine_bᵀ on a finer one.
    """

    c: Floats
    b: Floats
    refine_b: Floats
    count: Floats  # type: ignore[assignment]  # hides tuple.count
    resource: Floats
    log_amount: Floats  # Σ log A
    fractions: Floats  # how many outcomes were no whole numbers from 0 on: none where they are counts
    information: Floats
    score: Floats
    square: Floats

    def take(self, arms: Any) -> "GridSums":
        """The sums of some arms, in the order asked for."""
        return GridSums(*self[:GRID_FIELDS], *(values[..., arms] for values in self[GRID_FIELDS:]))


GRID_FIELDS = 3  # of `GridSums`: what belongs to the grid and not to the arms


class Grid(NamedTuple):
    """The kind of `GridSums` with these exponents: of each one, or several at even steps, of c twice those of b.

    Behind the arms that a policy divides over there may be others, paused or removed: their outcomes tell of the law
    too.
    """

    c: tuple[float, ...]
    b: tuple[float, ...]

    def new(self, arms: int) -> GridSums:
        """The sums before anything was observed."""
        sums: GridSums = sums_over(self, np.zeros((rows_of(self), arms)))
        return sums

    @property
    def powers(self) -> tuple["Ladder", "Ladder", "Ladder"]:
        """The powers of A for `information`, `score` and `square`: three ladders of exponents."""
        bend, noise = (_step(values) for values in (self.c, self.b))
        step = noise or bend
        rows = information_row(self.c, self.b, len(self.c) - 1, 0) + 1
        return (
            Ladder(2.0 * (self.c[0] - self.b[-1]), 2.0 * step, rows),
            Ladder(self.c[0] - 2.0 * self.b[-1], bend or 2.0 * noise, len(self.c) + len(self.b) - 1),
            Ladder(-2.0 * self.b[-1], 2.0 * noise, len(self.b)),
        )


def _step(values: tuple[float, ...]) -> float:
    """From one exponent to the next; 0 where there is one."""
    return (values[-1] - values[0]) / (len(values) - 1) if len(values) > 1 else 0.0


# So many points stand for one step of a grid.
POINTS_PER_STEP = 4


@cache
def refinement(size: int) -> Floats:
    """The matrix that makes of values at `size` even places those at all places between, by cubics."""
    if size < 4:
        return np.eye(size)
    places = np.arange((size - 1) * POINTS_PER_STEP + 1) / POINTS_PER_STEP
    matrix = np.zeros((len(places), size))
    for row, place in enumerate(places):
        first = min(max(int(place) - 1, 0), size - 4)
        x = place - first
        matrix[row, first : first + 4] = (
            -(x - 1.0) * (x - 2.0) * (x - 3.0) / 6.0,
            x * (x - 2.0) * (x - 3.0) / 2.0,
            -x * (x - 1.0) * (x - 3.0) / 2.0,
            x * (x - 1.0) * (x - 2.0) / 6.0,
        )
    return matrix


class Ladder(NamedTuple):
    """The exponents first, first + step, …: `size` of them."""

    first: float
    step: float
    size: int


@kernel
def information_row(c: Any, b: Any, c_index: int, b_index: int) -> int:
    """The row of `GridSums.information` for two exponents of the grid, by their indices."""
    return c_index * (2 if len(b) > 1 else 1) + len(b) - 1 - b_index


@kernel
def score_row(c: Any, b: Any, c_index: int, b_index: int) -> int:
    """The row of `GridSums.score`."""
    return c_index + len(b) - 1 - b_index


@kernel
def square_row(b: Any, b_index: int) -> int:
    """The row of `GridSums.square`."""
    return len(b) - 1 - b_index


_COMMON_ROWS = 4  # the rows of `GridSums` that do not depend on the exponents


def rows_of(kind: Any) -> int:
    """How many numbers per arm a kind of sums keeps; a kind is a record type such as `Sums`, or a `Grid`."""
    if isinstance(kind, Grid):
        return _COMMON_ROWS + sum(ladder.size for ladder in kind.powers)
    return len(kind._fields)


def sums_over(kind: Any, table: Floats) -> Any:
    """The sums whose rows are those of `table`: views, not copies."""
    if not isinstance(kind, Grid):
        return kind(*table)
    information, score, square = (ladder.size for ladder in kind.powers)
    powers = np.split(table[_COMMON_ROWS:], [information, information + score])
    assert len(powers[2]) == square
    refine_b = refinement(len(kind.b))
    return GridSums(np.array(kind.c), np.array(kind.b), refine_b, *table[:_COMMON_ROWS], *powers)


def no_sums(kind: Any, arms: int) -> Any:
    """The sums of a kind before anything was observed."""
    return kind.new(arms) if hasattr(kind, "new") else sums_over(kind, np.zeros((rows_of(kind), arms)))


@generic
def observe(sums: Any, arm: int, outcome: float, powers: Powers) -> None:
    """Add one outcome to the sums of `arm`, in place. The simulation's inner loop."""


@implements(observe, Sums)
def _observe_all(sums: Any, arm: int, outcome: float, powers: Powers) -> None:
    added = outcome_terms(outcome, powers)
    sums.count[arm] += added.count
    sums.resource[arm] += added.resource
    sums.response[arm] += added.response
    sums.noise[arm] += added.noise
    sums.reward[arm] += added.reward
    sums.ratio[arm] += added.ratio
    sums.ratio_noise[arm] += added.ratio_noise
    sums.information[arm] += added.information
    sums.score[arm] += added.score


@implements(observe, InformationSums)
def _observe_information(sums: Any, arm: int, outcome: float, powers: Powers) -> None:
    added = outcome_terms(outcome, powers)
    sums.count[arm] += added.count
    sums.information[arm] += added.information
    sums.score[arm] += added.score


@implements(observe, RatioSums)
def _observe_ratios(sums: Any, arm: int, outcome: float, powers: Powers) -> None:
    added = outcome_terms(outcome, powers)
    sums.count[arm] += added.count
    sums.ratio[arm] += added.ratio


@implements(observe, RewardSums)
def _observe_rewards(sums: Any, arm: int, outcome: float, powers: Powers) -> None:
    added = outcome_terms(outcome, powers)
    sums.count[arm] += added.count
    sums.response[arm] += added.response
    sums.noise[arm] += added.noise
    sums.reward[arm] += added.reward
    sums.information[arm] += added.information
    sums.score[arm] += added.score


@kernel
def observe_grid(sums: Any, amounts: Any, outcomes: Any, first: int, last: int) -> None:
    """Add the outcomes of some periods to `GridSums`; period t is in row t of the arrays, in turn.

    There is one outcome per arm, NaN or an amount of 0 where there is none. Successive outcomes of one amount share
    its powers: a split that is kept costs next to nothing.
    """
    bend = (sums.c[-1] - sums.c[0]) / (len(sums.c) - 1) if len(sums.c) > 1 else 0.0
    step = (sums.b[-1] - sums.b[0]) / (len(sums.b) - 1) if len(sums.b) > 1 else bend
    for arm in range(amounts.shape[1]):
        amount, number, total, squares = 0.0, 0.0, 0.0, 0.0
        for period in range(first, last + 1):
            row = period % len(amounts)
            outcome = outcomes[row, arm]
            if amounts[row, arm] > 0.0 and not math.isnan(outcome):
                if amounts[row, arm] != amount:
                    add_run(sums, arm, bend, step, amount, number, total, squares)
                    amount, number, total, squares = amounts[row, arm], 0.0, 0.0, 0.0
                sums.fractions[arm] += is_fraction(outcome)
                number += 1.0
                total += outcome
                squares += outcome * outcome
        add_run(sums, arm, bend, step, amount, number, total, squares)


@kernel
def add_run(
    sums: Any, arm: int, bend: float, step: float, amount: float, number: float, total: float, squares: float
) -> None:
    """Add so many outcomes of one amount, with this sum and sum of squares, to the `GridSums` of an arm.

    `bend` and `step` are those of the grid in c and in b. Powers rise by products, so that four of them and the
    logarithm serve the whole grid.
    """
    if number == 0.0:
        return
    least_c, most_b, log = sums.c[0], sums.b[-1], math.log(amount)
    sums.count[arm] += number
    sums.resource[arm] += number * amount
    sums.log_amount[arm] += number * log
    two = math.exp(2.0 * step * log)
    rise = two if len(sums.b) > 1 else math.exp(bend * log)
    climb(sums.information, arm, number * math.exp(2.0 * (least_c - most_b) * log), two)
    climb(sums.score, arm, total * math.exp((least_c - 2.0 * most_b) * log), rise)
    climb(sums.square, arm, squares * math.exp(-2.0 * most_b * log), two)


@kernel
def climb(table: Any, arm: int, power: float, rise: float) -> None:
    """Add `power` to an arm's first row of `table`, power·rise to the second, and so on."""
    for row in range(table.shape[0]):
        table[row, arm] += power
        power *= rise


@kernel
def forget(sums: Any) -> None:
    """Begin anew: all sums of `GridSums` 0."""
    sums.count[:] = 0.0
    sums.resource[:] = 0.0
    sums.log_amount[:] = 0.0
    sums.fractions[:] = 0.0
    sums.information[:, :] = 0.0
    sums.score[:, :] = 0.0
    sums.square[:, :] = 0.0


@kernel
def is_fraction(outcome: Any) -> Any:
    """1 for an outcome that is no count (negative, or not whole), else 0. A number or an array."""
    return 1.0 * ((outcome != np.floor(outcome)) | (outcome < 0.0))


def grid_terms(outcome: Floats, amount: Floats, kind: Grid) -> list[Any]:
    """What an outcome adds to each row of `GridSums`, for all arms at once."""
    found = [1.0, amount, np.log(amount), is_fraction(outcome)]
    for ladder, factor in zip(kind.powers, (1.0, outcome, outcome * outcome)):
        found += list(amount ** (ladder.first + ladder.step * np.arange(ladder.size))[:, np.newaxis] * factor)
    return found
