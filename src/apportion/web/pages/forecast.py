"""The page of forecasts: a new one from a calendar of budgets, the last one, and how earlier ones did."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from apportion.campaigns.calendar import DEFAULT_PERIODS, typed_calendar
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.forecast import largest_arms
from apportion.campaigns.past_forecasts import kept_forecast
from apportion.errors import ApportionError, InvalidValue
from apportion.web.api.plans import check_size
from apportion.web.guard.limits import Heavy, HeavyChart
from apportion.web.guard.users import PageReader, SlowPageRecorder, User
from apportion.web.pages.actions import typed_of
from apportion.web.pages.shared import Form, campaign_path, go, key_of, page, status_of, text, whole
from apportion.web.pages.tickets import arm_indices
from apportion.web.pages.uploaded_history import uploaded
from apportion.web.shared import json_response, open_campaign

router = APIRouter(include_in_schema=False)

WORLDS = 24
ARMS_SHOWN = 4  # so many shares fit beside each other in a table, also with long names


def _chosen(request: Request) -> int | None:
    """Which forecast the address asks for; None: the last one."""
    wanted = request.query_params.get("number", "")
    return int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 16 else None


@router.get("/campaigns/{name}/forecast")
def show(request: Request, name: str, user: PageReader, place: HeavyChart) -> HTMLResponse:
    """The last forecast, and how all of them did."""
    return _page(request, user, open_campaign(request, name))


@router.post("/campaigns/{name}/forecast")
def make(request: Request, name: str, form: Form, user: SlowPageRecorder, place: Heavy) -> Response:
    """A new forecast, which is kept."""
    campaign, file, typed = open_campaign(request, name), uploaded(form), text(form, "budgets")
    try:
        periods = whole(text(form, "periods"), "the number of periods")
        if file is not None and typed:
            raise InvalidValue("Choose a file, or type the calendar; not both.")
        budgets: Any = file if file is not None else typed_calendar(typed) if typed else None
        count = DEFAULT_PERIODS if periods is None else periods
        check_size(count if not typed else len(budgets), WORLDS, None)
        campaign.forecast(
            periods=None if budgets is not None else periods, budgets=budgets, worlds=WORLDS, key=key_of(form)
        )
    except ApportionError as error:
        return _page(request, user, campaign, problem=str(error), typed=typed_of(form), status=status_of(error))
    return go(request, f"{campaign_path(name, 'forecast')}#forecast", "The forecast is made, and kept.")


@router.get("/campaigns/{name}/forecast/data")
def data(request: Request, name: str, user: PageReader, place: HeavyChart) -> Response:
    """The data of the chart: a forecast beside what came."""
    campaign = open_campaign(request, name)
    kept = kept_forecast(campaign, _chosen(request))
    if kept is None:
        return json_response({"periods": []})
    past = next(row for row in campaign.forecasts().to_dict()["forecasts"] if row["number"] == kept[0])
    return json_response({**past, "unit": campaign.unit}, headers={"Cache-Control": "no-cache"})


def _page(
    request: Request,
    user: User,
    campaign: Campaign,
    *,
    problem: str = "",
    typed: dict[str, str] | None = None,
    status: int = 200,
) -> HTMLResponse:
    kept = kept_forecast(campaign, _chosen(request))
    past, settings = campaign.forecasts(), campaign.settings
    indices = arm_indices(arm.name for arm in campaign.arms)
    shown = [] if kept is None else largest_arms(kept[1], ARMS_SHOWN)
    checks: Any = ()
    if kept is not None:
        checks = next(row.periods for row in past.forecasts if row.number == kept[0])
    return page(
        request, "forecast.html", user, status=status, name=campaign.name, unit=settings.unit,
        minimise=settings.minimise, every=settings.every or "period", usual=settings.budget,
        usual_periods=DEFAULT_PERIODS, kept=kept, past=past,
        checks=checks, shown=shown, indices=indices, problem=problem, typed=typed or {}, empty=campaign.period == 0,
    )  # fmt: skip
