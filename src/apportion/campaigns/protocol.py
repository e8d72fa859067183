"""The verbs of a campaign, the same for one in a database at hand and for one in a service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, Self, Unpack

if TYPE_CHECKING:
    from apportion._common.tables import Source
    from apportion.allocation.arms import Arm
    from apportion.allocation.beliefs import Beliefs
    from apportion.allocation.outcomes import Amounts, Outcomes
    from apportion.allocation.split import Split
    from apportion.campaigns.bounds import Bound
    from apportion.campaigns.calendar import Budgets
    from apportion.campaigns.check import Check
    from apportion.campaigns.events import Event
    from apportion.campaigns.forecast import Forecast
    from apportion.campaigns.history import History
    from apportion.campaigns.importing import Imported
    from apportion.campaigns.past_forecasts import PastForecasts
    from apportion.campaigns.plan import Plan
    from apportion.campaigns.settings import ChangedSettings, Settings
    from apportion.campaigns.status import Status
    from apportion.campaigns.undo import ImportRecord, UndoneImport


Key = str | None
"""The name of a write: sent again with it, the write is done once."""


class CampaignVerbs(Protocol):
    """What can be done with a campaign, wherever it is kept. A `key` names a write: sent again, it is done once."""

    name: str

    # Splits and outcomes

    def split(self, budget: float | None = None, *, date: str | None = None, key: Key = None) -> Split:
        """The next split, of the campaign's budget unless another is given here. Earlier tickets may be open.

        `date` is that of its period (2026-01-31, or a name such as "week 3"); the present moment by default.
        """

    def record(
        self,
        ticket: int,
        outcomes: Outcomes,
        amounts: Amounts | None = None,
        *,
        provisional: bool = False,
        confirm: bool = False,
        key: Key = None,
    ) -> None:
        """Record outcomes: in parts, late, in any order; None means that none will come ("no data").

        `amounts` are what was really spent where that differs from the advice. The same again changes nothing;
        something else is a `Conflict`: `amend` corrects. Totals so far are `provisional`: they count as they are, the
        ticket stays open, and what is recorded next of an arm replaces them, until it is final. An outcome ten times
        off all that was seen is `Unconfirmed`, and nothing is changed, unless you `confirm` it.
        """

    def amend(
        self,
        ticket: int,
        outcomes: Outcomes,
        amounts: Amounts | None = None,
        *,
        confirm: bool = False,
        key: Key = None,
    ) -> None:
        """Correct outcomes that were recorded, or the amounts they came from. The old stay in the history."""

    def cancel(self, ticket: int, *, key: Key = None) -> None:
        """Take a split back that was not spent; `Conflict` where something was recorded of it."""

    def close(self, ticket: int, *, key: Key = None) -> None:
        """No result will come for what is still open of a ticket; its provisional totals are final, then."""

    # Arms and settings

    def add_arm(
        self,
        name: str,
        minimum: Bound = 0.0,
        maximum: Bound = 1.0,
        *,
        sigma: float | None = None,
        key: Key = None,
    ) -> None:
        """A new arm, or one that was removed, with all that was learned about it.

        Where every arm has a noise scale of its own a new one needs its `sigma`.
        """
        return self._change_arm("add", name, minimum, maximum, key, sigma)

    def pause_arm(self, name: str, *, key: Key = None) -> None:
        """Give the arm nothing until it is resumed."""
        return self._change_arm("pause", name, key=key)

    def resume_arm(self, name: str, *, key: Key = None) -> None:
        """Take a paused arm back into the splits."""
        return self._change_arm("resume", name, key=key)

    def remove_arm(self, name: str, *, key: Key = None) -> None:
        """Take the arm away; outcomes of open tickets still count, and `add_arm` brings it back."""
        return self._change_arm("remove", name, key=key)

    def bound_arm(
        self, name: str, minimum: Bound | None = None, maximum: Bound | None = None, *, key: Key = None
    ) -> None:
        """Set the smallest and largest share of an arm; the same minimum and maximum fixes it.

        A bound is a share from 0 to 1, or a text: "5%", or "250 EUR", taken as its share of the budget as it is now.
        """
        return self._change_arm("bound", name, minimum, maximum, key)

    def _change_arm(
        self,
        action: str,
        arm: str,
        minimum: Bound | None = None,
        maximum: Bound | None = None,
        key: Key = None,
        sigma: float | None = None,
    ) -> None:
        """Any of these."""

    def change(self, *, key: Key = None, **changes: Unpack[ChangedSettings]) -> Settings:
        """Change settings, all that are given or none (`campaigns.settings` declares them).

        Some count all outcomes again, another b say; of half-life and window the one set last replaces the other.
        The policy takes over a new b, c or sigma.
        """

    # Files and futures

    def import_history(
        self, path: Source, *, add_arms: bool = False, again: bool = False, key: Key = None,
        **columns: str | int | None,
    ) -> Imported:  # fmt: skip
        """Import a history file: each date becomes a split that was spent, with its outcomes. All or nothing.

        CSV, .xlsx or Parquet. `columns` names the columns (`date`, `arm`, `amount`, `outcome`), and has `period` (sum
        the rows of each day, week or month), `decimal`, `delimiter` and `sheet`. Several rows of one date and arm are
        summed; what else was done with the rows is in `notes` of the answer.
        """

    def imports(self) -> tuple[ImportRecord, ...]:
        """The files that were imported, oldest first, and whether each import was undone."""

    def undo_import(self, event: int | None = None, *, key: Key = None) -> UndoneImport:
        """Take back all that an import brought, the last one or that of an `event`: its splits are cancelled.

        Arms that it added are removed, where no other split gave them anything. The log keeps all of it.
        """

    # The campaign as a whole

    def rename(self, name: str, *, key: Key = None) -> None:
        """Another name; `Conflict` where it is taken."""

    def archive(self, *, key: Key = None) -> None:
        """Put the campaign away: it is in no list, and is not split, until it is taken out again."""

    def unarchive(self, *, key: Key = None) -> None:
        """Take an archived campaign out again."""

    def clone(self, name: str, *, history: bool = True, key: Key = None) -> Self:
        """A copy under another name, which goes its own way; without `history` the arms and settings of today."""

    def delete(self, confirm: str) -> None:
        """Delete the campaign with everything in it, for good: `confirm` is its name. `export` it first."""

    def export(self, kind: str = "json") -> str:
        """Everything as json or log, which `restore` takes; the history as csv."""

    def plan(self, budget: float | None = None, *, target: float | None = None, goal: float | None = None) -> Plan:
        """What a budget may bring back where it is best split, the campaign's unless another is given here.

        With the curve of each arm, return and marginal return of other budgets, and likely ranges. `target`: up to
        which budget the next unit still brings back so much; `goal`: the least budget that returns so much.
        """

    def forecast(
        self,
        *,
        periods: int | None = None,
        budgets: Budgets | None = None,
        worlds: int = 24,
        policies: Sequence[str] | None = None,
        seed: int = 0,
        keep: bool = True,
        key: Key = None,
    ) -> Forecast:
        """What the next periods may bring: futures drawn from what is believed, the campaign going on in each.

        `periods` with the campaign's budget (12 by default), or a calendar of `budgets`: by date, a list, or a file
        with the columns date and budget. The first of the `policies` (the campaign's own, and an even split beside
        it) is the one whose splits are told. It is kept, to be held against what comes, unless `keep` is False.
        """

    def forecasts(self) -> PastForecasts:
        """The forecasts that were kept, oldest first, and how they did: how often what came was in the ranges."""

    # Reading, each time as of one moment

    @property
    def settings(self) -> Settings:
        """What the campaign is run by, as of now."""

    @property
    def unit(self) -> str | None:
        """What the budget is counted in: quicker than `settings`, which works out b and σ where they are learned."""
        return self.settings.unit

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Every arm there ever was, with its state and bounds."""

    @property
    def period(self) -> int:
        """How many splits were asked for."""
        return self.status(health=False).period

    @property
    def version(self) -> int:
        """The number of the last event: it changes when anything does."""
        return self.status(health=False).version

    @property
    def open_tickets(self) -> tuple[int, ...]:
        """The tickets with outcomes still to come."""
        return self.status(health=False).open_tickets

    def beliefs(self, at: int | None = None) -> Beliefs:
        """What is believed about every arm that was not removed; `at`: after that many events."""

    def beliefs_over_time(self, every: int = 1) -> list[tuple[int, Beliefs]]:
        """What was believed after each split's last event so far: (period, beliefs), every so many periods.

        The last entry is today's. One pass over all events.
        """

    def explain(self, ticket: int) -> Split:
        """The split of a ticket as it was given, with the beliefs and reasons of its time."""

    def status(self, *, health: bool = True) -> Status:
        """Where the campaign stands, at one moment: beliefs, open tickets, settings, what to know in sentences.

        `health`: what is found in its data, too (`inference.health`); without it is quicker.
        """

    def expected_regret(self) -> float:
        """The estimated cost of still not being sure: what a split of the budget, made now, is expected to lose.

        Against knowing the best split, per period. NaN where σ is unknown or an arm has no outcome yet.
        """
        return self.status(health=False).expected_regret

    def history(self, first: int | None = None, last: int | None = None) -> History:
        """One line per ticket and arm: advised and spent amount, outcome, corrections. All tickets, or a range."""

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log: everything that happened, in order."""

    def check(self, repair: bool = False, *, full: bool = False) -> Check:
        """Rebuild everything from the events and compare with what is kept; `repair` replaces wrong snapshots.

        Of a long campaign the last 20,000 events are rebuilt, and digests prove that nothing before them was changed;
        with `full`, or `repair`, all are rebuilt.
        """
