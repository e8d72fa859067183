"""What a campaign is run by, changed while it runs: its arms and its settings. Each is an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apportion.campaigns import bounds
from apportion.campaigns.bounds import Bound
from apportion.campaigns.creation import divisible_budget, most_arms, new_arm_name
from apportion.campaigns.settings import ChangedSettings, Settings
from apportion.errors import Infeasible

if TYPE_CHECKING:
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.transactions import Transaction


def change_arm(
    campaign: Campaign, action: str, arm: str, minimum: Bound | None, maximum: Bound | None, key: str | None,
    sigma: float | None,
) -> None:  # fmt: skip
    """Add, pause, resume, remove or bound an arm."""
    with campaign.transactions.write() as transaction:
        request: dict[str, Any] = {"action": action, "arm": arm, "minimum": minimum, "maximum": maximum}
        if sigma is not None:
            request["sigma"] = sigma
        if transaction.done_before(key, "arm", **request) is not None:
            return
        allocator = transaction.state.allocator
        if action == "add" and arm not in allocator.indices:
            new_arm_name("name", arm)
            most_arms(len(allocator.indices) + 1)
        before = allocator.all_arms
        budget, unit = transaction.state.settings_budget, transaction.state.settings_unit
        low, high = bounds.smallest(minimum, arm, budget, unit), bounds.largest(maximum, arm, budget, unit)
        transaction.state.change_arm(action, arm, low, high, sigma)
        _require_split(transaction)
        if allocator.all_arms != before:
            options = {"minimum": low, "maximum": high, "sigma": sigma}
            given = {name: float(value) for name, value in options.items() if value is not None}
            transaction.append("arm", {"action": action, "arm": arm, **given}, key=key)


def change_settings(campaign: Campaign, changes: ChangedSettings, key: str | None) -> Settings:
    """Take settings in, all that are given or none; all outcomes may be counted again, outside of the lock."""

    def taken_in(transaction: Transaction) -> Settings:
        old = transaction.state.settings
        if transaction.done_before(key, "setting", settings=changes) is not None:
            return old
        if {"budget", "step"} & set(changes):
            divisible_budget(changes.get("budget", old.budget), changes.get("step", old.step))
        payload = transaction.state.change_settings(changes)
        if {"budget", "rules"} & set(changes):
            _require_split(transaction)
        if payload is not None:
            transaction.append("setting", payload, key=key)
        return transaction.state.settings

    return campaign.transactions.write_prepared(taken_in)


def _require_split(transaction: Transaction) -> None:
    """`Infeasible` where no split of the campaign's budget keeps the rules: the write begins anew, without it."""
    try:
        transaction.state.allocator.require_split(transaction.state.settings_budget)
    except Infeasible:
        transaction.stale = True
        raise
