"""Where a campaign stands, at one moment."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from apportion.allocation.beliefs import Belief, Beliefs
from apportion.campaigns.settings import Settings
from apportion.campaigns.state import CampaignState
from apportion.inference.health.findings import Health
from apportion.inference.learning import Learned
from apportion.model.response import best_values

_DRAWS = 4096


class ArmStatus(NamedTuple):
    """One arm: its state (active, paused, removed), the bounds on its share, and what is believed about it.

    `resource` of the belief is the amount that it stands on (`spent_heading`); what was spent is in the history.
    """

    name: str
    state: str
    minimum: float
    maximum: float
    belief: Belief | None
    """None for an arm that was removed."""

    def to_dict(self) -> dict[str, Any]:
        """Flat plain data: bounds and belief side by side."""
        own = self._asdict()
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

    def to_dict(self) -> dict[str, Any]:
        """Plain data; NaN where something is not known."""
        return {
            "campaign": self.name,
            "period": self.period,
            "open_tickets": list(self.open_tickets),
            "leader": self.leader,
            "expected_regret_per_period": self.expected_regret,
            "arms": [arm.to_dict() for arm in self.arms],
            "settings": self.settings._asdict(),
            "learned": learned_content(self.beliefs.learned),
            "events": self.version,
            "notes": list(self.notes),
            "health": None if self.health is None else self.health.to_dict(),
        }


def status_of(name: str, state: CampaignState, beliefs: Beliefs, expected_regret: float) -> Status:
    """The status of a campaign in this state."""
    own, settings = state.allocator, state.settings
    waiting = own.open_tickets
    return Status(
        name=name, period=own.period, open_tickets=waiting, leader=beliefs.leader, expected_regret=expected_regret,
        arms=tuple(ArmStatus(*arm, belief=beliefs.get(arm.name)) for arm in own.all_arms), settings=settings,
        version=state.number, notes=sentences(settings, waiting, expected_regret, beliefs.learned), beliefs=beliefs,
    )  # fmt: skip


def expected_regret(beliefs: Beliefs, amounts: Mapping[str, float]) -> float:
    """E[V(M)] − Σ E[μ]·amount^c under independent N(μ*, σ_i²/B), V(M) the best value of the budget M in play.

    At c = 1 the best value is that of the best arm. NaN where an arm is unknown. The draws are fixed: the same
    beliefs give the same figure.
    """
    given = np.array([amounts.get(name, 0.0) for name in beliefs])
    counts = beliefs.in_play | (given > 0.0)
    gains, spread = -beliefs.mean if beliefs.minimise else beliefs.mean, beliefs.spread
    if not counts.any() or not np.isfinite(spread[counts]).all() or np.isnan(gains[counts]).any():
        return float("nan")
    noise = np.random.Generator(np.random.PCG64(20_23)).standard_normal((_DRAWS, len(given)))
    draws = (gains + spread * noise)[:, counts]
    chosen, spent = draws[:, beliefs.in_play[counts]], given[counts]
    if beliefs.c == 1.0:
        return float(np.maximum(0.0, (chosen.max(axis=1)[:, np.newaxis] - draws) @ spent).mean())
    value = best_values(chosen, beliefs.c, float(spent.sum()))
    return float(np.maximum(0.0, value - draws @ spent**beliefs.c).mean())


def spent_heading(settings: Settings) -> str:
    """What `resource` of a belief adds up, in words: it is not all that was spent.

    Amounts without a result ("no data", or still open) are not in it, nor what a half-life or a window forgot.
    """
    fades = settings.half_life is not None or settings.window is not None
    return "Spent, still counting" if fades else "Spent, with results"


def return_heading(settings: Settings, c: float | None = None) -> str:
    """What `mean` of a belief is, in words: 'Return per EUR'; where returns diminish, 'Return of the first EUR'.

    `c` is that of the beliefs, where they are not of today.
    """
    of = "per" if (settings.c if c is None else c) == 1.0 else "of the first"
    return f"{'Cost' if settings.minimise else 'Return'} {of} {settings.unit or 'unit'}"


def marginal_heading(settings: Settings) -> str:
    """What `marginal` of a belief is, in words: 'Return of the next EUR'."""
    return f"{'Cost' if settings.minimise else 'Return'} of the next {settings.unit or 'unit'}"


def learned_content(found: Learned | None) -> dict[str, Any] | None:
    """What was learned about b and σ as plain data, with its sentence; None where the policy does not learn."""
    return None if found is None else {**found._asdict(), "sentence": found.sentence}


def sentences(
    settings: Settings, waiting: tuple[int, ...], regret: float, learned: Learned | None = None
) -> tuple[str, ...]:
    """What a person should know, in words that hold on the command line, in the dashboard and over HTTP."""
    notes = [] if learned is None else [learned.sentence]
    assumed = [] if learned else [option for option in settings.assumed if getattr(settings, option) is not None]
    taken = [f"{'σ' if option == 'sigma' else option} = {getattr(settings, option):g}" for option in assumed]
    if taken:
        notes.append(
            f"{' and '.join(taken)} {'was' if len(taken) == 1 else 'were'} assumed: give what you know in the "
            "settings, or measure it on a past history."
        )
    if settings.c < 1.0:
        notes.append(f"Returns diminish: they grow as amount^{settings.c:g}, so several arms share the best split.")
    if settings.minimise:
        notes.append("Outcomes are costs: the arm with the smallest mean is the best.")
    if settings.half_life is not None:
        notes.append(f"Outcomes count half after {settings.half_life:g} periods.")
    if settings.window is not None:
        notes.append(f"Only outcomes of the last {settings.window} periods count.")
    if settings.robust:
        notes.append("Outliers are trimmed; the intervals are not proven for trimmed means.")
    if len(waiting) > 1:
        shown = ", ".join(map(str, waiting[-10:]))
        notes.append(f"{len(waiting)} tickets are open ({shown}); close those whose outcomes will never come.")
    if math.isnan(regret) and settings.sigma is not None:
        notes.append("Not every arm has an outcome yet: no figure yet for the cost of still not being sure.")
    return tuple(notes)
