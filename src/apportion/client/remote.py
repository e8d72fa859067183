"""A campaign in a service: each verb is written once, as a coroutine; `blocking` runs them for those who wait."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack, cast

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


Given = ParamSpec("Given")
Result = TypeVar("Result")


def awaited(
    verb: Callable[Concatenate[Any, Given], Result],
) -> Callable[Concatenate[AsyncCampaign, Given], Coroutine[Any, Any, Result]]:
    """A verb that gives what another one gives: to be awaited where that one is."""
    return cast("Callable[Concatenate[AsyncCampaign, Given], Coroutine[Any, Any, Result]]", verb)


def describe(cls: type[Any]) -> None:
    """Give the verbs of a class the words of the protocol."""
    for name, agreed in vars(CampaignVerbs).items():
        own = vars(cls).get(name)
        if own is not None and not own.__doc__ and agreed.__doc__:
            own.__doc__ = agreed.__doc__


class Calls:
    """What both kinds of campaigns in a service have: a name, and a way to ask."""

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = campaign_name(name)
        self._transport = transport

    async def _read(self, *path: object, **query: Any) -> Any:
        return await self._transport.read("campaigns", self.name, *map(str, path), **query)

    async def _write(self, method: str, *path: object, **given: Any) -> Any:
        return await self._transport.write(method, "campaigns", self.name, *map(str, path), **given)

    async def _pages(self, path: str, within: str, after: int, limit: int | None) -> list[dict[str, Any]]:
        """Everything after a number, asked for page by page, at most `limit` tickets or events."""
        start: int | None = validation.whole("after", after, low=0)
        left = None if limit is None else validation.whole("limit", limit)
        found: list[dict[str, Any]] = []
        while start is not None and (left is None or left > 0):
            size = PAGE if left is None else min(PAGE, left)
            page = await self._read(path, after=start, limit=size)
            found += page[within]
            start = page["next"]
            left = None if left is None else left - size
        return found


class AsyncCampaign(Calls):
    """A campaign in a service, for coroutines: the verbs of `Campaign`, the same answers and errors, awaited.

    What is a property there is awaited here: `await campaign.arms`. Every write is sent under a key, yours or one
    made for it: where the connection breaks, it is sent again and done once.
    """

    def __repr__(self) -> str:
        return f"AsyncClient({self._transport.url!r}).campaign({self.name!r})"

    # Splits, outcomes, arms, settings, files

    async def split(self, budget: float | None = None, *, date: str | None = None, key: Key = None) -> Split:
        content: dict[str, Any] = {} if budget is None else {"budget": budget}
        if date is not None:  # not sent where there is none: older services refuse it
            content["date"] = period_date(date)
        return rebuild.RemoteSplit(await self._write("POST", "splits", content=content, key=key))

    async def record(
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
        await self._write("POST", "splits", ticket, "outcomes", content=content, key=key)

    async def amend(
        self,
        ticket: int,
        outcomes: Outcomes,
        amounts: Amounts | None = None,
        *,
        confirm: bool = False,
        key: Key = None,
    ) -> None:
        await self._write(
            "PATCH", "splits", ticket, "outcomes", content=_outcomes(outcomes, amounts, confirm), key=key
        )

    async def cancel(self, ticket: int, *, key: Key = None) -> None:
        await self._write("POST", "splits", ticket, "cancel", key=key)

    async def close(self, ticket: int, *, key: Key = None) -> None:
        await self._write("POST", "splits", ticket, "close", key=key)

    async def _change_arm(
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
            await self._write("POST", "arms", content={"name": arm, **bounds, **level}, key=key)
        elif action == "remove":
            await self._write("DELETE", "arms", arm, key=key)
        else:
            await self._write("PATCH", "arms", arm, content={"action": action, **given}, key=key)

    # Each is said by `_change_arm` in the protocol, and so it is to be awaited here.
    add_arm = awaited(CampaignVerbs.add_arm)
    pause_arm = awaited(CampaignVerbs.pause_arm)
    resume_arm = awaited(CampaignVerbs.resume_arm)
    remove_arm = awaited(CampaignVerbs.remove_arm)
    bound_arm = awaited(CampaignVerbs.bound_arm)

    async def change(self, *, key: Key = None, **changes: Unpack[ChangedSettings]) -> Settings:
        wanted: dict[str, Any] = {**changes}
        policy = wanted.pop("policy", None)
        if policy is not None:
            wanted["policy"] = policy_content(policy)
        return rebuild.settings(await self._write("PATCH", "settings", content=wanted, key=key))

    async def import_history(
        self, path: Source, *, add_arms: bool = False, again: bool = False, key: Key = None,
        **columns: str | int | None,
    ) -> Imported:  # fmt: skip
        file = tables.read_content(path)
        known = {"date": "date_column", "arm": "arm_column", "amount": "amount_column", "outcome": "outcome_column"}
        for option in columns:
            validation.choice("column", option, (*known, "period", "decimal", "delimiter", "sheet"))
        query = {known.get(option, option): str(value) for option, value in columns.items() if value is not None}
        query |= {"file": file.name[:200], "add_arms": _flag(add_arms), "again": _flag(again)}
        done = await self._write(
            "POST", "import", content=file.content, key=key, query=query, media_type="application/octet-stream"
        )
        return rebuild.record(Imported, done)

    async def imports(self) -> tuple[ImportRecord, ...]:
        return tuple(rebuild.record(ImportRecord, row) for row in (await self._read("imports"))["imports"])

    async def undo_import(self, event: int | None = None, *, key: Key = None) -> UndoneImport:
        which = () if event is None else (validation.whole("event", event, low=1),)
        return rebuild.record(UndoneImport, await self._write("POST", "imports", *which, "undo", key=key))

    # The campaign as a whole

    async def rename(self, name: str, *, key: Key = None) -> None:
        self.name = (await self._write("POST", "rename", content={"name": name}, key=key))["campaign"]

    async def archive(self, *, key: Key = None) -> None:
        await self._write("POST", "archive", key=key)

    async def unarchive(self, *, key: Key = None) -> None:
        await self._write("POST", "unarchive", key=key)

    async def clone(self, name: str, *, history: bool = True, key: Key = None) -> Self:
        made = await self._write("POST", "clone", content={"name": name, "history": history}, key=key)
        return type(self)(self._transport, made["campaign"])

    async def delete(self, confirm: str) -> None:
        await self._write("DELETE", query={"confirm": confirm})

    # Reading

    @property
    async def unit(self) -> str | None:
        return (await self.settings).unit

    @property
    async def period(self) -> int:
        return (await self.status(health=False)).period

    @property
    async def version(self) -> int:
        return (await self.status(health=False)).version

    @property
    async def open_tickets(self) -> tuple[int, ...]:
        return (await self.status(health=False)).open_tickets

    async def expected_regret(self) -> float:
        return (await self.status(health=False)).expected_regret

    @property
    async def settings(self) -> Settings:
        return rebuild.settings(await self._read("settings"))

    @property
    async def arms(self) -> tuple[Arm, ...]:
        return tuple(rebuild.record(Arm, arm) for arm in (await self._read("arms"))["arms"])

    async def beliefs(self, at: int | None = None) -> Beliefs:
        return rebuild.RemoteBeliefs(
            await self._read("beliefs", at=None if at is None else validation.whole("at", at, low=1))
        )

    async def beliefs_over_time(self, every: int = 1) -> list[tuple[int, Beliefs]]:
        content = await self._read("beliefs", "over-time", every=validation.whole("every", every, low=1))
        return [(moment["period"], rebuild.RemoteBeliefs(moment)) for moment in content["moments"]]

    async def explain(self, ticket: int) -> Split:
        return rebuild.RemoteSplit(await self._read("splits", ticket))

    async def status(self, *, health: bool = True) -> Status:
        return rebuild.status(await self._read(**({} if health else {"health": "false"})))

    async def history(self, first: int | None = None, last: int | None = None) -> History:
        low = 1 if first is None else validation.whole("first", first, low=1)
        high = 2**62 if last is None else validation.whole("last", last, low=low)
        lines = await self._pages("history", "lines", low - 1, None if last is None else high - low + 1)
        found = [rebuild.record(Line, line) for line in lines if line["ticket"] <= high]
        return History(self.name, found)

    async def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        return [rebuild.record(Event, event) for event in await self._pages("events", "events", after, limit)]

    async def check(self, repair: bool = False, *, full: bool = False) -> Check:
        asked = {"full": "true"} if full else {}
        found = await self._write("POST", "repair") if repair else await self._read("check", **asked)
        return rebuild.record(Check, found)

    async def plan(
        self, budget: float | None = None, *, target: float | None = None, goal: float | None = None
    ) -> Plan:
        return rebuild.plan(await self._read("plan", budget=budget, target=target, goal=goal))

    async def forecast(
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
            return rebuild.forecast(await self._write("POST", "forecasts", content=content, key=key))
        if "policies" in content:
            content["policies"] = ",".join(content["policies"])
        if "budgets" in content:
            content["budgets"] = "; ".join(as_typed(period) for period in calendar)
        return rebuild.forecast(await self._read("forecast", **content))

    async def forecasts(self) -> PastForecasts:
        return rebuild.past_forecasts(await self._read("forecasts"))

    async def export(self, kind: str = "json") -> str:
        chosen = validation.choice("kind", kind, ("csv", "json", "log"))
        return await self._transport.read_text("campaigns", self.name, "export", format=chosen)


describe(AsyncCampaign)


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
