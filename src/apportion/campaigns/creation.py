"""How a campaign begins: its name, the event of its creation, and a log of events taken in whole."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from apportion._common import validation
from apportion._version import __version__
from apportion.allocation.allocator import Allocator
from apportion.allocation.feasible import amounts as feasible_amounts
from apportion.allocation.noise_levels import in_order, sigma_by_name
from apportion.allocation.outcomes import budget_amount
from apportion.allocation.saved_state import LARGEST_SEED
from apportion.campaigns.bounds import shares_of
from apportion.campaigns.events import DAMAGE, Event, new_event
from apportion.campaigns.settings import SETTINGS
from apportion.campaigns.state import ALLOCATOR_SETTINGS, CampaignState, resolution_of
from apportion.campaigns.storage.session import event_rows
from apportion.campaigns.storage.store import Store
from apportion.errors import ApportionError, IncompatibleState
from apportion.policies.registry import choose_policy

BOUNDS = ("minimum", "maximum", "pinned")
LONGEST_NAME = 200  # characters of a name, of a campaign or a new arm
MOST_ARMS = 10_000  # of a new campaign: pages, files and answers hold them all


def campaign_name(name: Any) -> str:
    """A campaign's name, checked: it ends up in addresses and file names."""
    if (
        not isinstance(name, str)
        or not 1 <= len(name) <= LONGEST_NAME
        or name != name.strip()
        or not name.isprintable()
        or set(name) & set("/\\")
        or name in (".", "..")
    ):
        allowed = f"a printable name of at most {LONGEST_NAME} characters without / or \\"
        raise validation.refuse("name", allowed, name)
    return name


def new_arm_name(label: str, name: Any) -> Any:
    """The name of an arm that is new. Those of older releases may be longer: they had no limit."""
    if isinstance(name, str) and len(name) > LONGEST_NAME:
        raise validation.refuse(label, f"names of at most {LONGEST_NAME} characters", name)
    return name


def most_arms(count: int) -> None:
    """Refuse more arms than a campaign can have. Those of older releases may have more: there was no limit."""
    if count > MOST_ARMS:
        raise validation.refuse("arms", f"at most {MOST_ARMS:,} names", f"{count:,}")


def divisible_budget(budget: Any, step: float | None) -> float:
    """A campaign's budget, checked; one that is no multiple of the step could never be split."""
    amount = budget_amount(budget)
    size = 0.0 if step is None else validation.number("step", step, low=0.0)
    if size > 0.0:  # refused as every split would be
        feasible_amounts([1.0], amount, step=size, rng=np.random.default_rng(0))
    return amount


def creation_payload(arms: Iterable[str], given: dict[str, Any]) -> dict[str, Any]:
    """What the event `created` holds: the options of the allocator, the settings beside it, this release."""
    budget = divisible_budget(given["budget"], None)
    given = given | {name: shares_of(given[name], name, budget, given["unit"]) for name in BOUNDS}
    names = tuple(new_arm_name("arms", arm) for arm in validation.arm_names("arms", arms))
    most_arms(len(names))
    sigma = in_order(sigma_by_name(given["sigma"], names), names)
    if validation.is_number(given["seed"]) and given["seed"] > LARGEST_SEED:
        raise validation.refuse("seed", f"a whole number of at most {LARGEST_SEED:,}", given["seed"])
    policy, assumed = choose_policy(given["policy"], given["b"], sigma, c=given["c"])
    allocator = Allocator(policy, names, **{name: given[name] for name in ALLOCATOR_SETTINGS})
    allocator.require_split(budget_amount(given["budget"]))
    held = [name for name, setting in SETTINGS.items() if name != "policy" and not setting.part_of]
    options = {
        "policy": policy.to_state(),
        "arms": list(names),
        "minimum": {arm.name: arm.minimum for arm in allocator.all_arms if arm.minimum > 0.0},
        "maximum": {arm.name: arm.maximum for arm in allocator.all_arms if arm.maximum < 1.0},
        **{name: getattr(allocator, name) for name in held if name in ALLOCATOR_SETTINGS},
        "b": allocator.given_b,
        "c": given["c"],
        "resolution": resolution_of(given["unit"]),
    }
    settings = {name: given[name] for name in held if name not in ALLOCATOR_SETTINGS}
    settings |= {"budget": divisible_budget(given["budget"], allocator.step), "assumed": list(assumed)}
    return {"options": options, "settings": settings, "program": __version__}


def add_campaign(store: Store, name: str, events: list[Event], outside: EventCheck | None = None) -> int:
    """A new campaign of that name with these events, which must begin with its creation: its id in the store.

    `outside`: what events are held to that do not come from a campaign of this database.
    """
    title = campaign_name(name)
    state = _rebuilt(events, outside)
    if state.name is not None and state.name != title:  # it was renamed in its first life
        payload = {"name": title, "old": state.name}
        events = [*events, new_event(state.number + 1, "renamed", payload)]
        state.apply(events[-1])
    rows, snapshot = event_rows(0, "", events), state.snapshot()  # before anybody has to wait
    with store.writing() as session:
        identity = session.add_campaign(title, events[0].at)
        for row in rows:
            row["campaign"] = identity
        session.append(identity, events, rows)
        session.save_snapshot(identity, state.number, snapshot)
    return identity


class EventCheck(Protocol):
    """Refuses events that no campaign could have: before each is applied, and all of them at the end."""

    def check(self, state: CampaignState | None, event: Event) -> None:
        """Called with the state before an event, None before the first."""

    def finish(self, state: CampaignState, events: list[Event]) -> None:
        """Called with the state after the last."""


def _rebuilt(events: list[Event], outside: EventCheck | None) -> CampaignState:
    """The state after these events."""
    by_ticket: dict[int | None, list[Event]] = {}
    for event in events:
        by_ticket.setdefault(event.ticket, []).append(event)
    state: CampaignState | None = None
    for event in events:
        with contextlib.nullcontext() if outside is None else _refused_at(event.number):
            if outside is not None:
                outside.check(state, event)
            if state is None:
                state = CampaignState.begin(event)
                state.history = lambda ticket, upto: [e for e in by_ticket.get(ticket, []) if e.number <= upto]
            else:
                state.apply(event)
    if state is None:
        raise IncompatibleState("A campaign must have at least one event.")
    if outside is not None:
        with _refused_at(len(events)):
            outside.finish(state, events)
    return state


@contextlib.contextmanager
def _refused_at(number: int) -> Iterator[None]:
    """Around an event from outside: whatever is wrong with it, the log is refused, and the event is named."""
    try:
        yield
    except (ApportionError, *DAMAGE) as error:
        why = f"{error} is missing." if isinstance(error, KeyError) else " ".join(str(error).split())
        raise IncompatibleState(f"The exported campaign is damaged at event {number}: {why}") from error
