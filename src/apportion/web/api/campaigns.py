"""Campaigns: begin, list, read, settings, check."""

from __future__ import annotations

import functools
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request

from apportion._common.recent import Recent
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.storage.session import Head
from apportion.campaigns.summary import summary_content
from apportion.policies.registry import policy_from_plain
from apportion.web.api import requests, responses
from apportion.web.api.describe import PREFIX, Key, Limit, Name, read, route
from apportion.web.guard.limits import Heavy
from apportion.web.guard.users import Reader, Writer
from apportion.web.shared import db_of, json_response, open_campaign, store_of, tagged, versions

router = APIRouter(prefix=PREFIX, tags=["campaigns"])


@read(router, "/campaigns", "All campaigns", responses.Campaigns, "Campaigns by name.")
def campaigns(
    request: Request,
    user: Reader,
    after: Annotated[
        str, Query(description="Begin after this name.", openapi_examples={"start": {"value": ""}})
    ] = "",
    limit: Limit = 100,
    archived: Annotated[bool, Query(description="Those that are archived, too.")] = False,
) -> Any:
    """All campaigns by name, with their state at a glance."""
    known = versions(store_of(request.app), functools.partial(user.may, "read"))
    if not archived:
        shown_names = set(Campaign.names(db_of(request)))
        known = {name: version for name, version in known.items() if name in shown_names}
    names = sorted(name for name in known if name > after)
    shown = names[:limit]

    def content() -> Any:
        return {
            "campaigns": [summary(request, name, known[name]) for name in shown],
            "next": shown[-1] if len(names) > limit else None,
        }

    return tagged(request, checksum(known), content)


def checksum(known: dict[str, Head]) -> str:
    """One tag for the versions of all campaigns."""
    from hashlib import sha256

    return sha256(repr(sorted(known.items())).encode("utf-8", "replace")).hexdigest()[:16]


def summary(request: Request, name: str, head: Head) -> dict[str, Any]:
    """A campaign's state at a glance; worked out again only when it has changed."""
    cached: Recent[str, tuple[str, dict[str, Any]]] = request.app.state.summaries
    known = cached.get(name)
    if known is not None and known[0] == head.tag:
        return known[1]
    row = summary_content(open_campaign(request, name, head), head.number)
    if row["events"] == head.number:
        cached.put(name, (head.tag, row))
    return row


@route(router.post, "/campaigns", "Begin a campaign", responses.Status, "The campaign began.", 201)
def create(request: Request, body: requests.NewCampaign, user: Writer, key: Key = None) -> Any:
    """Begin a campaign. What is left out of b and sigma is learned from the outcomes, or assumed; `notes` says."""
    options = body.model_dump()
    options["policy"] = policy_from_plain(options["policy"])
    campaign = Campaign.create(options.pop("name"), options.pop("arms"), **options, key=key, db=db_of(request))
    where = f"{PREFIX}/campaigns/{quote(campaign.name, safe='')}"
    return json_response(campaign.status().to_dict(), 201, {"Location": where})


@read(router, "/campaigns/{name}", "Where a campaign stands", responses.Status, "Where the campaign stands.")
def status(
    request: Request,
    name: Name,
    user: Reader,
    health: Annotated[
        bool, Query(description="Whether to check the health of the data; without it is quicker.")
    ] = True,
) -> Any:
    """Beliefs, open tickets and settings at one moment, and what to know in sentences.

    `return_per_unit` of an arm is the return that screens show: of each unit, where every arm gets
    `return_per_unit_at`. Where returns diminish `mean` is another figure, the return of the first unit.

    `health` has what was found in the data: what it means, what is being done about it, and what you can do.
    """
    campaign = open_campaign(request, name)
    return tagged(request, campaign.tag, lambda: campaign.status(health=health).to_dict())


@read(router, "/campaigns/{name}/settings", "Settings", responses.Settings, "The settings.")
def settings(request: Request, name: Name, user: Reader) -> Any:
    """What the campaign is run by."""
    campaign = open_campaign(request, name)
    return tagged(request, campaign.tag, lambda: campaign.settings)


@route(
    router.patch, "/campaigns/{name}/settings", "Change settings", responses.Settings,
    "The settings after the change.",
)  # fmt: skip
def change(request: Request, name: Name, body: requests.ChangeSettings, user: Writer, key: Key = None) -> Any:
    """Change the settings that are given, all of them or none; the rest stays."""
    changes = body.model_dump(exclude_unset=True)
    if "policy" in changes:
        changes["policy"] = policy_from_plain(changes["policy"])
    return json_response(open_campaign(request, name).change(key=key, **changes))


@route(router.get, "/campaigns/{name}/check", "Check a campaign", responses.Check, "What was found; look at `ok`.")
def check(
    request: Request,
    name: Name,
    user: Reader,
    place: Heavy,
    full: Annotated[bool, Query(description="Rebuild all events of a long campaign, too.")] = False,
) -> Any:
    """Rebuild everything from the events and compare it with what is stored, bit for bit.

    Of a long campaign the last 20,000 events are rebuilt, and digests prove that nothing before them was changed.
    """
    return json_response(open_campaign(request, name).check(full=full))


@route(
    router.post, "/campaigns/{name}/repair", "Check and repair a campaign", responses.Check,
    "What was found before the repair.",
)  # fmt: skip
def repair(request: Request, name: Name, user: Writer) -> Any:
    """The check; where snapshots do not agree with the events, they are made anew from them."""
    return json_response(open_campaign(request, name).check(repair=True))
