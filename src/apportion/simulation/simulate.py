"""`simulate`: regret of any policies on any instances, from one seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from typing import Any

from apportion.errors import SimulationFailed
from apportion.model.law import Instance
from apportion.simulation.candidates import Candidate
from apportion.simulation.executors import execute
from apportion.simulation.gather import gather
from apportion.simulation.plan import make_plan
from apportion.simulation.result import Result


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
