"""`apportion mcp`, asked by the client of the official package over standard input and output."""

import asyncio
import os
import sys

import pytest
from tests.web.running import service

import apportion as ap
from apportion.campaigns.storage.tokens import Tokens
from apportion.errors import Conflict, UnknownName
from apportion.mcp.drafts import DRAFT_SECONDS, Drafts
from mcp import Client, StdioServerParameters

READING = {"list_campaigns", "status", "beliefs", "explain", "history", "events", "plan", "forecast", "forecasts",
           "check"}  # fmt: skip
WRITING = {"draft_split", "draft_record", "confirm", "discard"}


def assistant(work, *arguments, **environment):
    """Run `work(call)` with a server started as an assistant would; `call` gives a tool's answer, or its error."""

    async def run():
        started = StdioServerParameters(
            command=sys.executable,
            args=["-m", "apportion", "mcp", *map(str, arguments)],
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        )
        async with Client(started) as client:

            async def call(tool, **given):
                answer = await client.call_tool(tool, given)
                if answer.is_error:
                    return answer.content[0].text
                return answer.structured_content

            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            return await work(call, tools)

    return asyncio.run(run())


@pytest.fixture
def ads(sqlite):
    return ap.Campaign.create("ads", ("search", "social"), budget=100, unit="EUR", b=0.75, sigma=2, seed=7, db=sqlite)


def test_an_assistant_reads_drafts_and_confirms(ads, sqlite):
    async def work(call, tools):
        assert set(tools) == READING | WRITING
        assert all(tools[name].annotations.read_only_hint for name in READING)
        assert not tools["confirm"].annotations.read_only_hint
        assert await call("list_campaigns") == {"campaigns": ["ads"]}
        # A draft changes nothing.
        draft = await call("draft_split", campaign="ads", date="2026-01-05")
        assert (draft["ticket"], draft["budget"], draft["unit"]) == (1, 100, "EUR")
        assert draft["arms"] == ["search", "social"]
        assert ads.version == 1
        split = await call("confirm", draft=draft["draft"])
        assert split["ticket"] == 1
        assert sum(arm["amount"] for arm in split["arms"]) == 100
        assert await call("confirm", draft=draft["draft"]) == split  # twice is once
        assert ads.period == 1
        # Outcomes: what cannot be is refused at once, what is drafted waits.
        refused = await call("draft_record", campaign="ads", ticket=1, outcomes={"serch": 4.0})
        assert "`arm` must be one of 'search', 'social'; got 'serch'." in refused
        draft = await call("draft_record", campaign="ads", ticket=1, outcomes={"search": 40.0})
        assert draft["without_outcome"] == ["social"]
        assert draft["outcomes"] == [{"arm": "search", "spent": split["arms"][0]["amount"], "outcome": 40.0}]
        assert ads.version == 2
        ads.record(1, {"social": 20.0})  # by somebody else, meanwhile
        assert "has changed since this was drafted" in await call("confirm", draft=draft["draft"])
        again = await call("draft_record", campaign="ads", ticket=1, outcomes={"search": 40.0})
        assert await call("confirm", draft=again["draft"]) == {
            "campaign": "ads", "ticket": 1, "recorded": {"search": 40.0}, "open": False,
        }  # fmt: skip
        unwanted = await call("draft_split", campaign="ads")
        assert (await call("discard", draft=unwanted["draft"]))["discarded"]
        assert "is not known, or is older than an hour" in await call("confirm", draft=unwanted["draft"])
        # Reading.
        status = await call("status", campaign="ads")
        assert (status["period"], status["open_tickets"]) == (1, [])
        assert [row["arm"] for row in (await call("beliefs", campaign="ads"))["arms"]] == ["search", "social"]
        assert (await call("explain", campaign="ads", ticket=1))["arms"][0]["reason"]
        assert len((await call("history", campaign="ads"))["lines"]) == 2
        found = (await call("events", campaign="ads", after=1))["events"]
        assert [event["kind"] for event in found] == ["split", "outcome", "outcome"]
        assert found[0]["actor"].endswith(", by mcp")
        assert (await call("plan", campaign="ads"))["whole"]["budget"] == 100
        assert (await call("forecast", campaign="ads", periods=2, worlds=2))["prospects"]
        assert (await call("forecasts", campaign="ads"))["forecasts"] == []
        assert (await call("check", campaign="ads"))["ok"]
        assert "Campaign 'adds' is not known; there are: ads." in await call("status", campaign="adds")
        return True

    assert assistant(work, "--db", sqlite)


def test_over_a_service_an_assistant_may_do_what_its_token_may(ads, sqlite):
    tokens = Tokens(sqlite)
    secret = tokens.create("assistant", scope="none")
    ap.Campaign.create("hidden", ("a", "b"), budget=1, db=sqlite)
    tokens.grant("assistant", "ads", "read")

    async def work(call, tools):
        assert await call("list_campaigns") == {"campaigns": ["ads"]}
        assert "Campaign 'hidden' is not known" in await call("status", campaign="hidden")
        draft = await call("draft_split", campaign="ads")
        assert "this needs the right to record campaign 'ads'" in await call("confirm", draft=draft["draft"])
        return True

    with service(sqlite, "--log-level", "warning") as running:
        assert assistant(work, "--url", running.url, APPORTION_TOKEN=secret)
    assert ads.period == 0


def test_a_draft_ends_after_an_hour(ads):
    moment = [0.0]
    drafts = Drafts(clock=lambda: moment[0])
    key = drafts.add(ads, lambda key, sure: ads.split(key=key))
    moment[0] = DRAFT_SECONDS + 1
    with pytest.raises(UnknownName, match="older than an hour"):
        drafts.confirm(key, False)
    key = drafts.add(ads, lambda key, sure: ads.split(key=key))
    ads.change(budget=50)
    with pytest.raises(Conflict, match="draft it anew"):
        drafts.confirm(key, False)
    assert ads.period == 0
