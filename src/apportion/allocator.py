"""Ask and tell, by arm name, in memory: the door through which a real budget meets a policy."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from apportion import checks
from apportion.beliefs import Beliefs
from apportion.confidence import anytime_rho
from apportion.errors import Conflict, IncompatibleState, InvalidValue, UnknownName
from apportion.feasible import amounts as feasible_amounts
from apportion.feasible import project
from apportion.policies import Policy, policy_from_dict
from apportion.policies.contract import Period, decide_now
from apportion.roster import Roster
from apportion.split import Split
from apportion.statistics import Floats, Statistics
from apportion.tickets import Ticket, Tickets

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
      unknown.
    - `horizon`: how many periods there will be, for policies that want to know.
    - `minimum`, `maximum`, `pinned`: shares by arm name. `whole`: amounts are whole units; `step`: multiples
      of it.
    - `half_life`: how many periods until an outcome counts half, for returns that drift.
    - `level`: of the intervals in `beliefs`.

    >>> from apportion import Odds
    >>> allocator = Allocator(Odds(b=0.75), arms=("search", "social"), minimum={"social": 0.1}, seed=7)
    >>> split = allocator.ask(budget=100)
    >>> dict(split.amounts)
    {'search': 50.0, 'social': 50.0}
    >>> allocator.tell(split.ticket, {"search": 60.0})     # the other outcome may come later
    >>> allocator.beliefs()["search"].mean
    1.2
    """

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
        level: float = 0.95,
    ) -> None:
        if not isinstance(policy, Policy):
            raise checks.refuse("policy", "a policy such as apportion.Odds(b=0.75)", policy)
        self.policy = policy
        self.horizon = None if horizon is None else checks.whole("horizon", horizon, low=1)
        self.sigma = getattr(policy, "sigma", None) if sigma is None else checks.number("sigma", sigma, above=0.0)
        self.level = checks.number("level", level, above=0.0, below=1.0)
        if checks.flag("whole", whole) and step is not None:
            raise checks.refuse("step", "left out where `whole` is True", step)
        self.step = 1.0 if whole else None if step is None else checks.number("step", step, above=0.0)
        self.seed = _fresh_seed() if seed is None else checks.whole("seed", seed, low=0)
        self._rng = np.random.Generator(np.random.PCG64(self.seed))
        self._roster = Roster(arms, minimum, maximum, pinned)
        count = len(self._roster.names)
        order = checks.number("b", getattr(policy, "b", 0.5) if b is None else b, low=0.0, high=1.0)
        self._past = Statistics(count, order, half_life)
        self._memory = policy.initial_memory(count)
        self._tickets = Tickets()
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
        """The exponent the statistics are kept for."""
        return self._past.b

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
        amount = checks.number("budget", budget, above=0.0)
        active = self._roster.active
        names, low, high = self._roster.bounds(active)
        position = self._rng.bit_generator.state
        unit = amount if self._unit is None else self._unit
        seen = self._past.sums() if active is None else self._past.sums().take(active)
        memory = self._memory.copy() if active is None else self._memory[active]
        period = Period(self.period + 1, self.horizon or 0, unit)
        wanted = decide_now(self._record(len(memory)), period, seen, memory, self._rng)
        try:
            shares = wanted if low is None else project(wanted, low, high, names)
            given = feasible_amounts(
                shares, amount, low=low, high=high, step=self.step, rng=self._rng, names=names
            )
        except Exception:
            self._rng.bit_generator.state = position
            raise
        self._unit = unit
        self._past.advance()
        if active is None:
            self._memory = memory
            everywhere = given
        else:
            self._memory[active] = memory
            everywhere = np.zeros(len(self._memory))
            everywhere[active] = given
        ticket = self._tickets.issue(self.period, everywhere)
        beliefs = Beliefs(names, seen, self.sigma, self._rho(), self.level)
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
        telling something else is a `Conflict`.
        """
        held = self._tickets.find(ticket)
        spent = held.amounts if amounts is None else self._spent(held, amounts)
        places, values = self._read(held, spent, outcomes)
        before = held.told[places]
        fresh = values
        if before.any():
            told = held.outcomes[places]
            self._require_same(held, places, before & (told != values) & ~(np.isnan(told) & np.isnan(values)))
            fresh = np.where(before, math.nan, values)
        if spent is not held.amounts:
            self._require_same(held, slice(None), held.told & (spent != held.amounts))
            held.amounts = spent
        self._past.update(self._wide(spent), self._wide(self._spread(held, places, fresh)), held.period)
        held.outcomes[places] = values
        held.told[places] = True
        self._tickets.settle(held)

    def amend(self, ticket: int, outcomes: Mapping[str, float | None]) -> None:
        """Correct outcomes that were told: the old ones are taken back exactly."""
        held = self._tickets.find(ticket)
        places, values = self._read(held, held.amounts, outcomes)
        missing = ~held.told[places]
        if missing.any():
            raise Conflict(f"Ticket {ticket} has no outcome for '{self._name(places, missing)}' yet; use `tell`.")
        spent = self._wide(held.amounts)
        old, new = (self._wide(self._spread(held, places, part)) for part in (held.outcomes[places], values))
        self._past.revert(spent, old, held.period)
        self._past.update(spent, new, held.period)
        held.outcomes[places] = values

    def beliefs(self) -> Beliefs:
        """What is believed about every arm that was not removed."""
        kept = self._roster.kept
        seen = self._past.sums()
        return Beliefs(
            self._roster.present,
            seen if kept is None else seen.take(kept),
            self.sigma,
            self._rho(),
            self.level,
        )

    # The arms

    def add_arm(self, name: str, minimum: float = 0.0, maximum: float = 1.0) -> None:
        """A new arm, or one that was removed, with all that was learned about it."""
        if self._roster.add(name, minimum, maximum):
            self._past.add_arms()
            fresh = self.policy.initial_memory(len(self._roster.names))[-1:]
            self._memory = np.concatenate([self._memory, fresh])

    def pause_arm(self, name: str) -> None:
        """Give the arm nothing until it is resumed."""
        self._roster.change(name, state="paused")

    def resume_arm(self, name: str) -> None:
        """Take a paused arm back into the splits."""
        self._roster.change(name, state="active")

    def remove_arm(self, name: str) -> None:
        """Take the arm away; outcomes of open tickets still count, and `add_arm` brings it back as it was."""
        self._roster.change(name, state="removed")

    def bound_arm(self, name: str, minimum: float | None = None, maximum: float | None = None) -> None:
        """Set the smallest and largest share of an arm; both alike pins it."""
        self._roster.change(name, minimum=minimum, maximum=maximum)

    # State

    def to_json(self) -> str:
        """Everything, the generator's position included: `from_json` goes on exactly as this one would."""
        state = {
            "format": FORMAT,
            "version": VERSION,
            "policy": self.policy.to_dict(),
            "horizon": self.horizon,
            "sigma": self.sigma,
            "level": self.level,
            "step": self.step,
            "seed": self.seed,
            "generator": _generator_state(self._rng),
            "arms": self._roster.to_list(),
            "statistics": self._past.to_dict(),
            "memory": self._memory.tolist(),
            "unit": self._unit,
            "even_share": self._even_share,
            "tickets": self._tickets.to_dict(),
        }
        return json.dumps(state, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Allocator:
        """The allocator that `to_json` wrote."""
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
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError, InvalidValue) as error:
            raise IncompatibleState(f"The saved state is damaged: {error}") from error

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Allocator:
        restored = cls.__new__(cls)
        restored.policy = policy_from_dict(state["policy"])
        for name in ("horizon", "sigma", "level", "step", "seed"):
            setattr(restored, name, state[name])
        restored._rng = _generator(state["generator"])
        restored._roster = Roster.from_list(state["arms"])
        restored._past = Statistics.from_dict(state["statistics"])
        restored._memory = np.array(state["memory"], dtype=np.float64)
        restored._unit, restored._even_share = state["unit"], state["even_share"]
        restored._tickets = Tickets.from_dict(state["tickets"])
        restored._records = {}
        if not len(restored._roster.names) == restored._past.arms == len(restored._memory):
            raise IncompatibleState("The saved state is damaged: its parts speak of different numbers of arms.")
        return restored

    # Helpers

    def _record(self, arms: int) -> Any:
        if arms not in self._records:
            self._records[arms] = self.policy.prepared(arms, self.horizon)
        return self._records[arms]

    def _rho(self) -> float:
        """The anytime interval's tuning, fixed by the first budget: it must not depend on outcomes."""
        share = (self._unit or 1.0) * self._even_share
        return anytime_rho(_TUNED_FOR_PERIODS * share ** (2.0 - 2.0 * self.b), -math.log1p(-self.level))

    def _wide(self, values: Floats) -> Floats:
        """A ticket's numbers for all arms of today: those that came later had nothing."""
        late = self._past.arms - len(values)
        return values if late == 0 else np.concatenate([values, np.zeros(late)])

    def _spent(self, held: Ticket, amounts: Mapping[str, float]) -> Floats:
        spent = held.amounts.copy()
        for name, value in amounts.items():
            index = self._roster.index(name)
            if index >= len(spent):
                raise UnknownName(f"Arm '{name}' came after ticket {held.number} and has no part in it.")
            spent[index] = checks.number(f"amounts of '{name}'", value, low=0.0)
        return spent

    def _read(self, held: Ticket, spent: Floats, outcomes: Mapping[str, float | None]) -> tuple[Any, Floats]:
        """The places of the arms in the ticket and their outcomes (NaN: no data), checked; changes nothing."""
        if not isinstance(outcomes, Mapping) or not outcomes:
            raise checks.refuse("outcomes", "a mapping from arm names to numbers", outcomes)
        places = self._places(held, tuple(outcomes))
        try:
            values = np.array(list(outcomes.values()), dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            values = np.full(1, math.nan)
        if not math.isfinite(values.sum()):
            for name, value in outcomes.items():
                if value is not None:
                    checks.number(f"outcome of '{name}'", value)
        unspent = spent[places] == 0.0
        if unspent.any():
            unspent &= (values != 0.0) & ~np.isnan(values)
            if unspent.any():
                name = self._name(places, unspent)
                allowed = "0 or left out, as nothing was spent on it"
                raise checks.refuse(f"outcome of '{name}'", allowed, outcomes[name])
        return places, values

    def _places(self, held: Ticket, names: tuple[str, ...]) -> Any:
        """Where the named arms stand in the ticket: all of it, or an index array."""
        if len(names) == len(held.amounts) == len(self._roster.names) and names == self._roster.names:
            return slice(None)
        places = np.array([self._roster.index(name) for name in names])
        if places.max() >= len(held.amounts):
            name = names[int(places.argmax())]
            raise UnknownName(f"Arm '{name}' came after ticket {held.number} and has no part in it.")
        return places

    def _name(self, places: Any, flagged: Any) -> str:
        """The name of the first flagged arm."""
        return self._roster.names[int(np.arange(len(self._roster.names))[places][flagged][0])]

    def _spread(self, held: Ticket, places: Any, values: Floats) -> Floats:
        """Values at some places of the ticket, NaN at the others."""
        if isinstance(places, slice):
            return values
        spread = np.full(len(held.amounts), math.nan)
        spread[places] = values
        return spread

    def _require_same(self, held: Ticket, places: Any, changed: Any) -> None:
        if changed.any():
            name = self._name(places, changed)
            place = self._roster.index(name)
            raise Conflict(
                f"Ticket {held.number} already has an outcome of {_shown(held.outcomes[place])} from an amount "
                f"of {held.amounts[place]:g} for '{name}'; use `amend` to correct it."
            )


def _fresh_seed() -> int:
    entropy = np.random.SeedSequence().entropy
    return int(entropy) % 2**63  # type: ignore[arg-type]


def _generator_state(rng: np.random.Generator) -> dict[str, Any]:
    state: dict[str, Any] = dict(rng.bit_generator.state)
    # Integers beyond 2^53 as text: not every reader of JSON keeps them.
    state["state"] = {name: str(value) for name, value in state["state"].items()}
    return state


def _generator(state: dict[str, Any]) -> np.random.Generator:
    if state["bit_generator"] != "PCG64":
        raise IncompatibleState(f"The saved generator must be PCG64; got {state['bit_generator']!r}.")
    bits = np.random.PCG64()
    inner = state["state"]
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": int(inner["state"]), "inc": int(inner["inc"])},
        "has_uint32": int(state["has_uint32"]),
        "uinteger": int(state["uinteger"]),
    }
    return np.random.Generator(bits)


def _shown(outcome: float) -> str:
    return "no data" if math.isnan(outcome) else f"{outcome:g}"
