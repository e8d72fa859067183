"""Seeds, and the position of a generator as plain data: a restored run goes on with the same draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from apportion.errors import IncompatibleState


def fresh_seed() -> int:
    """A seed from the system, which is then reported, so that any run can be played again."""
    entropy = np.random.SeedSequence().entropy
    return int(entropy) % 2**63  # type: ignore[arg-type]


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """Where a generator stands, for JSON; `generator_from` takes it up."""
    state: dict[str, Any] = dict(rng.bit_generator.state)
    # Integers beyond 2^53 as text: not every reader of JSON keeps them.
    state["state"] = {name: str(value) for name, value in state["state"].items()}
    return state


def generator_from(state: dict[str, Any]) -> np.random.Generator:
    """The generator that `generator_state` wrote down."""
    if state["bit_generator"] != "PCG64":
        raise IncompatibleState(f"The saved generator must be PCG64; got {state['bit_generator']!r}.")
    bits = np.random.PCG64(0)  # any seed, as it is overwritten; without one the system is asked for chance, slowly
    inner = state["state"]
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": int(inner["state"]), "inc": int(inner["inc"])},
        "has_uint32": int(state["has_uint32"]),
        "uinteger": int(state["uinteger"]),
    }
    return np.random.Generator(bits)
