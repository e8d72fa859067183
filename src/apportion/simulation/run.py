"""`simulate`: regret of any policies on any instances, from one seed."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from apportion import checks
from apportion._version import __version__
from apportion.errors import ApportionError
from apportion.kernels import package_digest
from apportion.law import Instance
from apportion.policies import Policy
from apportion.simulation.execute import execute
from apportion.simulation.result import FORMAT, Result, labels
from apportion.simulation.task import RECORDS, Arrays, Task

if TYPE_CHECKING:
    pass

# Replications per task: small enough to spread over workers and to lose little when one dies.
CHUNK_ARM_PERIODS = 20_000_000
LARGEST_CHUNK = 1_000


@dataclass(frozen=True)
class Informed:
    """A policy class that is told the truth of each instance: its b, σ and means, where it takes them.

    >>> from apportion import Instance, Odds
    >>> Informed(Odds, {"tilt": 1.0}).on(Instance((0.9, 1.0), b=0.6, sigma=2.0))
    Odds(b=0.6, sigma=2.0, tilt=1.0)
    """

    cls: type[Policy]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def on(self, instance: Instance) -> Policy:
        """The policy for that instance."""
        import dataclasses

        truth = {"b": instance.b, "sigma": instance.sigma, "means": instance.means}
        takes = {item.name for item in dataclasses.fields(self.cls)}  # type: ignore[arg-type]
        return self.cls(**{**{name: value for name, value in truth.items() if name in takes}, **self.parameters})

    @property
    def label(self) -> str:
        """The class with the parameters that were given."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.cls.__name__}({given})" if given else self.cls.__name__


Candidate = Policy | Informed | type[Policy]


@dataclass(frozen=True)
class Plan:
    """What is to be simulated, checked: every pair of a policy and an instance, in order."""

    policies: tuple[Policy | Informed, ...]
    instances: tuple[Instance, ...]
    horizon: int
    replications: int
    seed: int
    marks: tuple[int, ...]
    record: tuple[str, ...]
    common: bool
    engine: str

    def policy(self, place: int, instance: Instance) -> Policy:
        """The policy at a place, on an instance."""
        candidate = self.policies[place]
        return candidate.on(instance) if isinstance(candidate, Informed) else candidate

    def tasks(self) -> list[tuple[int, int, Task]]:
        """(place of the policy, place of the instance, task); the cut into tasks does not change any number."""
        found = []
        for p in range(len(self.policies)):
            for i, instance in enumerate(self.instances):
                policy = self.policy(p, instance)
                size = max(1, min(LARGEST_CHUNK, CHUNK_ARM_PERIODS // (self.horizon * instance.arms)))
                for first in range(0, self.replications, size):
                    last = min(first + size, self.replications)
                    task = Task(
                        policy, instance, self.horizon, self.marks, self.record, self.seed, first, last, self.common,
                        self.engine,
                    )  # fmt: skip
                    found.append((p, i, task))
        return found

    def describe(self) -> dict[str, Any]:
        """Plain data for the provenance."""
        return {
            "policies": [
                {"informed": item.cls.__name__, "parameters": dict(item.parameters)}
                if isinstance(item, Informed)
                else item.to_dict()
                for item in self.policies
            ],
            "instances": [instance.to_dict() for instance in self.instances],
            "horizon": self.horizon,
            "replications": self.replications,
            "seed": self.seed,
            "periods": list(self.marks),
            "record": list(self.record),
            "common": self.common,
            "engine": self.engine,
        }


def simulate(
    policies: Candidate | Iterable[Candidate],
    instances: Instance | Iterable[Instance],
    *,
    horizon: int,
    replications: int,
    seed: int,
    record: Iterable[str] = ("regret", "reward"),
    periods: int | Sequence[int] | None = None,
    common: bool = False,
    workers: int | None = None,
    executor: Executor | Any | None = None,
    engine: str = "auto",
    progress: bool | None = None,
) -> Result:
    """Run every policy on every instance, `replications` times over `horizon` periods.

    A policy may be given as a class (or `Informed`): it is then told the b, σ and means of each instance.

    - `record`: any of regret, reward, shares, leader, active, eliminated.
    - `periods`: when to record: a number of log-spaced periods (50 by default), or the periods themselves.
    - `common`: the same noise for every policy, for sharper comparisons.
    - `workers`: threads on this machine (all cores by default); or `executor`: any `concurrent.futures.Executor`, or
      a Dask `distributed.Client`. Every (policy, instance, replication) has its own stream from `seed`: the numbers
      are the same to the last bit for any of these.
    - `progress`: True, False, or None for a bar on a terminal only.

    >>> from apportion import Instance, Uniform
    >>> world = Instance(means=(1.0, 0.5), b=0.75)
    >>> found = simulate(Uniform(), world, horizon=100, replications=3, seed=1, progress=False)
    >>> found.regret.isel(period=-1).values.round(9).tolist()
    [[[25.0, 25.0, 25.0]]]
    """
    plan = make_plan(policies, instances, horizon, replications, seed, record, periods, common, engine)
    jobs = plan.tasks()
    found = execute([task for _, _, task in jobs], workers=workers, executor=executor, progress=progress)
    if found.failures:
        task, reason = found.failures[0]
        more = f" ({len(found.failures) - 1} more tasks failed.)" if len(found.failures) > 1 else ""
        raise SimulationFailed(f"The simulation of {task} failed: {reason}.{more}")
    return gather(plan, jobs, found.arrays)


class SimulationFailed(ApportionError):
    """A task of a simulation failed every time it was tried; the message has its parameters."""


def make_plan(
    policies: Any, instances: Any, horizon: int, replications: int, seed: int, record: Iterable[str],
    periods: int | Sequence[int] | None, common: bool, engine: str,
) -> Plan:  # fmt: skip
    """Check everything once, at the edge."""
    candidates = tuple(_candidate(item) for item in _listed("policies", policies))
    worlds = tuple(_listed("instances", instances))
    for world in worlds:
        if not isinstance(world, Instance):
            raise checks.refuse("instances", "a list of apportion.Instance", world)
        if world.arms < 2:
            raise checks.refuse("instances", "worlds with at least two arms", world.label)
    total = checks.whole("horizon", horizon, low=1)
    wanted = tuple(name for name in RECORDS if name in {checks.choice("record", name, RECORDS) for name in record})
    checks.choice("engine", engine, ("auto", "dense"))
    plan = Plan(
        candidates, worlds, total, checks.whole("replications", replications, low=1),
        checks.whole("seed", seed, low=0), _marks(periods, total), wanted, checks.flag("common", common), "dense",
    )  # fmt: skip
    for place in range(len(candidates)):
        for world in worlds:
            policy = plan.policy(place, world)
            policy.prepared(world.arms, total)
            policy.initial_memory(world.arms)
    _require_memory(plan)
    return plan


def _listed(name: str, given: Any) -> list[Any]:
    items = [given] if isinstance(given, (Policy, Informed, Instance, type)) else list(given)
    if not items:
        raise checks.refuse(name, "a list with at least one entry", items)
    return items


def _candidate(item: Any) -> Policy | Informed:
    if isinstance(item, type) and issubclass(item, Policy):
        return Informed(item)
    if isinstance(item, (Policy, Informed)):
        return item
    raise checks.refuse("policies", "a list of policies such as apportion.Odds(b=0.75)", item)


def _marks(periods: int | Sequence[int] | None, horizon: int) -> tuple[int, ...]:
    """The periods to record: as given, or log-spaced and ending at the horizon."""
    if periods is None or checks.is_whole(periods):
        count = checks.whole("periods", 50 if periods is None else periods, low=1)
        spaced = np.unique(np.round(np.geomspace(1, horizon, count)).astype(np.int64)) if count > 1 else [horizon]
        return tuple(int(mark) for mark in spaced)
    marks = sorted({checks.whole("periods", mark, low=1, high=horizon) for mark in periods})  # type: ignore[union-attr]
    if not marks:
        raise checks.refuse("periods", "a number, or periods up to the horizon", periods)
    return tuple(marks)


def _require_memory(plan: Plan) -> None:
    """Refuse what would not fit, before anything is computed."""
    arms = max(instance.arms for instance in plan.instances)
    wide = sum(name in plan.record for name in ("shares", "active"))
    cells = len(plan.marks) * (len(plan.record) - wide + wide * arms) + arms * ("eliminated" in plan.record)
    needed = 8 * cells * plan.replications * len(plan.policies) * len(plan.instances)
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**34
    if needed > 0.5 * available:
        raise checks.refuse(
            "replications",
            f"few enough for memory: half of {available / 1e9:.0f} GB; fewer `periods` or `record` help",
            f"{plan.replications:,}, which need {needed / 1e9:.0f} GB",
        )


def gather(plan: Plan, jobs: list[tuple[int, int, Task]], arrays: list[Arrays | None]) -> Result:
    """Put the arrays of the tasks in their places; NaN where a task has none."""
    import xarray as xr

    sizes = (len(plan.policies), len(plan.instances), plan.replications)
    arms = max(instance.arms for instance in plan.instances)
    per_period, per_arm = ("period",), ("arm",)
    shapes = {
        "regret": per_period, "reward": per_period, "leader": per_period, "shares": per_period + per_arm,
        "active": per_period + per_arm, "eliminated": per_arm,
    }  # fmt: skip
    lengths = {"period": len(plan.marks), "arm": arms}
    blocks: dict[str, Any] = {}
    for name in plan.record:
        kind = {"leader": np.int32, "active": np.bool_}.get(name, np.float64)
        empty = np.nan if kind is np.float64 else 0
        blocks[name] = np.full((*sizes, *(lengths[axis] for axis in shapes[name])), empty, kind)
    for (p, i, task), found in zip(jobs, arrays):
        for name, values in (found or {}).items():
            into = blocks[name][p, i, task.first : task.last]
            into[tuple(slice(length) for length in values.shape)] = values
    dimensions = ("policy", "instance", "replication")
    dataset = xr.Dataset(
        {name: ((*dimensions, *shapes[name]), block) for name, block in blocks.items()},
        coords=_coordinates(plan),
        attrs={"format": FORMAT, "provenance": json.dumps(_provenance(plan))},
    )
    return Result(dataset)


def _coordinates(plan: Plan) -> dict[str, Any]:
    worlds = plan.instances
    smallest = [min((gap for gap in world.gaps if gap > 0), default=0.0) for world in worlds]
    return {
        "policy": labels([candidate.label for candidate in plan.policies]),
        "instance": labels([world.label for world in worlds]),
        "period": np.array(plan.marks),
        "b": ("instance", [world.b for world in worlds]),
        "arms": ("instance", [world.arms for world in worlds]),
        "sigma": ("instance", [world.sigma for world in worlds]),
        "gap": ("instance", smallest),
        "noise": ("instance", [world.noise.name for world in worlds]),
    }


def _provenance(plan: Plan) -> dict[str, Any]:
    import numba
    import xarray as xr

    return {
        "apportion": __version__,
        "code": package_digest(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "xarray": xr.__version__,
        "machine": platform.machine(),
        "definition": plan.describe(),
    }
