"""Leaping: the sums it leaps by, the bounds it accepts by, and its law beside that of the dense engine."""

import functools
import math
import os
from typing import NamedTuple

import mpmath
import numpy as np
import pytest
from scipy import stats

import apportion as ap
from apportion.model.sums import powers_of
from apportion.policies.elimination import ANYTIME, elimination_radius
from apportion.simulation.engines.dense import Dense
from apportion.simulation.engines.leaping.crossings import event_bound, largest_sag
from apportion.simulation.engines.leaping.increments import (
    LEADER,
    OTHERS,
    WALK_VARIANCE,
    Interval,
    amounts_spent,
    fill_power_sums,
    make_workspace,
    walk_exponent,
)
from apportion.simulation.engines.leaping.leap import LONGEST_HORIZON, POLICIES, TOLERANCE, Leap, steady_law, why_not
from apportion.simulation.engines.leaping.power_sums import (
    power_sum,
    sum_of_falling_shares,
    sum_of_leading_shares,
    sum_of_powers,
)
from apportion.simulation.engines.records import empty_traces
from apportion.simulation.engines.streams import streams
from apportion.simulation.sweep import FolderStore
from apportion.simulation.task import Task, run_task

EVERYTHING = ("regret", "reward", "shares", "leader", "active", "eliminated")


def one_good(arms, gap):
    return (1.0, *(1.0 - gap for _ in range(arms - 1)))


def leap_runs(policy, world, horizon, runs, checkpoints=None, seed=1, first=0, wanted=EVERYTHING, **options):
    checkpoints = (horizon,) if checkpoints is None else checkpoints
    traces = empty_traces(runs, len(checkpoints), world.arms, wanted)
    tally = Leap(policy, world, horizon, checkpoints, **options).run(
        streams("leap", seed, first, first + runs), traces
    )
    return traces, tally


def dense_runs(policy, world, horizon, runs, checkpoints, seed=1):
    """As `leap_runs`, and the count of changes of the leader from period 3 on."""
    everywhere = np.arange(1, horizon + 1)
    traces = empty_traces(runs, horizon, world.arms, ("regret", "reward", "leader", "eliminated"))
    Dense(policy, world, horizon, everywhere).run(streams("dense", seed, 0, runs), traces)
    changes = (np.diff(traces.leader[:, 1:], axis=1) != 0).sum(axis=1)
    indices = np.asarray(checkpoints) - 1
    return traces._replace(regret=traces.regret[:, indices], reward=traces.reward[:, indices]), changes


# ---- sums in closed form ----------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [-3.0, -2.0, -1.1, -1.0, -1.0 + 1e-9, -0.55, -0.01, 0.0, 0.25, 1.0, 2.2])
@pytest.mark.parametrize("first", [0, 1, 20, 31, 32, 33, 50, 1999, 20_001, 10**6])
@pytest.mark.parametrize("count", [0, 1, 4, 5, 100, 3000])
def test_power_sums_are_those_of_brute_force(exponent, first, count):
    terms = np.arange(first + 1, first + count + 1, dtype=np.float64) ** exponent
    assert power_sum(first, first + count, exponent) == pytest.approx(math.fsum(terms), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("exponent", [-2.0, -1.5, -1.05, -1.0, -0.45, 0.3, 0.75])
@pytest.mark.parametrize(
    ("first", "last"), [(0, 10**12), (32, 10**12), (10**6, 10**12), (10**12 - 7, 10**12), (10**11, 10**11 + 10**6)]
)
def test_power_sums_are_those_of_sixty_digits(exponent, first, last):
    with mpmath.workdps(60):
        exact = long_sum(mpmath.mpf(exponent), first, last)
        assert power_sum(first, last, exponent) == pytest.approx(float(exact), rel=2e-13)


def long_sum(exponent, first, last):
    """Σ s^q to sixty digits: the first terms one by one, then Euler–Maclaurin at the ends with 30 terms.

    (For q > 0 and large arguments mpmath's own Hurwitz zeta function takes minutes.)
    """
    start = min(max(first, 100), last)
    total = mpmath.fsum(mpmath.mpf(s) ** exponent for s in range(first + 1, start + 1))
    if start == last:
        return total

    def antiderivative(x):
        return mpmath.log(x) if exponent == -1 else x ** (exponent + 1) / (exponent + 1)

    def corrections(x):
        terms = (mpmath.bernoulli(2 * k) / mpmath.factorial(2 * k) * derivative(x, 2 * k - 1) for k in range(1, 30))
        return x**exponent / 2 + mpmath.fsum(terms)

    def derivative(x, order):
        return mpmath.ff(exponent, order) * x ** (exponent - order)

    left, right = mpmath.mpf(start), mpmath.mpf(last)
    return total + antiderivative(right) - antiderivative(left) + corrections(right) - corrections(left)


def test_the_sixty_digits_are_those_of_the_zeta_function():
    with mpmath.workdps(60):
        exact = mpmath.zeta(1.5, 33) - mpmath.zeta(1.5, 10**12 + 1)
        assert abs(long_sum(mpmath.mpf(-1.5), 32, 10**12) / exact - 1) < mpmath.mpf(10) ** -40


@pytest.mark.parametrize("arms", [2, 50])
@pytest.mark.parametrize("b", [0.55, 0.75, 1.0])
@pytest.mark.parametrize("leads", [False, True])
@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 40), (1, 3), (32, 900), (33, 37), (5000, 9000)])
def test_totals_of_greedy_shares_are_those_of_the_decisions(arms, b, leads, first, last):
    policy = ap.EpsilonGreedy(b=b).prepared(arms, last)
    small = np.arange(first + 1.0, last + 1.0) ** -policy.exponent / arms
    shares = 1.0 - (arms - 1) * small if leads else small
    for power in (2 * b - 2, 1.0, 2 * b, 2 - 2 * b, 2 * b - 1):
        total = sum_of_powers(policy, shares[0], leads, power, first, last, arms)
        assert total == pytest.approx(math.fsum(shares**power), rel=1e-12)


def test_the_leaders_total_over_a_long_time_keeps_its_digits():
    with mpmath.workdps(40):
        exact = mpmath.mpf(10**12 - 100)
        for j in range(1, 40):
            zeta = mpmath.zeta(mpmath.mpf(1.1) * j, 101) - mpmath.zeta(mpmath.mpf(1.1) * j, 10**12 + 1)
            exact += mpmath.binomial(-0.5, j) * (-mpmath.mpf(0.8)) ** j * zeta
    assert sum_of_leading_shares(1.1, 0.8, -0.5, 100, 10**12) == pytest.approx(float(exact), rel=1e-15)


def test_no_share_falls_below_the_smallest():
    total = sum_of_falling_shares(50.0, 2, 0.002, 10**5, 10**7)
    shares = np.maximum(np.exp(-50.0 * np.log(np.arange(10**5 + 1, 10**7 + 1))) / 2, 1e-290)
    assert total == pytest.approx(np.sum(shares**0.002), rel=1e-9)


# ---- bounds on what happens inside ------------------------------------------------------------------------


class Case(NamedTuple):
    """The ends of an interval: arms begin at their means, but arm 0 `lead` standard deviations above its own."""

    policy: ap.Policy
    world: ap.Instance
    first: int
    last: int
    moves: tuple[float, float, float]  # by how many standard deviations each arm moves
    lead: float = 0.0


def _eliminating(radius, pairwise=False, last=420):
    policy = ap.SuccessiveElimination(b=0.75, radius=radius, pairwise=pairwise, horizon=1000)
    return Case(policy, ap.Instance((1.0, 0.8, 0.5), 0.75), 200, last, (0.0, 0.2, 0.2))


def _greedy(leader, means):
    return Case(
        ap.EpsilonGreedy(b=0.75, epsilon=0.25, leader=leader), ap.Instance(means, 0.75), 100, 200, (0.5, -0.2, 0.1)
    )


INTERVALS = {
    "corrected": _eliminating("corrected"),
    "printed": _eliminating("printed"),
    "cone within one step": _eliminating("cone", pairwise=True, last=208),
    "cone over many steps": _eliminating("cone"),
    "cycles over many steps": _eliminating("cycles"),
    "anytime": _eliminating("anytime", pairwise=True),
    "ratios, the best leads": _greedy("ratios", (1.0, 0.8, 0.7)),
    "ratios, the worst leads": _greedy("ratios", (0.2, 0.9, 1.0)),
    "information, the best leads": _greedy("information", (1.0, 0.8, 0.7)),
    "information, the worst leads": _greedy("information", (0.2, 0.9, 1.0)),
    "full feedback": Case(ap.FollowTheLeader(), ap.Instance((1.0, 0.9, 0.8), 1.0), 100, 200, (0.5, 0.0, 0.0)),
}


@functools.cache
def prepared(policy, arms, horizon):
    return policy.prepared(arms, horizon)


def laid_out(case):
    """The case in the terms of `event_bound`: arm 0 leads, or all are active."""
    policy, world, first, last, moves, lead = case
    record, arms, b = prepared(policy, 3, last), 3, world.b
    sums = policy.reads(*np.zeros((len(policy.reads._fields), arms)))
    numbers = np.arange(1.0, last + 1.0)
    if isinstance(policy, ap.SuccessiveElimination):
        shares = np.full((last, arms), 1 / 3)
    elif isinstance(policy, ap.EpsilonGreedy):
        small = numbers**-record.exponent / arms
        shares = np.stack([1 - 2 * small, small, small], axis=1)
    else:
        shares = np.tile([1 - 2e-12, 1e-12, 1e-12], (last, 1))
    powers = powers_of(shares, b)
    exponent = walk_exponent(sums, b)
    past, inside = (
        powers._make(x[part] if np.ndim(x) else x for x in powers) for part in (slice(first), slice(first, None))
    )
    for arm in range(arms):
        mean, noise = world.means[arm], (0.0 if arm else lead * world.sigma)
        sums.count[arm] = first
        if hasattr(sums, "ratio"):
            sums.ratio[arm] = first * mean + noise * past.ratio_noise[:, arm].sum() ** 0.5
        if hasattr(sums, "information"):
            sums.information[arm] = past.information[:, arm].sum()
            sums.score[arm] = sums.information[arm] * mean + noise * sums.information[arm] ** 0.5
        if hasattr(sums, "reward"):
            sums.response[arm], sums.noise[arm] = past.amount[:, arm].sum(), past.noise[:, arm].sum()
            sums.reward[arm] = sums.response[arm] * mean + noise * sums.noise[arm] ** 0.5
    interval, work = Interval(0, first, last, 0, powers_of(shares[first, 0], b)), make_workspace(last, arms)
    work.shares[:] = shares[first]
    fill_power_sums(record, interval, first, exponent, b, False, work)
    for arm in range(arms):
        variance = work.power_sums[0, OTHERS if arm else LEADER, WALK_VARIANCE]
        work.increments[0, arm] = moves[arm] * variance**0.5
    return LaidOut(record, sums, interval, work, exponent, inside)


class LaidOut(NamedTuple):
    """A case in the terms of `event_bound`; the exponent of the walk, and the powers of the shares inside."""

    record: NamedTuple
    sums: NamedTuple
    interval: Interval
    work: NamedTuple
    exponent: float
    inside: NamedTuple


def happened_inside(case, paths, rng):
    """How often a bridge between the ends, drawn period by period, makes the policy decide otherwise."""
    first, last, world = case.first, case.last, case.world
    record, sums, _, work, exponent, inside = laid_out(case)
    spread = inside.amount**exponent
    time = np.cumsum(spread, axis=0)
    bridge = np.cumsum(np.sqrt(spread) * rng.standard_normal((paths, *spread.shape)), axis=1)
    bridge += (work.increments[0] - bridge[:, -1:]) * (time / time[-1])
    noise, means = world.sigma * bridge, np.array(world.means)
    count = np.arange(first + 1.0, last + 1.0)
    if hasattr(sums, "ratio"):
        return (np.argmax(sums.ratio + count[:, None] * means - first * means + noise, axis=2) != 0).any(axis=1)
    information = sums.information + np.cumsum(inside.information, axis=0)
    if not hasattr(sums, "reward"):
        score = sums.score + (information - sums.information) * means + noise
        return (np.argmax(score / information, axis=2) != 0).any(axis=1)
    resource = sums.response[0] + np.cumsum(inside.amount[:, 0])
    variance = sums.noise[0] + np.cumsum(inside.noise[:, 0])
    if record.radius == ANYTIME:
        estimate = (sums.score + (information - sums.information) * means + 3 ** (world.b - 1) * noise) / information
    else:
        reward = sums.reward + np.cumsum(inside.amount, axis=0) * means + 3**-world.b * noise
        estimate = reward / resource[:, None]
    radius = np.array([
        record.sigma[0] * elimination_radius(record, 1.0, n, s * s / v, i, 3)
        for n, s, v, i in zip(count, resource, variance, information[:, 0])
    ])  # fmt: skip
    apart = estimate.max(axis=2) - estimate.min(axis=2)
    return (apart > radius * (math.sqrt(2) if record.pairwise else 2)).any(axis=1)


def bound_of(case):
    found = laid_out(case)
    return event_bound(found.record, found.sums, steady_law(case.world), found.interval, 1.0, found.work)


@pytest.mark.parametrize("name", INTERVALS)
def test_events_inside_are_no_more_likely_than_the_bound(name):
    """4000 bridges; the bound may be exceeded by four standard errors, which happens by chance once in 30,000.

    Arm 0 is put so far ahead that the bound is near 0.3: there it can be seen to hold, and to be of use.
    """
    tried = [INTERVALS[name]._replace(lead=lead) for lead in np.arange(-10.0, 40.0, 0.1)]
    case = min(tried, key=lambda case: abs(bound_of(case) - 0.3))
    bound = bound_of(case)
    found = happened_inside(case, 4000, np.random.default_rng(7)).mean()
    assert 0.1 < bound < 0.9
    assert found <= bound + 4 * math.sqrt(bound / 4000)
    # A leader that is worse moves towards the others: no one level keeps them apart well, until the interval is cut.
    assert found > 0.02 * bound or name == "information, the worst leads"


def test_the_sag_is_at_least_the_largest_distance_of_a_convex_clock():
    rng = np.random.default_rng(3)
    for _ in range(200):
        count = int(rng.integers(2, 40))
        steps = np.sort(rng.exponential(size=count))
        clock = np.cumsum(steps) / steps.sum()
        sag = max(x + 1 - count * u for x, u in enumerate(clock))
        assert sag <= largest_sag(count, count * steps[0] / steps.sum(), count * steps[-1] / steps.sum()) + 1e-9


def test_all_pairs_of_many_arms_are_counted_once_or_bounded():
    """The short cuts for many arms agree with the plain sum over pairs."""
    arms, first, last = 40, 1000, 1500
    policy = ap.SuccessiveElimination(b=0.75, horizon=10**5).prepared(arms, 10**5)
    rng = np.random.default_rng(5)
    powers = powers_of(1 / arms, 0.75)
    kind = ap.SuccessiveElimination(b=0.75).reads
    sums = kind(*(np.full(arms, first * x) for x in (1.0, powers.amount, powers.noise, 0.0, powers.information, 0.0)))
    instance = steady_law(ap.Instance((0.0,) * arms, 0.75))
    interval, work = Interval(0, first, last, 0, powers), make_workspace(last, arms)
    work.shares[:] = 1 / arms
    work.power_sums[0] = last - first
    for scale in (0.3, 0.5, 0.8):
        sums.reward[:] = scale * 60 * powers.deviation * rng.standard_normal(arms)
        work.increments[0] = math.sqrt(last - first) * rng.standard_normal(arms)
        after = sums.reward + powers.deviation * work.increments[0]
        share = powers.amount
        edges = [
            2 * n * powers.amount * elimination_radius(policy, 1.0, n, n * share**2 / powers.noise, 1.0, arms)
            for n in (float(first), float(last))
        ]
        left = edges[0] - (sums.reward - sums.reward[:, None])
        right = edges[1] - (after - after[:, None])
        exact = np.exp(-left * right / (powers.noise * (last - first)))[~np.eye(arms, dtype=bool)].sum()
        for tolerance in (1e-9, 1e-3):
            bound = event_bound(policy, sums, instance, interval, tolerance, work)
            assert bound > tolerance if exact > tolerance else exact <= bound <= tolerance + exact


# ---- the law --------------------------------------------------------------------------------------------------


def elimination(b, **options):
    return ap.SuccessiveElimination(b=b, **options)


SETTINGS = [
    (elimination(0.75), ap.Instance((1.5, 0.5, 0.0), 0.75), 5000),
    (elimination(0.6, pairwise=True), ap.Instance((1.0, 0.0), 0.6), 4000),
    (elimination(0.75, delta=0.05, sigma=0.5), ap.Instance((1.0, 0.95, 0.5, 0.5, 0.5, 0.5), 0.75), 3000),
    (elimination(0.9, radius="cone"), ap.Instance((1.0, 0.5, 0.5, 0.0), 0.9), 3000),
    (elimination(0.5, radius="cone", pairwise=True), ap.Instance(one_good(5, 1.0), 0.5), 4000),
    (elimination(0.75, radius="anytime"), ap.Instance(one_good(5, 0.5), 0.75), 5000),
    (elimination(0.6, radius="anytime", pairwise=True), ap.Instance(tuple(0.3 * i for i in range(10)), 0.6), 4000),
    (elimination(1.0, radius="anytime"), ap.Instance((0.0, 0.3), 1.0), 3000),
    (elimination(0.0, radius="anytime", pairwise=True), ap.Instance((2.0, 1.0, 0.0), 0.0, sigma=0.7), 2000),
    (elimination(0.75, radius="anytime", pairwise=True), ap.Instance(one_good(30, 1.0), 0.75), 2000),
    (elimination(0.75, radius="printed"), ap.Instance(one_good(5, 0.5), 0.75), 2000),
    (ap.EpsilonGreedy(b=0.75), ap.Instance(one_good(2, 0.5), 0.75), 3000),
    (ap.EpsilonGreedy(b=0.75, epsilon=0.25), ap.Instance(one_good(5, 0.5), 0.75), 4000),
    (ap.EpsilonGreedy(b=0.9), ap.Instance((1.0, 1.0, 1.0), 0.9), 2000),
    (ap.EpsilonGreedy(b=1.0), ap.Instance((0.2, 0.1, 0.0), 1.0), 2000),
    (ap.EpsilonGreedy(b=0.75, leader="information"), ap.Instance(one_good(5, 0.2), 0.75), 3000),
    (ap.EpsilonGreedy(b=0.6, leader="information"), ap.Instance((1.0, 0.8, 0.4), 0.6, sigma=2.0), 3000),
    (ap.EpsilonGreedy(b=1.0, leader="information"), ap.Instance(one_good(4, 0.1), 1.0), 2000),
    (ap.FollowTheLeader(), ap.Instance((0.1, 0.0, 0.0), 1.0), 3000),
    # Short, and often: here a period too many or too few would show.
    (elimination(0.75, radius="anytime", pairwise=True), ap.Instance((6.0, 3.0, 0.0), 0.75), 20),
    (ap.EpsilonGreedy(b=0.75), ap.Instance((1.0, 0.5, 0.0), 0.75), 20),
    (ap.EpsilonGreedy(b=0.75, leader="information"), ap.Instance((1.0, 0.5, 0.0), 0.75), 20),
    (ap.FollowTheLeader(), ap.Instance((0.1, 0.0, 0.0), 1.0), 20),
    (elimination(0.9, radius="cycles"), ap.Instance((1.0, 0.5, 0.5, 0.0), 0.9), 3000),
]
SOAK = os.environ.get("APPORTION_SOAK") == "1"
RUNS = 2000 if SOAK else 200
CHUNK = 200
# Per setting: regret and reward at two checkpoints, the count of changes, and for each arm the last active period.
COMPARISONS = sum(5 + world.arms for _, world, _ in SETTINGS)
FAMILY_LEVEL = 0.01  # the chance that a right engine fails any of them, were the seeds not fixed


def samples(policy, world, horizon, runs, seed, **options):
    """(leap, dense), each a table of a row per statistic; rounded, as the engines add up in a different order."""
    checkpoints = (horizon // 10, horizon)
    leap, tally = leap_runs(policy, world, horizon, runs, checkpoints, seed, **options)
    tables = [np.vstack([leap.regret.T, leap.reward.T, tally.changes, leap.eliminated.T])]
    blocks = []
    for chunk in range(runs // CHUNK):
        dense, changes = dense_runs(policy, world, horizon, CHUNK, checkpoints, seed=seed + 1000 * (chunk + 1))
        if isinstance(policy, ap.SuccessiveElimination):  # its "leader" is only the first arm in the race
            last = np.where(dense.eliminated == 0, horizon, dense.eliminated)
            left = [np.unique(row[(row < horizon) & (row >= 2)]) for row in last]
            changes = np.array([len(row) for row in left])
        blocks.append(np.vstack([dense.regret.T, dense.reward.T, changes, dense.eliminated.T]))
    tables.append(np.hstack(blocks))
    return [np.round(table, 7) for table in tables]


@pytest.mark.parametrize("index", range(len(SETTINGS)), ids=lambda index: f"{index}-{SETTINGS[index][0]!r}")
def test_the_law_is_that_of_the_dense_engine(index):
    policy, world, horizon = SETTINGS[index]
    leap, dense = samples(policy, world, horizon, RUNS if horizon > 20 else 20 * RUNS, seed=100 + index)
    found = [float(stats.ks_2samp(ours, theirs, method="asymp").pvalue) for ours, theirs in zip(leap, dense)]
    assert len(found) == 5 + world.arms
    assert min(found) > FAMILY_LEVEL / COMPARISONS, found


@pytest.mark.parametrize(("index", "runs"), [(6, 2000), (12, 400)], ids=["elimination", "greedy"])
def test_a_wrong_law_would_be_noticed(index, runs):
    """Where events between the ends of intervals go unseen, the same comparison fails by far."""
    policy, world, horizon = SETTINGS[index]
    leap, dense = samples(policy, world, horizon, runs, seed=1, tolerance=1 - 1e-9)
    found = [float(stats.ks_2samp(ours, theirs, method="asymp").pvalue) for ours, theirs in zip(leap, dense)]
    assert min(found) < 1e-3 * FAMILY_LEVEL / COMPARISONS


# ---- runs -----------------------------------------------------------------------------------------------------

KINDS = [
    elimination(0.75),
    elimination(0.75, radius="cone", pairwise=True),
    elimination(0.75, radius="anytime"),
    elimination(0.75, radius="printed"),
    ap.EpsilonGreedy(b=0.75),
    ap.EpsilonGreedy(b=0.75, leader="information"),
    ap.FollowTheLeader(b=0.75),
    ap.Uniform(),
    ap.Oracle(means=(1.0, 0.5, 0.0)),
]
WORLD = ap.Instance((1.0, 0.5, 0.0), 0.75)


def test_every_kind_of_policy_is_run():
    assert {type(policy) for policy in KINDS} == set(POLICIES)


@pytest.mark.parametrize("policy", KINDS, ids=repr)
def test_a_long_run_is_sound(policy):
    checkpoints = np.unique(np.geomspace(1, LONGEST_HORIZON, 40).round().astype(np.int64))
    found, tally = leap_runs(policy, WORLD, LONGEST_HORIZON, 5, checkpoints)
    assert np.isfinite(found.regret).all()
    assert (np.diff(found.regret, axis=1) >= 0).all()
    assert (found.regret <= checkpoints * max(WORLD.gaps) * (1 + 1e-9)).all()
    assert np.allclose(found.shares.sum(axis=2), 1.0, rtol=0, atol=1e-9)
    assert (found.leader == found.shares.argmax(axis=2)).all()
    assert (found.active == (found.shares >= 0.5 * found.shares.max(axis=2, keepdims=True))).all()
    # What was earned is what the best arm would have earned, less the regret, plus noise of a known size.
    noise = found.reward - (checkpoints * WORLD.best_mean - found.regret)
    assert (np.abs(noise) <= 8 * np.sqrt(3 * checkpoints)).all()
    assert (tally.leap_error >= 0).all()
    assert (tally.leap_error < 1000 * TOLERANCE).all()


@pytest.mark.parametrize("policy", KINDS, ids=repr)
def test_plain_equals_compiled(policy):
    checkpoints = (1, 2, 50, 20_000)
    plain, plainly = leap_runs(policy, WORLD, 20_000, 2, checkpoints, plain=True)
    fast, swiftly = leap_runs(policy, WORLD, 20_000, 2, checkpoints)
    for name in EVERYTHING:
        assert np.allclose(getattr(plain, name), getattr(fast, name), rtol=1e-9, equal_nan=True), name
    assert (plainly.changes == swiftly.changes).all()
    assert np.allclose(plainly.leap_error, swiftly.leap_error, rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("policy", KINDS[:6], ids=repr)
def test_runs_depend_on_the_seed_alone(policy):
    whole, tally = leap_runs(policy, WORLD, 10**7, 6)
    again, _ = leap_runs(policy, WORLD, 10**7, 6)
    part, of_part = leap_runs(policy, WORLD, 10**7, 2, first=3)
    other, _ = leap_runs(policy, WORLD, 10**7, 6, seed=2)
    for name in EVERYTHING:
        np.testing.assert_array_equal(getattr(whole, name), getattr(again, name))
        np.testing.assert_array_equal(getattr(whole, name)[3:5], getattr(part, name))
    np.testing.assert_array_equal(tally.leap_error[3:5], of_part.leap_error)
    assert (whole.reward != other.reward).all()


@pytest.mark.parametrize("policy", KINDS[:3], ids=repr)
def test_regret_is_what_the_last_active_periods_say(policy):
    horizon, gaps = 10**7, np.array(WORLD.gaps)
    found, _ = leap_runs(policy, WORLD, horizon, 50)
    for regret, eliminated in zip(found.regret[:, 0], found.eliminated):
        last = np.where(eliminated == 0, horizon, eliminated)
        ends = np.unique(last)
        starts = np.array([0, *ends[:-1]])
        costs = [gaps[last >= end].mean() * (end - start) for start, end in zip(starts, ends)]
        assert regret == pytest.approx(sum(costs), rel=1e-12)


def test_regret_of_following_the_leader_is_a_count_of_periods():
    world = ap.Instance((0.5, 0.0, 0.0), 1.0)
    found, _ = leap_runs(ap.FollowTheLeader(), world, 1000, 200)
    wrong = (found.regret[:, 0] - 1 / 3) / 0.5  # period 1 is even; then every period costs a gap or nothing
    assert np.allclose(wrong, wrong.round(), rtol=0, atol=1e-6)


def test_uniform_and_oracle_are_exact():
    checkpoints = (1, 10, 12_345, LONGEST_HORIZON)
    uniform, tally = leap_runs(ap.Uniform(), WORLD, LONGEST_HORIZON, 300, checkpoints)
    assert np.allclose(uniform.regret, np.array(checkpoints) * 0.5, rtol=1e-12)
    assert (tally.leap_error == 0).all()
    assert (tally.changes == 0).all()
    oracle, _ = leap_runs(ap.Oracle(means=(1.0, 1.0, 0.0)), WORLD, LONGEST_HORIZON, 300, checkpoints)
    assert np.allclose(oracle.regret, np.array(checkpoints) * 0.25, rtol=1e-12)
    # The noise of the reward: K arms with a share of 1/K each have the variance T·K^(1 − 2b).
    for found, arms in ((uniform, 3), (oracle, 2)):
        noise = found.reward - np.array(checkpoints) * (1.0 - found.regret / checkpoints)
        scaled = noise / np.sqrt(np.array(checkpoints) * arms**-0.5)
        assert stats.kstest(scaled[:, -1], "norm").pvalue > 1e-3
        assert stats.kstest(scaled[:, 0], "norm").pvalue > 1e-3


@pytest.mark.parametrize("policy", KINDS, ids=repr)
@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_the_shortest_runs(policy, horizon):
    found, tally = leap_runs(policy, WORLD, horizon, 20, tuple(range(1, horizon + 1)))
    assert np.isfinite(found.reward).all()
    assert (tally.changes == 0).all() or horizon == 3
    if not isinstance(policy, ap.Oracle):
        assert np.allclose(found.shares[:, 0], 1 / 3)
        assert np.allclose(found.regret[:, 0], 0.5)


def test_arms_that_are_alike_need_no_event():
    world = ap.Instance((0.5,) * 10, 0.75)
    found, tally = leap_runs(elimination(0.75), world, LONGEST_HORIZON, 20)
    assert (found.regret == 0).all()
    assert (tally.changes == 0).all()
    assert (found.eliminated == 0).all()


@pytest.mark.parametrize("policy", KINDS[:6], ids=repr)
def test_enormous_gaps_are_seen_at_once(policy):
    world = ap.Instance((1e6, 0.0, 0.0), 0.75)
    found, _ = leap_runs(policy, world, 10**9, 10)
    assert (found.leader[:, -1] == 0).all()
    assert (found.regret[:, -1] < 2e7).all()


def test_more_tolerance_means_fewer_intervals_and_is_reported():
    loose, tally = leap_runs(KINDS[4], WORLD, 10**6, 50, tolerance=1e-3)
    tight, tightly = leap_runs(KINDS[4], WORLD, 10**6, 50, tolerance=1e-12)
    assert np.isfinite(loose.regret).all()
    assert np.isfinite(tight.regret).all()
    assert 1e-3 < tally.leap_error.max() < 1.0
    assert 0.0 < tightly.leap_error.max() < 1e-9


# ---- what cannot leap ---------------------------------------------------------------------------------------


class Guarded(ap.SuccessiveElimination):
    """A rule of its own, which the bounds know nothing of."""

    def allocate(self, period, sums, memory, rng, shares):
        shares[:] = 1 / len(shares)


@pytest.mark.parametrize(
    ("policy", "world", "horizon", "common", "why"),
    [
        (ap.Odds(b=0.75), WORLD, 100, False, r"Odds\(b=0.75\), whose shares are not fixed between events"),
        (Guarded(b=0.75), WORLD, 100, False, "whose shares are not fixed between events"),
        (ap.Uniform(), ap.Instance((1.0, 0.0), 0.75, noise="laplace"), 100, False, "laplace noise"),
        (ap.Uniform(), WORLD, 100, True, "`common` noise"),
        (ap.Uniform(), WORLD, 10**13, False, "horizons beyond"),
        (ap.EpsilonGreedy(b=0.999), ap.Instance((1.0, 0.0), 0.1), 10**12, False, "shares get too small"),
    ],
)
def test_what_cannot_leap_is_said(policy, world, horizon, common, why):
    with pytest.raises(ap.ApportionError, match=r"`engine` must be 'dense' or 'auto' for .*; got 'leap'") as caught:
        ap.simulate(
            policy, world, horizon=horizon, replications=1, seed=1, engine="leap", common=common, progress=False
        )
    caught.match(why)
    assert why_not(policy, world, horizon, common) is not None


# ---- through simulate ---------------------------------------------------------------------------------------


def found_by(policies, horizon, **options):
    return ap.simulate(
        policies, WORLD, horizon=horizon, replications=4, seed=3, progress=False,
        **{"record": EVERYTHING, "periods": 8, "workers": 1, **options},
    )  # fmt: skip


def test_simulate_leaps_and_reports_the_error(tmp_path):
    result = found_by([KINDS[0], KINDS[5]], 10**12, engine="leap")
    assert np.isfinite(result.regret).all()
    assert result.dataset["leap_error"].dims == ("policy", "instance", "replication")
    assert (result.dataset["leap_error"] > 0).all()
    assert (result.dataset["leap_error"] < 1e-6).all()
    assert (result.dataset["changes"].values[0] == 2).all()
    result.save(tmp_path / "run.nc")
    loaded = ap.load_result(tmp_path / "run.nc")
    assert loaded.dataset["leap_error"].equals(result.dataset["leap_error"])


def test_auto_leaps_where_it_can_and_has_to():
    mixed = found_by([KINDS[0], ap.Maillard(b=0.75)], 100_000, engine="auto")
    leapt = found_by([KINDS[0]], 100_000, engine="leap")
    assert mixed.regret.isel(policy=0).equals(leapt.regret.isel(policy=0))
    assert np.isfinite(mixed.dataset["leap_error"].values[0]).all()
    assert np.isnan(mixed.dataset["leap_error"].values[1]).all()
    short = found_by([KINDS[0]], 1000, engine="auto")
    dense = found_by([KINDS[0]], 1000, engine="dense")
    assert short.regret.equals(dense.regret)
    assert "leap_error" not in short.dataset


def test_leap_results_do_not_depend_on_the_workers():
    one, two = (found_by(KINDS[:6], 10**9, engine="leap", workers=workers) for workers in (1, 2))
    assert one.dataset.equals(two.dataset)


def test_a_finished_leap_is_found_again(tmp_path):
    task = Task(KINDS[0], WORLD, 10**9, (10**3, 10**9), ("regret",), 1, 0, 5, engine="leap")
    found = run_task(task)
    assert set(found) == {"regret", "changes", "leap_error"}
    store = FolderStore(tmp_path)
    store.save(task, found)
    again = store.load(task)
    assert again is not None
    for name, values in found.items():
        np.testing.assert_array_equal(values, again[name])


def test_an_arm_that_is_alone_gets_everything():
    spent = np.zeros(2)
    amounts_spent(ap.Uniform().prepared(2, 10), np.array([0.0, 1.0]), 1, 3, 10, spent)
    assert spent.tolist() == [0.0, 7.0]
