"""Signing a browser in and out: a random value in a cookie, whose hash is in the database."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from apportion.campaigns.storage.tokens import SESSION_LENGTH
from apportion.web.guard.credentials import Credentials
from apportion.web.guard.users import SESSION_COOKIE, User


def sign_in(request: Request, response: Response, secret: str) -> User | None:
    """Sign a browser in with a token's secret: sets the cookie; None where the secret is not good."""
    credentials: Credentials = request.app.state.credentials
    session = credentials.tokens.begin_session(secret.strip())
    token = credentials.tokens.check(secret.strip())
    if session is None or token is None:
        return None
    response.set_cookie(
        SESSION_COOKIE, session.value, max_age=int(SESSION_LENGTH.total_seconds()), path="/", httponly=True,
        samesite="strict", secure=request.url.scheme == "https",
    )  # fmt: skip
    return User(token.name, token.scope)


def sign_out(request: Request, response: Response) -> None:
    """End the browser's session, here and in the database."""
    credentials: Credentials = request.app.state.credentials
    credentials.tokens.end_session(request.cookies.get(SESSION_COOKIE, ""))
    credentials.forget()
    response.delete_cookie(
        SESSION_COOKIE, path="/", httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )
