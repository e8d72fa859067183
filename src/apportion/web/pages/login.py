"""Signing in with a token, and out again."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from apportion.web.guard.users import User, check_source, page_reader, sign_in, sign_out
from apportion.web.pages.shared import Form, go, page, safe_next, text

router = APIRouter(include_in_schema=False)


@router.get("/login")
async def ask(request: Request) -> Response:
    """The form."""
    try:
        user: User | None = await page_reader(request)
    except Exception:  # nobody yet: that is what the form is for
        user = None
    return page(request, "login.html", user, section="", next=safe_next(request.query_params.get("next")))


@router.post("/login", dependencies=[Depends(check_source)])
def enter(request: Request, form: Form) -> Response:
    """Let in whoever brings a good token."""
    target = safe_next(text(form, "next"))
    response = go(request, target)
    if sign_in(request, response, text(form, "token")) is not None:
        return response
    sentence = "This token is not known, or was revoked. Ask whoever runs the service for another."
    return page(request, "login.html", None, status=401, section="", next=target, problem=sentence)


@router.post("/logout", dependencies=[Depends(check_source)])
def leave(request: Request) -> Response:
    """End the session."""
    response = go(request, "/login", "You are signed out.")
    sign_out(request, response)
    return response
