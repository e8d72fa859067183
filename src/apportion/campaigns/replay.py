"""A campaign once more, event by event, and on from there as it grows."""

from collections.abc import Iterator
from typing import NamedTuple

from apportion.campaigns.events import Event
from apportion.campaigns.state import CampaignState
from apportion.campaigns.storage.store import Store


class Step(NamedTuple):
    """An event, and the state just before it: None before the first."""

    event: Event
    before: CampaignState | None

    @property
    def ended(self) -> int:
        """The period that ends here, as the next split is asked for; 0 where none does."""
        return self.before.allocator.period if self.before is not None and self.event.kind == "split" else 0


class Replay:
    """A state of its own that follows a campaign through its events; every event is read once.

    Events are only ever added, so what was seen of the past stays true: a correction is a later event.
    """

    def __init__(self, store: Store, campaign: int) -> None:
        self._store = store
        self._campaign = campaign
        self.number = 0  # how many events were read
        self.state: CampaignState | None = None  # the state after them

    def go_on_from(self, number: int, state: CampaignState) -> None:
        """Leave out what was before: this is the state after so many events, for this replay alone."""
        self.number, self.state = number, state

    def steps(self, upto: int | None = None) -> Iterator[Step]:
        """What happened since the last time, up to an event's number. To be read to its end, or not used again."""
        with self._store.reading() as session:

            def history(ticket: int, last: int) -> list[Event]:
                return session.events_of_ticket(self._campaign, ticket, last)

            state = self.state
            if state is not None:
                state.history = history
            for event in session.events(self._campaign, self.number, upto=upto):
                yield Step(event, state)
                if state is None:
                    self.state = state = CampaignState.begin(event)
                    state.history = history
                else:
                    state.apply(event)
                self.number = event.number
