"""`simulate`: regret of any policies on any instances, from one seed."""

from __future__ import annotations

import json
import math
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from apportion._common.imports import home
from apportion._common.sources import simulation_digest
from apportion._version import __version__
from apportion.errors import SimulationFailed
from apportion.model.world import World
from apportion.simulation.candidates import Candidate, Informed
from apportion.simulation.engines.records import LEAP_VARIABLES, VARIABLES
from apportion.simulation.executors import execute
from apportion.simulation.plan import Job, Plan, make_plan
from apportion.simulation.result import FORMAT, Result, labels
from apportion.simulation.task import Arrays
from apportion.simulation.user_code import classes_in, code_of

_RUN = ("policy", "instance", "replication")


def simulate(
    policies: Candidate | Iterable[Candidate],
    instances: World | Iterable[World],
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

    A policy may be given as a class (or `Informed`): it then gets the true b, σ and means of each instance.

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
    plan = make_plan(
        policies, instances, horizon=horizon, replications=replications, seed=seed, record=record, periods=periods,
        common=common, engine=engine,
    )  # fmt: skip
    jobs = plan.jobs()
    found = execute([job.task for job in jobs], workers=workers, executor=executor, progress=progress)
    result = gather(plan, jobs, found.arrays)
    if found.failures:
        raise SimulationFailed(found.failures, f"{len(found.failures)} of {len(jobs)} tasks failed", [result])
    return result


def gather(plan: Plan, jobs: list[Job], arrays: list[Arrays | None]) -> Result:
    """Put the arrays of the jobs together; NaN where a task has none."""
    import xarray as xr

    runs = (len(plan.policies), len(plan.instances), plan.replications)
    leapt = any(job.task.engine == "leap" for job in jobs)
    variables = {name: VARIABLES[name] for name in plan.variables} | (LEAP_VARIABLES if leapt else {})
    blocks = {
        name: np.full(
            (*runs, *variable.shape(len(plan.checkpoints), plan.most_arms)), variable.missing, variable.dtype
        )
        for name, variable in variables.items()
    }
    for job, found in zip(jobs, arrays):
        for name, values in (found or {}).items():
            into = blocks[name][job.policy, job.instance, job.task.first : job.task.last]
            into[tuple(slice(length) for length in values.shape)] = values
    dataset = xr.Dataset(
        {name: ((*_RUN, *variables[name].dimensions), block) for name, block in blocks.items()},
        coords=_coordinates(plan),
        attrs={"format": FORMAT, "provenance": json.dumps(_provenance(plan))},
    )
    return Result(dataset)


def _coordinates(plan: Plan) -> dict[str, Any]:
    instances = plan.instances
    facts = {name: ("instance", [fact(world) for world in instances]) for name, fact in _FACTS.items()}
    per_arm = any("arm" in VARIABLES[name].dimensions for name in plan.variables)
    return {
        **({"arm": np.arange(plan.most_arms)} if per_arm else {}),
        "policy": labels([candidate.label for candidate in plan.policies]),
        "instance": labels([instance.label for instance in instances]),
        "replication": np.arange(plan.replications),
        "period": np.array(plan.checkpoints),
        **facts,
    }


def _number(world: World, name: str) -> float:
    """A parameter of a world that is one number; NaN where it is not, or there is none."""
    value = getattr(world, name, None)
    return float(value) if isinstance(value, (int, float)) else math.nan


def _gap(world: World) -> float:
    """The smallest gap between the best mean and another one; NaN where means are not all that counts."""
    gaps = getattr(world, "gaps", None)
    return math.nan if gaps is None else min((gap for gap in gaps if gap > 0), default=0.0)


# What stands beside the label of a world. The whole definition is in the provenance.
_FACTS: dict[str, Callable[[Any], Any]] = {
    "world": lambda world: type(world).__name__,
    "b": lambda world: _number(world, "b"),
    "c": lambda world: _number(world, "c"),
    "arms": lambda world: world.arms,
    "sigma": lambda world: _number(world, "sigma"),
    "gap": _gap,
    "noise": lambda world: getattr(getattr(world, "noise", None), "name", ""),
}


def _provenance(plan: Plan) -> dict[str, Any]:
    """Where the numbers come from: versions, seed, definition."""
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
        "own policies": _user_code(item.cls if isinstance(item, Informed) else type(item) for item in plan.policies),
        "own worlds": _user_code(cls for world in plan.instances for cls in classes_in(world)),
        "definition": plan.describe(),
    }


def _user_code(found: Iterable[type]) -> dict[str, str]:
    """The users' classes, each with a digest of its code: by name, or by home where two have one name."""
    classes = dict.fromkeys(found)
    named = Counter(cls.__qualname__ for cls in classes)
    return {
        cls.__qualname__ if named[cls.__qualname__] == 1 else home(cls): digest
        for cls in classes
        if (digest := code_of(cls))
    }
