"""Where a campaign stands, at one moment."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from apportion._common.formatting import listed, one_of, readable
from apportion.allocation.beliefs import MOST_SURE_OF_MOVING, Belief, Beliefs, per_unit
from apportion.campaigns.settings import Settings
from apportion.campaigns.state import CampaignState
from apportion.campaigns.totals import Totals, return_so_far
from apportion.inference.health.findings import DOUBTS, LEAST_PERIODS, Health
from apportion.inference.learned import Learned

SURE = 0.95
"""From this chance of being the best on nobody calls it a test any more."""

MOST_SURE_IN_DOUBT = 0.95
"""Where the data contradict what chances are worked out for, nobody can be surer of the best arm than this."""


class ArmStatus(NamedTuple):
    """One arm: its state (active, paused, removed), the bounds on its share, and what is believed about it.

    `spent` and `returned` are what was really spent and came back (`totals`). `resource` of the belief is the amount
    that the estimate stands on (`spent_heading`), which may be less.
    """

    name: str
    state: str
    minimum: float
    maximum: float
    belief: Belief | None
    """None for an arm that was removed."""
    spent: float = math.nan
    returned: float = math.nan

    @property
    def return_so_far(self) -> float:
        """Returned ÷ spent: no estimate."""
        return return_so_far(self)

    def to_dict(self) -> dict[str, Any]:
        """Flat plain data: bounds, totals and belief side by side."""
        own = {**self._asdict(), "return_so_far": self.return_so_far}
        belief = own.pop("belief")
        return {**own, **(belief._asdict() if belief is not None else {})}


class Status(NamedTuple):
    """All that a page about a campaign shows first; `version` is the number of the last event."""

    name: str
    period: int
    open_tickets: tuple[int, ...]
    leader: str | None
    expected_regret: float
    arms: tuple[ArmStatus, ...]
    settings: Settings
    version: int
    notes: tuple[str, ...]
    beliefs: Beliefs
    health: Health | None = None
    """What was found in the data; None where it was not asked for."""
    spent: float = math.nan
    """On all arms together, as far as is known: see `apportion.campaigns.totals`."""
    returned: float = math.nan
    archived: bool = False
    """Whether it is put away."""
    provisional_tickets: tuple[int, ...] = ()
    """Those with totals so far, which will be replaced."""
    cancelled: int = 0
    """How many of the splits up to `period` were cancelled, one by one or with an import."""

    @property
    def splits(self) -> int:
        """How many splits there were, without those that were cancelled."""
        return self.period - self.cancelled

    @property
    def return_so_far(self) -> float:
        """Returned ÷ spent, of all arms together: no estimate."""
        return return_so_far(self)

    @property
    def even_amount(self) -> float:
        """An even share of the budget, to two digits: where returns diminish, arms are compared at this amount."""
        active = sum(arm.state == "active" for arm in self.arms)
        return float(f"{self.settings.budget / max(active, 1):.1e}")

    def estimate(self, belief: Belief) -> Belief:
        """What each unit of the even amount returns, with its range."""
        return per_unit(belief, self.even_amount, self.beliefs.c)

    @property
    def estimate_heading(self) -> str:
        """What `estimate` is, in words: 'Return per EUR', or 'Return per EUR at 600 EUR' where returns diminish."""
        return return_heading(self.settings, self.beliefs.c, self.even_amount)

    @property
    def estimate_note(self) -> str:
        """How the estimates differ from the totals beside them, in words."""
        settings, learned = self.settings, self.beliefs.learned
        back, so_far = back_words(settings)
        why = []
        if self.beliefs.c < 1.0:
            why.append(f"it is for {readable(self.even_amount)} {settings.unit or ''}".rstrip() + " on every arm")
        if settings.half_life is not None or settings.window is not None or (learned is not None and learned.fades):
            why.append(f"{'' if why else 'it '}counts recent results more")
        said = f"; {' and '.join(why)}, so the two can differ." if why else "; the two can differ."
        if self.beliefs.c < 1.0:
            said += f" The next {one_of(settings.unit)} is the one after what an arm got in the last split."
        return f"{so_far} is {back.lower()} ÷ spent. The estimate is what splits use{said}"

    @property
    def details(self) -> tuple[str, ...]:
        """Those of the notes that speak of statistics."""
        return details(self.settings, self.beliefs.learned)

    @property
    def plain_notes(self) -> tuple[str, ...]:
        """The others: what everybody should know."""
        return tuple(note for note in self.notes if note not in self.details)

    @property
    def most_sure(self) -> float:
        """The largest chance that is told: that of the beliefs, or less where a finding says that it may be wrong.

        Where the data were not checked, and there are enough of them to be found wrong, nobody knows.
        """
        if self.health is None:
            doubtful = self.period >= LEAST_PERIODS
        else:
            doubtful = bool(self.doubts)
            if any(finding.kind == "drift" for finding in self.health.findings):
                return MOST_SURE_OF_MOVING
        return min(self.beliefs.most_sure, MOST_SURE_IN_DOUBT if doubtful else 1.0)

    @property
    def doubts(self) -> tuple[str, ...]:
        """The titles of the warnings that say that ranges and chances may be wrong."""
        found = () if self.health is None else self.health.findings
        return tuple(each.title for each in found if each.severity == "warning" and each.kind in DOUBTS)

    def _returns_of(self, belief: Belief | None) -> dict[str, float]:
        return {} if belief is None else returns_per_unit(belief, self.even_amount, self.beliefs.c)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; NaN where something is not known."""
        return {
            "campaign": self.name,
            "archived": self.archived,
            "period": self.period,
            "open_tickets": list(self.open_tickets),
            "provisional_tickets": list(self.provisional_tickets),
            "cancelled": self.cancelled,
            "leader": self.leader,
            "spent": self.spent,
            "returned": self.returned,
            "return_so_far": self.return_so_far,
            "expected_regret_per_period": self.expected_regret,
            "return_per_unit_at": self.even_amount,
            "arms": [{**arm.to_dict(), **self._returns_of(arm.belief)} for arm in self.arms],
            "settings": self.settings._asdict(),
            **relative_to(self.beliefs),
            "events": self.version,
            "notes": list(self.notes),
            "health": None if self.health is None else self.health.to_dict(),
        }


def status_of(name: str, state: CampaignState, beliefs: Beliefs, expected_regret: float, totals: Totals) -> Status:
    """The status of a campaign in this state."""
    own, settings = state.allocator, state.settings
    waiting, by_arm, so_far = own.open_tickets, totals.by_arm(), tuple(sorted(state.tickets.provisional))
    arms = (ArmStatus(*arm, beliefs.get(arm.name), *by_arm.get(arm.name, (0.0, 0.0))) for arm in own.all_arms)
    return Status(
        name=name, period=own.period, open_tickets=waiting, leader=beliefs.leader, expected_regret=expected_regret,
        arms=tuple(arms), settings=settings,
        version=state.number, beliefs=beliefs,
        notes=(*details(settings, beliefs.learned), *sentences(settings, waiting, expected_regret, beliefs, so_far)),
        **totals.in_all()._asdict(), archived=state.archived, provisional_tickets=so_far,
        cancelled=len(state.tickets.cancelled),
    )  # fmt: skip


def spent_heading(settings: Settings) -> str:
    """What `resource` of a belief adds up, in words: it is not all that was spent.

    Amounts without a result ("no data", or still open) are not in it, nor what a half-life or a window forgot.
    """
    fades = settings.half_life is not None or settings.window is not None
    return "Spent, still counting" if fades else "Spent, with results"


def back_words(settings: Settings) -> tuple[str, str]:
    """What the totals are called beside "Spent": what came back, and that ÷ spent."""
    return ("Cost", "Cost so far") if settings.minimise else ("Came back", "Return so far")


def per_period(settings: Settings) -> str:
    """'per week', as often as it is split; 'per period' where nobody said."""
    return f"per {settings.every or 'period'}"


def cost_shown(status: Status) -> str:
    """The cost of still not being sure, in what comes back: '271.94 EUR'."""
    return f"{readable(status.expected_regret)} {status.settings.outcome_unit or ''}".rstrip()


def _back_of(settings: Settings) -> str:
    """What there is of one unit of the budget: a return, a cost, or what came back by its name ('Orders')."""
    named = settings.outcome_unit
    if named and named != settings.unit:
        return named[:1].upper() + named[1:] if named[:1].islower() and named[1:2].islower() else named
    return "Cost" if settings.minimise else "Return"


def inside(heading: str) -> str:
    """A heading inside a sentence: without its capital, unless that belongs to it.

    >>> inside("Orders per EUR"), inside("EUR per hour")
    ('orders per EUR', 'EUR per hour')
    """
    return heading if heading[1:2].isupper() else heading[:1].lower() + heading[1:]


def return_heading(settings: Settings, c: float, amount: float | None = None) -> str:
    """What an estimate is, in words: 'Return per EUR'; where returns diminish, at which amount.

    'Orders per EUR' where what comes back has a name of its own. Without an amount it is that of the row.
    """
    per = f"{_back_of(settings)} per {one_of(settings.unit)}"
    if c == 1.0:
        return per
    at = "this amount" if amount is None else f"{readable(amount)} {settings.unit or ''}".rstrip()
    return f"{per} at {at}"


def marginal_heading(settings: Settings) -> str:
    """What `marginal` of a belief is, in words: 'Return of the next EUR'."""
    return f"{_back_of(settings)} of the next {one_of(settings.unit)}"


def returns_per_unit(belief: Belief, amount: float, c: float) -> dict[str, float]:
    """What each unit of an amount returns, with its range, by the names that plain data have for it.

    It is the figure that people see. Where returns diminish `mean` is another one: the return of the first unit.
    """
    own = per_unit(belief, amount, c)
    return {
        "return_per_unit": own.mean, "return_per_unit_low": own.low, "return_per_unit_high": own.high,
    }  # fmt: skip


def relative_to(beliefs: Beliefs) -> dict[str, Any]:
    """What beliefs stand on, as of their own time: σ, c, the level, the direction, what was learned."""
    own = {name: getattr(beliefs, name) for name in ("sigma", "c", "level", "minimise")}
    return {**own, "learned": learned_content(beliefs.learned)}


def learned_content(found: Learned | None) -> dict[str, Any] | None:
    """What was learned about b and σ as plain data, with its sentence; None where the policy does not learn."""
    return None if found is None else {**found._asdict(), "sentence": found.sentence}


def details(settings: Settings, learned: Learned | None = None) -> tuple[str, ...]:
    """The statistics in words: what is known of the noise, and how; what a range stands on."""
    notes = [] if learned is None else [learned.sentence]
    assumed = [] if learned else [option for option in settings.assumed if getattr(settings, option) is not None]
    taken = [f"{'σ' if option == 'sigma' else option} = {getattr(settings, option):g}" for option in assumed]
    if taken:
        notes.append(
            f"{' and '.join(taken)} {'was' if len(taken) == 1 else 'were'} assumed: give what you know in the "
            "settings, or measure it on a past history."
        )
    if learned is None and not taken:
        sigma = settings.sigma
        told = readable(sigma)
        if isinstance(sigma, Mapping):
            told = ", ".join(f"{name}: {readable(value)}" for name, value in sigma.items())
        notes.append(f"b = {settings.b:g}{'' if settings.c == 1.0 else f'; c = {settings.c:g}'}; σ = {told}.")
    if settings.robust:
        notes.append("The likely ranges are not proven for trimmed means.")
    return tuple(notes)


def sentences(
    settings: Settings, waiting: tuple[int, ...], regret: float, beliefs: Beliefs, provisional: tuple[int, ...] = ()
) -> tuple[str, ...]:
    """What a person should know, in words that hold on the command line, in the dashboard and over HTTP."""
    notes, learned = [], beliefs.learned
    if learned is not None and math.isnan(learned.sigma):
        notes.append("No results yet: the first splits are as even as the bounds allow.")
    elif learned is not None and not (beliefs.leader and beliefs[beliefs.leader].probability_best >= SURE):
        notes.append("Results vary a lot from period to period: still testing.")
    elif learned is None and "sigma" in settings.assumed and settings.sigma is not None:
        notes.append("How much results vary was assumed: ranges and chances are only as good as that.")
    if settings.c < 1.0:
        one = one_of(settings.unit)
        notes.append(f"Returns diminish: each further {one} brings less, so several arms share the best split.")
    if settings.minimise:
        notes.append("Outcomes are costs: less is better.")
    if settings.half_life is not None:
        notes.append(f"Outcomes count half after {settings.half_life:g} periods.")
    if settings.window is not None:
        notes.append(f"Only outcomes of the last {settings.window} periods count.")
    if settings.robust:
        notes.append("Outliers are trimmed.")
    if len(waiting) > 1:
        shown = ", ".join(map(str, waiting[-10:]))
        notes.append(
            f"{len(waiting)} tickets are open ({shown}): cancel those that were not spent, close those without "
            "results to come."
        )
    if provisional:
        shown = f"ticket{'s' if len(provisional) > 1 else ''} {', '.join(map(str, provisional[-10:]))}"
        notes.append(f"Provisional: the totals so far of {shown} count as they are, until they are final.")
    if math.isnan(regret) and settings.sigma is not None:
        untried = [name for name, plays in zip(beliefs, beliefs.in_play) if plays and math.isnan(beliefs[name].mean)]
        why = "Too few outcomes yet"
        if beliefs.leader is not None and untried:
            why = f"{listed(untried)} {'has' if len(untried) == 1 else 'have'} no results yet"
        notes.append(f"{why}: no figure yet for the cost of still not being sure.")
    return tuple(notes)
