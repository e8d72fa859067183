"""Campaigns in a service, with the same verbs as on this machine. Needs httpx (`pip install 'apportion[client]'`).

`transport` sends requests and raises the service's errors again, `remote` has the verbs, once, as coroutines,
`blocking` the same for programs that wait, `rebuild` makes responses into the types of the library. Nothing is
computed here.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Unpack

from apportion._common import validation
from apportion.allocation.arms import by_name
from apportion.campaigns.protocol import Key
from apportion.campaigns.settings import SETTINGS, NewSettings, takes_new_settings
from apportion.client.blocking import RemoteCampaign
from apportion.client.remote import AsyncCampaign, policy_content
from apportion.client.transport import AsyncTransport, BlockingTransport, Transport, finish
from apportion.errors import NotAllowed, ServiceUnavailable

__all__ = ["AsyncCampaign", "AsyncClient", "Client", "NotAllowed", "RemoteCampaign", "ServiceUnavailable"]


class _Requests:
    """What is asked of a service that is about no single campaign."""

    _transport: Transport

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transport.url!r})"  # without the token

    async def _create(self, name: str, arms: Iterable[str], key: Key, settings: NewSettings) -> str:
        content: dict[str, Any] = {"name": name, "arms": validation.arm_names("arms", arms)}
        given: dict[str, Any] = {**settings}
        for option, value in given.items():
            if SETTINGS[option].kind == "policy":
                content[option] = policy_content(value)
            elif value is not None:  # left to the service, which may be older, as it would be where it is left out
                content[option] = by_name(option, value) if SETTINGS[option].kind == "shares" else value
        await self._transport.write("POST", "campaigns", content=content, key=key)
        return name

    async def _names(self, archived: bool) -> tuple[str, ...]:
        found: list[str] = []
        after: str | None = None
        while True:
            page = await self._transport.read("campaigns", after=after, **({"archived": "true"} if archived else {}))
            found += [row["campaign"] for row in page["campaigns"]]
            after = page["next"]
            if after is None:
                return tuple(found)

    async def _restore(self, text: str, name: str | None, key: Key) -> str:
        if not isinstance(text, str):
            raise validation.refuse("text", "what `export` wrote as json or log", text)
        restored = await self._transport.write(
            "POST", "restore", content=text.encode(), query={"name": name}, key=key
        )
        return str(restored["campaign"])


class Client(_Requests):
    """A service of campaigns (`apportion serve`); for several threads at once.

    `ap.Campaign.open("ads")` becomes `ap.Client(url, token).open("ads")`, and the rest of a program stays as it is:

        client = ap.Client("https://apportion.example.org", token)
        campaign = client.open("ads")
        split = campaign.split()
        campaign.record(split.ticket, {"search": 812.0, "social": 410.5})

    `token` is by default `APPORTION_TOKEN`; a service on this machine may need none. A request waits `timeout`
    seconds for an answer and is sent again up to `retries` times where the connection breaks. Connections stay
    open; `close`, or a `with` block, closes them.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 30.0, retries: int = 4) -> None:
        self._transport: BlockingTransport = BlockingTransport(url, token, timeout, retries)

    @takes_new_settings
    def create(
        self, name: str, arms: Iterable[str], *, key: Key = None, **settings: Unpack[NewSettings]
    ) -> RemoteCampaign:
        """Begin a campaign with a `budget` and any other settings, as `Campaign.create` does.

        `Conflict` where there is one of that name, unless it was begun with the same `key`.
        """
        return self.campaign(finish(self._create(name, arms, key, settings)))

    def open(self, name: str) -> RemoteCampaign:
        """The campaign of that name; `UnknownName` with those there are."""
        found = self.campaign(name)
        found.status(health=False)
        return found

    def campaign(self, name: str) -> RemoteCampaign:
        """The campaign of that name, without asking whether there is one."""
        return RemoteCampaign(self._transport, name)

    def names(self, *, archived: bool = False) -> tuple[str, ...]:
        """The names of the campaigns in use; with `archived` of those that are put away, too."""
        return finish(self._names(archived))

    def restore(self, text: str, name: str | None = None, *, key: Key = None) -> RemoteCampaign:
        """Bring back a campaign that `export` wrote as json or log, under its own name or another."""
        return self.campaign(finish(self._restore(text, name, key)))

    def close(self) -> None:
        """Close the connections; the next request makes new ones."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_Requests):
    """A service of campaigns, for coroutines: what `Client` does, awaited; for all tasks of an event loop.

        async with ap.AsyncClient("https://apportion.example.org", token) as client:
            campaign = await client.open("ads")
            split = await campaign.split()
            await campaign.record(split.ticket, {"search": 812.0, "social": 410.5})

    The parameters are those of `Client`.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 30.0, retries: int = 4) -> None:
        self._transport: AsyncTransport = AsyncTransport(url, token, timeout, retries)

    @takes_new_settings
    async def create(
        self, name: str, arms: Iterable[str], *, key: Key = None, **settings: Unpack[NewSettings]
    ) -> AsyncCampaign:
        """Begin a campaign with a `budget` and any other settings, as `Client.create` does."""
        return self.campaign(await self._create(name, arms, key, settings))

    async def open(self, name: str) -> AsyncCampaign:
        """The campaign of that name; `UnknownName` with those there are."""
        found = self.campaign(name)
        await found.status(health=False)
        return found

    def campaign(self, name: str) -> AsyncCampaign:
        """The campaign of that name, without asking whether there is one."""
        return AsyncCampaign(self._transport, name)

    async def names(self, *, archived: bool = False) -> tuple[str, ...]:
        """The names of the campaigns in use; with `archived` of those that are put away, too."""
        return await self._names(archived)

    async def restore(self, text: str, name: str | None = None, *, key: Key = None) -> AsyncCampaign:
        """Bring back a campaign that `export` wrote as json or log, under its own name or another."""
        return self.campaign(await self._restore(text, name, key))

    async def close(self) -> None:
        """Close the connections; the next request makes new ones."""
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
