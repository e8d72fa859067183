"""Proof that snapshots agree with the events."""

import json
import math
from typing import Any, NamedTuple

from apportion.allocation.saved_state import OutdatedState
from apportion.campaigns.events import DAMAGE
from apportion.campaigns.state import CampaignState
from apportion.campaigns.storage.session import Session
from apportion.errors import ApportionError


class Check(NamedTuple):
    """The answer of `Campaign.check`."""

    ok: bool
    events: int
    tickets: int
    snapshots: int
    exact: bool
    message: str
    digest: str | None = None
    """That of the last event: noted down elsewhere, it shows later that nothing before it was changed."""


def compare(session: Session, campaign: int) -> tuple[Check, CampaignState | None]:
    """Rebuild a campaign from its events, and compare it with every snapshot on the way; each digest must follow.

    Where a snapshot differs by rounding only, another processor or NumPy wrote it: powers differ in the last bit
    between them. The message says so; it is no fault.
    """
    state: CampaignState | None = None
    number = compared = 0
    exact = True
    saved = session.snapshots(campaign)  # first: what is written meanwhile has more events, not fewer
    upto = session.last_number(campaign)
    digest: str | None = None
    try:
        for event, found, sound in session.chained(campaign, upto):
            if not sound:
                message = (
                    f"Event {event.number} is not as it was written, or one before it is missing: its digest does "
                    "not follow. Restore the database from a copy."
                )
                return Check(False, number, 0, compared, False, message), None
            if state is None:
                state = CampaignState.begin(event)
                state.history = lambda ticket, last: session.events_of_ticket(campaign, ticket, last)
            else:
                state.apply(event)
            number, digest = event.number, found
            if event.kind == "split":
                _adds_up(event.payload)
            if number in saved:
                rebuilt, snapshot = state.text(), saved[number]
                if rebuilt != snapshot:
                    try:
                        snapshot = _as_of_today(snapshot, number)
                    except OutdatedState:  # an earlier release kept too little: it is not read any more
                        continue
                compared += 1
                if rebuilt != snapshot:
                    exact = False
                    if not _near(rebuilt, snapshot):
                        message = f"The snapshot after event {number} does not agree with the events."
                        return Check(False, number, state.allocator.period, compared, False, message), state
    except (ApportionError, *DAMAGE) as error:
        message = f"Event {number + 1} cannot be repeated: {error}"
        return Check(False, number, 0, compared, False, message), None
    if state is None:
        return Check(False, 0, 0, 0, False, "The campaign has no events."), None
    if number < max(saved, default=0):
        message = f"Events after {number} are missing: a snapshot was taken after event {max(saved)}."
        return Check(False, number, state.allocator.period, compared, False, message), None
    how = "bit for bit" if exact else "to rounding (another processor or NumPy wrote a snapshot)"
    agree = "1 snapshot agrees" if compared == 1 else f"{compared} snapshots agree"
    agree = f"{agree} {how}" if compared else "there is no snapshot to compare with, the digests follow"
    message = f"{number} event{'' if number == 1 else 's'} rebuilt; {agree}."
    return Check(True, number, state.allocator.period, compared, exact, message, digest), state


def _adds_up(payload: dict[str, Any]) -> None:
    total = math.fsum(payload["amounts"].values())
    if not math.isclose(total, payload["budget"], rel_tol=1e-12):
        raise ValueError(f"its amounts add up to {total!r}, its budget is {payload['budget']!r}")


def _as_of_today(snapshot: str, number: int) -> str:
    """A snapshot as this release writes it: older ones kept fewer sums, and not the home of a policy."""
    try:
        return CampaignState.from_text(snapshot, number).text()
    except OutdatedState:
        raise
    except ApportionError:
        return snapshot


def _near(one: str, other: str) -> bool:
    """Whether two states are the same but for rounding of numbers."""
    try:
        pairs = [(json.loads(a), json.loads(b)) for a, b in zip(one.split("\n"), other.split("\n"), strict=True)]
    except ValueError:
        return False
    return all(_alike(a, b) for a, b in pairs)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        if "limbs" in one and "limbs" in other:
            return one.keys() == other.keys() and _sums(one["limbs"], other["limbs"])
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return type(one) is type(other) and bool(one == other)


def _sums(one: list[Any], other: list[Any]) -> bool:
    """Sums kept in several limbs: what counts is what the limbs add up to."""
    totals = [[list(map(math.fsum, zip(*row))) for row in zip(*limbs)] for limbs in (one, other)]
    return all(
        len(a) == len(b) and all(math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9) for x, y in zip(a, b))
        for a, b in zip(*totals)
    )
