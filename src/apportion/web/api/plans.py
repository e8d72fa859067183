"""What may come: plans, forecasts, and how earlier forecasts did."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from apportion._common import validation
from apportion.errors import InvalidValue
from apportion.web.api import plan_responses, requests
from apportion.web.api.describe import PREFIX, Key, Name, read, route
from apportion.web.guard.limits import Heavy
from apportion.web.guard.users import Reader, SlowRecorder
from apportion.web.shared import json_response, open_campaign, tagged

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{name}}", tags=["plans"])

# A forecast asks policies for this many splits at most: about a minute of one core where the policy learns.
LARGEST_FORECAST = 10_000


def _asked(description: str, example: float) -> Any:
    return Query(description=description, openapi_examples={"one": {"value": example}})


@read(router, "/plan", "Plan", plan_responses.Plan, "What a budget may bring back, and its best split.")
def plan(
    request: Request,
    name: Name,
    user: Reader,
    place: Heavy,
    budget: Annotated[float | None, _asked("The budget of a period; the campaign's by default.", 6000)] = None,
    target: Annotated[
        float | None, _asked("Up to which budget does the next unit still bring back so much?", 1.2)
    ] = None,
    goal: Annotated[float | None, _asked("The least budget for so much to come back.", 9000)] = None,
) -> Any:
    """The response curve of each arm with its likely range and the points behind it, return and marginal return of
    other budgets, and the budgets that answer `target` and `goal`."""
    campaign = open_campaign(request, name)
    return tagged(request, campaign.tag, lambda: campaign.plan(budget, target=target, goal=goal).to_dict())


def check_size(periods: int, worlds: Any, policies: Sequence[str] | None) -> None:
    """Refuse a forecast that would keep others waiting."""
    count = math.prod(
        (periods, int(validation.whole("worlds", worlds, low=1)), 2 if policies is None else len(set(policies)))
    )
    if count > LARGEST_FORECAST:
        raise validation.refuse("periods × worlds × policies", f"at most {LARGEST_FORECAST:,}", count)


@read(router, "/forecast", "Forecast, not kept", plan_responses.Forecast, "What the next periods may bring.")
def forecast(
    request: Request,
    name: Name,
    user: Reader,
    place: Heavy,
    periods: Annotated[
        int | None, Query(description="How many periods, with the campaign's budget; 12 by default.", ge=1, le=1000)
    ] = None,
    budgets: Annotated[
        str | None,
        Query(
            description="A calendar instead: date=budget, with semicolons between.",
            openapi_examples={"two": {"value": "2026-12-01=5000; 2026-12-08=6000"}},
        ),
    ] = None,
    worlds: Annotated[int, Query(description="How many futures to simulate.", ge=1, le=1000)] = 24,
    policies: Annotated[
        str | None,
        Query(
            description="Policies, separated by commas; by default the campaign's, and an even split.",
            openapi_examples={"two": {"value": "odds,uniform"}},
        ),
    ] = None,
    seed: Annotated[int, Query(description="The seed of the random numbers.", ge=0, le=2**32)] = 0,
) -> Any:
    """What the next periods may bring, simulated from what is known today, for those who may only read: it is not
    kept. The same seed and events give the same answer."""
    from apportion.campaigns.calendar import DEFAULT_PERIODS, typed_calendar

    campaign = open_campaign(request, name)
    names = None if policies is None else [policy.strip() for policy in policies.split(",")]
    calendar = None if budgets is None else typed_calendar(budgets)
    check_size(len(calendar) if calendar is not None else periods or DEFAULT_PERIODS, worlds, names)
    if names is not None and not all(names):
        raise InvalidValue(f"`policies` must be names with commas between; got {validation.shown(policies)}.")

    def content() -> Any:
        found = campaign.forecast(
            periods=periods, budgets=calendar, worlds=worlds, policies=names, seed=seed, keep=False
        )
        return found.to_dict()

    return tagged(request, campaign.tag, content)


@route(router.post, "/forecasts", "Forecast", plan_responses.Forecast, "What the next periods may bring; kept.", 201)
def keep_forecast(
    request: Request, name: Name, body: requests.AskForecast, user: SlowRecorder, place: Heavy, key: Key = None
) -> Any:
    """A forecast that is kept, to be held against what comes: `GET …/forecasts` says how they did."""
    from apportion.campaigns.calendar import DEFAULT_PERIODS

    given = body.model_dump()
    budgets = given.pop("budgets")
    calendar = None if budgets is None else [(row["date"], row["budget"]) for row in budgets]
    count = DEFAULT_PERIODS if given["periods"] is None else validation.whole("periods", given["periods"], low=1)
    check_size(count if calendar is None else len(calendar), given["worlds"], given["policies"])
    return json_response(open_campaign(request, name).forecast(budgets=calendar, key=key, **given).to_dict(), 201)


@read(router, "/forecasts", "How forecasts did", plan_responses.PastForecasts, "The forecasts that were kept.")
def forecasts(request: Request, name: Name, user: Reader, place: Heavy) -> Any:
    """The forecasts that were kept, oldest first, each period beside what came; coverage and error of all."""
    campaign = open_campaign(request, name)
    return tagged(request, campaign.tag, lambda: campaign.forecasts().to_dict())
