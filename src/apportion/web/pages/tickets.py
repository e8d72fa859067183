"""Tickets as pages show them: amounts, reasons, what came back, what was corrected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from apportion._common.formatting import readable
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.history import Line

TICKETS_PER_PAGE = 10

# (name, index, share, offset): share and offset in percent of the whole bar.
Bar = tuple[tuple[str, int, float, float], ...]


class ArmRow(NamedTuple):
    """One arm of a ticket."""

    name: str
    colour_index: int
    """Among all arms there ever were."""
    amount: float
    share: float
    reason: str
    state: str
    outcome: float | None
    spent: float
    before: tuple[str, ...]

    @property
    def open(self) -> bool:
        """Whether its outcome is still to come."""
        return self.state == "open"

    @property
    def recorded(self) -> bool:
        """Whether its outcome is known, or known not to come."""
        return self.state not in ("open", "unused", "cancelled")


class TicketView(NamedTuple):
    """A ticket with its split as it was given and what came back since."""

    ticket: int
    budget: float
    date: str
    rule: str
    bar: Bar
    rows: tuple[ArmRow, ...]

    @property
    def cancelled(self) -> bool:
        """Whether it was taken back."""
        return any(row.state == "cancelled" for row in self.rows)


class HistoryRow(NamedTuple):
    """A ticket in the history. `state` is open, amended, recorded or no-data; `words` says it to people."""

    ticket: int
    date: str
    spent: float
    earned: float | None
    bar: Bar
    state: str
    words: str
    by: str = ""
    """Who did the last thing to it; several where they differ by arm."""


class HistoryPage(NamedTuple):
    """One page of the history, newest first."""

    rows: tuple[HistoryRow, ...]
    at: int
    pages: int
    total: int


def arm_indices(names: Iterable[str]) -> dict[str, int]:
    """The index of each arm among all there ever were: it keeps its colour for ever."""
    return {name: index for index, name in enumerate(names)}


def share_bar(amounts: Mapping[str, float], indices: Mapping[str, int]) -> Bar:
    """What a bar of shares is drawn from."""
    total = math.fsum(amounts.values())
    found, offset = [], 0.0
    for name, amount in amounts.items():
        share = 100.0 * amount / total if total > 0 else 0.0
        found.append((name, indices[name], round(share, 3), round(offset, 3)))
        offset += share
    return tuple(found)


def ticket_view(campaign: Campaign, ticket: int, indices: Mapping[str, int]) -> TicketView:
    """A ticket; `UnknownName` where there is none of that number."""
    split = campaign.explain(ticket)
    lines = {line.arm: line for line in campaign.history(split.ticket, split.ticket)}
    rows = []
    for name, line in lines.items():
        advised = name in split.amounts
        rows.append(
            ArmRow(
                name=name,
                colour_index=indices[name],
                amount=line.amount if line.advised is None else line.advised,
                share=line.share if line.advised is None or line.advised else 0.0,
                reason=split.reasons[name]
                if advised
                else "Not in the advice; something was spent on it all the same.",
                state=line.state.replace(" ", "-"),
                outcome=line.outcome,
                spent=line.amount if line.spent is None else line.spent,
                before=tuple(_before(line)),
            )
        )
    date = next(iter(lines.values())).date
    return TicketView(split.ticket, split.budget, date, split.note, share_bar(split.amounts, indices), tuple(rows))


def _before(line: Line) -> Iterable[str]:
    for old in line.corrections:
        outcome = "no data" if old["outcome"] is None else readable(float(old["outcome"]))
        yield f"{outcome} from {readable(float(old['amount']))}, until {old['at'][:16].replace('T', ' ')}"


def history_page(campaign: Campaign, period: int, indices: Mapping[str, int], at: int) -> HistoryPage:
    """A page of the history, counted from 1 at the newest tickets."""
    pages = max(1, math.ceil(period / TICKETS_PER_PAGE))
    at = min(max(at, 1), pages)
    last = period - (at - 1) * TICKETS_PER_PAGE
    if last < 1:
        return HistoryPage((), 1, 1, 0)
    by_ticket: dict[int, list[Line]] = {}
    for line in campaign.history(max(1, last - TICKETS_PER_PAGE + 1), last):
        by_ticket.setdefault(line.ticket, []).append(line)
    rows = tuple(_history_row(ticket, lines, indices) for ticket, lines in reversed(by_ticket.items()))
    return HistoryPage(rows, at, pages, period)


def _history_row(ticket: int, lines: list[Line], indices: Mapping[str, int]) -> HistoryRow:
    states = [line.state for line in lines]
    known = [line.outcome for line in lines if line.outcome is not None]
    waiting = states.count("open")
    if waiting:
        recorded = len(states) - waiting - states.count("unused")
        state, words = "open", f"{waiting} of {waiting + recorded} open" if recorded else "open"
    elif "cancelled" in states:
        state, words = "cancelled", "cancelled"
    elif "amended" in states:
        state, words = "amended", "amended"
    elif known:
        state, words = "recorded", "recorded"
    else:
        state, words = "no-data", "no data"
    return HistoryRow(
        ticket=ticket,
        date=lines[0].date,
        spent=math.fsum(line.spent or 0.0 for line in lines),
        earned=math.fsum(known) if known else None,
        bar=share_bar({line.arm: line.amount for line in lines}, indices),
        state=state,
        words=words,
        by=", ".join(dict.fromkeys(line.by for line in lines if line.by)),
    )
