"""The theorems on diminishing returns (docs/theory.md, section 11), step by step and by simulation.

Error budget. Everything is seeded. A simulated mean is held to 4.5 standard errors (7e-6 two-sided), and where a
statement is asymptotic to a stated share of it more; there are fewer than 25 such comparisons: below 2e-4 together.
"""

import math

import numpy as np
import pytest

from apportion import theory
from apportion.errors import InvalidValue
from apportion.model import response

ERRORS = 4.5


def splits_of(estimates, c):
    """The optimal split of every row of estimates; those that are not positive get nothing."""
    weights = np.maximum(estimates, 0.0)
    weights = (weights / np.maximum(weights.max(axis=1, keepdims=True), 1e-300)) ** (1 / (1 - c))
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights / np.maximum(total, 1e-300), 1 / estimates.shape[1])


class World:
    """Many runs at once of the law Y = μ A^c + σ A^b ξ, with the sums for weights of `told`."""

    def __init__(self, means, b, sigma, c, runs, seed, told=None):
        self.means, self.b, self.sigma, self.c = np.array(means), b, np.array(sigma), c
        self.told = b if told is None else told
        self.rng = np.random.default_rng(seed)
        self.information, self.score = np.zeros((2, runs, len(means)))
        self.lost = np.zeros(runs)
        self.best = response.value(np.maximum(self.means, 0.0), c=c)

    def play(self, shares):
        seen = shares > 0
        amounts = np.where(seen, shares, 1.0)
        outcomes = self.means * amounts**self.c
        noise = self.sigma * amounts**self.b * self.rng.standard_normal(shares.shape)
        self.lost += self.best - np.sum(np.where(seen, outcomes, 0.0), axis=1)
        self.information += np.where(seen, amounts ** (2 * self.c - 2 * self.told), 0.0)
        self.score += np.where(seen, amounts ** (self.c - 2 * self.told) * (outcomes + noise), 0.0)

    @property
    def estimates(self):
        return self.score / self.information


def slope(world, split, start, horizon):
    """What one unit of log T costs between two periods, with its error."""
    arms = len(world.means)
    shares = np.full(world.lost.shape + (arms,), 1 / arms)
    for period in range(1, horizon + 1):
        if period == start + 1:
            world.lost[:] = 0.0
        world.play(shares)
        shares = split(world, period + 1)
    found = world.lost / math.log(horizon / start)
    return found.mean(), found.std() / math.sqrt(len(found))


def projected(world, period):
    return splits_of(np.clip(world.estimates, 0.3, 2.0), world.c)


def floored(alpha):
    def split(world, period):
        shares = np.maximum(splits_of(world.estimates, world.c), period**-alpha / len(world.means))
        return shares / shares.sum(axis=1, keepdims=True)

    return split


CASE = {"means": (1.0, 0.8, 0.6), "b": 0.4, "sigma": (0.1, 0.2, 0.3), "c": 0.7}


# ---- Lemmas 7 and 8 -------------------------------------------------------------------------------------------


def test_the_loss_of_a_split_is_its_formula_and_at_least_quadratic():
    """Lemma 8 (1, 2): V Σ a g(x/a − 1), and at least ½ c(1−c) Σ μ (x − a)², also at the corners of the simplex."""
    rng = np.random.default_rng(1)
    for c in (0.1, 0.5, 0.9):
        means = rng.uniform(0.2, 2.0, 4)
        best, value = response.optimal_split(means, c=c), response.value(means, c=c)
        for split in (*rng.dirichlet([0.3] * 4, 200), *np.eye(4)):
            lost = value - float(means @ split**c)
            moved = split / best - 1
            assert value * float(best @ (1 + c * moved - (1 + moved) ** c)) == pytest.approx(lost, abs=1e-9)
            assert lost >= 0.5 * c * (1 - c) * float(means @ (split - best) ** 2) - 1e-14


# ---- Theorem E: the upper bound -------------------------------------------------------------------------------


@pytest.mark.parametrize("told", [0.0, 0.75])
def test_a_wrong_b_costs_nothing_in_the_first_order(told):
    """Theorem E (1): the weights of a wrong b, and no σ at all; 5% for what is not asymptotic yet."""
    mean, error = slope(World(**CASE, runs=300, seed=3, told=told), projected, 400, 4000)
    predicted = theory.bent_constant(**CASE)
    assert abs(mean - predicted) < ERRORS * error + 0.05 * predicted
    assert error < 0.08 * predicted


@pytest.mark.parametrize("alpha", [0.6, 1.2])
def test_a_floor_does_what_projection_does(alpha):
    """Theorem E (2): no box of means is known, every arm keeps t^(−α)/K, α(2c − 2b) < 1."""
    mean, error = slope(World(**CASE, runs=300, seed=4), floored(alpha), 400, 4000)
    predicted = theory.bent_constant(**CASE)
    assert abs(mean - predicted) < ERRORS * error + 0.05 * predicted


def test_losing_arms_cost_a_bounded_amount_above_half_of_c():
    """Theorem E (3): μ_3 < 0, b = 0.5 > c/2, 1/c < α < 1/(2c−2b): the slope is that of the other two."""
    case = {"means": (1.0, 0.8, -0.5), "b": 0.5, "sigma": (0.2, 0.2, 0.2), "c": 0.7}
    mean, error = slope(World(**case, runs=400, seed=5), floored(1.8), 800, 8000)
    predicted = theory.bent_constant((1.0, 0.8), 0.5, 0.2, 0.7)
    tail = 0.5 / 3**0.7 * math.fsum(t ** (-1.8 * 0.7) for t in range(801, 8001)) / math.log(10)
    assert abs(mean - predicted - tail) < ERRORS * error + 0.1 * predicted + 0.2 * tail


def test_one_draw_doubles_the_constant_and_the_mean_of_many_keeps_it():
    """Corollary of Theorem E: fresh draws from N(μ*, σ²/B), and the mean over eight antithetic ones fixed once."""
    fixed = np.random.default_rng(0).standard_normal((4, 3))
    fixed = np.concatenate([fixed, -fixed])

    def one(world, period):
        spread = world.sigma / np.sqrt(world.information)
        return splits_of(
            np.clip(world.estimates + spread * world.rng.standard_normal(spread.shape), 0.3, 2.0), world.c
        )

    def many(world, period):
        spread = world.sigma / np.sqrt(world.information)
        return np.mean([splits_of(np.clip(world.estimates + spread * z, 0.3, 2.0), world.c) for z in fixed], axis=0)

    predicted = theory.bent_constant(**CASE)
    mean, error = slope(World(**CASE, runs=200, seed=6), one, 300, 3000)
    assert abs(mean - 2 * predicted) < ERRORS * error + 0.1 * predicted
    mean, error = slope(World(**CASE, runs=150, seed=7), many, 300, 3000)
    assert abs(mean - predicted) < ERRORS * error + 0.05 * predicted


def test_a_floor_does_for_draws_what_projection_does():
    """Corollary of Theorem E with the floor of `Matching`, α = 3/2, at c − b = 0.3; no box of means is known."""
    fixed = np.random.default_rng(1).standard_normal((3, 3))

    def many(world, period):
        spread = world.sigma / np.sqrt(world.information)
        draws = [splits_of(world.estimates + sign * spread * z, world.c) for z in fixed for sign in (1, -1)]
        shares = np.maximum(np.mean(draws, axis=0), period**-1.5 / 3)
        return shares / shares.sum(axis=1, keepdims=True)

    predicted = theory.bent_constant(**CASE)
    mean, error = slope(World(**CASE, runs=150, seed=17), many, 300, 3000)
    assert abs(mean - predicted) < ERRORS * error + 0.05 * predicted
    assert error < 0.1 * predicted


def test_without_projection_or_floor_an_arm_is_locked_out_and_regret_is_linear():
    """Proposition 2: the chance of a lockout after period 1 is exact, and the regret is above the linear bound."""
    means, b, sigma, c, horizon, runs = (1.0, 0.5), 0.5, 1.0, 0.5, 200, 4000
    world = World(means, b, (sigma, sigma), c, runs, seed=8)
    shares = np.full((runs, 2), 0.5)
    for period in range(1, horizon + 1):
        world.play(shares)
        positive = np.any(world.estimates > 0, axis=1, keepdims=True)
        shares = np.where(positive, splits_of(world.estimates, c), shares)
        if period == 1:
            locked = np.mean((shares[:, 0] == 0.0) & (shares[:, 1] > 0.0))
    below = [0.5 * math.erfc(mean / math.sqrt(2)) for mean in means]
    chance = below[0] * (1 - below[1])
    assert abs(locked - chance) < ERRORS * math.sqrt(chance / runs)
    bound = theory.lockout_regret(means, b, sigma, c, horizon)
    assert bound == pytest.approx((horizon - 1) * (math.sqrt(1.25) - 0.5) * chance, rel=1e-12)
    assert world.lost.mean() - ERRORS * world.lost.std() / math.sqrt(runs) > bound
    assert theory.lockout_regret((1.0,), b, sigma, c, horizon) == 0.0


# ---- Theorem F: the lower bound -------------------------------------------------------------------------------


def test_van_trees_with_the_jacobian_of_the_optimum_gives_the_constant():
    """Theorem F, last step: ½ c(1−c) V tr(W D Λ Dᵀ) = C*, D by differences, Λ = σ²a^(2b−2c), W = 1/a."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        arms, c = int(rng.integers(2, 6)), float(rng.uniform(0.2, 0.9))
        b = float(rng.uniform(0.0, c))
        means, sigma = rng.uniform(0.5, 1.5, arms), rng.uniform(0.5, 2.0, arms)
        best, value = response.optimal_split(means, c=c), response.value(means, c=c)
        step = 1e-5
        jacobian = np.array(
            [
                (response.optimal_split(means + step * unit, c=c) - response.optimal_split(means - step * unit, c=c))
                / (2 * step)
                for unit in np.eye(arms)
            ]
        ).T
        p = 1 / (1 - c)
        np.testing.assert_allclose(jacobian, p * best[:, None] * (np.eye(arms) - best) / means, rtol=1e-5, atol=1e-8)
        spread = jacobian @ np.diag(sigma**2 * best ** (2 * b - 2 * c)) @ jacobian.T
        found = 0.5 * c * (1 - c) * value * float(np.trace(spread / best[:, None]))
        assert found == pytest.approx(theory.bent_constant(means, b, sigma, c), rel=1e-5)


def test_the_score_of_the_likelihood_has_the_information_as_its_variance_and_none_between_arms():
    """Theorem F, the Fisher information of adaptive shares: E[S Sᵀ] = diag(E B_i/σ_i²), shares that react."""
    case = {"means": (1.0, 0.7), "b": 0.3, "sigma": (0.5, 1.0), "c": 0.6}
    runs, world = 20_000, World(**case, runs=20_000, seed=9)
    shares = np.full((runs, 2), 0.5)
    for _ in range(6):
        world.play(shares)
        shares = splits_of(np.clip(world.estimates, 0.3, 2.0), 0.6)
    score = (world.score - world.means * world.information) / world.sigma**2
    products = np.stack([score[:, 0] ** 2, score[:, 1] ** 2, score[:, 0] * score[:, 1]], axis=1)
    expected = [*(world.information.mean(axis=0) / world.sigma**2), 0.0]
    assert np.all(np.abs(products.mean(axis=0) - expected) < ERRORS * products.std(axis=0) / math.sqrt(runs))


def test_where_b_exceeds_c_two_periods_tell_all_and_regret_does_not_grow():
    """Proposition 3: a tiny amount x = T^(−1/(2(b−c))) once for each arm; the regret is at most 2V + O(1)."""
    means, b, sigma, c, runs = np.array([1.0, 0.6]), 0.8, 0.5, 0.4, 2000
    rng, found = np.random.default_rng(10), []
    value = response.value(means, c=c)
    for horizon in (10**2, 10**4, 10**6):
        x = horizon ** (-1 / (2 * (b - c)))
        errors = sigma * x ** (b - c) * rng.standard_normal((runs, 2))
        assert errors.std() == pytest.approx(sigma / math.sqrt(horizon), rel=0.1)
        split = splits_of(np.clip(means + errors, 0.3, 2.0), c)
        later = (horizon - 2) * np.mean(value - split**c @ means)
        found.append(2 * value + later)
    assert max(found) < 1.1 * min(found)


def test_where_b_exceeds_c_what_was_told_once_is_used_up_and_the_logarithm_comes_back():
    """Proposition 3 (3), its mechanism: tiny amounts once tell X, then a period at the optimum tells a^q and loses
    ½ c/(1−c) V Σ a(1−a)σ²/(μ²(X + t a^q)): nothing to speak of before T = X, and log T after. 5% for higher orders.
    """
    means, b, sigma, c, runs, told = np.array([1.0, 0.6]), 0.8, 0.1, 0.4, 400, 200.0
    q, best, value = 2 * c - 2 * b, response.optimal_split(means, c=c), response.value(means, c=c)
    world = World(means, b, (sigma, sigma), c, runs, seed=16)
    x = told ** (1 / q)
    for split in ([1 - x, x], [x, 1 - x]):
        world.play(np.tile(split, (runs, 1)))
    assert world.information[0] == pytest.approx([told, told], rel=0.02)
    slopes = []
    for start, end in ((0, 20), (20, 400), (400, 5000)):
        world.lost[:] = 0.0
        for _ in range(start, end):
            world.play(projected(world, None))
        t = np.arange(start, end)[:, None] * best**q + told
        each = 0.5 * c / (1 - c) * value * np.sum(best * (1 - best) * sigma**2 / means**2 / t, axis=1)
        error = world.lost.std() / math.sqrt(runs)
        assert abs(world.lost.mean() - each.sum()) < ERRORS * error + 0.05 * each.sum()
        slopes.append(world.lost.mean() / math.log(end / max(start, 1)))
    assert slopes[0] < 0.1 * slopes[2]


# ---- Theorem G: a wrong or a learned c ------------------------------------------------------------------------


@pytest.mark.parametrize(("believed", "factor"), [(0.7, 1.19), (0.8, 1.5625)])
def test_a_wrong_exponent_multiplies_the_constant_as_predicted(believed, factor):
    """Theorem G: means of Y/A^c′, split for c′; 4% and 10% for what is not asymptotic yet."""
    means, b, sigma, c = np.array([1.0, 0.8, 0.6]), 0.5, 0.1, 0.5
    runs, start, horizon = 300, 500, 6000
    rng, value = np.random.default_rng(11), response.value(means, c=c)
    shares, total, lost = np.full((runs, 3), 1 / 3), np.zeros((runs, 3)), np.zeros(runs)
    for period in range(1, horizon + 1):
        if period > start:
            lost += value - shares**c @ means
        total += (means * shares**c + sigma * shares**b * rng.standard_normal(shares.shape)) / shares**believed
        shares = splits_of(total / period, believed)
    found = lost / math.log(horizon / start)
    error = found.std() / math.sqrt(runs)
    assert theory.wrong_exponent_factor(c, believed) == pytest.approx(factor, abs=0.005)
    predicted = factor * theory.bent_constant(means, b, sigma, c)
    assert abs(found.mean() - predicted) < ERRORS * error + 0.04 * predicted
    assert error < 0.06 * predicted


def test_a_common_exponent_that_is_learned_costs_nothing_in_the_first_order():
    """Theorem G with a learned c'_t: arm 1 gets two amounts by turns in 200 periods before the first, and in period
    512 = 2^(3²) ten times more, all of which stay out of the means. 5% for what is not asymptotic yet.
    """
    means, b, sigma, c = np.array([1.0, 0.8, 0.6]), 0.5, 0.1, 0.5
    runs, again, start, horizon = 300, 512, 600, 6000
    rng, value = np.random.default_rng(15), response.value(means, c=c)
    even, told = np.full((runs, 3), 1 / 3), np.zeros((2, runs))

    def play(shares):
        return means * shares**c + sigma * shares**b * rng.standard_normal((runs, 3))

    def learned(pairs):
        for _ in range(pairs):
            for sums, first in zip(told, (1 / 3, 1 / 6)):
                sums += play(np.tile([first, (1 - first) / 2, (1 - first) / 2], (runs, 1)))[:, 0]
        return np.clip(np.log2(told[0] / told[1]), 0.3, 0.62)[:, None]  # 1 − 0.3 < 2 (1 − 0.62)

    believed, lost = learned(100), np.zeros(runs)
    history = [(even, play(even))]
    total = history[0][1] * even**-believed
    for period in range(2, horizon + 1):
        split = splits_of(total, believed)
        back = play(split)
        total += back * split**-believed
        if period > start:
            lost += value - split**c @ means
        elif period <= again:
            history.append((split, back))
        if period == again:
            before, believed = believed, learned(10)
            total = np.sum([back * split**-believed for split, back in history], axis=0)
    found = lost / math.log(horizon / start)
    error, predicted = found.std() / math.sqrt(runs), theory.bent_constant(means, b, sigma, c)
    assert np.mean(believed) == pytest.approx(c, abs=0.01)
    assert 0.01 < np.std(believed) < np.std(before)  # it was not known, and is known better
    assert abs(found.mean() - predicted) < ERRORS * error + 0.05 * predicted
    assert found.mean() + ERRORS * error < theory.wrong_exponent_factor(c, 0.8) * predicted


def test_the_linear_recursion_has_the_factor_and_below_a_half_outgrows_it():
    """w_{t+1} = (1 − u/(t+1))² w_t + 1/(t+1)²: t·w_t → 1/(2u − 1) for u > 1/2, and grows without limit below."""
    for u in (0.4, 0.5, 0.6, 1.0, 3.0):
        w, t, checkpoints = 0.0, 0, []
        for t in range(5, 200_000):
            w = (1 - u / (t + 1)) ** 2 * w + 1 / (t + 1) ** 2
            if t in (2000, 199_999):
                checkpoints.append((t + 1) * w)
        if u > 0.5:
            assert checkpoints[1] == pytest.approx(1 / (2 * u - 1), rel=0.15 if u < 1 else 0.01)
        else:
            assert checkpoints[1] > 1.3 * checkpoints[0]


# ---- Theorem H: a c for each arm ------------------------------------------------------------------------------


@pytest.mark.parametrize(("b", "c"), [(0.0, 0.5), (0.3, 0.4), (0.2, 0.9)])
def test_the_steps_of_the_bound_for_an_exponent_per_arm(b, c):
    """Divergence at most δ²(μL)²(x−a)²/2σ², the optimum moves by kδ or more, and the loss is at least quadratic."""
    means, sigma = np.array([1.0, 0.7, 0.4]), 0.8
    shares = response.optimal_split(means, c=c)
    others = response.value(means[1:], c=c)
    a, mean, h = float(shares[0]), 1.0, c - b
    slope_ = max(a ** (h - 1) * max(math.sqrt(2), 2 / (math.e * h)), a**-2)
    k = 1 / (2 * c * (1 - c) * (1 / a + 2 / (1 - a)))
    x = np.concatenate([np.geomspace(1e-12, 1.0, 4000), np.linspace(1e-6, 1.0, 4000)])
    for delta in np.array([0.01, 0.3, 1.0]) * min(c, (1 - c) / 2):
        apart = (mean * x ** (c - b) * ((x / a) ** delta - 1)) ** 2 / (2 * sigma**2)
        assert np.all(apart <= delta**2 * (mean * slope_ * (x - a)) ** 2 / (2 * sigma**2) + 1e-15)
        earned = mean * x**c * (x / a) ** delta + others * (1 - x) ** c
        best = x[earned.argmax()]
        assert best >= a + k * delta - 1e-3
        lost = earned.max() - earned
        assert np.all(lost >= 0.25 * c * (1 - c) * mean * (x - best) ** 2 - 1e-4)


def test_exploring_for_the_root_of_the_horizon_attains_the_rate_and_the_bound_is_below():
    """Theorem H, upper part: ⌈√T⌉ periods of two fixed splits, then the optimum of what they told."""
    means, exponents, sigma, b = np.array([1.0, 0.8]), np.array([0.5, 0.5]), 0.2, 0.2
    amounts = np.array([[0.5, 0.5], [0.25, 0.75]])
    rng, runs, totals = np.random.default_rng(12), 2000, []
    grid = np.linspace(0.0, 1.0, 2001)[1:-1]
    truth = means[0] * grid ** exponents[0] + means[1] * (1 - grid) ** exponents[1]
    for horizon in (10**5, 10**7, 10**9):
        half = math.ceil(math.sqrt(horizon) / 2)
        noise = sigma * amounts**b / math.sqrt(half) * rng.standard_normal((runs, 2, 2))
        told = np.maximum(means * amounts**exponents + noise, 0.05)
        learned = np.clip(np.log(told[:, 0] / told[:, 1]) / np.log(amounts[0] / amounts[1]), 0.2, 0.8)
        scale = told[:, 0] / amounts[0] ** learned
        earned = scale[:, :1] * grid ** learned[:, :1] + scale[:, 1:] * (1 - grid) ** learned[:, 1:]
        lost = truth.max() - truth[earned.argmax(axis=1)]
        explored = 2 * half * truth.max() - half * float(np.sum(means * amounts**exponents))
        totals.append(explored + (horizon - 2 * half) * float(lost.mean()))
        assert theory.exponent_lower_bound(means, b, sigma, 0.5, horizon) < totals[-1]
    growth = np.diff(np.log10(totals)) / 2
    assert np.all((growth > 0.47) & (growth < 0.53)), growth


def test_the_bound_for_an_exponent_per_arm_grows_as_the_root_and_is_linear_at_first():
    means, b, sigma, c = (1.0, 0.7), 0.2, 0.5, 0.5
    late = [theory.exponent_lower_bound(means, b, sigma, c, 10**power) for power in (8, 10)]
    early = [theory.exponent_lower_bound(means, b, sigma, c, horizon) for horizon in (1, 10)]
    assert late[1] == pytest.approx(10 * late[0], rel=1e-12)
    assert early[1] == pytest.approx(10 * early[0], rel=1e-12)
    assert early[0] > 0
    for wrong, sentence in [
        (lambda: theory.exponent_lower_bound((1.0,), b, sigma, c, 10), "`means` must be those of two arms or more"),
        (lambda: theory.exponent_lower_bound(means, 0.5, sigma, c, 10), r"`b` must be a number in \[0, 0.5\)"),
    ]:
        with pytest.raises(InvalidValue, match=sentence):
            wrong()


# ---- The three transitions ------------------------------------------------------------------------------------


def test_the_three_transitions_coincide_where_returns_are_proportional():
    assert theory.transitions(1.0) == (0.5, 0.5, 0.5)
    assert theory.transitions(0.6) == pytest.approx((0.5, 0.3, 0.1))


def test_towards_proportional_returns_a_tie_for_the_best_makes_the_constant_explode_at_every_b():
    """The interior transition: C* → 0 for b > 1/2 needs one best arm; with two it is infinite for every b."""
    for b in (0.3, 0.5, 0.9):
        found = [theory.bent_constant([1.0, 1.0, 0.5], b, 1.0, 1 - 10.0**-digits) for digits in range(2, 9)]
        assert found == sorted(found)
        assert found[-1] > 1e5
    assert theory.bent_constant([1.0, 0.9, 0.5], 0.6, 1.0, 1 - 1e-4) < 1e-10


def test_losing_arms_have_a_floor_exactly_above_half_of_c():
    """1/c < α < 1/(2c−2b) has room if and only if b > c/2; at and below, information is at most what it costs."""
    for c in (0.3, 0.6, 0.9):
        for b in (0.0, 0.4 * c, 0.5 * c, 0.55 * c, 0.9 * c):
            assert (1 / c < 1 / (2 * c - 2 * b) * (1 - 1e-12)) == (b > theory.transitions(c).losing_arms)
            x = np.linspace(1e-9, 1.0, 1000)
            if b <= c / 2:
                assert np.all(x ** (2 * c - 2 * b) <= x**c)
    assert theory.losing_arms_constant((2.0, -0.5, 1.0, -1.0), 0.1, (1.0, 2.0, 1.0, 3.0), 0.5) == 16.0 + 18.0
    with pytest.raises(InvalidValue, match=r"`b` must be at most c/2 = 0.25, as above it a floor makes"):
        theory.losing_arms_constant((2.0, -0.5), 0.3, 1.0, 0.5)
    with pytest.raises(InvalidValue, match="`means` must be at least one above 0"):
        theory.losing_arms_constant((-2.0, -0.5), 0.1, 1.0, 0.5)


def test_all_arms_are_learned_fastest_by_dividing_up_to_the_third_transition_and_in_turns_beyond():
    """Proposition 4: over all ways to spend K periods the least informed arm has at most max(K^(1−q), 1).

    It needs b ≤ c: at b = 0.8, c = 0.5 two periods with almost all for one arm, then for the other, tell both more.
    """
    rng, arms = np.random.default_rng(13), 4
    for b in (0.0, 0.2, 0.4, 0.6):
        power = 2 * 0.9 - 2 * b
        best = max(arms * theory.information_rate(1 / arms, b, 0.9), theory.information_rate(1.0, b, 0.9))
        divides = best > 1.0 or power == 1.0
        assert divides == (b >= theory.transitions(0.9).exploring)
        toy = theory.toy_example(arms, b, c=0.9)
        assert min(toy) == pytest.approx(1 / best)
        for shape in (0.1, 1.0, 10.0):
            shares = rng.dirichlet([shape] * arms, (500, arms))
            assert np.all(np.min(np.sum(shares**power, axis=1), axis=1) <= best + 1e-12)
    turns = [[1 - 1e-4, 1e-4], [1e-4, 1 - 1e-4]]
    told = [math.fsum(theory.information_rate(split[arm], 0.8, 0.5) for split in turns) for arm in (0, 1)]
    assert min(told) > 50 * 2 * theory.information_rate(0.5, 0.8, 0.5)
