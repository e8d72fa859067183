"""The MCP server: the verbs that read as tools, and split and record as a draft that a person confirms.

It serves campaigns of a database at hand, or of a service by its address and token, with what that token may do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

from pydantic import Field

from apportion._common import optional, validation
from apportion._version import __version__
from apportion.campaigns.actor import act_as, actor
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.plain_data import plain, split_content
from apportion.campaigns.protocol import CampaignVerbs
from apportion.campaigns.status import relative_to
from apportion.campaigns.storage.address import Address
from apportion.client import Client
from apportion.errors import ApportionError
from apportion.mcp.drafts import Drafts

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

INSTRUCTIONS = """\
apportion splits a renewable budget over options (arms) with unknown, noisy returns, period by period. A split has a
ticket; outcomes come back by ticket and arm name. Read freely. Nothing is changed by a draft: show it to the person
you work for, and call `confirm` only when they said yes. Amounts are what to spend; report them as they are."""

MOST_TICKETS = 200  # of a history in one answer
MOST_EVENTS = 500
MOST_FORECAST = 2000  # periods × futures


Name = Annotated[str, Field(description="The campaign's name.")]
TicketNumber = Annotated[int, Field(description="The ticket of a split.", ge=1)]


Tool = TypeVar("Tool", bound=Callable[..., dict[str, Any]])


class Campaigns(Protocol):
    """Where campaigns are: a database, or a service."""

    def names(self, *, archived: bool = False) -> tuple[str, ...]:
        """Their names."""

    def open(self, name: str) -> CampaignVerbs:
        """One of them."""


class _Database:
    """The campaigns of a database at hand."""

    def __init__(self, db: Address) -> None:
        self._db = db

    def names(self, *, archived: bool = False) -> tuple[str, ...]:
        return Campaign.names(self._db, archived=archived)

    def open(self, name: str) -> CampaignVerbs:
        return Campaign.open(name, self._db)


def campaigns_at(db: Address = None, url: str | None = None, token: str | None = None) -> Campaigns:
    """The campaigns of a service where there is an address, else of a database; what is done says by whom."""
    if url is not None:
        return Client(url, token)
    act_as(f"{actor().name}, by mcp")
    return _Database(db)


def create_server(source: Campaigns) -> MCPServer[Any]:
    """The server over some campaigns."""
    optional.require("mcp")
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations

    server: MCPServer[Any] = MCPServer(
        "apportion", title="apportion", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    drafts = Drafts()

    def tool(function: Tool, reads: bool) -> Tool:
        @functools.wraps(function)
        def told(**given: Any) -> Any:
            try:
                return function(**given)
            except ApportionError as error:  # a sentence that the assistant is to read
                raise ToolError(str(error)) from None

        hints = ToolAnnotations(
            read_only_hint=reads, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        )
        server.add_tool(told, annotations=hints)
        return function

    reading = drafting = functools.partial(tool, reads=True)
    writing = functools.partial(tool, reads=False)

    @reading
    def list_campaigns(archived: bool = False) -> dict[str, Any]:
        """The names of the campaigns in use; with `archived` those that are put away, too."""
        return {"campaigns": list(source.names(archived=archived))}

    @reading
    def status(campaign: Name) -> dict[str, Any]:
        """Where a campaign stands: beliefs about each arm, open tickets, settings, what is found in its data."""
        return _plain(source.open(campaign).status().to_dict())

    @reading
    def beliefs(campaign: Name, at: int | None = None) -> dict[str, Any]:
        """What is believed of each arm: mean return, likely range, probability of being best; `at`: after that many
        events, else now. Where `c` is below 1 returns diminish: `mean` is that of the first unit alone, and an amount
        A returns mean·A^c, so per unit of what is spent it is mean·A^(c−1), and less."""
        found = source.open(campaign).beliefs(at)
        rows = [{"arm": arm, **found[arm]._asdict()} for arm in found]
        return _plain({"campaign": campaign, **relative_to(found), "leader": found.leader, "arms": rows})

    @reading
    def explain(campaign: Name, ticket: TicketNumber) -> dict[str, Any]:
        """The split of a ticket as it was given: amounts, shares, and the reasons of its time."""
        opened = source.open(campaign)
        return _plain(split_content(campaign, opened.unit, opened.explain(ticket)))

    @reading
    def history(
        campaign: Name,
        first: Annotated[int | None, Field(description=f"Ticket; the last {MOST_TICKETS} by default.")] = None,
        last: int | None = None,
    ) -> dict[str, Any]:
        """What was advised, spent and earned, ticket by ticket and arm by arm, with corrections and by whom."""
        opened = source.open(campaign)
        high = opened.period if last is None else last
        low = max(1, high - MOST_TICKETS + 1) if first is None else first
        if high - low >= MOST_TICKETS:
            raise validation.refuse("last", f"at most {MOST_TICKETS - 1} after `first`", last)
        lines = list(opened.history(low, max(low, high))) if high >= 1 else []
        return _plain({"campaign": campaign, "lines": lines})

    @reading
    def events(
        campaign: Name,
        after: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=MOST_EVENTS)] = 100,
    ) -> dict[str, Any]:
        """The log: everything that happened after an event, in order, with who did it."""
        return _plain({"campaign": campaign, "events": source.open(campaign).events(after, limit)})

    @reading
    def plan(
        campaign: Name,
        budget: float | None = None,
        target: Annotated[
            float | None, Field(description="Up to which budget does the next unit return this?")
        ] = None,
        goal: Annotated[float | None, Field(description="The least budget for so much to come back.")] = None,
    ) -> dict[str, Any]:
        """What a budget may bring back where it is best split, with likely ranges, and the curve of each arm."""
        return _plain(source.open(campaign).plan(budget, target=target, goal=goal).to_dict())

    @reading
    def forecast(
        campaign: Name,
        periods: Annotated[int, Field(ge=1, le=100)] = 12,
        worlds: Annotated[int, Field(ge=1, le=200, description="How many futures to simulate.")] = 24,
    ) -> dict[str, Any]:
        """What the next periods may bring, simulated from what is known today. It is not kept."""
        if periods * worlds > MOST_FORECAST:
            raise validation.refuse("periods × worlds", f"at most {MOST_FORECAST:,}", periods * worlds)
        return _plain(source.open(campaign).forecast(periods=periods, worlds=worlds, keep=False).to_dict())

    @reading
    def forecasts(campaign: Name) -> dict[str, Any]:
        """The forecasts that were kept, and how they did."""
        return _plain(source.open(campaign).forecasts().to_dict())

    @reading
    def check(campaign: Name) -> dict[str, Any]:
        """Rebuild everything from the log and compare it with what is kept; look at `ok`."""
        return _plain(source.open(campaign).check()._asdict())

    @drafting
    def draft_split(
        campaign: Name,
        budget: Annotated[float | None, Field(description="The campaign's own by default.", gt=0)] = None,
        date: Annotated[str | None, Field(description="Of the period, such as 2026-01-31; today by default.")] = None,
    ) -> dict[str, Any]:
        """Draft the next split. Nothing is changed: show it, and `confirm` it when the person said yes."""
        opened = source.open(campaign)
        now = opened.status(health=False)
        amount = now.settings.budget if budget is None else budget
        key = drafts.add(opened, lambda key, sure: _split(opened, budget, date, key))
        return _plain(
            {
                "draft": key, "campaign": campaign, "will": "split", "ticket": now.period + 1, "budget": amount,
                "unit": now.settings.unit, "date": date, "open_tickets": now.open_tickets,
                "arms": [arm.name for arm in now.arms if arm.state == "active"],
            }
        )  # fmt: skip

    @drafting
    def draft_record(
        campaign: Name,
        ticket: TicketNumber,
        outcomes: Annotated[
            dict[str, float | None], Field(description="By arm name; null where no result will come.")
        ],
        amounts: Annotated[
            dict[str, float] | None, Field(description="What was really spent, where that differs from the advice.")
        ] = None,
        provisional: Annotated[bool, Field(description="Totals so far, which will be replaced.")] = False,
    ) -> dict[str, Any]:
        """Draft the outcomes of a ticket. Nothing is changed: show it, and `confirm` it when the person said yes."""
        opened = source.open(campaign)
        advised = dict(opened.explain(ticket).amounts)
        for arm in (*outcomes, *(amounts or {})):
            validation.choice("arm", arm, tuple(advised))
        spent = {**advised, **(amounts or {})}

        def record(key: str, sure: bool) -> dict[str, Any]:
            opened.record(ticket, outcomes, amounts, provisional=provisional, confirm=sure, key=key)
            return {
                "campaign": campaign,
                "ticket": ticket,
                "recorded": outcomes,
                "open": ticket in opened.open_tickets,
            }

        rows = [{"arm": arm, "spent": spent[arm], "outcome": outcomes[arm]} for arm in outcomes]
        missing = [arm for arm in advised if arm not in outcomes and spent[arm] > 0]
        return _plain(
            {
                "draft": drafts.add(opened, record), "campaign": campaign, "will": "record", "ticket": ticket,
                "provisional": provisional, "outcomes": rows, "without_outcome": missing,
            }
        )  # fmt: skip

    @writing
    def confirm(
        draft: Annotated[str, Field(description="What the draft was called.")],
        sure: Annotated[
            bool, Field(description="The person said that numbers which look like a slip are right.")
        ] = False,
    ) -> dict[str, Any]:
        """Do what was drafted, once, however often it is confirmed. Only when the person said yes to this draft."""
        return _plain(drafts.confirm(draft, sure))

    @writing
    def discard(draft: str) -> dict[str, Any]:
        """Forget a draft that the person does not want."""
        drafts.discard(draft)
        return {"draft": draft, "discarded": True}

    return server


def _split(campaign: CampaignVerbs, budget: float | None, date: str | None, key: str) -> dict[str, Any]:
    return split_content(campaign.name, campaign.unit, campaign.split(budget, date=date, key=key))


def _plain(content: Any) -> dict[str, Any]:
    found: dict[str, Any] = plain(content)
    return found


def serve(db: Address = None, url: str | None = None, token: str | None = None) -> None:
    """Serve over standard input and output, until the assistant closes them."""
    optional.require("mcp")
    create_server(campaigns_at(db, url, token)).run("stdio")
