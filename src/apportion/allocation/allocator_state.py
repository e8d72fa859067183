"""The state of an allocator as text: everything, to the last bit, so that what is restored goes on as before."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from apportion._common import validation
from apportion.allocation.allowed import Allowed
from apportion.allocation.arms import Arms
from apportion.allocation.decision import plain_memory
from apportion.allocation.limits import Limits
from apportion.allocation.outcomes import budget_amount
from apportion.allocation.past import exponents_of, is_outdated, past_for, past_from_dict
from apportion.allocation.rules import Rules
from apportion.allocation.saved_state import (
    OutdatedState,
    intact_state,
    plain_state,
    read_state,
    state_from_plain,
)
from apportion.allocation.tickets import TicketStore
from apportion.errors import IncompatibleState, UnknownName
from apportion.inference.learner import Learning
from apportion.policies import policy_from_dict

if TYPE_CHECKING:
    from apportion.allocation.allocator import Allocator

FORMAT = "apportion.allocator"
VERSION = 1

ReadTickets = Callable[[dict[str, Any], int], TicketStore]
"""Makes the tickets from their saved state and the number of arms."""

Kind = TypeVar("Kind", bound="Allocator")

# The settings that are written and read as they are.
_PLAIN = ("horizon", "sigma", "level", "minimise", "step", "seed")


def to_json(allocator: Allocator) -> str:
    """The whole state; what only some allocators have is left out where they have it not."""
    state = {
        "format": FORMAT,
        "version": VERSION,
        "policy": allocator.policy.to_state(),
        **{name: getattr(allocator, name) for name in _PLAIN},
        "generator": plain_state(allocator._work.generator.bit_generator.state),
        "arms": allocator._allowed.arms.to_list(),
        "statistics": allocator._account.past.to_dict(),
        "memory": plain_memory(allocator._work.memory),
        "unit": allocator._work.unit,
        "even_share": allocator._believing.even_share,
        "tickets": allocator._account.tickets.to_dict(),
    }
    allocator._allowed.limits.find_lost(allocator._account.tickets)
    limits = allocator._allowed.limits.to_dict()
    if limits:
        state["limits"] = limits
    if allocator.rules:
        state["rules"] = list(allocator.rules)
    if allocator.resolution is not None:
        state["resolution"] = allocator.resolution
    return json.dumps(state, allow_nan=False)


@intact_state()
def from_json(kind: type[Kind], text: str, tickets: ReadTickets) -> Kind:
    """The allocator that `to_json` wrote; `IncompatibleState` where it was not, or was damaged since."""
    state = read_state(text, FORMAT, VERSION, "an Allocator")
    arms = Arms.from_list(state["arms"])
    policy, saved = policy_from_dict(state["policy"]), state["statistics"]
    counted: Any = {name: saved.get(name) for name in ("half_life", "window")} | {"robust": "groups" in saved}
    outdated = is_outdated(saved)
    past = past_for(policy, len(arms.names), **counted) if outdated else past_from_dict(saved)
    b, c = (None, None) if isinstance(policy.reads, Learning) else exponents_of(past)
    # Through the front door, so that a saved setting is checked as a given one is.
    restored = kind(
        policy, arms.names, b=b, c=c, **{name: state[name] for name in _PLAIN}, resolution=state.get("resolution")
    )
    if restored.exponents[0] != past.b:
        raise IncompatibleState("The saved state is damaged: its policy reads other sums than it holds.")
    restored._work.generator.bit_generator.state = state_from_plain(state["generator"])
    restored._account.past = past
    restored._work.memory = np.array(state["memory"], dtype=np.float64)
    restored._work.unit = None if state["unit"] is None else budget_amount(state["unit"])
    restored._believing.even_share = validation.number("even_share", state["even_share"], above=0.0, high=1.0)
    restored._account.tickets = tickets(state["tickets"], len(arms.names))
    restored._allowed = Allowed(
        arms, Limits.from_dict(state.get("limits", {}), len(arms.names)), Rules(state.get("rules", ()), arms.names),
        restored._account.tickets, restored.step, restored.resolution,
    )  # fmt: skip
    if outdated:
        try:
            restored.recount(None, None, **counted)
        except UnknownName as error:
            raise OutdatedState(f"An earlier release saved this state, and kept too little: {error}") from error
        past = restored._account.past
    if not (len(arms.names),) == (past.arms,) == restored._work.memory.shape:
        raise IncompatibleState("The saved state is damaged: its parts speak of different numbers of arms.")
    if restored._account.tickets.issued != past.period or (restored._work.unit is None) != (past.period == 0):
        raise IncompatibleState("The saved state is damaged: its parts speak of different periods.")
    return restored
