"""Live updates as server-sent events, and the service itself."""

from __future__ import annotations

import functools
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from apportion._version import __version__
from apportion.web.api import examples, responses
from apportion.web.api.campaigns import checksum
from apportion.web.api.describe import PREFIX, Name, route
from apportion.web.guard.users import Reader, still_allowed
from apportion.web.shared import json_response, open_campaign, store_of, versions
from apportion.web.streams import HEADERS, Changes

router = APIRouter(prefix=PREFIX, tags=["service"])

Since = Annotated[
    str | None, Query(description="The version that you have: another one is sent at once.", max_length=40)
]

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: `version` at the beginning, `change` whenever it changes.",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": examples.STREAM}},
    }
}


@route(router.get, "/version", "Release and user", responses.Version)
async def version(request: Request, user: Reader) -> Any:
    """The release that answers, and the name, scope and rights of your token."""
    return json_response({"version": __version__, "visitor": user.name, "scope": user.scope, "rights": user.rights})


@router.get(
    "/campaigns/{name}/stream", response_class=StreamingResponse, responses=_STREAM, summary="Changes of a campaign"
)
async def campaign_stream(request: Request, name: Name, user: Reader, since: Since = None) -> Any:
    """An event whenever the campaign changes, whoever wrote. Never ends by itself."""
    campaign = await run_in_threadpool(open_campaign, request, name)
    return _stream(request, f"campaign {campaign.transactions.campaign}", lambda: campaign.version, since)


@router.get("/stream", response_class=StreamingResponse, responses=_STREAM, summary="Changes of any campaign")
async def stream(request: Request, user: Reader, since: Since = None) -> Any:
    """An event whenever any campaign changes or begins. Never ends by itself."""
    store = store_of(request.app)
    # Those who see the same campaigns share one look at the database.
    own = "campaigns" if user.reads_all else f"campaigns of {sorted(user.rights)}"
    return _stream(request, own, lambda: checksum(versions(store, functools.partial(user.may, "read"))), since)


def _stream(request: Request, name: str, look: Any, since: str | None) -> StreamingResponse:
    changes: Changes = request.app.state.changes
    known = request.headers.get("last-event-id") or since
    return StreamingResponse(
        changes.follow(name, look, known, still_allowed(request)), media_type="text/event-stream", headers=HEADERS
    )
