"""Saved states as text: what another program or release wrote, or what is damaged, gets a sentence."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
