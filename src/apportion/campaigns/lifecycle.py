"""A campaign as a whole: renamed, put away, copied, deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apportion._common import validation
from apportion.allocation.saved_state import fresh_seed
from apportion.campaigns.creation import add_campaign, campaign_name
from apportion.campaigns.events import new_event
from apportion.campaigns.transactions import find_done, request_digest, require_expected, write_key
from apportion.errors import Conflict, InvalidValue

if TYPE_CHECKING:
    from apportion.campaigns.campaign import Campaign

SET_UP = ("created", "arm", "setting")  # the events that a copy without history has


def rename(campaign: Campaign, name: str, key: str | None) -> None:
    """Give a campaign another name; `Conflict` where it is taken."""
    title = campaign_name(name)
    with campaign.transactions.write() as transaction:
        if transaction.done_before(key, "renamed", name=title) is not None or title == campaign.name:
            return
        transaction.session.rename_campaign(campaign.transactions.campaign, title)
        old, transaction.state.name = campaign.name, title
        transaction.append("renamed", {"name": title, "old": old}, key=key)
    campaign.name = title


def put_away(campaign: Campaign, archived: bool, key: str | None) -> None:
    """Archive a campaign, or take it out again."""
    kind = "archived" if archived else "unarchived"
    with campaign.transactions.write() as transaction:
        if transaction.done_before(key, kind) is None and transaction.state.archived != archived:
            transaction.state.archived = archived
            transaction.append(kind, {}, key=key)


def clone(campaign: Campaign, name: str, history: bool, key: str | None) -> int:
    """A copy under another name, with everything that happened or without: its id in the store."""
    title, whole = campaign_name(name), validation.flag("history", history)
    request = {"source": campaign.name, "history": whole}
    # A key belongs to a write of the campaign that was copied.
    events = [event._replace(key=None) for event in campaign.events()]
    if not whole:
        events = [event for event in events if event.kind in SET_UP]
        first = events[0].payload
        events[0] = events[0]._replace(payload={**first, "options": {**first["options"], "seed": fresh_seed()}})
    events = [event._replace(number=number) for number, event in enumerate(events, 1)]
    payload = {"source": campaign.name, "history": whole, "events": len(events)}
    if write_key(key) is not None:
        payload["asked"] = request_digest("cloned", None, request)
    events.append(new_event(len(events) + 1, "cloned", payload, key=key))
    store = campaign.transactions.store
    try:
        with store.reading() as session:  # after the events were read: what is expected is what was copied
            require_expected(session, campaign.transactions.campaign)
        return add_campaign(store, title, events)
    except Conflict:  # was it done before?
        with store.reading() as session:
            known = session.find_campaign(title)
            if known is None or find_done(session, known, key, "cloned", None, request) is None:
                raise
        return known


def delete(campaign: Campaign, confirm: str) -> None:
    """Delete a campaign with everything in it, for good."""
    if campaign.transactions.under_way:
        raise Conflict("A campaign cannot be deleted inside of a write of several verbs.")
    with campaign.transactions.write() as transaction:
        # Here its name is the one that it has now: somebody else may have renamed it.
        if confirm != campaign.name:
            given = validation.shown(confirm)
            raise InvalidValue(
                f"`confirm` must be the name of the campaign to delete, '{campaign.name}'; got {given}. "
                "Nothing was deleted. `export` it first if you may want it back, or `archive` it instead."
            )
        transaction.require_expected()
        transaction.session.delete_campaign(campaign.transactions.campaign)
    campaign.transactions.shared.forget()
