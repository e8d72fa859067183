"""The health check: what was planted is found and named, healthy campaigns are left alone.

The error budget: healthy campaigns are the paper's law with Gaussian noise, played by policies that choose amounts by
results. No finding may come up in more than 5% of them. 24 campaigns are played; measured rates are 0 to 2.5%, for
which more than 5 alarms come by chance less than once in 10^4 runs of the test, as do more than 45 of the 900 with
APPORTION_SOAK=1.
"""

import os
from collections import Counter

import numpy as np
import pytest

import apportion as ap
from apportion.allocation.allocator import Allocator
from apportion.inference.fit.history import History
from apportion.inference.health import check
from apportion.inference.health.check import check_health
from apportion.inference.health.findings import KINDS, Handling
from apportion.inference.health.observations import Observations
from apportion.simulation.live import play_through

SOAK = os.environ.get("APPORTION_SOAK") == "1"
RUNS = 300 if SOAK else 8  # of each policy
MOST_ALARMS = 45 if SOAK else 5  # of three policies together
ADS = Handling(name="ads", unit="EUR", policy="Odds")
AUTO = ADS._replace(policy="Auto", learns=frozenset({"c", "noise", "drift"}))


def table(amounts, outcomes, *, advised=None, dates=True, waiting=None):
    """Observations of every arm that got something, a period a row."""
    period, arm = np.nonzero(amounts > 0)
    moments = np.datetime64("2026-01-05", "s") + period * np.timedelta64(1, "D") if dates else None
    names = tuple(f"arm {index}" for index in range(amounts.shape[1]))
    used = amounts > 0
    history = History(names, arm.astype(np.intp), amounts[used], outcomes[used], moments)
    return Observations(history, period + 1, None if advised is None else advised[used], waiting or {})


def campaign(seed, *, periods=120, arms=5, c=1.0, factors=1.0, sigma=3.0):
    """Amounts that vary, and outcomes of the law times `factors`."""
    rng = np.random.default_rng(seed)
    amounts = 1000 * rng.dirichlet(np.full(arms, 3.0), periods)
    noise = sigma * np.sqrt(amounts) * rng.standard_normal(amounts.shape)
    return amounts, np.linspace(0.5, 1.0, arms) * factors * 1000 ** (1 - c) * amounts**c + noise


def kinds(observed, how=ADS):
    return [finding.kind for finding in check_health(observed, how).findings]


def only(observed, how=ADS):
    (finding,) = check_health(observed, how).findings
    return finding


# ---- False alarms ----


def healthy(policy, seed):
    """A campaign of the paper's law."""
    rng = np.random.default_rng([seed, len(policy)])
    arms, periods = int(rng.integers(3, 11)), int(rng.choice([30, 60, 100, 300], p=[0.4, 0.3, 0.2, 0.1]))
    world = ap.Instance(
        tuple(rng.uniform(0.3, 1.0, arms)), b=float(rng.choice([0.25, 0.5, 0.75])),
        sigma=float(rng.choice([0.1, 0.3, 1.0])),
    )  # fmt: skip
    budgets = rng.uniform(0.5, 1.5, periods) if policy == "Uniform" else np.ones(periods)
    chosen = {"Uniform": ap.Uniform, "Auto": ap.Auto, "Recommended": lambda: ap.Recommended(world.b, world.sigma)}
    b = world.b if policy == "Uniform" else None
    allocator = Allocator(chosen[policy](), tuple(f"arm {index}" for index in range(arms)), b=b, seed=seed)
    played = play_through(allocator, world, budgets, rng)
    return table(np.asarray(played.amounts), np.asarray(played.outcomes))


def test_healthy_campaigns_are_left_alone():
    alarms = Counter(
        kind for policy in ("Uniform", "Auto", "Recommended") for seed in range(RUNS)
        for kind in kinds(healthy(policy, seed))
    )  # fmt: skip
    assert max(alarms.values(), default=0) <= MOST_ALARMS, alarms


# ---- What was planted is found ----


def planted(kind, seed):
    amounts, outcomes = campaign(seed)
    rng = np.random.default_rng(seed)
    time = np.arange(len(amounts))[:, None]
    if kind == "bent-returns":
        amounts, outcomes = campaign(seed, c=0.65)
    elif kind == "drift":
        walk = np.exp(np.cumsum(0.05 * rng.standard_normal(amounts.shape), axis=0))
        amounts, outcomes = campaign(seed, factors=walk)
    elif kind == "season":
        amounts, outcomes = campaign(seed, factors=1 + 0.4 * np.sin(2 * np.pi * time / 120))
    elif kind == "weekdays":
        amounts, outcomes = campaign(seed, factors=np.array([1.2, 1.1, 1, 1, 1, 0.8, 0.7])[time % 7])
    elif kind == "unequal-noise":
        amounts, outcomes = campaign(seed, sigma=3 * np.geomspace(0.5, 2.5, 5))
    elif kind == "outlier":
        amounts, outcomes = campaign(seed, sigma=1.0)
        outcomes[50, 2] *= 10
    elif kind == "steady-amounts":
        amounts = np.tile([100.0, 150, 200, 250, 300], (120, 1))
        outcomes = amounts + np.sqrt(amounts) * rng.standard_normal(amounts.shape)
    elif kind == "swings":
        return table(amounts, outcomes)._replace(splits=swinging(0.4, 0.75, 0.3, 0.75, 0.7, 0.3, 0.8))
    return table(amounts, outcomes)


def swinging(*shares):
    """Splits that give so much to the first of two arms."""
    first = np.array(shares)
    return np.stack([first, 1.0 - first], axis=1)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "untried-amounts"])
def test_what_was_planted_is_found_and_nothing_else(kind):
    # Measured: found in 39 of 40 or more. A further finding comes up in less than 5%.
    found = [kinds(planted(kind, seed)) for seed in range(10)]
    assert sum(kind in each for each in found) >= 9, found
    assert sum(len(each) > 1 for each in found) <= 2, found


def test_shocks_that_all_arms_share_are_no_weekdays_and_no_drift():
    for seed in range(10):
        shocks = np.exp(0.3 * np.random.default_rng(seed).standard_normal((120, 1)))
        assert not {"weekdays", "drift"} & set(kinds(table(*campaign(seed, factors=shocks)))), seed


# ---- Slips ----


def test_an_extra_zero_is_named_with_what_to_type():
    amounts, outcomes = campaign(1, sigma=1.0)
    outcomes[50, 2] = 10 * round(outcomes[50, 2])
    finding = only(table(amounts, outcomes))
    assert (finding.kind, finding.severity, finding.arms, finding.periods) == (
        "outlier",
        "warning",
        ("arm 2",),
        (51,),
    )
    assert f"arm 2 in ticket 51: {outcomes[50, 2]:,.0f} came back, where about" in finding.meaning
    assert finding.command == f"apportion amend ads 51 'arm 2'={outcomes[50, 2] / 10:.0f}"
    assert "trimmed" in finding.advice
    assert "apportion" not in finding.sentence


def test_an_amount_with_an_extra_zero_is_found_by_the_advice_however_noisy():
    amounts, outcomes = campaign(2, sigma=50.0)
    advised = amounts.copy()
    amounts[50, 2] *= 10
    finding = only(table(amounts, outcomes, advised=advised))
    assert f"{amounts[50, 2]:,.2f} EUR spent, where" in finding.meaning
    assert "--spent 'arm 2'=" in finding.command


def test_an_amount_with_an_extra_zero_is_found_without_advice():
    amounts, outcomes = campaign(3, sigma=1.0)
    amounts[50, 2] = 10 * 250.0
    outcomes[50, 2] = 250 * 0.75
    finding = only(table(amounts, outcomes))
    assert "2,500 EUR spent, where about 250 usually brings such a result" in finding.meaning


def test_a_missing_zero_is_found_where_results_are_steady_enough():
    amounts, outcomes = campaign(4, sigma=0.3)
    outcomes[50, 2] /= 10
    assert only(table(amounts, outcomes)).periods == (51,)


def test_a_slip_among_results_without_noise_is_found():
    amounts, _ = campaign(6)
    outcomes = 0.5 * amounts
    outcomes[50, 2] *= 100
    assert only(table(amounts, outcomes)).periods == (51,)


def test_returns_that_jump_for_good_are_no_slips():
    factors = np.ones((120, 5))
    factors[60:, 1] = 8.0
    assert "outlier" not in kinds(table(*campaign(5, factors=factors)))


# ---- Splits that swing ----


def test_splits_that_swing_are_told_with_the_setting_that_limits_it():
    observed = planted("swings", 1)
    finding = only(observed)
    assert (finding.kind, finding.severity, finding.title) == ("swings", "note", "Splits swing to and fro")
    assert "In the last 7 splits 37% of the budget went to another arm from one split to the next" in finding.meaning
    assert "set a change limit" in finding.advice
    assert finding.command == "apportion settings ads --change 0.1"
    assert kinds(observed, ADS._replace(change=0.3)) == []  # there is one


@pytest.mark.parametrize(
    "shares",
    [
        (0.2, 0.45, 0.7, 0.9, 0.9, 0.9, 0.9),  # it learns
        (0.9, 0.9, 0.5, 0.9, 0.9, 0.9, 0.9),  # one period was a test
        (0.9, 0.8, 0.9, 0.75, 0.9, 0.8, 0.9),  # a little
        (0.9, 0.2),  # hardly any
        (),
    ],
)
def test_splits_that_move_for_a_reason_or_a_little_do_not_swing(shares):
    assert kinds(planted("swings", 1)._replace(splits=swinging(*shares))) == []


def test_the_first_splits_learn_and_do_not_swing():
    amounts, outcomes = campaign(1, periods=16)
    observed = table(amounts, outcomes)._replace(splits=planted("swings", 1).splits)
    assert "swings" not in kinds(observed)
    assert "swings" in kinds(observed._replace(earlier=8))


# ---- Amounts far beyond what was tried ----


def test_amounts_far_beyond_what_was_tried_are_named():
    amounts, outcomes = campaign(6, arms=2, periods=5)
    tried = float(amounts[:, 0].max())
    waiting = {"arm 0": 2.5 * tried, "arm 1": 10.0}
    finding = only(table(amounts, outcomes, waiting=waiting))
    assert (finding.kind, finding.arms, finding.command) == (
        "untried-amounts", ("arm 0",), "apportion settings ads --growth 2"
    )  # fmt: skip
    assert kinds(table(amounts, outcomes, waiting={"arm 0": 1.9 * tried, "arm 1": 10.0})) == []
    limited = only(table(amounts, outcomes, waiting=waiting), ADS._replace(growth=2.0))
    assert "could not hold" in limited.done


# ---- Words ----


@pytest.mark.parametrize("kind", ["bent-returns", "drift", "unequal-noise"])
def test_what_is_being_done_depends_on_how_the_campaign_is_run(kind):
    observed = planted(kind, 1)
    told = {finding.kind: finding for finding in check_health(observed, ADS).findings}[kind]
    learned = {finding.kind: finding for finding in check_health(observed, AUTO).findings}[kind]
    assert (told.severity, learned.severity) == ("warning", "note")
    assert told.advice
    assert learned.done.startswith("Auto learns")
    assert (learned.advice, learned.command) == ("", "")


def test_the_exponent_is_told_in_words():
    assert only(planted("bent-returns", 1)).meaning.startswith(
        "Doubling what an arm gets brings about 1.6 times as much"
    )
    hardly = only(table(*campaign(1, c=0.05)))
    assert (hardly.kind, hardly.title) == ("bent-returns", "Results hardly depend on the amount")


def test_a_campaign_that_knows_it_is_told_so():
    bent = only(planted("bent-returns", 1), ADS._replace(c=0.7))
    assert (bent.severity, bent.advice) == ("note", "")
    assert "c = 0.7" in bent.done
    (moving,) = (each for each in check_health(planted("drift", 1), ADS._replace(half_life=20.0)).findings)
    assert "Results count half after 20 periods." in moving.done
    assert "days ago is worth half" in moving.meaning or "weeks ago is worth half" in moving.meaning


def test_a_file_has_lines_and_no_commands():
    amounts, outcomes = campaign(1, sigma=1.0)
    outcomes[50, 2] *= 10
    history = table(amounts, outcomes).history._replace(lines=np.arange(2, 602))
    finding = only(Observations.of_file(history), Handling())
    assert "in line 254:" in finding.meaning
    assert finding.command == ""


# ---- Bounds ----


def test_nothing_and_little_are_said_to_be_so():
    nothing = check_health(table(np.zeros((0, 2)), np.zeros((0, 2))))
    assert (nothing.findings, nothing.summary, nothing.enough) == ((), "No results yet: nothing to check.", False)
    few = check_health(table(*campaign(1, periods=5)))
    assert few.findings == ()
    assert "too few" in few.summary


def test_results_without_noise_without_success_or_of_one_arm_break_nothing():
    amounts, outcomes = campaign(1)
    for each in (amounts * 2, np.zeros_like(amounts), -outcomes, np.round(outcomes / 1000), outcomes * 1e40):
        check_health(table(amounts, each))
    check_health(table(amounts[:, :1], outcomes[:, :1], dates=False))
    sparse = amounts * (np.random.default_rng(1).random(amounts.shape) < 0.2)
    check_health(table(sparse, outcomes))


def test_only_the_last_periods_and_so_many_arms_are_looked_at():
    rng = np.random.default_rng(1)
    long = 100 * np.exp(0.3 * rng.standard_normal((500, 2)))
    found = check_health(table(long, long + rng.standard_normal(long.shape)))
    assert (found.periods, found.arms) == (check.MOST_PERIODS, 2)
    assert "Checked the last 400 periods" in found.summary
    wide = 100 * np.exp(0.3 * rng.standard_normal((20, 300)))
    found = check_health(table(wide, wide + rng.standard_normal(wide.shape)))
    assert found.arms == check.MOST_ARMS
    assert found.periods * found.arms <= check.MOST_ROWS
