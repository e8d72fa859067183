"""The rules of a campaign as its page shows them, and what its form offers."""

from __future__ import annotations

from typing import NamedTuple

from apportion.allocation.rule import read_rule
from apportion.campaigns.status import Status

KINDS = {
    "<=": "get together at most",
    ">=": "get together at least",
    "=": "get together exactly",
    "each": "get the same amount each",
    "change": "move together from one split to the next by at most",
}
"""What a rule of the form says of the arms that are ticked."""


class ShownRule(NamedTuple):
    """A rule on the page; `rests` where it says nothing now, as arms are paused or removed."""

    text: str
    shown: str
    rests: bool


def shown_rules(status: Status) -> list[ShownRule]:
    """The rules that hold, in their order."""
    names = [arm.name for arm in status.arms]
    active = {arm.name for arm in status.arms if arm.state == "active"}
    read = [read_rule(text, names) for text in status.settings.rules]
    return [ShownRule(rule.text, rule.shown, rule.rests(active)) for rule in read]
