"""`ap.AsyncClient`: the verbs of `Client`, awaited, over a real service; one pool of connections for many tasks."""

import asyncio
import inspect

import pytest
from tests.client.test_client import ARMS, OPTIONS, same
from tests.web.running import service

import apportion as ap
from apportion.campaigns.storage.tokens import Tokens
from apportion.client import AsyncCampaign, NotAllowed, ServiceUnavailable
from apportion.client.transport import BlockingTransport, finish


def test_a_campaign_is_run_by_coroutines_as_by_calls(sqlite, tmp_path):
    file = tmp_path / "history.csv"
    file.write_text("date,arm,amount,outcome\n2026-01-01,search,10,4\n2026-01-01,social,10,6\n")

    async def run(url):
        async with ap.AsyncClient(url) as client:
            campaign = await client.create("ads", ARMS, **OPTIONS)
            imported = await campaign.import_history(file)
            split = await campaign.split(key="first")
            assert (await campaign.split(key="first")).ticket == split.ticket
            await campaign.record(split.ticket, {"search": 30.0, "social": 20.0, "video": 10.0})
            await campaign.amend(split.ticket, {"video": 12.0})
            await campaign.add_arm("radio", 0.1, 0.5)
            await campaign.pause_arm("social")
            await campaign.change(budget=200)
            await asyncio.gather(*(campaign.split() for _ in range(12)))  # one pool of connections for all
            await campaign.close((await campaign.open_tickets)[0])
            copy = await campaign.clone("copy")
            assert isinstance(copy, AsyncCampaign)
            await copy.rename("the copy")
            assert await client.names() == ("ads", "the copy")
            back = await client.restore(await campaign.export("json"), name="restored")
            assert await back.version == await campaign.version
            with pytest.raises(ap.UnknownName, match="Campaign 'adds' is not known; there are: ads, "):
                await client.open("adds")
            with pytest.raises(ap.InvalidValue, match="`budget` must be"):
                await campaign.split(budget=-1)
            found = {
                name: await value if inspect.isawaitable(value := getattr(campaign, name)) else await value()
                for name in ("status", "settings", "arms", "beliefs", "period", "unit", "imports", "events",
                             "expected_regret", "plan", "check")
            }  # fmt: skip
            return imported, found, [*await campaign.history()]

    with service(sqlite, "--log-level", "warning") as running:
        imported, found, lines = asyncio.run(run(running.url))
        with ap.Client(running.url) as client:  # inside of no loop, and inside of one
            near, here = client.open("ads"), ap.Campaign.open("ads", db=sqlite)
            assert imported.rows == 2
            for name, value in found.items():
                own = getattr(near, name)
                assert same(value, own() if callable(own) else own), name
            assert lines == [*near.history()] == [*here.history()]

            async def inside():
                return client.open("ads").period

            assert asyncio.run(inside()) == here.period
    assert here.check().ok


def test_a_service_that_is_gone_and_a_token_that_is_wrong(sqlite):
    async def gone():
        async with ap.AsyncClient("http://127.0.0.1:1", retries=1) as client:
            await client.names()

    with pytest.raises(ServiceUnavailable, match="cannot be reached"):
        asyncio.run(gone())

    Tokens(sqlite).create("anna")

    async def wrong(url):
        client = ap.AsyncClient(url, "apt_wrong")
        assert "apt_wrong" not in repr(client)
        try:
            await client.names()
        finally:
            await client.close()

    with service(sqlite, "--log-level", "warning") as running, pytest.raises(NotAllowed, match="not known"):
        asyncio.run(wrong(running.url))


def test_what_waits_is_not_finished_without_a_loop():
    async def waits():
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="only a blocking transport"):
        finish(waits())
    assert finish(BlockingTransport("http://127.0.0.1:1", None, 1.0, 0)._pause(0.0)) is None
