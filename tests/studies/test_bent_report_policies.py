"""The two policies of the report on diminishing returns keep the contract, and are what their theorem is about."""

import numpy as np
import pytest

import apportion as ap
from apportion import theory
from apportion.model import response
from apportion.model.sums import InformationSums
from apportion.policies.contract import Period, decide_now
from apportion.studies.paper.bent_policies import MeanOfDraws, SplitOfEstimates
from apportion.studies.paper.diminishing import interior_floor, losing_floor
from apportion.studies.paper.runs import growth_in_log
from apportion.testing import check_policy


@pytest.mark.parametrize("policy", [SplitOfEstimates(b=0.4, c=0.7, floor=1.5), MeanOfDraws(b=0.1, sigma=1.0, c=0.9)])
def test_they_keep_the_contract(policy):
    check_policy(policy)


def shares_of(policy, number, score, information):
    sums = InformationSums(np.ones(3), np.array(information), np.array(score))
    return decide_now(policy.prepared(3, 100), Period(number, 100, 1.0), sums, np.zeros(3), np.random.default_rng(1))


def test_the_split_of_the_estimates_is_lifted_to_its_floor():
    policy = SplitOfEstimates(b=0.5, c=0.5, floor=1.0)
    np.testing.assert_allclose(shares_of(policy, 1, [0.0] * 3, [0.0] * 3), 1 / 3)
    means, floor = [2.0, 1.0, -1.0], 1 / 12
    lifted = np.maximum(response.optimal_split(means, c=0.5), floor)
    np.testing.assert_allclose(shares_of(policy, 4, means, [1.0] * 3), lifted / lifted.sum())
    np.testing.assert_allclose(shares_of(policy, 4, [-1.0, -2.0, -3.0], [1.0] * 3), 1 / 3)


def test_floors_are_within_what_the_theorem_asks_for():
    for c in (0.2, 0.6, 0.9):
        for b in np.linspace(0.0, c, 7):
            assert interior_floor(b, c) * (2 * c - 2 * b) < 1
            floor = losing_floor(float(b), c)
            assert (floor is None) == (b <= theory.transitions(c).losing_arms)
            if floor is not None:
                assert floor * c > 1 > floor * (2 * c - 2 * b)


def test_growth_is_taken_run_by_run():
    """An even split loses the same in every period: the slope in log T between 10 and 100 is 90·loss/log 10."""
    world = ap.Instance((1.0, 0.5), b=0.5, sigma=0.2, c=0.5)
    lost = response.value([1.0, 0.5], c=0.5) - 1.5 * 0.5**0.5
    np.testing.assert_allclose(growth_in_log(ap.Uniform(), world, 100, 3, 1), 90 * lost / np.log(10), rtol=1e-9)
