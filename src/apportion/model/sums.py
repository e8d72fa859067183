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

Where b is to be learned, the last two and Σ Y_s²·A^(−2b) are kept for each of a few exponents b (`GridSums`).
"""

import math
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
    """The sums for several exponents b at once, from which b, σ and the means can be learned (`inference.learning`).

    `information`, `score` and `square` = Σ Y²·A^(−2b) have a row per exponent; the others do not depend on b.
    """

    exponents: Floats
    count: Floats  # type: ignore[assignment]  # hides tuple.count
    resource: Floats
    log_amount: Floats  # Σ log A
    information: Floats
    score: Floats
    square: Floats

    def take(self, arms: Any) -> "GridSums":
        """The sums of some arms, in the order asked for."""
        return GridSums(self.exponents, *(values[..., arms] for values in self[1:]))


class Grid(NamedTuple):
    """The kind of `GridSums` with these exponents: one, or several evenly spaced. What a policy that learns b reads.

    Behind the arms that it divides over there may be others, paused or removed: their outcomes tell of the noise too.
    """

    exponents: tuple[float, ...]


_COMMON_ROWS = 3  # the rows of `GridSums` that do not depend on b
_ROWS_PER_EXPONENT = 3


def rows_of(kind: Any) -> int:
    """How many numbers per arm a kind of sums keeps; a kind is a record type such as `Sums`, or a `Grid`."""
    return _COMMON_ROWS + _ROWS_PER_EXPONENT * len(kind.exponents) if isinstance(kind, Grid) else len(kind._fields)


def sums_over(kind: Any, table: Floats) -> Any:
    """The sums whose rows are those of `table`: views, not copies."""
    if not isinstance(kind, Grid):
        return kind(*table)
    by_exponent = table[_COMMON_ROWS:].reshape(_ROWS_PER_EXPONENT, len(kind.exponents), table.shape[1])
    return GridSums(np.array(kind.exponents), *table[:_COMMON_ROWS], *by_exponent)


def no_sums(kind: Any, arms: int) -> Any:
    """The sums of a kind before anything was observed."""
    return sums_over(kind, np.zeros((rows_of(kind), arms)))


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
def exponent_terms(outcome: Any, root: Any, inverse: Any) -> Any:
    """What one outcome adds to information, score and square at one exponent; `root` is A^(1−b), `inverse` 1/A."""
    scaled = outcome * (root * inverse)
    return root * root, outcome * (root * (root * inverse)), scaled * scaled


@kernel
def exponent_step(amount: Any, exponents: Any) -> Any:
    """What A^(1−b) is multiplied by from one exponent to the next."""
    return amount ** (exponents[0] - exponents[1]) if len(exponents) > 1 else amount


@implements(observe, GridSums)
def _observe_grid(sums: Any, arm: int, outcome: float, powers: Powers) -> None:
    # Of the powers only the amount may be used: the others know the b that is to be learned.
    sums.count[arm] += 1.0
    sums.resource[arm] += powers.amount
    sums.log_amount[arm] += math.log(powers.amount)
    root, step = powers.amount ** (1.0 - sums.exponents[0]), exponent_step(powers.amount, sums.exponents)
    inverse = 1.0 / powers.amount
    for index in range(len(sums.exponents)):
        information, score, square = exponent_terms(outcome, root, inverse)
        sums.information[index, arm] += information
        sums.score[index, arm] += score
        sums.square[index, arm] += square
        root *= step


def grid_terms(outcome: Floats, amount: Floats, exponents: tuple[float, ...]) -> list[Any]:
    """`_observe_grid` for all arms at once: what is added to each row."""
    root, step, inverse = amount ** (1.0 - exponents[0]), exponent_step(amount, exponents), 1.0 / amount
    found = []
    for _ in exponents:
        found.append(exponent_terms(outcome, root, inverse))
        root = root * step
    return [1.0, amount, np.log(amount), *(term for kind in zip(*found) for term in kind)]
