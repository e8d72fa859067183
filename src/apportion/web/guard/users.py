"""Who is asking, and may they? Bearer tokens for programs, a session cookie for browsers, read or write.

- A program sends `Authorization: Bearer apt_…`.
- A browser signs in once and holds a random session value in a cookie.
- On loopback, while no token exists, everyone on this machine is `local` and may write: the other end of the
  connection is a loopback address, and no header says that the request was passed on.
- A write that is not sent with a bearer token must come from a page of this service (`origin`).

Where a dependency refuses, the API answers with problem details; a page leads to the login.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, NamedTuple
from urllib.parse import quote

from fastapi import Depends, Request, Response

from apportion.campaigns.actor import act_as
from apportion.campaigns.storage.tokens import SESSION_LENGTH
from apportion.campaigns.transactions import expect
from apportion.errors import ApportionError
from apportion.web.guard.credentials import Credentials
from apportion.web.guard.origin import Source, is_local, is_program, source_of
from apportion.web.shared import expected_tags

SESSION_COOKIE = "apportion_session"


class User(NamedTuple):
    """Who is asking: the name of a token; `scope` is read or write."""

    name: str
    scope: str

    @property
    def may_write(self) -> bool:
        """Whether the scope is write."""
        return self.scope == "write"


LOCAL_USER = User("local", "write")


class Refused(Exception):
    """A request that may not be done: 401 (nobody known asks) or 403 (they may not)."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class SignInNeeded(Exception):
    """A page that wants a user: the browser is led to the login, and back to `path` afterwards."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.location = "/login" if path in ("", "/") else f"/login?next={quote(path, safe='')}"


class _Caller(NamedTuple):
    """What the headers of a request say about who sent it."""

    user: User | None
    proof: str
    """token, session or local; nobody where there is no user."""

    @property
    def actor(self) -> str:
        """What events say of who did it."""
        name = "nobody" if self.user is None else self.user.name
        return name if self.proof == "local" else f"token {name}"


async def _caller(request: Request) -> _Caller:
    known: _Caller | None = getattr(request.state, "caller", None)
    if known is None:
        known = request.state.caller = await _find_caller(request)
        if known.user is not None:  # whatever this request writes says who did it
            act_as(known.actor, getattr(request.state, "request_id", None))
    return known


async def _find_caller(request: Request) -> _Caller:
    credentials: Credentials = request.app.state.credentials
    header = request.headers.get("authorization")
    if header is not None:
        kind, _, secret = header.partition(" ")
        token = await credentials.token(secret.strip()) if kind.lower() == "bearer" else None
        if token is None:
            raise Refused(401, "The token is not known, or was revoked: make one with `apportion token create`.")
        return _Caller(User(token.name, token.scope), "token")
    cookie = request.cookies.get(SESSION_COOKIE)
    if cookie:
        session = await credentials.session(cookie)
        if session is not None:
            return _Caller(User(session.token.name, session.token.scope), "session")
    if await credentials.tokens_needed() or not is_local(request):
        return _Caller(None, "nobody")
    return _Caller(LOCAL_USER, "local")


# Sessions of browsers: a random value in a cookie, whose hash is in the database


def sign_in(request: Request, response: Response, secret: str) -> User | None:
    """Sign a browser in with a token's secret: sets the cookie; None where the secret is not good."""
    credentials: Credentials = request.app.state.credentials
    session = credentials.tokens.begin_session(secret.strip())
    token = credentials.tokens.check(secret.strip())
    if session is None or token is None:
        return None
    response.set_cookie(
        SESSION_COOKIE, session.value, max_age=int(SESSION_LENGTH.total_seconds()), path="/", httponly=True,
        samesite="strict", secure=request.url.scheme == "https",
    )  # fmt: skip
    return User(token.name, token.scope)


def sign_out(request: Request, response: Response) -> None:
    """End the browser's session, here and in the database."""
    credentials: Credentials = request.app.state.credentials
    credentials.tokens.end_session(request.cookies.get(SESSION_COOKIE, ""))
    credentials.forget()
    response.delete_cookie(
        SESSION_COOKIE, path="/", httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )


def still_allowed(request: Request) -> Callable[[], Awaitable[bool]]:
    """Whether whoever sent a request may still read: their token may be revoked while a stream is open."""

    async def allowed() -> bool:
        try:
            return (await _find_caller(request)).user is not None
        except Refused:
            return False
        except ApportionError:  # a database that is busy now locks nobody out
            return True

    return allowed


# Dependencies


async def reader(request: Request) -> User:
    """Someone who may read; for the API."""
    user = (await _caller(request)).user
    if user is None:
        raise Refused(401, "A token is needed: send it as `Authorization: Bearer apt_…`.")
    return user


async def writer(request: Request) -> User:
    """Someone who may write, in a request that they meant to send; for the API."""
    user = await reader(request)
    _check_scope(user)
    if not ((await _caller(request)).proof == "local" and is_program(request)):
        await check_source(request)
    expect(expected_tags(request))
    return user


async def page_reader(request: Request) -> User:
    """Someone who may read; the login where nobody is known."""
    user = await maybe_user(request)
    if user is None:
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        raise SignInNeeded(here if request.method in ("GET", "HEAD") else "/")
    return user


async def maybe_user(request: Request) -> User | None:
    """Whoever it is; for pages that are for everyone."""
    try:
        return (await _caller(request)).user
    except Refused:
        return None


async def page_writer(request: Request) -> User:
    """Someone who may write, by a form of ours or by our script."""
    user = await page_reader(request)
    await check_source(request)
    _check_scope(user)
    return user


async def check_source(request: Request) -> None:
    """Refuse a write that does not come from a page of this service, unless it carries a bearer token."""
    if (await _caller(request)).proof != "token" and source_of(request) is not Source.OWN_PAGE:
        raise Refused(403, "The request does not come from a page of this service: open the page and send it there.")


def _check_scope(user: User) -> None:
    if not user.may_write:
        raise Refused(403, f"Token '{user.name}' may only read: writing needs one of scope write.")


Reader = Annotated[User, Depends(reader)]
Writer = Annotated[User, Depends(writer)]
MaybeUser = Annotated[User | None, Depends(maybe_user)]
PageReader = Annotated[User, Depends(page_reader)]
PageWriter = Annotated[User, Depends(page_writer)]
