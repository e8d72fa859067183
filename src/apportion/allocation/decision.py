"""A decision: all that was decided for one period, from which both the split and its event are made."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from apportion.allocation.arms import Arms
from apportion.allocation.outcomes import budget_amount, read_amounts
from apportion.allocation.saved_state import plain_state, state_from_plain
from apportion.errors import IncompatibleState
from apportion.model.sums import Floats


class Decision(NamedTuple):
    """One period, decided. `Allocator.decide` makes it and changes nothing; `Allocator.commit` takes it in.

    `wanted` is what the policy asked for, `shares` what the bounds made of it, `amounts` what adds up to `budget`:
    each of the arms that take part, in their order.
    """

    period: int
    budget: float
    arms: tuple[str, ...]
    indices: NDArray[np.int64] | None
    """Where these stand among all arms there ever were; None where all take part."""
    wanted: Floats
    shares: Floats
    amounts: Floats
    memory: Floats
    """What the policy remembers of all arms afterwards."""
    memory_changed: bool = False
    generator: dict[str, Any] | None = None
    """Where the generator stands afterwards; None where nothing was drawn."""
    pulls: tuple[tuple[str, float], ...] = ()
    """The rules that moved shares, each with how hard it pulled: up above 0, down below."""

    @property
    def arms_memory(self) -> Floats:
        """What the policy remembers of the arms that take part."""
        return self.memory if self.indices is None else self.memory[self.indices]

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the event of the split."""
        payload: dict[str, Any] = {
            "budget": self.budget,
            "amounts": dict(zip(self.arms, self.amounts.tolist())),
            "shares": self.shares.tolist(),
            "width": len(self.memory),
        }
        if not np.array_equal(self.wanted, self.shares):
            payload["wanted"] = self.wanted.tolist()
        if self.pulls:
            payload["rules"] = dict(self.pulls)
        if self.generator is not None:
            payload["generator"] = plain_state(self.generator)
        if self.memory_changed:
            payload["memory"] = plain_memory(self.memory)
        return payload

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], period: int, arms: Arms, memory: Floats) -> Self:
        """The decision that `to_payload` wrote: among all `arms` of its time, with the policy's `memory` before."""
        names, amounts = tuple(payload["amounts"]), read_amounts(payload["amounts"])
        budget = budget_amount(payload["budget"])
        shares = np.array(payload["shares"], dtype=np.float64)
        wanted = np.array(payload["wanted"], dtype=np.float64) if "wanted" in payload else shares
        changed = "memory" in payload
        after = np.array(payload["memory"], dtype=np.float64) if changed else memory
        sound = (
            payload["width"] == len(memory)
            and after.shape == memory.shape
            and shares.shape == wanted.shape == amounts.shape
            and math.isclose(math.fsum(amounts), budget, rel_tol=1e-9)
        )
        if not sound:
            raise IncompatibleState("A split in the log contradicts itself.")
        generator = state_from_plain(payload["generator"]) if "generator" in payload else None
        indices = None if names == arms.names else np.array([arms.index(name) for name in names], dtype=np.int64)
        pulls = tuple((str(text), float(pull)) for text, pull in payload.get("rules", {}).items())
        return cls(period, budget, names, indices, wanted, shares, amounts, after, changed, generator, pulls)


def plain_memory(memory: Floats) -> list[float | str]:
    """A policy's memory for JSON, which has no infinity and no NaN: those as text.

    >>> plain_memory(np.array([1.0, np.inf]))
    [1.0, 'inf']
    """
    return [value if math.isfinite(value) else str(value) for value in memory.tolist()]
