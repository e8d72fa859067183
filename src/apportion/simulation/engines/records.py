"""What the engines are given and what they write, as compiled code sees it: records of numbers, arrays, generators.

An engine's loop takes the arrays it reads out of these records once, before its first period: a record that is passed
on to a helper is reference-counted array by array, which a hot loop would pay for in every period.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion._common.compiled import kernel
from apportion.model.sums import Floats, rows_of, sums_over
from apportion.model.world import World
from apportion.policies.contract import Policy

# Shares may miss 1 by rounding only.
SUM_TOLERANCE: Final = 1e-9
# Active are the arms that get at least this part of what the leader gets.
ACTIVE_FRACTION: Final = 0.5


class Environment(NamedTuple):
    """What a policy is played in: the world's record, what moves in it and how it starts, and its number of arms.

    `b` and `c` are the exponents that the policy's sums are taken at.
    """

    world: Any
    state: Floats
    initial_state: Floats
    arms: int
    b: float
    c: float


def environment_of(world: World, policy: Policy) -> Environment:
    """The environment of a policy. Exponents that a policy lacks are the world's, or the paper's."""
    b, c = (_exponent(policy, world, name, default) for name, default in (("b", 0.5), ("c", 1.0)))
    initial = world.initial_state()
    return Environment(world.record(b, c), initial.copy(), initial, world.arms, b, c)


def _exponent(policy: Policy, world: World, name: str, default: float) -> float:
    return next(
        (float(v) for v in (getattr(policy, name, None), getattr(world, name, None)) if v is not None), default
    )


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


class PolicyState(NamedTuple):
    """What a policy knows, run after run: the `sums` it reads, which are the rows of `table`, and its memory."""

    sums: Any
    table: Floats
    initial_memory: Floats


def policy_state(policy: Policy, arms: int) -> PolicyState:
    """The state of a policy before the first period of a run."""
    kind = policy.reads
    if hasattr(kind, "new"):  # begins by itself with period 1
        return PolicyState(kind.new(arms), np.zeros((0, arms)), policy.initial_memory(arms))
    table = np.zeros((rows_of(kind), arms))
    return PolicyState(sums_over(kind, table), table, policy.initial_memory(arms))


@kernel
def reset(state: Any, memory: Any) -> None:
    """Begin a run: all sums 0, and `memory` as the policy starts from it."""
    for row in range(state.table.shape[0]):
        for arm in range(state.table.shape[1]):
            state.table[row, arm] = 0.0
    for arm in range(len(memory)):
        memory[arm] = state.initial_memory[arm]


class Variable(NamedTuple):
    """What can be recorded: its dimensions besides those of a run, its type, and the value where there is none."""

    dimensions: tuple[str, ...] = ("period",)
    dtype: Any = np.float64
    missing: Any = np.nan

    def shape(self, checkpoints: int, arms: int) -> tuple[int, ...]:
        """The length of each dimension."""
        return tuple(checkpoints if name == "period" else arms for name in self.dimensions)


# The fields of `Trace`.
VARIABLES = {
    "regret": Variable(),
    "reward": Variable(),
    "shares": Variable(("period", "arm")),
    "leader": Variable(dtype=np.int32, missing=-1),
    "active": Variable(("period", "arm"), np.bool_, False),
    "eliminated": Variable(("arm",)),
}
# What a leaping run says of itself, asked or not; see `leap.Tally`.
LEAP_VARIABLES = {"changes": Variable(()), "leap_error": Variable(())}


class Trace(NamedTuple):
    """What is recorded of a run: arrays (checkpoints,) or (checkpoints, arms), of length 0 where not wanted.

    `eliminated` is one number per arm: the last period in which it was active, 0 if it stayed, NaN if it never was.
    The traces of a block of runs have one more axis, which comes first.
    """

    regret: Floats
    reward: Floats
    shares: Floats
    leader: NDArray[np.int32]
    active: NDArray[np.bool_]
    eliminated: Floats

    @property
    def without_arms(self) -> bool:
        """Whether only regret and reward are wanted."""
        return not any(values.size for values in (self.shares, self.leader, self.active, self.eliminated))


def empty_traces(runs: int, checkpoints: int, arms: int, wanted: Collection[str] = ("regret", "reward")) -> Trace:
    """Arrays for the traces of some runs; what is not wanted has length 0 in its second axis, and is left out."""
    arrays = {}
    for name, variable in VARIABLES.items():
        first, *rest = variable.shape(checkpoints, arms)
        arrays[name] = np.full((runs, first if name in wanted else 0, *rest), variable.missing, variable.dtype)
    return Trace(**arrays)


@kernel
def trace_of(traces: Any, run: int) -> Trace:
    """The trace of one run among those of a block."""
    return Trace(
        traces.regret[run], traces.reward[run], traces.shares[run], traces.leader[run], traces.active[run],
        traces.eliminated[run],
    )  # fmt: skip


@kernel
def note_active(number: int, horizon: int, shares: Any, eliminated: Any) -> None:
    """Note the arms that are active in this period, until which none of them is eliminated."""
    largest = shares[0]
    for arm in range(len(shares)):
        largest = max(largest, shares[arm])
    for arm in range(len(shares)):
        if shares[arm] >= ACTIVE_FRACTION * largest:
            eliminated[arm] = number if number < horizon else 0


@kernel
def write_checkpoint(trace: Any, checkpoint: int, regret: float, reward: float, shares: Any) -> None:
    """Write what is wanted at a checkpoint (its index); the regret of invalid shares is NaN: it is noticed."""
    total = 0.0
    valid = True
    for arm in range(len(shares)):
        total += shares[arm]
        valid = valid and shares[arm] >= 0.0
    if len(trace.regret) > 0:
        trace.regret[checkpoint] = regret if valid and abs(total - 1.0) <= SUM_TOLERANCE else math.nan
    if len(trace.reward) > 0:
        trace.reward[checkpoint] = reward
    if len(trace.shares) > 0:
        for arm in range(len(shares)):
            trace.shares[checkpoint, arm] = shares[arm]
    if len(trace.leader) > 0 or len(trace.active) > 0:
        leader = 0
        for arm in range(len(shares)):
            if shares[arm] > shares[leader]:
                leader = arm
        if len(trace.leader) > 0:
            trace.leader[checkpoint] = leader
        if len(trace.active) > 0:
            for arm in range(len(shares)):
                trace.active[checkpoint, arm] = shares[arm] >= ACTIVE_FRACTION * shares[leader]
