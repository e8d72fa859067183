"""What all pages share: templates, messages to the user, what people type (numbers: `_common.parsing`)."""

from __future__ import annotations

import functools
import secrets
from collections.abc import AsyncIterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.templating import Jinja2Templates
from markupsafe import Markup, escape
from starlette.datastructures import FormData

from apportion._common.formatting import percent, readable, side_by_side
from apportion._common.parsing import number as number
from apportion._common.parsing import plain
from apportion._version import __version__
from apportion.campaigns.bounds import SIGNS
from apportion.errors import ApportionError, Conflict, InvalidValue, StoreUnavailable, UnknownName
from apportion.web.guard.users import User, campaign_of

HERE = Path(__file__).parent.parent
STATIC = HERE / "static"

# As many arms have a colour of their own; after them the colours come again, with a pattern. `chart.js` has the same.
COLOURS = 12
PATTERNS = 4

FLASH_COOKIE = "apportion_flash"
FLASH_LONGEST = 1200
FLASH_SECONDS = 30

Typed = Mapping[str, str]

# The parameters of the addresses of pages.
_PARAMETERS = ("q", "archived", "find", "page", "board", "arms", "rows")


async def _form(request: Request) -> AsyncIterator[FormData]:
    async with request.form() as form:
        yield form


Form = Annotated[FormData, Depends(_form)]
"""The fields of a form that was sent; an uploaded file is closed when the request is done."""


# Responses


def page(
    request: Request, template: str, user: Any, *, status: int = 200, section: str = "campaigns", **values: Any
) -> HTMLResponse:
    """A page from a template, with the message that the request before left for this one."""
    # A page that is fetched in the background leaves the message for the one that is looked at.
    flash = None if request.headers.get("x-live") else request.cookies.get(FLASH_COOKIE)
    context = {
        "user": user,
        "version": __version__,
        "section": section,
        "flash": unquote(flash) if flash else None,
        **_allowed(request, user),
        **values,
    }
    response = _templates().TemplateResponse(request, template, context, status_code=status)
    response.headers["Cache-Control"] = "no-store"
    if flash:
        response.delete_cookie(FLASH_COOKIE, httponly=True, samesite="strict")
    return response


def _allowed(request: Request, user: User | None) -> dict[str, bool]:
    """What the user may do here: with the campaign of the page, or where it has none, with all of them."""
    if user is None:
        return {"may_record": False, "may_write": False}
    campaign = campaign_of(request)
    if campaign is None:
        return {"may_record": user.may_begin, "may_write": user.may_begin}
    return {"may_record": user.may("record", campaign), "may_write": user.may("manage", campaign)}


def go(request: Request, path: str, message: str = "") -> RedirectResponse:
    """Lead to another page after a form was taken in, with a message to show there."""
    response = RedirectResponse(path, status_code=303)
    if message:
        cut = message if len(message) <= FLASH_LONGEST else message[: FLASH_LONGEST - 1] + "…"
        response.set_cookie(
            FLASH_COOKIE, quote(cut), max_age=FLASH_SECONDS, httponly=True, samesite="strict",
            secure=request.url.scheme == "https",
        )  # fmt: skip
    return response


_EXPLANATIONS = {
    400: ("This request cannot be understood", "Go back, check what was typed, and send it again."),
    401: ("Please sign in", "This page is for those who hold a token of this service."),
    403: ("Not allowed", "Your token may read but not change, or the request did not come from a page of ours."),
    404: ("There is nothing here", "The address may be mistyped, or the campaign may have another name."),
    405: ("This cannot be done here", "Go back and use the buttons of the page."),
    409: ("This contradicts what is recorded", "Load the page again to see what changed."),
    413: ("That is too large", "Send a smaller file; a history of some thousand rows is plenty to learn from."),
    422: ("Something in the request is not as it should be", "Go back, check what was typed, and send it again."),
    429: ("Too much at once", "Wait until the other requests are done, and try again."),
    500: ("Something went wrong on our side", "Nothing that was acknowledged is lost. Try again in a moment."),
    503: ("The service cannot do this now", "Try again in a moment; go back and send it again, and it is done once."),
}


def error_page(
    request: Request, status: int, sentence: str = "", user: Any = None, again: Mapping[str, str] | None = None
) -> HTMLResponse:
    """A page for what went wrong: what it was, and what to do next. `sentence` is shown as it is.

    `again`: the fields of a form that can be sent once more as they are, under the same key.
    """
    title, advice = _EXPLANATIONS.get(status, _EXPLANATIONS[500 if status >= 500 else 400])
    return page(request, "error.html", user, status=status, section="", code=status, title=title, advice=advice,
                sentence=sentence, again=again)  # fmt: skip


def status_of(error: ApportionError) -> int:
    """The HTTP status of a refusal."""
    if isinstance(error, StoreUnavailable):
        return 503
    return 404 if isinstance(error, UnknownName) else 409 if isinstance(error, Conflict) else 422


def safe_next(path: str | None) -> str:
    """Where to go after signing in: a path of this service, never another host."""
    parts = urlsplit(path or "/")
    local = (path or "").startswith("/") and not (path or "").startswith(("//", "/\\"))
    return path if path and local and not parts.netloc and not parts.scheme and path.isprintable() else "/"


def campaign_path(name: str, *more: Any) -> str:
    """The path of a campaign's page, or of something below it."""
    return "/".join(("/campaigns", *(quote(str(part), safe="") for part in (name, *more))))


def page_number(request: Request, name: str = "page") -> int:
    """Which page of a list is asked for; 1 where none is, or what is no number."""
    wanted = request.query_params.get(name, "1")
    return int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else 1


def other_parameters(request: Request, *names: str) -> str:
    """What else the address says, for links that must go on saying it: all known parameters but these."""
    kept = {name: value for name, value in request.query_params.items() if name in _PARAMETERS and name not in names}
    return urlencode(kept)


def fresh_key() -> str:
    """A key for a form: sent twice, it is done once."""
    return secrets.token_urlsafe(16)


def key_of(form: FormData) -> str | None:
    """The key of a form that was sent."""
    return text(form, "key")[:200] or None


# What people type


def text(form: Any, name: str) -> str:
    """The text of a field, without blanks around it; empty where there is none."""
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def optional(typed: str, what: str) -> float | None:
    """A number, or None where nothing was typed."""
    return number(typed, what) if typed else None


def whole(typed: str, what: str) -> int | None:
    """A whole number, or None where nothing was typed."""
    value = optional(typed, what)
    if value is not None and value != int(value):
        raise InvalidValue(f"{what[:1].upper()}{what[1:]} must be a whole number; got {typed[:60]!r}.")
    return None if value is None else int(value)


def share(typed: str, what: str) -> float | str | None:
    """A percentage as a share: '5' and '5%' are 0.05. With a unit it is an amount, which the campaign reads."""
    bare = typed.rstrip("% ")
    if any(mark.isalpha() or mark in SIGNS for mark in bare) and any(mark.isdigit() for mark in bare):
        return typed
    value = optional(bare, what)
    if value is not None and not 0.0 <= value <= 100.0:
        raise InvalidValue(f"{what[:1].upper()}{what[1:]} must be a percentage from 0 to 100; got {typed[:60]!r}.")
    return None if value is None else value / 100.0


def plain_number(value: float | None) -> str:
    """A number for a field: every digit, no separators, and read back as it is; empty for None.

    >>> plain_number(5000.0), plain_number(2.125), plain_number(None)
    ('5000', '2.1250', '')
    """
    if value is None:
        return ""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else plain(value)


def plain_percent(value: float) -> str:
    """A share as the number of its percentage, for a field."""
    return plain_number(float(f"{100 * value:.10g}"))


# In templates


def money(amount: float | None, unit: str | None = None) -> str:
    """An amount with its unit; cents as cents.

    >>> money(5000.0, "EUR"), money(9.71), money(None)
    ('5,000 EUR', '9.71', '–')
    """
    value = None if amount is None else float(amount)
    cents = value is not None and 0.01 <= abs(value) < 1e12 and not value.is_integer() and round(value, 2) == value
    return f"{f'{value:,.2f}' if cents else readable(value)} {unit or ''}".rstrip()


def when(moment: str | None) -> str:
    """A moment of the log to the minute; a date of an imported history as it is."""
    return (moment or "–")[:16].replace("T", " ")


def arm_classes(index: int | None) -> str:
    """The classes that give an arm its colour and pattern: any two of the first 48 differ. None: no arm of its own.

    >>> arm_classes(3), arm_classes(15), arm_classes(None)
    ('arm-3', 'arm-3 pattern-1', 'arm-others')
    """
    if index is None:
        return "arm-others"
    pattern = hatch_of(index)
    return f"arm-{index % COLOURS}" + (f" pattern-{pattern}" if pattern else "")


def hatch_of(index: int | None) -> int:
    """Which pattern lies over the colour of an arm; 0 for none."""
    return 0 if index is None else index // COLOURS % PATTERNS


def with_code(sentence: str) -> Markup:
    """A sentence with `commands` set as code; everything is escaped."""
    parts = sentence.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part) for index, part in enumerate(parts)
    )


def in_one(titles: list[str]) -> str:
    """Titles as one sentence.

    >>> in_one(["Returns move over time", "Amounts hardly change"])
    'Returns move over time; amounts hardly change'
    """
    return "; ".join([*titles[:1], *(title[:1].lower() + title[1:] for title in titles[1:])])


@functools.cache
def _digest(file: str) -> str:
    return sha256((STATIC / file).read_bytes()).hexdigest()[:12]


def static(file: str) -> str:
    """The address of a file of ours; another content has another address, so that no browser shows an old one."""
    return f"/static/{file}?v={_digest(file)}"


@functools.cache
def _templates() -> Jinja2Templates:
    from apportion.web.pages.assets import PLOTLY_URL, style_ids

    templates = Jinja2Templates(HERE / "templates")
    templates.env.trim_blocks = templates.env.lstrip_blocks = True
    templates.env.globals.update(static=static, plotly=PLOTLY_URL, plotly_style_ids=style_ids,
                                 arm_classes=arm_classes, hatch_of=hatch_of, campaign_path=campaign_path,
                                 fresh_key=fresh_key)  # fmt: skip
    templates.env.filters.update(
        readable=readable, percent=percent, money=money, when=when, with_code=with_code, in_one=in_one,
        lower_first=lambda text: text[:1].lower() + text[1:],
        plain=plain_number, plain_percent=plain_percent, together=lambda values: side_by_side(*values),
    )  # fmt: skip
    return templates
