"""Ask and tell, by arm name, in memory: the door through which a real budget meets a policy."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from apportion._common import validation
from apportion.allocation.arms import Roster
from apportion.allocation.beliefs import Beliefs
from apportion.allocation.feasible import amounts as feasible_amounts
from apportion.allocation.feasible import project
from apportion.allocation.outcomes import News, budget_amount, outcome_shown, read_news
from apportion.allocation.rng_state import fresh_seed, generator_from, generator_state
from apportion.allocation.split import Split
from apportion.allocation.tickets import Ticket, Tickets
from apportion.errors import ApportionError, Conflict, IncompatibleState
from apportion.inference.learning import Learned, learned, sums_for
from apportion.model.confidence import anytime_rho
from apportion.model.sums import Floats, Grid
from apportion.model.trimmed_mean import Groups, new_past, past_from_dict, window_of
from apportion.policies import Policy, policy_from_dict
from apportion.policies.contract import Period, decide_now

FORMAT = "apportion.allocator"
VERSION = 1

# The anytime interval is narrowest at about this many periods of even shares; it holds at any other time too.
_TUNED_FOR_PERIODS = 20.0


class Allocator:
    """Splits a budget by a policy, and learns from what comes back.

    `ask` gives a split with a ticket; `tell` brings outcomes home by ticket and arm name, in parts, late and
    in any order. The same outcome twice is harmless; a different one is refused (`amend` corrects). Bad input
    gets an error and changes nothing.

    - `b` and `sigma` default to the policy's. Without a σ the intervals and chances of being best are
      unknown; `Auto` learns both, and `learned` says what.
    - `horizon`: how many periods there will be, for policies that want to know.
    - `minimum`, `maximum`, `pinned`: shares by arm name. `whole`: amounts are whole units; `step`: multiples
      of it.
    - `half_life`: how many periods until an outcome counts half, for returns that drift; or `window`: how many
      periods count at all.
    - `robust`: a few wild outcomes must not decide: a trimmed mean takes the place of the mean.
    - `level`: of the intervals in `beliefs`.
    - `minimise`: outcomes are costs; the arm with the smallest per unit is the best.

    >>> from apportion import Odds
    >>> allocator = Allocator(Odds(b=0.75), arms=("search", "social"), minimum={"social": 0.1}, seed=7)
    >>> split = allocator.ask(budget=100)
    >>> dict(split.amounts)
    {'search': 50.0, 'social': 50.0}
    >>> allocator.tell(split.ticket, {"search": 60.0})     # the other outcome may come later
    >>> allocator.beliefs()["search"].mean
    1.2
    """

    _Tickets: ClassVar[type[Tickets]] = Tickets
    """Where tickets are kept; a campaign keeps them in its database."""

    def __init__(
        self,
        policy: Policy,
        arms: Iterable[str],
        *,
        seed: int | None = None,
        b: float | None = None,
        sigma: float | None = None,
        horizon: int | None = None,
        minimum: Mapping[str, float] | None = None,
        maximum: Mapping[str, float] | None = None,
        pinned: Mapping[str, float] | None = None,
        whole: bool = False,
        step: float | None = None,
        half_life: float | None = None,
        window: int | None = None,
        robust: bool = False,
        level: float = 0.95,
        minimise: bool = False,
    ) -> None:
        if not isinstance(policy, Policy):
            raise validation.refuse("policy", "a policy such as apportion.Odds(b=0.75)", policy)
        self.policy = policy
        self.horizon = None if horizon is None else validation.whole("horizon", horizon, low=1)
        self.sigma = getattr(policy, "sigma", None) if sigma is None else validation.number("sigma", sigma, above=0.0)
        self.level = validation.number("level", level, above=0.0, below=1.0)
        self.minimise = validation.flag("minimise", minimise)
        if validation.flag("whole", whole) and step is not None:
            raise validation.refuse("step", "left out where `whole` is True", step)
        self.step = 1.0 if whole else None if step is None else validation.number("step", step, above=0.0)
        self.seed = fresh_seed() if seed is None else validation.whole("seed", seed, low=0)
        self._rng = np.random.Generator(np.random.PCG64(self.seed))
        self._roster = Roster(arms, minimum, maximum, pinned)
        count = len(self._roster.names)
        self._past = new_past(count, kept_for(policy, b), half_life, window, robust)
        self._memory = policy.initial_memory(count)
        self._tickets = self._Tickets()
        self._unit: float | None = None
        self._even_share = 1.0 / count
        self._records: dict[int, Any] = {}
        # A policy that lacks something, a horizon say, is refused now and not at the first ask.
        self._record(count)

    # What is known of the set-up

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of all arms that were not removed."""
        return self._roster.present

    @property
    def b(self) -> float:
        """The exponent the statistics are kept for; what is learned of it so far where the policy learns."""
        found = self.learned
        return float(self._past.b) if found is None else found.b

    @property
    def told_b(self) -> float | None:
        """The exponent that was given or assumed; None where it is learned."""
        order = getattr(self.policy, "b", None) if self._learns else self._past.b
        return None if order is None else float(order)

    @property
    def _learns(self) -> bool:
        return isinstance(self.policy.reads, Grid)

    @property
    def learned(self) -> Learned | None:
        """What the outcomes say about b and σ; None for a policy that does not learn them."""
        if not self._learns:
            return None
        return learned(self._past.sums(), self.sigma)

    @property
    def half_life(self) -> float | None:
        """Periods until an outcome counts half; None: it never fades."""
        return self._past.half_life

    @property
    def window(self) -> int | None:
        """How many periods count; None: all."""
        return window_of(self._past)

    @property
    def robust(self) -> bool:
        """Whether wild outcomes are trimmed."""
        return isinstance(self._past, Groups)

    @property
    def period(self) -> int:
        """How many splits were asked for."""
        return self._past.period

    @property
    def open_tickets(self) -> tuple[int, ...]:
        """The tickets with outcomes still to come."""
        return self._tickets.open

    # Ask and tell

    def ask(self, budget: float = 1.0) -> Split:
        """The next split of `budget`, with a ticket to tell its outcomes by."""
        amount = budget_amount(budget)
        active = self._roster.active
        names, low, high = self._roster.bounds(active)
        unit = amount if self._unit is None else self._unit
        past = self._past.sums()
        seen = past if active is None else past.take(active)
        memory = self._memory.copy() if active is None else self._memory[active]
        position = self._rng.bit_generator.state
        try:
            period = Period(self.period + 1, self.horizon or 0, unit)
            known = seen if active is None or not self._learns else past.take(_first(active, len(past.count)))
            wanted = decide_now(self._record(len(memory)), period, known, memory, self._rng)
            shares = wanted if low is None else project(wanted, low, high, names)
            given = feasible_amounts(shares, amount, low=low, high=high, step=self.step, rng=self._rng, names=names)
        except BaseException:
            self._rng.bit_generator.state = position
            raise
        self._unit = unit
        self._past.advance()
        # Never changed in place: an earlier split explains itself from the memory of its own time.
        self._memory = memory if active is None else _placed(memory, active, self._memory)
        everywhere = given if active is None else _placed(given, active, np.zeros(len(self._memory)))
        ticket = self._tickets.issue(everywhere)
        beliefs = self._believe(names, past, active)
        return Split(ticket, amount, names, shares, given, wanted, self.policy, memory, beliefs)

    def tell(
        self,
        ticket: int,
        outcomes: Mapping[str, float | None],
        amounts: Mapping[str, float] | None = None,
    ) -> None:
        """Bring outcomes home: by ticket and arm name, in parts, late, in any order.

        An outcome of None means that none will come ("no data"). `amounts` are what was really spent where
        that differs from the advice; the statistics use those. Telling the same again changes nothing;
        telling something else is a `Conflict`. A pandas Series will do in place of a dict.
        """
        held = self._tickets.find(ticket)
        news = read_news(held, self._roster, outcomes, amounts)
        changed = (news.outcomes != held.outcomes) & ~(np.isnan(news.outcomes) & np.isnan(held.outcomes))
        conflict = held.told & (changed | (news.amounts != held.amounts))
        if conflict.any():
            place = int(conflict.argmax())
            outcome, arm = held.outcomes[place], self._roster.names[place]
            has = "no data" if math.isnan(outcome) else f"an outcome of {outcome_shown(outcome)}"
            raise Conflict(
                f"Ticket {held.number} already has {has} from an amount of {held.amounts[place]:g} for '{arm}'; use "
                "`amend` to correct it."
            )
        fresh = np.where(news.named & ~held.told, news.outcomes, math.nan)
        self._past.update(self._wide(news.amounts), self._gain(fresh), held.number)
        self._keep(held, news)

    def amend(
        self,
        ticket: int,
        outcomes: Mapping[str, float | None],
        amounts: Mapping[str, float] | None = None,
    ) -> None:
        """Correct outcomes that were told, or the `amounts` they came from: the old are taken back exactly."""
        held = self._tickets.find(ticket)
        news = read_news(held, self._roster, outcomes, amounts)
        touched = news.named | (news.amounts != held.amounts)
        missing = touched & ~held.told
        if missing.any():
            name = self._roster.names[int(missing.argmax())]
            raise Conflict(f"Ticket {ticket} has no outcome for '{name}' yet: there is nothing to amend.")
        old, new = (np.where(touched, values, math.nan) for values in (held.outcomes, news.outcomes))
        self._past.revert(self._wide(held.amounts), self._gain(old), held.number)
        self._past.update(self._wide(news.amounts), self._gain(new), held.number)
        self._keep(held, news)

    def beliefs(self) -> Beliefs:
        """What is believed about every arm that was not removed."""
        return self._believe(self._roster.present, self._past.sums(), self._roster.kept, self._roster.playing)

    def _believe(self, names: Sequence[str], past: Any, places: Any = None, playing: Any = None) -> Beliefs:
        """Beliefs about the arms at these places: at the b that sums are kept for, or that all arms together tell."""
        seen = past if places is None else past.take(places)
        if not self._learns:
            return Beliefs(
                names, seen, self.sigma, self._rho(self._past.b), self.level, self.minimise, playing=playing
            )  # fmt: skip
        found = learned(past, self.sigma)
        return Beliefs(
            names, sums_for(seen, found.b), found.sigma, self._rho(found.b), self.level, self.minimise, found, playing
        )  # fmt: skip

    # The arms

    def add_arm(self, name: str, minimum: float = 0.0, maximum: float = 1.0) -> None:
        """A new arm, or one that was removed, with all that was learned about it and the bounds given here."""
        roster = self._roster.with_arm(name, minimum, maximum)
        count = len(roster.names)
        if count > len(self._memory):
            # A policy made for so many arms and no more refuses here, before anything has changed.
            self._memory = np.concatenate([self._memory, self.policy.initial_memory(count)[-1:]])
            self._past.add_arms()
        self._roster = roster

    def pause_arm(self, name: str) -> None:
        """Give the arm nothing until it is resumed."""
        self._roster = self._roster.with_change(name, state="paused")

    def resume_arm(self, name: str) -> None:
        """Take a paused arm back into the splits."""
        self._roster = self._roster.with_change(name, state="active")

    def remove_arm(self, name: str) -> None:
        """Take the arm away. Outcomes of open tickets still count; `add_arm` brings it back, nothing forgotten."""
        self._roster = self._roster.with_change(name, state="removed")

    def bound_arm(self, name: str, minimum: float | None = None, maximum: float | None = None) -> None:
        """Set the smallest and largest share of an arm; both alike pins it."""
        self._roster = self._roster.with_change(name, minimum=minimum, maximum=maximum)

    # State

    def to_json(self) -> str:
        """Everything, the generator's position included: `from_json` goes on exactly as this one would."""
        state = {
            "format": FORMAT,
            "version": VERSION,
            "policy": self.policy.to_state(),
            "horizon": self.horizon,
            "sigma": self.sigma,
            "level": self.level,
            "minimise": self.minimise,
            "step": self.step,
            "seed": self.seed,
            "generator": generator_state(self._rng),
            "arms": self._roster.to_list(),
            "statistics": self._past.to_dict(),
            "memory": [value if math.isfinite(value) else str(value) for value in self._memory.tolist()],
            "unit": self._unit,
            "even_share": self._even_share,
            "tickets": self._tickets.to_dict(),
        }
        return json.dumps(state, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The allocator that `to_json` wrote; `IncompatibleState` where it was not, or was damaged since."""
        try:
            state = json.loads(text)
            if not isinstance(state, dict) or state.get("format") != FORMAT:
                raise IncompatibleState("This is not the saved state of an Allocator.")
            if state.get("version") != VERSION:
                raise IncompatibleState(
                    f"`version` of the saved state must be {VERSION}; got {state.get('version')!r}. "
                    "Load it with the release of apportion that wrote it."
                )
            return cls._from_state(state)
        except IncompatibleState:
            raise
        except KeyError as error:
            raise IncompatibleState(f"The saved state is damaged: {error} is missing.") from error
        except ApportionError as error:
            raise IncompatibleState(f"The saved state cannot be used: {error}") from error
        except (TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
            raise IncompatibleState(f"The saved state is damaged: {' '.join(str(error).split())}.") from error

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        roster = Roster.from_list(state["arms"])
        past = past_from_dict(state["statistics"])
        order = None if isinstance(past.b, tuple) else past.b
        # Through the front door, so that a saved setting is checked as a given one is.
        restored = cls(
            policy_from_dict(state["policy"]), roster.names, seed=state["seed"], b=order, sigma=state["sigma"],
            horizon=state["horizon"], step=state["step"], half_life=past.half_life,
            window=window_of(past), robust=isinstance(past, Groups), level=state["level"], minimise=state["minimise"],
        )  # fmt: skip
        if restored._past.b != past.b:
            raise IncompatibleState("The saved state is damaged: its policy reads other sums than it holds.")
        restored._rng = generator_from(state["generator"])
        restored._roster, restored._past = roster, past
        restored._memory = np.array(state["memory"], dtype=np.float64)
        restored._unit = None if state["unit"] is None else budget_amount(state["unit"])
        restored._even_share = validation.number("even_share", state["even_share"], above=0.0, high=1.0)
        restored._tickets = cls._Tickets.from_dict(state["tickets"], len(roster.names))
        if not (len(roster.names),) == (past.arms,) == restored._memory.shape:
            raise IncompatibleState("The saved state is damaged: its parts speak of different numbers of arms.")
        if restored._tickets.issued != past.period or (restored._unit is None) != (past.period == 0):
            raise IncompatibleState("The saved state is damaged: its parts speak of different periods.")
        return restored

    # Helpers

    def _record(self, arms: int) -> Any:
        if arms not in self._records:
            self._records[arms] = self.policy.prepared(arms, self.horizon)
        return self._records[arms]

    def _rho(self, b: float) -> float:
        """The anytime interval's tuning, fixed by the first budget: it must not depend on outcomes, but for b."""
        share = (self._unit or 1.0) * self._even_share
        return anytime_rho(_TUNED_FOR_PERIODS * share ** (2.0 - 2.0 * b), -math.log1p(-self.level))

    def _wide(self, values: Floats) -> Floats:
        """A ticket's numbers for all arms of today: those that came later had nothing."""
        late = self._past.arms - len(values)
        return values if late == 0 else np.concatenate([values, np.zeros(late)])

    def _gain(self, outcomes: Floats) -> Floats:
        """A ticket's outcomes as the statistics take them in: what is to be made large."""
        return self._wide(-outcomes if self.minimise else outcomes)

    def _keep(self, held: Ticket, news: News) -> None:
        held.amounts, held.outcomes = news.amounts, news.outcomes
        held.told |= news.named
        self._tickets.settle(held)


def kept_for(policy: Policy, b: float | None) -> Any:
    """What the statistics are to be kept for: one b, or the orders of a policy that learns."""
    own = getattr(policy, "b", None)
    if not isinstance(policy.reads, Grid):
        order = b if b is not None else 0.5 if own is None else own
        return validation.number("b", order, low=0.0, high=1.0)
    if b is not None and b != own:
        raise validation.refuse("b", f"given to the policy, as {type(policy).__name__}(b={validation.shown(b)})", b)
    return policy.reads.orders


def _placed(values: Floats, places: Any, where: Floats) -> Floats:
    """A copy of `where` with `values` at some places."""
    filled = where.copy()
    filled[places] = values
    return filled


def _first(places: Any, count: int) -> Any:
    """All places below `count`, these first: a policy that learns the noise learns it from the other arms too."""
    return np.concatenate([places, np.setdiff1d(np.arange(count), places)])
