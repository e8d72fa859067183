"""The page of a campaign: the next split, what waits, who leads, how it came about, and everything to change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from apportion._common.formatting import chance as chance_shown
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.files import begun_export
from apportion.campaigns.status import Status, cost_shown
from apportion.web.guard.limits import Heavy, HeavyChart
from apportion.web.guard.users import PageReader, User
from apportion.web.pages.leaderboard import board
from apportion.web.pages.over_time import ChartCache, describe_event
from apportion.web.pages.paging import ARMS_PER_PAGE, in_pages, matches
from apportion.web.pages.rule_kinds import KINDS, shown_rules
from apportion.web.pages.setting_fields import current_fields
from apportion.web.pages.shared import Typed, other_parameters, page, page_number
from apportion.web.pages.tickets import arm_indices, history_page, ticket_view
from apportion.web.shared import open_campaign, tagged

router = APIRouter(include_in_schema=False)

# So many open tickets are shown in full, and of them so many rows where there are several; the others by number.
OPEN_SHOWN, ROWS_SHOWN = 3, 24


@router.get("/campaigns/{name}")
def show(request: Request, name: str, user: PageReader) -> HTMLResponse:
    """Where the campaign stands, and what to do next."""
    return campaign_page(request, user, open_campaign(request, name))


@router.get("/campaigns/{name}/over-time")
def series(request: Request, name: str, user: PageReader, place: HeavyChart) -> Response:
    """The data of the chart."""
    campaign = open_campaign(request, name)
    charts: ChartCache = request.app.state.charts
    return tagged(request, campaign.tag, charts.of(campaign).data)


@router.get("/campaigns/{name}/tickets/{ticket}")
def one(request: Request, name: str, ticket: int, user: PageReader) -> HTMLResponse:
    """A ticket: its split, what came back, and the forms to record and to amend."""
    return ticket_page(request, user, open_campaign(request, name), ticket)


@router.get("/campaigns/{name}/check")
def check(request: Request, name: str, user: PageReader, place: Heavy) -> HTMLResponse:
    """Rebuild everything from the log and compare."""
    campaign = open_campaign(request, name)
    return page(request, "check.html", user, name=campaign.name, found=campaign.check())


def campaign_page(
    request: Request,
    user: User,
    campaign: Campaign,
    *,
    problems: Mapping[str, str] | None = None,
    typed: Typed | None = None,
    chosen: Sequence[str] = (),
    status: int = 200,
) -> HTMLResponse:
    """The page; with what went wrong beside the form it belongs to, and what was typed still in it."""
    now = campaign.status()
    indices = arm_indices(arm.name for arm in now.arms)
    wanted = request.query_params.get("find", "").strip()[:200]
    in_use = [arm for arm in now.arms if arm.state != "removed"]
    arms = in_pages([arm for arm in in_use if matches(arm.name, wanted)], page_number(request, "arms"))
    most = min(OPEN_SHOWN, max(1, ROWS_SHOWN // max(len(in_use), 1)))
    shown = list(now.open_tickets[-most:])
    # The form that something is wrong with must be there, however old its ticket.
    shown += [ticket for ticket in now.open_tickets if f"ticket-{ticket}" in (problems or {}) and ticket not in shown]
    last = campaign.events(now.version - 1, 1)
    return page(
        request, "campaign.html", user, status=status,
        now=now, indices=indices, unit=now.settings.unit, board=board(now, wanted, page_number(request, "board")),
        arms=arms, many=len(in_use) > ARMS_PER_PAGE, wanted=wanted,
        others={name: other_parameters(request, name) for name in ("page", "board", "arms", "find")},
        open=[ticket_view(campaign, ticket, indices, most_sure=now.most_sure, wanted=wanted)
              for ticket in sorted(shown, reverse=True)],
        more_open=[ticket for ticket in now.open_tickets if ticket not in shown],
        imports=campaign.imports(),
        history=history_page(campaign, now.period, indices, page_number(request)),
        fields=current_fields(now, typed if problems and "settings" in problems else None),
        rules=shown_rules(now), rule_kinds=KINDS, chosen=tuple(chosen),
        removed=[arm.name for arm in now.arms if arm.state == "removed"],
        notes=now.plain_notes, leading=leading(now), level=f"{100 * now.settings.level:.6g}",
        regret=None if math.isnan(now.expected_regret) else cost_shown(now),
        last_change=describe_event(last[0], now.settings.unit) if last else "",
        problems=problems or {}, typed=typed or {},
    )  # fmt: skip


class Leading(NamedTuple):
    """The arm that leads, and how likely it is the best; None where that cannot be told."""

    arm: str
    chance: str | None


def leading(status: Status) -> Leading | None:
    """Who leads; None before any outcome, and as long as the best mean is no likelier the best than any arm."""
    if status.leader is None:
        return None
    chance, arms = status.beliefs[status.leader].probability_best, int(status.beliefs.in_play.sum())
    if math.isnan(chance) or arms == 1:
        return Leading(status.leader, None)
    # An even chance comes out of a quadrature: a hundredth above it is nothing.
    if chance * arms <= 1.01:
        return None
    said = chance_shown(chance, status.most_sure)
    return Leading(status.leader, None if said.startswith("<") else said)  # "<20% likely" tells nothing of a leader


def ticket_page(
    request: Request,
    user: User,
    campaign: Campaign,
    ticket: int,
    *,
    problems: Mapping[str, str] | None = None,
    typed: Typed | None = None,
    status: int = 200,
) -> HTMLResponse:
    """The page of one ticket."""
    indices = arm_indices(arm.name for arm in campaign.arms)
    wanted = request.query_params.get("find", "").strip()[:200]
    sure = campaign.status().most_sure
    view = ticket_view(campaign, ticket, indices, most_sure=sure, wanted=wanted, at=page_number(request, "rows"))
    settings = campaign.settings
    return page(
        request, "ticket.html", user, status=status, name=campaign.name, split=view, unit=settings.unit,
        minimise=settings.minimise, waiting=any(row.open for row in view.rows), problems=problems or {},
        typed=typed or {}, wanted=wanted, others={name: other_parameters(request, name) for name in ("rows", "find")},
    )  # fmt: skip


# To take away: the history as CSV, everything as JSON, the report as one HTML file


def _file(parts: Iterable[str], name: str, media_type: str) -> Response:
    """A file to be saved, never shown: its content is not of our making. Sent as it is made, piece by piece."""
    plain = "".join(mark if mark.isascii() and (mark.isalnum() or mark in "-_.") else "_" for mark in name)
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    return StreamingResponse(parts, media_type=media_type, headers={"Content-Disposition": disposition})


@router.get("/campaigns/{name}/export.csv")
def history_file(request: Request, name: str, user: PageReader, place: Heavy) -> Response:
    """The history, a line per split and arm."""
    return _file(begun_export(open_campaign(request, name), "csv"), f"{name}.csv", "text/csv; charset=utf-8")


@router.get("/campaigns/{name}/export.json")
def whole_file(request: Request, name: str, user: PageReader, place: Heavy) -> Response:
    """Everything that ever happened; `apportion restore` brings it back with identical state."""
    return _file(begun_export(open_campaign(request, name), "json"), f"{name}.json", "application/json")


@router.get("/campaigns/{name}/report")
def html_report(request: Request, name: str, user: PageReader, place: Heavy) -> Response:
    """The report that `apportion report` writes: one file that asks nothing of any network."""
    from apportion.campaigns import report

    content = report.campaign_page(open_campaign(request, name)).html()
    return _file((content,), f"{name}.html", "text/html; charset=utf-8")
