"""The forms that take something back, and those of a campaign as a whole: rename, archive, copy, delete."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from apportion.errors import ApportionError
from apportion.web.guard.users import PageRecorder, PageWriter, check_may_begin
from apportion.web.pages.actions import refused
from apportion.web.pages.shared import Form, campaign_path, go, key_of, text
from apportion.web.shared import forget_campaign, open_campaign

router = APIRouter(include_in_schema=False)


@router.post("/campaigns/{name}/tickets/{ticket}/cancel")
def cancel(request: Request, name: str, ticket: int, user: PageRecorder) -> Response:
    """Take a split back that was not spent."""
    open_campaign(request, name).cancel(ticket)
    return go(request, f"{campaign_path(name)}#next", f"Ticket {ticket} is cancelled: it was not spent.")


@router.post("/campaigns/{name}/imports/{event}/undo")
def undo_import(request: Request, name: str, event: int, user: PageWriter) -> Response:
    """Take back all that an import brought."""
    done = open_campaign(request, name).undo_import(event)
    removed = f" {', '.join(done.arms_removed)} went with it." if done.arms_removed else ""
    return go(request, f"{campaign_path(name)}#history", f"The import of {done.file} is undone.{removed}")


@router.post("/campaigns/{name}/rename")
def rename(request: Request, name: str, form: Form, user: PageWriter) -> Response:
    """Another name."""
    campaign, new = open_campaign(request, name), text(form, "name")
    try:
        campaign.rename(new, key=key_of(form))
    except ApportionError as error:
        return refused(request, user, campaign, form, error, "whole")
    forget_campaign(request.app, name)
    return go(request, campaign_path(new), f"Renamed: {name} is {new} now.")


@router.post("/campaigns/{name}/archive")
def archive(request: Request, name: str, form: Form, user: PageWriter) -> Response:
    """Put the campaign away."""
    open_campaign(request, name).archive()
    back = "/" if text(form, "back") == "list" else campaign_path(name)
    return go(request, back, f"{name} is archived: it is in no list, and is not split.")


@router.post("/campaigns/{name}/unarchive")
def unarchive(request: Request, name: str, form: Form, user: PageWriter) -> Response:
    """Take the campaign out again."""
    open_campaign(request, name).unarchive()
    back = "/" if text(form, "back") == "list" else campaign_path(name)
    return go(request, back, f"{name} is in use again.")


@router.post("/campaigns/{name}/clone")
def clone(request: Request, name: str, form: Form, user: PageWriter) -> Response:
    """A copy under another name."""
    check_may_begin(user)
    campaign = open_campaign(request, name)
    try:
        made = campaign.clone(text(form, "name"), history=not text(form, "fresh"), key=key_of(form))
    except ApportionError as error:
        return refused(request, user, campaign, form, error, "whole")
    return go(request, campaign_path(made.name), f"This is the copy of {name}; it goes its own way.")


@router.post("/campaigns/{name}/delete")
def delete(request: Request, name: str, form: Form, user: PageWriter) -> Response:
    """Delete the campaign, where its name was typed."""
    campaign = open_campaign(request, name)
    try:
        campaign.delete(text(form, "confirm"))
    except ApportionError as error:
        return refused(request, user, campaign, form, error, "delete")
    forget_campaign(request.app, name)
    return go(request, "/", f"{name} is deleted.")
