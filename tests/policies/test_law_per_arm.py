"""A σ for every arm and the exponent c of the mean, as parameters of policies."""

import json

import numpy as np
import pytest

import apportion as ap
from apportion.model.sums import InformationSums
from apportion.policies import POLICIES, find_policy, policy_from_dict
from apportion.policies.contract import Period, decide_now, return_exponent_for
from apportion.policies.registry import parameters

LEVELS = (0.5, 1.0, 2.0)
WITH_SIGMA = [name for name in POLICIES if any(p.name == "sigma" and p.per_arm for p in parameters(name))]
KNOWS_C = {"Recommended", "Matching", "Thompson", "Oracle"}


def made(name, **given):
    """A policy with what it cannot do without."""
    needed = {"b": 1.0, "means": (1.0, 0.5, 0.2)}
    required = {p.name: needed[p.name] for p in parameters(name) if p.required}
    return find_policy(name)(**{**required, **given})


def test_every_policy_with_a_noise_level_takes_one_per_arm():
    assert set(POLICIES) - set(WITH_SIGMA) == {"EpsilonGreedy", "FollowTheLeader", "Uniform", "Oracle"}


@pytest.mark.parametrize("name", WITH_SIGMA)
def test_sigma_is_a_number_or_one_per_arm(name):
    policy = made(name, sigma=np.array(LEVELS))
    assert policy.sigma == LEVELS
    assert policy_from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
    assert policy.restricted([2, 0]) == made(name, sigma=(2.0, 0.5))
    with pytest.raises(
        ap.InvalidValue, match=r"`sigma` must be a number, or one per arm \(2\); got \(0.5, 1.0, 2.0\)."
    ):
        policy.prepared(2, 100)
    with pytest.raises(ap.InvalidValue, match=r"`sigma\[1\]` must be a number above 0; got -1."):
        made(name, sigma=(1.0, -1.0))
    with pytest.raises(ap.InvalidValue, match=r"`sigma` must be a number above 0; got 'wide'\."):
        made(name, sigma="wide")
    assert made(name, sigma=2).restricted([0]) == made(name, sigma=2.0)


@pytest.mark.parametrize("name", WITH_SIGMA)
def test_one_sigma_given_once_per_arm_decides_as_one_number(name):
    sums = InformationSums(np.array([5.0, 7.0, 3.0]), np.array([2.0, 1.5, 1.0]), np.array([1.0, 0.9, 0.2]))
    wide = ap.Statistics(3, b=1.0)
    wide.update(np.array([1.0, 0.5, 0.2]), np.array([1.1, 0.4, 0.3]))
    past = wide.sums()._replace(**sums._asdict())
    if name == "Auto":  # it reads what a learner knows
        past = made(name, sigma=0.7).reads.new(3)
        past.filters.known[:], past.filters.mean[:], past.filters.own[:] = 1.0, (0.5, 0.6, 0.2), (0.5, 0.7, 1.0)
    one, many = (made(name, sigma=sigma).prepared(3, 50) for sigma in (0.7, (0.7, 0.7, 0.7)))
    shares = [
        decide_now(record, Period(9, 50, 1.0), past, np.zeros(3), np.random.default_rng(1)) for record in (one, many)
    ]
    assert np.array_equal(*shares)


@pytest.mark.parametrize("name", sorted(set(POLICIES) - KNOWS_C - {"Auto", "Uniform"}))
def test_a_policy_of_proportional_returns_says_who_knows_others(name):
    assert made(name, c=1).c == 1.0
    assert "c" not in made(name).to_dict()["parameters"]
    sentence = r"`c` must be 1, as it knows .* \(Recommended, Matching and Thompson know others\); got 0.7\."
    with pytest.raises(ap.InvalidValue, match=sentence):
        made(name, c=0.7)
    with pytest.raises(ap.InvalidValue, match=sentence):
        return_exponent_for(made(name), 0.7)
    bent = ap.Instance((1.0, 0.5), b=1.0, c=0.7)
    with pytest.raises(ap.InvalidValue, match=f"{name} cannot run on .*{sentence}"):
        ap.simulate(find_policy(name), bent, horizon=5, replications=1, seed=1, progress=False)
    # Told nothing of c, it may be played in any world, and takes its sums at c = 1.
    regret = ap.simulate(made(name), bent, horizon=5, replications=1, seed=1, progress=False).regret
    assert regret.values.min() > 0.0


def test_the_exponent_that_sums_are_taken_at():
    assert return_exponent_for(ap.Odds(b=0.5), None) == 1.0
    assert return_exponent_for(ap.Matching(b=0.5, c=0.7), None) == 0.7
    assert return_exponent_for(ap.Uniform(), 0.7) == 0.7
    with pytest.raises(ap.InvalidValue, match=r"`c` must be given to the policy, as Matching\(c=0.7\); got 0.7."):
        return_exponent_for(ap.Matching(b=0.5), 0.7)
    with pytest.raises(ap.InvalidValue, match=r"`c` must be a number in \(0, 1\]; got 1.5"):
        ap.Matching(b=0.5, c=1.5)


def test_leaping_needs_one_sigma():
    policy = ap.SuccessiveElimination(b=0.75, sigma=(1.0, 2.0))
    with pytest.raises(ap.InvalidValue, match="its arms must share one σ"):
        ap.simulate(
            policy, ap.Instance((1.0, 0.5), b=0.75), horizon=50, replications=1, seed=1, engine="leap", progress=False
        )
