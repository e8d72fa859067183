"""Saved states: what is no state, or damaged, gets a sentence; and where a generator stands, as plain data."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from apportion.errors import ApportionError, IncompatibleState


def read_state(text: str, form: str, version: int, owner: str) -> dict[str, Any]:
    """The state in a text that was saved in this form and version."""
    state = json.loads(text)
    if not isinstance(state, dict) or state.get("format") != form:
        raise IncompatibleState(f"This is not the saved state of {owner}.")
    if state.get("version") != version:
        raise IncompatibleState(
            f"`version` of the saved state must be {version}; got {state.get('version')!r}. "
            "Load it with the release of apportion that wrote it."
        )
    return state


class OutdatedState(IncompatibleState):
    """State of an earlier release that kept too little for this one: the outcomes must be counted again."""


@contextmanager
def intact_state() -> Iterator[None]:
    """Around the reading of a state: whatever is wrong with it becomes `IncompatibleState`."""
    try:
        yield
    except IncompatibleState:
        raise
    except KeyError as error:
        raise IncompatibleState(f"The saved state is damaged: {error} is missing.") from error
    except ApportionError as error:
        raise IncompatibleState(f"The saved state cannot be used: {error}") from error
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise IncompatibleState(f"The saved state is damaged: {' '.join(str(error).split())}.") from error


LARGEST_SEED = 2**53  # larger whole numbers are not kept by every reader of JSON


def fresh_seed() -> int:
    """A seed from the system, which is then reported, so that any run can be played again."""
    entropy = np.random.SeedSequence().entropy
    return int(entropy) % LARGEST_SEED  # type: ignore[arg-type]


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
