"""The Allocator of a campaign: the same verbs, each with the event that repeats it exactly."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from apportion._common import validation
from apportion.allocation.allocator import Allocator, kept_for
from apportion.allocation.outcomes import budget_amount, told_amounts
from apportion.allocation.rng_state import generator_from, generator_state
from apportion.allocation.split import Split
from apportion.allocation.tickets import Ticket
from apportion.campaigns.events import Event, intact, told_ticket
from apportion.campaigns.settings import CHANGEABLE, RECOUNTS, SETTINGS, Settings
from apportion.campaigns.ticket_index import Shelf
from apportion.errors import IncompatibleState, InvalidValue
from apportion.model.trimmed_mean import new_past
from apportion.policies import Uniform, policy_from_dict

FORMAT = "apportion.ledger"

Payload = dict[str, Any]


# The settings that are options of the allocator; the others are kept beside it.
ALLOCATOR_SETTINGS = frozenset(inspect.signature(Allocator).parameters) & SETTINGS.keys() - {"policy"}


class BookedAllocator(Allocator):
    """An Allocator whose tickets are in a database, and that can repeat a split without deciding again."""

    _Tickets = Shelf

    @property
    def shelf(self) -> Shelf:
        """Which tickets are open."""
        return cast(Shelf, self._tickets)

    @property
    def places(self) -> Mapping[str, int]:
        """Where each arm stands, removed ones too."""
        return self._roster._places

    @property
    def roster(self) -> list[dict[str, Any]]:
        """Every arm there ever was: name, state, minimum, maximum."""
        return self._roster.to_list()

    def reissue(self, payload: Payload) -> int:
        """Take in a split exactly as it was issued, whatever the policy would say today."""
        sound = (
            payload["width"] == len(self._memory)
            and len(payload["shares"]) == len(payload["amounts"])
            and math.isclose(math.fsum(payload["amounts"].values()), payload["budget"], rel_tol=1e-9)
        )
        if not sound:
            raise IncompatibleState("A split in the log contradicts itself.")
        amounts = np.zeros(len(self._memory))
        places = self.places
        amounts[[places[name] for name in payload["amounts"]]] = told_amounts(payload["amounts"])
        if self._unit is None:
            self._unit = budget_amount(payload["budget"])
        self._past.advance()
        if "memory" in payload:
            memory = np.array(payload["memory"], dtype=np.float64)
            if memory.shape != self._memory.shape:
                raise IncompatibleState("A split in the log contradicts itself.")
            self._memory = memory
        if "generator" in payload:
            self._rng = generator_from(payload["generator"])
        return self._tickets.issue(amounts)

    def ask_booked(self, budget: float) -> tuple[Split, Payload]:
        """`ask`, and what `reissue` needs to repeat it."""
        memory, position = self._memory, self._rng.bit_generator.state
        split = self.ask(budget)
        payload: Payload = {
            "budget": split.budget,
            "amounts": dict(split.amounts),
            "shares": list(split.shares.values()),
            "width": len(self._memory),
        }
        if split._wanted is not split._shares:
            payload["wanted"] = split._wanted.tolist()
        if self._rng.bit_generator.state != position:
            payload["generator"] = generator_state(self._rng)
        if not np.array_equal(memory, self._memory, equal_nan=True):
            payload["memory"] = [value if math.isfinite(value) else str(value) for value in self._memory.tolist()]
        return split, payload

    def retold(self, ticket: int, payload: Payload) -> Split:
        """The split of a ticket once more, from the state before it and the payload of its event."""
        names = tuple(payload["amounts"])
        places = [self.places[name] for name in names]
        memory = np.array(payload["memory"], dtype=np.float64) if "memory" in payload else self._memory
        beliefs = self._believe(names, self._past.sums(), places)
        shares = np.array(payload["shares"], dtype=np.float64)
        wanted = np.array(payload["wanted"], dtype=np.float64) if "wanted" in payload else shares
        amounts = np.array(list(payload["amounts"].values()), dtype=np.float64)
        return Split(ticket, payload["budget"], names, shares, amounts, wanted, self.policy, memory[places], beliefs)

    def restate(
        self, tickets: Callable[[int], Ticket], b: Any, half_life: float | None, window: int | None, robust: bool
    ) -> None:
        """Count everything that was ever told anew, for another b or another way to count."""
        past = new_past(self._past.arms, b, half_life, window, robust)
        for number in range(1, self.period + 1):
            past.advance()
            held = tickets(number)
            told = np.where(held.told, held.outcomes, math.nan)
            past.update(self._wide(held.amounts), self._gain(told), number)
        self._past = past

    def set(self, name: str, value: Any) -> None:
        """Change one setting that needs no counting anew; checked as at the beginning."""
        if name == "policy":
            self._memory = value.initial_memory(len(self._memory))
            old, self.policy, self._records = self.policy, value, {}
            try:
                self._record(len(self._memory))
            except Exception:
                self.policy = old
                raise
            if self._learns or self.sigma is None:  # an assumed σ must not stand in the way of learning it
                self.sigma = getattr(value, "sigma", None)
        else:
            setattr(self, name, SETTINGS[name].check(value))
            self._records = {}


class Ledger:
    """The state of a campaign after `number` events: its allocator and settings. `apply` takes in the next one.

    Verbs are done on the allocator first and then written as an event; `apply` of that event on a copy from before
    gives the same state to the last bit, which `check` of a campaign proves.
    """

    def __init__(self, allocator: BookedAllocator, settings: dict[str, Any], number: int) -> None:
        self.allocator = allocator
        self.number = number
        self.at: str | None = None
        """The moment of the last event; None where only its number is known."""
        self._settings = settings
        self.history: Callable[[int, int], list[Event]] | None = None
        """The events of a ticket up to an event number, from the database."""
        allocator.shelf.fetch = self._fetch

    @classmethod
    def begin(cls, event: Event) -> Ledger:
        """The state after the event `created`."""
        if event.kind != "created" or event.number != 1:
            raise IncompatibleState("The first event of a campaign must be its creation.")
        with intact(event.number):
            options = dict(event.payload["options"])
            policy = policy_from_dict(options.pop("policy"))
            begun = cls(BookedAllocator(policy, options.pop("arms"), **options), dict(event.payload["settings"]), 1)
        begun.at = event.at
        return begun

    @property
    def settings_budget(self) -> float:
        """The budget of a split that names none."""
        return float(self._settings["budget"])

    @property
    def settings_unit(self) -> str | None:
        """What the budget is counted in."""
        unit: str | None = self._settings["unit"]
        return unit

    @property
    def settings(self) -> Settings:
        """All of them, as they are now."""
        own, policy, found = self.allocator, self.allocator.policy.to_dict(), self.allocator.learned
        b, sigma = (own.b, own.sigma) if found is None else (found.b, found.sigma)
        sigma = None if sigma is None or math.isnan(sigma) else sigma
        kept = {
            name: getattr(own, name) if name in ALLOCATOR_SETTINGS else self._settings.get(name, setting.default)
            for name, setting in SETTINGS.items()
            if not setting.part_of
        }
        derived = {
            "policy": policy["name"], "parameters": policy["parameters"], "b": b, "sigma": sigma,
            "assumed": tuple(self._settings["assumed"]),
        }  # fmt: skip
        return Settings(**{**kept, **derived})

    # Events

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        if event.number != self.number + 1:
            raise IncompatibleState(f"Event {self.number + 1} of this campaign is missing.")
        with intact(event.number):
            self._apply(event)
        self.number, self.at = event.number, event.at

    def _apply(self, event: Event) -> None:
        payload = event.payload
        if event.kind == "split":
            ticket = self.allocator.reissue(payload)
            if ticket != event.ticket:
                raise IncompatibleState(f"Event {event.number} issues ticket {event.ticket}; due was {ticket}.")
        elif event.kind == "outcome":
            self.allocator.tell(_ticket(event), payload["outcomes"], payload.get("amounts"))
        elif event.kind == "amended":
            self.allocator.amend(_ticket(event), payload["outcomes"], payload.get("amounts"))
        elif event.kind == "arm":
            self.change_arm(payload["action"], payload["arm"], payload.get("minimum"), payload.get("maximum"))
        elif event.kind == "setting":
            self.change(payload["changes"])
        elif event.kind != "imported":
            raise IncompatibleState(
                f"Event {event.number} is of a kind that this release does not know: {event.kind}."
            )

    def change_arm(self, action: str, arm: str, minimum: float | None = None, maximum: float | None = None) -> None:
        """Add, pause, resume, remove or bound an arm."""
        own = self.allocator
        if action == "add":
            own.add_arm(arm, 0.0 if minimum is None else minimum, 1.0 if maximum is None else maximum)
        elif action == "bound":
            own.bound_arm(arm, minimum, maximum)
        else:
            verbs = {"pause": own.pause_arm, "resume": own.resume_arm, "remove": own.remove_arm}
            verbs[validation.choice("action", action, ("add", "bound", *verbs))](arm)

    def change(self, changes: Mapping[str, Any]) -> None:
        """Take in changed settings, all of them or none."""
        before, settings = self.text(), dict(self._settings)
        try:
            self._change(changes)
        except Exception:
            restored = Ledger.from_text(before, self.number)
            restored.allocator.shelf.fetch = self._fetch
            self.allocator, self._settings = restored.allocator, settings
            raise

    def _change(self, changes: Mapping[str, Any]) -> None:
        own = self.allocator
        for name in changes:
            validation.choice("setting", name, tuple(CHANGEABLE))
        # A horizon first, as the policy may need it; then the policy, as it may bring a σ that another one replaces.
        first = [name for name in ("horizon", "policy") if name in changes]
        for name in dict.fromkeys((*first, *changes)):
            if name == "budget":
                self._settings[name] = budget_amount(changes[name])
            elif name == "policy":
                own.set(name, policy_from_dict(changes[name]))
            elif name not in ALLOCATOR_SETTINGS:
                self._settings[name] = SETTINGS[name].check(changes[name])
            elif name not in RECOUNTS:
                own.set(name, changes[name])
        kept = own._past.b if isinstance(own._past.b, float) and not own._learns else None
        orders = kept_for(own.policy, changes.get("b", kept))
        if set(RECOUNTS) & set(changes) or orders != own._past.b:
            wanted = {name: changes.get(name, getattr(own, name)) for name in RECOUNTS if name != "b"}
            wanted["b"] = orders
            # A window and a half-life exclude each other: the one that is given now takes the other's place.
            for given, other in (("window", "half_life"), ("half_life", "window")):
                if changes.get(given) is not None and other not in changes:
                    wanted[other] = None
            own.restate(own.shelf.find, **wanted)
        own._record(len(own._memory))
        still = [name for name in self._settings["assumed"] if name not in changes]
        # What is taken back is not known any more: it is learned again.
        gone = [name for name in ("b", "sigma") if own._learns and changes.get(name, ...) is None]
        self._settings["assumed"] = sorted({*still, *gone})

    def _fetch(self, ticket: int) -> Ticket:
        if self.history is None:
            raise InvalidValue("The campaign's database is not at hand.")
        return told_ticket(ticket, self.history(ticket, self.number), self.allocator.places)

    # State

    def text(self) -> str:
        """The whole state as text, to the last bit."""
        return json.dumps({"format": FORMAT, "settings": self._settings}) + "\n" + self.allocator.to_json()

    def text_for(self, b: float) -> str:
        """`text` as it were for a policy that was told this b, everything counted anew."""
        other = Ledger.from_text(self.text(), self.number)
        other.history = self.history
        other._change({"policy": Uniform().to_dict(), "b": b})
        return other.text()

    @classmethod
    def from_text(cls, text: str, number: int) -> Ledger:
        """The ledger that `text` wrote after that many events."""
        head, _, body = text.partition("\n")
        try:
            settings = json.loads(head)
        except ValueError as error:
            raise IncompatibleState("A snapshot in the database is damaged.") from error
        if not isinstance(settings, dict) or settings.get("format") != FORMAT:
            raise IncompatibleState("A snapshot in the database is damaged.")
        return cls(BookedAllocator.from_json(body), settings["settings"], number)


def _ticket(event: Event) -> int:
    if event.ticket is None:
        raise IncompatibleState(f"Event {event.number} names no ticket.")
    return event.ticket
