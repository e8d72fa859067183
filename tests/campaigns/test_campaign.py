"""What happens in the life of a campaign."""

import copy
import math
import pickle
import re
import threading

import numpy as np
import pytest
import sqlalchemy as sa

import apportion as ap
from apportion.campaigns.cost_of_doubt import expected_regret
from apportion.campaigns.files import export_json, restore_json
from apportion.campaigns.storage.store import Store, open_store
from apportion.policies.registry import choose_policy

ARMS = ("a", "b")


@pytest.fixture
def campaign(sqlite):
    return ap.Campaign.create("c", ARMS, budget=100, b=0.75, sigma=1, seed=1, db=sqlite)


def test_costs_are_minimised_and_shown_as_they_are(sqlite):
    costs = ap.Campaign.create("costs", ARMS, budget=100, b=0.75, sigma=1, minimise=True, db=sqlite)
    for _ in range(10):
        split = costs.split()
        costs.record(split.ticket, {"a": 3.0 * split.amounts["a"], "b": 5.0 * split.amounts["b"]})
    beliefs = costs.beliefs()
    assert beliefs.leader == "a"
    assert beliefs["a"].mean == pytest.approx(3.0)
    assert beliefs["a"].low < 3.0 < beliefs["a"].high
    split = costs.split()
    assert split.shares["a"] > split.shares["b"]
    assert "Leads with 3.0" in split.reasons["a"]
    assert " behind a" in split.reasons["b"]
    with pytest.raises(ap.Conflict, match="already has an outcome of 150"):
        costs.record(1, {"a": 1.0})
    assert costs.expected_regret() >= 0
    assert costs.check().exact


def test_forgetting_follows_returns_that_drift(sqlite):
    drifting = ap.Campaign.create("d", ARMS, budget=100, b=0.75, sigma=1, half_life=5, db=sqlite)
    for turn in range(60):
        split = drifting.split()
        means = (2.0, 1.0) if turn < 30 else (1.0, 2.0)
        drifting.record(split.ticket, {n: m * split.amounts[n] for n, m in zip(ARMS, means) if split.amounts[n] > 0})
    assert drifting.beliefs().leader == "b"
    assert drifting.check().exact


@pytest.mark.parametrize(
    ("given", "before", "after"),
    [
        ({}, "Nothing is known of the noise yet", r"b is about .* and σ about [\d.]+, learned from .*; so .*"),
        ({"b": 0.75}, "σ is not known yet", r"b is 0.75, as given, and σ about [\d.]+, learned from the .*"),
        ({"sigma": 2.5}, "b is not known yet",
         r"b is about [\d.]+ \([\d.]+ to [\d.]+\), learned from the outcomes, and σ is 2.5, as given; so .*"),
        ({"b": 0.75, "sigma": 2.5, "policy": ap.Auto(b=0.75)}, "Nothing is known of the arms yet",
         r"b is 0.75, as given, and σ 2.5, as given\..*"),
    ],
)  # fmt: skip
def test_what_was_given_is_not_said_to_be_learned(sqlite, given, before, after):
    campaign = ap.Campaign.create("c", ARMS, budget=100, seed=1, db=sqlite, **given)
    assert (
        campaign.beliefs().learned.sentence
        == f"{before}: splits are as even as the bounds allow until outcomes come."
    )
    for turn in range(3):
        campaign.record(campaign.split().ticket, {"a": 30.0 + turn, "b": 10.0 - turn})
    found = campaign.beliefs().learned
    assert re.fullmatch(after, found.sentence)
    assert campaign.status().notes[0] == found.sentence
    assert campaign.split().note.endswith(found.sentence)
    assert found.names == tuple(
        name for name, option in (("c", "c"), ("b", "b"), ("σ", "sigma")) if option not in given
    )


def test_notes_name_no_command(sqlite):
    """They are read in the dashboard and over HTTP, too."""
    options = {"half_life": 9, "robust": True, "minimise": True}
    campaign = ap.Campaign.create("c", ARMS, budget=100, policy="thompson", db=sqlite, **options)
    for _ in range(3):
        campaign.split()
    assert campaign.status().notes == (
        "b = 0.5 and σ = 1 were assumed: give what you know in the settings, or measure it on a past history.",
        "The likely ranges are not proven for trimmed means.",
        "How much results vary was assumed: ranges and chances are only as good as that.",
        "Outcomes are costs: less is better.",
        "Outcomes count half after 9 periods.",
        "Outliers are trimmed.",
        "3 tickets are open (1, 2, 3): cancel those that were not spent, close those without results to come.",
        "Too few outcomes yet: no figure yet for the cost of still not being sure.",
    )


@pytest.mark.parametrize("name", ["odds", "Odds", "successive-elimination", "thompson", "auto"])
def test_policies_are_found_by_name(name):
    policy, _ = choose_policy(name, 0.7, 2.0)
    assert isinstance(policy, ap.Policy)


def test_an_unknown_policy_is_refused(sqlite):
    with pytest.raises(ap.UnknownName, match="Policy 'nonsense' is not known"):
        ap.Campaign.create("c", ARMS, budget=1, policy="nonsense", db=sqlite)
    with pytest.raises(ap.InvalidValue, match="Oracle needs means"):
        ap.Campaign.create("c", ARMS, budget=1, policy="oracle", db=sqlite)
    assert ap.Campaign.names(sqlite) == ()


@pytest.mark.parametrize("name", ["", " a", "a/b", "a\\b", "a\nb", "..", "x" * 201, 5, None])
def test_bad_names_are_refused(sqlite, name):
    with pytest.raises(ap.InvalidValue, match="`name` must be"):
        ap.Campaign.create(name, ARMS, budget=1, db=sqlite)


@pytest.mark.parametrize(
    "options",
    [
        {"budget": 0}, {"budget": math.inf}, {"arms": ()}, {"arms": ("a", "a")}, {"b": 1.5}, {"sigma": 0},
        {"minimum": {"a": 0.7, "b": 0.7}}, {"minimum": {"x": 0.1}}, {"unit": ""}, {"level": 1}, {"half_life": 0},
        {"step": -1}, {"whole": True, "step": 2.0}, {"minimise": "yes"}, {"seed": -1}, {"policy": 5}, {"horizon": 0},
    ],
)  # fmt: skip
def test_bad_options_are_refused_and_make_nothing(sqlite, options):
    with pytest.raises(ap.ApportionError):
        ap.Campaign.create("c", **{"arms": ARMS, "budget": 1, "db": sqlite, **options})
    assert ap.Campaign.names(sqlite) == ()


def test_a_snapshot_that_was_tampered_with_is_found_and_repaired(campaign, sqlite):
    for _ in range(40):
        campaign.record(campaign.split().ticket, {"a": 1.0, "b": 2.0})
    truth = campaign.state()
    with open_store(sqlite).writing() as session:
        number, state = session.snapshot(campaign._id)
        session.save_snapshot(campaign._id, number, state.replace('"issued": ', '"issued": 1'))
    assert not campaign.check().ok
    found = campaign.check(repair=True)
    assert not found.ok
    assert "does not agree" in found.message
    assert campaign.check().ok
    open_store(sqlite).shared.clear()
    assert ap.Campaign.open("c", db=sqlite).state() == truth


def test_an_event_that_was_tampered_with_is_found(campaign, sqlite):
    from apportion.campaigns.storage.address import database_url
    from apportion.campaigns.storage.database import engine_for

    for _ in range(40):
        campaign.record(campaign.split().ticket, {"a": 1.0, "b": 2.0})
    with engine_for(database_url(sqlite)).begin() as connection:
        connection.execute(sa.text("UPDATE events SET payload = replace(payload, '2.0', '9.0') WHERE number = 9"))
    assert not campaign.check().ok


def test_threads_can_share_one_object(campaign):
    def work():
        for _ in range(10):
            split = campaign.split()
            campaign.record(split.ticket, {"a": 1.0})
            campaign.beliefs()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert campaign.period == 40
    assert campaign.check().exact


def test_a_key_must_be_sensible(campaign):
    with pytest.raises(ap.InvalidValue, match="`key`"):
        campaign.split(key="")
    with pytest.raises(ap.InvalidValue, match="`key`"):
        campaign.split(key="x" * 201)


def test_many_open_tickets_keep_the_state_small(campaign):
    with campaign.together():
        for _ in range(300):
            campaign.split()
    assert len(campaign.open_tickets) == 300
    assert len(campaign.state()) < 5000
    campaign.record(3, {"a": 1.0})
    assert campaign.check().exact


def test_a_longer_name_of_an_older_release_is_kept(campaign, sqlite):
    longer = "x" * 3000
    campaign.split()
    text = export_json(campaign).replace('"a"', f'"{longer}"')
    restored = restore_json(text, name="older", db=sqlite)
    restored.record(restored.split().ticket, {longer: 1.0})
    restored.remove_arm(longer)
    restored.add_arm(longer)
    open_store(sqlite).shared.clear()
    assert ap.Campaign.open("older", db=sqlite).arms[0].name == longer
    assert restored.check().exact


def test_a_campaign_goes_along_with_a_pickle(campaign, sqlite):
    campaign.split()
    for twin in (pickle.loads(pickle.dumps(campaign)), copy.deepcopy(campaign)):
        twin.split()
        assert (twin.name, twin.period, twin.state()) == ("c", campaign.period, campaign.state())
    assert campaign.period == 3


def test_the_password_of_a_database_is_in_no_pickle():
    url = sa.make_url("postgresql+psycopg://me:secret@host/name")
    with pytest.raises(ap.InvalidValue, match=r"the copy would hold it\. Open the campaign by its name instead\."):
        pickle.dumps(ap.Campaign(Store(url), 1, "c"))


def test_history_and_log_read_well(campaign):
    campaign.record(campaign.split().ticket, {"a": 1.0})
    frame = campaign.history().to_pandas()
    assert list(frame["state"]) == ["recorded", "open"]
    assert "History of c" in str(campaign.history())
    assert [event.kind for event in campaign.events()] == ["created", "split", "outcome"]
    assert repr(campaign) == "Campaign.open('c')"


def test_the_past_can_be_looked_at(campaign):
    campaign.record(campaign.split().ticket, {"a": 100.0, "b": 1.0})
    then = campaign.version
    campaign.record(campaign.split().ticket, {"a": 0.0, "b": 900.0})
    assert campaign.beliefs(at=then).leader == "a"
    assert campaign.beliefs().leader == "b"


def test_snapshots_are_kept_all_along_however_writes_are_cut(campaign, sqlite):
    """The state at any past moment is near one; three events in a write need not end at a round number."""
    for _ in range(1100):
        with campaign.together():
            ticket = campaign.split().ticket
            campaign.record(ticket, {"a": 1.0})
            campaign.record(ticket, {"b": 2.0})
    with open_store(sqlite).reading() as session:
        kept = sorted(session.snapshots(campaign._id))
    assert len(kept) == 4
    assert max(late - early for early, late in zip([0, *kept], [*kept, campaign.version])) <= 1024 + 64
    assert campaign.check().exact


def test_a_range_of_tickets_is_found_by_its_index(campaign, sqlite):
    from apportion.campaigns.storage.address import database_url
    from apportion.campaigns.storage.database import engine_for

    said = []
    engine = engine_for(database_url(sqlite))

    @sa.event.listens_for(engine, "before_cursor_execute")
    def note(connection, cursor, statement, parameters, context, many):
        said.append((statement, parameters))

    campaign.history(2, 3)
    sa.event.remove(engine, "before_cursor_execute", note)
    statement, parameters = said[-1]
    with engine.connect() as connection:
        plan = " ".join(row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters))
    assert "ix_events_ticket (campaign=? AND ticket>? AND ticket<?)" in plan
    assert "TEMP B-TREE" not in plan


def test_numbers_of_numpy_will_do_and_others_are_refused(campaign):

    campaign.split()
    assert campaign.explain(np.int64(1)).ticket == 1
    assert [event.number for event in campaign.events(after=np.int64(1), limit=np.int64(1))] == [2]
    for wrong in ({"after": "x"}, {"after": -1}, {"limit": -1}, {"limit": "a"}, {"limit": 1.5}):
        with pytest.raises(ap.InvalidValue, match="must be a whole number"):
            campaign.events(**wrong)
    assert campaign.events(after=2**70) == []
    assert len(campaign.events(limit=2**70)) == 2
    assert (len(campaign.history(first=2**70)), len(campaign.history(last=2**70))) == (0, 2)
    assert campaign.beliefs(at=2**70).leader == campaign.beliefs().leader


def test_several_verbs_as_one_write_see_what_they_did(sqlite):
    """Also what is read from the log, which holds nothing of it before the end."""
    campaign = ap.Campaign.create("ads", ARMS, budget=100, db=sqlite, b=0.75, sigma=2.0, seed=7)
    with campaign.together():
        split = campaign.split(key="first")
        assert campaign.status().period == campaign.version - 1 == 1
        assert dict(campaign.explain(1).amounts) == dict(split.amounts)
        assert [line.state for line in campaign.history()] == ["open"] * len(ARMS)
        assert campaign.split(key="first").ticket == 1
        campaign.record(1, {ARMS[0]: 40.0})
        with pytest.raises(ap.ApportionError), campaign.together():  # noqa: PT012
            campaign.split()
            campaign.record(1, {ARMS[0]: 50.0})
        assert [event.kind for event in campaign.events()] == ["created", "split", "outcome"]
        assert campaign.events(1, 1)[0].kind == "split"
    assert [event.kind for event in campaign.events()] == ["created", "split", "outcome"]
    assert campaign.check().ok


def test_the_cost_of_doubt_is_that_of_the_present_budget(sqlite, tmp_path):
    """Not of the last period, which may be an imported one of another size."""
    file = tmp_path / "past.csv"
    file.write_text("date,arm,amount,outcome\n2026-01-01,a,50000,20000\n2026-01-01,b,50000,21000\n")
    campaign = ap.Campaign.create("ads", ("a", "b"), budget=1000, db=sqlite, policy="Uniform", b=0.5, sigma=100.0)
    assert math.isnan(campaign.expected_regret())
    campaign.import_history(file)
    cost = campaign.expected_regret()
    assert 0.0 < cost < 500.0
    campaign.change(budget=2000)
    assert campaign.expected_regret() == pytest.approx(2 * cost)
    for arm in ("a", "b"):
        campaign.pause_arm(arm)
    assert math.isnan(campaign.expected_regret())


@pytest.mark.parametrize(
    ("means", "b", "c", "sigma"),
    [((30.0, 22.0, 9.5, 10.0), 0.6, 0.6, 1.0), ((1.3, 1.2, 0.95, 1.05), 0.3, 1.0, 20.0)],
    ids=["nearer to even", "another arm"],
)
def test_the_cost_of_doubt_does_not_jump_where_the_next_split_is_a_test(sqlite, means, b, c, sigma):
    """Some periods look at other amounts, or at another arm: those are not what splits usually cost."""
    rng, names = np.random.default_rng(3), ("a", "b", "c", "d")
    campaign = ap.Campaign.create("tests", names, budget=5000, db=sqlite, seed=3)
    costs, even = [], []
    for _ in range(16):
        split = campaign.split()
        campaign.record(split.ticket, {
            arm: mean * amount**c + sigma * amount**b * rng.standard_normal()
            for (arm, amount), mean in zip(split.amounts.items(), means) if amount > 0
        }, confirm=True)  # fmt: skip
        costs.append(campaign.expected_regret())
        beliefs = campaign.beliefs()
        own = campaign.transactions.read(lambda state, session: state.allocator.decide(5000.0))
        even.append(expected_regret(beliefs, dict(zip(own.arms, own.amounts))))
    late, next_split = np.array(costs[4:]), np.array(even[4:])
    assert (next_split[1:] > 3 * next_split[:-1]).any()  # there is a test
    assert (late[1:] < 1.5 * late[:-1]).all()


def test_where_arms_have_no_results_it_says_so_and_which(campaign):
    said = "no figure yet for the cost of still not being sure."
    assert f"Too few outcomes yet: {said}" in campaign.status().notes
    campaign.record(campaign.split().ticket, {"a": 30.0, "b": 10.0})
    campaign.add_arm("c")
    assert f"c has no results yet: {said}" in campaign.status().notes
    campaign.add_arm("d")
    assert f"c and d have no results yet: {said}" in campaign.status().notes
    for arm in ("c", "d"):
        campaign.pause_arm(arm)
    assert not any(said in note for note in campaign.status().notes)


def test_a_split_has_the_date_of_its_period(sqlite):
    ads = ap.Campaign.create("ads", ("a", "b"), budget=100, policy="Uniform", db=sqlite)
    first = ads.split(date=" 2026-03-01 ", key="one")
    assert first.date == ads.explain(1).date == ads.split(date="2026-03-01", key="one").date == "2026-03-01"
    with pytest.raises(ap.Conflict):
        ads.split(date="2026-03-02", key="one")
    ads.record(1, {"a": 1.0, "b": 2.0})
    assert {(line.date, line.outcome) for line in ads.history()} == {("2026-03-01", 1.0), ("2026-03-01", 2.0)}
    assert ads.split(date="week 3").date == "week 3"
    now = ads.split()
    assert now.date == ads.explain(3).date == ads.history(3)[0].date
    assert now.date[:2] == "20"
    for wrong in ("2026-02-30", "", "x" * 41, "a\nb", 7):
        with pytest.raises(ap.InvalidValue, match="`date` must be a date"):
            ads.split(date=wrong)
    assert ads.period == 3
    assert ads.check().exact
