"""`simulate`: regret of any policies on any instances, from one seed."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from apportion._common import validation
from apportion._common.sources import simulation_digest
from apportion._version import __version__
from apportion.errors import ApportionError, InvalidValue
from apportion.errors import SimulationFailed as SimulationFailed
from apportion.model.law import Instance
from apportion.policies import Policy
from apportion.policies.contract import home, is_ours
from apportion.simulation.engines.dense import Dense, blank_record
from apportion.simulation.engines.leaping.leap import refusal, why_not
from apportion.simulation.engines.streams import streams
from apportion.simulation.executors import execute, reason_of
from apportion.simulation.result import FORMAT, Result, labels
from apportion.simulation.task import LEAP_RECORDS, RECORDS, Arrays, Task, own_code, require_shares

# Replications per task: small enough to spread over workers and to lose little when one dies.
CHUNK_ARM_PERIODS = 5_000_000
LARGEST_CHUNK = 1_000
# From this horizon on, "auto" leaps where it can.
LEAP_FROM = 100_000

LONGEST_HORIZON = 10**15
MOST_MARKS = 1_000_000
# Periods of the rehearsal of a policy that is not ours.
REHEARSED = 5


@dataclass(frozen=True)
class Informed:
    """A policy class that is told the truth of each instance: its b, σ and means, where it must be told.

    What a policy can do without (b of `Auto`, None by default) it is not told.

    >>> from apportion import Instance, Odds
    >>> Informed(Odds, {"tilt": 1.0}).on(Instance((0.9, 1.0), b=0.6, sigma=2.0))
    Odds(b=0.6, sigma=2.0, tilt=1.0)
    """

    cls: type[Policy]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def on(self, instance: Instance) -> Policy:
        """The policy for that instance."""
        truth = {"b": instance.b, "sigma": instance.sigma, "means": instance.means}
        takes = {item.name for item in dataclasses.fields(self.cls) if item.default is not None}  # type: ignore[arg-type]
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

    def engine_for(self, policy: Policy, instance: Instance) -> str:
        """The engine that runs a policy on an instance: "auto" leaps over a long horizon where that can be done."""
        if self.engine == "auto":
            long = self.horizon >= LEAP_FROM
            return "leap" if long and why_not(policy, instance, self.horizon, self.common) is None else "dense"
        return self.engine

    def tasks(self) -> list[tuple[int, int, Task]]:
        """(place of the policy, place of the instance, task); the cut into tasks does not change any number."""
        found = []
        for p in range(len(self.policies)):
            for i, instance in enumerate(self.instances):
                policy = self.policy(p, instance)
                engine = self.engine_for(policy, instance)
                whole = LARGEST_CHUNK if engine == "leap" else CHUNK_ARM_PERIODS // (self.horizon * instance.arms)
                size = max(1, min(LARGEST_CHUNK, whole))
                for first in range(0, self.replications, size):
                    last = min(first + size, self.replications)
                    task = Task(
                        policy, instance, self.horizon, self.marks, self.record, self.seed, first, last, self.common,
                        engine,
                    )  # fmt: skip
                    found.append((p, i, task))
        return found

    def own_policies(self) -> dict[str, str]:
        """The policies that are not ours, each with a digest of its code: by name, or by home where two have one."""
        classes = dict.fromkeys(item.cls if isinstance(item, Informed) else type(item) for item in self.policies)
        named = Counter(cls.__name__ for cls in classes)
        return {
            cls.__name__ if named[cls.__name__] == 1 else home(cls): digest
            for cls in classes
            if (digest := own_code(cls))
        }

    def needed_bytes(self) -> int:
        """How much memory the result takes."""
        arms = max(instance.arms for instance in self.instances)
        wide = sum(name in self.record for name in ("shares", "active"))
        narrow = len(self.record) - wide - ("eliminated" in self.record)
        cells = len(self.marks) * (narrow + wide * arms) + arms * ("eliminated" in self.record)
        return 8 * cells * self.replications * len(self.policies) * len(self.instances)

    def describe(self) -> dict[str, Any]:
        """Plain data for the provenance."""
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

    - `record`: any of regret (which is there always), reward, shares, leader, active, eliminated; see `Result`.
    - `periods`: when to record: a number of log-spaced periods (50 by default), or the periods themselves.
    - `common`: the same noise for every policy, for sharper comparisons. (`Batch` noise depends on the amounts: there
      the runs of two policies part ways with their first different split.)
    - `workers`: threads on this machine (all cores by default); or `executor`: any `concurrent.futures.Executor`, or
      a Dask `distributed.Client`. Every (policy, instance, replication) has its own stream from `seed`: the numbers
      are the same to the last bit for any of these.
    - `engine`: "dense" runs every period. "leap" goes from event to event, exact in law, to horizons of 10^12, for
      Gaussian noise and `SuccessiveElimination`, `EpsilonGreedy`, `FollowTheLeader`, `Uniform` and `Oracle`. The
      result then has `changes` (how often another arm led, or one left the race) and `leap_error`, a bound on the
      probability that a run missed one. "auto" leaps where it can and the horizon is at least 100,000.
    - `progress`: True, False, or None for a bar on a terminal only.

    A task that fails, whatever worker tries it, does not stop the others: `SimulationFailed` then has its parameters,
    and in `result` what the others found.

    >>> from apportion import Instance, Uniform
    >>> world = Instance(means=(1.0, 0.5), b=0.75)
    >>> found = simulate(Uniform(), world, horizon=100, replications=3, seed=1, progress=False)
    >>> found.regret.isel(period=-1).values.round(9).tolist()
    [[[25.0, 25.0, 25.0]]]
    """
    plan = make_plan(policies, instances, horizon, replications, seed, record, periods, common, engine)
    jobs = plan.tasks()
    found = execute([task for _, _, task in jobs], workers=workers, executor=executor, progress=progress)
    result = gather(plan, jobs, found.arrays)
    if found.failures:
        raise SimulationFailed(found.failures, f"{len(found.failures)} of {len(jobs)} tasks failed", [result])
    return result


def make_plan(
    policies: Any, instances: Any, horizon: int, replications: int, seed: int, record: Iterable[str],
    periods: int | Sequence[int] | None, common: bool, engine: str,
) -> Plan:  # fmt: skip
    """Check everything once, at the edge."""
    candidates = tuple(_candidate(item) for item in _listed("policies", policies))
    worlds = tuple(_listed("instances", instances))
    for world in worlds:
        if not isinstance(world, Instance):
            raise validation.refuse("instances", "a list of apportion.Instance", world)
        if world.arms < 2:
            raise validation.refuse("instances", "worlds with at least two arms", world.label)
    total = validation.whole("horizon", horizon, low=1, high=LONGEST_HORIZON)
    chosen = validation.choice("engine", engine, ("auto", "dense", "leap"))
    plan = Plan(
        candidates, worlds, total, validation.whole("replications", replications, low=1),
        validation.whole("seed", seed, low=0), _marks(periods, total), _records(record),
        validation.flag("common", common), chosen,
    )  # fmt: skip
    require_memory([plan])
    for candidate in candidates:
        for place, world in enumerate(worlds):
            require_fit(candidate, world, total, rehearse=place == 0)
            policy = candidate.on(world) if isinstance(candidate, Informed) else candidate
            if chosen == "leap" and (reason := why_not(policy, world, total, plan.common)):
                raise refusal(reason)
    return plan


def require_fit(candidate: Policy | Informed, world: Instance, horizon: int, rehearse: bool = True) -> None:
    """Refuse a policy that cannot run on an instance: it is made, prepared and, if it is not ours, tried out."""
    try:
        policy = candidate.on(world) if isinstance(candidate, Informed) else candidate
        policy.prepared(world.arms, horizon)
        policy.initial_memory(world.arms)
        if not is_ours(type(policy)):
            json.dumps(policy.to_dict())
            if rehearse:
                _rehearse(policy, world, min(horizon, REHEARSED))
    except ApportionError as error:
        raise type(error)(f"{candidate.label} cannot run on {world.label}: {error}") from error
    except Exception as error:  # a policy of the user's own can fail in any way
        sentence = f"{candidate.label} cannot run on {world.label}: {reason_of(error)}."
        raise InvalidValue(sentence) from error


def _rehearse(policy: Policy, world: Instance, horizon: int) -> None:
    """A few periods in plain Python, where a mistake has a name; compiled code would not notice a wrong index."""
    marks = tuple(range(1, horizon + 1))
    into = blank_record(1, len(marks), world.arms)
    Dense(policy, world, horizon, marks, plain=True).run(streams("rehearsal", 0, 0, 1), into)
    require_shares(policy, marks, into.regret)


def _listed(name: str, given: Any) -> list[Any]:
    if isinstance(given, (Policy, Informed, Instance, type)):
        return [given]
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise validation.refuse(name, "a list", given)
    items = list(given)
    if not items:
        raise validation.refuse(name, "a list with at least one entry", items)
    return items


def _candidate(item: Any) -> Policy | Informed:
    if isinstance(item, type) and issubclass(item, Policy):
        return Informed(item)
    if isinstance(item, (Policy, Informed)):
        return item
    raise validation.refuse("policies", "a list of policies such as apportion.Odds(b=0.75)", item)


def _records(record: Any) -> tuple[str, ...]:
    """What to record, in the usual order; regret always."""
    if not isinstance(record, Iterable) and record is not None:
        raise validation.refuse("record", "a list of names", record)
    given = [record] if isinstance(record, str) else list(record or ())
    wanted = {"regret", *(validation.choice("record", name, RECORDS) for name in given)}
    return tuple(name for name in RECORDS if name in wanted)


def _marks(periods: int | Sequence[int] | None, horizon: int) -> tuple[int, ...]:
    """The periods to record: as given, or log-spaced and ending at the horizon."""
    if periods is None or isinstance(periods, (str, bytes)) or not isinstance(periods, Iterable):
        count = validation.whole("periods", 50 if periods is None else periods, low=1, high=MOST_MARKS)
        spaced = np.unique(np.round(np.geomspace(1, horizon, count)).astype(np.int64)) if count > 1 else [horizon]
        return tuple(int(mark) for mark in spaced)
    marks = sorted({validation.whole("periods", mark, low=1, high=horizon) for mark in periods})
    if not marks:
        raise validation.refuse("periods", "a number, or periods up to the horizon", periods)
    return tuple(marks)


def require_memory(plans: Sequence[Plan]) -> None:
    """Refuse what would not fit, before anything is computed."""
    needed = sum(plan.needed_bytes() for plan in plans)
    available = _memory()
    if needed > 0.5 * available:
        raise validation.refuse(
            "replications",
            f"few enough for memory: half of {_size(available)}; fewer `periods` or less to `record` help",
            f"{plans[0].replications:,}, which need {_size(needed)}",
        )


def _memory() -> float:
    """The bytes this machine has, or this container may use."""
    if not hasattr(os, "sysconf"):
        return 2.0**34
    machine = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(machine, float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):  # not in a container, or "max"
        return machine


def _size(count: float) -> str:
    return f"{count / 1e9:,.3g} GB" if count < 1e15 else f"{count / 1e9:.1e} GB"


def gather(plan: Plan, jobs: list[tuple[int, int, Task]], arrays: list[Arrays | None]) -> Result:
    """Put the arrays of the tasks in their places; NaN where a task has none."""
    import xarray as xr

    sizes = (len(plan.policies), len(plan.instances), plan.replications)
    arms = max(instance.arms for instance in plan.instances)
    per_period, per_arm = ("period",), ("arm",)
    shapes = {
        "regret": per_period, "reward": per_period, "leader": per_period, "shares": per_period + per_arm,
        "active": per_period + per_arm, "eliminated": per_arm, **dict.fromkeys(LEAP_RECORDS, ()),
    }  # fmt: skip
    lengths = {"period": len(plan.marks), "arm": arms}
    blocks: dict[str, Any] = {}
    leapt = any(task.engine == "leap" for _, _, task in jobs)
    for name in (*plan.record, *(LEAP_RECORDS if leapt else ())):
        kind = {"leader": np.int32, "active": np.bool_}.get(name, np.float64)
        empty = {"leader": -1, "active": False}.get(name, np.nan)
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
    arms = max(world.arms for world in worlds)
    wide = {"arm": np.arange(arms)} if {"shares", "active", "eliminated"} & set(plan.record) else {}
    return {
        **wide,
        "policy": labels([candidate.label for candidate in plan.policies]),
        "instance": labels([world.label for world in worlds]),
        "replication": np.arange(plan.replications),
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
        "code": simulation_digest(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "xarray": xr.__version__,
        "machine": platform.machine(),
        "own policies": plan.own_policies(),
        "definition": plan.describe(),
    }
