"""Totals so far: they count as they are, are replaced without ceremony, and leave no trace once they are final."""

import json
import math

import numpy as np
import pytest

import apportion as ap
from apportion.campaigns.files import export_csv, export_json, export_log, restore_json, restore_log
from apportion.campaigns.storage.store import open_store
from cli.commands import run

ARMS = ("search", "social", "video")
NOISE = {
    "told": {"policy": "Uniform", "b": 0.5, "sigma": 2.0},
    "fading": {"policy": "Uniform", "b": 0.5, "sigma": 2.0, "half_life": 3},
    "window": {"policy": "Uniform", "b": 0.5, "sigma": 2.0, "window": 2},
    "robust": {"policy": "Uniform", "b": 0.5, "sigma": 2.0, "robust": True},
    "learned": {},
}


def begun(db, name="ads", **options):
    given = {"budget": 90, "unit": "EUR", "policy": "Uniform", "b": 0.5, "sigma": 2.0, "seed": 7, **options}
    return ap.Campaign.create(name, ARMS, db=db, **given)


@pytest.fixture
def ads(sqlite):
    return begun(sqlite)


def states(campaign, ticket):
    return {line.arm: (line.outcome, line.state) for line in campaign.history(ticket, ticket)}


def test_a_total_so_far_is_replaced_until_it_is_final(ads, sqlite):
    ticket = ads.split().ticket
    ads.record(ticket, {"search": 10.0, "social": 4.0}, provisional=True)
    assert states(ads, ticket) == {
        "search": (10.0, "provisional"),
        "social": (4.0, "provisional"),
        "video": (None, "open"),
    }
    status = ads.status()
    assert (status.returned, status.spent) == (14.0, 60.0)
    assert status.provisional_tickets == status.open_tickets == (1,)
    assert "Provisional: the totals so far of ticket 1 count as they are, until they are final." in status.notes
    ads.record(ticket, {"search": 25.0}, {"search": 40.0}, provisional=True)
    assert (ads.status().returned, ads.status().spent) == (29.0, 70.0)
    ads.record(ticket, {"search": 31.0, "video": 7.0}, {"search": 30.0})  # final
    assert states(ads, ticket) == {
        "search": (31.0, "recorded"),
        "social": (4.0, "provisional"),
        "video": (7.0, "recorded"),
    }
    assert ads.open_tickets == (1,)
    ads.record(ticket, {"social": 4.0})  # as it stood
    after = ads.status()
    assert (after.open_tickets, after.provisional_tickets, after.returned) == ((), (), 42.0)
    assert [event.payload.get("provisional", False) for event in ads.events() if event.kind == "outcome"] == [
        True, True, False, False,
    ]  # fmt: skip
    assert all(line.corrections == () for line in ads.history())
    open_store(sqlite).shared.clear()
    again = ap.Campaign.open("ads", db=sqlite)
    assert (again.state(), again.status().returned) == (ads.state(), 42.0)
    assert again.check().exact


@pytest.mark.parametrize("noise", NOISE)
def test_replacing_is_exact(noise, sqlite):
    rng = np.random.default_rng(3)
    plain, replaced = (
        begun(sqlite, name, **{"b": None, "sigma": None, "policy": "auto"} | NOISE[noise]) for name in ("one", "two")
    )
    for _ in range(4):
        for campaign in (plain, replaced):
            campaign.split()
        ticket, final = plain.period, dict(zip(ARMS, rng.normal(30, 8, 3).round(2).tolist()))
        for part in (0.1, 0.3, 0.55):
            so_far = {arm: round(part * value, 2) for arm, value in final.items()}
            replaced.record(ticket, so_far, {"search": 3.0 + part}, provisional=True, confirm=True)
        replaced.record(ticket, final, {"search": 29.0}, confirm=True)
        plain.record(ticket, final, {"search": 29.0}, confirm=True)
    one, two = (json.loads(campaign.state().partition("\n")[2]) for campaign in (plain, replaced))
    # One sum can be written as parts in several ways: what it is, the beliefs below say to the last bit.
    assert {name for name in one if one[name] != two[name]} <= {"statistics"}
    assert dict(plain.beliefs()) == dict(replaced.beliefs())
    assert plain.status().to_dict() | {"campaign": "", "events": 0} == replaced.status().to_dict() | {
        "campaign": "", "events": 0,
    }  # fmt: skip
    assert replaced.check().exact


def test_what_is_final_stays_so_and_nothing_happens_twice(ads):
    ticket = ads.split().ticket
    ads.record(ticket, {"search": 10.0})
    with pytest.raises(ap.Conflict, match=r"Ticket 1 already has an outcome of 10 .* use `amend` to correct it"):
        ads.record(ticket, {"search": 11.0, "social": 3.0}, provisional=True)
    assert states(ads, ticket)["social"] == (None, "open")
    version = ads.version
    ads.record(ticket, {"search": 10.0}, provisional=True)
    assert ads.version == version
    ads.record(ticket, {"search": 10.0, "social": 3.0}, provisional=True)
    assert states(ads, ticket) == {
        "search": (10.0, "recorded"),
        "social": (3.0, "provisional"),
        "video": (None, "open"),
    }
    assert ads.events()[-1].payload == {"outcomes": {"social": 3.0}, "provisional": True}
    ads.record(ticket, {"social": 3.0}, provisional=True)
    assert ads.version == version + 1
    with pytest.raises(
        ap.InvalidValue, match="outcome of 'video'` must be a number where it is provisional; got None"
    ):
        ads.record(ticket, {"video": None}, provisional=True)
    with pytest.raises(ap.InvalidValue, match="`provisional` must be"):
        ads.record(ticket, {"video": 1.0}, provisional="yes")
    with pytest.raises(ap.Conflict, match="cannot be cancelled"):
        ads.cancel(ticket)
    assert ads.version == version + 1


def test_amend_and_close_make_it_final(ads):
    first, second = ads.split().ticket, ads.split().ticket
    ads.record(first, {"search": 10.0, "social": 3.0}, provisional=True)
    ads.amend(first, {"search": 12.0})
    assert states(ads, first)["search"] == (12.0, "amended")
    ads.close(first)
    assert states(ads, first) == {
        "search": (12.0, "amended"),
        "social": (3.0, "recorded"),
        "video": (None, "no data"),
    }
    ads.record(second, {"search": 1.0}, provisional=True, key="k")
    ads.record(second, {"search": 1.0}, provisional=True, key="k")
    with pytest.raises(ap.Conflict, match="key 'k' was used before"):
        ads.record(second, {"search": 1.0}, key="k")
    assert ads.status().provisional_tickets == (second,)
    assert ads.check().exact


def test_a_part_of_an_outcome_is_no_slip_but_ten_times_too_much_is(ads):
    for value in (30.0, 31.0, 29.0, 30.5, 28.0):
        ads.record(ads.split().ticket, dict.fromkeys(ARMS, value))
    ticket = ads.split().ticket
    ads.record(ticket, {"search": 0.5}, provisional=True)
    ads.record(ticket, {"social": 29.0})  # what waits beside it is not held against it
    with pytest.raises(ap.Unconfirmed):
        ads.record(ticket, {"search": 400.0}, provisional=True)
    with pytest.raises(ap.Unconfirmed):
        ads.record(ticket, {"search": 0.5})  # as a final one it is far too little
    assert states(ads, ticket)["search"] == (0.5, "provisional")
    assert ads.check().exact


def test_the_health_check_waits_for_final_results(ads):
    for value in range(20):
        ads.record(ads.split().ticket, {arm: 30.0 + value % 3 + index for index, arm in enumerate(ARMS)})
    before = ads.status().health.to_dict()
    ads.record(ads.split().ticket, dict.fromkeys(ARMS, 0.01), provisional=True)
    assert [finding["kind"] for finding in ads.status().health.to_dict()["findings"]] == [
        finding["kind"] for finding in before["findings"]
    ]


def test_exports_hold_it_and_come_back(ads, sqlite):
    ticket = ads.split().ticket
    ads.record(ticket, {"search": 10.0}, provisional=True)
    assert "1," in export_csv(ads)
    assert [row.split(",")[6] for row in export_csv(ads).splitlines()[1:]] == ["provisional", "open", "open"]
    for number, (write, read) in enumerate(((export_json, restore_json), (export_log, restore_log))):
        back = read(write(ads), db=sqlite, name=f"back {number}")
        assert back.status().provisional_tickets == (ticket,)
        back.record(ticket, {"search": 11.0})
        assert states(back, ticket)["search"] == (11.0, "recorded")


def test_in_memory_too():
    allocator, plain = (ap.Allocator(ap.Uniform(), ARMS, seed=1, b=0.5, sigma=1.0) for _ in range(2))
    for each in (allocator, plain):
        each.ask(90)
    allocator.tell(1, dict.fromkeys(ARMS, 3.0), provisional=True)
    assert allocator.open_tickets == (1,)
    allocator = ap.Allocator.from_json(allocator.to_json())
    allocator.tell(1, dict.fromkeys(ARMS, 8.0))
    plain.tell(1, dict.fromkeys(ARMS, 8.0))
    assert allocator.to_json() == plain.to_json()
    assert not math.isnan(allocator.beliefs()["search"].mean)


def test_on_the_command_line(ads, sqlite):
    db = str(sqlite)
    ads.split()
    done = run("record", "ads", "search=10", "--provisional", "--db", db)
    assert (done.code, done.out.strip()) == (0, "Recorded as provisional: ticket 1. Still open: 1.")
    assert "provisional" in run("history", "ads", "--db", db).out
    assert "so far search 10" in run("history", "ads", "--log", "--db", db).out
    assert "Provisional: the totals so far of ticket 1" in run("status", "ads", "--db", db).out
    assert json.loads(run("status", "ads", "--json", "--db", db).out)["provisional_tickets"] == [1]
    assert run("record", "ads", "search=12", "social=3", "video=none", "--db", db).code == 0
    assert ads.open_tickets == ()
    refused = run("record", "ads", "--ticket", "1", "search=none", "--provisional", "--db", db)
    assert (refused.code, refused.out) == (2, "")
