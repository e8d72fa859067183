"""What API and pages share: campaigns by name, plain data as JSON, ETags, pagination."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from apportion._common.recent import Recent
from apportion._version import __version__
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.plain_data import plain
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.session import Head
from apportion.campaigns.storage.store import Store
from apportion.errors import UnknownName

__all__ = [
    "CACHED",
    "db_of",
    "etag",
    "forget_campaign",
    "json_response",
    "open_campaign",
    "plain",
    "remembered",
    "resolved",
    "store_of",
    "tagged",
    "unchanged",
    "versions",
    "writing_campaign",
]

# A browser may cache a response, but asks each time whether it still holds.
CACHED = "private, no-cache"

MOST_REMEMBERED = 5000  # campaigns whose lines in lists are held ready

_write = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def resolved(db: Any) -> str | Path:
    """A database's address that no longer depends on the environment."""
    url = database_url(db)
    if url.get_backend_name() == "sqlite":
        return Path(str(url.database))
    return url.render_as_string(hide_password=False)


def db_of(request: Request) -> str | Path:
    """The database of the app, for library calls that take `db`."""
    db: str | Path = request.app.state.db
    return db


def store_of(app: FastAPI) -> Store:
    """The store of the app."""
    store: Store = app.state.store
    return store


def open_campaign(request: Request, name: str, head: Head | None = None) -> Campaign:
    """The campaign that has this name now; `UnknownName` with those there are.

    It is looked up each time: another worker or a command may have renamed or deleted the one that had the name, and
    whoever may use this one may not use that. With its `head`, which says which one it is, the database need not be
    asked.
    """
    return Campaign.open(name, db_of(request)) if head is None else _campaign(request, head.campaign, name)


@contextmanager
def writing_campaign(request: Request, name: str) -> Iterator[Campaign]:
    """The campaign that has this name now, to oneself: what several verbs write is kept at the end, or nothing is.

    Which one had the name last is remembered; the write, which sees all that happened to it, tells whether it still
    has. So a write of a split or a result asks the database nothing that it would not ask anyhow.
    """
    known: Recent[str, int] = request.app.state.known
    identity = known.get(name)
    while True:
        with ExitStack() as stack:
            if identity is None:
                campaign = open_campaign(request, name)
            else:
                campaign = _campaign(request, identity, name)
            try:
                stack.enter_context(campaign.together())
            except UnknownName:  # it was deleted
                if identity is None:
                    raise
            else:
                if campaign.name == name:
                    known.put(name, campaign.transactions.campaign)
                    yield campaign
                    return
        identity = None


def _campaign(request: Request, identity: int, name: str) -> Campaign:
    return Campaign(store_of(request.app), identity, name)


def remembered() -> Recent[str, Any]:
    """An empty memory of something by the names of campaigns."""
    return Recent(MOST_REMEMBERED)


def forget_campaign(app: FastAPI, name: str) -> None:
    """Look a campaign up again the next time: there may be none of that name any more, or another one."""
    app.state.summaries.drop(name)
    app.state.rows.drop(name)
    app.state.charts.forget(name)


def versions(store: Store, readable: Callable[[str], bool]) -> dict[str, Head]:
    """The last event of each campaign that is readable, by name."""
    with store.reading() as session:
        return {name: head for name, head in session.heads().items() if readable(name)}


# Responses


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Plain data as JSON; what is not a number becomes null."""
    return Response(_write(plain(content)), status, headers, media_type="application/json")


def etag(version: int | str) -> str:
    """The tag of a read: it changes when the campaign does."""
    return f'W/"{version}-{__version__}"'  # another release may answer otherwise


def expected_tags(request: Request) -> frozenset[str] | None:
    """What a write expects of the campaign (`If-Match`): the tags of its reads; None where it expects nothing."""
    wanted = request.headers.get("if-match")
    if wanted is None or wanted.strip() == "*":
        return None
    given = (item.strip().removeprefix("W/").strip('"') for item in wanted.split(","))
    return frozenset(item.removesuffix(f"-{__version__}") for item in given)


def unchanged(request: Request, tag: str) -> Response | None:
    """304 where the caller has this version already."""
    wanted = request.headers.get("if-none-match")
    if wanted is None:
        return None
    given = {item.strip().removeprefix("W/") for item in wanted.split(",")}
    if "*" in given or tag.removeprefix("W/") in given:
        return Response(status_code=304, headers={"ETag": tag, "Cache-Control": CACHED})
    return None


def tagged(request: Request, version: int | str, content: Callable[[], Any]) -> Response:
    """A read with its tag; worked out only where the caller does not have this version already."""
    tag = etag(version)
    known = unchanged(request, tag)
    if known is not None:
        return known
    return json_response(content(), headers={"ETag": tag, "Cache-Control": CACHED})
