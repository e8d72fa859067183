"""The dense engine against closed forms, independent implementations and its own plain twin.

Statistical tests have fixed seeds; an error budget says how often one would fail for a fresh seed.
"""

import math

import numpy as np
import pytest
from scipy import stats

import apportion as ap
from apportion.simulation import plan
from apportion.simulation.engines.dense import Dense
from apportion.simulation.engines.records import empty_traces
from apportion.simulation.engines.streams import restart, streams

WORLD = ap.Instance((1.0, 0.75, 0.6, 0.2), b=0.75, sigma=0.5)
EVERYTHING = ("regret", "reward", "shares", "leader", "active", "eliminated")


def simulate(policies, worlds, horizon=100, replications=4, seed=11, **options):
    return ap.simulate(
        policies, worlds, horizon=horizon, replications=replications, seed=seed, progress=False, **options
    )


def full(policy, world=WORLD, horizon=60, **options):
    """A result with everything recorded in every period, as arrays without the axes of policy and instance."""
    found = simulate(policy, world, horizon, record=EVERYTHING, periods=range(1, horizon + 1), **options)
    return found.dataset.isel(policy=0, instance=0)


POLICIES = {
    "elimination": ap.SuccessiveElimination(b=0.75, sigma=0.5, radius="anytime", pairwise=True),
    "elimination cone": ap.SuccessiveElimination(b=0.75, sigma=0.05, radius="cone"),
    "elimination printed": ap.SuccessiveElimination(b=0.75, sigma=0.5, radius="printed"),
    "greedy": ap.EpsilonGreedy(b=0.75),
    "ucb": ap.UCB(sigma=0.5),
    "thompson": ap.Thompson(b=0.75, sigma=0.5),
    "odds": ap.Odds(b=0.75, sigma=0.5),
    "maillard": ap.Maillard(b=0.4, sigma=0.5),
    "matching": ap.Matching(b=0.75, sigma=0.5),
    "adaptive": ap.AdaptiveElimination(b=0.75, sigma=0.5, scale=0.5),
    "hedge": ap.Hedge(),
    "leader": ap.FollowTheLeader(),
    "uniform": ap.Uniform(),
    "oracle": ap.Oracle(means=WORLD.means),
}


def test_uniforms_regret_is_exact():
    found = simulate(ap.Uniform(), WORLD, horizon=1000).regret
    expected = found["period"].values * np.mean(WORLD.gaps)
    np.testing.assert_allclose(found.values, np.broadcast_to(expected, found.shape), rtol=1e-12)


def test_the_oracles_regret_is_zero():
    assert (simulate(ap.Oracle, WORLD).regret == 0.0).all()


def test_algorithm_1_as_printed_has_the_linear_regret_of_the_formula():
    # Error budget: one mean against its exact value at 4.5 standard errors, 7e-6.
    world = ap.Instance((0.5, 0.0, 0.0, 0.0, 0.0), b=0.75)
    policy = ap.SuccessiveElimination(b=0.75, radius="printed")
    final = simulate(policy, world, horizon=300, replications=4000, periods=1).regret.values.ravel()
    expected = ap.theory.printed_elimination_regret(world.means, b=0.75, horizon=300)
    assert abs(final.mean() - expected) < 4.5 * final.std() / math.sqrt(len(final))


def noise_of(world, seed, replication, periods):
    """The shared noise of a run with Gaussian noise, drawn by NumPy alone: (periods, arms)."""
    stream = streams(["noise", world.to_dict()], seed, replication, replication + 1)
    restart(stream.generator, stream.state, stream.seeds[0])
    return stream.generator.standard_normal((periods, world.arms))


@pytest.mark.parametrize("sigma", [0.2, 1.0])
def test_ucb_plays_what_an_independent_implementation_plays(sigma):
    """Same noise, plain lists and the textbook's formula; the order of the first plays is a tie, taken over."""
    world = ap.Instance((1.0, 0.9, 0.5), b=0.5, sigma=sigma)
    horizon, replications = 400, 3
    found = full(ap.UCB(sigma=sigma), world, horizon, replications=replications, seed=5, common=True)
    for replication in range(replications):
        noise = noise_of(world, 5, replication, horizon)
        plays, totals, reward, regret = [0] * 3, [0.0] * 3, 0.0, 0.0
        chosen = found["leader"].values[replication].tolist()
        assert sorted(chosen[:3]) == [0, 1, 2]
        for period in range(1, horizon + 1):
            arm = chosen[period - 1]
            if period > 3:
                index = [totals[i] / plays[i] + sigma * math.sqrt(2 * math.log(period) / plays[i]) for i in range(3)]
                assert arm == index.index(max(index)), (replication, period)
            got = world.means[arm] + sigma * noise[period - 1, arm]
            plays[arm] += 1
            totals[arm] += got
            reward += got
            regret += world.gaps[arm]
        assert found["reward"].values[replication, -1] == pytest.approx(reward, rel=1e-12)
        assert found["regret"].values[replication, -1] == pytest.approx(regret, rel=1e-12)


@pytest.mark.parametrize("case", POLICIES)
def test_compiled_equals_plain(case):
    policy, horizon, runs = POLICIES[case], 40, 2
    checkpoints = tuple(range(1, horizon + 1))
    blocks = []
    for plain in (False, True):
        block = empty_traces(runs, horizon, WORLD.arms, EVERYTHING)
        Dense(policy, WORLD, horizon, checkpoints, plain=plain).run(streams("twin", 3, 0, runs), block)
        blocks.append(block)
    for name in EVERYTHING:
        np.testing.assert_allclose(
            getattr(blocks[0], name), getattr(blocks[1], name), rtol=1e-12, atol=1e-12, err_msg=name
        )


@pytest.mark.parametrize("case", POLICIES)
def test_everything_recorded_agrees_with_the_shares(case):
    found = full(POLICIES[case])
    shares = found["shares"].values
    np.testing.assert_allclose(shares.sum(axis=-1), 1.0, atol=1e-9)
    np.testing.assert_allclose(
        found["regret"], np.cumsum(shares @ np.array(WORLD.gaps), axis=1), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_array_equal(found["leader"], shares.argmax(axis=-1))
    active = shares >= 0.5 * shares.max(axis=-1, keepdims=True)
    np.testing.assert_array_equal(found["active"], active)
    for run_, arm in np.ndindex(shares.shape[0], WORLD.arms):
        periods = np.flatnonzero(active[run_, :, arm]) + 1
        last = math.nan if not len(periods) else 0 if periods[-1] == shares.shape[1] else periods[-1]
        np.testing.assert_equal(found["eliminated"].values[run_, arm], last)


def test_eliminated_is_when_successive_elimination_dropped_an_arm():
    world = ap.Instance((1.0, 0.0, 0.0), b=0.75, sigma=0.05)
    found = full(ap.SuccessiveElimination(b=0.75, sigma=0.05, radius="anytime"), world)
    dropped = found["eliminated"].values
    assert (dropped[:, 0] == 0).all()
    assert (dropped[:, 1:] > 0).all()
    for run_ in range(len(dropped)):
        for arm in (1, 2):
            last = int(dropped[run_, arm])
            assert found["shares"].values[run_, last - 1, arm] > 0.0
            assert (found["shares"].values[run_, last:, arm] == 0.0).all()


def test_checkpoints_only_choose_what_is_written_down():
    every = simulate(ap.Odds(b=0.75), WORLD, periods=range(1, 101))
    some = simulate(ap.Odds(b=0.75), WORLD, periods=[3, 50, 7, 50])
    assert some.regret["period"].values.tolist() == [3, 7, 50]
    for name in ("regret", "reward"):
        np.testing.assert_array_equal(some.dataset[name], every.dataset[name].sel(period=[3, 7, 50]))


def test_log_spaced_checkpoints_end_at_the_horizon():
    for horizon, count in ((1, 50), (7, 50), (1000, 2), (1000, 1), (12345, 50)):
        checkpoints = simulate(ap.Uniform(), WORLD, horizon=horizon, periods=count).regret["period"].values
        assert checkpoints[-1] == horizon
        assert (np.diff(checkpoints) > 0).all()
        assert len(checkpoints) <= count
        assert checkpoints[0] == (horizon if count == 1 else 1)


# The noise, as it comes out of a whole simulation: all on one arm of mean 0, so each reward is one ξ.


def noise_through_the_engine(noise):
    """20 × 1000 values of ξ, (replications, periods)."""
    world = ap.Instance((0.0, -1.0), b=0.5, noise=noise)
    found = simulate(ap.Oracle, world, horizon=1000, replications=20, periods=range(1, 1001), seed=77).reward
    return np.diff(found.values[0, 0], axis=-1, prepend=0.0)


CONTINUOUS = {
    "gaussian": (ap.Gaussian(), stats.norm()),
    "uniform": (ap.UniformNoise(), stats.uniform(-math.sqrt(3), 2 * math.sqrt(3))),
    "laplace": (ap.Laplace(), stats.laplace(scale=math.sqrt(0.5))),
    "student": (ap.StudentT(4.0), stats.t(4.0, scale=math.sqrt(0.5))),
}
DISCRETE = {  # from whole successes to ξ
    "rademacher": (ap.Rademacher(), stats.bernoulli(0.5), lambda k: 2.0 * k - 1.0),
    "bernoulli": (
        ap.CentredBernoulli(0.2),
        stats.bernoulli(0.2),
        lambda k: (k - 0.2) / math.sqrt(0.6 / (2 * math.log(4))),
    ),
    "batch": (ap.Batch(30, 0.3), stats.binom(30, 0.3), lambda k: (k - 9.0) / math.sqrt(30 * 0.21)),
}


@pytest.mark.parametrize("family", CONTINUOUS)
def test_continuous_noise_has_its_law(family):
    # Error budget: chi-square and Kolmogorov–Smirnov at 1e-4 for each of four families, 8e-4 in all.
    noise, law = CONTINUOUS[family]
    values = noise_through_the_engine(noise).ravel()
    counts, _ = np.histogram(law.cdf(values), bins=40, range=(0.0, 1.0))
    assert counts.sum() == values.size
    assert stats.chisquare(counts).pvalue > 1e-4
    assert stats.kstest(values, law.cdf).pvalue > 1e-4


@pytest.mark.parametrize("family", DISCRETE)
def test_discrete_noise_has_its_law(family):
    # Error budget: chi-square at 1e-4 for each of three families, 3e-4 in all.
    noise, law, standardised = DISCRETE[family]
    values = noise_through_the_engine(noise).ravel()
    support = np.arange(31 if family == "batch" else 2)
    nearest = np.abs(values[:, np.newaxis] - standardised(support)).argmin(axis=1)
    np.testing.assert_allclose(values, standardised(nearest), atol=1e-9)
    expected = law.pmf(support) * values.size
    common = expected > 5.0
    counts = np.bincount(nearest, minlength=len(support))
    observed = np.append(counts[common], counts[~common].sum())
    predicted = np.append(expected[common], expected[~common].sum())
    keep = predicted > 0.0
    assert stats.chisquare(observed[keep], predicted[keep]).pvalue > 1e-4


def test_replications_and_periods_are_not_correlated():
    # Error budget: 190 + 1 correlations of 1000 and of 19980 pairs at 5 standard errors, below 2e-4 in all.
    values = noise_through_the_engine(ap.Gaussian())
    across = np.corrcoef(values)[np.triu_indices(20, 1)]
    assert np.abs(across).max() < 5.0 / math.sqrt(1000)
    along = np.corrcoef(values[:, :-1].ravel(), values[:, 1:].ravel())[0, 1]
    assert abs(along) < 5.0 / math.sqrt(values.size)


# Streams.


class Words(np.random.bit_generator.ISeedSequence):
    """Seeds a bit generator with given words."""

    def __init__(self, words):
        self.words = words

    def generate_state(self, n_words, dtype=np.uint32):
        assert (n_words, np.dtype(dtype)) == (3, np.dtype(np.uint64))
        return self.words


def test_a_stream_is_numpys_own():
    stream = streams("anything", 4, 2, 3)
    words = stream.seeds[0]
    restart(stream.generator, stream.state, words)
    theirs = np.random.Generator(np.random.SFC64(Words(np.array([words[0], words[1], words[2] ^ words[3]]))))
    np.testing.assert_array_equal(stream.generator.random(100), theirs.random(100))
    np.testing.assert_array_equal(stream.generator.integers(0, 2**31, 7), theirs.integers(0, 2**31, 7))


def test_a_restart_forgets_everything():
    stream = streams("anything", 4, 0, 1)
    restart(stream.generator, stream.state, stream.seeds[0])
    first = stream.generator.integers(0, 100, 3, dtype=np.uint32)  # leaves half a word behind
    restart(stream.generator, stream.state, stream.seeds[0])
    np.testing.assert_array_equal(stream.generator.integers(0, 100, 3, dtype=np.uint32), first)


def test_no_two_streams_start_alike():
    starts = [
        streams(owner, seed, 0, 50).seeds for owner in ("a", "b", ["a"], {"a": 1}, {"a": 2}) for seed in (0, 1, 2**70)
    ]
    words = np.concatenate(starts)
    assert len(np.unique(words, axis=0)) == len(words)
    assert len(np.unique(words[:, 0])) == len(words)


def test_numbers_do_not_depend_on_the_cut_the_workers_or_the_company(monkeypatch):
    worlds = [WORLD, ap.Instance((1.0, 0.5), b=0.5, noise="uniform")]
    together = simulate([ap.UCB(), ap.Thompson(b=0.75), ap.Odds(b=0.75)], worlds, replications=25, workers=1)
    monkeypatch.setattr(plan, "LARGEST_TASK", 4)
    cut = simulate([ap.UCB(), ap.Thompson(b=0.75), ap.Odds(b=0.75)], worlds, replications=25, workers=2)
    assert together.dataset.identical(cut.dataset)
    alone = simulate(ap.Thompson(b=0.75), worlds[1], replications=11)
    label = alone.regret["policy"].item()
    same = together.dataset.sel(policy=[label]).isel(instance=[1], replication=slice(11))
    for name in ("regret", "reward"):
        np.testing.assert_array_equal(alone.dataset[name], same[name])


def test_another_seed_is_another_result():
    one, two = (simulate(ap.UCB(), WORLD, seed=seed).reward.values for seed in (1, 2))
    assert (one != two).all()


# Common random numbers.


def test_common_noise_is_the_same_for_every_policy():
    """At b = 1 an even split earns the average of what the two single arms earn, with the same noise exactly."""
    world = ap.Instance((0.3, 0.8), b=1.0)
    every = [ap.Uniform(), ap.Oracle(means=(1.0, 0.0)), ap.Oracle(means=(0.0, 1.0))]
    even, first, second = simulate(every, world, common=True).reward.values[:, 0]
    np.testing.assert_allclose(even, 0.5 * (first + second), rtol=1e-9, atol=1e-9)
    even, first, second = simulate(every, world, common=False).reward.values[:, 0]
    assert (np.abs(even - 0.5 * (first + second)) > 1e-6).all()


def test_common_noise_goes_on_for_arms_that_get_nothing():
    """Two policies that split alike earn alike, though one has left an arm out in between."""
    wrong = ap.Oracle(means=(0.0, 1.0, 0.0, 0.0))
    found = simulate([wrong, ap.UCB(sigma=0.5)], WORLD, common=True, horizon=300, record=("reward", "shares"),
                     periods=range(1, 301), seed=12)  # fmt: skip
    same = (found.dataset["shares"].isel(policy=0) == found.dataset["shares"].isel(policy=1)).all("arm").values
    earned = np.diff(found.reward.values, axis=-1, prepend=0.0)
    assert 4 * 20 < same.sum() < 4 * 290
    np.testing.assert_allclose(earned[0][same], earned[1][same], atol=1e-9)


def test_common_noise_keeps_a_policys_own_chance_apart():
    """Thompson's own draws are not the law's: with common noise its rewards still have the right mean."""
    # Error budget: one mean at 5 standard errors, 6e-7.
    world = ap.Instance((1.0, 1.0), b=0.5)
    final = simulate(ap.Thompson(b=0.5), world, common=True, replications=400, horizon=50, periods=1).reward.values
    assert abs(final.mean() - 50.0) < 5.0 * math.sqrt(50.0 / 400)
