"""The unit of simulated work: some replications of one policy on one instance, reproducible wherever it runs."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import pickle
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apportion._common.compiled import code_digest
from apportion._common.sources import simulation_digest
from apportion.errors import IncompatibleState, InvalidValue
from apportion.model.law import Instance
from apportion.policies import Policy
from apportion.policies.contract import is_ours
from apportion.simulation.engines.dense import Dense, blank_record
from apportion.simulation.engines.streams import streams

Arrays = dict[str, NDArray[Any]]

RECORDS = ("regret", "reward", "shares", "leader", "active", "eliminated")
# What a leaping run says of itself, asked or not; see `leap.Tally`.
LEAP_RECORDS = ("changes", "leap_error")

# A module that was loaded from a file carries the digest of that file as it was then, under this name.
SOURCE_MARK = "__apportion_source__"


@dataclass(frozen=True)
class Task:
    """Replications `first` to `last` − 1. The numbers depend on this record alone: on no worker, order or chunk."""

    policy: Policy
    instance: Instance
    horizon: int
    marks: tuple[int, ...]
    record: tuple[str, ...]
    seed: int
    first: int
    last: int
    common: bool = False
    engine: str = "dense"

    def describe(self) -> dict[str, Any]:
        """Plain data that says everything about the task."""
        return {
            "policy": self.policy.to_dict(),
            "instance": self.instance.to_dict(),
            "horizon": self.horizon,
            "marks": list(self.marks),
            "record": list(self.record),
            "seed": self.seed,
            "replications": [self.first, self.last],
            "common": self.common,
            "engine": self.engine,
        }

    @property
    def returns(self) -> tuple[str, ...]:
        """The names of the arrays that the task gives."""
        return (*self.record, *LEAP_RECORDS) if self.engine == "leap" else self.record

    def digest(self) -> str:
        """A name for the result: the task's definition and the version of all code that runs it."""
        described = json.dumps(self.describe(), sort_keys=True)
        parts = [described, simulation_digest(), _libraries(), own_code(type(self.policy))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

    def __str__(self) -> str:
        replications = f"replications {self.first} to {self.last - 1}"
        return f"{self.policy.label} on {self.instance.label}, T = {self.horizon}, {replications}"


def run_task(task: Task) -> Arrays:
    """Run the task; arrays by name with the replications first."""
    return _ENGINES[task.engine](task)


def _run_dense(task: Task) -> Arrays:
    block = blank_record(task.last - task.first, len(task.marks), task.instance.arms, task.record)
    world, policy = task.instance.to_dict(), task.policy.to_dict()
    own = streams(["policy", policy, world], task.seed, task.first, task.last)
    common = streams(["noise", world], task.seed, task.first, task.last) if task.common else None
    Dense(task.policy, task.instance, task.horizon, task.marks).run(own, block, common)
    require_shares(task.policy, task.marks, block.regret)
    found = block._asdict()
    return {name: found[name] for name in task.record}


def require_shares(policy: Policy, marks: Any, regret: NDArray[np.float64]) -> None:
    """The engine marks a regret as NaN where the shares were none: say so."""
    broken = np.isnan(regret).any(axis=0)
    if broken.any():
        period = int(np.asarray(marks)[np.argmax(broken)])
        raise InvalidValue(
            f"The shares of {policy.label} must be of at least 0 and add up to 1; in period {period} they do not. "
            "`apportion.testing.check_policy` says more."
        )


def _run_leap(task: Task) -> Arrays:
    from apportion.simulation.engines.leaping.leap import Leap

    block = blank_record(task.last - task.first, len(task.marks), task.instance.arms, task.record)
    owner = ["leap", task.policy.to_dict(), task.instance.to_dict()]
    own = streams(owner, task.seed, task.first, task.last)
    tally = Leap(task.policy, task.instance, task.horizon, task.marks).run(own, block)
    found = {**block._asdict(), **tally._asdict()}
    return {name: found[name] for name in task.returns}


_ENGINES = {"dense": _run_dense, "leap": _run_leap}


def run_elsewhere(task: Task, code: str) -> Arrays:
    """`run_task` on another machine or in another process, which must have the same code (`code_version`)."""
    if code_version(task) != code:
        raise IncompatibleState("the worker's version of apportion, or of the policy's file, is not the one here")
    return run_task(task)


def run_packed(packed: bytes, code: str) -> Arrays:
    """`run_elsewhere` for a task that was pickled."""
    return run_elsewhere(pickle.loads(packed), code)


def code_version(task: Task) -> str:
    """A digest of the package, and of the file of a policy of the user's own."""
    return simulation_digest() + _source_of(type(task.policy))


@functools.cache
def _libraries() -> str:
    """The libraries that numbers depend on in the last places."""
    return f"numpy {np.__version__}, numba {version('numba')}"


def own_code(cls: type[Policy]) -> str:
    """What a policy of the user's own is made of: its file, and all that its functions reach in other files.

    Asked for once: a file that is edited while tasks run must not give its new name to what the old one computed.
    """
    if is_ours(cls):
        return ""
    if cls not in _OWN_CODE:
        methods = (cls.allocate, cls.prepared, cls.initial_memory)
        parts = [_source_of(cls), *(code_digest(method, [cls.Record]) for method in methods)]
        _OWN_CODE[cls] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return _OWN_CODE[cls]


def _source_of(cls: type[Policy]) -> str:
    """The digest of the file that defines a class; nothing for ours, and where no other process has the file."""
    if is_ours(cls) or cls.__module__ in ("__main__", "__mp_main__"):
        return ""
    if cls not in _SOURCES:
        marked = getattr(sys.modules.get(cls.__module__), SOURCE_MARK, None)
        _SOURCES[cls] = _file_digest(cls) if marked is None else marked
    return _SOURCES[cls]


def _file_digest(cls: type[Policy]) -> str:
    try:
        return hashlib.sha256(Path(inspect.getfile(cls)).read_bytes()).hexdigest()
    except (TypeError, OSError):
        return ""


_OWN_CODE: dict[type, str] = {}
_SOURCES: dict[type, str] = {}
