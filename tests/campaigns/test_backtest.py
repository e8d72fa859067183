"""Backtests: with what was possible then, and with what is assumed said beside the numbers."""

import numpy as np
import pytest

import apportion as ap
from apportion.campaigns.backtest import AS_IT_WAS, _setting_of, backtest
from apportion.inference.history import Observation

LAW = {"b": 0.5, "c": 0.7, "sigma": 1.0, "worlds": 3}


def rows(periods=10, late=4):
    """Weeks with two arms; the third comes late and is the best by far."""
    rng, found = np.random.default_rng(1), []
    for week in range(periods):
        for arm, mean in (("a", 5.0), ("b", 4.0), ("new", 40.0)):
            if arm != "new" or week >= late:
                amount = float(rng.integers(40, 100))
                found.append(Observation(len(found) + 2, f"week {week}", arm, amount, mean * amount**0.7))
    return found


def test_auto_is_compared_by_default_and_learns_from_nothing():
    found = backtest(rows(6), **{**LAW, "worlds": 1})
    assert [row.policy for row in found.policies] == ["Auto", "Thompson", "Uniform", AS_IT_WAS]
    assert any("Auto begins without any knowledge; Thompson is told the law." in said for said in found.assumes)


@pytest.mark.parametrize("seed", [0.1, -1])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(ap.InvalidValue, match="`seed` must be a whole number"):
        backtest(rows(6), **LAW, seed=seed)


def test_an_arm_gets_nothing_before_it_was_there_and_no_more_than_it_ever_got():
    history = rows()
    setting = _setting_of(history, 1.0)
    assert setting.available[:, 2].tolist() == [0.0] * 4 + [1.0] * 6
    assert (setting.most[:4, 2] == 0.0).all()
    largest = max(line.amount for line in history if line.arm == "new")
    assert (setting.most[4:, 2] * setting.budgets[4:]) == pytest.approx(np.full(6, largest), rel=1e-6)
    held = backtest(history, policies=["recommended"], **LAW)
    free = backtest(history, policies=["recommended"], reach=None, growth=None, **LAW)
    assert free.policies[0].earned > held.policies[0].earned
    # Within its limits it loses little against the best split within the same limits.
    assert held.policies[0].regret_low >= -1e-6
    assert held.policies[0].regret < held.policies[1].regret
    said = " ".join(held.assumes)
    assert "Arms take part only while the history has them: new from week 4." in said
    assert "No arm gets more in a period than the most that it really got" in said
    assert "any amount" in " ".join(free.assumes)


def test_where_limits_leave_a_budget_unspent_they_give_way_alike():
    history = [
        Observation(2, "one", "a", 10.0, 5.0), Observation(3, "one", "b", 10.0, 5.0),
        Observation(4, "two", "a", 10.0, 5.0), Observation(5, "two", "b", 30.0, 9.0),
        Observation(6, "three", "c", 100.0, 9.0), Observation(7, "three", "a", 10.0, 9.0),
    ]  # fmt: skip
    setting = _setting_of(history, 0.5)
    assert (setting.most.sum(axis=1) >= 1.0).all()
    assert (setting.most <= 1.0).all()
    assert (setting.most[setting.available == 0.0] == 0.0).all()
    found = backtest(history, b=0.5, c=1.0, sigma=1.0, worlds=2, policies=["odds"], reach=0.5)
    assert found.periods == 3
    with pytest.raises(ap.InvalidValue, match="`reach` must be a number above 0; got -1"):
        backtest(history, reach=-1, b=0.5, c=1.0, sigma=1.0)


def test_the_split_that_was_made_stands_beside_the_others():
    found = backtest(rows(), policies=["uniform"], **LAW)
    uniform, really = found.policies
    assert really.policy == AS_IT_WAS
    assert really.earned == pytest.approx(found.actual, rel=0.05)
    assert uniform.regret > 0.0
    assert really.regret > 0.0


def test_it_says_where_its_assumptions_do_not_give_what_really_came_back():
    """Spending followed what was to be had: no law that stands still returns so much."""
    rng, found = np.random.default_rng(4), []
    for week in range(20):
        for arm in "ab":
            best = arm == "ab"[week // 10]
            amount = 100.0 if best else 10.0
            outcome = (3.0 if best else 0.5) * amount + rng.standard_normal()
            found.append(Observation(len(found) + 2, f"week {week}", arm, amount, outcome))
    law = {"b": 0.5, "c": 0.7, "sigma": 1.0, "policies": ["uniform"]}
    said = "This does not hold well here: as it was split,"
    assert any(said in each for each in backtest(found, worlds=8, **law).assumes)
    assert not any(said in each for each in backtest(found, worlds=3, **law).assumes)
    assert not any(said in each for each in backtest(rows(), worlds=8, b=0.5, c=0.7, sigma=5.0).assumes)
