"""Who is asking, and may they? Bearer tokens for programs, a session cookie for browsers, rights by campaign.

- A program sends `Authorization: Bearer apt_…`.
- A browser signs in once, with a token or with a provider (`openid`), and holds a random session value in a cookie.
- On loopback, while no token exists, everyone on this machine is `local` and may write: the other end of the
  connection is a loopback address, and no header says that the request was passed on.
- A write that is not sent with a bearer token must come from a page of this service (`origin`).
- What a route wants of its campaign is said by its parameter: `Reader`, `Recorder` or `Writer`. A campaign that a
  token may not read is as unknown to it as one that is not there.

Where a dependency refuses, the API answers with problem details; a page leads to the login.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Annotated, NamedTuple
from urllib.parse import quote

from fastapi import Depends, Request, Response

from apportion.campaigns.actor import act_as
from apportion.campaigns.storage.rights import NO_RIGHTS, allows
from apportion.campaigns.storage.tokens import NewSession, TokenRow
from apportion.campaigns.transactions import expect
from apportion.errors import ApportionError, UnknownName
from apportion.web.guard.credentials import Credentials
from apportion.web.guard.origin import Source, is_local, is_program, source_of
from apportion.web.guard.places import WritePlace
from apportion.web.shared import expected_tags

SESSION_COOKIE = "apportion_session"


# What the path of every route to a campaign has in it.
CAMPAIGN_ROUTE = "/campaigns/{name}"


class User(NamedTuple):
    """Who is asking: the name of a token, its scope, and its rights by campaign (`storage.rights`)."""

    name: str
    scope: str
    rights: Mapping[str, str] = NO_RIGHTS
    person: bool = False
    """Whether it is a person, who signed in with the provider."""

    @property
    def title(self) -> str:
        """How a sentence calls them."""
        return f"{'Person' if self.person else 'Token'} '{self.name}'"

    @property
    def may_begin(self) -> bool:
        """Whether they may begin campaigns, and manage all of them."""
        return self.scope == "write"

    @property
    def reads_all(self) -> bool:
        """Whether there is no campaign that they may not read."""
        return allows(self.scope, None, "read")

    def may(self, wanted: str, campaign: str) -> bool:
        """Whether they have a right on a campaign."""
        return allows(self.scope, self.rights.get(campaign), wanted)

    def readable(self, names: Iterable[str]) -> list[str]:
        """Those of these campaigns that they may read."""
        return [name for name in names if self.may("read", name)]


LOCAL_USER = User("local", "write")


class Refused(Exception):
    """A request that may not be done: 401 (nobody known asks) or 403 (they may not)."""

    def __init__(self, status: int, sentence: str, wait: int = 5) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.wait = wait  # in seconds, where it may be done later


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
        if self.proof == "local":
            return name
        return f"person {name}" if self.user is not None and self.user.person else f"token {name}"


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
        kind, _, given = header.partition(" ")
        secret, address = given.strip(), address_of(request)
        check_failures(credentials, secret, address)
        token = await credentials.token(secret) if kind.lower() == "bearer" else None
        if token is None:
            credentials.failed.add(address)
            raise Refused(401, "The token is not known, or was revoked: make one with `apportion token create`.")
        credentials.remember_sign_in(secret, address)
        return _Caller(user_of(token), "token")
    cookie = request.cookies.get(SESSION_COOKIE)
    if cookie:
        session = await credentials.session(cookie)
        if session is not None:
            return _Caller(user_of(session.token), "session")
    if await credentials.tokens_needed() or not is_local(request):
        return _Caller(None, "nobody")
    return _Caller(LOCAL_USER, "local")


def user_of(token: TokenRow) -> User:
    """Whoever holds a token."""
    return User(token.name, token.scope, token.rights, token.person)


def address_of(request: Request) -> str | None:
    """The address that asks; behind a proxy that is trusted, the one that it names."""
    return None if request.client is None else request.client.host


def check_failures(credentials: Credentials, secret: str, address: str | None) -> None:
    """Refuse, without a look at what is brought, whoever brought too many unknown tokens."""
    wait = credentials.sign_in_wait(secret, address)
    if wait:
        raise Refused(429, f"Too many sign-ins failed from this address: try again in {wait} seconds.", wait)


# Sessions of browsers: a random value in a cookie, whose hash is in the database


def sign_in(request: Request, response: Response, secret: str) -> User | None:
    """Sign a browser in with a token's secret: sets the cookie; None where the secret is not good."""
    credentials: Credentials = request.app.state.credentials
    address = address_of(request)
    check_failures(credentials, secret.strip(), address)
    session = credentials.tokens.begin_session(secret.strip())
    token = credentials.tokens.check(secret.strip())
    if session is None or token is None:
        credentials.failed.add(address)
        return None
    set_session(request, response, session)
    return user_of(token)


def sign_in_person(request: Request, response: Response, names: Sequence[str]) -> bool:
    """Sign in whom the provider knows by these names: sets the cookie; False where nobody of them is let in."""
    credentials: Credentials = request.app.state.credentials
    session = credentials.tokens.begin_person_session(names)
    if session is None:
        return False
    set_session(request, response, session)
    return True


def set_session(request: Request, response: Response, session: NewSession) -> None:
    """Give a browser the cookie of its session."""
    response.set_cookie(
        SESSION_COOKIE, session.value, max_age=int(session.length.total_seconds()), path="/", httponly=True,
        samesite="strict", secure=request.url.scheme == "https",
    )  # fmt: skip


def sign_out(request: Request, response: Response) -> None:
    """End the browser's session, here and in the database."""
    credentials: Credentials = request.app.state.credentials
    credentials.tokens.end_session(request.cookies.get(SESSION_COOKIE, ""))
    credentials.forget()
    response.delete_cookie(
        SESSION_COOKIE, path="/", httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )


def still_allowed(request: Request) -> Callable[[], Awaitable[bool]]:
    """Whether whoever sent a request may still read: their token may be revoked while a stream is open.

    What is about all campaigns that they may read ends, too, where these are others: it begins anew with those.
    """

    async def allowed() -> bool:
        try:
            user, campaign = (await _find_caller(request)).user, campaign_of(request)
            if user is None or campaign is not None:
                return user is not None and user.may("read", str(campaign))
            before = (await _caller(request)).user  # as it was when the request came
            return before is not None and (user.scope, user.rights) == (before.scope, before.rights)
        except Refused:
            return False
        except ApportionError:  # a database that is busy now locks nobody out
            return True

    return allowed


# Dependencies


def campaign_of(request: Request) -> str | None:
    """The campaign that a request is about, by its route; None where it is about none."""
    path = getattr(request.scope.get("route"), "path", "")
    return str(request.path_params["name"]) if CAMPAIGN_ROUTE in path else None


async def reader(request: Request) -> User:
    """Someone who may read what the route is about; for the API."""
    user = (await _caller(request)).user
    if user is None:
        raise Refused(401, "A token is needed: send it as `Authorization: Bearer apt_…`.")
    check_right(request, user, "read")
    return user


async def reader_of_all(user: Annotated[User, Depends(reader)]) -> User:
    """Someone who may read every campaign."""
    if not user.reads_all:
        raise Refused(403, f"{user.title} may read some campaigns only: this needs one of scope read.")
    return user


async def recorder(request: Request) -> User:
    """Someone who may split and record, in a request that they meant to send; for the API."""
    return await _api_writer(request, "record")


async def writer(request: Request) -> User:
    """Someone who may manage the campaign, or begin one, in a request that they meant to send; for the API."""
    return await _api_writer(request, "manage")


async def _api_writer(request: Request, wanted: str) -> User:
    user = await reader(request)
    check_right(request, user, wanted)
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
    check_right(request, user, "read")
    return user


async def maybe_user(request: Request) -> User | None:
    """Whoever it is; for pages that are for everyone."""
    try:
        return (await _caller(request)).user
    except Refused:
        return None


async def page_recorder(request: Request) -> User:
    """Someone who may split and record, by a form of ours or by our script."""
    return await _page_writer(request, "record")


async def page_writer(request: Request) -> User:
    """Someone who may manage the campaign, or begin one, by a form of ours or by our script."""
    return await _page_writer(request, "manage")


async def _page_writer(request: Request, wanted: str) -> User:
    user = await page_reader(request)
    await check_source(request)
    check_right(request, user, wanted)
    return user


async def check_source(request: Request) -> None:
    """Refuse a write that does not come from a page of this service, unless it carries a bearer token."""
    if (await _caller(request)).proof != "token" and source_of(request) is not Source.OWN_PAGE:
        raise Refused(403, "The request does not come from a page of this service: open the page and send it there.")


def check_right(request: Request, user: User, wanted: str) -> None:
    """Refuse what a user may not do with the campaign of a route; where it has none, what changes anything."""
    campaign = campaign_of(request)
    if campaign is None:
        if wanted != "read" and not user.may_begin:
            raise Refused(403, f"{user.title} may only {_ONLY[user.scope]}: this needs one of scope write.")
    elif not user.may("read", campaign):  # as if it were not there
        known = ", ".join(sorted(user.rights)) or "none for you"
        raise UnknownName(f"Campaign '{campaign}' is not known; there are: {known}.")
    elif not user.may(wanted, campaign):
        only = "record" if user.may("record", campaign) else "read"
        raise Refused(
            403, f"{user.title} may only {only} here: this needs the right to {wanted} campaign '{campaign}'."
        )


_ONLY = {"none": "read some campaigns", "read": "read", "record": "read and record"}


def check_may_begin(user: User) -> None:
    """Refuse whoever may manage a campaign and not begin one."""
    if not user.may_begin:
        raise Refused(403, f"{user.title} may not begin a campaign: this needs one of scope write.")


Reader = Annotated[User, Depends(reader)]
MaybeUser = Annotated[User | None, Depends(maybe_user)]
PageReader = Annotated[User, Depends(page_reader)]
# Those whose request takes long and writes at its end, if at all: they take no place of those who write now.
SlowRecorder = Annotated[User, Depends(recorder)]
SlowWriter = Annotated[User, Depends(writer)]
SlowPageRecorder = Annotated[User, Depends(page_recorder)]


async def recorder_in_place(user: SlowRecorder, place: WritePlace) -> User:
    """`recorder`, with a place among those who write."""
    return user


async def writer_in_place(user: SlowWriter, place: WritePlace) -> User:
    """`writer`, with a place among those who write."""
    return user


async def page_recorder_in_place(user: SlowPageRecorder, place: WritePlace) -> User:
    """`page_recorder`, with a place among those who write."""
    return user


async def page_writer_in_place(user: Annotated[User, Depends(page_writer)], place: WritePlace) -> User:
    """`page_writer`, with a place among those who write."""
    return user


Recorder = Annotated[User, Depends(recorder_in_place)]
Writer = Annotated[User, Depends(writer_in_place)]
PageRecorder = Annotated[User, Depends(page_recorder_in_place)]
PageWriter = Annotated[User, Depends(page_writer_in_place)]
