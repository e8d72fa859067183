"""A campaign in a list: where it stands at a glance, or that it is broken. One broken campaign breaks no list."""

from typing import Any, NamedTuple

from apportion.campaigns.campaign import Campaign
from apportion.campaigns.events import DAMAGE
from apportion.campaigns.status import Status
from apportion.errors import ApportionError, StoreUnavailable


class Summary(NamedTuple):
    """A campaign at a glance; only its name and `broken` are there where it cannot be read."""

    campaign: str
    archived: bool = False
    period: int | None = None
    cancelled: int | None = None
    """How many of the splits up to `period` were cancelled."""
    leader: str | None = None
    open_tickets: int | None = None
    budget: float | None = None
    unit: str | None = None
    spent: float | None = None
    returned: float | None = None
    return_so_far: float | None = None
    expected_regret_per_period: float | None = None
    events: int = 0
    broken: str | None = None
    """Why it cannot be read, in a sentence; None where it can."""


def readable_status(campaign: Campaign) -> Status | str:
    """The status of a campaign for a list; a sentence where it is damaged."""
    try:
        return campaign.status(health=False)
    except StoreUnavailable:  # so would every other one be
        raise
    except (ApportionError, *DAMAGE) as error:
        why = str(error) if isinstance(error, ApportionError) else f"What is stored of it is damaged: {error}."
        return " ".join(why.split())


def summary_of(campaign: Campaign, version: int | None = None) -> Summary:
    """A campaign at a glance; `version` is the number of its last event, where it is known."""
    status = readable_status(campaign)
    if isinstance(status, str):
        return Summary(campaign.name, events=campaign.version if version is None else version, broken=status)
    return Summary(
        campaign=campaign.name, archived=status.archived, period=status.period, cancelled=status.cancelled,
        leader=status.leader,
        open_tickets=len(status.open_tickets), budget=status.settings.budget, unit=status.settings.unit,
        spent=status.spent, returned=status.returned, return_so_far=status.return_so_far,
        expected_regret_per_period=status.expected_regret, events=status.version,
    )  # fmt: skip


def summary_content(campaign: Campaign, version: int | None = None) -> dict[str, Any]:
    """`summary_of` as plain data."""
    return summary_of(campaign, version)._asdict()
