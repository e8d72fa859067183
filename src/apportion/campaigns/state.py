"""The state of a campaign: what its events make of an Allocator and its settings, to the last bit."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, cast

from apportion._common import validation
from apportion._common.currencies import smallest_payment
from apportion.allocation.allocator import Allocator
from apportion.allocation.noise_levels import in_order, sigma_by_name
from apportion.allocation.outcomes import budget_amount
from apportion.allocation.past import past_for
from apportion.allocation.tickets import Ticket
from apportion.campaigns.events import KINDS, Event, intact, ticket_from_events
from apportion.campaigns.plausible import SeenOutcomes
from apportion.campaigns.settings import CHANGEABLE, RECOUNTS, SETTINGS, Settings
from apportion.campaigns.ticket_index import TicketIndex
from apportion.campaigns.totals import Totals
from apportion.errors import IncompatibleState, InvalidValue
from apportion.policies import Policy, Uniform, policy_from_dict
from apportion.policies.parameters import parameters_of
from apportion.policies.registry import choose_policy

FORMAT = "apportion.ledger"

NOISE = ("b", "sigma")  # the settings that a policy may be given, or learn
# The settings that are options of the allocator; the others are kept beside it.
ALLOCATOR_SETTINGS = frozenset(inspect.signature(Allocator).parameters) & SETTINGS.keys() - {"policy"}


def resolution_of(unit: str | None) -> float:
    """What the amounts of a new campaign are multiples of, where nobody gave a step: cents; 0 where it has none."""
    return smallest_payment(unit) or 0.0


class CampaignState:
    """The state of a campaign after `number` events: its allocator and settings. `apply` takes in the next one.

    Verbs are done on the allocator first and then written as an event; `apply` of that event on a copy from before
    gives the same state to the last bit, which `check` of a campaign proves.
    """

    def __init__(self, allocator: Allocator, tickets: TicketIndex, settings: dict[str, Any], number: int) -> None:
        self.allocator = allocator
        self.number = number
        self.at: str | None = None  # the moment of the last event; None where only its number is known
        self._settings = settings
        self.history: Callable[[int, int], list[Event]] | None = None
        """The events of a ticket up to an event number, from the database."""
        self.tickets = tickets
        tickets.fetch = self._fetch
        self.seen: SeenOutcomes | None = None
        """Between what the outcomes were; None where nobody asked."""
        self.totals: Totals | None = None
        """What was spent and came back; None where a snapshot of an earlier release does not say."""

    @classmethod
    def begin(cls, event: Event) -> CampaignState:
        """The state after the event `created`."""
        if event.kind != "created" or event.number != 1:
            raise IncompatibleState("The first event of a campaign must be its creation.")
        with intact(event.number):
            options = dict(event.payload["options"])
            policy = policy_from_dict(options.pop("policy"))
            tickets = TicketIndex()
            allocator = Allocator(policy, options.pop("arms"), **options, tickets=tickets)
            begun = cls(allocator, tickets, dict(event.payload["settings"]), 1)
            if not validation.is_number(begun._settings["budget"]):
                raise ValueError("its budget is no number")
        begun.at, begun.totals = event.at, Totals()
        return begun

    @property
    def settings_budget(self) -> float:
        """The budget of a split that names none."""
        return float(self._settings["budget"])

    @property
    def settings_unit(self) -> str | None:
        """What the budget is counted in."""
        return cast("str | None", self._settings["unit"])

    @property
    def settings(self) -> Settings:
        """All of them, as they are now."""
        own, policy, found = self.allocator, self.allocator.policy.to_dict(), self.allocator.learned
        b, sigma = own.b if found is None else found.b, own.sigma
        if sigma is None and found is not None and not math.isnan(found.sigma):
            sigma = found.sigma
        plain = {
            name: getattr(own, name) if name in ALLOCATOR_SETTINGS else self._settings.get(name, setting.default)
            for name, setting in SETTINGS.items()
            if not setting.part_of
        }
        derived = {
            "policy": policy["name"], "parameters": policy["parameters"], "b": b, "sigma": sigma,
            "assumed": tuple(self._settings["assumed"]),
        }  # fmt: skip
        return Settings(**{**plain, **derived})

    @property
    def name(self) -> str | None:
        """The name that the campaign was given later; None where it has the one that it began with."""
        return cast("str | None", self._settings.get("name"))

    @name.setter
    def name(self, name: str) -> None:
        """Call it so."""
        self._settings["name"] = name

    @property
    def archived(self) -> bool:
        """Whether it is put away."""
        return bool(self._settings.get("archived", False))

    @archived.setter
    def archived(self, put_away: bool) -> None:
        """Put it away, or take it out again."""
        self._settings["archived"] = put_away

    # Events

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        if event.number != self.number + 1:
            raise IncompatibleState(f"Event {self.number + 1} of this campaign is missing.")
        with intact(event.number):
            self._apply(event)
        self.count(event)

    def count(self, event: Event) -> None:
        """Take note of an event whose change the state already has."""
        self.number, self.at = event.number, event.at
        if self.totals is not None and not self.totals.take(event, self.history):
            self.totals = None
        if self.seen is not None:
            if event.kind == "outcome" and event.ticket is not None and not event.payload.get("provisional"):
                amounts, indices = self.tickets.find(event.ticket).amounts.tolist(), self.allocator.indices
                for name, outcome in event.payload["outcomes"].items():
                    if outcome is not None:
                        self.seen.add(name, outcome, amounts[indices[name]])
            elif event.kind in ("amended", "cancelled"):
                self.seen = None

    def _apply(self, event: Event) -> None:
        payload = event.payload
        if event.kind == "split":
            ticket = self.allocator.commit(self.allocator.decision_from(payload))
            if ticket != event.ticket:
                raise IncompatibleState(f"Event {event.number} issues ticket {event.ticket}; due was {ticket}.")
        elif event.kind in ("outcome", "amended"):
            if event.ticket is None:
                raise IncompatibleState(f"Event {event.number} names no ticket.")
            given = event.ticket, payload["outcomes"], payload.get("amounts")
            if event.kind == "outcome":
                self.allocator.tell(*given, provisional=payload.get("provisional", False))
            else:
                self.allocator.amend(*given)
        elif event.kind == "arm":
            options = (payload.get(name) for name in ("minimum", "maximum", "sigma"))
            self.change_arm(payload["action"], payload["arm"], *options)
        elif event.kind == "setting":
            self.change(payload["changes"])
        elif event.kind == "cancelled":
            self.allocator.cancel(cast("int", event.ticket))
        elif event.kind == "renamed":
            self.name = payload["name"]
        elif event.kind in ("archived", "unarchived"):
            self.archived = event.kind == "archived"
        elif event.kind not in KINDS:
            unknown = f"Event {event.number} is of a kind that this release does not know: {event.kind}."
            raise IncompatibleState(unknown)

    def change_arm(
        self,
        action: str,
        arm: str,
        minimum: float | None = None,
        maximum: float | None = None,
        sigma: float | None = None,
    ) -> None:
        """Add, pause, resume, remove or bound an arm."""
        own = self.allocator
        if action == "add":
            own.add_arm(arm, 0.0 if minimum is None else minimum, 1.0 if maximum is None else maximum, sigma)
        elif action == "bound":
            own.bound_arm(arm, minimum, maximum)
        else:
            verbs = {"pause": own.pause_arm, "resume": own.resume_arm, "remove": own.remove_arm}
            verbs[validation.choice("action", action, ("add", "bound", *verbs))](arm)

    def change_settings(self, changes: Mapping[str, Any]) -> dict[str, Any] | None:
        """Take in settings as a person gives them; the payload of the event, or None where nothing changed."""
        old, policy_before, before = self.settings, self.allocator.policy.to_state(), self._saved()
        wanted = dict(changes)
        if {"policy", "c", *NOISE} & set(wanted):
            wanted["policy"] = self._policy_for(wanted, old).to_state()
        self.change(wanted)
        if self.settings == old and self.allocator.policy.to_state() == policy_before:
            self._go_back(before)  # sums that were counted anew may be written otherwise, and no event says so
            return None
        own = self.allocator
        # As they were taken in: plain numbers for the log, whatever kind of number was given.
        now = {**self.settings._asdict(), "policy": wanted.get("policy"), "b": own.given_b, "sigma": own.sigma}
        return {
            "changes": {name: None if value is None else now[name] for name, value in wanted.items()},
            "old": {name: policy_before if name == "policy" else getattr(old, name) for name in wanted},
        }

    def _policy_for(self, wanted: Mapping[str, Any], old: Settings) -> Policy:
        """The policy that is asked for, or today's, with the b, c and sigma that are given now or were before."""
        policy, names = wanted.get("policy"), tuple(self.allocator.indices)
        given = {
            name: wanted.get(name, getattr(old, name)) for name in NOISE if name in wanted or name not in old.assumed
        }
        given["c"] = wanted.get("c", self.allocator.given_c)
        if "sigma" in given:
            given["sigma"] = in_order(sigma_by_name(given["sigma"], names), names)
        if policy is None:
            current = self.allocator.policy
            changed = {name: given[name] for name in (*NOISE, "c") if name in wanted and name in current.parameters}
            if changed.get("c", ...) is None:  # learned again, or as in the paper
                changed["c"] = next(each.default for each in parameters_of(type(current)) if each.name == "c")
            policy = type(current)(**{**current.parameters, **changed})
        chosen, _ = choose_policy(policy, **given)
        if isinstance(policy, str):  # a policy that is given whole brings its own c
            past_for(chosen, len(names), c=given["c"])
        return chosen

    def change(self, changes: Mapping[str, Any]) -> None:
        """Take in changed settings, all of them or none."""
        before = self._saved()
        try:
            self._change(changes)
        except Exception:
            self._go_back(before)
            raise

    def _saved(self) -> tuple[str, dict[str, Any]]:
        return self.text(), dict(self._settings)

    def _go_back(self, saved: tuple[str, dict[str, Any]]) -> None:
        """Be again as it was when that was saved."""
        restored = CampaignState.from_text(saved[0], self.number)
        restored.tickets.fetch = self._fetch
        self.allocator, self.tickets, self._settings = restored.allocator, restored.tickets, saved[1]

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
                own.replace_policy(policy_from_dict(changes[name]))
            elif name not in ALLOCATOR_SETTINGS:
                self._settings[name] = SETTINGS[name].check(changes[name])
                if name == "unit" and own.resolution is not None:  # it was begun by a release that has one
                    own.set_option("resolution", resolution_of(self._settings[name]))
            elif name not in RECOUNTS:
                own.set_option(name, SETTINGS[name].check(changes[name]))
        held = {} if own.learns else {"b": own.given_b, "c": getattr(own.policy, "c", own.given_c)}
        b, c = (changes.get(name, held.get(name)) for name in ("b", "c"))
        wanted_past = past_for(own.policy, len(own.indices), b=b, c=c)
        if set(RECOUNTS) & set(changes) or (wanted_past.b, wanted_past.c) != own.exponents:
            wanted = {name: changes.get(name, getattr(own, name)) for name in RECOUNTS if name not in ("b", "c")}
            # A window and a half-life exclude each other: the one that is given now takes the other's place.
            for given, other in (("window", "half_life"), ("half_life", "window")):
                if changes.get(given) is not None and other not in changes:
                    wanted[other] = None
            own.recount(b, c, **wanted)
        own.prepare()
        still = [name for name in self._settings["assumed"] if name not in changes]
        # What is taken back is not known any more: it is learned again.
        gone = [name for name in NOISE if own.learns and changes.get(name, ...) is None]
        self._settings["assumed"] = sorted({*still, *gone})

    def _fetch(self, ticket: int) -> Ticket:
        if self.history is None:
            raise InvalidValue("The campaign's database is not at hand.")
        return ticket_from_events(ticket, self.history(ticket, self.number), self.allocator.indices)

    # State

    def text(self) -> str:
        """The whole state as text, to the last bit."""
        return json.dumps({"format": FORMAT, "settings": self._settings}) + "\n" + self.allocator.to_json()

    def snapshot(self) -> str:
        """`text`, and in a third line the totals: to begin from, without all that was before."""
        return self.text() if self.totals is None else f"{self.text()}\n{self.totals.text()}"

    def text_for(self, b: float, c: float | None = None) -> str:
        """`text` as it were for a policy that was given this b and c, all outcomes counted again."""
        other = CampaignState.from_text(self.text(), self.number)
        other.history = self.history
        other._change({"policy": Uniform().to_dict(), "b": b, **({} if c is None else {"c": c})})
        return other.text()

    @classmethod
    def from_text(cls, text: str, number: int) -> CampaignState:
        """The state that `text` wrote after that many events."""
        head, _, rest = text.partition("\n")
        body, _, totals = rest.partition("\n")
        try:
            settings = json.loads(head)
            if not isinstance(settings, dict) or settings.get("format") != FORMAT:
                raise ValueError(f"its format is not {FORMAT}")
            known = Totals.from_text(totals) if totals else None
        except (ValueError, AttributeError, TypeError) as error:
            raise IncompatibleState("A snapshot in the database is damaged.") from error
        tickets = TicketIndex()
        found = cls(Allocator.from_json(body, tickets.load), tickets, settings["settings"], number)
        found.totals = known
        return found
