"""A new campaign in a few steps on one page: what is split, how outcomes vary, more settings, a preview."""

from __future__ import annotations

from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import FormData

from apportion._common import validation
from apportion._common.formatting import readable
from apportion._common.tables import FileContent
from apportion.allocation.arms import Arms
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.creation import campaign_name
from apportion.campaigns.settings import SETTINGS, NumberOrPerArm
from apportion.errors import ApportionError, Conflict, InvalidValue
from apportion.inference.history import read_history
from apportion.policies.registry import DEFAULT_B
from apportion.web.guard.users import PageReader, PageWriter, Refused, User
from apportion.web.pages.actions import typed_of
from apportion.web.pages.importing import taken_in
from apportion.web.pages.preview import in_words, preview
from apportion.web.pages.setting_fields import new_fields, policy_names, read
from apportion.web.pages.shared import Form, campaign_path, go, number, optional, page, share, status_of, text
from apportion.web.pages.uploaded_history import (
    CHOOSE_AGAIN,
    fit_in_form,
    looked_at,
    measured,
    reading_options,
    uploaded,
)
from apportion.web.shared import db_of, plain

router = APIRouter(include_in_schema=False)

# Rows for arms, at the beginning and at most.
FIRST_ROWS = 3
MOST_ROWS = 500
# By how many percent the arms of the preview differ, unless someone says.
USUAL_DIFFERENCE = "30"
# The settings that have a place of their own on the page; pinned is a smallest and largest share that are the same.
PLACED = ("budget", "unit", "whole", "minimise", "minimum", "maximum", "pinned", "b")
SPECIAL = tuple(name for name in SETTINGS if name not in PLACED)


class Choice(NamedTuple):
    """An answer to "does half the amount tell you half as much?"."""

    key: str
    b: float | None
    title: str
    story: str


CHOICES = (
    Choice("unsure", None, "I am not sure",
           "Right for most: the policy Auto learns b and σ from the outcomes, and the campaign's page says what it "
           "has learned."),
    Choice("half", 0.5, "Yes, half as much",
           "Many small independent results add up: clicks, orders, patients, parts."),
    Choice("more", 0.75, "More than half, about 70%",
           "Part of the variation is shared by the whole period, like the weather or the news. A small amount shows "
           "most of it."),
    Choice("all", 1.0, "Just as much",
           "The outcome is the amount times a rate that is the same for 1 and for 1,000: prices of shares, interest, "
           "exchange rates."),
    Choice("less", 0.25, "Less than half, about a third",
           "Much of the swing has nothing to do with the amount: errors of measurement, other business in the same "
           "figures. Small amounts drown in it."),
    Choice("history", None, "I have a history",
           "The file of step 1 can say how much results vary; the campaign goes on learning from there."),
    Choice("exact", None, "I know b", "A number from 0 to 1."),
)  # fmt: skip


class Filled(NamedTuple):
    """The form as it was filled in: the options of `Campaign.create`, and what the preview simulates."""

    options: dict[str, Any]
    centre: float
    spread: float
    means: dict[str, float]
    b: float | None
    sigma: NumberOrPerArm | None
    """b and σ of the preview's worlds, where something is known of them; the campaign may have to learn them."""


@router.get("/new")
def empty_form(request: Request, user: PageReader) -> HTMLResponse:
    """The empty form."""
    if user.scope != "write":
        raise Refused(403, f"Token '{user.name}' may only read: to begin a campaign takes one of scope write.")
    return _page(
        request, user, {"choice": CHOICES[0].key, "differences": USUAL_DIFFERENCE, "centre": "1", "take_in": "1"},
        _blank(FIRST_ROWS),
    )  # fmt: skip


@router.post("/new")
def submit(request: Request, form: Form, user: PageWriter) -> Response:
    """A longer form, a look at the file, a fit, a preview, or the campaign itself: as the button says."""
    typed, rows, file = typed_of(form), _rows(form), uploaded(form)
    action = text(form, "action") or "create"
    more: dict[str, Any] = {}
    if action in ("look", "fit", "create") and file is not None:
        more["look"] = look = looked_at(file, typed)
        if action != "create" and look is not None and look.arms and not any(row["arm"] for row in rows):
            rows = [{"arm": name, "minimum": "", "maximum": ""} for name in look.arms[:MOST_ROWS]]
    try:
        if action == "row":
            return _page(request, user, typed, [*rows, *_blank(1)][:MOST_ROWS])
        if action == "look":
            if file is None:
                more["problems"] = {"look": "Choose a file first."}
        elif action == "fit":
            typed = measured(file, typed)
            more["fresh_fit"] = True
        elif action == "preview":
            filled = _filled(typed, rows)
            found = preview(
                filled.options, centre=filled.centre, spread=filled.spread, means=filled.means, b=filled.b,
                sigma=filled.sigma,
            )  # fmt: skip
            more["found"] = found
            more["sentences"] = in_words(found, filled.options)
            if typed.get("take_in"):
                more["sentences"].append(
                    "The history is left out of this: with it the campaign knows more from the start."
                )
            more["chart"] = plain({**found._asdict(), "arms": filled.options["arms"], "unit": typed.get("unit")})
        else:
            return _begin(request, file, typed, rows)
    except ApportionError as error:
        part = action if action in ("fit", "preview") else "create"
        return _page(request, user, typed, rows, **more, status=status_of(error), problems={part: str(error)})
    return _page(request, user, typed, rows, **more)


def _page(
    request: Request, user: User, typed: dict[str, str], rows: list[dict[str, str]], **more: Any
) -> HTMLResponse:
    values = {"problems": {}, "look": None, **more}
    fields = new_fields(typed, ("auto", *(name for name in policy_names(0.5, 1.0, "Odds") if name != "Auto")))
    return page(
        request, "wizard.html", user, typed=typed, rows=rows, choices=CHOICES, fitted=fit_in_form(typed),
        fields=fields, special=SPECIAL,
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
    Arms(arms, minimum, maximum, None)
    if not given("budget"):
        raise InvalidValue("The budget per period is missing: write it in step 2.")
    budget = number(given("budget"), "the budget")
    fitted = fit_in_form(typed)
    b = world = _b(typed, fitted)
    auto = (given("policy") or "auto").lower() == "auto"
    if typed.get("choice") == "history" and not typed.get("fix") and auto:
        b = None  # what was measured is held on to where that is asked for, or where nothing could learn it
    sigma = read(SETTINGS["sigma"], given("sigma"))
    swing = optional(given("swing"), "the swing of an outcome")
    if sigma is None and swing is not None:
        validation.number("budget", budget, above=0.0)
        if swing <= 0:
            raise InvalidValue(f"The swing of an outcome must be above 0; got {readable(swing)}.")
        sigma = swing / (budget / len(arms)) ** (DEFAULT_B if world is None else world)
    if sigma is None and fitted and typed.get("choice") == "history":
        sigma = float(fitted["sigma"])
    # What a swing or a fit says of σ is for one b only: where Auto is to learn b, it learns σ with it.
    learns = b is None and auto and not given("sigma")
    centre = number(given("centre") or "1", "what one unit brings")
    apart = number((given("differences") or USUAL_DIFFERENCE).rstrip("% "), "the difference between arms")
    options = {
        name: SETTINGS[name].check(read(SETTINGS[name], given(name)))
        for name in (*SPECIAL, "unit")
        if given(name) or (name in typed and SETTINGS[name].nullable and SETTINGS[name].default is not None)
    }
    options |= {
        "arms": arms,
        "budget": budget,
        "b": b,
        "sigma": None if learns else sigma,
        "minimum": minimum or None,
        "maximum": maximum or None,
        "minimise": typed.get("aim") == "less",
        "whole": "step" not in options and bool(typed.get("whole")),
    }
    means = {str(arm): float(mean) for arm, mean in (fitted or {}).get("means", {}).items()}
    scale = abs(centre) if not means else max(abs(sum(means.values()) / len(means)), 1e-300)
    return Filled(options, centre, abs(apart) / 100.0 * scale * (0.5 if means else 1.0), means, world, sigma)


def _b(typed: dict[str, str], fitted: dict[str, Any] | None) -> float | None:
    choice = typed.get("choice", "")
    if choice == "exact":
        return number(typed.get("b", ""), "b")
    if choice == "history":
        if fitted is not None:
            return float(fitted["b"])
        auto = (typed.get("policy", "").strip() or "auto").lower() == "auto"
        if typed.get("looked") and auto and not typed.get("fix"):
            return None
        raise InvalidValue(
            "There is no history yet: choose the file in step 1 and measure, or choose another answer."
        )
    known = {item.key: item.b for item in CHOICES}
    if choice not in known:
        raise InvalidValue("How much does half the amount tell? Choose an answer in step 3.")
    return known[choice]


# The campaign


def _begin(request: Request, file: FileContent | None, typed: dict[str, str], rows: list[dict[str, str]]) -> Response:
    """Begin the campaign, with its history where that is wanted."""
    if not typed.get("name", "").strip():
        raise InvalidValue("The campaign needs a name: write one in step 2.")
    name = campaign_name(typed["name"].strip())
    filled, db = _filled(typed, rows), db_of(request)
    if name in Campaign.names(db):
        raise Conflict(f"There is a campaign '{name}' already; choose another name in step 2.")
    if typed.get("take_in") and file is None and (typed.get("looked") or typed.get("fitted")):
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
