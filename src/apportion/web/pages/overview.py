"""The list of campaigns, with where each of them stands."""

from __future__ import annotations

import math
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from apportion.campaigns.campaign import Campaign
from apportion.campaigns.summary import readable_status
from apportion.web.api.campaigns import checksum
from apportion.web.guard.users import PageReader
from apportion.web.pages.campaign import Leading, leading
from apportion.web.pages.shared import page, page_number
from apportion.web.pages.tickets import Bar, arm_indices, share_bar
from apportion.web.shared import db_of, open_campaign, store_of, versions

router = APIRouter(include_in_schema=False)

CAMPAIGNS_PER_PAGE = 50


class Row(NamedTuple):
    """One campaign in the list; None where there is not enough data."""

    name: str
    archived: bool = False
    period: int = 0
    budget: float | None = None
    unit: str | None = None
    leading: Leading | None = None
    open: int = 0
    regret: float | None = None
    shares: Bar = ()
    spent: float = 0.0
    date: str | None = None
    broken: str | None = None
    """Why the campaign cannot be read, in a sentence; the rest is empty then."""


@router.get("/")
def overview(request: Request, user: PageReader) -> HTMLResponse:
    """All campaigns at a glance."""
    # Before the rows: what happens while they are read is sent by the stream.
    version = checksum(versions(store_of(request.app)))
    in_use, names = Campaign.names(db_of(request)), Campaign.names(db_of(request), archived=True)
    away = len(names) - len(in_use)
    with_archived = request.query_params.get("archived") == "1"
    if not with_archived:
        names = in_use
    pages = max(1, math.ceil(len(names) / CAMPAIGNS_PER_PAGE))
    at = min(max(page_number(request), 1), pages)
    first = (at - 1) * CAMPAIGNS_PER_PAGE
    rows = [_row(open_campaign(request, name)) for name in names[first : first + CAMPAIGNS_PER_PAGE]]
    return page(request, "overview.html", user, rows=rows, total=len(names), at=at, pages=pages, shown=version,
                away=away, with_archived=with_archived)  # fmt: skip


def _row(campaign: Campaign) -> Row:
    status = readable_status(campaign)
    if isinstance(status, str):
        return Row(campaign.name, broken=status)
    lines = list(campaign.history(status.period, status.period)) if status.period else []
    indices = arm_indices(arm.name for arm in status.arms)
    return Row(
        name=campaign.name,
        archived=status.archived,
        period=status.period,
        budget=status.settings.budget,
        unit=status.settings.unit,
        leading=leading(status),
        open=len(status.open_tickets),
        regret=None if math.isnan(status.expected_regret) else status.expected_regret,
        shares=share_bar({line.arm: line.amount for line in lines}, indices),
        spent=math.fsum(line.amount for line in lines),
        date=lines[0].date if lines else None,
    )
