"""The bounds of docs/theory.md for `AdaptiveElimination` against simulated runs, and each step of their proofs.

Error budget. Everything is seeded, so a run passes or fails the same way every time; the budget says how often a
fresh seed would fail a true statement. Measured regret is held below its bound with 4 standard errors added (3e-5
each where the bound is reached; it is 5 to 1,000 times larger). Frequencies of failure are held below their bounds
plus 5 standard errors at the bound (3e-7 each): 420 comparisons of the first kind and 60 of the second, below 2e-2
if every bound were tight and far below 1e-6 as they are. The steps of the proofs are checked wherever the radii
hold: there is no chance in them.
"""

import functools
import itertools
import math
import os

import mpmath
import numpy as np
import pytest
from runs import regrets

import apportion as ap
from apportion import theory
from apportion.errors import InvalidValue
from apportion.model.exact_sums import Statistics
from apportion.policies.contract import Period, decide_now
from apportion.policies.shared import recommended_tilt
from apportion.theory import adaptive
from apportion.theory.floors import stretched_tail

MORE = 10 if os.environ.get("APPORTION_SOAK") else 1
SPLITS = ("even", "leader")


def one_good(arms, gap):
    return (0.5 + gap,) + (0.5,) * (arms - 1)


def linear(arms, gap):
    return tuple(gap * (1 - 2 * arm / max(arms - 1, 1)) for arm in range(arms))


def upper(values):
    """The mean of the measured regret plus 4 standard errors."""
    return float(np.mean(values) + 4 * np.std(values) / math.sqrt(len(values)))


# ---- regret under the bounds ----


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("b", [0.5, 0.6, 0.75, 0.9, 1.0])
def test_regret_is_below_both_bounds(b, split):
    """K = 2, 5, 30, one good arm and a line of gaps, T = 100 and 10,000: 18 settings, two bounds each."""
    for arms in (2, 5, 30):
        for means in (one_good(arms, 0.5), one_good(arms, 3.0), linear(arms, 1.0)):
            for horizon in (100, 10_000):
                policy = ap.AdaptiveElimination(b=b, split=split)
                count = MORE * (20 if horizon < 10_000 or arms < 30 else 6)
                found = upper(regrets(policy, ap.Instance(means, b=b), horizon, count, seed=20))
                for kind in ("gaps", "worst"):
                    bound = theory.adaptive_regret_bound(means, b=b, horizon=horizon, split=split, kind=kind)
                    assert found <= bound, (arms, means[:3], horizon, kind)


@pytest.mark.parametrize("noise", ["rademacher", "uniform"])
@pytest.mark.parametrize("split", SPLITS)
def test_regret_is_below_both_bounds_for_other_noise_and_sigma(split, noise):
    means, b, sigma, horizon = linear(6, 2.0), 0.7, 2.5, 5000
    instance = ap.Instance(means, b=b, sigma=sigma, noise=noise)
    found = upper(regrets(ap.AdaptiveElimination(b=b, sigma=sigma, split=split), instance, horizon, 20 * MORE, 21))
    for kind in ("gaps", "worst"):
        bound = theory.adaptive_regret_bound(means, b=b, sigma=sigma, horizon=horizon, split=split, kind=kind)
        assert found <= bound


@functools.cache
def worst_over_gaps(arms, b, horizon, split):
    """The largest measured regret over gaps around K^(1-b) sqrt(L/T), where the worst case lies."""
    scale = arms ** (1 - b) * math.sqrt(2 * math.log(arms * (horizon + 1)) / horizon)
    policy = ap.AdaptiveElimination(b=b, split=split)
    count = 8 * MORE
    return max(
        upper(regrets(policy, ap.Instance(one_good(arms, factor * scale), b=b), horizon, count, seed=22))
        for factor in (0.3, 1.0, 2.0, 4.0, 8.0)
    )


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("arms", "b"), [(5, 0.5), (5, 0.75), (40, 0.75), (40, 0.9), (40, 1.0)])
def test_regret_over_a_grid_of_gaps_is_below_the_worst_case(arms, b, split):
    """The bound takes the largest gap into P(T) only; here without it: the root alone must hold already."""
    horizon = 5000
    spread = arms ** (1 - b) * math.sqrt(2 * horizon * math.log(arms * (horizon + 1)))
    found = worst_over_gaps(arms, b, horizon, split)
    assert found <= 4 * (1 + math.sqrt(2)) * spread
    assert found <= theory.adaptive_regret_bound(
        arms=arms, max_gap=0.1, b=b, horizon=horizon, split=split, kind="worst"
    )
    assert found >= 0.1 * spread  # the grid reaches the hard gaps


def test_the_bounds_say_something():
    """Below the regret of never learning: T times the mean gap of an even split, T/4 of the largest for `worst`."""
    for b, split in ((0.75, "leader"), (0.75, "even"), (1.0, "leader"), (0.5, "leader")):
        bound = theory.adaptive_regret_bound([0.5, 0, 0, 0, 0], b=b, horizon=10**6, split=split)
        assert bound < 0.1 * 10**6 * 0.4
    assert (
        theory.adaptive_regret_bound(arms=10, max_gap=0.5, b=0.9, horizon=10**6, split="leader", kind="worst") < 1e5
    )


@pytest.mark.parametrize("split", SPLITS)
def test_regret_settles_as_the_bound_says(split):
    """b = 0.9, K = 3, gap 1: between 10^4 and 10^6 periods regret moves by at most 5 %, and the floors' cost."""
    instance = ap.Instance(one_good(3, 1.0), b=0.9)
    policy = ap.AdaptiveElimination(b=0.9, split=split)
    early, late = (np.mean(regrets(policy, instance, horizon, 3 * MORE, seed=23)) for horizon in (10**4, 10**6))
    assert early <= late <= 1.05 * early
    assert late <= theory.adaptive_regret_bound(instance.means, b=0.9, split=split)


# ---- the radii: how often they fail, and the steps of the proof where they hold ----


class Paths:
    """Runs side by side, with all that the proof speaks of at each period."""

    def __init__(self, rule, noise, arms=5, b=0.75, gap=0.4, runs=400, periods=1500, seed=1):
        rng = np.random.default_rng([24, seed])
        self.arms, self.b, self.means = arms, b, np.array(one_good(arms, gap))
        weighted, information = np.zeros((runs, arms)), np.zeros((runs, arms))
        self.failed = np.zeros((periods + 1, runs), dtype=bool)
        self.looks = []
        for t in range(1, periods + 1):
            estimate, radius = None, None
            if t > 1:
                estimate = weighted / information
                radius = np.sqrt(2 * math.log(arms * (t + 1)) / information)
                self.failed[t] = np.any(np.abs(estimate - self.means) > radius, axis=1)
            shares = rule(t, estimate, radius, information, self.means) if t > 1 else np.full((runs, arms), 1 / arms)
            held = ~np.any(self.failed[max(2, -(-t // 2)) : t + 1], axis=0)
            if t > 1:
                self.look(t, held, estimate, radius, information, shares)
            xi = rng.standard_normal((runs, arms)) if noise == "gaussian" else rng.choice([-1.0, 1.0], (runs, arms))
            weighted += shares ** (2 - 2 * b) * self.means + shares ** (1 - b) * xi
            information += shares ** (2 - 2 * b)

    def look(self, t, held, estimate, radius, information, shares):
        """Nothing to look at but failures, unless the rule is the race itself."""

    def window(self, t):
        """The share of runs in which a radius failed in the second half of the first t periods."""
        return float(np.mean(np.any(self.failed[max(2, -(-t // 2)) : t + 1], axis=0)))


class Race(Paths):
    """The race itself: check what the proof derives from radii that held in the second half of the past."""

    def look(self, t, held, estimate, radius, information, shares):
        gaps = self.means[0] - self.means
        floor = t ** -theory.floor_exponent(self.b) / self.arms
        active = shares > floor * (1 + 1e-9)
        least = self.arms ** -(2 - 2 * self.b)
        assert np.all(active[held, 0])  # the best arm runs
        assert np.all(information[held, 0] >= t / 2 * least * (1 - 1e-9))
        wide = 2 * (radius + radius[:, :1])
        assert np.all((gaps <= wide)[held] | ~active[held])
        assert np.all(shares[active] >= (1 - 1e-9) / self.arms)
        leader = np.argmax(estimate - radius, axis=1)
        assert np.all(gaps[leader][held] <= 2 * radius[held, 0])
        self.looks.append(float(np.mean(held)))


def race(split, b=0.75):
    alpha = theory.floor_exponent(b)

    def rule(t, estimate, radius, information, means):
        runs, arms = estimate.shape
        low = estimate - radius
        active = estimate + radius >= low.max(axis=1, keepdims=True)
        floor = t**-alpha / arms
        left = 1 - (~active).sum(axis=1) * floor
        if split == "even":
            return np.where(active, (left / active.sum(axis=1))[:, None], floor)
        shares = np.where(active, 1 / arms, floor)
        shares[np.arange(runs), low.argmax(axis=1)] = left - (active.sum(axis=1) - 1) / arms
        return shares

    return rule


def freezing(t, estimate, radius, information, means):
    """Starve an arm while its radius fails, so that the failure stays until log t has grown past it."""
    shares = np.where(np.abs(estimate - means) > radius, 1e-12, 1.0)
    return shares / shares.sum(axis=1, keepdims=True)


def chasing(t, estimate, radius, information, means):
    """Nearly all to the leader by the estimate: shares that swing with the noise."""
    shares = np.full(estimate.shape, 0.1 / estimate.shape[1] / t)
    shares[np.arange(len(shares)), estimate.argmax(axis=1)] += 1 - shares.sum(axis=1)
    return shares


def even(t, estimate, radius, information, means):
    return np.full(estimate.shape, 1 / estimate.shape[1])


RULES = {
    "even": (Paths, even),
    "freezing": (Paths, freezing),
    "chasing": (Paths, chasing),
    "race, even": (Race, race("even")),
    "race, leader": (Race, race("leader")),
}


@pytest.mark.parametrize("noise", ["gaussian", "rademacher"])
@pytest.mark.parametrize("name", list(RULES))
def test_radii_fail_no_more_often_than_stated(name, noise):
    """c = 1, K = 5, b = 0.75; over the whole run, and in windows; inside `Race` also the steps of the proof."""
    kind, rule = RULES[name]
    paths = kind(rule, noise, runs=400 * MORE)
    runs = paths.failed.shape[1]
    stated = {t: theory.race_failure_probability(t, 5, 0.75) for t in range(2, len(paths.failed))}
    assert np.mean(np.sum(paths.failed, axis=0)) <= sum(stated.values())
    for t in (300, 600, 1000, 1499):
        assert stated[t] < 0.2
        assert paths.window(t) <= stated[t] + 5 * math.sqrt(stated[t] * (1 - stated[t]) / runs)
    if kind is Race:
        assert min(paths.looks) > 0.5  # the proof was looked at in most runs


def test_radii_fail_for_the_last_time_as_the_dyadic_windows_say():
    """For every scale the sum over t = 2n, 4n, … tends to 0; measured under the rule that starves, c = 1."""
    for scale in (0.3, 0.5, 1.0, 2.0):
        found = [adaptive.later_failure_probability(10**power, 5, 0.75, scale) for power in (2, 20, 60, 200)]
        assert found == sorted(found, reverse=True)
        assert found[-1] < 1e-6
    direct = math.fsum(theory.race_failure_probability(1000 * 2**j, 5, 0.75) for j in range(1, 60))
    assert theory.later_failure_probability(1000, 5, 0.75) == pytest.approx(direct, rel=1e-3)
    assert theory.later_failure_probability(1000, 5, 0.75) >= direct * (1 - 1e-12)
    paths = Paths(freezing, "gaussian", runs=400 * MORE)
    for first in (400, 700):
        stated = theory.later_failure_probability(first, 5, 0.75)
        measured = float(np.mean(np.any(paths.failed[first:], axis=0)))
        assert measured <= stated + 5 * math.sqrt(stated * (1 - stated) / (400 * MORE))


def test_without_a_floor_full_feedback_has_the_bound_of_every_b():
    """b = 1: an excluded arm is not seen at floor 0, B = t − 1 fails, and so does the form for full feedback."""
    setting = {"b": 1.0, "horizon": 10**4, "arms": 5, "max_gap": 1.0, "kind": "worst"}
    for split in SPLITS:
        plain = theory.adaptive_regret_bound(**setting, split=split, floor=0.0)
        near = theory.adaptive_regret_bound(**{**setting, "b": 1 - 1e-12}, split=split, floor=0.0)
        assert plain == pytest.approx(near, rel=1e-9)
        assert plain > theory.adaptive_regret_bound(**setting, split=split)
        policy = ap.AdaptiveElimination(b=1.0, split=split, floor=0.0)
        found = upper(regrets(policy, ap.Instance((0.2, 0.0, 0.0, 0.0, 0.0), b=1.0), 10**4, 20, seed=31))
        assert found <= plain


def test_starving_an_arm_makes_failures_more_frequent_than_hoeffding_for_fixed_information_says():
    """Why the proof slices the range of B: 2 K exp(-L_t/2) = 2/(t+1) is no bound under shares that look back.

    Measured 2.5 times that bound with an error of 0.35 (2,000 runs): below 1e-4 for another seed.
    """
    frozen, plain = (np.mean(Paths(rule, "gaussian", runs=2000 * MORE).failed[100:]) for rule in (freezing, even))
    naive = np.mean([2 / (t + 1) for t in range(100, 1501)])
    assert plain < naive < frozen


# ---- floors: the default policy ----

FLOORED = {
    "recommended": (lambda b: ap.Recommended(b=b), lambda b: max(2 - 2 * b, 0.1)),
    "odds": (lambda b: ap.Odds(b=b), lambda b: 1.0),
    "odds, tilt 1/2": (lambda b: ap.Odds(b=b, tilt=0.5), lambda b: 1.0),
    "maillard": (lambda b: ap.Maillard(b=b), lambda b: 1.0),
}


# κ = K^tilt says too much of six arms for a bound that is below a regret that one can measure.
WITHIN = {**FLOORED, "matching": (lambda b: ap.Matching(b=b), lambda b: 6 ** recommended_tilt(b))}


@pytest.mark.parametrize("b", [0.55, 0.75, 0.9, 1.0])
@pytest.mark.parametrize("name", list(WITHIN))
def test_shares_are_within_what_the_floor_theorem_asks_for(name, b):
    """No chance in it: every share at least t^(-alpha)/(2K), a rival's at most t^(-alpha)/K + rival exp(-z^2/4)."""
    make, rival = WITHIN[name][0], WITHIN[name][1](b)
    policy, arms, rng, means = make(b), 6, np.random.default_rng(27), np.array(linear(6, 1.0))
    past = Statistics(arms, b)
    record, alpha = policy.prepared(arms, None), theory.floor_exponent(b)
    for t in range(1, 400):
        sums = past.sums()
        shares = decide_now(record, Period(t, 0, 1.0), sums, np.zeros(arms), rng)
        small = t**-alpha / arms
        assert np.all(shares >= small / 2 * (1 - 1e-9))
        if t == 1:
            np.testing.assert_allclose(shares, 1 / arms)
        else:
            estimate = sums.score / sums.information
            leader = int(estimate.argmax())
            spread = 1 / sums.information + 1 / sums.information[leader]
            z = (estimate[leader] - estimate) / np.sqrt(spread)
            others = np.arange(arms) != leader
            assert np.all(shares[others] <= (small + rival * np.exp(-z * z / 4))[others] * (1 + 1e-9))
        past.update(shares, shares * means + shares**b * rng.standard_normal(arms))


@pytest.mark.parametrize("name", list(FLOORED))
def test_regret_is_below_the_floor_bound(name):
    """Where the bound says something: b = 1 with large gaps, and b = 0.9."""
    make, rival = FLOORED[name]
    for b, means, horizon in ((1.0, (9.0, 0.0, 0.0), 2000), (1.0, (3.0, 2.0, 1.0), 2000), (0.9, (9.0, 0.0), 2000)):
        found = upper(regrets(make(b), ap.Instance(means, b=b), horizon, 40 * MORE, seed=28))
        bound = theory.floor_regret_bound(means, b, rival=rival(b))
        assert found <= bound
        assert bound < 0.5 * horizon * means[0]


@pytest.mark.parametrize(
    ("log_a", "g", "start"), [(0.0, 1.0, 0.0), (-2.0, 0.5, 0.0), (-4.0, 0.25, 3.0), (1.5, 0.3, 1.0)]
)
def test_stretched_tail_is_above_the_integral(log_a, g, start):
    a = math.exp(log_a)
    ends = [start, start + 5, start + 20, start + 60]
    exact = mpmath.quad(lambda v: mpmath.exp(-a * (mpmath.exp(g * v) - 1) / g + v), ends)
    assert float(mpmath.log(exact)) <= stretched_tail(log_a, g, start) + 1e-9


# ---- the bound as a function ----


def test_the_sum_of_failures_is_an_upper_bound_and_close():
    for arms, beta, scale in ((2, 1.0, 1.0), (5, 0.5, 1.0), (30, 0.2, 1.3), (10, 0.0, 0.8)):
        periods = np.arange(2.0, 10**6 + 1)
        direct = float(np.sum(adaptive._failures(periods, arms, beta, scale)))
        found = adaptive._failure_sum(math.log(10**6), arms, beta, scale)
        assert direct <= found <= 1.05 * direct
        short = adaptive._failure_sum(math.log(1000), arms, beta, scale)
        assert short == pytest.approx(float(np.sum(adaptive._failures(periods[:999], arms, beta, scale))))


@pytest.mark.parametrize(("gap", "g", "arms"), [(0.5, 0.25, 5), (1.0, 0.4, 30), (2.0, 1.0, 2), (0.3, 0.45, 200)])
def test_from_tau_on_the_floor_tells_the_arms_apart(gap, g, arms):
    beta = 0.5
    cut = adaptive._settled(gap, beta * math.log(arms), 1.0, arms, g)
    for u in np.linspace(cut, cut + 40, 300):
        gained = math.expm1(g * u) / g
        assert gained >= (1 - 1e-9) * 16 * arms**beta * 2 * math.log(arms * (math.exp(u) + 1)) / gap**2
    before = cut - 0.5
    assert math.expm1(g * before) / g < 16 * arms**beta * 2 * math.log(2 * arms * math.exp(before)) / gap**2
    a = gap**2 / (32 * arms**beta)
    exact = mpmath.quad(
        lambda v: mpmath.exp(-a * (mpmath.exp(g * v) - 1) / g + v), [cut, cut + 2, cut + 10, cut + 60]
    )
    found = math.exp(stretched_tail(math.log(a), g, cut))
    assert float(exact) <= found <= 2 * float(exact)
    assert found <= 1 / g / arms * (1 + 1e-9)
    assert float(a * mpmath.exp(g * cut)) >= 1 - 1e-9


def test_the_sum_of_floors_gives_the_information_that_the_proof_uses():
    for q in (0.0, 0.3, 0.75, 0.99):
        sums = np.cumsum(np.arange(1.0, 2000) ** -q)
        t = np.arange(2.0, 2001)
        assert np.all(sums >= (t ** (1 - q) - 1) / (1 - q) - 1e-9)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("b", [0.51, 0.75, 0.9, 0.97, 1.0])
def test_the_bound_for_gaps_rises_to_a_finite_limit(b, split):
    means = linear(7, 0.4)
    limit = theory.adaptive_regret_bound(means, b=b, split=split)
    found = [theory.adaptive_regret_bound(means, b=b, split=split, horizon=10**power) for power in range(0, 300, 6)]
    assert math.isfinite(limit)
    assert all(first <= second for first, second in itertools.pairwise(found))
    assert found[-1] <= limit * (1 + 1e-12)
    if b >= 0.75:
        assert found[-1] == pytest.approx(limit, rel=1e-9)


def test_the_bound_without_a_floor_grows_with_the_horizon():
    values = [theory.adaptive_regret_bound([1.0, 0.0], b=0.5, horizon=10**power) for power in (3, 30, 300)]
    assert values[1] > 5 * values[0]
    assert values[2] > 5 * values[1]
    narrow = [theory.adaptive_regret_bound([1.0, 0.0], b=0.5, scale=1.5, horizon=10**p) for p in (30, 300)]
    assert narrow[1] / narrow[0] == pytest.approx(10, rel=0.2)  # O(log T): failures are summable for c > 1


@pytest.mark.parametrize("kind", ["gaps", "worst"])
@pytest.mark.parametrize("split", SPLITS)
def test_the_bounds_grow_with_noise_and_arms_and_keep_units(kind, split):
    bound = functools.partial(theory.adaptive_regret_bound, horizon=10**5, b=0.75, split=split, kind=kind)
    means = one_good(5, 0.7)
    assert bound(means, sigma=1.0) < bound(means, sigma=1.5) < bound(means, sigma=4.0)
    assert bound(means) < bound(one_good(6, 0.7)) < bound(one_good(50, 0.7))
    assert bound([7 * mean for mean in means], sigma=7.0) == pytest.approx(7 * bound(means), rel=1e-9)
    assert bound([mean + 3 for mean in means]) == pytest.approx(bound(means), rel=1e-9)


def test_the_worst_case_of_the_leaders_split_has_the_best_rate():
    """K^(1-b) sqrt(T) times the root of a logarithm: the constant tends to 4 (1 + sqrt 2), for every K."""
    for arms in (2, 1000):
        for b in (0.5, 0.75, 0.9):
            for horizon in (10**12, 10**16):
                found = theory.adaptive_regret_bound(
                    arms=arms, max_gap=1.0, b=b, horizon=horizon, split="leader", kind="worst"
                )
                root = arms ** (1 - b) * math.sqrt(horizon * 2 * math.log(arms * (horizon + 1)))
                assert found / root == pytest.approx(4 * (1 + math.sqrt(2)), rel=0.02)


def test_bounds_are_above_the_lower_bound():
    for b in (0.5, 0.7, 1.0):
        lower = theory.minimax_lower_bound(arms=20, horizon=10**6, b=b, constant="sharp")
        for split in SPLITS:
            assert lower < theory.adaptive_regret_bound(
                arms=20, max_gap=0.0001, b=b, horizon=10**6, split=split, kind="worst"
            )


def test_no_gap_no_regret_and_extremes_stay_numbers():
    assert theory.adaptive_regret_bound([1.0, 1.0], b=0.75) == 0.0
    assert theory.adaptive_regret_bound([1.0], b=0.75) == 0.0
    for gap in (1e-100, 1e-3, 1e100):
        for b in (0.5001, 0.75, 1.0):
            for kind in ("gaps", "worst"):
                found = theory.adaptive_regret_bound([gap, 0.0], b=b, horizon=10**6, kind=kind)
                assert found > 0  # so it is not NaN
    assert theory.adaptive_regret_bound([0.5, 0.0], b=0.75, scale=0.3) < math.inf


REFUSED = {
    "`horizon` must be given where the bound grows with it; got None.": {"means": [1, 0], "b": 0.5},
    "`b` must be a number in [0.5, 1]; got 0.3.": {"means": [1, 0], "b": 0.3},
    "`means` must be given for a bound that depends on the gaps; got None.": {"b": 0.75, "arms": 2, "max_gap": 1},
    "`floor` must be 0 for none, or a number above 1, which has a finite cost; got 0.5.": {
        "means": [1, 0],
        "b": 0.75,
        "floor": 0.5,
    },
}


@pytest.mark.parametrize("sentence", list(REFUSED))
def test_parameters_outside_the_theorem_are_refused(sentence):
    given = dict(REFUSED[sentence])
    means = given.pop("means", None)
    with pytest.raises(InvalidValue) as caught:
        theory.adaptive_regret_bound(means, **given)
    assert str(caught.value) == sentence


# ---- the policy that the theorem speaks of ----


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("b", [0.5, 0.75, 1.0])
def test_the_policy_follows_the_rule_of_the_proof(b, split):
    """Period by period against the rule written in arrays above."""
    rule, rng, arms = race(split, b) if b > 0.5 else race_without_floor(split), np.random.default_rng(25), 6
    means = np.array(linear(arms, 1.5))
    names = list("uvwxyz")
    allocator = ap.Allocator(ap.AdaptiveElimination(b=b, split=split), names, seed=1)
    weighted, information = np.zeros((1, arms)), np.zeros((1, arms))
    active_counts = set()
    for t in range(1, 120):
        expected = np.full((1, arms), 1 / arms)
        if t > 1:
            radius = np.sqrt(2 * math.log(arms * (t + 1)) / information)
            expected = rule(t, weighted / information, radius, information, means)
        split_now = allocator.ask()
        shares = np.array([split_now.amounts[name] for name in names])
        np.testing.assert_allclose(shares, expected[0], rtol=1e-9, atol=1e-15)
        active_counts.add(int((shares > 1.01 * shares.min()).sum()))
        outcomes = shares * means + shares**b * 0.7 * rng.standard_normal(arms)
        funded = shares > 0
        allocator.tell(split_now.ticket, {name: outcomes[arm] for arm, name in enumerate(names) if funded[arm]})
        weighted[0, funded] += shares[funded] ** (1 - 2 * b) * outcomes[funded]
        information[0, funded] += shares[funded] ** (2 - 2 * b)
    assert len(active_counts) > 1


def race_without_floor(split):
    def rule(t, estimate, radius, information, means):
        arms = estimate.shape[1]
        low = estimate - radius
        active = estimate + radius >= low.max(axis=1, keepdims=True)
        if split == "even":
            return active / active.sum(axis=1)
        shares = active / arms
        shares[0, low.argmax()] = 1 - (active.sum() - 1) / arms
        return shares

    return rule


def test_the_leaders_split_keeps_the_contract_of_policies():
    for b in (0.3, 0.5, 0.75, 1.0):
        ap.testing.check_policy(ap.AdaptiveElimination(b=b, split="leader"))


@pytest.mark.parametrize(("arms", "b", "gap"), [(30, 0.75, 0.5), (5, 0.9, 0.5), (30, 0.9, 0.3)])
def test_the_leaders_split_has_less_regret_than_the_even_one(arms, b, gap):
    """Measured factors 0.75, 0.86 and 0.8; a mean of 40 runs has an error of 4 %: below 1e-2 each for a new seed."""
    instance = ap.Instance(one_good(arms, gap), b=b)
    shared, led = (
        np.mean(regrets(ap.AdaptiveElimination(b=b, split=split), instance, 10**4, 40, seed=26)) for split in SPLITS
    )
    assert led < shared
