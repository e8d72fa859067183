"""The unit of simulated work: some replications of one policy on one instance, reproducible wherever it runs."""

from __future__ import annotations

import functools
import hashlib
import json
import pickle
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion._common.sources import simulation_digest
from apportion.errors import IncompatibleState, InvalidValue
from apportion.policies import Policy
from apportion.simulation.engines.dense import Dense
from apportion.simulation.engines.leaping.leap import Leap
from apportion.simulation.engines.records import LEAP_VARIABLES, empty_traces
from apportion.simulation.engines.streams import streams
from apportion.simulation.user_code import classes_in, code_of, source_digest

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Task:
    """Replications `first` to `last` − 1. The numbers depend on these fields alone: on no worker, order or chunk.

    `checkpoints` are the periods at which `variables` are recorded.
    """

    policy: Policy
    instance: Any  # a world
    horizon: int
    checkpoints: tuple[int, ...]
    variables: tuple[str, ...]
    seed: int
    first: int
    last: int
    common: bool = False
    engine: str = "dense"

    def describe(self) -> dict[str, Any]:
        """Plain data that says everything about the task."""
        return {**vars(self), "policy": self.policy.to_dict(), "instance": self.instance.to_dict()}

    @property
    def classes(self) -> list[type]:
        """What plays: the classes of the policy, the world and the noise."""
        return [type(self.policy), *classes_in(self.instance)]

    @property
    def runs(self) -> int:
        """How many replications there are."""
        return self.last - self.first

    @property
    def returns(self) -> tuple[str, ...]:
        """The names of the arrays that the task gives."""
        return (*self.variables, *LEAP_VARIABLES) if self.engine == "leap" else self.variables

    def digest(self) -> str:
        """A name for the result: the task's definition and the version of all code that runs it."""
        described = json.dumps(self.describe(), sort_keys=True)
        parts = [described, simulation_digest(), _libraries(), *map(code_of, self.classes)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

    def __str__(self) -> str:
        replications = f"replications {self.first} to {self.last - 1}"
        return f"{self.policy.label} on {self.instance.label}, T = {self.horizon}, {replications}"


def run_task(task: Task) -> Arrays:
    """Run the task; arrays by name with the replications first."""
    traces = empty_traces(task.runs, len(task.checkpoints), task.instance.arms, task.variables)
    instance, policy, replications = task.instance.to_dict(), task.policy.to_dict(), (task.first, task.last)
    run = task.policy, task.instance, task.horizon, task.checkpoints
    found = traces._asdict()
    if task.engine == "leap":
        found |= Leap(*run).run(streams(["leap", policy, instance], task.seed, *replications), traces)._asdict()
    else:
        own = streams(["policy", policy, instance], task.seed, *replications)
        common = streams(["noise", instance], task.seed, *replications) if task.common else None
        Dense(*run).run(own, traces, common)
        require_shares(task.policy, task.checkpoints, traces.regret)
    return {name: found[name] for name in task.returns}


def require_shares(policy: Policy, checkpoints: Sequence[int], regret: NDArray[np.float64]) -> None:
    """Refuse invalid shares, for which the engine writes a regret of NaN."""
    invalid = np.isnan(regret).any(axis=0)
    if invalid.any():
        raise InvalidValue(
            f"The shares of {policy.label} must be of at least 0 and add up to 1; in period "
            f"{checkpoints[int(np.argmax(invalid))]} they do not. `apportion.testing.check_policy` says more."
        )


def run_elsewhere(task: Task, code: str) -> Arrays:
    """`run_task` on another machine or in another process, which must have the same code (`code_version`)."""
    if code_version(task) != code:
        raise IncompatibleState("the worker's version of apportion, or of a user's file, is not the one here")
    return run_task(task)


def run_packed(packed: bytes, code: str) -> Arrays:
    """`run_elsewhere` for a task that was pickled."""
    task: Task = pickle.loads(packed)
    for cls in task.classes:  # what a notebook defines arrives here as a copy, which compiled code does not know
        if cls.__module__ == "__main__" and getattr(sys.modules["__main__"], cls.__qualname__, None) is not cls:
            raise IncompatibleState(
                f"{cls.__qualname__} must be in a file that the workers can import, not in __main__"
            )
    return run_elsewhere(task, code)


def code_version(task: Task) -> str:
    """A digest of the package, and of the files of a user's policy, world and noise."""
    return simulation_digest() + "".join(map(source_digest, task.classes))


@functools.cache
def _libraries() -> str:
    """The libraries that numbers depend on in the last places."""
    return f"numpy {np.__version__}, numba {version('numba')}"
