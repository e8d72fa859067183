"""The contract of stores: whatever database holds the campaigns, these checks pass.

Each check takes `db`, a URL or file that `Campaign.create` accepts, and makes campaigns of its own in it.
"""

import os
import threading
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from apportion.allocation.allocator import Allocator
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.files import export_json, restore_json
from apportion.campaigns.state import resolution_of
from apportion.campaigns.storage.store import open_store
from apportion.errors import ApportionError, Conflict, UnknownName
from apportion.policies import find_policy
from apportion.testing.policies import ContractBroken

ARMS = ("search", "social", "video")

Database = str | os.PathLike[str]


def new_campaign(db: Database, **options: Any) -> Campaign:
    """A campaign with a name of its own."""
    given: dict[str, Any] = {"budget": 100.0, "b": 0.75, "sigma": 2.0, "seed": 7, **options}
    return Campaign.create(f"check {uuid.uuid4().hex[:12]}", given.pop("arms", ARMS), db=db, **given)


def reopened(campaign: Campaign, db: Database) -> Campaign:
    """The same campaign as another process would find it: nothing of it in memory."""
    open_store(db).shared.clear()
    return Campaign.open(campaign.name, db=db)


def use_every_verb(campaign: Any, rounds: int = 40, seed: int = 1, allocator: bool = False) -> None:
    """Use every verb over many periods; on a `Campaign`, or the same on an `Allocator`."""
    rng = np.random.Generator(np.random.PCG64(seed))
    split = campaign.ask if allocator else campaign.split
    record = campaign.tell if allocator else campaign.record
    confirmed: dict[str, Any] = {} if allocator else {"confirm": True}  # what is drawn at random may be far off
    recorded: list[tuple[int, str]] = []
    for number in range(rounds):
        if number == 8:
            campaign.add_arm("radio", 0.05, 0.5)
        if number == 12:
            campaign.pause_arm("social")
        if number == 18:
            campaign.resume_arm("social")
        if number == 20:
            campaign.bound_arm("video", 0.1, 0.6)
        if number == 30:
            campaign.remove_arm("search")
        amounts = split(float(rng.integers(50, 500)))
        for name, amount in amounts.amounts.items():
            if amount > 0 and rng.random() < 0.8:
                outcome = None if rng.random() < 0.1 else float(amount * rng.random())
                spent = {name: amount * 1.25} if rng.random() < 0.2 else None
                if number % 5 == 3:  # a total so far, which leaves no trace
                    record(amounts.ticket, {name: amount / 8.0}, provisional=True, **confirmed)
                record(amounts.ticket, {name: outcome}, spent, **confirmed)
                recorded.append((amounts.ticket, name))
        if rng.random() < 0.3 and recorded:
            ticket, name = recorded[int(rng.integers(len(recorded)))]
            campaign.amend(ticket, {name: float(rng.random())}, **confirmed)


def check_a_campaign_is_reopened_exactly(db: Database) -> None:
    """What another process opens is the same to the last bit, the random generator included."""
    campaign = new_campaign(db, b=0.3, step=1.0)
    use_every_verb(campaign)
    state = campaign.state()
    _require(reopened(campaign, db).state() == state, "a campaign must be reopened exactly as it was left")
    one = campaign.split().amounts
    _require(sum(one.values()) == 100.0, "a split must add up to the budget")


def check_the_state_follows_from_the_events(db: Database) -> None:
    """Rebuilt from the first event on, nothing differs by a bit."""
    campaign = new_campaign(db)
    use_every_verb(campaign, rounds=60)
    campaign.change(budget=250, sigma=3.0)
    campaign.change(b=0.6, half_life=30.0)
    campaign.change(policy="SuccessiveElimination", horizon=500)
    more_splits = [campaign.split() for _ in range(5)]
    campaign.record(more_splits[0].ticket, dict.fromkeys(more_splits[0].amounts, 1.0))
    found = campaign.check()
    _require(found.ok and found.exact, f"events and snapshots must agree: {found.message}")
    state = campaign.state()
    with open_store(db).writing() as session:
        session.drop_snapshots(campaign._id)
    _require(reopened(campaign, db).state() == state, "the state must follow from the events alone")


def check_a_campaign_decides_as_its_allocator(db: Database) -> None:
    """The same verbs on an Allocator in memory give the same splits and the same statistics."""
    policy = find_policy("Auto")(b=0.75, sigma=2.0)  # type: ignore[call-arg]
    campaign = new_campaign(db)
    twin = Allocator(policy, ARMS, seed=7, growth=campaign.settings.growth, resolution=resolution_of(campaign.unit))
    use_every_verb(campaign)
    use_every_verb(twin, allocator=True)
    _require(dict(campaign.split(120.0).amounts) == dict(twin.ask(120.0).amounts), "it must split as its Allocator")
    ours, theirs = campaign.beliefs(), twin.beliefs()
    _require(all(ours[name] == theirs[name] for name in twin.arms), "it must believe what its Allocator believes")


def check_events_are_only_ever_added(db: Database) -> None:
    """Numbers without gaps; what was written once is there for ever, unchanged."""
    campaign = new_campaign(db)
    earlier: list[Any] = []
    for _ in range(3):
        split = campaign.split()
        campaign.record(split.ticket, {"search": 1.0})
        campaign.amend(split.ticket, {"search": 2.0})
        events = campaign.events()
        _require(events[: len(earlier)] == earlier, "an event must never change")
        earlier = events
    _require(
        [event.number for event in events] == list(range(1, len(events) + 1)), "events must be numbered from 1 on"
    )
    old = [event.payload["old"]["outcomes"] for event in events if event.kind == "amended"]
    _require(old == [{"search": 1.0}] * 3, "an amendment must keep the old value")


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
    _require((campaign.state(), campaign.version) == (state, version), "what is refused must change nothing")
    _require(reopened(campaign, db).state() == state, "what is refused must change nothing, also on disk")


def check_a_key_is_done_once(db: Database) -> None:
    """A write that is sent again with its key gives the same answer and is done once."""
    campaign = new_campaign(db, b=0.3)
    first = campaign.split(key="k1")
    campaign.record(first.ticket, {"search": 1.0}, key="k2")
    again = reopened(campaign, db).split(key="k1")
    campaign.record(first.ticket, {"search": 1.0}, key="k2")
    _require(again.ticket == first.ticket, "the same key must give the same ticket")
    _require(dict(again.amounts) == dict(first.amounts), "the same key must give the same amounts")
    _require(dict(again.reasons) == dict(first.reasons), "the same key must give the same reasons")
    _require(campaign.version == 3, "the same key must be written once")
    _refused(Conflict, lambda: campaign.record(first.ticket, {"social": 1.0}, key="k1"))


def check_a_failed_write_leaves_no_trace(db: Database) -> None:
    """A block of verbs is stored as a whole, or not at all."""
    campaign = new_campaign(db)
    campaign.split()
    state = campaign.state()

    def half() -> None:
        with campaign.together():
            campaign.split()
            campaign.record(1, {"search": 5.0})
            campaign.record(1, {"search": 6.0})

    _refused(Conflict, half)
    _require(campaign.state() == state, "a failed write must leave no trace in memory")
    _require(reopened(campaign, db).state() == state, "a failed write must leave no trace on disk")
    _require(campaign.split().ticket == 2, "the next write must work")


def check_names(db: Database) -> None:
    """A name is taken once; an unknown one is named with those there are."""
    campaign = new_campaign(db)
    _refused(Conflict, lambda: Campaign.create(campaign.name, ARMS, budget=1, db=db))
    _refused(UnknownName, lambda: Campaign.open("no such campaign", db=db))
    _require(campaign.name in Campaign.names(db), "a campaign must be listed")


def check_old_tickets_can_be_amended(db: Database) -> None:
    """However old a ticket is, its outcome can be corrected, and an open one can still be recorded."""
    campaign = new_campaign(db)
    with campaign.together():
        for _ in range(150):
            campaign.record(campaign.split().ticket, {"search": 10.0, "social": 20.0})
    again = reopened(campaign, db)
    again.amend(1, {"search": 30.0})
    again.record(1, {"video": 5.0})
    again.close(2)
    line = next(line for line in again.history(1, 1) if line.arm == "search")
    _require(line.outcome == 30.0 and line.corrections[0]["outcome"] == 10.0, "history must keep the old value")
    _require(again.open_tickets == tuple(range(3, 151)), "recorded and closed tickets must not be open")
    _require(again.check().exact, "the state must follow from the events")


def check_threads_do_not_lose_anything(db: Database) -> None:
    """Several threads with objects of their own: each ticket once, every outcome counted."""
    campaign, rounds, workers = new_campaign(db), 10, 4
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

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _require(not failures, f"no thread may fail: {failures[:1]}")
    _require(sorted(tickets) == list(range(1, workers * rounds + 1)), "each ticket must be given once")
    _require(campaign.version == 1 + 2 * workers * rounds and campaign.check().exact, "nothing may be lost")


def check_a_reader_does_not_wait_for_a_writer(db: Database) -> None:
    """While a write is not finished, a reader sees the state before it, at once."""
    campaign = new_campaign(db)
    campaign.split()
    store = open_store(db)
    found: list[tuple[int, int]] = []

    def read() -> None:
        mine = Campaign.open(campaign.name, db=db)
        found.append((mine.period, mine.version))

    with store.writing(campaign._id) as session:
        session.append(campaign._id, [campaign.events()[-1]._replace(number=3, ticket=2)])
        reader = threading.Thread(target=read)
        reader.start()
        reader.join(timeout=30)
        waiting = reader.is_alive()
    reader.join()
    _require(not waiting, "a reader must not wait for a writer")
    _require(found == [(1, 2)], "a reader must see only what is committed")
    _require(reopened(campaign, db).period == 2, "what a writer added must be there after its block")


def check_export_and_restore(db: Database) -> None:
    """Everything to JSON and back gives the same events and the same state."""
    campaign = new_campaign(db, b=0.3, step=1.0)
    use_every_verb(campaign)
    text = export_json(campaign)
    twin = restore_json(text, db=db, name=f"{campaign.name} again")
    _require(twin.events() == campaign.events(), "events must come back as they were")
    _require(twin.state() == campaign.state(), "the state must come back as it was")
    _require(twin.check().exact, "a restored campaign must pass its check")


# Every check above, in order: one more needs only its name.
STORE_CHECKS: tuple[Callable[[Database], None], ...] = tuple(
    check for name, check in globals().items() if name.startswith("check_")
)


def check_store(db: Database) -> None:
    """All checks, one after the other; `ContractBroken` at the first that fails."""
    for check in STORE_CHECKS:
        check(db)


def _require(condition: object, sentence: str) -> None:
    if not condition:
        raise ContractBroken(f"The contract of stores is broken: {sentence}.")


def _refused(kind: type[ApportionError], act: Callable[[], Any]) -> None:
    try:
        act()
    except kind:
        return
    raise ContractBroken(f"The contract of stores is broken: a {kind.__name__} must be raised.")
