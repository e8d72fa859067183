"""Proof that nothing was changed since it was written, and that snapshots agree with the events.

Every event must follow from the one before (`storage.chain`). A campaign is rebuilt from its events and compared with
each snapshot on the way; a long one from a snapshot on, where all before it are sealed and the seals hold: to rebuild
200,000 events of 50 arms takes more than a minute, to follow their digests some seconds.
"""

import json
import math
from typing import Any, NamedTuple

from apportion.allocation.saved_state import OutdatedState
from apportion.campaigns.events import DAMAGE
from apportion.campaigns.state import CampaignState
from apportion.campaigns.storage import chain
from apportion.campaigns.storage.session import Session
from apportion.errors import ApportionError

REBUILT = 20_000
"""So many of the last events are rebuilt at least; all of them where there are no more, or on demand."""


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
    sealed: int = 0
    """Up to this event digests and seals were compared, and nothing was rebuilt."""


def compare(session: Session, campaign: int, full: bool = False) -> tuple[Check, CampaignState | None]:
    """Rebuild a campaign from its events, and compare it with every snapshot on the way; each digest must follow.

    A long campaign is rebuilt from a sealed snapshot on, unless it is to be in `full`.

    Where a snapshot differs by rounding only, another processor or NumPy wrote it: powers differ in the last bit
    between them. The message says so; it is no fault.
    """
    state: CampaignState | None = None
    compared = 0
    exact = True
    saved = session.snapshots(campaign)  # first: what is written meanwhile has more events, not fewer
    upto = session.last_number(campaign)
    number = sealed = 0 if full else _sealed_until(saved, upto)
    if sealed:
        broken = _follow(session, campaign, saved, sealed)
        if broken is not None:
            return broken
        try:
            state = CampaignState.from_text(chain.unsealed(saved[sealed]), sealed)
        except ApportionError:  # an earlier release wrote it, or it is not as it was: the events tell
            return compare(session, campaign, full=True)
        state.history = lambda ticket, last: session.events_of_ticket(campaign, ticket, last)
    digest: str | None = None
    try:
        for link in session.links(campaign, upto, sealed):
            if not link.sound:
                return _changed(link.row.number, number, compared), None
            event, found = link.event(), link.digest
            if state is None:
                state = CampaignState.begin(event)
                state.history = lambda ticket, last: session.events_of_ticket(campaign, ticket, last)
            else:
                state.apply(event)
            number, digest = event.number, found
            if event.kind == "split":
                _adds_up(event.payload)
            if number in saved:
                rebuilt, (snapshot, totals) = state.text(), parts(chain.unsealed(saved[number]))
                if totals and (state.totals is None or totals != state.totals.text()):
                    message = f"The totals in the snapshot after event {number} do not agree with the events."
                    return Check(False, number, state.allocator.period, compared, False, message), state
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
    until = sum(1 for each in saved if each <= sealed)
    how = "bit for bit" if exact else "to rounding (another processor or NumPy wrote a snapshot)"
    agree = "1 snapshot agrees" if compared == 1 else f"{compared} snapshots agree"
    agree = f"{agree} {how}" if compared else "there is no snapshot to compare with, the digests follow"
    message = f"{number} event{'' if number == 1 else 's'} rebuilt; {agree}."
    if sealed:
        message = (
            f"{number} events follow one from the other, the last {number - sealed} of them rebuilt; {agree}, "
            f"{until} before {'is' if until == 1 else 'are'} as sealed."
        )
    return Check(True, number, state.allocator.period, compared, exact, message, digest, sealed), state


def _sealed_until(saved: dict[int, str], upto: int) -> int:
    """The last snapshot with `REBUILT` events after it; 0 where there is none, or one before it has no seal."""
    before = [number for number in sorted(saved) if number <= upto - REBUILT]
    return before[-1] if before and all(chain.has_seal(saved[number]) for number in before) else 0


def _follow(
    session: Session, campaign: int, saved: dict[int, str], upto: int
) -> tuple[Check, CampaignState | None] | None:
    """Digests and seals up to an event; what is wrong with them, None where nothing is."""
    number = 0
    for link in session.links(campaign, upto):
        if not link.sound or link.row.number != number + 1:
            return _changed(link.row.number, number, 0), None
        number += 1
        if number in saved and not chain.is_intact(link.digest, saved[number]):
            return compare(session, campaign, full=True)  # which says what is wrong, or that it is rounding
    return None if number == upto else (_changed(number + 1, number, 0), None)


def _changed(event: int, number: int, compared: int) -> Check:
    message = (
        f"Event {event} is not as it was written, or one before it is missing: its digest does not follow. "
        "Restore the database from a copy."
    )
    return Check(False, number, 0, compared, False, message)


def _adds_up(payload: dict[str, Any]) -> None:
    total = math.fsum(payload["amounts"].values())
    if not math.isclose(total, payload["budget"], rel_tol=1e-12):
        raise ValueError(f"its amounts add up to {total!r}, its budget is {payload['budget']!r}")


def parts(snapshot: str) -> tuple[str, str]:
    """The state in a snapshot, and its totals; earlier releases kept none."""
    head, _, rest = snapshot.partition("\n")
    body, _, totals = rest.partition("\n")
    return f"{head}\n{body}", totals


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
