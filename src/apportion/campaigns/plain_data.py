"""Campaigns as plain data, the same for the command line and for the service."""

import math
from collections.abc import Mapping
from typing import Any

from apportion.allocation.split import Split
from apportion.campaigns.status import relative_to, returns_per_unit


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


def split_content(campaign: str, unit: str | None, split: Split) -> dict[str, Any]:
    """A split of a campaign with its reasons and the beliefs it was made on."""
    beliefs, amounts, shares, reasons = split.beliefs, split.amounts, split.shares, split.reasons
    arms = [
        {
            "arm": arm, "amount": amounts[arm], "share": shares[arm], **belief._asdict(),
            **returns_per_unit(belief, amounts[arm], beliefs.c), "reason": reasons[arm],
        }
        for arm, belief in zip(amounts, map(beliefs.at, range(len(amounts))))
    ]  # fmt: skip
    whole: dict[str, Any] = {
        "campaign": campaign,
        "ticket": split.ticket,
        "date": split.date,
        "budget": split.budget,
        "unit": unit,
        "note": split.note,
        "unspent": list(split.unspent),
    }
    return {**whole, **relative_to(beliefs), "arms": arms}
