"""Each policy's rule against a plain NumPy reading of its formula, over histories with amounts of all sizes."""

import math
import sys

import numpy as np
import pytest
from scipy.stats import norm

import apportion as ap
from apportion.model.sums import powers_of
from apportion.policies import POLICIES, find_policy
from apportion.policies.parameters import Number, parameter, parameters_of
from apportion.policies.shared import log_odds_of_tail, recommended_tilt, share_by_weight
from apportion.testing import ContractBroken, check_policy
from apportion.testing.policies import check_seed
from apportion.theory.floors import recommended_floor

# --- a history, and what is known from it -------------------------------------------------------------------


class Past:
    """Sums over a history, written out as MATH has them: amounts and outcomes of shape (periods, arms)."""

    def __init__(self, amounts, outcomes, b):
        self.A, self.Y, self.b = np.array(amounts), np.array(outcomes), b
        self.n = self.sum(np.ones_like(self.A))
        self.mu1 = self.sum(self.Y) / self.sum(self.A)
        self.precision1 = self.sum(self.A) ** 2 / self.sum(self.power(2 * b))
        self.mu2 = self.sum(self.Y * self.power(-1)) / self.n
        self.B = self.sum(self.power(2 - 2 * b))
        self.mean = self.sum(self.power(1 - 2 * b) * self.Y) / self.B
        self.Q = self.sum(self.Y * self.power(-1))

    def power(self, exponent):
        return np.where(self.A > 0, np.where(self.A > 0, self.A, 1.0) ** exponent, 0.0)

    def sum(self, terms):
        return np.where(self.A > 0, terms, 0.0).sum(axis=0)


def trial(policy, b, arms=5, periods=12, seed=0, own_amounts=False, sigma=1.0):
    """Yields (t, the past, the shares asked for) along a run. Amounts vary over two decades, unless its own."""
    rng = np.random.default_rng(seed)
    allocator = ap.Allocator(policy, [f"arm {n}" for n in range(arms)], seed=seed, b=b, horizon=1000)
    means = 0.5 + 0.4 * np.arange(arms) / arms
    amounts, outcomes = [], []
    for t in range(1, periods + 1):
        split = allocator.ask(1.0)
        shares = np.array(list(split.shares.values()))
        assert shares.sum() == pytest.approx(1.0, abs=1e-12)
        if t > 1:
            yield t, Past(amounts, outcomes, b), shares
        else:
            first = shares
        spent = np.array(list(split.amounts.values())) if own_amounts else 10.0 ** rng.uniform(-2, 0, arms)
        back = spent * means + np.where(spent > 0, spent, 1.0) ** b * sigma * rng.standard_normal(arms)
        back[spent == 0.0] = 0.0
        amounts.append(spent)
        outcomes.append(back)
        named = dict(zip(allocator.arms, back.tolist()))
        allocator.tell(split.ticket, named, amounts=dict(zip(allocator.arms, spent.tolist())))
    assert first == pytest.approx(1.0 / arms) or first.max() == 1.0


def with_floor(weights, leader, t, floor):
    """Weights as shares, none below t^(−floor)/K before the last scaling; the leader takes the rest."""
    shares = weights / weights.sum()
    if floor > 0:
        shares = np.maximum(shares, float(t) ** -floor / len(shares))
    shares = shares / shares.sum()
    shares[leader] = 1.0 - np.delete(shares, leader).sum()
    return shares


# --- dividing policies --------------------------------------------------------------------------------------

KAPPA = {0.5: 1.0, 0.6: 1.25, 0.75: 2.0, 0.9: 5.0, 1.0: 10.0}


@pytest.mark.parametrize("b", KAPPA)
def test_recommended_tilt_and_floor(b):
    kappa = KAPPA[b]
    assert recommended_tilt(b) == pytest.approx(math.sqrt(kappa))
    assert recommended_floor(b) == pytest.approx((1 + kappa) / 2 if b > 0.5 else 0.0)
    if 0.5 < b < 1.0:
        assert 1.0 < recommended_floor(b) < 1.0 / (2.0 - 2.0 * b)


@pytest.mark.parametrize("b", [0.0, 0.3, 0.4999])
def test_below_one_half_there_is_no_tilt_and_no_floor(b):
    assert (recommended_tilt(b), recommended_floor(b)) == (1.0, 0.0)


def odds_weights(past, sigma, tilt):
    leader = past.mean.argmax()
    gap = past.mean[leader] - past.mean
    chance = norm.sf(gap / (sigma * np.sqrt(1 / past.B + 1 / past.B[leader])))
    weights = (chance / (1 - chance)) ** tilt
    weights[leader] = 1.0
    return weights


def maillard_weights(past, sigma, tilt):
    gap = past.mean.max() - past.mean
    return np.exp(-past.B * gap**2 / (2 * sigma**2)) ** tilt


def matching_weights(past, sigma, tilt):
    return ap.best_probabilities(past.mean, sigma / np.sqrt(past.B)) ** tilt


MATCHING = {
    ap.Odds: (odds_weights, 1e-9),
    ap.Maillard: (maillard_weights, 1e-9),
    ap.Matching: (matching_weights, 1e-4),
}


@pytest.mark.parametrize("policy", MATCHING, ids=lambda policy: policy.__name__)
@pytest.mark.parametrize("b", KAPPA)
@pytest.mark.parametrize(("tilt", "floor"), [(None, None), (1.0, 0.0), (2.5, 1.2)])
def test_information_matching(policy, b, tilt, floor):
    weights, tolerance = MATCHING[policy]
    power = math.sqrt(KAPPA[b]) if tilt is None else tilt
    least = recommended_floor(b) if floor is None else floor
    for t, past, shares in trial(policy(b=b, sigma=0.8, tilt=tilt, floor=floor), b):
        expected = with_floor(weights(past, 0.8, power), past.mean.argmax(), t, least)
        np.testing.assert_allclose(shares, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("policy", MATCHING, ids=lambda policy: policy.__name__)
def test_below_one_half_one_arm_is_drawn_and_gets_everything(policy):
    """Error budget: five frequencies at five standard errors, below 3e-6 in all; seeded."""
    allocator, past = known_past(policy(b=0.25), 0.25)
    splits = np.array([list(allocator.ask(1.0).amounts.values()) for _ in range(3000)])
    assert ((splits == 0.0) | (splits == 1.0)).all()
    assert (splits.sum(axis=1) == 1.0).all()
    weights = MATCHING[policy][0](past, 1.0, 1.0)
    chances = weights / weights.sum()
    error = np.sqrt(chances * (1 - chances) / len(splits))
    assert (np.abs(splits.mean(axis=0) - chances) < 5 * error + 1e-4).all()


def known_past(policy, b, arms=5):
    """An allocator that was told of four periods, and those."""
    allocator = ap.Allocator(policy, [f"arm {n}" for n in range(arms)], seed=1, b=b)
    rng = np.random.default_rng(6)
    amounts = 10.0 ** rng.uniform(-0.5, 0, (4, arms))
    outcomes = amounts * (1 + 0.3 * rng.random(arms)) + 0.5 * amounts**b * rng.standard_normal((4, arms))
    for spent, back in zip(amounts.tolist(), outcomes.tolist()):
        ticket = allocator.ask(1.0).ticket
        allocator.tell(ticket, dict(zip(allocator.arms, back)), dict(zip(allocator.arms, spent)))
    return allocator, Past(amounts, outcomes, b)


@pytest.mark.parametrize("z", [0.0, 0.5, 3.0, 8.0, 34.999, 35.001, 37.0])
def test_log_odds_of_the_tail(z):
    assert log_odds_of_tail(z) == pytest.approx(norm.logsf(z) - norm.logcdf(z), rel=1e-12, abs=1e-14)


def test_log_odds_of_the_tail_go_on_where_the_tail_has_underflowed():
    far = [log_odds_of_tail(z) for z in (38.0, 100.0, 1e6, 1e150)]
    assert far == pytest.approx([norm.logsf(38.0), norm.logsf(100.0), norm.logsf(1e6), -0.5e300], rel=1e-12)
    assert log_odds_of_tail(1e200) == -math.inf


@pytest.mark.parametrize("leader", ["ratios", "information"])
@pytest.mark.parametrize(("b", "epsilon"), [(0.75, 0.25), (0.75, None), (0.6, 0.05), (0.95, None), (1.0, 0.5)])
def test_epsilon_greedy(b, epsilon, leader):
    small = 0.1 * (2 * b - 1) if epsilon is None else epsilon
    alpha = 2.0 if b == 1.0 else 1 + small / (2 - 2 * b)
    for t, past, shares in trial(ap.EpsilonGreedy(b=b, epsilon=epsilon, leader=leader), b):
        expected = np.full(5, float(t) ** -alpha / 5)
        best = (past.mu2 if leader == "ratios" else past.mean).argmax()
        expected[best] = 1 - 4 * expected[0]
        np.testing.assert_allclose(shares, expected, rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 0.5, 0.1])
@pytest.mark.parametrize(("b", "floor"), [(0.75, None), (0.9, 1.5), (0.5, None), (1.0, None)])
def test_adaptive_elimination(b, floor, scale):
    least = recommended_floor(b) if floor is None else floor
    excluded = 0
    for t, past, shares in trial(ap.AdaptiveElimination(b=b, sigma=0.5, scale=scale, floor=floor), b, sigma=0.5):
        radius = scale * 0.5 * np.sqrt((2 * np.log(t + 1) + 2 * np.log(5)) / past.B)
        racing = past.mean + radius >= (past.mean - radius).max()
        small = float(t) ** -least / 5 if least > 0 else 0.0
        expected = np.where(racing, (1 - (~racing).sum() * small) / racing.sum(), small)
        np.testing.assert_allclose(shares, expected, rtol=1e-12)
        excluded += (~racing).sum()
    assert excluded > 0 or scale > 0.1


def elimination_radius(past, radius, sigma, b, arms, horizon, level):
    counts = past.n
    growth = np.array([sum((math.sqrt(s) - math.sqrt(s - 1)) ** 2 for s in range(1, int(n) + 1)) for n in counts])
    if radius == "printed":
        return 2 * math.sqrt(3) * sigma * np.sqrt(np.log(counts) * math.log(horizon)) / np.sqrt(past.precision1)
    if radius == "corrected":
        return sigma * np.sqrt(2 * growth * level) / np.sqrt(past.precision1)
    if radius in ("cone", "cycles"):
        quantile = getattr(ap.confidence, f"{radius}_quantile")
        quantiles = np.array([quantile(math.exp(-level), int(n)) for n in counts])
        return sigma * quantiles / np.sqrt(past.precision1)
    rho = (1 / arms) ** (2 - 2 * b)
    return sigma * np.sqrt((past.B + rho) * (np.log(1 + past.B / rho) + 2 * level)) / past.B


@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("delta", [None, 0.01])
@pytest.mark.parametrize("radius", ["printed", "corrected", "cone", "cycles", "anytime"])
def test_successive_elimination(radius, delta, pairwise):
    b, arms, horizon, sigma = 0.75, 5, 1000, 0.03
    log_horizon = math.log(horizon)
    levels = {"cone": 3 * log_horizon, "cycles": 3 * log_horizon, "anytime": math.log(arms * horizon)}
    level = levels.get(radius, 4 * log_horizon) if delta is None else -math.log(delta)
    policy = ap.SuccessiveElimination(
        b=b, sigma=sigma, horizon=horizon, radius=radius, pairwise=pairwise, delta=delta
    )
    active, dropped = np.ones(arms, dtype=bool), []
    for t, past, shares in trial(policy, b, arms, periods=30, own_amounts=True, sigma=sigma):
        r = elimination_radius(past, radius, sigma, b, arms, horizon, level)
        means = past.mean if radius == "anytime" else past.mu1
        if pairwise:
            lead = np.where(active, means, -np.inf).argmax()
            out = active & (means + np.sqrt(r**2 + r[lead] ** 2) < means[lead])
        else:
            out = active & (means + r < np.where(active, means - r, -np.inf).max())
        active &= ~out
        dropped += [t - 1] * out.sum()
        np.testing.assert_allclose(shares, active / active.sum(), rtol=1e-12)
    assert dropped
    if radius == "printed":  # its radius is 0 after the first period: exactly one arm survives it
        assert dropped == [1] * 4


def test_successive_elimination_needs_no_horizon_where_a_level_is_given():
    for radius in ("corrected", "cone", "cycles", "anytime"):
        ap.Allocator(ap.SuccessiveElimination(b=0.75, radius=radius, delta=1e-9), ("a", "b")).ask()
    with pytest.raises(ap.InvalidValue, match="`horizon` must be given to SuccessiveElimination"):
        ap.Allocator(ap.SuccessiveElimination(b=0.75, radius="printed", delta=0.1), ("a", "b"))


def test_arms_that_were_ruled_out_come_back_when_those_in_the_race_are_gone():
    allocator = ap.Allocator(ap.SuccessiveElimination(b=0.75, sigma=1e-6, horizon=9), ("a", "b", "c"))
    allocator.tell(allocator.ask().ticket, {"a": 3.0, "b": 1.0, "c": 0.0})
    assert allocator.ask().amounts == {"a": 1.0, "b": 0.0, "c": 0.0}
    allocator.pause_arm("a")
    assert allocator.ask().amounts == {"b": 0.5, "c": 0.5}


def test_hedge():
    for t, past, shares in trial(ap.Hedge(sigma=0.7), 1.0):
        weights = np.exp(math.sqrt(math.log(5) / t) / 0.7 * (past.Q - past.Q.max()))
        weights = np.maximum(weights, 1e-12)
        np.testing.assert_allclose(shares, weights / weights.sum(), rtol=1e-11)


def test_follow_the_leader():
    for _, past, shares in trial(ap.FollowTheLeader(), 1.0):
        expected = np.full(5, 1e-12)
        expected[past.mean.argmax()] = 1 - 4e-12
        np.testing.assert_allclose(shares, expected, rtol=1e-12)


def test_uniform():
    for _, _, shares in trial(ap.Uniform(), 0.5):
        assert shares.tolist() == [0.2] * 5


def test_the_oracle_shares_ties_and_needs_one_mean_per_arm():
    allocator = ap.Allocator(ap.Oracle(means=[1, 3, 3, 2]), tuple("abcd"))
    assert allocator.ask(10).amounts == {"a": 0.0, "b": 5.0, "c": 5.0, "d": 0.0}
    with pytest.raises(ap.InvalidValue, match=r"`means` must be one number per arm \(3\)"):
        ap.Allocator(ap.Oracle(means=(1, 2)), tuple("abc"))


# --- pooled policies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", ["ucb1", "moss"])
@pytest.mark.parametrize("horizon", [None, 40])
@pytest.mark.parametrize("b", [0.0, 0.5])
def test_ucb(index, horizon, b):
    chosen = set()
    for t, past, shares in trial(ap.UCB(sigma=0.3, index=index, horizon=horizon), b, periods=25):
        bonus = 2 * np.log(t)
        if index == "moss":
            bonus = 4 * np.maximum(0, np.log(max(horizon or 1000, t) / (5 * past.n)))
        best = (past.mean + 0.3 * np.sqrt(bonus / past.B)).argmax()
        assert shares.tolist() == np.eye(5)[best].tolist()
        chosen.add(int(best))
    assert len(chosen) > 1


def test_thompson_draws_each_arm_with_its_probability_of_being_best():
    """Error budget: five frequencies at five standard errors, below 3e-6 in all; seeded."""
    allocator, past = known_past(ap.Thompson(b=0.25, sigma=0.6), 0.25)
    splits = np.array([list(allocator.ask(1.0).amounts.values()) for _ in range(4000)])
    assert (splits.max(axis=1) == 1.0).all()
    chances = ap.best_probabilities(past.mean, 0.6 / np.sqrt(past.B))
    assert (chances > 0.01).sum() >= 3
    error = np.sqrt(chances * (1 - chances) / len(splits))
    assert (np.abs(splits.mean(axis=0) - chances) < 5 * error + 1e-4).all()


# --- arms that were never observed --------------------------------------------------------------------------

DIVIDING = (
    ap.Odds(b=0.75), ap.Odds(b=0.5), ap.Maillard(b=0.9), ap.Matching(b=0.75), ap.EpsilonGreedy(b=0.75),
    ap.EpsilonGreedy(b=0.75, leader="information"), ap.Hedge(), ap.FollowTheLeader(),
)  # fmt: skip


@pytest.mark.parametrize("policy", DIVIDING, ids=repr)
def test_an_arm_that_was_never_observed_gets_an_even_share(policy):
    allocator, _ = known_past(policy, policy.b)
    allocator.add_arm("new")
    allocator.add_arm("newer")
    shares = allocator.ask(1.0).shares
    assert shares["new"] == shares["newer"] == pytest.approx(1 / 7)
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-12)
    assert min(shares.values()) > 0.0


@pytest.mark.parametrize("policy", [ap.UCB(), ap.Thompson(b=0.0), ap.Odds(b=0.25)], ids=repr)
def test_a_pooled_policy_tries_a_new_arm_first(policy):
    allocator, _ = known_past(policy, 0.25)
    allocator.add_arm("new")
    assert allocator.ask(1.0).amounts["new"] == 1.0


@pytest.mark.parametrize("policy", [ap.UCB(), ap.Thompson(b=0.0), ap.Maillard(b=0.0)], ids=repr)
def test_first_arms_and_ties_are_drawn_evenly(policy):
    """Error budget: four frequencies at five standard errors, below 3e-6 in all; seeds 0 to 799."""
    firsts = [
        list(ap.Allocator(policy, ("a", "b", "c", "d"), seed=seed).ask().amounts.values()) for seed in range(800)
    ]
    assert (np.abs(np.mean(firsts, axis=0) - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 800)).all()


# --- parameters ---------------------------------------------------------------------------------------------

BAD = {
    "`b` must be a number in [0, 1]; got 1.3.": lambda: ap.Odds(b=1.3),
    "`b` must be a number in [0, 1]; got -1.": lambda: ap.Thompson(b=-1),
    "`b` must be a number in [0, 1]; got '0.5'.": lambda: ap.Maillard(b="0.5"),
    "`b` must be a number in [0, 1]; got nan.": lambda: ap.SuccessiveElimination(b=math.nan),
    "`b` must be above 0.5 for EpsilonGreedy, which learns from small shares; got 0.5.": lambda: ap.EpsilonGreedy(
        b=0.5
    ),
    "`b` must be 1 for Hedge, which needs full feedback: a small share must show all of its arm; got 0.75.": (
        lambda: ap.Hedge(b=0.75)
    ),
    "`sigma` must be a number above 0; got 0.": lambda: ap.Matching(b=0.5, sigma=0),
    "`sigma` must be a number above 0; got -1.": lambda: ap.UCB(sigma=-1),
    "`sigma` must be a number above 0; got None.": lambda: ap.AdaptiveElimination(b=0.75, sigma=None),
    "`tilt` must be a number above 0; got 0.": lambda: ap.Odds(b=0.75, tilt=0),
    "`floor` must be a number of at least 0; got -1.": lambda: ap.Odds(b=0.75, floor=-1),
    "`scale` must be a number above 0; got 0.0.": lambda: ap.AdaptiveElimination(b=0.75, scale=0.0),
    "`epsilon` must be a number in (0, 0.5); got 0.5.": lambda: ap.EpsilonGreedy(b=0.75, epsilon=0.5),
    "`leader` must be one of 'ratios', 'information'; got 'mean'.": lambda: ap.EpsilonGreedy(b=0.75, leader="mean"),
    "`index` must be one of 'ucb1', 'moss'; got 'kl'.": lambda: ap.UCB(index="kl"),
    "`horizon` must be a whole number of at least 1; got 0.": lambda: ap.UCB(horizon=0),
    "`horizon` must be a whole number of at least 1; got 1.5.": lambda: ap.SuccessiveElimination(b=0.5, horizon=1.5),
    "`radius` must be one of 'printed', 'corrected', 'cone', 'cycles', 'anytime'; got 'exact'.": lambda: (
        ap.SuccessiveElimination(b=0.5, radius="exact")
    ),
    "`pairwise` must be True or False; got 1.": lambda: ap.SuccessiveElimination(b=0.5, pairwise=1),
    "`delta` must be a number in (0, 1); got 1.": lambda: ap.SuccessiveElimination(b=0.5, delta=1),
    "`means` must be a list of numbers, one per arm; got 3.": lambda: ap.Oracle(means=3),
    "`means` must be a list of at least one number; got ().": lambda: ap.Oracle(means=()),
    "`means` must be a number, finite; got nan.": lambda: ap.Oracle(means=(1.0, math.nan)),
}


@pytest.mark.parametrize("sentence", BAD)
def test_a_bad_parameter_gets_one_sentence(sentence):
    with pytest.raises(ap.InvalidValue) as caught:
        BAD[sentence]()
    assert str(caught.value) == sentence


def test_every_parameter_of_ours_is_constrained_where_it_is_declared():
    for name in POLICIES:
        for declared in parameters_of(find_policy(name)):
            assert declared.constraint is not None, f"{name}.{declared.name}"


def test_a_parameter_of_ones_own_is_checked_by_its_constraint():
    class Tilted(ap.Policy):
        """Even shares."""

        power: float = parameter(Number(above=0.0, hint="how far"), default=2.0)
        free: object = "anything"

        def allocate(self, period, sums, memory, rng, shares):
            for arm in range(len(shares)):
                shares[arm] = 1.0 / len(shares)

    class Steep(Tilted):
        """The same, steeper."""

        power: float = 9.0

    del ap.Policy._registry["Tilted"], ap.Policy._registry["Steep"]
    assert repr(Tilted()) == "Tilted()"
    assert repr(Tilted(power=np.float64(3))) == "Tilted(power=3.0)"
    for cls in (Tilted, Steep):
        assert cls(free=None).free is None
        with pytest.raises(ap.InvalidValue, match=r"`power` must be a number above 0; got None\."):
            cls(power=None)


def test_numpy_parameters_are_plain_afterwards():
    policy = ap.SuccessiveElimination(b=np.float32(0.5), sigma=np.int64(2), horizon=np.float64(1e4))
    assert (policy.b, policy.sigma, policy.horizon) == (0.5, 2.0, 10_000)
    assert {type(policy.b), type(policy.sigma), type(policy.horizon)} == {float, int}


def test_policies_are_immutable_equal_by_value_and_print_as_written():
    policy = ap.Odds(b=0.75, tilt=2)
    assert repr(policy) == "Odds(b=0.75, tilt=2.0)"
    assert policy == ap.Odds(b=0.75, tilt=2.0)
    assert hash(policy) == hash(ap.Odds(b=0.75, tilt=2.0))
    with pytest.raises(AttributeError):
        policy.b = 0.5


# --- a policy of one's own ----------------------------------------------------------------------------------


class Proportional(ap.Policy):
    """Shares as what came back per unit, at least a little each."""

    b: float = 0.75

    def allocate(self, period, sums, memory, rng, shares):
        total = 0.0
        for arm in range(len(shares)):
            shares[arm] = 1.0
            if sums.resource[arm] > 0.0:
                shares[arm] = 1e-3 + abs(sums.reward[arm] / sums.resource[arm])
            total += shares[arm]
        for arm in range(len(shares)):
            shares[arm] /= total


def test_a_policy_of_ones_own_keeps_the_contract():
    check_policy(Proportional())


class Negative(ap.Policy):
    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 1.0 / len(shares)
        if len(shares) > 1:
            shares[0], shares[1] = -0.25, shares[1] + 0.25 + 1.0 / len(shares)


class Lavish(ap.Policy):
    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 1.0 / len(shares) + 1e-6


class Undefined(ap.Policy):
    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = sums.reward[arm] / sums.reward[arm]


class Peeks(ap.Policy):
    """Looks up the call stack for what is yet to come: the one way left, and it is caught."""

    def allocate(self, period, sums, memory, rng, shares):
        shares[:] = 1.0 / len(shares)
        caller = sys._getframe()
        while caller is not None:
            if "shock" in caller.f_locals:
                if caller.f_locals["shock"] == period.number:
                    shares[:] = 0.0
                    shares[0] = 1.0
                return
            caller = caller.f_back


class Ordered(ap.Policy):
    """The first arm is better by decree."""

    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 2.0 * (len(shares) - arm) / (len(shares) * (len(shares) + 1.0))


class Moody(ap.Policy):
    """Keeps chance of its own."""

    def allocate(self, period, sums, memory, rng, shares):
        MOODS.append(period.number)
        shares[:] = 0.0
        shares[0 if MOODS.count(1) % 2 else 1] = 1.0


MOODS: list[int] = []


@pytest.mark.parametrize(
    ("policy", "promise"),
    [
        (Negative(), "shares must not be negative in period 1 with 2 arms; got -0.25"),
        (Lavish(), "shares must add up to 1 in period 1 with 1 arms; got 1.000001"),
        (Undefined(), "shares must be finite in period 1 with 1 arms; got"),
        (Peeks(), "the shares of period 1 must not depend on its outcomes"),
        (Ordered(), "permuting arms must permute shares"),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, ap.Policy) else "",
)
def test_a_broken_policy_is_told_which_promise_it_broke(policy, promise):
    with pytest.raises(ContractBroken) as caught:
        check_policy(policy)
    assert str(caught.value).startswith(f"{policy.label}: {promise}")


def test_chance_that_is_not_the_generators_is_caught():
    with pytest.raises(ContractBroken, match="the same seed must give the same run"):
        check_seed(Moody())


# --- the recommended policy ---------------------------------------------------------------------------------


def recommended_shares(past, t, b, sigma, left):
    """Weights (2−2b)·left^(1/(2b−1))·odds^√κ against a leader of 1; κ at most 10, the exponent at most 5."""
    kappa = KAPPA[b]
    weights = odds_weights(past, sigma, math.sqrt(kappa)) / kappa * left ** min(1 / (1 - 1 / kappa), 5.0)
    leader = past.mean.argmax()
    weights[leader] = 1.0
    return with_floor(weights, leader, t, (1 + kappa) / 2)


@pytest.mark.parametrize("b", [0.6, 0.75, 0.9, 1.0])
def test_recommended_divides_above_one_half_and_fades_towards_the_horizon(b):
    for t, past, shares in trial(ap.Recommended(b=b, sigma=0.8), b):  # the run's horizon: 1000
        np.testing.assert_allclose(shares, recommended_shares(past, t, b, 0.8, 1 - (t - 1) / 1000), rtol=1e-9)
    for t, past, shares in trial(ap.Recommended(b=b, sigma=0.8, horizon=12), b):  # its own goes first
        np.testing.assert_allclose(shares, recommended_shares(past, t, b, 0.8, 1 - (t - 1) / 12), rtol=1e-9)


@pytest.mark.parametrize("b", [0.6, 0.9])
def test_recommended_does_not_fade_without_a_horizon_or_past_it(b):
    allocator, past = known_past(ap.Recommended(b=b), b)
    shares = list(allocator.ask(1.0).shares.values())
    np.testing.assert_allclose(shares, recommended_shares(past, 5, b, 1.0, 1.0), rtol=1e-9)
    allocator, past = known_past(ap.Recommended(b=b, horizon=4), b)
    shares = list(allocator.ask(1.0).shares.values())
    np.testing.assert_allclose(shares, recommended_shares(past, 5, b, 1.0, 1.0), rtol=1e-9)


@pytest.mark.parametrize("b", [0.0, 0.3, 0.5])
def test_recommended_pools_by_an_optimistic_index_up_to_one_half(b):
    for t, past, shares in trial(ap.Recommended(b=b, sigma=0.8), b, periods=40):
        index = past.mean + 0.8 * np.sqrt(2 * np.log1p((1000 - t + 1) / (5 * past.n)) / past.B)
        assert shares.argmax() == index.argmax()
        assert shares.max() == 1.0
    allocator, past = known_past(ap.Recommended(b=b), b)
    index = past.mean + np.sqrt(2 * np.maximum(0, np.log(5 / (5 * past.n))) / past.B)
    assert allocator.ask(1.0).shares[f"arm {index.argmax()}"] == 1.0


# --- policies made from ours --------------------------------------------------------------------------------


class Renamed(ap.Odds):
    rule = "is Odds under another name"


class Cautious(ap.Odds):
    """Half of what Odds would do, half even; its record is that of Odds."""

    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 1.0 / len(shares) + 0.0 * self.sigma[arm]


class Weighted(Proportional):
    power: float = 2.0


@pytest.mark.parametrize("policy", [Renamed(b=0.75), Cautious(b=0.75, sigma=3.0), Weighted(power=3.0)], ids=repr)
def test_a_subclass_of_a_policy_is_a_policy(policy):
    allocator, _ = known_past(policy, policy.b)
    restored = ap.Allocator.from_json(allocator.to_json())
    assert restored.policy == policy
    assert type(restored.policy) is type(policy)
    assert restored.ask().amounts == allocator.ask().amounts
    record = policy.prepared(5, None)
    assert type(record) is type(policy).Record
    assert type(record) is not ap.Odds.Record
    assert np.all(getattr(record, "sigma", 3.0) == policy.parameters.get("sigma", 3.0))


def test_a_share_that_powers_could_not_take_is_none():
    """At b = 1/2 there is no floor: a weight of 1e-309 was played, and the inverse of that amount is infinite."""
    for weight, share in ((1e-309, 0.0), (1e-280, 1e-280), (0.0, 0.0)):
        shares = np.array([1.0, weight])
        share_by_weight(shares, np.ones(2), 1.0, 0.0, 0)
        assert shares.tolist() == [1.0, share]
        assert shares[1] == 0.0 or np.isfinite(powers_of(shares[1], 0.5).score)
