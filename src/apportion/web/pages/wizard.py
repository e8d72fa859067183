"""A new campaign in a few steps on one page: an example or a file, what is split, more settings, a preview."""

from __future__ import annotations

from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import FormData

from apportion._common import validation
from apportion._common.formatting import readable
from apportion._common.tables import FileContent
from apportion.allocation.arms import Arms
from apportion.campaigns.bounds import shares_of
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.creation import campaign_name
from apportion.campaigns.examples import EXAMPLES
from apportion.campaigns.settings import SETTINGS
from apportion.errors import ApportionError, Conflict, InvalidValue
from apportion.inference.history import read_history
from apportion.policies.registry import DEFAULT_B
from apportion.web.guard.users import PageReader, PageWriter, User, check_right
from apportion.web.pages.actions import typed_of
from apportion.web.pages.importing import taken_in
from apportion.web.pages.preview import in_words, preview
from apportion.web.pages.setting_fields import new_fields, policy_names, read
from apportion.web.pages.shared import (
    Form,
    campaign_path,
    go,
    number,
    optional,
    page,
    plain_number,
    share,
    status_of,
    text,
)
from apportion.web.pages.uploaded_history import CHOOSE_AGAIN, looked_at, reading_options, uploaded
from apportion.web.shared import db_of, plain

router = APIRouter(include_in_schema=False)

# Rows for arms, at the beginning and at most.
FIRST_ROWS = 3
MOST_ROWS = 500
# By how many percent the arms of the preview differ, unless someone says.
USUAL_DIFFERENCE = "30"
# The settings that have a place of their own on the page; pinned is a smallest and largest share that are the same.
PLACED = ("budget", "unit", "outcome_unit", "every", "whole", "minimise", "minimum", "maximum", "pinned")
# How returns and noise grow is never asked for: the campaign learns it, and the settings take what somebody knows.
LEARNED = ("b", "c", "sigma")
SPECIAL = tuple(name for name in SETTINGS if name not in (*PLACED, *LEARNED))


class Filled(NamedTuple):
    """The form as it was filled in: the options of `Campaign.create`, and what the preview simulates."""

    options: dict[str, Any]
    centre: float
    spread: float
    sigma: float | None
    """The σ of the preview's worlds, where somebody said how far results vary; the campaign learns its own."""


@router.get("/new")
def empty_form(request: Request, user: PageReader) -> HTMLResponse:
    """The empty form, or that of a worked example."""
    check_right(request, user, "manage")
    typed = {"differences": USUAL_DIFFERENCE, "centre": "1", "take_in": "1"}
    example = EXAMPLES.get(request.query_params.get("example", ""))
    if example is None:
        return _page(request, user, typed, _blank(FIRST_ROWS))
    typed |= {
        "example": example.key, "name": example.title, "budget": plain_number(example.budget), "unit": example.unit,
        "outcome_unit": example.outcome_unit, "every": example.every, "whole": "1" if example.whole else "",
    }  # fmt: skip
    rows = [{"arm": arm, "minimum": "", "maximum": ""} for arm in example.arms]
    return _page(request, user, typed, rows, look=looked_at(example.history(), typed))


@router.post("/new")
def submit(request: Request, form: Form, user: PageWriter) -> Response:
    """A longer form, a look at the file, a preview, or the campaign itself: as the button says."""
    typed, rows = typed_of(form), _rows(form)
    example = EXAMPLES.get(typed.get("example", ""))
    file = uploaded(form) or (None if example is None else example.history())
    action = text(form, "action") or "create"
    more: dict[str, Any] = {}
    if action in ("look", "create") and file is not None:
        more["look"] = look = looked_at(file, typed)
        if action != "create" and look is not None and look.arms and not any(row["arm"] for row in rows):
            rows = [{"arm": name, "minimum": "", "maximum": ""} for name in look.arms[:MOST_ROWS]]
    try:
        if action == "row":
            return _page(request, user, typed, [*rows, *_blank(1)][:MOST_ROWS])
        if action == "look":
            if file is None:
                more["problems"] = {"look": "Choose a file first."}
        elif action == "preview":
            filled = _filled(typed, rows)
            found = preview(filled.options, centre=filled.centre, spread=filled.spread, sigma=filled.sigma)
            more["found"] = found
            more["sentences"] = in_words(found, filled.options)
            if typed.get("take_in") and (file is not None or typed.get("looked")):
                more["sentences"].append(
                    "The history is left out of this: with it the campaign knows more from the start."
                )
            more["chart"] = plain({**found._asdict(), "arms": filled.options["arms"], "unit": typed.get("unit")})
        else:
            return _begin(request, file, typed, rows)
    except ApportionError as error:
        part = action if action == "preview" else "create"
        return _page(request, user, typed, rows, **more, status=status_of(error), problems={part: str(error)})
    return _page(request, user, typed, rows, **more)


def _page(
    request: Request, user: User, typed: dict[str, str], rows: list[dict[str, str]], **more: Any
) -> HTMLResponse:
    values = {"problems": {}, "look": None, **more}
    fields = new_fields(typed, ("auto", *(name for name in policy_names(0.5, 1.0, "Odds") if name != "Auto")))
    return page(
        request, "wizard.html", user, typed=typed, rows=rows, examples=tuple(EXAMPLES.values()),
        example=EXAMPLES.get(typed.get("example", "")), fields=fields, special=SPECIAL,
        special_given=any(fields[name].value not in ("", fields[name].placeholder) for name in SPECIAL), **values,
    )  # fmt: skip


def _blank(count: int) -> list[dict[str, str]]:
    return [{"arm": "", "minimum": "", "maximum": ""} for _ in range(count)]


def _rows(form: FormData) -> list[dict[str, str]]:
    """The arms as they were typed: names and bounds of a row stay together."""
    columns = [[str(value).strip() for value in form.getlist(name)] for name in ("arm", "minimum", "maximum")]
    found = [{"arm": arm, "minimum": low, "maximum": high} for arm, low, high in zip(*columns)][:MOST_ROWS]
    return found or _blank(FIRST_ROWS)


# What was typed, as options


def _filled(typed: dict[str, str], rows: list[dict[str, str]]) -> Filled:
    def given(name: str) -> str:
        return typed.get(name, "").strip()

    arms = [row["arm"] for row in rows if row["arm"]]
    lost = [row for row in rows if not row["arm"] and (row["minimum"] or row["maximum"])]
    if lost:
        raise InvalidValue("A row has a share but no arm: give the arm a name, or empty the row.")
    low = {row["arm"]: share(row["minimum"], f"the smallest share of '{row['arm']}'") for row in rows if row["arm"]}
    high = {row["arm"]: share(row["maximum"], f"the largest share of '{row['arm']}'") for row in rows if row["arm"]}
    minimum = {arm: value for arm, value in low.items() if value is not None}
    maximum = {arm: value for arm, value in high.items() if value is not None}
    if not arms:
        raise InvalidValue("At least one arm is needed: write the names of the options in step 2.")
    if not given("budget"):
        raise InvalidValue("The budget per period is missing: write it in step 2.")
    budget = number(given("budget"), "the budget")
    unit = given("unit") or None
    minimum = shares_of(minimum, "minimum", budget, unit)
    maximum = shares_of(maximum, "maximum", budget, unit)
    Arms(arms, minimum, maximum, None)
    swing = optional(given("swing"), "the swing of an outcome")
    sigma = None
    if swing is not None:
        validation.number("budget", budget, above=0.0)
        if swing <= 0:
            raise InvalidValue(f"The swing of an outcome must be above 0; got {readable(swing)}.")
        sigma = swing / (budget / len(arms)) ** DEFAULT_B
    centre = number(given("centre") or "1", "what one unit brings")
    apart = number((given("differences") or USUAL_DIFFERENCE).rstrip("% "), "the difference between arms")
    options = {
        name: SETTINGS[name].check(read(SETTINGS[name], given(name)))
        for name in (*SPECIAL, "unit", "outcome_unit", "every")
        if given(name) or (name in typed and SETTINGS[name].nullable and SETTINGS[name].default is not None)
    }
    if "every" not in options and given("period"):
        options["every"] = SETTINGS["every"].check(given("period"))  # as the file is summed
    options |= {
        "arms": arms,
        "budget": budget,
        "minimum": minimum or None,
        "maximum": maximum or None,
        "minimise": typed.get("aim") == "less",
        "whole": "step" not in options and bool(typed.get("whole")),
    }
    return Filled(options, centre, abs(apart) / 100.0 * abs(centre), sigma)


# The campaign


def _begin(request: Request, file: FileContent | None, typed: dict[str, str], rows: list[dict[str, str]]) -> Response:
    """Begin the campaign, with its history where that is wanted."""
    if not typed.get("name", "").strip():
        raise InvalidValue("The campaign needs a name: write one in step 2.")
    name = campaign_name(typed["name"].strip())
    filled, db = _filled(typed, rows), db_of(request)
    if name in Campaign.names(db):
        raise Conflict(f"There is a campaign '{name}' already; choose another name in step 2.")
    if typed.get("take_in") and file is None and typed.get("looked"):
        raise InvalidValue(CHOOSE_AGAIN)
    if not typed.get("take_in") or file is None:
        Campaign.create(name, db=db, **filled.options)
        return go(request, f"{campaign_path(name)}#next", f"Campaign {name} is begun. Ask for its first split.")
    options = reading_options(typed)
    if not read_history(file, **options).observations:  # what is wrong with it is said before anything is begun
        raise InvalidValue(f"The file {file.name!r} has no rows with an amount above 0.")
    campaign = Campaign.create(name, db=db, **filled.options)
    done = campaign.import_history(file, add_arms=True, **options)
    message = f"Campaign {name} is begun, and {taken_in(done)} Ask for the next split."
    return go(request, campaign_path(name), message)
