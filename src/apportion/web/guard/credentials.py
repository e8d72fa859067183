"""Tokens and sessions as one process knows them: looked up in the database, and remembered for a second."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool

from apportion._common.recent import Recent
from apportion.campaigns.storage.tokens import SessionRow, TokenRow, Tokens
from apportion.web.guard.sign_ins import FailedSignIns

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")

# A token that is revoked ends after this.
REMEMBERED_SECONDS = 1.0
MOST_REMEMBERED = 1000


class Access(NamedTuple):
    """How the service is guarded."""

    tokens_needed: bool
    """Whether a token is needed even while none exists: wherever the service is not bound to loopback."""
    hosts: tuple[str, ...] | None
    """The Host names that are answered, against DNS rebinding; None: any."""


LOCAL_ACCESS = Access(False, LOOPBACK_HOSTS)


class Credentials:
    """Who holds which token; one per app, at `app.state.credentials`."""

    def __init__(self, db: str | os.PathLike[str] | None, access: Access) -> None:
        self.access = access
        self.tokens = Tokens(db)
        self.failed = FailedSignIns()
        self._remembered: dict[bytes, tuple[float, Any]] = {}
        self._known: Recent[tuple[bytes, str | None], bool] = Recent(MOST_REMEMBERED)

    def answers(self, host: str) -> bool:
        """Whether requests for that Host header are answered."""
        return self.access.hosts is None or _bare(host) in self.access.hosts

    async def tokens_needed(self) -> bool:
        """Whether nobody comes in without a token: the service is bound to other addresses, or a token exists."""
        return self.access.tokens_needed or bool(await self._find("any", "", lambda _: self.tokens.any()))

    async def token(self, secret: str) -> TokenRow | None:
        """The token of that secret; None where there is none, or it was revoked."""
        found: TokenRow | None = await self._find("token", secret, self.tokens.check)
        return found

    def sign_in_wait(self, secret: str, address: str | None) -> int:
        """After how many seconds an address may try this secret; 0 at once, as for one that was good from there."""
        return 0 if (_digest("token", secret), address) in self._known else self.failed.wait(address)

    def remember_sign_in(self, secret: str, address: str | None) -> None:
        """A secret was good, from this address."""
        self._known.put((_digest("token", secret), address), True)

    async def session(self, value: str) -> SessionRow | None:
        """The session of that cookie; None where there is none, it ended, or its token was revoked."""
        found: SessionRow | None = await self._find("session", value, self.tokens.session)
        return found

    def forget(self) -> None:
        """Ask the database again."""
        self._remembered.clear()

    async def _find(self, kind: str, value: str, look_up: Callable[[str], Any]) -> Any:
        digest = _digest(kind, value)
        known = self._remembered.get(digest)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        found = await run_in_threadpool(look_up, value)
        if found is not None:  # what is not there is looked for every time: a new token works at once
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[digest] = (time.monotonic() + REMEMBERED_SECONDS, found)
        return found


def _digest(kind: str, value: str) -> bytes:
    """What a secret is remembered by: the secret itself is stored nowhere."""
    return sha256(f"{kind}:{value}".encode("utf-8", "surrogatepass")).digest()


def _bare(host: str) -> str:
    """A Host header without its port and brackets, in small letters."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]
