"""Events from outside, held to what their verbs would have let through: nothing else becomes a campaign."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from apportion._common import validation
from apportion.campaigns.creation import campaign_name, divisible_budget, most_arms
from apportion.campaigns.events import Event
from apportion.campaigns.history import lines
from apportion.campaigns.settings import SETTINGS
from apportion.campaigns.state import ALLOCATOR_SETTINGS, NOISE, CampaignState
from apportion.campaigns.status import status_of
from apportion.campaigns.totals import Totals
from apportion.errors import ApportionError, IncompatibleState, InvalidValue

BESIDE = {
    name for name, setting in SETTINGS.items()
    if not setting.part_of and name != "policy" and name not in ALLOCATOR_SETTINGS
}  # fmt: skip
"""The settings that are kept beside the allocator."""


class Restoring:
    """A log on its way into the database: `check` each event before it is applied, `finish` after the last."""

    def __init__(self) -> None:
        self._imported = 0  # splits that an import brought, and of which no event said so yet
        self._imports: set[int] = set()

    def check(self, state: CampaignState | None, event: Event) -> None:
        """Refuse an event that its verb would not have written on a campaign in this state; None before the first."""
        payload = event.payload
        if state is None:
            _require_creation(payload)
            return
        allocator = state.allocator
        if event.kind == "created":
            raise IncompatibleState("a campaign is created once.")
        if event.kind == "split":
            total = math.fsum(payload["amounts"].values())
            if not math.isclose(total, payload["budget"], rel_tol=1e-12):
                raise IncompatibleState(f"its amounts add up to {total!r}, its budget is {payload['budget']!r}.")
            for share in (*payload["shares"], *payload.get("wanted", ())):
                validation.number("share", share, low=-1e-9, high=1.0 + 1e-9)
            self._imported += payload.get("source") == "import"
        elif event.kind == "arm" and payload["action"] == "add":
            if payload["arm"] not in allocator.indices:
                most_arms(len(allocator.indices) + 1)
        elif event.kind == "setting":
            for name in payload.get("old", {}):
                validation.choice("setting", name, tuple(SETTINGS))
        elif event.kind == "imported":
            validation.whole("tickets", payload["tickets"], low=0, high=self._imported)
            self._imports.add(event.number)
        elif event.kind in ("undone", "cancelled"):
            number = payload.get("event", payload.get("import"))
            if event.kind == "undone" and number not in self._imports:
                raise IncompatibleState(f"event {validation.shown(number)} is no import.")
        elif event.kind == "renamed":
            campaign_name(payload["name"])
        elif event.kind == "forecast":
            _require_forecast(payload, allocator.indices)

    def finish(self, state: CampaignState, events: list[Event]) -> None:
        """Ask of the campaign what every page asks: what fails there would fail for good."""
        by_ticket: dict[int, list[Event]] = {}
        for event in events:
            if event.ticket is not None:
                by_ticket.setdefault(event.ticket, []).append(event)
        in_order = [event for ticket in sorted(by_ticket) for event in by_ticket[ticket]]
        lines(in_order)
        status_of("restored", state, state.allocator.beliefs(), math.nan, Totals.of(in_order)).to_dict()
        if CampaignState.from_text(state.text(), state.number).text() != state.text():
            raise IncompatibleState("the state that they lead to cannot be kept.")
        try:
            decision = state.allocator.decide(state.settings_budget)
        except ApportionError:  # every arm is paused, say
            return
        state.allocator.explain(decision)


def _require_forecast(payload: dict[str, Any], known: Mapping[str, int]) -> None:
    """Refuse a forecast without a policy, and one whose periods are not all of the same arms of the campaign."""
    if not payload["prospects"]:
        raise IncompatibleState("its `prospects` are of no policy.")
    listed = {tuple(arm["arm"] for arm in period.get("arms", ())) for period in payload.get("calendar", ())}
    if len(listed) > 1 or not set().union(*listed) <= known.keys():
        raise IncompatibleState("the periods of its `calendar` must be of the same arms, those of the campaign.")


def _require_creation(payload: dict[str, Any]) -> None:
    """Refuse options and settings that `Campaign.create` would not take."""
    options, settings = payload["options"], payload["settings"]
    most_arms(len(validation.arm_names("arms", options["arms"])))
    validation.whole("seed", options["seed"], low=0)
    for name in ("budget", "unit", "assumed"):  # every release wrote these; the others have defaults
        if name not in settings:
            raise InvalidValue(f"the setting `{name}` must be given.")
    divisible_budget(settings["budget"], options.get("step"))
    for name, value in settings.items():
        if name == "assumed":
            for each in value:
                validation.choice("assumed", each, NOISE)
        else:
            validation.choice("setting", name, tuple(BESIDE))
            SETTINGS[name].check(value)
