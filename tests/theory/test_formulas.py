"""The bounds as docs/theory.md has them, transcribed once more in mpmath, at points drawn once.

Bounds hold with room to spare: no simulation would tell a wrong constant from a right one. So each function is held
to its formula on the page, which is written here from the page and shares no code with the function.
"""

import numpy as np
import pytest
from mpmath import mp, mpf

from apportion import theory
from apportion.model.confidence import cycles_tail

POINTS = range(6)
CLOSE = 1e-9


def drawn(seed, low_b=0.5, high_b=1.0):
    """Arms, gaps with one best arm, b, sigma and a horizon."""
    rng = np.random.default_rng([41, seed])
    arms = int(rng.integers(2, 9))
    means = np.append(2.0, 2.0 - rng.uniform(0.1, 1.5, arms - 1)).tolist()
    return arms, means, float(rng.uniform(low_b, high_b)), float(rng.uniform(0.3, 3.0)), int(rng.integers(100, 3000))


def gaps_of(means):
    return [mpf(max(means)) - mpf(mean) for mean in means]


def positive(gaps):
    return [gap for gap in gaps if gap > 0]


def slices(log_range, x):
    return max(mpf(1), mp.ceil(log_range / (4 * mp.log(1 + 1 / mp.sqrt(2 * x)))))


# ---- sections 3 and 4 ----


def growth(t):
    return mp.fsum((mp.sqrt(s) - mp.sqrt(s - 1)) ** 2 for s in range(1, t + 1))


@pytest.mark.parametrize("seed", POINTS)
def test_the_bound_of_elimination(seed):
    arms, means, b, sigma, horizon = drawn(seed)
    constant = mp.fsum(1 / (mpf(x) ** (2 * b) - mpf(x - 1) ** (2 * b)) for x in range(1, arms + 1))
    start = max(gaps_of(means)) * (1 + mp.harmonic(arms))
    logs = 2 * mp.log(arms * horizon) + mp.log(1 + horizon * mpf(arms) ** (2 - 2 * b))
    squared = {"corrected": 8 * growth(horizon) * mp.log(horizon), "anytime": 2 * logs}
    for form, found in squared.items():
        expected = start + 4 * sigma * mp.sqrt(found * horizon * constant)
        assert theory.elimination_regret_bound(means, horizon=horizon, b=b, sigma=sigma, form=form) == pytest.approx(
            float(expected), rel=CLOSE
        )
    cycles = theory.elimination_regret_bound(means, horizon=horizon, b=b, sigma=sigma, form="cycles")
    quantile = (cycles - start) / (4 * sigma * mp.sqrt(horizon * constant))
    assert cycles_tail(float(quantile), horizon) == pytest.approx(horizon**-3.0, rel=1e-6)
    # A σ per arm: Theorem J, here with weights that need not be scaled.
    sigmas = np.random.default_rng(seed).uniform(0.5, 2.0, arms).tolist()
    b = min(b, 0.9)
    weights = sorted(mpf(each) ** (1 / (1 - mpf(b))) for each in sigmas)
    sums = [mp.fsum(weights[: j + 1]) for j in range(arms)]
    before = [mpf(0), *sums]
    constant = mp.fsum(w**2 / (after ** (2 * b) - rest ** (2 * b)) for w, after, rest in zip(weights, sums, before))
    start = max(gaps_of(means)) * (1 + mp.fsum(w / total for w, total in zip(weights, sums)))
    reach = 2 * mp.log(arms * horizon) + mp.log(1 + horizon * (sums[-1] / weights[0]) ** (2 - 2 * b))
    for form, found in {**squared, "anytime": 2 * reach}.items():
        expected = start + 4 * mp.sqrt(found * horizon * constant)
        bound = theory.elimination_regret_bound(means, horizon=horizon, b=b, sigma=sigmas, form=form)
        assert bound == pytest.approx(float(expected), rel=CLOSE)


@pytest.mark.parametrize("seed", POINTS)
def test_the_bounds_of_algorithm_two(seed):
    arms, means, b, sigma, horizon = drawn(seed, low_b=0.6)
    means = [10 * mean for mean in means] if seed % 2 else means  # so that either form of the integral is the smaller
    epsilon = (2 * b - 1) * (0.1 + 0.1 * seed)
    beta = mpf(2 - 2 * b)
    alpha = 1 + epsilon / beta
    g = 1 - alpha * beta
    floor = mp.zeta(alpha) / arms
    sharp = information = mpf(0)
    for gap in positive(gaps_of(means)):
        a = gap**2 / (8 * mpf(sigma) ** 2 * arms**beta)
        sharp += gap * (floor + 2 * mp.gamma(1 + 1 / g) * a ** (-1 / g))
        c = a / g
        bounds = [mp.exp(c) * mp.gamma(1 + 1 / g) * c ** (-1 / g)]
        if c + 1 - 1 / g > 0:
            bounds.append((1 / g) / (c + 1 - 1 / g))
        information += gap * (floor + 2 * min(bounds))
        exact = mp.quad(lambda s, c=c: mp.exp(-c * (s**g - 1)), [1, 2, 10, mp.inf]) if c > 1 else 0
        assert exact <= min(bounds) * (1 + mpf(CLOSE))
    assert theory.greedy_regret_bound(means, b, epsilon, sigma, "sharp") == pytest.approx(float(sharp), rel=CLOSE)
    found = theory.greedy_regret_bound(means, b, epsilon, sigma, "information")
    assert found == pytest.approx(float(information), rel=CLOSE)
    n, largest = 2 / g - 1, mpf(0.7)
    cost = 2 * (arms - 1) * mp.gamma(1 + 1 / g) * (8 * mpf(sigma) ** 2 * arms**beta) ** (1 / g)
    for periods in (horizon, 10**40):
        least = (n + 1) / n * periods * (n * cost / periods) ** (1 / (n + 1))
        expected = largest * mp.zeta(alpha) + min(largest * periods, least)
        found = theory.greedy_worst_case_bound(arms, periods, b, epsilon, sigma, max_gap=0.7)
        assert found == pytest.approx(float(expected), rel=CLOSE)


# ---- sections 5 to 7 ----


def failure(t, arms, beta, scale):
    x = mpf(scale) ** 2 * mp.log(mpf(arms) * (t + 2) / 2)
    return min(mpf(1), 2 * arms * mp.exp(mpf(0.5) - x) * slices(mp.log((t - 1) * mpf(arms) ** beta), x))


@pytest.mark.parametrize("seed", POINTS)
@pytest.mark.parametrize("split", ["leader", "even"])
def test_the_bounds_of_adaptive_elimination(seed, split):
    arms, means, b, sigma, horizon = drawn(seed, low_b=0.55)
    scale, gaps, beta = 0.7 + 0.2 * seed, gaps_of(means), mpf(2 - 2 * b)
    alpha = mpf(theory.floor_exponent(b))
    some, mean_gap = positive(gaps), mp.fsum(gaps) / arms
    noise = mpf(scale) ** 2 * mpf(sigma) ** 2

    def start(end):
        failures = mp.fsum(failure(t, arms, beta, scale) for t in range(2, end + 1))
        floors = mp.fsum(mpf(t) ** -alpha for t in range(1, end + 1))
        return floors * mean_gap + max(gaps) * failures, 2 * mp.log(arms * (mpf(end) + 1))

    paid, width = start(horizon)
    inverse = mp.fsum(1 / gap for gap in some)
    if split == "leader":
        by_gaps = noise * arms**beta * width * (16 / min(some) + mpf(48) / arms * inverse)
        worst = 4 * (1 + mp.sqrt(2)) * mp.sqrt(noise * arms**beta * horizon * width)
    else:
        by_gaps = arms * mean_gap + noise * width * (64 * arms**beta / min(some) + 16 * inverse)
        worst = 2 * arms * mean_gap + 4 * mp.sqrt(2) * mp.sqrt(noise * arms**beta * horizon * width)
        worst += 2 * mp.sqrt(noise * (arms - 1) * horizon * width * mp.log(horizon, 2))
    settings = {"b": b, "sigma": sigma, "scale": scale, "split": split}
    found = theory.adaptive_regret_bound(means, horizon=horizon, kind="worst", **settings)
    assert found == pytest.approx(float(paid + worst), rel=CLOSE)
    # So short a time is before the floor tells the arms apart.
    found = theory.adaptive_regret_bound(means, horizon=horizon, kind="gaps", **settings)
    assert found == pytest.approx(float(paid + by_gaps), rel=CLOSE)
    full = {**settings, "b": 1.0, "horizon": horizon, "kind": "worst"}  # with a floor, and without one
    failures = max(gaps) * mp.fsum(failure(t, arms, 0, scale) for t in range(2, horizon + 1))
    floors = mean_gap * mp.fsum(mpf(t) ** -mpf(5.5) for t in range(1, horizon + 1))
    expected = floors + failures + 8 * mp.sqrt(noise * horizon * width)
    assert theory.adaptive_regret_bound(means, **full) == pytest.approx(float(expected), rel=CLOSE)
    unseen = theory.adaptive_regret_bound(means, floor=0.0, **full)
    if split == "leader":
        expected = mean_gap + failures + 4 * (1 + mp.sqrt(2)) * mp.sqrt(noise * horizon * width)
        assert unseen == pytest.approx(float(expected), rel=CLOSE)
    p = theory.race_failure_probability(horizon, arms, b, scale)
    assert p == pytest.approx(float(failure(horizon, arms, beta, scale)), rel=CLOSE)
    later = mp.fsum(failure(mpf(2) ** j * 10**6, arms, beta, scale) for j in range(1, 400))
    assert theory.later_failure_probability(10**6, arms, b, scale) == pytest.approx(float(min(later, 1)), rel=1e-6)


@pytest.mark.parametrize("split", ["leader", "even"])
def test_the_limit_of_the_bound_of_adaptive_elimination(split):
    """(5) and (6) at a τ that is small enough to add up to: large gaps, b = 0.95 and 1."""
    for b, means, sigma in ((0.95, [9.0, 0.0, 4.0], 0.8), (1.0, [3.0, 0.0], 0.5)):
        arms, gaps, beta = len(means), gaps_of(means), mpf(2 - 2 * b)
        alpha = mpf(theory.floor_exponent(b))
        g, some, mean_gap = 1 - alpha * beta, positive(gaps), mp.fsum(gaps) / len(gaps)
        noise, tau = mpf(sigma) ** 2, 1
        while (mpf(tau) ** g - 1) / g < 16 * noise * arms**beta * 2 * mp.log(2 * arms * mpf(tau)) / min(some) ** 2:
            tau += 1
        assert min(gap**2 for gap in some) / (32 * noise * arms**beta) * mpf(tau) ** g >= 1
        width = 2 * mp.log(arms * (mpf(tau) + 1))
        inverse = mp.fsum(1 / gap for gap in some)
        if split == "leader":
            main = noise * arms**beta * width * (16 / min(some) + mpf(48) / arms * inverse)
        else:
            main = arms * mean_gap + noise * width * (64 * arms**beta / min(some) + 16 * inverse)
        late = mpf(0)
        for gap in some:
            a = gap**2 / (32 * noise * arms**beta)
            late += 2 * gap * tau * mp.exp(-a * (mpf(tau) ** g - 1) / g) / (a * mpf(tau) ** g - 1 + g)
        failures = mp.fsum(failure(t, arms, beta, 1) for t in range(2, tau + 1))
        expected = mp.zeta(alpha) * mean_gap + max(gaps) * failures + main + late
        # The function may bound the integral by another form, if that is smaller.
        found = theory.adaptive_regret_bound(means, b=b, sigma=sigma, split=split)
        assert float(expected - late) < found <= float(expected) * (1 + CLOSE)
        assert late < expected / 20


@pytest.mark.parametrize("seed", POINTS)
def test_the_bound_by_a_floor(seed):
    arms, means, b, sigma, _ = drawn(seed, low_b=0.6)
    sigma, rival = sigma / 10 ** (seed % 3), 0.2 * seed
    beta, alpha = mpf(2 - 2 * b), mpf(theory.floor_exponent(b))
    g, expected = 1 - alpha * beta, mpf(0)
    for gap in positive(gaps_of(means)):
        a = gap**2 / (32 * mpf(sigma) ** 2 * (2 * arms) ** beta)
        tails = [mp.exp(a / g) * mp.gamma(1 + 1 / g) * (g / a) ** (1 / g)]
        if a - 1 + g > 0:
            tails.append(1 / (a - 1 + g))
        expected += gap * (mp.zeta(alpha) / arms + (2 + rival) * min(tails))
    assert theory.floor_regret_bound(means, b, sigma, rival=rival) == pytest.approx(float(expected), rel=CLOSE)


# ---- section 9 ----


@pytest.mark.parametrize("seed", POINTS)
def test_the_bound_of_ucb(seed):
    _, means, _, sigma, horizon = drawn(seed)
    late = mp.fsum(min(mpf(1), mp.exp(mpf(0.5)) * slices(mp.log(t), mp.log(t)) / t) for t in range(2, horizon + 1))
    expected = mp.fsum(
        8 * mpf(sigma) ** 2 * (mp.log(horizon) + 1) / gap + gap * (2 + late) for gap in positive(gaps_of(means))
    )
    assert theory.ucb_regret_bound(means, horizon, sigma) == pytest.approx(float(expected), rel=CLOSE)
    # Beyond 4096 periods Q(T) is added up in blocks: above, and close.
    exact, t = mpf(0), np.arange(2.0, 20_001)
    counted = np.maximum(1.0, np.ceil(np.log(t) / (4 * np.log1p(1 / np.sqrt(2 * np.log(t))))))
    exact = float(np.sum(np.minimum(1.0, np.exp(0.5) * counted / t)))
    found = theory.ucb_regret_bound([1.0, 0.0], 20_000) - 8 * float(mp.log(20_000) + 1) - 2
    assert exact <= found <= 1.02 * exact


# ---- section 11 ----


def bent(seed):
    rng = np.random.default_rng([42, seed])
    arms, c = int(rng.integers(2, 6)), float(rng.uniform(0.15, 0.9))
    b = float(rng.uniform(0.0, 0.95 * c))
    means, sigmas = rng.uniform(0.3, 2.0, arms).tolist(), rng.uniform(0.2, 3.0, arms).tolist()
    power = 1 / (1 - mpf(c))
    raised = [mpf(mean) ** power for mean in means]
    return means, b, sigmas, c, [each / mp.fsum(raised) for each in raised], mp.fsum(raised) ** (1 - mpf(c))


@pytest.mark.parametrize("seed", POINTS)
def test_the_constant_and_the_lockout(seed):
    means, b, sigmas, c, shares, value = bent(seed)
    terms = mp.fsum(mpf(s) ** 2 * (1 - a) * a ** (2 * mpf(b) - 1) for s, a in zip(sigmas, shares))
    expected = mpf(c) / (2 * (1 - mpf(c)) * value) * terms
    assert theory.bent_constant(means, b, sigmas, c) == pytest.approx(float(expected), rel=CLOSE)
    z = [mpf(mean) * mpf(len(means)) ** (mpf(b) - mpf(c)) / mpf(s) for mean, s in zip(means, sigmas)]
    lost = []
    for arm in range(len(means)):
        without = mp.fsum(mpf(m) ** (1 / (1 - mpf(c))) for i, m in enumerate(means) if i != arm) ** (1 - mpf(c))
        seen = 1 - mp.fprod(mp.ncdf(-z[i]) for i in range(len(means)) if i != arm)
        lost.append((value - without) * mp.ncdf(-z[arm]) * seen)
    assert theory.lockout_regret(means, b, sigmas, c, 1001) == pytest.approx(float(1000 * max(lost)), rel=1e-8)


@pytest.mark.parametrize("seed", POINTS)
def test_the_bound_for_an_exponent_per_arm(seed):
    means, b, sigmas, c, shares, _ = bent(seed)
    c, h, e = mpf(c), mpf(c) - mpf(b), mp.e
    for horizon in (10, 10**6, 10**14):
        bounds = []
        for mean, sigma, a in zip(means, sigmas, shares):
            k = 1 / (2 * c * (1 - c) * (1 / a + 2 / (1 - a)))
            depth = c * (1 - c) * mean * k**2 / (32 * e)
            slope = max(a ** (h - 1) * max(mp.sqrt(2), 2 / (e * h)), a**-2)
            told = mean * slope**2 / (mpf(sigma) ** 2 * c * (1 - c))
            most = min(c, (1 - c) / 2)
            bounds.append(min(mp.sqrt(depth * horizon / (2 * told)), depth * most**2 * horizon / 2))
        found = theory.exponent_lower_bound(means, b, sigmas, float(c), horizon)
        assert found == pytest.approx(float(max(bounds)), rel=CLOSE)
