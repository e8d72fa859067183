"""Splits: ask for one, record its outcomes, correct them, close it. These routes must be quick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from apportion.campaigns.campaign import Campaign
from apportion.campaigns.plain_data import split_content
from apportion.web.api import requests, responses
from apportion.web.api.describe import PREFIX, Key, Name, Ticket, read, route
from apportion.web.guard.users import Reader, Recorder
from apportion.web.shared import json_response, open_campaign, tagged, writing_campaign

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{name}}", tags=["splits"])


@route(router.post, "/splits", "The next split", responses.Split, "The split, with a ticket.", 201)
def split(
    request: Request, name: Name, user: Recorder, body: requests.AskSplit | None = None, key: Key = None
) -> Any:
    """Split the campaign's budget, or another that is given here. Earlier tickets may be open."""
    with writing_campaign(request, name) as campaign:  # the unit of the same moment, without another look for it
        given = campaign.split(key=key) if body is None else campaign.split(body.budget, date=body.date, key=key)
        unit = campaign.unit
    where = f"{PREFIX}/campaigns/{quote(name, safe='')}/splits/{given.ticket}"
    return json_response(split_content(name, unit, given), 201, {"Location": where})


@read(router, "/splits/{ticket}", "A split explained", responses.Split, "The split as it was given.")
def explain(request: Request, name: Name, ticket: Ticket, user: Reader) -> Any:
    """The split of a ticket with the beliefs and reasons of its time."""
    campaign = open_campaign(request, name)
    return tagged(request, campaign.tag, lambda: split_content(name, campaign.unit, campaign.explain(ticket)))


@route(router.post, "/splits/{ticket}/outcomes", "Record outcomes", responses.Recorded, "Recorded.")
def record(
    request: Request, name: Name, ticket: Ticket, body: requests.RecordedOutcomes, user: Recorder, key: Key = None
) -> Any:
    """Record outcomes: for some arms or all, late, in any order. The same again changes nothing.

    Totals so far are `provisional`: what is recorded next replaces them, and the ticket stays open until it is final.
    """

    def told(campaign: Campaign) -> None:
        given = body.outcomes, body.amounts
        campaign.record(ticket, *given, provisional=body.provisional, confirm=body.confirm, key=key)

    return _recorded(request, name, ticket, told)


@route(router.patch, "/splits/{ticket}/outcomes", "Correct outcomes", responses.Recorded, "Corrected.")
def amend(
    request: Request, name: Name, ticket: Ticket, body: requests.Outcomes, user: Recorder, key: Key = None
) -> Any:
    """Correct outcomes that were recorded, or the amounts they came from. The old values stay in the history."""

    def told(campaign: Campaign) -> None:
        campaign.amend(ticket, body.outcomes, body.amounts, confirm=body.confirm, key=key)

    return _recorded(request, name, ticket, told)


@route(router.post, "/splits/{ticket}/cancel", "Cancel a split", responses.Recorded, "It was taken back.")
def cancel(request: Request, name: Name, ticket: Ticket, user: Recorder, key: Key = None) -> Any:
    """Take a split back that was not spent. Its number stays taken, and the log keeps it."""
    return _recorded(request, name, ticket, lambda campaign: campaign.cancel(ticket, key=key))


@route(router.post, "/splits/{ticket}/close", "Close a split", responses.Recorded, "Nothing more is expected.")
def close(request: Request, name: Name, ticket: Ticket, user: Recorder, key: Key = None) -> Any:
    """No result will come for what is still open of a ticket; its provisional totals are final, then."""
    return _recorded(request, name, ticket, lambda campaign: campaign.close(ticket, key=key))


def _recorded(request: Request, name: str, ticket: int, write: Callable[[Campaign], Any]) -> Response:
    """Do a write; the answer is the ticket at the same moment."""
    with writing_campaign(request, name) as campaign:
        write(campaign)
        tickets = campaign.open_tickets
    row = {"campaign": campaign.name, "ticket": ticket, "open": ticket in tickets, "open_tickets": len(tickets)}
    return json_response(row)
