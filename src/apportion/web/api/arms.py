"""Arms: add, pause, resume, bound, remove."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request

from apportion.campaigns.campaign import Campaign
from apportion.errors import InvalidValue
from apportion.web.api import examples, requests, responses
from apportion.web.api.describe import PREFIX, ArmPath, Key, Name, read, route
from apportion.web.guard.users import Reader, Writer
from apportion.web.shared import json_response, open_campaign, tagged

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{name}}", tags=["arms"])


@read(router, "/arms", "All arms", responses.Arms, "Every arm there ever was.")
def arms(request: Request, name: Name, user: Reader) -> Any:
    """Every arm there ever was, with its state and bounds."""
    campaign = open_campaign(request, name)
    return tagged(request, campaign.tag, lambda: {"campaign": name, "arms": campaign.arms})


@route(router.post, "/arms", "Add an arm", responses.Arm, "Added.", 201)
def add(request: Request, name: Name, body: requests.NewArm, user: Writer, key: Key = None) -> Any:
    """A new arm, or one that was removed, with all that was learned about it."""
    campaign = open_campaign(request, name)
    with campaign.together():
        campaign.add_arm(body.name, body.minimum, body.maximum, sigma=body.sigma, key=key)
        where = f"{PREFIX}/campaigns/{quote(name, safe='')}/arms/{quote(body.name, safe='')}"
        return json_response(_arm(campaign, body.name), 201, {"Location": where})


@route(router.patch, "/arms/{arm:path}", "Pause, resume or bound an arm", responses.Arm, "Changed.")
def change(
    request: Request, name: Name, arm: ArmPath, body: requests.ChangeArm, user: Writer, key: Key = None
) -> Any:
    """Give an arm nothing until it is resumed, or bound its share; the same minimum and maximum fixes it."""
    campaign = open_campaign(request, name)
    if body.action != "bound" and (body.minimum, body.maximum) != (None, None):
        raise InvalidValue(f"`minimum` and `maximum` go with bound, not with {body.action}.")
    with campaign.together():
        if body.action == "pause":
            campaign.pause_arm(arm, key=key)
        elif body.action == "resume":
            campaign.resume_arm(arm, key=key)
        else:
            campaign.bound_arm(arm, body.minimum, body.maximum, key=key)
        return json_response(_arm(campaign, arm))


@route(router.delete, "/arms/{arm:path}", "Remove an arm", responses.Arm, "Removed.", example=examples.REMOVED_ARM)
def remove(request: Request, name: Name, arm: ArmPath, user: Writer, key: Key = None) -> Any:
    """Take the arm away. Outcomes of open tickets still count, and adding it again brings it back."""
    campaign = open_campaign(request, name)
    with campaign.together():
        campaign.remove_arm(arm, key=key)
        return json_response(_arm(campaign, arm))


def _arm(campaign: Campaign, name: str) -> Any:
    """The arm as it is now. Where a key was used before for another arm, that write counts and this one is no arm."""
    for arm in campaign.arms:
        if arm.name == name:
            return arm
    raise InvalidValue(f"The key was used before, for another arm than '{name}'.")
