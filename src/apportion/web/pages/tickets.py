"""Tickets as pages show them: amounts, reasons, what came back, what was corrected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from apportion._common.formatting import readable
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.history import Line
from apportion.web.pages.paging import ARMS_PER_PAGE, Paged, in_pages, matches

TICKETS_PER_PAGE = 10

# (name, index, share, offset): share and offset in percent of the whole bar; no index for several arms together.
Bar = tuple[tuple[str, int | None, float, float], ...]

NOT_ADVISED = "Not in the advice; something was spent on it all the same."

PARTS_OF_A_BAR = 48
"""A bar with more parts shows the largest, and the others as one."""


class ArmRow(NamedTuple):
    """One arm of a ticket."""

    name: str
    colour_index: int
    """Among all arms there ever were."""
    amount: float
    share: float
    reason: str
    """In few words."""
    figures: str
    """The reason with its figures."""
    state: str
    outcome: float | None
    spent: float
    before: tuple[str, ...]

    @property
    def open(self) -> bool:
        """Whether its outcome is still to come, or to become final."""
        return self.state in ("open", "provisional")

    @property
    def recorded(self) -> bool:
        """Whether its final outcome is known, or known not to come."""
        return not self.open and self.state not in ("unused", "cancelled")


class TicketView(NamedTuple):
    """A ticket with its split as it was given and what came back since."""

    ticket: int
    budget: float
    date: str
    rule: str
    bar: Bar
    rows: tuple[ArmRow, ...]
    shown: Paged[ArmRow]
    """Those of the rows that the page shows."""
    advised: bool = True
    """Whether it was advice, and not imported."""

    @property
    def cancelled(self) -> bool:
        """Whether it was taken back."""
        return any(row.state == "cancelled" for row in self.rows)

    @property
    def provisional(self) -> bool:
        """Whether it holds totals so far."""
        return any(row.state == "provisional" for row in self.rows)

    @property
    def untouched(self) -> bool:
        """Whether nothing was recorded of it: then it can be cancelled."""
        return not any(row.recorded or row.state == "provisional" for row in self.rows)


class HistoryRow(NamedTuple):
    """A ticket in the history. `state` is open, provisional, amended, recorded or no-data; `words` is for people."""

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
    shown: Mapping[str, float] = amounts
    if len(amounts) > PARTS_OF_A_BAR:
        most = set(sorted(amounts, key=lambda name: -amounts[name])[: PARTS_OF_A_BAR - 1])
        shown = {name: amount for name, amount in amounts.items() if name in most}
    found: list[tuple[str, int | None, float, float]] = []
    offset = 0.0
    for name, amount in shown.items():
        share = 100.0 * amount / total if total > 0 else 0.0
        found.append((name, indices[name], round(share, 3), round(offset, 3)))
        offset += share
    if len(shown) < len(amounts):
        found.append((f"{len(amounts) - len(shown):,} others", None, round(100.0 - offset, 3), round(offset, 3)))
    return tuple(found)


def ticket_view(
    campaign: Campaign,
    ticket: int,
    indices: Mapping[str, int],
    *,
    most_sure: float = 1.0,
    wanted: str = "",
    at: int = 1,
) -> TicketView:
    """A ticket; `UnknownName` where there is none of that number.

    Its reasons are no surer than `most_sure`.
    `shown` is a page of its arms: those that got something first, and only those with the words that are `wanted`.
    """
    split = campaign.explain(ticket)
    split.most_sure = most_sure
    lines = {line.arm: line for line in campaign.history(split.ticket, split.ticket)}
    rows = []
    for name, line in lines.items():
        advised = name in split.amounts
        rows.append(
            ArmRow(
                name=name,
                colour_index=indices[name],
                amount=line.amount if line.advised is None else line.advised,
                share=(line.amount if line.advised is None else line.advised) / split.budget,
                reason=split.brief_reasons[name] if advised else NOT_ADVISED,
                figures=split.reasons[name] if advised else NOT_ADVISED,
                state=line.state.replace(" ", "-"),
                outcome=line.outcome,
                spent=line.amount if line.spent is None else line.spent,
                before=tuple(_before(line)),
            )
        )
    date = next(iter(lines.values())).date
    found = [row for row in rows if matches(row.name, wanted)]
    if len(found) > ARMS_PER_PAGE:
        found.sort(key=lambda row: -max(row.amount, row.spent))
    return TicketView(
        split.ticket,
        split.budget,
        date,
        split.note,
        share_bar(split.amounts, indices),
        tuple(rows),
        in_pages(found, at),
        split.advised,
    )


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
    elif "provisional" in states:
        state, words = "provisional", "provisional"
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
