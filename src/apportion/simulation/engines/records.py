"""What the engines are given, as compiled code sees it: records (NamedTuples) of numbers, arrays and generators.

An engine's loop takes the arrays it reads out of these records once, before its first period: a record that is passed
on to a helper is reference-counted array by array, which a hot loop would pay for in every period.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion._common.compiled import kernel
from apportion.model.law import Instance
from apportion.model.sums import Floats, rows_of, sums_over
from apportion.policies.contract import Policy
from apportion.simulation.engines.streams import Streams


class InstanceRecord(NamedTuple):
    """An instance: means μ_i, gaps Δ_i = max μ − μ_i, and the law Y_i = A_i·μ_i + A_i^b·σ·ξ_i with ξ of `noise`."""

    means: Floats
    gaps: Floats
    b: float
    sigma: float
    noise: Any


def instance_record(instance: Instance) -> InstanceRecord:
    """The record of an instance."""
    means, gaps = np.array(instance.means), np.array(instance.gaps)
    return InstanceRecord(means, gaps, instance.b, instance.sigma, instance.noise)


class Schedule(NamedTuple):
    """How many periods are run, and the periods (rising) at which something is recorded.

    `tolerance`: the largest probability of a missed event at which leaping accepts an interval.
    """

    horizon: int
    checkpoints: NDArray[np.int64]
    tolerance: float


def make_schedule(horizon: int, checkpoints: Any, tolerance: float = 0.0) -> Schedule:
    """The schedule with the checkpoints as an array."""
    return Schedule(horizon, np.asarray(checkpoints, dtype=np.int64), tolerance)


class Generators(NamedTuple):
    """Where one run draws from: the policy's generator and that of the noise, which may be the same.

    `common`: noise is drawn for arms that got nothing too, so that runs of two policies can share it.
    """

    policy: np.random.Generator
    noise: np.random.Generator
    common: bool


class Randomness(NamedTuple):
    """Where a block of runs draws from: the `Generators` of each run, restarted at its stream."""

    policy: Streams
    noise: Streams
    common: bool


class PolicyState(NamedTuple):
    """What a policy knows, run after run: the `sums` it reads, which are the rows of `table`, and its memory."""

    sums: Any
    table: Floats
    initial_memory: Floats


def policy_state(policy: Policy, arms: int) -> PolicyState:
    """The state of a policy before the first period of a run."""
    table = np.zeros((rows_of(policy.reads), arms))
    return PolicyState(sums_over(policy.reads, table), table, policy.initial_memory(arms))


@kernel
def reset(state: Any, memory: Any) -> None:
    """Begin a run: all sums 0, and `memory` as the policy starts from it."""
    for row in range(state.table.shape[0]):
        for arm in range(state.table.shape[1]):
            state.table[row, arm] = 0.0
    for arm in range(len(memory)):
        memory[arm] = state.initial_memory[arm]
