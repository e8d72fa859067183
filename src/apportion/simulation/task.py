"""The unit of simulated work: some replications of one policy on one instance, reproducible wherever it runs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from apportion.kernels import package_digest, source_digest
from apportion.law import Instance
from apportion.policies import Policy
from apportion.simulation.engine import Dense, blank_record
from apportion.simulation.streams import streams

Arrays = dict[str, NDArray[Any]]

RECORDS = ("regret", "reward", "shares", "leader", "active", "eliminated")


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

    def digest(self) -> str:
        """A name for the result: the task's definition and the version of the code that runs it."""
        code = package_digest() + source_digest(type(self.policy))
        return hashlib.sha256((json.dumps(self.describe(), sort_keys=True) + code).encode()).hexdigest()[:32]

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
    memory = Dense(task.policy, task.instance, task.horizon, task.marks).run(own, block, common)
    found = {**block._asdict(), "eliminated": memory}
    return {name: found[name] for name in task.record}


_ENGINES = {"dense": _run_dense}
