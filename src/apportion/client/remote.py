"""A campaign in a service, with the verbs of `Campaign`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self, Unpack

from apportion._common import tables, validation
from apportion._common.dates import period_date
from apportion._common.tables import Source
from apportion.allocation.arms import Arm, by_name
from apportion.allocation.beliefs import Beliefs
from apportion.allocation.outcomes import Amounts, Outcomes
from apportion.allocation.split import Split
from apportion.campaigns.bounds import Bound
from apportion.campaigns.calendar import Budgets, as_typed, calendar_of
from apportion.campaigns.check import Check
from apportion.campaigns.creation import campaign_name
from apportion.campaigns.events import Event
from apportion.campaigns.forecast import Forecast
from apportion.campaigns.history import History, Line
from apportion.campaigns.importing import Imported
from apportion.campaigns.past_forecasts import PastForecasts
from apportion.campaigns.plan import Plan
from apportion.campaigns.protocol import CampaignVerbs, Key
from apportion.campaigns.settings import ChangedSettings, Settings
from apportion.campaigns.status import Status
from apportion.campaigns.undo import ImportRecord, UndoneImport
from apportion.client import rebuild
from apportion.client.transport import Transport
from apportion.policies import Policy

PAGE = 500  # how many tickets or events are asked for at once


class RemoteCampaign(CampaignVerbs):
    """A campaign in a service: the verbs of `Campaign`, the same answers and the same errors.

    Every write is sent under a key, yours or one made for it: where the connection breaks, it is sent again and done
    once. What needs the database at hand is not here: `together` (several verbs as one write), `replay` and `state`.
    """

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = campaign_name(name)
        self._transport = transport

    def __repr__(self) -> str:
        return f"Client({self._transport.url!r}).campaign({self.name!r})"

    # Splits, outcomes, arms, settings, files

    def split(self, budget: float | None = None, *, date: str | None = None, key: Key = None) -> Split:
        content: dict[str, Any] = {} if budget is None else {"budget": budget}
        if date is not None:  # not sent where there is none: older services refuse it
            content["date"] = period_date(date)
        return rebuild.RemoteSplit(self._write("POST", "splits", content=content, key=key))

    def record(
        self,
        ticket: int,
        outcomes: Outcomes,
        amounts: Amounts | None = None,
        *,
        provisional: bool = False,
        confirm: bool = False,
        key: Key = None,
    ) -> None:
        content = _outcomes(outcomes, amounts, confirm)
        if validation.flag("provisional", provisional):  # not sent where it is not: older services refuse it
            content["provisional"] = True
        self._write("POST", "splits", ticket, "outcomes", content=content, key=key)

    def amend(
        self,
        ticket: int,
        outcomes: Outcomes,
        amounts: Amounts | None = None,
        *,
        confirm: bool = False,
        key: Key = None,
    ) -> None:
        self._write("PATCH", "splits", ticket, "outcomes", content=_outcomes(outcomes, amounts, confirm), key=key)

    def cancel(self, ticket: int, *, key: Key = None) -> None:
        self._write("POST", "splits", ticket, "cancel", key=key)

    def close(self, ticket: int, *, key: Key = None) -> None:
        self._write("POST", "splits", ticket, "close", key=key)

    def _change_arm(
        self,
        action: str,
        arm: str,
        minimum: Bound | None = None,
        maximum: Bound | None = None,
        key: Key = None,
        sigma: float | None = None,
    ) -> None:
        bounds = {"minimum": minimum, "maximum": maximum}
        given = {name: value for name, value in bounds.items() if value is not None}
        if action == "add":
            level = (
                {} if sigma is None else {"sigma": sigma}
            )  # not sent where there is none: older services refuse it
            self._write("POST", "arms", content={"name": arm, **bounds, **level}, key=key)
        elif action == "remove":
            self._write("DELETE", "arms", arm, key=key)
        else:
            self._write("PATCH", "arms", arm, content={"action": action, **given}, key=key)

    def change(self, *, key: Key = None, **changes: Unpack[ChangedSettings]) -> Settings:
        wanted: dict[str, Any] = {**changes}
        policy = wanted.pop("policy", None)
        if policy is not None:
            wanted["policy"] = policy_content(policy)
        return rebuild.settings(self._write("PATCH", "settings", content=wanted, key=key))

    def import_history(
        self, path: Source, *, add_arms: bool = False, again: bool = False, key: Key = None,
        **columns: str | int | None,
    ) -> Imported:  # fmt: skip
        file = tables.read_content(path)
        known = {"date": "date_column", "arm": "arm_column", "amount": "amount_column", "outcome": "outcome_column"}
        for option in columns:
            validation.choice("column", option, (*known, "period", "decimal", "delimiter", "sheet"))
        query = {known.get(option, option): str(value) for option, value in columns.items() if value is not None}
        query |= {"file": file.name[:200], "add_arms": _flag(add_arms), "again": _flag(again)}
        done = self._write(
            "POST", "import", content=file.content, key=key, query=query, media_type="application/octet-stream"
        )
        return rebuild.record(Imported, done)

    def imports(self) -> tuple[ImportRecord, ...]:
        return tuple(rebuild.record(ImportRecord, row) for row in self._read("imports")["imports"])

    def undo_import(self, event: int | None = None, *, key: Key = None) -> UndoneImport:
        which = () if event is None else (validation.whole("event", event, low=1),)
        return rebuild.record(UndoneImport, self._write("POST", "imports", *which, "undo", key=key))

    # The campaign as a whole

    def rename(self, name: str, *, key: Key = None) -> None:
        self.name = self._write("POST", "rename", content={"name": name}, key=key)["campaign"]

    def archive(self, *, key: Key = None) -> None:
        self._write("POST", "archive", key=key)

    def unarchive(self, *, key: Key = None) -> None:
        self._write("POST", "unarchive", key=key)

    def clone(self, name: str, *, history: bool = True, key: Key = None) -> Self:
        made = self._write("POST", "clone", content={"name": name, "history": history}, key=key)
        return type(self)(self._transport, made["campaign"])

    def delete(self, confirm: str) -> None:
        self._write("DELETE", query={"confirm": confirm})

    # Reading

    @property
    def settings(self) -> Settings:
        return rebuild.settings(self._read("settings"))

    @property
    def arms(self) -> tuple[Arm, ...]:
        return tuple(rebuild.record(Arm, arm) for arm in self._read("arms")["arms"])

    def beliefs(self, at: int | None = None) -> Beliefs:
        return rebuild.RemoteBeliefs(
            self._read("beliefs", at=None if at is None else validation.whole("at", at, low=1))
        )

    def beliefs_over_time(self, every: int = 1) -> list[tuple[int, Beliefs]]:
        content = self._read("beliefs", "over-time", every=validation.whole("every", every, low=1))
        return [(moment["period"], rebuild.RemoteBeliefs(moment)) for moment in content["moments"]]

    def explain(self, ticket: int) -> Split:
        return rebuild.RemoteSplit(self._read("splits", ticket))

    def status(self, *, health: bool = True) -> Status:
        return rebuild.status(self._read(**({} if health else {"health": "false"})))

    def history(self, first: int | None = None, last: int | None = None) -> History:
        low = 1 if first is None else validation.whole("first", first, low=1)
        high = 2**62 if last is None else validation.whole("last", last, low=low)
        found = []
        for line in self._pages("history", "lines", low - 1, None if last is None else high - low + 1):
            if line["ticket"] > high:
                break
            found.append(rebuild.record(Line, line))
        return History(self.name, found)

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        return [rebuild.record(Event, event) for event in self._pages("events", "events", after, limit)]

    def check(self, repair: bool = False) -> Check:
        return rebuild.record(Check, self._write("POST", "repair") if repair else self._read("check"))

    def plan(self, budget: float | None = None, *, target: float | None = None, goal: float | None = None) -> Plan:
        return rebuild.plan(self._read("plan", budget=budget, target=target, goal=goal))

    def forecast(
        self,
        *,
        periods: int | None = None,
        budgets: Budgets | None = None,
        worlds: int = 24,
        policies: Sequence[str] | None = None,
        seed: int = 0,
        keep: bool = True,
        key: Key = None,
    ) -> Forecast:
        content: dict[str, Any] = {"worlds": worlds, "seed": seed}
        if policies is not None:
            content["policies"] = _names("policies", policies)
        if periods is not None:
            content["periods"] = periods
        if budgets is not None:
            calendar = calendar_of(budgets, periods, math.nan)
            content["budgets"] = [period._asdict() for period in calendar]
        if validation.flag("keep", keep):
            return rebuild.forecast(self._write("POST", "forecasts", content=content, key=key))
        if "policies" in content:
            content["policies"] = ",".join(content["policies"])
        if "budgets" in content:
            content["budgets"] = "; ".join(as_typed(period) for period in calendar)
        return rebuild.forecast(self._read("forecast", **content))

    def forecasts(self) -> PastForecasts:
        return rebuild.past_forecasts(self._read("forecasts"))

    def export(self, kind: str = "json") -> str:
        chosen = validation.choice("kind", kind, ("csv", "json", "log"))
        return self._transport.read_text("campaigns", self.name, "export", format=chosen)

    # The service

    def _read(self, *path: object, **query: Any) -> Any:
        return self._transport.read("campaigns", self.name, *map(str, path), **query)

    def _write(self, method: str, *path: object, **given: Any) -> Any:
        return self._transport.write(method, "campaigns", self.name, *map(str, path), **given)

    def _pages(self, path: str, within: str, after: int, limit: int | None) -> Iterator[dict[str, Any]]:
        """Everything after a number, page by page, at most `limit` tickets or events."""
        start: int | None = validation.whole("after", after, low=0)
        left = None if limit is None else validation.whole("limit", limit)
        while start is not None and (left is None or left > 0):
            size = PAGE if left is None else min(PAGE, left)
            page = self._read(path, after=start, limit=size)
            yield from page[within]
            start = page["next"]
            left = None if left is None else left - size


def policy_content(policy: Any) -> Any:
    """A policy as the service takes it: its name, or its name and parameters.

    >>> from apportion.policies import Odds
    >>> policy_content(Odds(b=0.25, floor=0.01))["parameters"]["floor"]
    0.01
    """
    if isinstance(policy, Policy):
        return policy.to_dict()
    if not isinstance(policy, str):
        raise validation.refuse("policy", "a policy or the name of one", policy)
    return policy


def _names(label: str, given: Any) -> list[str]:
    """A list of names; a single text is none, although it could be taken for a list of letters."""
    if not isinstance(given, str) and isinstance(given, Iterable):
        names = list(given)
        if all(isinstance(name, str) for name in names):
            return names
    raise validation.refuse(label, "a list of names", given)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _outcomes(outcomes: Any, amounts: Any, confirm: bool) -> dict[str, Any]:
    content: dict[str, Any] = {"outcomes": by_name("outcomes", outcomes)}
    if validation.flag("confirm", confirm):
        content["confirm"] = True
    return content if amounts is None else {**content, "amounts": by_name("amounts", amounts)}
