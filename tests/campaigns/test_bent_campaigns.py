"""A campaign whose returns diminish and whose arms have a noise level each: settings, events, futures."""

import json
import math

import numpy as np
import pytest

import apportion as ap
from apportion.allocation.beliefs import interval, per_unit
from apportion.campaigns.backtest import backtest
from apportion.campaigns.cost_of_doubt import expected_regret
from apportion.campaigns.files import restore_json
from apportion.campaigns.forecast import forecast
from apportion.campaigns.plain_data import split_content
from apportion.campaigns.report import campaign_page
from apportion.campaigns.status import marginal_heading, return_heading
from apportion.campaigns.tables import split_rows, status_rows
from apportion.inference.history import Observation
from apportion.model.response import best_values, optimal_split, value

ARMS = ("search", "social", "video")
SIGMA = {"search": 4.0, "social": 0.5, "video": 1.0}
MEANS = {"search": 3.0, "social": 2.0, "video": 1.0}
C = 0.6


@pytest.fixture
def bent(tmp_path):
    """Recommended, told c, b and a σ per arm."""
    return create(tmp_path / "bent.db")


def create(db, name="bent", **settings):
    given = {"budget": 100, "unit": "EUR", "policy": "recommended", "b": 0.5, "c": C, "sigma": SIGMA, "seed": 7}
    return ap.Campaign.create(name, ARMS, db=db, **{**given, **settings})


def play(campaign, periods=6, seed=1):
    rng = np.random.default_rng(seed)
    for _ in range(periods):
        split = campaign.split()
        outcomes = {
            name: MEANS.get(name, 1.0) * amount**C + 0.1 * rng.standard_normal()
            for name, amount in split.amounts.items()
            if amount > 0
        }
        campaign.record(split.ticket, outcomes)
    return campaign


def test_c_and_sigma_are_settings_that_the_policy_is_told(bent, tmp_path):
    play(bent)
    for campaign in (bent, ap.Campaign.open("bent", tmp_path / "bent.db")):
        assert (campaign.settings.c, campaign.settings.sigma) == (C, SIGMA)
        assert campaign.settings.parameters["c"] == C
        assert campaign.settings.parameters["sigma"] == tuple(SIGMA.values())
        assert campaign.settings.assumed == ()
    created = bent.events()[0].payload["options"]
    assert (created["c"], created["sigma"]) == (C, SIGMA)
    assert bent.check().exact
    assert restore_json(bent.export(), name="again", db=tmp_path / "bent.db").settings == bent.settings


def test_a_campaign_that_says_nothing_of_c_learns_it(tmp_path):
    plain = ap.Campaign.create("plain", ARMS, budget=100, db=tmp_path / "plain.db")
    assert (plain.settings.c, plain.settings.policy) == (1.0, "Auto")
    assert plain.events()[0].payload["options"]["c"] is None
    assert "c" in plain.beliefs().learned.names
    assert plain.change(c=0.7).c == 0.7
    assert "c" not in plain.beliefs().learned.names
    assert plain.change(c=None).c == 1.0
    assert "c" in plain.beliefs().learned.names
    assert plain.change(c=0.7, policy="recommended", sigma=2.0).c == 0.7
    assert plain.change(c=None).c == 1.0
    assert plain.change(policy="auto", b=None, sigma=None).policy == "Auto"
    assert plain.check().ok


def test_another_c_counts_all_outcomes_again(bent, tmp_path):
    play(bent)
    before = bent.beliefs()
    assert bent.change(c=0.9).parameters["c"] == 0.9
    told = create(tmp_path / "other.db", name="told", c=0.9)
    for ticket in range(1, 7):
        lines = [line for line in bent.history() if line.ticket == ticket]
        split = told.split()
        told.record(split.ticket, {line.arm: line.outcome for line in lines}, {l.arm: l.amount for l in lines})
    assert bent.beliefs().columns() == told.beliefs().columns()
    assert bent.change(c=C).c == C
    assert bent.beliefs().columns() == before.columns()
    assert bent.check().exact
    with pytest.raises(ap.InvalidValue, match="knows returns in proportion"):
        bent.change(policy="odds")
    assert bent.settings.policy == "Recommended"
    assert bent.change(policy="odds", c=1.0).policy == "Odds"
    assert bent.settings.sigma == SIGMA


def test_sigma_of_each_arm_can_change_and_a_new_arm_needs_its_own(bent):
    play(bent, 2)
    version = bent.version
    for sigma, sentence in (
        ({"search": 1.0}, "got none for 'social'"),
        ({**SIGMA, "radio": 1.0}, "`sigma` names 'radio'"),
        ({**SIGMA, "video": 0.0}, "`sigma of 'video'` must be a number above 0; got 0.0."),
        ([1.0, 2.0, 3.0], "`sigma` must be a number above 0; got"),
        (0.0, "`sigma` must be a number above 0; got 0.0."),
    ):
        with pytest.raises(ap.ApportionError) as refusal:
            bent.change(sigma=sigma)
        assert sentence in str(refusal.value)
    for c in (0.0, 1.5, "much"):
        with pytest.raises(ap.InvalidValue, match=r"^`c` must be a number in \(0, 1\]; got"):
            bent.change(c=c)
    with pytest.raises(ap.InvalidValue, match="`sigma` must be given for 'radio'"):
        bent.add_arm("radio")
    assert (bent.version, bent.settings.sigma) == (version, SIGMA)
    bent.add_arm("radio", sigma=9.0)
    assert bent.settings.parameters["sigma"] == (*SIGMA.values(), 9.0)
    bent.remove_arm("search")
    play(bent, 2)
    other = {"radio": 1.0, "video": 2.0, "social": 3.0, "search": 4.0}  # by name: the order does not matter
    assert bent.change(sigma=other).parameters["sigma"] == (4.0, 3.0, 2.0, 1.0)
    assert bent.change(sigma=2.5).parameters["sigma"] == 2.5
    assert bent.check().exact


def test_tables_and_notes_speak_of_an_even_share_and_the_next_unit(bent):
    play(bent)
    status, split = bent.status(), bent.split()
    assert (status.even_amount, status.estimate_heading) == (33.0, "Return per EUR at 33 EUR")
    search = status.beliefs["search"]
    assert status.estimate(search).mean == pytest.approx(search.mean * 33.0 ** (C - 1.0))
    assert f"{interval(status.estimate(search))}" in status_rows(status).rows[0]
    assert return_heading(status.settings, C) == "Return per EUR at this amount"
    assert marginal_heading(status.settings) == "Return of the next EUR"
    for rows in (status_rows(status), split_rows(split, status.settings)):
        assert "Return of the next EUR" in rows.columns
        assert all(len(row) == len(rows.columns) for row in rows.rows)
    assert any(note.startswith("Returns diminish") for note in status.notes)
    assert "what splits use; it is for 33 EUR on every arm, so the two can differ." in status.estimate_note
    assert status.estimate_note.endswith(" The next EUR is the one after what an arm got in the last split.")
    bent.change(half_life=5.0)
    assert "it is for 33 EUR on every arm and counts recent results more" in bent.status().estimate_note
    bent.change(c=1.0)
    assert "what splits use; it counts recent results more, so the two can differ." in bent.status().estimate_note
    bent.change(half_life=None, c=C)
    assert status.arms[0].to_dict()["marginal"] == status.beliefs["search"].marginal
    marginals = [belief.marginal for belief in bent.beliefs().values()]
    assert np.ptp(marginals) < 0.5 * np.mean(marginals)  # the policy is near the optimum, where they are equal


@pytest.mark.parametrize("c", [C, 1.0])
def test_plain_data_have_the_return_that_people_see(tmp_path, c):
    campaign = play(create(tmp_path / "plain.db", c=c))
    status, split = campaign.status(), campaign.split()
    content = status.to_dict()
    assert content["return_per_unit_at"] == status.even_amount == 33
    names = ("return_per_unit", "return_per_unit_low", "return_per_unit_high")
    told = [
        (status.estimate(status.beliefs[arm["name"]]), arm) for arm in content["arms"]
    ] + [
        (per_unit(split.beliefs[arm["arm"]], arm["amount"], c), arm)
        for arm in split_content("plain", "EUR", split)["arms"]
    ]  # fmt: skip
    for own, arm in told:
        assert [arm[name] for name in names] == [own.mean, own.low, own.high]
        assert (arm["return_per_unit"] == arm["mean"]) is (c == 1.0)
    shown = [row[-3] if c < 1.0 else row[-2] for row in status_rows(status).rows[: len(ARMS)]]
    assert shown == [interval(status.estimate(status.beliefs[name])) for name in ARMS]


def test_the_cost_of_not_being_sure_is_against_the_best_split(bent):
    play(bent, 40)
    beliefs, rng = bent.beliefs(), np.random.default_rng(1)
    best = dict(zip(ARMS, optimal_split(beliefs.mean, 100.0, C)))
    even = dict.fromkeys(ARMS, 100.0 / 3)
    draws = beliefs.mean + beliefs.spread * rng.standard_normal((20_000, 3))
    for amounts in (best, even):
        lost = best_values(draws, C, 100.0) - draws @ (np.array(list(amounts.values())) ** C)
        assert expected_regret(beliefs, amounts) == pytest.approx(lost.mean(), rel=0.1)
    assert expected_regret(beliefs, best) < expected_regret(beliefs, even)
    assert best_values(draws[:5], C, 100.0) == pytest.approx([value(row, 100.0, C) for row in draws[:5]])


def test_a_forecast_plays_the_bent_law(bent):
    play(bent)
    state = bent.state()
    found = forecast(bent, periods=15, worlds=8)
    assert (found.c, found.sigma) == (C, SIGMA)
    assert [row.policy for row in found.policies] == ["Recommended", "Uniform"]
    recommended, uniform = found.policies
    assert recommended.regret < uniform.regret
    assert min(row.regret_low for row in found.policies) > -1e-9
    assert bent.state() == state
    bent.pause_arm("social")
    assert forecast(bent, periods=2, worlds=2, policies=("matching",)).policies[0].regret >= 0.0
    with pytest.raises(ap.InvalidValue, match="knows returns in proportion"):
        forecast(bent, periods=2, worlds=2, policies=("odds",))


def bent_history(c=0.5, days=80, sigma=(0.5, 5.0)):
    rng = np.random.default_rng(5)
    rows = []
    for day in range(days):
        for arm, mean, level in zip("ab", (2.0, 1.0), sigma):
            amount = float(rng.lognormal(3.0, 1.0))
            outcome = mean * amount**c + level * amount**0.3 * rng.standard_normal()
            rows.append(Observation(len(rows) + 2, f"day {day}", arm, amount, outcome))
    return rows


def test_a_backtest_takes_the_law_from_the_history():
    found = backtest(bent_history(sigma=(0.1, 1.0)), worlds=6, policies=("recommended", "uniform"))
    assert found.c == pytest.approx(0.5, abs=0.1)
    assert 5 < found.sigma["b"] / found.sigma["a"] < 20
    assert [row.policy for row in found.policies] == ["recommended", "uniform", "as it was split"]
    linear = backtest(bent_history(sigma=(0.1, 1.0)), worlds=6, policies=("recommended", "odds"), growth=None)
    assert linear.policies[0].regret < min(row.regret for row in linear.policies[1:])
    straight = backtest(bent_history(c=1.0, days=20), worlds=1)
    assert (straight.c, straight.policies[0].policy) == (1.0, "Auto")
    given = backtest(bent_history(), worlds=2, b=0.3, c=0.7, sigma={"a": 1.0, "b": 2.0}, policies=("uniform",))
    assert (given.b, given.c, given.sigma) == (0.3, 0.7, {"a": 1.0, "b": 2.0})
    for bad in ({"c": 0.0}, {"c": 1.1}, {"sigma": {"a": 1.0}}, {"sigma": {"x": 1.0}}, {"sigma": 0.0}):
        with pytest.raises(ap.ApportionError):
            backtest(bent_history(), **bad)


def test_what_is_known_survives_plain_data(bent):
    play(bent)
    content = json.loads(json.dumps(bent.status().to_dict(), default=str))
    assert content["settings"]["sigma"] == SIGMA
    assert not math.isnan(content["arms"][0]["marginal"])


def test_the_report_speaks_of_an_even_share_and_the_next_unit(bent):
    html = campaign_page(play(bent)).html()
    assert "Return per EUR at 33 EUR, of each arm" in html
    assert "Return of the next EUR" in html


def test_a_history_brings_no_arm_without_its_sigma(bent, tmp_path):
    file = tmp_path / "history.csv"
    file.write_text("date,arm,amount,outcome\n2026-01-01,search,10,5\n2026-01-01,radio,20,7\n")
    with pytest.raises(ap.InvalidValue, match="`sigma` must be given for 'radio'"):
        bent.import_history(file, add_arms=True)
    assert (bent.version, bent.period) == (1, 0)
    bent.add_arm("radio", sigma=1.0)
    assert bent.import_history(file).rows == 2
    assert bent.check().exact


def test_one_change_under_a_key_is_done_once(bent):
    for _ in range(2):
        bent.add_arm("radio", sigma=2.0, key="radio")
        bent.change(c=0.7, sigma={**SIGMA, "radio": 3.0}, key="law")
    assert bent.version == 3
    with pytest.raises(ap.Conflict):
        bent.add_arm("radio", sigma=3.0, key="radio")


@pytest.mark.parametrize("options", [{"window": 3}, {"half_life": 2.0}, {"robust": True}])
def test_corrections_are_exact_whatever_counts(bent, options):
    play(bent, 4)
    bent.change(**options)
    before = bent.beliefs().columns()
    bent.amend(3, {"search": 99.0})
    assert bent.beliefs().columns() != before
    line = next(line for line in bent.history(3, 3) if line.arm == "search")
    bent.amend(3, {"search": line.corrections[-1]["outcome"]})
    assert bent.beliefs().columns() == before
    assert bent.check().exact
