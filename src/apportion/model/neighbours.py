"""Worlds of neighbouring models, in which others have studied how to divide a resource: each with its literature.

They are not of the law Y = μ·A^c + σ·A^b·ξ: an arm succeeds or not (`Jobs`, `Thresholds`, `SuccessCurves`), returns
along any concave curve (`Concave`), or the whole ends some day (`Discounted`). As everywhere, an arm that gets
nothing is not observed and returns nothing; regret is what the splits fall short of the best split of their period,
in expectation. Policies that were published for these models are in `apportion.policies.published`.
"""

from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel
from apportion._common.validation import number, refuse
from apportion.errors import InvalidValue
from apportion.model.law import numbers_per_arm, positive_per_arm, span
from apportion.model.noise import Noise, draw_noise, noise_family
from apportion.model.sums import Floats
from apportion.model.world import World

# With thresholds that differ the best set of arms is found by looking at every set.
MOST_SETS_ARMS = 16
# A sum of thresholds may exceed a budget by rounding only.
_SLACK = 1e-12


class JobsRecord(NamedTuple):
    """Jobs as compiled code sees them; `value` is that of the best split of one unit."""

    needs: Floats
    order: Any
    value: float


class Jobs(World):
    """Jobs that complete or not: arm i returns 1 with probability min(1, A/ν_i), else 0.

    ν_i (`needs`) is what makes a job certain; more is wasted. The best split fills jobs from the smallest need up,
    and its value is the number that it completes, the last one in part. Regret is in jobs.

    Literature: Lattimore, Crammer and Szepesvári (2014), *Optimal resource allocation with semi-bandit feedback*,
    regret log² T (`published.OptimisticAllocation`); Dagan and Crammer (2018), *A better resource allocation
    algorithm with semi-bandit feedback*, log T (`published.SteppedAllocation` is a rule of ours with that aim).

    >>> world = Jobs(needs=(0.4, 0.9, 0.5))
    >>> [round(share, 6) for share in world.best_split], round(world.regret([0.5, 0.0, 0.5]), 6)
    ([0.4, 0.1, 0.5], 0.111111)
    """

    needs: tuple[float, ...]

    Record = JobsRecord

    def __post_init__(self) -> None:
        given = numbers_per_arm("needs", self.needs)
        object.__setattr__(self, "needs", positive_per_arm("needs", given, len(given)))

    @property
    def best_split(self) -> tuple[float, ...]:
        """The optimal shares of one unit; what is left over is with the job of the smallest need."""
        left, shares, order = 1.0, [0.0] * self.arms, np.argsort(self.needs, kind="stable").tolist()
        for arm in order:
            shares[arm] = min(left, self.needs[arm])
            left -= shares[arm]
        shares[order[0]] += left
        return tuple(shares)

    @property
    def label(self) -> str:
        """A short name for people."""
        return f"Jobs K={self.arms} ν={span(self.needs)}"

    def record(self, b: float | None = None, c: float | None = None) -> JobsRecord:
        """The jobs in the order of their needs."""
        del b, c
        needs, order = np.array(self.needs), np.argsort(self.needs, kind="stable")
        return self.Record(needs, order, jobs_value(needs, order, 1.0))

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """min(1, A/ν), and whether it completed."""
        chance = min(1.0, amount / self.needs[arm])
        return chance, 1.0 if rng.random() < chance else 0.0

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """The jobs that the best split completes on average."""
        return self.value if budget == 1.0 else jobs_value(self.needs, self.order, budget)


@kernel
def jobs_value(needs: Any, order: Any, budget: float) -> float:
    """Jobs filled from the smallest need up."""
    left, value = budget, 0.0
    for arm in order:
        amount = min(left, needs[arm])
        value += amount / needs[arm]
        left -= amount
    return value


class ThresholdsRecord(NamedTuple):
    """Thresholds as compiled code sees them; `value` is that of the best split of one unit."""

    rates: Floats
    thresholds: Floats
    value: float


class Thresholds(World):
    """Nothing below a threshold, all above: arm i returns 1 with probability μ_i where A ≥ θ_i, else 0.

    The best split gives θ_i to the set of arms with the largest Σ μ_i that can be paid for: with one threshold for
    all the largest rates, else a knapsack (every set is looked at: at most 16 arms then). Regret is Σ of the rates
    that were given up.

    Literature: Verma, Hanawal, Rajkumar and Sankaran (2019), *Censored semi-bandits*, where an arm *loses* 1 with
    probability μ_i unless it got θ_i. What is earned there, losses that were averted, is what is earned here, and so
    is the regret; but there arms show their losses while they get too little, and here they show returns while they
    get enough (as in Verma and Hanawal 2020, *Stochastic network utility maximization with unknown utilities*), since
    an arm that gets nothing is not observed. `published.CensoredMultiplePlays` is theirs by multiple plays; regret is
    log T.

    >>> world = Thresholds(rates=(0.9, 0.5, 0.8), threshold=(0.6, 0.3, 0.5))
    >>> world.best_split, round(abs(world.regret([0.6, 0.4, 0.0])), 6), round(world.regret([0.5, 0.0, 0.5]), 6)
    ((0.6, 0.4, 0.0), 0.0, 0.6)
    """

    rates: tuple[float, ...]
    threshold: float | tuple[float, ...] = 0.25

    Record = ThresholdsRecord

    def __post_init__(self) -> None:
        object.__setattr__(self, "rates", chances_per_arm("rates", self.rates))
        object.__setattr__(self, "threshold", positive_per_arm("threshold", self.threshold, self.arms))
        if len(set(self.thresholds)) > 1 and self.arms > MOST_SETS_ARMS:
            raise refuse("threshold", f"one number where there are more than {MOST_SETS_ARMS} arms", self.threshold)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """θ_i, one per arm."""
        return self.threshold if isinstance(self.threshold, tuple) else (self.threshold,) * self.arms

    @property
    def best_split(self) -> tuple[float, ...]:
        """The optimal shares of one unit; what is left over is with the last arm that gets something."""
        chosen = np.zeros(self.arms)
        best_set(np.array(self.rates), np.array(self.thresholds), 1.0, chosen)
        shares, arms = chosen * np.array(self.thresholds), np.flatnonzero(chosen)
        shares[arms[-1] if len(arms) else 0] += 1.0 - shares.sum()
        return tuple(float(f"{share:.15g}") for share in shares.tolist())

    @property
    def label(self) -> str:
        """A short name for people."""
        return f"Thresholds K={self.arms} θ={span(self.thresholds)} μ={span(self.rates)}"

    def record(self, b: float | None = None, c: float | None = None) -> ThresholdsRecord:
        """The rates, the thresholds, and the value of one unit."""
        del b, c
        rates, thresholds = np.array(self.rates), np.array(self.thresholds)
        return self.Record(rates, thresholds, best_set(rates, thresholds, 1.0, np.zeros(self.arms)))

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """μ where the amount is enough, else 0; a success or not."""
        chance = self.rates[arm] if amount >= self.thresholds[arm] else 0.0
        return chance, 1.0 if rng.random() < chance else 0.0

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """Σ μ over the best set that can be paid for."""
        if budget == 1.0:
            return self.value
        return best_set(self.rates, self.thresholds, budget, np.zeros(len(self.rates)))


@kernel
def best_set(rates: Any, thresholds: Any, budget: float, chosen: Any) -> float:
    """The value of the best set of arms that can be paid for, which is written into `chosen` as ones."""
    arms = len(rates)
    alike = True
    for arm in range(arms):
        chosen[arm] = 0.0
        alike = alike and thresholds[arm] == thresholds[0]
    if alike:
        left, value = int((budget + _SLACK) / thresholds[0]), 0.0
        for arm in np.argsort(-rates):
            if left > 0:
                chosen[arm] = 1.0
                value += rates[arm]
                left -= 1
        return value
    best, which = 0.0, 0
    for members in range(1 << arms):
        cost, value = 0.0, 0.0
        for arm in range(arms):
            if (members >> arm) & 1:
                cost += thresholds[arm]
                value += rates[arm]
        if cost <= budget + _SLACK and value > best:
            best, which = value, members
    for arm in range(arms):
        chosen[arm] = 1.0 if (which >> arm) & 1 else 0.0
    return best


class ConcaveRecord(NamedTuple):
    """Piecewise linear curves as compiled code sees them: (K, n) knots, values and slopes."""

    knots: Floats
    values: Floats
    slopes: Floats
    sigmas: Floats
    value: float
    noise: Any


class Concave(World):
    """Any concave returns: arm i returns f_i(A) + σ_i·ξ, f_i through the points (`knots`, `values[i]`).

    Between the points f_i is straight. `knots` begin with 0 and rise; `values` has a row per arm with the return at
    each knot, 0 at 0, of which the slopes must not rise; beyond the last knot nothing is added. The best split takes
    the pieces of all arms in the order of their slopes. A smooth curve is met to any precision by more knots. Noise
    has one size for every amount (b = 0).

    Literature: Fontaine, Mannor and Perchet (2020), *An adaptive stochastic optimization algorithm for resource
    allocation*, where noisy gradients are seen: regret from log T for curves that bend to √T for straight ones, by
    bisection. Here values are seen, so gradients are differences of two (`published.NoisyBisection`,
    `published.GradientAscent`), and √T is the best rate even for curves that bend.

    >>> world = Concave(knots=(0.0, 0.5, 1.0), values=((0.0, 0.6, 0.8), (0.0, 0.5, 0.75)))
    >>> world.best_split, round(world.regret([1.0, 0.0]), 6), world.label
    ((0.5, 0.5), 0.3, 'Concave K=2 σ=0.1')
    """

    values: tuple[tuple[float, ...], ...]
    knots: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    sigma: float | tuple[float, ...] = 0.1
    noise: Noise = field(default="gaussian")  # type: ignore[assignment]

    Record = ConcaveRecord

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "knots", numbers_per_arm("knots", self.knots))
        set_(self, "values", rows_of_numbers("values", self.values, len(self.knots)))
        set_(self, "sigma", positive_per_arm("sigma", self.sigma, self.arms))
        set_(self, "noise", noise_family(self.noise))
        widths = np.diff(self.knots)
        if len(widths) < 1 or self.knots[0] != 0.0 or not (widths > 0.0).all():
            raise refuse("knots", "at least two numbers that begin with 0 and rise", self.knots)
        for arm, row in enumerate(self.values):
            slopes = np.diff(row) / widths
            if row[0] != 0.0 or slopes[-1] < 0.0 or (np.diff(slopes) > 1e-9 * (1.0 + np.abs(slopes[:-1]))).any():
                allowed = "0 at an amount of 0, and rise by less and less"
                raise refuse(f"values[{arm}]", allowed, row)

    @property
    def b(self) -> float:
        """The noise exponent: 0, one size of noise for every amount."""
        return 0.0

    @property
    def sigmas(self) -> tuple[float, ...]:
        """σ_i, one per arm."""
        return self.sigma if isinstance(self.sigma, tuple) else (self.sigma,) * self.arms

    @property
    def best_split(self) -> tuple[float, ...]:
        """The optimal shares of one unit; what brings nothing any more is with the first arm."""
        record = self.record()
        shares = np.zeros(self.arms)
        fill_pieces(record.knots, record.slopes, 1.0, shares)
        shares[0] += 1.0 - shares.sum()
        return tuple(float(f"{share:.15g}") for share in shares.tolist())

    @property
    def label(self) -> str:
        """A short name for people."""
        return f"Concave K={self.arms} σ={span(self.sigmas)}"

    def record(self, b: float | None = None, c: float | None = None) -> ConcaveRecord:
        """The curves with their slopes."""
        del b, c
        knots, values = np.array(self.knots), np.array(self.values)
        slopes = np.maximum(np.diff(values, axis=1) / np.diff(knots), 0.0)
        value = fill_pieces(knots, slopes, 1.0, np.zeros(self.arms))
        return self.Record(knots, values, slopes, np.array(self.sigmas), value, self.noise)

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """f(A), and with noise σ·ξ."""
        expected = concave_return(self.knots, self.values, self.slopes, arm, amount)
        return expected, expected + self.sigmas[arm] * draw_noise(self.noise, amount, rng)

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """The pieces of all arms in the order of their slopes, as far as the budget goes."""
        if budget == 1.0:
            return self.value
        return fill_pieces(self.knots, self.slopes, budget, np.zeros(len(self.values)))


@kernel
def concave_return(knots: Any, values: Any, slopes: Any, arm: int, amount: float) -> float:
    """f(A) of one arm."""
    piece = 0
    while piece < len(knots) - 1 and amount > knots[piece + 1]:
        piece += 1
    if piece == len(knots) - 1:
        return values[arm, piece]  # type: ignore[no-any-return]
    return values[arm, piece] + slopes[arm, piece] * (amount - knots[piece])  # type: ignore[no-any-return]


@kernel
def fill_pieces(knots: Any, slopes: Any, budget: float, amounts: Any) -> float:
    """The value of the best split, whose amounts are written down: steepest pieces first, each arm's in its order."""
    arms, pieces = slopes.shape
    following = np.zeros(arms, dtype=np.int64)
    left, value = budget, 0.0
    for arm in range(arms):
        amounts[arm] = 0.0
    while left > 0.0:
        steepest, best = -1, 0.0
        for arm in range(arms):
            if following[arm] < pieces and slopes[arm, following[arm]] > best:
                steepest, best = arm, slopes[arm, following[arm]]
        if steepest < 0:
            break
        piece = following[steepest]
        amount = min(left, knots[piece + 1] - knots[piece])
        amounts[steepest] += amount
        value += best * amount
        left -= amount
        following[steepest] += 1
    return value


class CurvesRecord(NamedTuple):
    """Success curves as compiled code sees them: (K, N + 1) chances, and the value of one unit."""

    chances: Floats
    value: float


class SuccessCurves(World):
    """Monotone success curves: arm i returns 1 with probability p_i(A), which never falls as A rises.

    `chances` has a row per arm: p_i at the amounts 0, 1/N, 2/N, …, 1. Between two of these it is that of the lower
    one, beyond 1 that of 1: any curve, whether returns diminish or not, up to a step of 1/N. The best split is in
    whole steps, found by dynamic programming. p_i(0) is what an arm returns that gets less than a step, and must
    be 0: an arm without anything returns nothing.

    Literature: Bachoc, Cesa-Bianchi, Cesari and Colomboni (2025), *Online budget allocation with censored
    semi-bandit feedback*: regret polylogarithmic where returns diminish, K√T otherwise. `published.DiscretisedCUCB`
    knows no shape and plays in it too: log T with constants that grow with N.

    >>> world = SuccessCurves(chances=((0.0, 0.1, 0.8), (0.0, 0.4, 0.5)))
    >>> world.best_split, round(world.regret([0.5, 0.5]), 6)
    ((1.0, 0.0), 0.3)
    """

    chances: tuple[tuple[float, ...], ...]

    Record = CurvesRecord

    def __post_init__(self) -> None:
        first = self.chances[0] if hasattr(self.chances, "__len__") and len(self.chances) else ()
        size = len(first) if hasattr(first, "__len__") else 0
        rows = rows_of_numbers("chances", self.chances, max(size, 2))
        for arm, row in enumerate(rows):
            if row[0] != 0.0 or max(row) > 1.0 or (np.diff(row) < 0.0).any():
                raise refuse(f"chances[{arm}]", "0 at an amount of 0, never falling, at most 1", row)
        object.__setattr__(self, "chances", rows)

    @property
    def steps(self) -> int:
        """N, the steps in one unit."""
        return len(self.chances[0]) - 1

    @property
    def best_split(self) -> tuple[float, ...]:
        """The optimal shares of one unit."""
        levels = np.zeros(self.arms, dtype=np.int64)
        best_levels(np.array(self.chances), self.steps, levels)
        shares = levels / self.steps
        shares[0] += 1.0 - shares.sum()
        return tuple(float(f"{share:.15g}") for share in shares.tolist())

    @property
    def label(self) -> str:
        """A short name for people."""
        return f"SuccessCurves K={self.arms} N={self.steps}"

    def record(self, b: float | None = None, c: float | None = None) -> CurvesRecord:
        """The curves, and the value of one unit."""
        del b, c
        chances = np.array(self.chances)
        return self.Record(chances, best_levels(chances, self.steps, np.zeros(self.arms, dtype=np.int64)))

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """p(A), and a success or not."""
        steps = self.chances.shape[1] - 1
        chance = self.chances[arm, min(steps, whole_steps(amount, steps))]
        return chance, 1.0 if rng.random() < chance else 0.0

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """The best split in whole steps."""
        if budget == 1.0:
            return self.value
        steps = whole_steps(budget, self.chances.shape[1] - 1)
        return best_levels(self.chances, steps, np.zeros(len(self.chances), dtype=np.int64))


@kernel
def whole_steps(amount: float, steps: int) -> int:
    """How many steps of 1/N an amount has; one that misses a step by rounding only has it."""
    return int(amount * steps + 1e-9)


@kernel
def best_levels(values: Any, steps: int, levels: Any) -> float:
    """The best way to divide `steps` whole steps where arm i returns values[i, n] for n of them; into `levels`.

    Dynamic programming, arm after arm: O(K·steps·N). Nothing is returned for more steps than `values` has.
    """
    arms, most = values.shape[0], values.shape[1] - 1
    best = np.full(steps + 1, 0.0)
    taken = np.zeros((arms, steps + 1), dtype=np.int64)
    for arm in range(arms):
        earlier = best.copy()
        for budget in range(steps + 1):
            best[budget] = earlier[budget] + values[arm, 0]
            for level in range(1, min(budget, most) + 1):
                value = earlier[budget - level] + values[arm, level]
                if value > best[budget]:
                    best[budget], taken[arm, budget] = value, level
    left = steps
    for arm in range(arms - 1, -1, -1):
        levels[arm] = taken[arm, left]
        left -= levels[arm]
    return best[steps]  # type: ignore[no-any-return]


class DiscountedRecord(NamedTuple):
    """A discounted world as compiled code sees it."""

    means: Floats
    sigmas: Floats
    discount: float
    best: float
    noise: Any


class Discounted(World):
    """Discounted returns at b = 1/2: Y_i = μ_i·A + σ_i·√A·ξ; the whole ends after each period with chance 1 − γ.

    Ended means that nothing returns anything any more, so a return of period t counts γ^(t−1) on average: regret is
    the discounted one, E Σ γ^(t−1)·Σ_i A_ti·Δ_i, and stays finite for every policy (at most Δ/(1 − γ)). What comes
    back before the end is not shrunk, so policies learn as they do elsewhere. The best split is all on the largest
    mean.

    Literature: Mandelbaum (1987), *Continuous multi-armed bandits and multiparameter processes*: effort is divided
    over independent processes, each of which moves as fast as it is worked on; for Brownian ones the return of an
    amount A is μ·A + σ·W(A), which is b = 1/2. With a prior on the means the Gittins index is optimal, and there is
    never a gain in dividing: b = 1/2 is the edge of the paper's transition.

    >>> world = Discounted(means=(1.0, 0.5), discount=0.9)
    >>> course = __import__("apportion").Course(world, np.random.default_rng(1))
    >>> played = course.play([[0.0, 1.0]] * 30)
    >>> played.best[[0, -1]].tolist(), world.label
    ([1.0, 0.0], 'Discounted K=2 γ=0.9 σ=1 Δmin=0.5')
    """

    means: tuple[float, ...]
    discount: float = 0.99
    sigma: float | tuple[float, ...] = 1.0
    noise: Noise = field(default="gaussian")  # type: ignore[assignment]

    Record = DiscountedRecord

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "means", numbers_per_arm("means", self.means))
        set_(self, "discount", number("discount", self.discount, above=0, below=1))
        set_(self, "sigma", positive_per_arm("sigma", self.sigma, self.arms))
        set_(self, "noise", noise_family(self.noise))

    @property
    def b(self) -> float:
        """The noise exponent, 1/2."""
        return 0.5

    @property
    def c(self) -> float:
        """The exponent of returns, 1."""
        return 1.0

    @property
    def sigmas(self) -> tuple[float, ...]:
        """σ_i, one per arm."""
        return self.sigma if isinstance(self.sigma, tuple) else (self.sigma,) * self.arms

    @property
    def best_split(self) -> tuple[float, ...]:
        """All on the largest mean."""
        best = self.means.index(max(self.means))
        return tuple(1.0 if arm == best else 0.0 for arm in range(self.arms))

    @property
    def label(self) -> str:
        """A short name for people."""
        gap = min((max(self.means) - mean for mean in self.means if mean < max(self.means)), default=0.0)
        return f"Discounted K={self.arms} γ={self.discount:g} σ={span(self.sigmas)} Δmin={gap:g}"

    def record(self, b: float | None = None, c: float | None = None) -> DiscountedRecord:
        """Arrays per arm."""
        del b, c
        sigmas = np.array(self.sigmas)
        return self.Record(np.array(self.means), sigmas, self.discount, max(self.means), self.noise)

    def initial_state(self) -> Floats:
        """1 until the end."""
        return np.ones(1)

    def advance(self: Any, number: Any, state: Any, rng: Any) -> Any:
        """After each period it may end."""
        if number > 1 and rng.random() >= self.discount:
            state[0] = 0.0

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """μ·A, and with noise σ·√A·ξ; nothing after the end."""
        expected = state[0] * self.means[arm] * amount
        noise = self.sigmas[arm] * np.sqrt(amount) * draw_noise(self.noise, amount, rng)
        return expected, expected + state[0] * noise

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """All on the largest mean; nothing after the end."""
        return state[0] * self.best * budget


def chances_per_arm(name: str, values: Any) -> tuple[float, ...]:
    """One probability per arm."""
    given = numbers_per_arm(name, values)
    return tuple(number(f"{name}[{arm}]", value, low=0, high=1) for arm, value in enumerate(given))


def rows_of_numbers(name: str, rows: Any, columns: int) -> tuple[tuple[float, ...], ...]:
    """A row of so many finite numbers for each arm."""
    try:
        table = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse(name, f"a row of {columns} numbers per arm", rows) from None
    if table.ndim != 2 or table.shape[1] != columns or not len(table):
        raise InvalidValue(f"`{name}` must be rows of {columns} numbers, one row per arm; got shape {table.shape}.")
    if not np.isfinite(table).all():
        raise refuse(name, "finite numbers", float(table[~np.isfinite(table)][0]))
    return tuple(map(tuple, table.tolist()))
