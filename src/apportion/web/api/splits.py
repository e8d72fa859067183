"""Splits: ask for one, record its outcomes, correct them, close it. These routes must be quick."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from apportion.campaigns.campaign import Campaign
from apportion.campaigns.plain_data import split_content
from apportion.web.api import requests, responses
from apportion.web.api.describe import PREFIX, Key, Name, Ticket, read, route
from apportion.web.guard.users import Reader, Recorder
from apportion.web.shared import json_response, open_campaign, tagged

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{name}}", tags=["splits"])


@route(router.post, "/splits", "The next split", responses.Split, "The split, with a ticket.", 201)
def split(
    request: Request, name: Name, user: Recorder, body: requests.AskSplit | None = None, key: Key = None
) -> Any:
    """Split the campaign's budget, or another that is given here. Earlier tickets may be open."""
    campaign = open_campaign(request, name)
    with campaign.together():  # the unit of the same moment, without another look at the database
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
    campaign = open_campaign(request, name)
    verb = functools.partial(campaign.record, provisional=body.provisional)
    return _recorded(campaign, ticket, lambda: _told(verb, ticket, body, key))


@route(router.patch, "/splits/{ticket}/outcomes", "Correct outcomes", responses.Recorded, "Corrected.")
def amend(
    request: Request, name: Name, ticket: Ticket, body: requests.Outcomes, user: Recorder, key: Key = None
) -> Any:
    """Correct outcomes that were recorded, or the amounts they came from. The old values stay in the history."""
    campaign = open_campaign(request, name)
    return _recorded(campaign, ticket, lambda: _told(campaign.amend, ticket, body, key))


@route(router.post, "/splits/{ticket}/cancel", "Cancel a split", responses.Recorded, "It was taken back.")
def cancel(request: Request, name: Name, ticket: Ticket, user: Recorder, key: Key = None) -> Any:
    """Take a split back that was not spent. Its number stays taken, and the log keeps it."""
    campaign = open_campaign(request, name)
    return _recorded(campaign, ticket, lambda: campaign.cancel(ticket, key=key))


@route(router.post, "/splits/{ticket}/close", "Close a split", responses.Recorded, "Nothing more is expected.")
def close(request: Request, name: Name, ticket: Ticket, user: Recorder, key: Key = None) -> Any:
    """No result will come for what is still open of a ticket; its provisional totals are final, then."""
    campaign = open_campaign(request, name)
    return _recorded(campaign, ticket, lambda: campaign.close(ticket, key=key))


def _told(verb: Callable[..., None], ticket: int, body: requests.Outcomes, key: str | None) -> None:
    verb(ticket, body.outcomes, body.amounts, confirm=body.confirm, key=key)


def _recorded(campaign: Campaign, ticket: int, write: Callable[[], Any]) -> Response:
    """Do a write; the answer is the ticket at the same moment."""
    with campaign.together():
        write()
        tickets = campaign.open_tickets
    row = {"campaign": campaign.name, "ticket": ticket, "open": ticket in tickets, "open_tickets": len(tickets)}
    return json_response(row)
