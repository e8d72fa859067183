"""Campaigns in a service, with the same verbs as on this machine. Needs httpx (`pip install 'apportion[client]'`).

`transport` sends requests and raises the service's errors again, `remote` has the verbs, `rebuild` makes responses
into the types of the library. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from apportion._common import validation
from apportion.allocation.arms import by_name
from apportion.client.remote import RemoteCampaign, policy_content
from apportion.client.transport import Transport
from apportion.errors import NotAllowed, ServiceUnavailable
from apportion.policies import Policy

__all__ = ["Client", "NotAllowed", "RemoteCampaign", "ServiceUnavailable"]


class Client:
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
        self._transport = Transport(url, token, timeout, retries)

    def __repr__(self) -> str:
        return f"Client({self._transport.url!r})"  # without the token

    def create(
        self,
        name: str,
        arms: Iterable[str],
        *,
        budget: float,
        key: str | None = None,
        unit: str | None = None,
        policy: Policy | str = "auto",
        b: float | None = None,
        sigma: float | None = None,
        horizon: int | None = None,
        minimum: Mapping[str, float] | None = None,
        maximum: Mapping[str, float] | None = None,
        pinned: Mapping[str, float] | None = None,
        whole: bool = False,
        step: float | None = None,
        half_life: float | None = None,
        window: int | None = None,
        robust: bool = False,
        level: float = 0.95,
        minimise: bool = False,
        seed: int | None = None,
    ) -> RemoteCampaign:
        """Begin a campaign. `Conflict` where there is one of that name, unless it was begun with the same `key`."""
        given: dict[str, Any] = {
            "name": name, "arms": validation.arm_names("arms", arms), "budget": budget, "unit": unit,
            "policy": policy_content(policy), "b": b, "sigma": sigma, "horizon": horizon, "whole": whole,
            "step": step, "half_life": half_life, "window": window, "robust": robust, "level": level,
            "minimise": minimise, "seed": seed,
        }  # fmt: skip
        for label, bounds in (("minimum", minimum), ("maximum", maximum), ("pinned", pinned)):
            given[label] = None if bounds is None else by_name(label, bounds)
        content = {option: value for option, value in given.items() if value is not None}
        self._transport.write("POST", "campaigns", content=content, key=key)
        return self.campaign(name)

    def open(self, name: str) -> RemoteCampaign:
        """The campaign of that name; `UnknownName` with those there are."""
        found = self.campaign(name)
        found.status()
        return found

    def campaign(self, name: str) -> RemoteCampaign:
        """The campaign of that name, without asking whether there is one."""
        return RemoteCampaign(self._transport, name)

    def names(self) -> tuple[str, ...]:
        """The names of all campaigns."""
        found: list[str] = []
        after: str | None = None
        while True:
            page = self._transport.read("campaigns", after=after)
            found += [row["campaign"] for row in page["campaigns"]]
            after = page["next"]
            if after is None:
                return tuple(found)

    def restore(self, text: str, name: str | None = None, *, key: str | None = None) -> RemoteCampaign:
        """Bring back a campaign that `export` wrote as json or log, under its own name or another."""
        if not isinstance(text, str):
            raise validation.refuse("text", "what `export` wrote as json or log", text)
        restored = self._transport.write("POST", "restore", content=text.encode(), query={"name": name}, key=key)
        return self.campaign(restored["campaign"])

    def close(self) -> None:
        """Close the connections; the next request makes new ones."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
