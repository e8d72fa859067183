"""Seeds, and the position of a generator as plain data: a restored run goes on with the same draws."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from apportion.errors import IncompatibleState


def fresh_seed() -> int:
    """A seed from the system, which is then reported, so that any run can be played again."""
    entropy = np.random.SeedSequence().entropy
    return int(entropy) % 2**63  # type: ignore[arg-type]


def plain_state(position: Mapping[str, Any]) -> dict[str, Any]:
    """Where a PCG64 generator stands (`bit_generator.state`), for JSON; `state_from_plain` takes it up."""
    # Integers beyond 2^53 as text: not every reader of JSON keeps them.
    return {**position, "state": {name: str(value) for name, value in position["state"].items()}}


def state_from_plain(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The position that `plain_state` wrote down, as `bit_generator.state` takes it."""
    if plain["bit_generator"] != "PCG64":
        raise IncompatibleState(f"The saved generator must be PCG64; got {plain['bit_generator']!r}.")
    return {
        "bit_generator": "PCG64",
        "state": {"state": int(plain["state"]["state"]), "inc": int(plain["state"]["inc"])},
        "has_uint32": int(plain["has_uint32"]),
        "uinteger": int(plain["uinteger"]),
    }
