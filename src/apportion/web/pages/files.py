"""A campaign to take away: the history as CSV, everything as JSON, the report as one HTML file."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response

from apportion._common import optional
from apportion.campaigns.files import export_csv, export_json
from apportion.errors import InvalidValue
from apportion.web.guard.users import PageReader
from apportion.web.shared import open_campaign

router = APIRouter(include_in_schema=False)


def _file(content: str, name: str, media_type: str) -> Response:
    """A file to be saved, never shown: its content is not of our making."""
    plain = "".join(mark if mark.isascii() and (mark.isalnum() or mark in "-_.") else "_" for mark in name)
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    return Response(content, media_type=media_type, headers={"Content-Disposition": disposition})


@router.get("/campaigns/{name}/export.csv")
def history(request: Request, name: str, user: PageReader) -> Response:
    """The history, a line per split and arm."""
    return _file(export_csv(open_campaign(request, name)), f"{name}.csv", "text/csv; charset=utf-8")


@router.get("/campaigns/{name}/export.json")
def everything(request: Request, name: str, user: PageReader) -> Response:
    """Everything that ever happened; `apportion restore` brings it back with identical state."""
    return _file(export_json(open_campaign(request, name)), f"{name}.json", "application/json")


@router.get("/campaigns/{name}/report")
def report(request: Request, name: str, user: PageReader) -> Response:
    """The report that `apportion report` writes: one file that asks nothing of any network."""
    from apportion.campaigns.report import campaign_page

    campaign = open_campaign(request, name)
    try:
        content = campaign_page(campaign).html()
    except ImportError:
        raise InvalidValue(optional.missing_sentence("plot", "The report")) from None
    return _file(content, f"{name}.html", "text/html; charset=utf-8")
