"""The list of campaigns, with where each of them stands."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from apportion._common.recent import Recent
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.history import Line
from apportion.campaigns.status import back_words, cost_shown, per_period
from apportion.campaigns.storage.session import Head
from apportion.campaigns.summary import readable_status
from apportion.web.api.campaigns import checksum
from apportion.web.guard.users import PageReader
from apportion.web.pages.campaign import Leading, leading
from apportion.web.pages.paging import in_pages, matches
from apportion.web.pages.shared import page, page_number
from apportion.web.pages.tickets import Bar, arm_indices, share_bar
from apportion.web.shared import db_of, open_campaign, store_of, versions

router = APIRouter(include_in_schema=False)

CAMPAIGNS_PER_PAGE = 50
MOST_CANCELLED = 10  # so many splits are looked at for the last that was spent


class Row(NamedTuple):
    """One campaign in the list; None where there is not enough data."""

    name: str
    archived: bool = False
    splits: int = 0
    budget: float | None = None
    unit: str | None = None
    leading: Leading | None = None
    open: int = 0
    regret: str | None = None
    shares: Bar = ()
    spent: float = 0.0
    date: str | None = None
    ticket: int = 0
    """The last split that was not cancelled: `shares`, `spent` and `date` are of it."""
    per: str = "per period"
    spent_in_all: float = math.nan
    returned: float = math.nan
    back_unit: str | None = None
    back: str = ""
    """'came back', or 'cost'."""
    broken: str | None = None
    """Why the campaign cannot be read, in a sentence; the rest is empty then."""


class UnitTotal(NamedTuple):
    """The campaigns of one unit together. What came back is not added up: it may be sales here and hours there."""

    unit: str | None
    campaigns: int
    budget: float
    spent: float
    open: int


@router.get("/")
def overview(request: Request, user: PageReader) -> HTMLResponse:
    """All campaigns at a glance."""
    # Before the rows: what happens while they are read is sent by the stream.
    heads = versions(store_of(request.app), functools.partial(user.may, "read"))
    in_use, names = (user.readable(Campaign.names(db_of(request), archived=away)) for away in (False, True))
    away, any_at_all = len(names) - len(in_use), bool(names)
    with_archived = request.query_params.get("archived") == "1"
    wanted = request.query_params.get("q", "").strip()[:200]
    if not with_archived:
        names = in_use
    names = [name for name in names if matches(name, wanted)]
    found = in_pages(names, page_number(request), CAMPAIGNS_PER_PAGE)
    rows = [_known_row(request, name, heads.get(name)) for name in found.rows]
    manages = any(user.may("manage", row.name) for row in rows)
    kept = {**({"q": wanted} if wanted else {}), **({"archived": "1"} if with_archived else {})}
    return page(request, "overview.html", user, rows=rows, total=found.total, at=found.at, pages=found.pages,
                shown=checksum(heads), away=away, manages=manages, with_archived=with_archived, any_at_all=any_at_all,
                wanted=wanted, query=urlencode(kept), sums=unit_totals(rows))  # fmt: skip


def unit_totals(rows: Sequence[Row]) -> list[UnitTotal]:
    """The campaigns of these rows by unit, the units with most campaigns first."""
    by_unit: dict[str | None, list[Row]] = {}
    for row in rows:
        by_unit.setdefault(row.unit or None, []).append(row)
    found = [
        UnitTotal(
            unit, len(own), math.fsum(row.budget or 0.0 for row in own if not row.archived),
            math.fsum(row.spent_in_all for row in own if math.isfinite(row.spent_in_all)),
            sum(row.open for row in own),
        )
        for unit, own in by_unit.items()
    ]  # fmt: skip
    return sorted(found, key=lambda total: (-total.campaigns, total.unit or ""))


def _last_split(campaign: Campaign, period: int) -> list[Line]:
    """The last split that was not cancelled, of the last few; none where all of them were."""
    for ticket in range(period, max(period - MOST_CANCELLED, 0), -1):
        lines = list(campaign.history(ticket, ticket))
        if any(line.state != "cancelled" for line in lines):
            return lines
    return []


def _known_row(request: Request, name: str, head: Head | None) -> Row:
    """The row of a campaign; worked out again only when it has changed since it had that last event."""
    cached: Recent[str, tuple[str, Row]] = request.app.state.rows
    known = cached.get(name)
    if known is not None and head is not None and known[0] == head.tag:
        return known[1]
    campaign = open_campaign(request, name, head)
    row = _row(campaign)
    if head is not None and row.broken is None and campaign.tag == head.tag:  # nothing came in between
        cached.put(name, (head.tag, row))
    return row


def _row(campaign: Campaign) -> Row:
    status = readable_status(campaign)
    if isinstance(status, str):
        return Row(campaign.name, broken=status)
    lines = _last_split(campaign, status.period)
    indices = arm_indices(arm.name for arm in status.arms)
    return Row(
        name=campaign.name,
        archived=status.archived,
        splits=status.splits,
        budget=status.settings.budget,
        unit=status.settings.unit,
        leading=leading(status),
        open=len(status.open_tickets),
        regret=None if math.isnan(status.expected_regret) else cost_shown(status),
        shares=share_bar({line.arm: line.amount for line in lines}, indices),
        spent=math.fsum(line.amount for line in lines),
        date=lines[0].date if lines else None,
        ticket=lines[0].ticket if lines else 0,
        per=per_period(status.settings),
        spent_in_all=status.spent,
        returned=status.returned,
        back_unit=status.settings.outcome_unit,
        back=back_words(status.settings)[0].lower(),
    )
