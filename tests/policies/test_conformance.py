"""Every policy keeps the contract, at each side of the phase transition it is made for."""

import pytest

import apportion as ap
from apportion.policies import POLICIES
from apportion.testing import POLICY_CHECKS


def levels(arms):
    return tuple(0.4 + 0.2 * (arm % 5) for arm in range(arms))


CASES = {
    "elimination printed": ap.SuccessiveElimination(b=0.75, radius="printed", horizon=100),
    "elimination corrected": ap.SuccessiveElimination(b=0.75, horizon=100),
    "elimination cone": ap.SuccessiveElimination(b=0.5, horizon=100, radius="cone"),
    "elimination cycles": ap.SuccessiveElimination(b=0.5, horizon=100, radius="cycles"),
    "elimination anytime": ap.SuccessiveElimination(b=1.0, horizon=100, radius="anytime", pairwise=True),
    "greedy ratios": ap.EpsilonGreedy(b=0.75),
    "greedy information": ap.EpsilonGreedy(b=0.95, leader="information"),
    "greedy at 1": ap.EpsilonGreedy(b=1.0),
    "ucb1": ap.UCB(),
    "moss": ap.UCB(index="moss"),
    "thompson at 0": ap.Thompson(b=0.0),
    "thompson at 1/2": ap.Thompson(b=0.5),
    "leader": ap.FollowTheLeader(),
    "hedge": ap.Hedge(),
    "uniform": ap.Uniform(),
    "oracle": lambda arms: ap.Oracle(means=tuple(float(arm % 7) for arm in range(arms))),
    "matching at 3/4": ap.Matching(b=0.75),
    "matching at 0": ap.Matching(b=0.0),
    "odds at 0": ap.Odds(b=0.0),
    "odds at 1/2": ap.Odds(b=0.5),
    "odds at 3/4": ap.Odds(b=0.75),
    "odds at 1": ap.Odds(b=1.0),
    "maillard at 1/4": ap.Maillard(b=0.25),
    "maillard at 0.9": ap.Maillard(b=0.9),
    "recommended at 0": ap.Recommended(b=0.0),
    "recommended at 1/2": ap.Recommended(b=0.5, horizon=100),
    "recommended at 3/4": ap.Recommended(b=0.75),
    "recommended at 1": ap.Recommended(b=1.0),
    "auto": ap.Auto(),
    "auto told sigma": ap.Auto(sigma=1.0),
    "auto told 0.3": ap.Auto(b=0.3),
    "auto told 3/4": ap.Auto(b=0.75),
    "auto told both": ap.Auto(b=0.75, sigma=1.0),
    "adaptive at 3/4": ap.AdaptiveElimination(b=0.75),
    "adaptive at 1/2": ap.AdaptiveElimination(b=0.5, scale=0.5),
    "adaptive at 1": ap.AdaptiveElimination(b=1.0),
    "oracle, bent": lambda arms: ap.Oracle(means=tuple(float(arm % 7) for arm in range(arms)), c=0.8),
    "thompson, bent": ap.Thompson(b=0.5, c=0.7),
    "matching, bent": ap.Matching(b=0.5, c=0.7),
    "matching, bent and pooled": ap.Matching(b=0.2, c=0.9),
    "recommended, bent": ap.Recommended(b=0.5, c=0.7),
    "recommended, nearly straight": ap.Recommended(b=0.75, c=0.99, horizon=100),
    "recommended, bent and pooled": ap.Recommended(b=0.1, c=0.9),
    "recommended, bent, a sigma per arm": lambda arms: ap.Recommended(b=0.5, sigma=levels(arms), c=0.6),
    "odds, a sigma per arm": lambda arms: ap.Odds(b=0.75, sigma=levels(arms)),
    "elimination, a sigma per arm": lambda arms: ap.SuccessiveElimination(b=0.75, sigma=levels(arms), horizon=100),
    "ucb, a sigma per arm": lambda arms: ap.UCB(sigma=levels(arms)),
}


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES)
def test_contract(case, check):
    check(CASES[case])


def test_no_policy_is_exempt():
    made = {type(case if isinstance(case, ap.Policy) else case(2)).__name__ for case in CASES.values()}
    assert made == set(POLICIES)
