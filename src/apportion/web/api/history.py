"""The past of a campaign: history, events, beliefs now and over time."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from apportion._common import validation
from apportion.allocation.beliefs import Beliefs
from apportion.campaigns.status import relative_to
from apportion.campaigns.thinned import is_long, moments_of, most_moments
from apportion.web.api import responses
from apportion.web.api.describe import LARGEST_WHOLE, PREFIX, Limit, Name, after, read
from apportion.web.guard.limits import Heavy
from apportion.web.guard.users import Reader
from apportion.web.shared import open_campaign, tagged

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{name}}", tags=["history"])

# As many moments are shown by default, at most: enough for a chart as wide as a screen.
MOMENTS = 120
MOST_BELIEFS = 40_000  # moments times arms of one answer


@read(router, "/history", "History", responses.History, "A page of the history.")
def history(
    request: Request, name: Name, user: Reader, after: Annotated[int, after("ticket")] = 0, limit: Limit = 100
) -> Any:
    """What was advised, spent and earned, ticket by ticket, with corrections. `limit` counts tickets."""
    campaign = open_campaign(request, name)

    def content() -> Any:
        last = campaign.period
        lines = list(campaign.history(after + 1, after + limit)) if after < last else []
        return {"campaign": name, "lines": lines, "next": after + limit if after + limit < last else None}

    return tagged(request, campaign.tag, content)


@read(router, "/events", "Everything that happened", responses.Events, "A page of the log.")
def events(
    request: Request, name: Name, user: Reader, after: Annotated[int, after("event")] = 0, limit: Limit = 100
) -> Any:
    """The log: every split, outcome, correction, change of arms and settings, in order."""
    campaign = open_campaign(request, name)
    version = campaign.version

    def content() -> Any:
        found = campaign.events(after, limit)
        more = bool(found) and found[-1].number < version
        return {"campaign": name, "events": found, "next": found[-1].number if more else None}

    return tagged(request, campaign.tag, content)


@read(router, "/beliefs", "Beliefs", responses.Beliefs, "What is believed.")
def beliefs(
    request: Request,
    name: Name,
    user: Reader,
    at: Annotated[
        int | None, Query(description="After that many events; now by default.", ge=1, le=LARGEST_WHOLE)
    ] = None,
) -> Any:
    """Mean, anytime interval and probability of being best of every arm that was not removed."""
    campaign = open_campaign(request, name)

    def content() -> Any:
        return {"campaign": name, **beliefs_content(campaign.beliefs(at))}

    return tagged(request, campaign.tag, content)


@read(
    router,
    "/beliefs/over-time",
    "Beliefs over time",
    responses.OverTime,
    "What was believed, from the beginning to today.",
)
def over_time(
    request: Request,
    name: Name,
    user: Reader,
    place: Heavy,
    every: Annotated[
        int | None,
        Query(description=f"Every so many periods; by default at most {MOMENTS} moments.", ge=1, le=LARGEST_WHOLE),
    ] = None,
) -> Any:
    """What was believed after each split's last event so far; the last moment is today's.

    Of a long campaign, and without `every`, the moments are those of its snapshots, about `every` periods apart.
    """
    campaign = open_campaign(request, name)

    def content() -> Any:
        periods = campaign.period
        step = max(1, -(-periods // MOMENTS)) if every is None else every
        if every is None and is_long(periods):
            found, step = moments_of(campaign), -(-periods // most_moments(len(campaign.arms)))
        else:
            require_few(periods, step, len(campaign.arms))
            found = campaign.beliefs_over_time(step)
        return {
            "campaign": name,
            "every": step,
            "moments": [{"period": period, **beliefs_content(beliefs)} for period, beliefs in found],
        }

    return tagged(request, campaign.tag, content)


def require_few(periods: int, every: int, arms: int) -> None:
    """Refuse an answer that would not end: so many moments of so many arms."""
    least = -(-periods * arms // MOST_BELIEFS)
    if every < least:
        allowed = f"at least {least:,} for {periods:,} periods of {arms:,} arms; the export has everything"
        raise validation.refuse("every", allowed, every)


def beliefs_content(beliefs: Beliefs) -> dict[str, Any]:
    """Beliefs as plain data, with what they are relative to."""
    rows = [{"arm": arm, **beliefs.at(index)._asdict()} for index, arm in enumerate(beliefs)]
    return {**relative_to(beliefs), "leader": beliefs.leader, "arms": rows}
