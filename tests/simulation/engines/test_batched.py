"""Runs in batches are the runs one by one to the last bit, whatever the policy, the noise and the sizes."""

import math

import numpy as np
import pytest

import apportion as ap
from apportion.policies.index import IndexPolicy
from apportion.simulation.engines.batched import LARGEST_BATCH, can_run_batched
from apportion.simulation.engines.dense import Dense
from apportion.simulation.engines.records import empty_traces
from apportion.simulation.engines.streams import streams

WORLD = ap.Instance((1.0, 0.9, 0.5, 0.2), b=0.4, sigma=0.7)


class UpperQuantile(IndexPolicy):
    """The upper quantile of each arm's posterior."""

    sigma: float = 1.0
    quantile: float = 1.65

    def grade(self, number, arms, arm, count, information, score):
        return score / information, self.sigma / math.sqrt(information)

    def optimism(self, number):
        return self.quantile


class Stubborn(ap.UCB):
    """Keeps the grades of UCB and decides in another way."""

    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 1.0 if arm == 1 else 0.0


POLICIES = {
    "ucb1": ap.UCB(sigma=0.7),
    "moss": ap.UCB(sigma=0.7, index="moss"),
    "moss, longer horizon": ap.UCB(sigma=0.7, index="moss", horizon=10_000),
    "own": UpperQuantile(sigma=0.7),
}
WORLDS = {
    "gaussian": WORLD,
    "many ties": ap.Instance((0.0, 0.0, 0.0, 0.0, 1.0), b=0.0, sigma=1.0, noise=ap.Rademacher()),
    "shares make no difference": ap.Instance(WORLD.means, b=1.0, sigma=0.7, noise=ap.StudentT(degrees=3)),
    "two arms": ap.Instance((0.0, 0.1), b=0.5),
}


def played(policy, world, runs, wanted, horizon=120, plain=False):
    checkpoints = (1, 2, 7, 50, horizon)
    block = empty_traces(runs, len(checkpoints), world.arms, wanted)
    Dense(policy, world, horizon, checkpoints, plain=plain).run(streams("abreast", 5, 0, runs), block)
    return block


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("policy", POLICIES)
def test_side_by_side_is_one_by_one(policy, world):
    runs = 2 * LARGEST_BATCH + 3  # two full batches and a remainder
    batched = played(POLICIES[policy], WORLDS[world], runs, ("regret", "reward"))
    single = played(POLICIES[policy], WORLDS[world], runs, ("regret", "reward", "leader"))
    np.testing.assert_array_equal(batched.regret, single.regret)
    np.testing.assert_array_equal(batched.reward, single.reward)
    assert len(np.unique(batched.reward[:, -1])) > 10


@pytest.mark.parametrize("policy", POLICIES)
def test_compiled_side_by_side_is_plain(policy):
    batched = played(POLICIES[policy], WORLD, 3, ("regret", "reward"))
    plain = played(POLICIES[policy], WORLD, 3, ("regret", "reward"), plain=True)
    np.testing.assert_allclose(batched.regret, plain.regret, rtol=1e-12)
    np.testing.assert_allclose(batched.reward, plain.reward, rtol=1e-12)


def test_many_arms_go_in_smaller_batches():
    world = ap.Instance(tuple(np.linspace(0.0, 1.0, 1500)), b=0.5)
    batched = played(ap.UCB(), world, 10, ("regret",), horizon=1600)
    single = played(ap.UCB(), world, 10, ("regret", "leader"), horizon=1600)
    np.testing.assert_array_equal(batched.regret, single.regret)


def test_a_run_does_not_depend_on_those_beside_it():
    many, few = (played(ap.UCB(), WORLD, runs, ("regret", "reward")) for runs in (100, 5))
    np.testing.assert_array_equal(many.reward[:5], few.reward)


def test_ties_are_broken_evenly():
    """The first arm of each run is any of five alike. Error budget: chi-square on 4 degrees of freedom, 1e-4."""
    world = ap.Instance((0.0, 1.0, 2.0, 3.0, 4.0), b=0.5)
    block = empty_traces(4000, 1, 5, ("regret",))
    Dense(ap.UCB(), world, 1, (1,)).run(streams("ties", 5, 0, 4000), block)
    counts = np.bincount(block.regret[:, 0].astype(int), minlength=5)
    assert ((counts - 800.0) ** 2 / 800.0).sum() < 23.5


def test_who_runs_batched():
    assert can_run_batched(ap.UCB(), 1000)
    assert can_run_batched(ap.UCB(index="moss"), 1000)
    assert not can_run_batched(ap.UCB(index="moss", horizon=500), 1000)  # beyond its horizon it looks at the clock
    assert not can_run_batched(Stubborn(), 1000)
    assert not can_run_batched(ap.Thompson(b=0.5), 1000)


def test_a_policy_that_decides_in_its_own_way_is_not_taken_for_an_index():
    np.testing.assert_allclose(played(Stubborn(), WORLD, 2, ("regret",)).regret[:, -1], 120 * 0.1)


def test_the_base_of_index_policies_is_no_policy_itself():
    from apportion.policies.contract import Policy

    assert "IndexPolicy" not in Policy._registry
    with pytest.raises(NotImplementedError, match="has no `grade`"):
        IndexPolicy().grade(1, 2, 0, 1.0, 1.0, 1.0)
    with pytest.raises(NotImplementedError, match="has no `optimism`"):
        IndexPolicy().optimism(1)


def test_an_index_policy_of_ones_own_keeps_the_contract():
    ap.testing.check_policy(UpperQuantile())
