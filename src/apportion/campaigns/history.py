"""The history of a campaign, line by line: what was advised, spent and earned, and what was corrected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from apportion._common import optional
from apportion._common.formatting import Table
from apportion.campaigns.events import Event, intact

if TYPE_CHECKING:
    import pandas as pd


class Line(NamedTuple):
    """One arm in one split. `state` is open, provisional (a total so far), recorded, no data, amended, cancelled, or
    unused (nothing).

    `amount` is what was spent or, as long as nobody said, is to be spent; `spent` has only what is known to be spent.
    """

    ticket: int
    date: str
    arm: str
    advised: float | None
    """None where it was imported: nobody advised it."""
    amount: float
    share: float
    outcome: float | None
    state: str
    recorded: str | None
    corrections: tuple[dict[str, Any], ...] = ()
    """The old values, oldest first: when they were replaced, the outcome, the amount."""
    spent: float | None = None
    """As `apportion.campaigns.totals` counts it; None for advice that waits, or was closed without a word."""
    by: str | None = None
    """Who did the last thing to it: asked for the split, recorded, corrected, cancelled. None: not known."""


def lines(events: Iterable[Event]) -> list[Line]:
    """The lines of tickets, from all of their events in order."""
    found: dict[int, dict[str, Line]] = {}
    dates: dict[int, str] = {}
    for event in events:
        with intact(event.number):
            ticket = event.ticket or 0
            _take_in(event, found.setdefault(ticket, {}), dates)
    return [line for ticket in sorted(found) for line in found[ticket].values()]


def _take_in(event: Event, found: dict[str, Line], dates: dict[int, str]) -> None:
    ticket, payload = event.ticket or 0, event.payload
    if event.kind == "split":
        date = dates[ticket] = event.period_date
        for (name, amount), share in zip(payload["amounts"].items(), payload["shares"]):
            state = "open" if amount > 0 else "unused"
            advised, spent = (None, amount) if payload.get("source") == "import" else (amount, None)
            found[name] = Line(ticket, date, name, advised, amount, share, None, state, None, (), spent, event.actor)
        return
    if event.kind == "cancelled":
        for name, known in found.items():
            old = {"at": event.at, "outcome": known.outcome, "amount": known.amount}
            before = known.corrections if known.recorded is None else (*known.corrections, old)
            changed: dict[str, Any] = {
                "amount": 0.0,
                "outcome": None,
                "state": "cancelled",
                "corrections": before,
                "spent": None,
                "by": event.actor,
            }
            found[name] = known._replace(**changed)
        return
    outcomes, amounts = payload["outcomes"], payload.get("amounts", {})
    for name in dict.fromkeys((*outcomes, *amounts)):
        # Something may be spent on an arm that the advice had left out.
        line = found.get(name) or Line(ticket, dates[ticket], name, 0.0, 0.0, 0.0, None, "unused", None)
        changes: dict[str, Any] = {"amount": amounts.get(name, line.amount), "by": event.actor}
        if name in amounts or line.spent is not None or outcomes.get(name) is not None:
            changes["spent"] = changes["amount"]
        if name in outcomes:
            value = outcomes[name]
            state = "provisional" if payload.get("provisional") else "no data" if value is None else "recorded"
            changes |= {"outcome": value, "recorded": event.at, "state": state}
        elif line.state == "unused" and changes["amount"] > 0:
            changes["state"] = "open"
        if event.kind == "amended":
            old = {"at": event.at, "outcome": line.outcome, "amount": line.amount}
            changes |= {"corrections": (*line.corrections, old), "state": "amended"}
        found[name] = line._replace(**changes)


class History(Table):
    """The lines of a campaign's history; iterate, index, `to_pandas`, `to_csv`."""

    def __init__(self, name: str, found: Sequence[Line]) -> None:
        self.title = f"History of {name}"
        self._lines = found

    def __iter__(self) -> Any:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, index: int) -> Line:
        return self._lines[index]

    def columns(self) -> dict[str, Sequence[Any]]:
        """One column per field of `Line`; corrections as a count."""
        columns: dict[str, Sequence[Any]] = {
            name: [getattr(line, name) for line in self._lines] for name in Line._fields if name != "corrections"
        }
        columns["corrections"] = [len(line.corrections) for line in self._lines]
        return columns

    def to_pandas(self) -> pd.DataFrame:
        """One row per line."""
        frame: pd.DataFrame = optional.load("pandas", "`to_pandas`").DataFrame(dict(self.columns()))
        return frame
