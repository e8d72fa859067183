"""Every error raised on purpose. One root, and one sentence pattern.

The sentence says which thing, what is allowed, what was given:
*`b` must be a number in [0, 1]; got 1.3.*
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apportion.simulation.result import Result
    from apportion.simulation.task import Task

SHOWN_FAILURES = 20


class ApportionError(Exception):
    """The root of every error this package raises on purpose."""


class InvalidValue(ApportionError, ValueError):
    """A value is outside of what is allowed. Nothing was changed.

    `columns`: of a file that lacks some, those that may be meant, by what they are for.
    """

    columns: Mapping[str, str] = MappingProxyType({})


class UnknownName(ApportionError, LookupError):
    """An arm, ticket or policy of that name does not exist. Nothing was changed."""


class Conflict(ApportionError):
    """The request contradicts what is already recorded. Nothing was changed."""


class Unconfirmed(Conflict):
    """Something that looks like a slip was not confirmed. Nothing was changed; confirmed, it is done."""


class ChangedSince(Conflict):
    """The campaign is not as the caller expected: something happened since they looked. Nothing was changed."""


class Infeasible(ApportionError, ValueError):
    """No split satisfies the bounds. The message names the arms."""


class IncompatibleState(ApportionError, ValueError):
    """Saved state was written by another version, or is damaged."""


class StoreUnavailable(ApportionError):
    """The database cannot be reached, read or written. Nothing was changed.

    `public` is the sentence for those who may not know where the database is.
    """

    public = "The database cannot be used now. Nothing was changed."


class UncertainWrite(StoreUnavailable):
    """The database went away while it kept a write, and could not be asked since: it may or may not have been done.

    Sent again under the same `key`, a write is done once.
    """

    public = (
        "The database went away while this was being kept: it may or may not have been done. Sent again under the "
        "same key, it is done once; without one, look first."
    )


class ServiceUnavailable(ApportionError):
    """The service cannot be reached, or cannot do its work now. A write may or may not have been done.

    Sent again under the same `key`, a write is done once.
    """


class NotAllowed(ApportionError):
    """The service does not know the token, or it may not do this. Nothing was changed."""


class SimulationFailed(ApportionError):
    """Tasks of a simulation failed every time they were tried; the message has their parameters.

    `failures` are the tasks, each with the reason; `results` what the other tasks found, NaN where it is missing.
    """

    def __init__(self, failures: Sequence[tuple[Task, str]], heading: str, results: Sequence[Result]) -> None:
        lines = [f"  {task}: {reason}." for task, reason in failures[:SHOWN_FAILURES]]
        if len(failures) > len(lines):
            lines.append(f"  and {len(failures) - len(lines):,} more.")
        super().__init__("\n".join([f"{heading}:", *lines]))
        self.failures, self.results = tuple(failures), tuple(results)

    @property
    def result(self) -> Result | None:
        """The first of `results`."""
        return self.results[0] if self.results else None
