"""Signing in with a token or with a provider, and out again."""

from __future__ import annotations

import logging

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from apportion.web.guard.openid import OpenID, SignInFailed, unpacked
from apportion.web.guard.users import (
    Refused,
    User,
    address_of,
    check_failures,
    check_source,
    page_reader,
    sign_in,
    sign_in_person,
    sign_out,
)
from apportion.web.pages.shared import Form, go, page, safe_next, text

PENDING_COOKIE = "apportion_sign_in"
PENDING_SECONDS = 600
LONGEST_NEXT = 1000  # of a path that the cookie holds

router = APIRouter(include_in_schema=False)

log = logging.getLogger("apportion.web")


def _form(request: Request, user: User | None, target: str, status: int = 200, problem: str = "") -> Response:
    openid: OpenID | None = request.app.state.openid
    name = None if openid is None else openid.provider.name
    return page(request, "login.html", user, status=status, section="", next=target, provider=name, problem=problem)


@router.get("/login")
async def ask(request: Request) -> Response:
    """The form."""
    try:
        user: User | None = await page_reader(request)
    except Exception:  # nobody yet: that is what the form is for
        user = None
    return _form(request, user, safe_next(request.query_params.get("next")))


@router.post("/login", dependencies=[Depends(check_source)])
def enter(request: Request, form: Form) -> Response:
    """Let in whoever brings a good token."""
    target = safe_next(text(form, "next"))
    response = go(request, target)
    sentence = "This token is not known, or was revoked. Ask whoever runs the service for another."
    try:
        if sign_in(request, response, text(form, "token")) is not None:
            return response
        status, headers = 401, {}
    except Refused as error:
        status, sentence, headers = error.status, error.sentence, {"Retry-After": str(error.wait)}
    refusal = _form(request, None, target, status, sentence)
    refusal.headers.update(headers)
    return refusal


@router.get("/login/openid")
async def lead(request: Request) -> Response:
    """To the provider, where there is one."""
    target = safe_next(request.query_params.get("next"))
    try:
        openid = _openid(request)
        back = str(request.url_for("come_back"))
        url, pending = await openid.begin(back, target if len(target) <= LONGEST_NEXT else "/")
    except SignInFailed as error:
        return _form(request, None, target, error.status, error.sentence)
    response = RedirectResponse(url, status_code=303)
    # Lax, not Strict: the browser comes back from another site, and must bring it.
    response.set_cookie(
        PENDING_COOKIE, pending.packed(), max_age=PENDING_SECONDS, path="/login", httponly=True, samesite="lax",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return response


@router.get("/login/callback")
async def come_back(request: Request) -> Response:
    """Back from the provider: let in whom it names, where an administrator has let them in."""
    openid, pending = _openid(request), unpacked(request.cookies.get(PENDING_COOKIE))
    target = safe_next(None if pending is None else pending.next)
    try:
        names = await openid.finish(pending, request.query_params)
    except SignInFailed as error:
        if error.status == 401:
            request.app.state.credentials.failed.add(address_of(request))
        response = _form(request, None, target, error.status, error.sentence)
    else:
        # A page that leads on, not a redirect: where another site led, the browser would not send the cookie of the
        # session, which is SameSite=Strict.
        response = page(request, "signed_in.html", None, section="", next=target)
        if not await run_in_threadpool(sign_in_person, request, response, names):
            log.warning("unknown person", extra={"fields": {"client": address_of(request), "names": names}})
            response = _form(request, None, target, 403, _unknown(names))
    response.delete_cookie(PENDING_COOKIE, path="/login", httponly=True, samesite="lax",
                           secure=request.url.scheme == "https")  # fmt: skip
    return response


def _openid(request: Request) -> OpenID:
    """The provider of the service, for whoever did not fail too often; 404 where there is none."""
    openid: OpenID | None = request.app.state.openid
    if openid is None:
        raise HTTPException(404)
    check_failures(request.app.state.credentials, "", address_of(request))
    return openid


def _unknown(names: tuple[str, ...]) -> str:
    who = names[0] if names else "You"
    verified = "" if "@" in who else " The provider has not verified an email address of yours."
    return f"{who}: nobody of this name may use this service.{verified} Ask whoever runs it to let you in."


@router.post("/logout", dependencies=[Depends(check_source)])
def leave(request: Request) -> Response:
    """End the session."""
    response = go(request, "/login", "You are signed out.")
    sign_out(request, response)
    return response
