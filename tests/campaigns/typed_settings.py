"""Read by mypy alone: names and types of settings are checked where they are given.

An `ignore` that mypy does not need is an error (`warn_unused_ignores`), so each wrong line must be refused.
"""

import apportion as ap
from apportion.campaigns.campaign import Campaign


def right(campaign: Campaign) -> int | None:
    """Each of these is taken."""
    Campaign.create("ads", ("a", "b"), budget=5, window=3, policy=ap.Odds(b=0.7), minimum={"a": 0.1})
    return campaign.change(b=None, half_life=3, unit="EUR").window


def wrong(campaign: Campaign, client: ap.Client) -> None:
    """None of these is."""
    Campaign.create("ads", ("a", "b"))  # type: ignore[call-arg]
    Campaign.create("ads", ("a", "b"), budget="5")  # type: ignore[arg-type]
    Campaign.create("ads", ("a", "b"), budget=5, colour="red")  # type: ignore[call-arg]
    campaign.change(minimise=True)  # type: ignore[call-arg]
    campaign.change(level=None)  # type: ignore[arg-type]
    client.create("ads", ("a", "b"), budget=5, robust=1)  # type: ignore[arg-type]
