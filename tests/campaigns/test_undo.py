"""What can be taken back, and a campaign as a whole: every undo is an event, and nothing is overwritten."""

import math
import threading

import numpy as np
import pytest

import apportion as ap
from apportion.allocation import limits
from apportion.allocation.allocator import Allocator
from apportion.campaigns import creation
from apportion.campaigns.files import export_json, export_log, restore_json, restore_log
from apportion.campaigns.state import CampaignState
from apportion.campaigns.storage.store import open_store

ARMS = ("search", "social")
PAST = "date,arm,amount,outcome\n2026-01-01,search,60,30\n2026-01-01,radio,40,90\n2026-01-02,search,50,20\n"


@pytest.fixture
def ads(sqlite):
    return begun(sqlite)


def begun(db, name="ads", **options):
    given = {"budget": 100, "unit": "EUR", "policy": "Uniform", "b": 0.5, "sigma": 2.0, "seed": 7, **options}
    return ap.Campaign.create(name, ARMS, db=db, **given)


def kinds(campaign):
    return [event.kind for event in campaign.events()]


def reopened(campaign, db):
    open_store(db).shared.clear()
    return ap.Campaign.open(campaign.name, db=db)


def same_beliefs(one, other):
    return all(same(a, b) for name in one for a, b in zip(one[name], other[name]))


def same(one, other):
    return one == other or (math.isnan(one) and math.isnan(other))


# Splits


def test_a_split_that_was_not_spent_is_cancelled(ads, sqlite):
    ads.record(ads.split().ticket, {"search": 30.0, "social": 20.0})
    before = ads.status()
    ticket = ads.split().ticket
    ads.cancel(ticket)
    ads.cancel(ticket)  # again: nothing
    assert kinds(ads) == ["created", "split", "outcome", "split", "cancelled"]
    after = ads.status()
    assert after.open_tickets == ()
    assert (after.spent, after.returned) == (before.spent, before.returned)
    assert same_beliefs(before.beliefs, after.beliefs)
    assert [line.state for line in ads.history(2, 2)] == ["cancelled", "cancelled"]
    assert [(line.advised, line.amount, line.spent) for line in ads.history(2, 2)] == [(50.0, 0.0, None)] * 2
    for verb in (ads.record, ads.amend):
        with pytest.raises(ap.ApportionError, match="Ticket 2 was cancelled: nothing can be recorded for it"):
            verb(ticket, {"search": 1.0}, {"search": 5.0})
    with pytest.raises(ap.ApportionError, match="Ticket 1 has outcomes, so it was spent and cannot be cancelled"):
        ads.cancel(1)
    with pytest.raises(ap.ApportionError, match="Ticket 9 is not known"):
        ads.cancel(9)
    assert ads.split().ticket == 3  # a number is never used twice
    state = ads.state()
    assert reopened(ads, sqlite).state() == state
    assert ads.check().exact


def test_a_second_split_says_that_the_first_is_not_spent(ads):
    first = ads.split()
    assert (first.unspent, first.unspent_sentence) == ((), "")
    second = ads.split(key="second")
    assert second.unspent == (1,)
    assert second.unspent_sentence == ("Ticket 1 has no results yet: if this split takes its place, cancel it.")
    assert ads.split(key="second").unspent == ads.explain(2).unspent == (1,)
    ads.record(1, {"search": 3.0})
    ads.cancel(2)
    assert ads.split().unspent == ()


@pytest.mark.parametrize(
    "options",
    [{}, {"half_life": 3.0}, {"window": 2}, {"robust": True}, {"change": 0.1}, {"c": 0.7}, {"policy": "Auto"}],
)
def test_cancelled_is_as_if_nothing_had_been_spent(sqlite, options):
    """Whatever is counted, and how: the state after is the one from before, but for the period that passed."""
    given = {"policy": "Thompson", **options}
    if given["policy"] == "Auto":
        given |= {"b": None, "sigma": None}
    ads = begun(sqlite, **given)
    rng = np.random.default_rng(1)
    for _ in range(4):
        split = ads.split()
        ads.record(split.ticket, {arm: float(rng.normal(30, 3)) for arm, amount in split.amounts.items() if amount})
    twin = begun(sqlite, "twin", **given)
    for event in [event for event in ads.events() if event.kind == "split"]:
        with twin.transactions.write() as transaction:
            own = transaction.state.allocator
            ticket = own.commit(own.decision_from(event.payload))
            transaction.append("split", event.payload, ticket)
        twin.record(
            ticket, next(e.payload["outcomes"] for e in ads.events() if e.ticket == ticket and e.kind == "outcome")
        )
    ads.split()
    ads.cancel(5)
    assert ads.beliefs().leader == twin.beliefs().leader
    if not {"half_life", "window"} & set(options):  # these let an empty period pass
        assert same_beliefs(ads.beliefs(), twin.beliefs())
    assert ads.check().exact
    assert ads.change(level=0.9).level == 0.9
    ads.change(c=0.8, policy="Recommended", b=0.5, sigma=2.0)  # everything is counted again, without it
    assert ads.check().exact


# Imports


def test_an_import_is_undone_with_the_arms_that_only_it_used(ads, sqlite, tmp_path):
    ads.record(ads.split().ticket, {"search": 30.0, "social": 20.0})
    before = ads.status()
    file = tmp_path / "past.csv"
    file.write_text(PAST)
    assert ads.imports() == ()
    with pytest.raises(ap.ApportionError, match="There is no import to undo"):
        ads.undo_import()
    ads.import_history(file, add_arms=True)
    (made,) = ads.imports()
    assert (made.file, made.rows, made.tickets, made.undone) == ("past.csv", 3, 2, False)
    ads.amend(3, {"search": 25.0})
    assert ads.status().spent == 250.0
    ads.split()
    ads.record(4, {"search": 30.0, "social": 20.0, "radio": None}, {"search": 50.0, "social": 50.0})
    done = ads.undo_import(key="undo")
    assert done == ads.undo_import(key="undo")
    assert (done.file, done.tickets, done.arms_removed) == ("past.csv", 2, ())  # another split gave radio something
    assert ads.imports()[0].undone
    assert kinds(ads)[-3:] == ["cancelled", "cancelled", "undone"]
    assert ads.status().spent == 200.0
    assert {line.state for line in ads.history(2, 3)} == {"cancelled"}
    with pytest.raises(ap.ApportionError, match="There is no import to undo"):
        ads.undo_import()
    with pytest.raises(ap.ApportionError, match="was undone before"):
        ads.undo_import(made.event)
    with pytest.raises(ap.ApportionError, match="Event 1 is no import"):
        ads.undo_import(1)
    ads.import_history(file)  # the same file again, as the first import does not count any more
    second = ads.undo_import(ads.imports()[-1].event)
    assert second.tickets == 2
    assert ads.check().exact
    state = ads.state()
    assert reopened(ads, sqlite).state() == state
    fresh = begun(sqlite, "fresh")
    fresh.import_history(file, add_arms=True)
    assert fresh.undo_import().arms_removed == ("radio",)
    assert {arm.name: arm.state for arm in fresh.arms}["radio"] == "removed"
    assert math.isnan(fresh.beliefs()["search"].mean)
    assert before.spent == 100.0


# The campaign as a whole


def test_one_split_says_nothing_of_what_it_costs_not_to_be_sure(sqlite, tmp_path):
    """How much results vary is not known then: tens of thousands were shown for a budget of 100."""
    rows = [f"2026-01-{day:02d},{arm},50,{value}" for day in range(1, 11) for arm, value in (("a", 60), ("b", 40))]
    (tmp_path / "history.csv").write_text("\n".join(["date,arm,amount,outcome", *rows]))
    ads = ap.Campaign.create("one", ("a", "b"), budget=100, seed=1, db=sqlite)
    ads.import_history(tmp_path / "history.csv")
    assert ads.expected_regret() >= 0.0
    ads.record(ads.split().ticket, {"a": 5.0, "b": 30.0}, confirm=True)
    ads.undo_import()
    assert math.isnan(ads.expected_regret())
    assert "Too few outcomes yet: no figure yet for the cost of still not being sure." in ads.status().notes
    ticket = ads.split().ticket
    assert math.isnan(ads.expected_regret())
    ads.record(ticket, {"a": 20.0, "b": 20.0}, provisional=True, confirm=True)
    assert ads.expected_regret() >= 0.0


def test_after_an_import_is_undone_the_first_results_are_believed_no_more_than_anywhere(sqlite, tmp_path):
    """An arm that had luck once was the best "by more than 99.9%", as the noise that was learned had gone, too."""
    rng, path = np.random.default_rng(5), tmp_path / "past.csv"
    rows = [
        f"2026-01-{day:02d},{arm},{rng.integers(50, 90)},{rng.integers(60, 120)}"
        for day in range(1, 11)
        for arm in ARMS
    ]
    path.write_text("date,arm,amount,outcome\n" + "\n".join(rows))
    undone = ap.Campaign.create("undone", ARMS, budget=100, seed=7, db=sqlite)
    undone.import_history(path)
    fresh = ap.Campaign.create("fresh", ARMS, budget=100, seed=7, db=sqlite)
    ticket = undone.split().ticket
    fresh.split()
    results, spent = {"search": 60.0, "social": 320.0}, {"search": 60.0, "social": 40.0}
    undone.record(ticket, results, spent)
    assert undone.undo_import().tickets == 10
    assert (undone.status().splits, undone.status().cancelled) == (1, 10)
    fresh.record(1, results, spent)
    for campaign in (undone, fresh):
        belief = campaign.status().beliefs["social"]
        assert 0.5 < belief.probability_best < 0.95
        assert belief.low < 60 / 60 < belief.high
    undone.amend(ticket, {"social": None})
    undone.amend(ticket, {"search": None})
    assert "No results yet: the first splits are as even as the bounds allow." in undone.status().notes
    assert undone.check().ok


def test_a_campaign_is_renamed_and_whoever_has_it_open_goes_on(ads, sqlite):
    begun(sqlite, "taken")
    ads.split()
    other = ap.Campaign.open("ads", db=sqlite)
    with pytest.raises(ap.ApportionError, match="Campaign 'taken' is there already"):
        ads.rename("taken")
    with pytest.raises(ap.ApportionError, match="`name` must be"):
        ads.rename("a/b")
    assert ads.name == "ads"
    ads.rename("ads 2026", key="name")
    ads.rename("ads 2026", key="name")
    assert ads.name == "ads 2026" == ads.status().name
    assert other.status().name == other.name == "ads 2026"
    assert ap.Campaign.names(sqlite) == ("ads 2026", "taken")
    assert kinds(ads) == ["created", "split", "renamed"]
    with pytest.raises(ap.ApportionError, match="Campaign 'ads' is not known"):
        ap.Campaign.open("ads", db=sqlite)
    assert reopened(ads, sqlite).name == "ads 2026"
    assert ads.check().exact
    again = restore_json(export_json(ads), db=sqlite, name="back")
    assert again.name == again.status().name == "back"
    assert restore_log(export_log(ads), db=sqlite, name="log").status().name == "log"

    class Interrupted(Exception):
        pass

    with pytest.raises(Interrupted), ads.together():  # noqa: PT012
        ads.rename("half")
        raise Interrupted
    assert ads.status().name == ads.name == "ads 2026"
    assert ap.Campaign.names(sqlite) == ("ads 2026", "back", "log", "taken")


def test_an_archived_campaign_is_in_no_list_and_is_not_split(ads, sqlite):
    begun(sqlite, "other")
    ticket = ads.split().ticket
    ads.archive()
    ads.archive()
    assert ads.status().archived
    assert ap.Campaign.names(sqlite) == ("other",)
    assert ap.Campaign.names(sqlite, archived=True) == ("ads", "other")
    with pytest.raises(ap.ApportionError, match="Campaign 'ads' is archived: `unarchive` it"):
        ads.split()
    ads.record(ticket, {"search": 3.0})  # what came late is not lost
    with pytest.raises(ap.ApportionError, match="is there already"):
        begun(sqlite, "ads")
    assert reopened(ads, sqlite).status().archived
    ads.unarchive()
    assert ap.Campaign.names(sqlite) == ("ads", "other")
    assert ads.split().ticket == 2
    assert kinds(ads) == ["created", "split", "archived", "outcome", "unarchived", "split"]
    assert ads.check().exact


def test_a_copy_goes_its_own_way(ads, sqlite):
    ads.add_arm("radio", 0.1, 0.5)
    ads.pause_arm("social")
    ads.change(budget=250)
    ads.record(ads.split(key="one").ticket, {"search": 30.0, "radio": 5.0})
    ads.rename("ads 2026")
    copy = ads.clone("copy", key="clone")
    assert type(copy) is ap.Campaign
    assert ads.clone("copy", key="clone").name == copy.name == copy.status().name == "copy"
    assert same_beliefs(copy.beliefs(), ads.beliefs())
    assert copy.settings == ads.settings
    assert copy.history()[0] == ads.history()[0]
    assert copy.split(key="one").ticket == 2  # a key belongs to the campaign that it was used for
    assert ads.period == 1
    empty = ads.clone("empty", history=False)
    assert (empty.period, empty.settings.budget, empty.arms) == (0, 250.0, ads.arms)
    assert empty.settings.seed != ads.settings.seed
    assert kinds(empty) == ["created", "arm", "arm", "setting", "cloned"]
    for made in (copy, empty):
        assert made.check().exact
    with pytest.raises(ap.ApportionError, match="Campaign 'copy' is there already"):
        ads.clone("copy")
    with pytest.raises(ap.ApportionError, match=r"used before for something else|there already"):
        ads.clone("copy", history=False, key="clone")


def test_a_campaign_is_deleted_by_its_name(ads, sqlite):
    ads.split()
    other = ap.Campaign.open("ads", db=sqlite)
    with pytest.raises(
        ap.ApportionError, match=r"`confirm` must be the name of the campaign to delete, 'ads'; got 'add'"
    ):
        ads.delete("add")
    with pytest.raises(ap.ApportionError, match="cannot be deleted inside"), ads.together():
        ads.delete("ads")
    saved = ads.export()
    ads.delete("ads")
    assert ap.Campaign.names(sqlite, archived=True) == ()
    for campaign in (ads, other):
        for verb in (campaign.split, campaign.status, campaign.beliefs):
            with pytest.raises(ap.ApportionError, match="Campaign 'ads' was deleted"):
                verb()
    new = begun(sqlite)  # the name is free, and nobody who held the old one writes into it
    with pytest.raises(ap.ApportionError, match="was deleted"):
        ads.split()
    assert new.split().ticket == 1
    new.delete("ads")
    assert restore_json(saved, db=sqlite).period == 1


# Slips


def told(campaign, **outcomes):
    ticket = campaign.split().ticket
    campaign.record(ticket, outcomes)
    return ticket


def test_an_outcome_ten_times_off_is_asked_about_and_nothing_is_changed(ads, sqlite):
    for value in (30.0, 40.0, 35.0, 33.0, 38.0):
        told(ads, search=value, social=value + 100.0)
    ticket, state = ads.split().ticket, ads.state()
    for wrong in (400.0, 3.0, -400.0):
        with pytest.raises(
            ap.Unconfirmed, match=r"Ten times off: .* for 'search', where at (most 40|least 30) was ever"
        ):
            ads.record(ticket, {"search": wrong, "social": 130.0})
        assert ads.state() == state
    assert reopened(ads, sqlite).state() == state
    for fine in (399.0, 3.1, 0.0):
        with pytest.raises(ZeroDivisionError), ads.together():  # noqa: PT012
            ads.record(ticket, {"search": fine})
            raise ZeroDivisionError
    with ads.together():
        with pytest.raises(ap.Unconfirmed):
            ads.record(ticket, {"search": 400.0})
        ads.record(ticket, {"social": 120.0})
    ads.record(ticket, {"search": 400.0}, confirm=True)
    with pytest.raises(ap.Unconfirmed):
        ads.amend(ticket, {"search": 40_000.0})
    ads.amend(ticket, {"search": 40.0})
    with pytest.raises(ap.Unconfirmed):  # what was corrected was never seen
        told(ads, search=400.0)
    assert ads.check().exact


def test_nothing_is_asked_where_little_was_seen_or_the_amount_explains_it(sqlite):
    ads = begun(sqlite)
    told(ads, search=3.0, social=500.0)  # the first ones: nobody knows
    told(ads, search=60.0, social=0.0)
    told(ads, search=4.0, social=0.0)
    told(ads, search=5.0, social=0.0)
    ticket = ads.split(10_000).ticket
    ads.record(ticket, {"search": 900.0, "social": 40_000.0})  # a hundred times the budget
    ads.record(ads.split(1.0).ticket, {"search": 0.04})
    ads.add_arm("radio")
    ticket = ads.split().ticket
    with pytest.raises(ap.Unconfirmed):  # of a new arm all others tell
        ads.record(ticket, {"radio": 1e9})
    with pytest.raises(ap.ApportionError, match="`confirm` must be"):
        ads.record(ticket, {"radio": 1.0}, confirm="yes")


# Many tickets, and other campaigns


def write_elsewhere_within(monkeypatch, kind, name, other):
    """From now on, each time that method of `kind` begins, another thread writes to the other campaign."""
    own, done = getattr(kind, name), []

    def with_a_write(*given, **options):
        if not done:
            writer = threading.Thread(target=lambda: done.append(other.split().ticket), daemon=True)
            writer.start()
            writer.join(20.0)
            assert done, f"the other campaign had to wait for {name}"
        return own(*given, **options)

    monkeypatch.setattr(kind, name, with_a_write)


def test_what_takes_long_keeps_no_other_campaign_from_writing(ads, sqlite, tmp_path, monkeypatch):
    file = tmp_path / "past.csv"
    file.write_text(PAST)
    other = begun(sqlite, "other")
    ads.import_history(file, add_arms=True)
    write_elsewhere_within(monkeypatch, Allocator, "recount", other)
    ads.change(half_life=10)
    write_elsewhere_within(monkeypatch, Allocator, "cancel", other)
    assert ads.undo_import().tickets == 2
    assert (ads.settings.half_life, other.period) == (10, 2)
    assert kinds(ads)[-4:] == ["cancelled", "cancelled", "arm", "undone"]
    write_elsewhere_within(monkeypatch, creation, "event_rows", other)
    copy = ads.clone("copy")
    assert other.period == 3
    assert ads.check(full=True).exact
    assert copy.check(full=True).exact


def test_a_change_that_somebody_overtakes_is_made_on_what_they_left(ads, monkeypatch):
    change_settings, overtaken = CampaignState.change_settings, []

    def overtaking(state, changes):
        if not overtaken:
            overtaken.append(ads.name)
            writer = threading.Thread(target=lambda: ads.change(growth=3.0), daemon=True)
            writer.start()
            writer.join(20.0)
        return change_settings(state, changes)

    monkeypatch.setattr(CampaignState, "change_settings", overtaking)
    assert ads.change(half_life=10).growth == 3.0
    assert [event.payload["changes"] for event in ads.events()[1:]] == [{"growth": 3.0}, {"half_life": 10.0}]
    assert ads.check(full=True).exact


def test_the_largest_amounts_are_looked_for_once_however_many_tickets_are_taken_back(ads, tmp_path, monkeypatch):
    file = tmp_path / "past.csv"
    rows = (f"2026-01-{day + 1:02},search,{100 - day},7\n2026-01-{day + 1:02},social,50,7\n" for day in range(30))
    file.write_text("date,arm,amount,outcome\n" + "".join(rows))
    ads.record(ads.split().ticket, {"search": 20.0, "social": 20.0})
    ads.import_history(file)
    looked, largest = [], limits._largest_amounts
    monkeypatch.setattr(limits, "_largest_amounts", lambda *given: (looked.append(1), largest(*given))[1])
    ads.undo_import()
    ads.split()
    assert len(looked) == 1
    looked.clear()
    assert ads.check(full=True).exact
    assert len(looked) <= 2


def test_a_campaign_that_was_renamed_elsewhere_is_not_deleted_by_its_old_name(ads, sqlite):
    elsewhere = ap.Campaign.open("ads", sqlite)
    elsewhere.rename("private")
    with pytest.raises(ap.InvalidValue, match="must be the name of the campaign to delete, 'private'; got 'ads'"):
        ads.delete("ads")
    assert ap.Campaign.names(sqlite) == ("private",)
    ads.delete("private")
    assert ap.Campaign.names(sqlite) == ()
