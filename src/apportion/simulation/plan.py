"""What is to be simulated, checked once at the edge, and its cut into tasks."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from apportion._common import optional, validation
from apportion.model.world import World
from apportion.policies import Policy
from apportion.simulation.candidates import Informed, policy_on, read_candidate, require_fit
from apportion.simulation.engines.leaping.leap import require_leaping, why_not
from apportion.simulation.engines.records import VARIABLES
from apportion.simulation.rehearsal import require_playable
from apportion.simulation.task import Task

# Replications per task: small enough to spread over workers and to lose little when one dies.
TASK_ARM_PERIODS = 5_000_000
LARGEST_TASK = 1_000
# From this horizon on, "auto" leaps where it can.
LEAP_FROM = 100_000

ENGINES = ("auto", "dense", "leap")
DEFAULT_VARIABLES = ("regret", "reward")
DEFAULT_CHECKPOINTS = 50
MOST_CHECKPOINTS = 1_000_000
LONGEST_HORIZON = 10**15

# Results may take this part of the memory.
LARGEST_PART = 0.5
BYTES_PER_VALUE = 8
# Taken for the memory of a machine that does not say: 16 GiB.
ASSUMED_BYTES = 2.0**34


class Job(NamedTuple):
    """A task, and the indices of its policy and its instance in the plan."""

    policy: int
    instance: int
    task: Task


@dataclass(frozen=True)
class Plan:
    """What is to be simulated, checked: every pair of a policy and an instance, in order.

    `checkpoints` are the periods at which `variables` are recorded.
    """

    policies: tuple[Policy | Informed, ...]
    instances: tuple[Any, ...]  # worlds; who made the plan knows of which kind
    horizon: int
    replications: int
    seed: int
    checkpoints: tuple[int, ...]
    variables: tuple[str, ...]
    common: bool
    engine: str

    @property
    def most_arms(self) -> int:
        """The number of arms of the instance that has the most."""
        return max(int(instance.arms) for instance in self.instances)

    def policy(self, index: int, instance: World) -> Policy:
        """The policy of that index, on an instance."""
        return policy_on(self.policies[index], instance)

    def engine_for(self, policy: Policy, instance: World) -> str:
        """The engine that runs a policy on an instance: "auto" leaps over a long horizon where that can be done."""
        if self.engine == "auto":
            long = self.horizon >= LEAP_FROM
            return "leap" if long and why_not(policy, instance, self.horizon, self.common) is None else "dense"
        return self.engine

    def task(self, index: int, instance: World) -> Task:
        """All replications of the policy of that index on an instance."""
        policy = self.policy(index, instance)
        return Task(
            policy, instance, self.horizon, self.checkpoints, self.variables, self.seed, first=0,
            last=self.replications, common=self.common, engine=self.engine_for(policy, instance),
        )  # fmt: skip

    def jobs(self) -> list[Job]:
        """The tasks; how the plan is cut into them does not change any number."""
        jobs = []
        for p in range(len(self.policies)):
            for i, instance in enumerate(self.instances):
                task = self.task(p, instance)
                whole = LARGEST_TASK if task.engine == "leap" else TASK_ARM_PERIODS // (self.horizon * instance.arms)
                size = max(1, min(LARGEST_TASK, whole))
                for first in range(0, self.replications, size):
                    part = dataclasses.replace(task, first=first, last=min(first + size, self.replications))
                    jobs.append(Job(p, i, part))
        return jobs

    def describe(self) -> dict[str, Any]:
        """Plain data for the provenance, and for a sweep's digest; its keys are stored."""
        return {
            "policies": [
                {"informed": item.cls.__name__, "parameters": dict(item.parameters)}
                if isinstance(item, Informed)
                else item.to_state()
                for item in self.policies
            ],
            "instances": [instance.to_dict() for instance in self.instances],
            "horizon": self.horizon,
            "replications": self.replications,
            "seed": self.seed,
            "periods": list(self.checkpoints),
            "record": list(self.variables),
            "common": self.common,
            "engine": self.engine,
        }


def make_plan(
    policies: Any,
    instances: Any,
    *,
    horizon: int,
    replications: int,
    seed: int,
    record: Iterable[str] = DEFAULT_VARIABLES,
    periods: int | Sequence[int] | None = None,
    common: bool = False,
    engine: str = "auto",
) -> Plan:
    """The plan for what `simulate` is given; everything is checked here."""
    optional.require("lab", "A simulation")
    candidates = tuple(read_candidate(item) for item in _listed("policies", policies))
    worlds = tuple(_listed("instances", instances))
    for world in worlds:
        if not isinstance(world, World):
            raise validation.refuse("instances", "a list of worlds such as apportion.Instance", world)
        if world.arms < 2:
            raise validation.refuse("instances", "worlds with at least two arms", world.label)
        require_playable(world)
    total = validation.whole("horizon", horizon, low=1, high=LONGEST_HORIZON)
    chosen = validation.choice("engine", engine, ENGINES)
    plan = Plan(
        policies=candidates,
        instances=worlds,
        horizon=total,
        replications=validation.whole("replications", replications, low=1),
        seed=validation.whole("seed", seed, low=0),
        checkpoints=_checkpoints(periods, total),
        variables=_variables(record),
        common=validation.flag("common", common),
        engine=chosen,
    )
    require_memory([plan])
    for candidate in candidates:
        for index, world in enumerate(worlds):
            require_fit(candidate, world, total, rehearse=index == 0)
            if chosen == "leap":
                require_leaping(policy_on(candidate, world), world, total, plan.common)
    return plan


def _listed(name: str, given: Any) -> list[Any]:
    if isinstance(given, (Policy, Informed, World, type)):
        return [given]
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise validation.refuse(name, "a list", given)
    items = list(given)
    if not items:
        raise validation.refuse(name, "a list with at least one entry", items)
    return items


def _variables(record: Any) -> tuple[str, ...]:
    """What to record, in the usual order; regret always."""
    if not isinstance(record, Iterable) and record is not None:
        raise validation.refuse("record", "a list of names", record)
    given = [record] if isinstance(record, str) else list(record or ())
    wanted = {"regret", *(validation.choice("record", name, tuple(VARIABLES)) for name in given)}
    return tuple(name for name in VARIABLES if name in wanted)


def _checkpoints(periods: int | Sequence[int] | None, horizon: int) -> tuple[int, ...]:
    """The periods at which to record: as given, or log-spaced and ending at the horizon."""
    if periods is None or isinstance(periods, (str, bytes)) or not isinstance(periods, Iterable):
        given = DEFAULT_CHECKPOINTS if periods is None else periods
        count = validation.whole("periods", given, low=1, high=MOST_CHECKPOINTS)
        spaced = np.unique(np.round(np.geomspace(1, horizon, count)).astype(np.int64)) if count > 1 else [horizon]
        return tuple(int(period) for period in spaced)
    listed = sorted({validation.whole("periods", period, low=1, high=horizon) for period in periods})
    if not listed:
        raise validation.refuse("periods", "a number, or periods up to the horizon", periods)
    return tuple(listed)


def needed_bytes(plan: Plan) -> int:
    """How much memory the result of a plan takes."""
    shapes = (VARIABLES[name].shape(len(plan.checkpoints), plan.most_arms) for name in plan.variables)
    runs = plan.replications * len(plan.policies) * len(plan.instances)
    return BYTES_PER_VALUE * runs * sum(map(math.prod, shapes))


def require_memory(plans: Sequence[Plan]) -> None:
    """Refuse plans whose results would not fit."""
    needed = sum(needed_bytes(plan) for plan in plans)
    available = _available_bytes()
    if needed > LARGEST_PART * available:
        raise validation.refuse(
            "replications",
            f"few enough for memory: half of {_size(available)}; fewer `periods` or less to `record` help",
            f"{plans[0].replications:,}, which need {_size(needed)}",
        )


def _available_bytes() -> float:
    """The bytes this machine has, or this container may use."""
    if not hasattr(os, "sysconf"):
        return ASSUMED_BYTES
    machine = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(machine, float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):  # not in a container, or "max"
        return machine


def _size(count: float) -> str:
    return f"{count / 1e9:,.3g} GB" if count < 1e15 else f"{count / 1e9:.1e} GB"
