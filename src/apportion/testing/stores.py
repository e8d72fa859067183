"""The conformance suite of stores: whatever database campaigns are kept in, these promises hold.

Each check takes `db`, a URL or file that `Campaign.create` accepts, and makes campaigns of its own in it.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from apportion.allocation.allocator import Allocator
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.files import export_json, restore_json
from apportion.campaigns.storage.store import open_store
from apportion.errors import ApportionError, Conflict, UnknownName
from apportion.policies import find_policy
from apportion.testing.policies import ContractBroken

ARMS = ("search", "social", "video")

Database = str | os.PathLike[str]


def check_store(db: Database) -> None:
    """All checks, one after the other; `ContractBroken` at the first promise that is not kept."""
    for check in STORE_CHECKS:
        check(db)


def new_campaign(db: Database, **options: Any) -> Campaign:
    """A campaign with a name of its own."""
    given: dict[str, Any] = {"budget": 100.0, "b": 0.75, "sigma": 2.0, "seed": 7, **options}
    return Campaign.create(f"check {uuid.uuid4().hex[:12]}", given.pop("arms", ARMS), db=db, **given)


def reopened(campaign: Campaign, db: Database) -> Campaign:
    """The same campaign as another process would find it: nothing of it in memory."""
    open_store(db).shared.clear()
    return Campaign.open(campaign.name, db=db)


def walk(campaign: Any, rounds: int = 40, seed: int = 1, allocator: bool = False) -> None:
    """Use every verb in a life of many periods; on a `Campaign`, or the same on an `Allocator`."""
    rng = np.random.Generator(np.random.PCG64(seed))
    split = campaign.ask if allocator else campaign.split
    record = campaign.tell if allocator else campaign.record
    told: list[tuple[int, str]] = []
    for turn in range(rounds):
        if turn == 8:
            campaign.add_arm("radio", 0.05, 0.5)
        if turn == 12:
            campaign.pause_arm("social")
        if turn == 18:
            campaign.resume_arm("social")
        if turn == 20:
            campaign.bound_arm("video", 0.1, 0.6)
        if turn == 30:
            campaign.remove_arm("search")
        amounts = split(float(rng.integers(50, 500)))
        for name, amount in amounts.amounts.items():
            if amount > 0 and rng.random() < 0.8:
                outcome = None if rng.random() < 0.1 else float(amount * rng.random())
                spent = {name: amount * 1.25} if rng.random() < 0.2 else None
                record(amounts.ticket, {name: outcome}, spent)
                told.append((amounts.ticket, name))
        if rng.random() < 0.3 and told:
            ticket, name = told[int(rng.integers(len(told)))]
            campaign.amend(ticket, {name: float(rng.random())})


def check_a_campaign_is_found_again_exactly(db: Database) -> None:
    """What another process opens is the same to the last bit, the dice included."""
    campaign = new_campaign(db, b=0.3, step=1.0)
    walk(campaign)
    state = campaign.state()
    _promise(reopened(campaign, db).state() == state, "a campaign must be found again exactly as it was left")
    one = campaign.split().amounts
    _promise(sum(one.values()) == 100.0, "a split must add up to the budget")


def check_the_state_follows_from_the_events(db: Database) -> None:
    """Rebuilt from the first event on, nothing differs by a bit."""
    campaign = new_campaign(db)
    walk(campaign, rounds=60)
    campaign.change(budget=250, sigma=3.0)
    campaign.change(b=0.6, half_life=30.0)
    campaign.change(policy="SuccessiveElimination", horizon=500)
    walk_on = [campaign.split() for _ in range(5)]
    campaign.record(walk_on[0].ticket, dict.fromkeys(walk_on[0].amounts, 1.0))
    found = campaign.check()
    _promise(found.ok and found.exact, f"events and snapshots must agree: {found.message}")
    state = campaign.state()
    with open_store(db).writing() as session:
        session.drop_snapshots(campaign._id)
    _promise(reopened(campaign, db).state() == state, "the state must follow from the events alone")


def check_a_campaign_is_an_allocator(db: Database) -> None:
    """The same verbs on an Allocator in memory give the same splits and the same statistics."""
    policy = find_policy("Auto")(b=0.75, sigma=2.0)  # type: ignore[call-arg]
    campaign, twin = new_campaign(db), Allocator(policy, ARMS, seed=7)
    walk(campaign)
    walk(twin, allocator=True)
    _promise(dict(campaign.split(120.0).amounts) == dict(twin.ask(120.0).amounts), "it must split as its Allocator")
    ours, theirs = campaign.beliefs(), twin.beliefs()
    _promise(all(ours[name] == theirs[name] for name in twin.arms), "it must believe what its Allocator believes")


def check_events_are_only_ever_added(db: Database) -> None:
    """Numbers without gaps; what was written once is there for ever, unchanged."""
    campaign = new_campaign(db)
    seen: list[Any] = []
    for _ in range(3):
        split = campaign.split()
        campaign.record(split.ticket, {"search": 1.0})
        campaign.amend(split.ticket, {"search": 2.0})
        events = campaign.events()
        _promise(events[: len(seen)] == seen, "an event must never change")
        seen = events
    _promise([event.number for event in seen] == list(range(1, len(seen) + 1)), "events must be numbered from 1 on")
    old = [event.payload["old"]["outcomes"] for event in seen if event.kind == "amended"]
    _promise(old == [{"search": 1.0}] * 3, "an amendment must keep the old value")


def check_an_outcome_counts_once(db: Database) -> None:
    """The same again changes nothing; another value is refused and changes nothing."""
    campaign = new_campaign(db)
    ticket = campaign.split().ticket
    campaign.record(ticket, {"search": 60.0})
    state, version = campaign.state(), campaign.version
    campaign.record(ticket, {"search": 60.0})
    _refused(Conflict, lambda: campaign.record(ticket, {"search": 61.0}))
    _refused(UnknownName, lambda: campaign.record(ticket + 1, {"search": 61.0}))
    _refused(UnknownName, lambda: campaign.record(ticket, {"nobody": 61.0}))
    _promise((campaign.state(), campaign.version) == (state, version), "what is refused must change nothing")
    _promise(reopened(campaign, db).state() == state, "what is refused must change nothing, also on disk")


def check_a_key_is_done_once(db: Database) -> None:
    """A write that is sent again with its key gives the same answer and is done once."""
    campaign = new_campaign(db, b=0.3)
    first = campaign.split(key="k1")
    campaign.record(first.ticket, {"search": 1.0}, key="k2")
    again = reopened(campaign, db).split(key="k1")
    campaign.record(first.ticket, {"search": 1.0}, key="k2")
    _promise(again.ticket == first.ticket, "the same key must give the same ticket")
    _promise(dict(again.amounts) == dict(first.amounts), "the same key must give the same amounts")
    _promise(dict(again.reasons) == dict(first.reasons), "the same key must give the same reasons")
    _promise(campaign.version == 3, "the same key must be written once")
    _refused(Conflict, lambda: campaign.record(first.ticket, {"social": 1.0}, key="k1"))


def check_a_failed_write_leaves_no_trace(db: Database) -> None:
    """A block of verbs is kept as a whole, or not at all."""
    campaign = new_campaign(db)
    campaign.split()
    state = campaign.state()

    def half() -> None:
        with campaign.together():
            campaign.split()
            campaign.record(1, {"search": 5.0})
            campaign.record(1, {"search": 6.0})

    _refused(Conflict, half)
    _promise(campaign.state() == state, "a failed write must leave no trace in memory")
    _promise(reopened(campaign, db).state() == state, "a failed write must leave no trace on disk")
    _promise(campaign.split().ticket == 2, "the next write must work")


def check_names(db: Database) -> None:
    """A name is taken once; an unknown one is named with those there are."""
    campaign = new_campaign(db)
    _refused(Conflict, lambda: Campaign.create(campaign.name, ARMS, budget=1, db=db))
    _refused(UnknownName, lambda: Campaign.open("no such campaign", db=db))
    _promise(campaign.name in Campaign.names(db), "a campaign must be listed")


def check_old_tickets_can_be_amended(db: Database) -> None:
    """However old a ticket is, its outcome can be corrected, and an open one can come home."""
    campaign = new_campaign(db)
    with campaign.together():
        for _ in range(150):
            campaign.record(campaign.split().ticket, {"search": 10.0, "social": 20.0})
    again = reopened(campaign, db)
    again.amend(1, {"search": 30.0})
    again.record(1, {"video": 5.0})
    again.close(2)
    line = next(line for line in again.history(1, 1) if line.arm == "search")
    _promise(line.outcome == 30.0 and line.corrections[0]["outcome"] == 10.0, "history must keep the old value")
    _promise(again.open_tickets == tuple(range(3, 151)), "told and closed tickets must not be open")
    _promise(again.check().exact, "the state must follow from the events")


def check_threads_do_not_lose_anything(db: Database) -> None:
    """Several threads with campaigns of their own making: each ticket once, every outcome counted."""
    campaign, rounds, crew = new_campaign(db), 10, 4
    tickets: list[int] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            mine = Campaign.open(campaign.name, db=db)
            for _ in range(rounds):
                split = mine.split()
                tickets.append(split.ticket)
                mine.record(split.ticket, dict.fromkeys(split.amounts, 1.0))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(crew)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _promise(not failures, f"no thread may fail: {failures[:1]}")
    _promise(sorted(tickets) == list(range(1, crew * rounds + 1)), "each ticket must be given once")
    _promise(campaign.version == 1 + 2 * crew * rounds and campaign.check().exact, "nothing may be lost")


def check_a_reader_does_not_wait_for_a_writer(db: Database) -> None:
    """While a write is not finished, a reader sees the state before it, at once."""
    campaign = new_campaign(db)
    campaign.split()
    store = open_store(db)
    answers: list[tuple[int, int]] = []

    def look() -> None:
        mine = Campaign.open(campaign.name, db=db)
        answers.append((mine.period, mine.version))

    with store.writing(campaign._id) as session:
        session.append(campaign._id, [campaign.events()[-1]._replace(number=3, ticket=2)])
        reader = threading.Thread(target=look)
        reader.start()
        reader.join(timeout=30)
        waiting = reader.is_alive()
    reader.join()
    _promise(not waiting, "a reader must not wait for a writer")
    _promise(answers == [(1, 2)], "a reader must see only what is kept")
    _promise(reopened(campaign, db).period == 2, "what a writer added must be there after its block")


def check_export_and_restore(db: Database) -> None:
    """Everything to JSON and back gives the same events and the same state."""
    campaign = new_campaign(db, b=0.3, step=1.0)
    walk(campaign)
    text = export_json(campaign)
    twin = restore_json(text, db=db, name=f"{campaign.name} again")
    _promise(twin.events() == campaign.events(), "events must come back as they were")
    _promise(twin.state() == campaign.state(), "the state must come back as it was")
    _promise(twin.check().exact, "a restored campaign must pass its check")


STORE_CHECKS: tuple[Callable[[Database], None], ...] = (
    check_a_campaign_is_found_again_exactly,
    check_the_state_follows_from_the_events,
    check_a_campaign_is_an_allocator,
    check_events_are_only_ever_added,
    check_an_outcome_counts_once,
    check_a_key_is_done_once,
    check_a_failed_write_leaves_no_trace,
    check_names,
    check_old_tickets_can_be_amended,
    check_threads_do_not_lose_anything,
    check_a_reader_does_not_wait_for_a_writer,
    check_export_and_restore,
)


def _promise(kept: object, sentence: str) -> None:
    if not kept:
        raise ContractBroken(f"Broken promise: {sentence}.")


def _refused(kind: type[ApportionError], act: Callable[[], Any]) -> None:
    try:
        act()
    except kind:
        return
    raise ContractBroken(f"Broken promise: a {kind.__name__} was due.")
