"""Policies of others, each in a world it was made for, over drawing a normal for every arm and period.

Nobody asked for a speed: the figures are for the record, and the bars about twice what was first measured.
"""

from __future__ import annotations

from collections.abc import Iterator

import apportion as ap
from apportion import published
from apportion.simulation.task import run_task
from benchmarks.simulation import ARMS, BENT, HORIZON, WORLD, normals, task_of, time_ratio
from benchmarks.table import Row

JOBS = ap.Jobs(tuple(0.2 + 0.1 * arm for arm in range(ARMS)))
STEPS = ap.Thresholds(tuple(0.9 - 0.05 * arm for arm in range(ARMS)), threshold=0.2)
PAIR = ap.Concave(((0.0, 0.5, 0.7), (0.0, 0.3, 0.5)), (0.0, 0.5, 1.0))
BENDING = ap.ConcaveSlopes(tuple((2.0 - 0.1 * arm, 0.0) for arm in range(ARMS)))
CASES: tuple[tuple[ap.Policy, ap.World, int, float], ...] = (
    (published.OptimisticAllocation(), JOBS, HORIZON, 300.0),
    (published.MARA(), JOBS, HORIZON, 300.0),
    (published.CensoredMultiplePlays(), STEPS, HORIZON, 120.0),
    (published.NestedBisection(), BENDING, HORIZON, 120.0),
    (published.NoisyBisection(), PAIR, HORIZON, 120.0),
    (published.GradientAscent(), BENT, HORIZON, 120.0),
    (published.DiscretisedCUCB(), BENT, HORIZON, 1000.0),
    (published.RiverUCB(), WORLD, HORIZON, 20.0),
    (published.QuarterlyRefit(), BENT, HORIZON, 120.0),
    # Never compiled, and dear where it fits kernels, in periods 2, 4, 8, …: so few periods that a run takes a second.
    (published.GaussianProcessKnapsack(levels=10), BENT, 100, 2e6),
)


def rows() -> Iterator[Row]:
    """A row per policy."""
    for policy, world, horizon, bar in CASES:
        task = task_of(policy, world, horizon, count=1)
        many = HORIZON * ARMS / (horizon * world.arms)
        repeats = 9 if horizon == HORIZON else 2
        ratio = many * time_ratio(lambda task=task: run_task(task), normals(1), repeats)  # type: ignore[misc]
        yield Row(f"{type(policy).__name__} over drawing the normals", ratio, bar, "×")
