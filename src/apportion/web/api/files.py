"""Campaigns and histories as files: export, import, restore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from apportion._common import validation
from apportion._common.tables import FileContent
from apportion.campaigns import files
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.importing import Imported
from apportion.errors import IncompatibleState, InvalidValue
from apportion.web.api import examples, responses
from apportion.web.api.describe import PREFIX, Key, Name, route
from apportion.web.guard.limits import Heavy
from apportion.web.guard.users import Reader, SlowWriter, Writer
from apportion.web.shared import CACHED, db_of, etag, json_response, open_campaign, unchanged

router = APIRouter(prefix=PREFIX, tags=["files"])

_KINDS = {
    "csv": ("text/csv; charset=utf-8", ".csv"),
    "json": ("application/json", ".json"),
    "log": ("text/csv; charset=utf-8", ".log.csv"),
}


@router.get(
    "/campaigns/{name}/export",
    response_class=Response,
    responses={
        200: {
            "description": "The file.",
            "content": {
                "application/json": {"schema": {"type": "object"}, "example": examples.EXPORT},
                "text/csv": {"schema": {"type": "string"}, "example": examples.CSV},
            },
        }
    },
    openapi_extra={"x-tagged": True},
    summary="Export a campaign",
)
def export(
    request: Request,
    name: Name,
    user: Reader,
    place: Heavy,
    kind: Annotated[
        Literal["csv", "json", "log"],
        Query(alias="format", description="The history for spreadsheets; or everything, for `restore`."),
    ] = "json",
) -> Any:
    """The history as csv for spreadsheets; everything as json, or as log (CSV), to restore from."""
    campaign = open_campaign(request, name)
    tag = etag(campaign.tag)
    known = unchanged(request, tag)
    if known is not None:
        return known
    media_type, suffix = _KINDS[kind]
    headers = {
        "ETag": tag,
        "Cache-Control": CACHED,
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name + suffix, safe='')}",
    }
    return StreamingResponse(files.begun_export(campaign, kind), headers=headers, media_type=media_type)


_TABLE_BODY = {
    "text/csv": {"schema": {"type": "string"}, "example": examples.CSV},
    "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
}
_RESTORED_BODY = {
    "application/json": {"schema": {"type": "object"}, "example": examples.EXPORT},
    "text/csv": {"schema": {"type": "string"}},
}


async def _whole_body(request: Request, user: SlowWriter) -> bytes:
    return await request.body()


FileBody = Annotated[bytes, Depends(_whole_body)]
"""A file that came whole. It stands before `Writer`: while it comes, it takes no place of those who write."""


def _column(what: str) -> Any:
    return Query(description=f"The column of the {what}.", max_length=200)


@route(
    router.post, "/campaigns/{name}/import", "Import a history", responses.Imported, "All rows were taken in.",
    body=_TABLE_BODY,
)  # fmt: skip
async def import_(
    request: Request,
    name: Name,
    content: FileBody,
    user: Writer,
    file: Annotated[str, Query(description="What the file is called.", max_length=200)] = "history.csv",
    date_column: Annotated[str, _column("dates")] = "date",
    arm_column: Annotated[str, _column("arms")] = "arm",
    amount_column: Annotated[str, _column("amounts")] = "amount",
    outcome_column: Annotated[str, _column("outcomes")] = "outcome",
    period: Annotated[
        Literal["day", "week", "month"] | None, Query(description="Sum the rows of each day, week or month.")
    ] = None,
    decimal: Annotated[
        Literal["point", "comma"] | None, Query(description="Decimal mark; found in the file by default.")
    ] = None,
    delimiter: Annotated[str | None, Query(description="Separator of cells; found in the file by default.")] = None,
    sheet: Annotated[
        str | None,
        Query(description="The sheet of a workbook, by name or number; the first that has the columns by default."),
    ] = None,
    add_arms: Annotated[bool, Query(description="Add arms that are not known.")] = False,
    again: Annotated[
        bool, Query(description="Import it even if it was imported before, or dates and arms of it.")
    ] = False,
    key: Key = None,
) -> Any:
    """Import a file (CSV, .xlsx, Parquet): each date becomes a split that was spent, with its outcomes.

    All rows, or none. Several rows of one date and arm are summed; `notes` says what was done with the rows.
    """
    columns = {"date": date_column, "arm": arm_column, "amount": amount_column, "outcome": outcome_column,
               "period": period, "decimal": decimal, "delimiter": delimiter, "sheet": sheet}  # fmt: skip

    def import_file() -> Imported:
        campaign = open_campaign(request, name)
        return import_content(campaign, content, file, key=key, add_arms=add_arms, again=again, **columns)

    return json_response(await run_in_threadpool(import_file))


def import_content(campaign: Campaign, content: bytes, file: str, **options: Any) -> Imported:
    """`import_history` of a file that came over HTTP."""
    if not file or Path(file).name != file or not file.isprintable() or len(file.encode("utf-8", "replace")) > 200:
        raise validation.refuse("file", "the printable name of a file, without folders", file)
    return campaign.import_history(FileContent(file, content), **options)


@route(
    router.post, "/restore", "Restore a campaign", responses.Restored, "The campaign is back.", 201,
    body=_RESTORED_BODY,
)  # fmt: skip
async def restore(
    request: Request,
    content: FileBody,
    user: Writer,
    name: Annotated[
        str | None, Query(description="Another name for the campaign; a log needs one.", max_length=200)
    ] = None,
    key: Key = None,
) -> Any:
    """Bring back a campaign that was exported as json or log, with identical state."""

    def bring_back() -> Campaign:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidValue("The exported campaign must be UTF-8 text.") from None
        try:
            if text.lstrip()[:1] == "{":
                return files.restore_json(text, db=db_of(request), name=name, key=key)
            if name is None:
                raise InvalidValue("`name` must be given to restore a log.")
            return files.restore_log(text, db=db_of(request), name=name, key=key)
        except IncompatibleState as error:
            raise InvalidValue(str(error)) from None

    campaign = await run_in_threadpool(bring_back)
    version = await run_in_threadpool(lambda: campaign.version)
    where = f"{PREFIX}/campaigns/{quote(campaign.name, safe='')}"
    return json_response({"campaign": campaign.name, "events": version}, 201, {"Location": where})
