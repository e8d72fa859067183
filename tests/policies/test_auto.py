"""`Auto` learns b and σ, pools or divides as they say, and loses about what it would lose if it were told them.

That it keeps the contract of all policies is in `test_conformance`.
"""

import json
import math
import os

import numpy as np
import pytest

import apportion as ap
from apportion.allocation.beliefs import Beliefs
from apportion.errors import IncompatibleState, InvalidValue
from apportion.inference.fit.likelihood import Data
from apportion.inference.learning import EXPONENTS, Learned, learned, posterior_over_b, sums_for
from apportion.model.exact_sums import Statistics
from apportion.model.sums import Grid, GridSums, no_sums, observe, powers_of
from apportion.policies.contract import Period, decide_now
from apportion.studies.leaderboard.suite import SUITE

SOAK = bool(os.environ.get("APPORTION_SOAK"))


# What is learned


def history(b, sigma=0.5, arms=3, periods=60, seed=0, unit=1.0):
    """Amounts from 1% to all of a unit, and their outcomes."""
    rng = np.random.default_rng(seed)
    amounts = unit * np.exp(rng.uniform(math.log(0.01), 0.0, (periods, arms)))
    means = np.linspace(1.0, 2.0, arms)
    return amounts, amounts * means + amounts**b * sigma * rng.standard_normal(amounts.shape)


def told(amounts, outcomes, b=EXPONENTS, half_life=None):
    past = Statistics(amounts.shape[1], b, half_life)
    for row, result in zip(amounts, outcomes):
        past.advance()
        past.update(row, result)
    return past


@pytest.mark.parametrize("unit", [1.0, 5000.0])
def test_the_grid_holds_the_restricted_likelihood(unit):
    """Against `inference.fit`, which works on the whole history: at the exponents it is the likelihood."""
    amounts, outcomes = history(0.7, unit=unit)
    sums = told(amounts, outcomes).sums()
    posterior, log_variance = np.empty(len(EXPONENTS)), np.empty(len(EXPONENTS))
    posterior_over_b(sums, 0.0, posterior, log_variance)
    codes = np.tile(np.arange(amounts.shape[1]), len(amounts))
    data = Data(codes, amounts.ravel(), outcomes.ravel(), per_arm=False)
    height = data.log_likelihood(np.array(EXPONENTS))
    density = posterior / np.r_[1.0, np.full(len(EXPONENTS) - 2, 2.0), 1.0]
    kept = density > 1e-9 * density.max()
    assert kept.sum() > 1
    assert np.log(density[kept] / density.max()) == pytest.approx(height[kept] - height.max(), abs=1e-6)


@pytest.mark.parametrize("b", [0.0, 0.33, 0.5, 0.77, 1.0])
def test_b_and_sigma_are_found_where_amounts_vary(b):
    """Error budget: ten numbers at five standard errors (0.03 for b at 600 outcomes), below 1e-5; fixed seed."""
    found = learned(told(*history(b, periods=200)).sums())
    assert found.b == pytest.approx(b, abs=0.15)
    assert found.low <= b + 0.03
    assert found.high >= b - 0.03
    assert found.sigma == pytest.approx(0.5, rel=0.35)
    assert (found.above_half > 0.5) == (b > 0.5) or abs(b - 0.5) < 0.1


def test_the_interval_covers():
    """200 histories (2000 in a soak), b drawn from [0, 1] as the prior has it, so that it covers 95% exactly; the
    count lies outside 4.5 standard deviations with a chance below 1e-5, plus 1% for the steps of the grid."""
    runs = 2000 if SOAK else 200
    drawn = np.random.default_rng(5).random(runs)
    found = [learned(told(*history(b, periods=20, seed=seed)).sums()) for seed, b in enumerate(drawn)]
    covered = np.mean([one.low <= b <= one.high for one, b in zip(found, drawn)])
    assert abs(covered - 0.95) < 0.01 + 4.5 * math.sqrt(0.95 * 0.05 / runs)


def test_the_unit_of_amounts_and_of_outcomes_does_not_matter():
    amounts, outcomes = history(0.7)
    one, other = learned(told(amounts, outcomes).sums()), learned(told(5000 * amounts, 3 * outcomes).sums())
    assert (one.b, one.low, one.high, one.above_half) == pytest.approx(
        (other.b, other.low, other.high, other.above_half), rel=1e-6
    )
    assert other.sigma == pytest.approx(3 * one.sigma * 5000**-one.b, rel=1e-6)


def test_equal_amounts_say_nothing_about_b():
    rng = np.random.default_rng(2)
    amounts = np.full((30, 3), 0.25)
    found = learned(told(amounts, amounts + rng.standard_normal(amounts.shape)).sums())
    assert (found.b, found.above_half) == pytest.approx((0.5, 0.5), abs=1e-6)
    assert (found.low, found.high) == pytest.approx((0.025, 0.975), abs=0.03)


def test_nothing_told_and_outcomes_without_noise_give_finite_beliefs():
    nothing = learned(no_sums(Grid(EXPONENTS), 3))
    assert nothing.b == pytest.approx(0.5)
    assert math.isnan(nothing.sigma)
    assert "even" in nothing.sentence
    exact = np.full((5, 2), 0.5) * [1.0, 0.3]
    for outcomes in (np.zeros((5, 2)), 2.0 * exact):
        found = learned(told(exact, outcomes).sums())
        assert all(map(math.isfinite, found))


def test_what_is_said_of_the_split_is_true_of_it_with_bounds_and_small_tries_too():
    bounds = {"minimum": {"x": 0.5}, "maximum": {"y": 0.2}}
    split = ap.Allocator(ap.Auto(), ("x", "y", "z"), seed=1, **bounds).ask()
    assert dict(split.shares) == pytest.approx({"x": 0.5, "y": 0.2, "z": 0.3})
    assert "splits are as even as the bounds allow until outcomes come." in split.note
    pooled = Learned(0.3, 0.1, 0.45, 2.0, 0.01).sentence
    assert pooled.endswith("; so within the bounds almost all of the budget goes to one arm at a time.")


def test_at_an_order_of_the_grid_the_means_are_those_of_that_b():
    amounts, outcomes = history(0.7)
    grid, plain = told(amounts, outcomes).sums(), told(amounts, outcomes, b=0.7).sums()
    there = sums_for(grid, 0.7)
    for name in ("count", "resource", "information", "score"):
        assert getattr(there, name) == pytest.approx(getattr(plain, name), rel=1e-12)


def test_between_two_orders_the_means_are_close_to_those_of_that_b():
    amounts, outcomes = history(0.75)
    grid, plain = told(amounts, outcomes).sums(), told(amounts, outcomes, b=0.75).sums()
    there = sums_for(grid, 0.75)
    assert there.information == pytest.approx(plain.information, rel=0.05)
    assert there.score / there.information == pytest.approx(plain.score / plain.information, rel=0.02)


# The sums


def test_the_sums_of_a_grid_commute_and_are_taken_back_exactly():
    amounts, outcomes = history(0.4)
    past, reverse = told(amounts, outcomes), told(amounts[::-1], outcomes[::-1])
    for ours, theirs in zip(past.sums(), reverse.sums()):
        assert np.array_equal(ours, theirs)
    for row, result in zip(amounts[1:], outcomes[1:]):
        past.revert(row, result)
    for ours, theirs in zip(past.sums(), told(amounts[:1], outcomes[:1]).sums()):
        assert np.array_equal(ours, theirs)
    half, rest = told(amounts[:30], outcomes[:30]), told(amounts[30:], outcomes[30:])
    half.merge(rest)
    for ours, theirs in zip(half.sums(), reverse.sums()):
        assert np.array_equal(ours, theirs)


def test_the_sums_of_a_grid_survive_json_and_forget_with_a_half_life():
    amounts, outcomes = history(0.4)
    past = told(amounts, outcomes, half_life=7.0)
    twin = Statistics.from_dict(json.loads(json.dumps(past.to_dict())))
    for each in (past, twin):
        each.advance(14)
    for ours, theirs in zip(past.sums(), twin.sums()):
        assert np.array_equal(ours, theirs)
    assert learned(past.sums()).b == pytest.approx(learned(told(amounts, outcomes, half_life=7.0).sums()).b, abs=0.2)
    broken = past.to_dict() | {"b": 0.5}
    with pytest.raises(IncompatibleState, match="sums per arm"):
        Statistics.from_dict(broken)


@pytest.mark.parametrize("exponents", [[], [0.5, 0.1], [0.0, 0.1, 0.5], [0.5, 1.2]])
def test_exponents_that_are_none_are_refused(exponents):
    with pytest.raises(InvalidValue, match="`b` must be"):
        Statistics(2, exponents)


def test_simulation_and_live_use_keep_the_same_sums_and_no_true_b_gets_in():
    amounts, outcomes = history(0.4)
    sums = no_sums(Grid(EXPONENTS), 3)
    for row, result in zip(amounts, outcomes):
        for arm in range(3):
            # The weights of another b: only the amount may count.
            observe(sums, arm, result[arm], powers_of(row[arm], 0.9))
    assert isinstance(sums, GridSums)
    for ours, theirs in zip(sums, told(amounts, outcomes).sums()):
        assert ours == pytest.approx(theirs, rel=1e-12)


# The decision


@pytest.mark.parametrize("b", [0.1, 0.3, 0.7, 0.9])
def test_it_pools_below_one_half_and_divides_above(b):
    """After 300 periods; the belief about b is then within 0.1 of it with a chance beyond 0.999. Fixed seed."""
    rng = np.random.default_rng(3)
    allocator = ap.Allocator(ap.Auto(), ("x", "y", "z"), seed=1)
    means = {"x": 1.0, "y": 1.15, "z": 0.9}
    for _ in range(300):
        split = allocator.ask()
        allocator.tell(
            split.ticket, {arm: a * means[arm] + a**b * rng.standard_normal() for arm, a in split.amounts.items()}
        )
    found = allocator.beliefs().learned
    assert found.b == pytest.approx(b, abs=0.1)
    assert allocator.b == found.b
    assert ("divided" in found.sentence) == (b > 0.5)
    assert found.sentence in allocator.ask().note
    shares = sorted(allocator.ask().shares.values())
    assert shares[0] > 0.0
    if b < 0.5:
        period = allocator.period
        assert shares[:2] == pytest.approx([period**-1.5 / 3] * 2, rel=0.01)


def test_told_everything_it_is_recommended():
    past = told(*history(0.7), b=0.7).sums()
    for b in (0.3, 0.7):
        ours, theirs = ap.Auto(b=b, sigma=0.5), ap.Recommended(b=b, sigma=0.5)
        period = Period(61, 100, 1.0)
        shares = [
            decide_now(policy.prepared(3, 100), period, past, np.zeros(3), np.random.default_rng(1))
            for policy in (ours, theirs)
        ]
        assert np.array_equal(*shares)


def test_in_a_simulation_it_is_told_nothing_unless_by_hand():
    world = ap.Instance((1.0, 2.0), b=0.75, sigma=3.0)
    assert ap.Informed(ap.Auto).on(world) == ap.Auto()
    assert ap.Informed(ap.Auto, {"b": 0.6}).on(world) == ap.Auto(b=0.6)
    assert ap.Informed(ap.Recommended).on(world) == ap.Recommended(b=0.75, sigma=3.0)


# Regret


def compare(case, runs, horizon):
    """The logarithm of the ratio of mean regrets, `Auto` over `Recommended` told the truth, and its variance."""
    logs, variance = [], 0.0
    for policy in (ap.Auto(), ap.Recommended(b=case.b, sigma=case.sigma)):
        found = ap.simulate(
            policy, case.instance, horizon=horizon, replications=runs, seed=1, record=["regret"], periods=1,
            progress=False,
        )  # fmt: skip
        regret = found.regret.values.ravel()
        logs.append(math.log(regret.mean()))
        variance += regret.var(ddof=1) / runs / regret.mean() ** 2
    return logs[0] - logs[1], variance


def test_knowing_nothing_costs_less_than_half_as_much_again():
    """The geometric mean of the ratios is at most 1.5 with four standard errors to spare (a chance of 3e-5).

    Ten cases of the suite at T = 1000; all 44 at T = 10,000 in a soak.
    """
    cases = SUITE if SOAK else [case for case in SUITE if case.arms <= 5][::2]
    runs, horizon = (400, 10_000) if SOAK else (200, 1_000)
    found = [compare(case, max(20, min(100, runs // case.arms)), horizon) for case in cases]
    assert len(cases) >= 10
    mean = np.mean([ratio for ratio, _ in found])
    error = math.sqrt(sum(variance for _, variance in found)) / len(found)
    assert mean + 4 * error < math.log(1.5)


@pytest.mark.parametrize("b", [0.0, 0.45, 0.55, 1.0])
def test_regret_is_not_linear(b):
    """From T = 500 to T = 5000 regret grows by less than a third of the factor ten; measured are 1.2 to 2.5."""
    world = ap.Instance((1.0, 0.6, 0.6), b=b, sigma=2.0)
    found = ap.simulate(
        ap.Auto(), world, horizon=5_000, replications=60, seed=2, record=["regret"], periods=[500, 5_000],
        progress=False,
    )  # fmt: skip
    early, late = found.regret.values.reshape(60, 2).mean(axis=0)
    assert late < 10 / 3 * early


def grown(world, horizon, runs, seed=5):
    """The regret of each run at a tenth of the horizon and at its end; the policy does not know how long it lasts."""
    found = ap.simulate(
        # A horizon that is over counts as none.
        ap.Auto(horizon=1), world, horizon=horizon, replications=runs, seed=seed, record=["regret"],
        periods=[horizon // 10, horizon], progress=False,
    )  # fmt: skip
    return found.regret.isel(policy=0, instance=0).transpose("replication", "period").values.T


@pytest.mark.parametrize("b", [0.0, 0.4, 0.5, 0.6, 1.0])
def test_regret_grows_slower_than_any_high_power_of_time(b):
    """From T = 10^4 to 10^5, the exponent of time: below 0.6 in the mean, below 0.9 in a run that lost 10 or more.

    Measured to T = 10^6 (`python -m benchmarks.auto --long`): at most 0.2 in the mean and 0.4 in a run in this world.
    Standard error of the mean exponent 0.03, so the bars are ten of them away; a run on a wrong arm for good has 0.95
    or more. The seed is fixed.
    """
    runs, horizon = (100, 1_000_000) if SOAK else (8, 100_000)
    early, late = grown(ap.Instance((1.0, 0.5, 0.5), b=b), horizon, runs)
    assert late.mean() < 10**0.6 * early.mean()
    assert ((late < 10**0.9 * early) | (late < 10.0)).all()


@pytest.mark.parametrize("b", [0.3, 0.4])
def test_small_errors_in_b_do_not_make_it_explore_for_ever(b):
    """While it pools, the traces of other arms shrink without end, and σ must not be read off them.

    Ten arms at T = 20,000. Read off all outcomes the ratio was 1.5 to 1.7; measured are 0.9 to 1.1, standard error
    0.07 with 30 runs of each, so 1.35 is more than three from both. The seed is fixed.
    """
    world = ap.Instance((1.0, *(0.5,) * 9), b=b)
    auto, told = (
        ap.simulate(
            policy, world, horizon=20_000, replications=30, seed=7, record=["regret"], periods=1, progress=False
        ).regret.values.mean()
        for policy in (ap.Auto(), ap.Recommended(b=b))
    )
    assert auto < 1.35 * told


# Live use


def test_a_campaign_that_knows_nothing_learns_keeps_and_explains(sqlite):
    rng = np.random.default_rng(4)
    campaign = ap.Campaign.create("ads", ("x", "y", "z"), budget=5000, db=sqlite, seed=3)
    assert campaign.settings.policy == "Auto"
    assert campaign.settings.sigma is None
    means = {"x": 1.0, "y": 1.4, "z": 0.9}

    def play(periods):
        for _ in range(periods):
            split = campaign.split()
            campaign.record(
                split.ticket,
                {
                    arm: a * means[arm] + a**0.8 * 4 * rng.standard_normal()
                    for arm, a in split.amounts.items()
                    if a > 0
                },
            )

    play(60)
    status = campaign.status()
    assert any(note.startswith("b is about 0.") and "divided" in note for note in status.notes)
    assert not any("assumed" in note for note in status.notes)
    assert status.settings.b == pytest.approx(0.8, abs=0.15)
    assert isinstance(campaign.beliefs(), Beliefs)
    assert campaign.beliefs().leader == "y"
    campaign.amend(7, {"x": 1.0})
    assert campaign.check().exact
    again = ap.Campaign.open("ads", db=sqlite)
    assert again.state() == campaign.state()
    assert again.beliefs().learned == campaign.beliefs().learned

    campaign.change(sigma=4.0)
    assert campaign.settings.parameters == {"b": None, "sigma": 4.0, "horizon": None}
    play(2)
    campaign.change(b=0.8)  # everything counted anew, for one b
    assert campaign.status().beliefs.learned is None
    play(2)
    campaign.change(policy="thompson")
    campaign.change(policy="auto")
    play(2)
    assert campaign.check().exact


def test_what_cannot_be_is_refused():
    with pytest.raises(InvalidValue, match=r"as Auto\(b=0.7\)"):
        ap.Allocator(ap.Auto(), ("x", "y"), b=0.7)
    for wrong in ({"b": 1.5}, {"sigma": 0.0}, {"horizon": 0}):
        with pytest.raises(InvalidValue, match="must be"):
            ap.Auto(**wrong)
    allocator = ap.Allocator(ap.Auto(), ("x", "y"), seed=1)
    state = json.loads(allocator.to_json())
    state["policy"] = ap.Odds(b=0.5).to_dict()
    with pytest.raises(IncompatibleState):
        ap.Allocator.from_json(json.dumps(state))


@pytest.mark.parametrize("way", [{"robust": True}, {"window": 8}, {"half_life": 5.0}], ids=str)
def test_it_learns_in_every_way_of_counting(sqlite, way):
    rng = np.random.default_rng(6)
    campaign = ap.Campaign.create("safe", ("x", "y"), budget=100, db=sqlite, seed=1, **way)
    for _ in range(30):
        split = campaign.split()
        campaign.record(
            split.ticket, {arm: a * 2.0 + a**0.3 * rng.standard_normal() for arm, a in split.amounts.items() if a > 0}
        )
    found = campaign.beliefs().learned
    assert 0.0 <= found.low <= found.b <= found.high <= 1.0
    assert found.above_half < 0.5
    assert campaign.settings.assumed == ("b", "sigma")
    assert campaign.check().exact


def test_the_noise_that_is_shown_is_not_read_off_traces():
    """One arm of ten gets nearly everything, b lies between two exponents of the grid, σ is 2.

    Read off all outcomes it was 2.6. Error budget: the standard error of σ is 2/√(2·5000) = 0.02, five of them.
    """
    rng, past = np.random.default_rng(1), Statistics(arms=10, b=EXPONENTS)
    for number in range(1, 5001):
        amounts = np.full(10, number**-1.5 / 10)
        amounts[0] = 1.0 - amounts[1:].sum()
        past.update(amounts, amounts + amounts**0.33 * 2.0 * rng.standard_normal(10))
    assert learned(past.sums()).sigma == pytest.approx(2.0, abs=0.1)
