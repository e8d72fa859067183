"""Campaigns as plain data, the same for the command line and for the service."""

import math
from collections.abc import Mapping
from typing import Any

from apportion.allocation.beliefs import Beliefs
from apportion.allocation.split import Split
from apportion.campaigns.status import learned_content


def plain(value: Any) -> Any:
    """Data that JSON can hold: what is not a number becomes None, a record a dictionary.

    >>> plain({"mean": float("nan"), "open": (1, 2)})
    {'mean': None, 'open': [1, 2]}
    """
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return plain(value._asdict()) if hasattr(value, "_asdict") else [plain(item) for item in value]
    return value


def relative_to(beliefs: Beliefs) -> dict[str, Any]:
    """What beliefs stand on, as of their own time: σ, c, the level, the direction, what was learned."""
    own = {name: getattr(beliefs, name) for name in ("sigma", "c", "level", "minimise")}
    return {**own, "learned": learned_content(beliefs.learned)}


def split_content(campaign: str, unit: str | None, split: Split) -> dict[str, Any]:
    """A split of a campaign with its reasons and the beliefs it was made on."""
    beliefs, amounts, shares, reasons = split.beliefs, split.amounts, split.shares, split.reasons
    arms = [
        {"arm": arm, "amount": amounts[arm], "share": shares[arm], **belief._asdict(), "reason": reasons[arm]}
        for arm, belief in zip(amounts, map(beliefs.at, range(len(amounts))))
    ]
    whole = {"campaign": campaign, "ticket": split.ticket, "budget": split.budget, "unit": unit, "note": split.note}
    return {**whole, **relative_to(beliefs), "arms": arms}
