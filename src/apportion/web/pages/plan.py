"""The page of a plan: curves, budgets, the best split for any of them, and the budgets that answer questions."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from apportion._common.formatting import one_of
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.plan import Plan
from apportion.campaigns.plan_words import back_verb, ranged
from apportion.errors import ApportionError
from apportion.web.guard.limits import Heavy, HeavyChart
from apportion.web.guard.users import PageReader
from apportion.web.pages.shared import optional, page, status_of
from apportion.web.pages.tickets import arm_indices
from apportion.web.shared import json_response, open_campaign

router = APIRouter(include_in_schema=False)

ASKED = {"budget": "the budget", "target": "the return of the next unit", "goal": "the return that is wanted"}


def _planned(request: Request, campaign: Campaign) -> Plan:
    """The plan for what the address asks."""
    typed = {name: request.query_params.get(name, "").strip() for name in ASKED}
    asked = {name: optional(value, ASKED[name]) for name, value in typed.items()}
    return campaign.plan(asked["budget"], target=asked["target"], goal=asked["goal"])


@router.get("/campaigns/{name}/plan")
def show(request: Request, name: str, user: PageReader, place: Heavy) -> HTMLResponse:
    """The plan, in words and tables; the charts come after."""
    campaign = open_campaign(request, name)
    typed = {field: request.query_params.get(field, "") for field in ASKED}
    values: dict[str, Any] = {"plan": None, "problem": ""}
    status = 200
    try:
        values["plan"] = _planned(request, campaign)
    except ApportionError as error:
        values["problem"], status = str(error), status_of(error)
    settings = campaign.settings
    return page(
        request, "plan.html", user, status=status if any(typed.values()) else 200, name=campaign.name, typed=typed,
        unit=settings.unit, back_unit=settings.outcome_unit, verb=back_verb(settings), one=one_of(settings.unit),
        minimise=settings.minimise, usual=settings.budget, ranged=ranged,
        indices=arm_indices(arm.name for arm in campaign.arms), query=request.url.query, **values,
    )  # fmt: skip


@router.get("/campaigns/{name}/plan/data")
def data(request: Request, name: str, user: PageReader, place: HeavyChart) -> Response:
    """The data of the charts."""
    campaign = open_campaign(request, name)
    indices = arm_indices(arm.name for arm in campaign.arms)
    content = _planned(request, campaign).to_dict()
    for arm in content["arms"]:
        arm["colour"] = indices[arm["arm"]]
    return json_response({**content, "one": one_of(campaign.unit)}, headers={"Cache-Control": "no-cache"})
