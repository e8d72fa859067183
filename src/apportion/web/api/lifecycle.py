"""Campaigns as a whole: renamed, archived, copied, deleted; and imports undone."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request

from apportion.campaigns.campaign import Campaign
from apportion.errors import UnknownName
from apportion.web.api import requests, responses
from apportion.web.api.describe import LARGEST_WHOLE, PREFIX, Key, Name, read, route
from apportion.web.guard.users import Reader, Writer, check_may_begin
from apportion.web.shared import db_of, forget_campaign, json_response, open_campaign, tagged

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{name}}", tags=["campaigns"])

EventPath = Annotated[
    int, Path(description="The event of the import.", ge=1, le=LARGEST_WHOLE, openapi_examples={"an": {"value": 12}})
]


@route(router.post, "/rename", "Rename a campaign", responses.Renamed, "Renamed.")
def rename(request: Request, name: Name, body: requests.Rename, user: Writer, key: Key = None) -> Any:
    """Another name for a campaign; everything else stays. It is found under the new name from now on."""
    try:
        campaign = open_campaign(request, name)
    except UnknownName:
        campaign = _renamed_before(request, name, body.name, key)
    campaign.rename(body.name, key=key)
    forget_campaign(request.app, name)
    return json_response({"campaign": campaign.name, "old": name, "events": campaign.version})


def _renamed_before(request: Request, old: str, new: str, key: str | None) -> Campaign:
    """The campaign, where this request was done before; `UnknownName` where it was not."""
    if key is not None and new in Campaign.names(db_of(request), archived=True):
        found = Campaign.open(new, db_of(request))
        for event in found.events():
            if event.kind == "renamed" and (event.key, event.payload["old"]) == (key, old):
                return found
    return open_campaign(request, old)


@route(router.post, "/archive", "Archive a campaign", responses.Archived, "Archived.")
def archive(request: Request, name: Name, user: Writer, key: Key = None) -> Any:
    """Put a campaign away: it is in no list, and is not split, until it is taken out again."""
    campaign = open_campaign(request, name)
    campaign.archive(key=key)
    return json_response({"campaign": name, "archived": True, "events": campaign.version})


@route(router.post, "/unarchive", "Unarchive a campaign", responses.Archived, "In use again.")
def unarchive(request: Request, name: Name, user: Writer, key: Key = None) -> Any:
    """Take an archived campaign out again."""
    campaign = open_campaign(request, name)
    campaign.unarchive(key=key)
    return json_response({"campaign": name, "archived": False, "events": campaign.version})


@route(router.post, "/clone", "Copy a campaign", responses.Cloned, "The copy.", 201)
def clone(request: Request, name: Name, body: requests.Clone, user: Writer, key: Key = None) -> Any:
    """A copy under another name, which goes its own way; without history only the arms and settings of today."""
    check_may_begin(user)
    made = open_campaign(request, name).clone(body.name, history=body.history, key=key)
    where = f"{PREFIX}/campaigns/{quote(made.name, safe='')}"
    return json_response({"campaign": made.name, "source": name, "events": made.version}, 201, {"Location": where})


@route(router.delete, "", "Delete a campaign", responses.Deleted, "Deleted.")
def delete(
    request: Request,
    name: Name,
    user: Writer,
    confirm: Annotated[
        str, Query(description="The campaign's name once more.", openapi_examples={"ads": {"value": "ads"}})
    ],
) -> Any:
    """Delete a campaign with everything in it, for good. Export it first if you may want it back, or archive it."""
    campaign = open_campaign(request, name)
    events = campaign.version
    campaign.delete(confirm)
    forget_campaign(request.app, name)
    return json_response({"campaign": name, "events": events})


@read(router, "/imports", "All imports", responses.Imports, "The files that were imported, oldest first.")
def imports(request: Request, name: Name, user: Reader) -> Any:
    """The files that were imported, and whether each import was undone."""
    campaign = open_campaign(request, name)
    return tagged(request, campaign.tag, lambda: {"campaign": name, "imports": campaign.imports()})


@route(router.post, "/imports/undo", "Undo the last import", responses.UndoneImport, "Undone.")
def undo_last(request: Request, name: Name, user: Writer, key: Key = None) -> Any:
    """Take back all that the last import brought: its splits are cancelled. The log keeps all of it."""
    return json_response(open_campaign(request, name).undo_import(key=key))


@route(router.post, "/imports/{event}/undo", "Undo an import", responses.UndoneImport, "Undone.")
def undo(request: Request, name: Name, event: EventPath, user: Writer, key: Key = None) -> Any:
    """Take back all that an import brought: its splits are cancelled, and arms that only it used are removed."""
    return json_response(open_campaign(request, name).undo_import(event, key=key))
