"""The arrays of finished tasks put together: one xarray Dataset with coordinates and provenance."""

from __future__ import annotations

import json
import platform
from collections import Counter
from typing import Any

import numpy as np

from apportion._common.sources import simulation_digest
from apportion._version import __version__
from apportion.policies.contract import home
from apportion.simulation.candidates import Informed
from apportion.simulation.engines.trace import LEAP_VARIABLES, VARIABLES
from apportion.simulation.plan import Job, Plan
from apportion.simulation.result import FORMAT, Result, labels
from apportion.simulation.task import Arrays
from apportion.simulation.user_policy import code_of

_RUN = ("policy", "instance", "replication")


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
    smallest = [min((gap for gap in instance.gaps if gap > 0), default=0.0) for instance in instances]
    per_arm = any("arm" in VARIABLES[name].dimensions for name in plan.variables)
    return {
        **({"arm": np.arange(plan.most_arms)} if per_arm else {}),
        "policy": labels([candidate.label for candidate in plan.policies]),
        "instance": labels([instance.label for instance in instances]),
        "replication": np.arange(plan.replications),
        "period": np.array(plan.checkpoints),
        "b": ("instance", [instance.b for instance in instances]),
        "arms": ("instance", [instance.arms for instance in instances]),
        "sigma": ("instance", [instance.sigma for instance in instances]),
        "gap": ("instance", smallest),
        "noise": ("instance", [instance.noise.name for instance in instances]),
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
        "own policies": _user_policies(plan),
        "definition": plan.describe(),
    }


def _user_policies(plan: Plan) -> dict[str, str]:
    """The users' policies, each with a digest of its code: by name, or by home where two have one name."""
    classes = dict.fromkeys(item.cls if isinstance(item, Informed) else type(item) for item in plan.policies)
    named = Counter(cls.__name__ for cls in classes)
    return {
        cls.__name__ if named[cls.__name__] == 1 else home(cls): digest for cls in classes if (digest := code_of(cls))
    }
