"""Who is asking, and may they? Bearer tokens for programs, a sign-in cookie for browsers, scopes, CSRF.

- A program sends `Authorization: Bearer apt_…`. It needs no CSRF token: a browser never sends that header by itself.
- A browser signs in once and holds a random session value in a cookie; the database keeps its hash.
- On loopback, while no token exists, everyone on this machine is `local` and may write.
- A write that a browser sends by cookie, or as `local`, must carry the CSRF token of the page it comes from (form
  field `csrf` or header `X-CSRF-Token`). A program on loopback that shows no sign of a browser needs none.

Where a dependency refuses, the API answers with problem details; a page leads to the login.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from apportion.campaigns.storage.tokens import SESSION_LENGTH, SessionRow, TokenRow, Tokens

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
SESSION_COOKIE = "apportion_session"
CSRF_COOKIE = "apportion_csrf"
CSRF_HEADER = "x-csrf-token"

# What was found good is not looked up again for so long; a token that is revoked ends after that.
REMEMBERED_SECONDS = 1.0
REMEMBERED_MOST = 1000

# Headers that browsers send by themselves and programs do not.
_SIGNS_OF_A_BROWSER = ("origin", "referer", "sec-fetch-site", "cookie")
_RANDOM_VALUE = re.compile(r"[A-Za-z0-9_-]{43}")


class Access(NamedTuple):
    """How the service is guarded."""

    tokens_needed: bool
    """Whether a token is needed even while none exists: wherever the service is not bound to loopback."""
    hosts: tuple[str, ...] | None
    """The Host names that are answered, against DNS rebinding; None: any."""


LOCAL_ACCESS = Access(False, LOOPBACK_HOSTS)


class Visitor(NamedTuple):
    """Who is asking; `scope` is read or write."""

    name: str
    scope: str

    @property
    def may_write(self) -> bool:
        """Whether the scope is write."""
        return self.scope == "write"


LOCAL_VISITOR = Visitor("local", "write")


class Refused(Exception):
    """A request that may not be done: 401 (nobody known asks) or 403 (they may not)."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class SignInNeeded(Exception):
    """A page that wants a visitor: the browser is led to the login, and back to `path` afterwards."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.location = "/login" if path in ("", "/") else f"/login?next={quote(path, safe='')}"


class Guard:
    """What this process knows of tokens and sessions; one per app, at `app.state.guard`."""

    def __init__(self, db: str | os.PathLike[str] | None, access: Access) -> None:
        self.access = access
        self.tokens = Tokens(db)
        self._remembered: dict[bytes, tuple[float, Any]] = {}

    def answers(self, host: str) -> bool:
        """Whether requests for that Host header are answered."""
        return self.access.hosts is None or _bare(host) in self.access.hosts

    async def tokens_needed(self) -> bool:
        """Whether nobody comes in without a token: by the way the service is bound, or because there is one."""
        return self.access.tokens_needed or bool(await self._look("any", "", lambda _: self.tokens.any()))

    async def token(self, secret: str) -> TokenRow | None:
        """The token of that secret; None where there is none, or it was revoked."""
        found: TokenRow | None = await self._look("token", secret, self.tokens.check)
        return found

    async def session(self, value: str) -> SessionRow | None:
        """The session of that cookie; None where there is none, it ended, or its token was revoked."""
        found: SessionRow | None = await self._look("session", value, self.tokens.session)
        return found

    def forget(self) -> None:
        """Ask the database again."""
        self._remembered.clear()

    async def _look(self, kind: str, value: str, find: Callable[[str], Any]) -> Any:
        # By a digest: the secret itself is kept nowhere.
        digest = sha256(f"{kind}:{value}".encode("utf-8", "surrogatepass")).digest()
        known = self._remembered.get(digest)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        found = await run_in_threadpool(find, value)
        if found is not None:  # what is not there is looked for every time: a new token works at once
            if len(self._remembered) >= REMEMBERED_MOST:
                self._remembered.clear()
            self._remembered[digest] = (time.monotonic() + REMEMBERED_SECONDS, found)
        return found


class _Caller(NamedTuple):
    """What the headers of a request say about who sent it."""

    visitor: Visitor | None
    by: str
    """token, session or local; nobody where there is no visitor."""
    csrf: str | None = None
    """The CSRF token that a write must carry."""


async def _caller(request: Request) -> _Caller:
    known: _Caller | None = getattr(request.state, "caller", None)
    if known is None:
        known = request.state.caller = await _find_caller(request)
    return known


async def _find_caller(request: Request) -> _Caller:
    guard: Guard = request.app.state.guard
    header = request.headers.get("authorization")
    if header is not None:
        kind, _, secret = header.partition(" ")
        token = await guard.token(secret.strip()) if kind.lower() == "bearer" else None
        if token is None:
            raise Refused(401, "The token is not known, or was revoked: make one with `apportion token create`.")
        return _Caller(Visitor(token.name, token.scope), "token")
    cookie = request.cookies.get(SESSION_COOKIE)
    if cookie:
        session = await guard.session(cookie)
        if session is not None:
            return _Caller(Visitor(session.token.name, session.token.scope), "session", session.csrf)
    csrf = _csrf_cookie(request)
    if await guard.tokens_needed():
        return _Caller(None, "nobody", csrf)
    return _Caller(LOCAL_VISITOR, "local", csrf)


# Dependencies


async def reader(request: Request) -> Visitor:
    """Someone who may read; for the API."""
    visitor = (await _caller(request)).visitor
    if visitor is None:
        raise Refused(401, "A token is needed: send it as `Authorization: Bearer apt_…`.")
    return visitor


async def writer(request: Request) -> Visitor:
    """Someone who may write, in a request that they meant to send; for the API."""
    visitor = await reader(request)
    _check_scope(visitor)
    caller = await _caller(request)
    program = caller.by == "local" and not any(name in request.headers for name in _SIGNS_OF_A_BROWSER)
    if caller.by != "token" and not program:
        _check_csrf(caller.csrf, request.headers.get(CSRF_HEADER))
    return visitor


async def page_reader(request: Request) -> Visitor:
    """Someone who may read; the login where nobody is known."""
    visitor = await maybe_visitor(request)
    if visitor is None:
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        raise SignInNeeded(here if request.method in ("GET", "HEAD") else "/")
    return visitor


async def maybe_visitor(request: Request) -> Visitor | None:
    """Whoever it is; for pages that are for everyone."""
    try:
        return (await _caller(request)).visitor
    except Refused:
        return None


async def page_writer(request: Request) -> Visitor:
    """Someone who may write, by a form of ours or by our script."""
    visitor = await page_reader(request)
    await check_form(request)
    _check_scope(visitor)
    return visitor


async def check_form(request: Request) -> None:
    """Refuse a form that does not carry the CSRF token of its page; for forms that need no visitor (the login)."""
    caller = await _caller(request)
    if caller.by == "token":
        return
    sent: Any = request.headers.get(CSRF_HEADER)
    if sent is None and request.headers.get("content-type", "").startswith(
        ("application/x-www-form-urlencoded", "multipart/form-data")
    ):
        sent = (await request.form()).get("csrf")
    _check_csrf(caller.csrf, sent)


def _check_scope(visitor: Visitor) -> None:
    if not visitor.may_write:
        raise Refused(403, f"Token '{visitor.name}' may only read: writing needs one of scope write.")


def _check_csrf(wanted: str | None, sent: Any) -> None:
    if wanted is None or not isinstance(sent, str) or not hmac.compare_digest(wanted.encode(), sent.encode()):
        raise Refused(403, "The form is out of date: load the page again and send it once more.")


Reader = Annotated[Visitor, Depends(reader)]
Writer = Annotated[Visitor, Depends(writer)]
MaybeVisitor = Annotated[Visitor | None, Depends(maybe_visitor)]
PageReader = Annotated[Visitor, Depends(page_reader)]
PageWriter = Annotated[Visitor, Depends(page_writer)]


# Browsers


def csrf_of(request: Request) -> str:
    """The CSRF token for the forms of a page (field `csrf`) and its scripts (`<meta name="csrf">`)."""
    caller: _Caller | None = getattr(request.state, "caller", None)
    if caller is not None and caller.by == "session" and caller.csrf:
        return caller.csrf
    known = _csrf_cookie(request) or getattr(request.state, "new_csrf", None)
    if known is None:
        known = request.state.new_csrf = secrets.token_urlsafe(32)  # the middleware sends it along as a cookie
    return str(known)


def _csrf_cookie(request: Request) -> str | None:
    value = request.cookies.get(CSRF_COOKIE, "")
    return value if _RANDOM_VALUE.fullmatch(value) else None


def sign_in(request: Request, response: Response, secret: str) -> Visitor | None:
    """Sign a browser in with a token's secret: sets the cookie; None where the secret is not good."""
    guard: Guard = request.app.state.guard
    made = guard.tokens.begin_session(secret.strip())
    token = guard.tokens.check(secret.strip())
    if made is None or token is None:
        return None
    response.set_cookie(
        SESSION_COOKIE, made.value, max_age=int(SESSION_LENGTH.total_seconds()), path="/", httponly=True,
        samesite="strict", secure=request.url.scheme == "https",
    )  # fmt: skip
    return Visitor(token.name, token.scope)


def sign_out(request: Request, response: Response) -> None:
    """End the browser's session, here and in the database."""
    guard: Guard = request.app.state.guard
    guard.tokens.end_session(request.cookies.get(SESSION_COOKIE, ""))
    guard.forget()
    response.delete_cookie(
        SESSION_COOKIE, path="/", httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )


def _bare(host: str) -> str:
    """A Host header without its port and brackets, in small letters."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]
