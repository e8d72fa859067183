"""One simulated run, period by period: the same loop as live use, with the law in the place of the world."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion._common.compiled import compiled, kernel
from apportion.model.law import Instance, outcome
from apportion.model.sums import Floats, observe, rows_of, sums_over, weights
from apportion.policies.contract import Period, Policy, allocate
from apportion.simulation.engines.batched import can_go_abreast, play_abreast
from apportion.simulation.engines.streams import Streams, restart

# Shares may miss 1 by rounding only.
SUM_TOLERANCE: Final = 1e-9


class Record(NamedTuple):
    """What a run writes at its marks: (marks,) or (marks, arms) arrays; of length 0 where not wanted.

    `eliminated` is one number per arm: the last period in which it was active, 0 if it stayed, NaN if it never was.
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


@kernel
def play(
    policy: Any,
    seen: Any,
    memory: Any,
    noise: Any,
    means: Any,
    gaps: Any,
    b: float,
    sigma: float,
    horizon: int,
    rng: Any,
    noise_rng: Any,
    draw_all: bool,
    marks: Any,
    record: Any,
) -> None:
    """Run `horizon` periods of a budget of 1, and write down what happened up to the periods `marks` (rising).

    `seen` holds the sums that the policy reads, all 0, and `memory` what it starts from; both are left as they are
    after the last period. Regret is the pseudo-regret Σ_t Σ_i A_ti·Δ_i; reward is what the law returned.
    `draw_all` draws noise for arms that got nothing too, so that runs of two policies can share their noise.
    """
    arms = len(means)
    shares = np.zeros(arms)
    lost = 0.0
    earned = 0.0
    mark = 0
    by = last = weights(1.0, b)
    for number in range(1, horizon + 1):
        allocate(policy, Period(number, horizon, 1.0), seen, memory, rng, shares)
        for arm in range(arms):
            if shares[arm] > 0.0:
                if shares[arm] != by.amount:  # powers are dear: most splits have one or two different shares
                    by, last = last, by
                    if shares[arm] != by.amount:
                        by = weights(shares[arm], b)
                returned = outcome(means[arm], by.deviation * sigma, noise, by.amount, noise_rng)
                observe(seen, arm, returned, by)
                lost += by.amount * gaps[arm]
                earned += returned
            elif draw_all:
                outcome(0.0, 0.0, noise, 1.0, noise_rng)
        if len(record.eliminated) > 0:
            note_active(number, horizon, shares, record.eliminated)
        if mark < len(marks) and marks[mark] == number:
            write_down(record, mark, lost, earned, shares)
            mark += 1


@kernel
def note_active(number: int, horizon: int, shares: Any, eliminated: Any) -> None:
    """The arms that are active in this period: those that get at least half of what the leader gets."""
    largest = shares[0]
    for arm in range(len(shares)):
        largest = max(largest, shares[arm])
    for arm in range(len(shares)):
        if shares[arm] >= 0.5 * largest:
            eliminated[arm] = number if number < horizon else 0


@kernel
def write_down(record: Any, mark: int, lost: float, earned: float, shares: Any) -> None:
    """Fill in one mark of what is wanted; the regret of shares that are none is NaN, so that it is noticed."""
    total = 0.0
    sound = True
    for arm in range(len(shares)):
        total += shares[arm]
        sound = sound and shares[arm] >= 0.0
    if len(record.regret) > 0:
        record.regret[mark] = lost if sound and abs(total - 1.0) <= SUM_TOLERANCE else math.nan
    if len(record.reward) > 0:
        record.reward[mark] = earned
    if len(record.shares) > 0:
        for arm in range(len(shares)):
            record.shares[mark, arm] = shares[arm]
    if len(record.leader) > 0 or len(record.active) > 0:
        leader = 0
        for arm in range(len(shares)):
            if shares[arm] > shares[leader]:
                leader = arm
        if len(record.leader) > 0:
            record.leader[mark] = leader
        if len(record.active) > 0:
            for arm in range(len(shares)):
                record.active[mark, arm] = shares[arm] >= 0.5 * shares[leader]


@kernel
def play_block(
    policy: Any,
    seen: Any,
    table: Any,
    first_memory: Any,
    memory: Any,
    noise: Any,
    means: Any,
    gaps: Any,
    b: float,
    sigma: float,
    horizon: int,
    rng: Any,
    state: Any,
    seeds: Any,
    noise_rng: Any,
    noise_state: Any,
    noise_seeds: Any,
    draw_all: bool,
    marks: Any,
    block: Any,
) -> None:
    """`play` for each row of `seeds`; `seen` are the rows of `table`; `memory` and `block` have a row per run."""
    for run in range(len(seeds)):
        restart(rng, state, seeds[run])
        if draw_all:
            restart(noise_rng, noise_state, noise_seeds[run])
        for row in range(table.shape[0]):
            for arm in range(table.shape[1]):
                table[row, arm] = 0.0
        for arm in range(len(first_memory)):
            memory[run, arm] = first_memory[arm]
        record = Record(
            block.regret[run], block.reward[run], block.shares[run], block.leader[run], block.active[run],
            block.eliminated[run],
        )  # fmt: skip
        play(
            policy, seen, memory[run], noise, means, gaps, b, sigma, horizon, rng, noise_rng, draw_all, marks, record
        )  # fmt: skip


class Dense:
    """Runs one policy on one instance, replication after replication, compiled unless `plain`."""

    def __init__(self, policy: Policy, instance: Instance, horizon: int, marks: Any, plain: bool = False) -> None:
        self._policy, self._instance, self._horizon = policy, instance, horizon
        self._marks = np.asarray(marks, dtype=np.int64)
        self._prepared = policy.prepared(instance.arms, horizon)
        self._means, self._gaps = np.array(instance.means), np.array(instance.gaps)
        self._play = play_block if plain else compiled(play_block)
        self._abreast = not plain and can_go_abreast(policy, horizon)

    def run(self, own: Streams, into: Record, common: Streams | None = None) -> Floats:
        """One run per stream; what is wanted goes `into` the record. Returns the memory of each run at its end."""
        arms, world = self._instance.arms, self._instance
        memory = np.zeros((len(own.seeds), arms))
        if self._abreast and common is None and into.without_arms:
            compiled(play_abreast)(
                self._prepared, world.noise, self._means, self._gaps, world.sigma, self._horizon,
                own.generator, own.state, own.seeds, self._marks, into.regret, into.reward,
            )  # fmt: skip
            return memory
        table = np.zeros((rows_of(self._policy.reads), arms))
        seen = sums_over(self._policy.reads, table)
        noise = own if common is None else common
        with np.errstate(all="ignore"):
            self._play(
                self._prepared, seen, table, self._policy.initial_memory(arms), memory,
                world.noise, self._means, self._gaps, world.b, world.sigma, self._horizon, own.generator, own.state,
                own.seeds, noise.generator, noise.state, noise.seeds, common is not None, self._marks, into,
            )  # fmt: skip
        return memory


def blank_record(runs: int, marks: int, arms: int, wanted: Any = ("regret", "reward")) -> Record:
    """Arrays for the records of some runs; what is not wanted has length 0 in its second axis, and is left out."""
    per_mark = {"regret": (), "reward": (), "shares": (arms,), "leader": (), "active": (arms,)}
    kinds = {"leader": np.int32, "active": np.bool_}
    arrays: dict[str, Any] = {
        name: np.zeros((runs, marks if name in wanted else 0, *shape), kinds.get(name, np.float64))
        for name, shape in per_mark.items()
    }
    return Record(**arrays, eliminated=np.full((runs, arms if "eliminated" in wanted else 0), np.nan))
