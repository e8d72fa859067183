"""The page that imports a history into a campaign: choose a file, see what is in it, take it in."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from apportion._common.formatting import counted
from apportion.campaigns.importing import Imported
from apportion.errors import ApportionError, InvalidValue
from apportion.web.guard.users import PageReader, PageWriter, User, check_right
from apportion.web.pages.actions import typed_of
from apportion.web.pages.shared import Form, campaign_path, go, key_of, page, status_of, text
from apportion.web.pages.uploaded_history import looked_at, reading_options, uploaded
from apportion.web.shared import open_campaign

router = APIRouter(include_in_schema=False)


@router.get("/campaigns/{name}/import")
def empty_form(request: Request, name: str, user: PageReader) -> HTMLResponse:
    """The empty form."""
    check_right(request, user, "manage")
    return _page(request, user, open_campaign(request, name).name, {})


@router.post("/campaigns/{name}/import")
def submit(request: Request, name: str, form: Form, user: PageWriter) -> Response:
    """What is in the file, or the import of it: as the button says."""
    campaign, typed, file = open_campaign(request, name), typed_of(form), uploaded(form)
    if text(form, "action") == "look":
        problem = "" if file else "Choose a file first."
        return _page(request, user, campaign.name, typed, look=looked_at(file, typed), problem=problem)
    try:
        if file is None:
            raise InvalidValue("Choose a file first.")
        done = campaign.import_history(
            file, add_arms=bool(typed.get("add_arms")), again=bool(typed.get("again")), key=key_of(form),
            **reading_options(typed),
        )  # fmt: skip
    except ApportionError as error:
        look = looked_at(file, typed)
        said = "" if look is not None and look.problem == str(error) else str(error)
        return _page(request, user, campaign.name, typed, status=status_of(error), look=look, problem=said)
    return go(request, campaign_path(name), taken_in(done))


def taken_in(done: Imported) -> str:
    """What was taken in, and by which rules."""
    rows = f"{counted(done.rows, 'row')} of {done.file} {'was' if done.rows == 1 else 'were'} taken in"
    return " ".join((f"{rows}, as {counted(done.tickets, 'split')}.", *done.notes))


def _page(request: Request, user: User, name: str, typed: dict[str, str], **values: Any) -> HTMLResponse:
    return page(request, "import.html", user, name=name, typed=typed, **{"look": None, "problem": "", **values})
