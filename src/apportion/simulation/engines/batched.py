"""Runs of an index policy in batches: one period of many runs, then the next.

Run by run, a period of pooling is a chain in which nothing can overlap: the largest index, its outcome, its new
grade. In a batch the runs do not wait for each other, and the search for the largest index does several at once.
The numbers are those of `dense.play` to the last bit: every run has its own stream, and draws from it in the same
order.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from apportion._common.compiled import kernel
from apportion.model.sums import powers_of
from apportion.model.world import best_value, outcome, shortfall, terms
from apportion.policies.index import IndexPolicy, grade, keep_one, optimism
from apportion.simulation.engines.streams import STATE_WORDS, Streams, restart

# Runs in a batch: so many that a grade is long written when it is read again, and so few (arms × runs) that all
# stay in the processor's cache.
LARGEST_BATCH: Final = 64
SMALLEST_BATCH: Final = 8
ARMS_IN_A_BATCH: Final = 8192
# Instead of the index of an arm: several arms have the largest index.
TIE: Final = -1


def can_run_batched(policy: Any, horizon: int) -> bool:
    """Whether a policy decides as `IndexPolicy` does, from grades that change with an arm's own outcomes only."""
    return (
        isinstance(policy, IndexPolicy)
        and type(policy).allocate is IndexPolicy.allocate
        and policy.lasting(horizon)
    )  # fmt: skip


@kernel
def play_batched(policy: Any, environment: Any, schedule: Any, streams: Any, regret: Any, reward: Any) -> None:
    """`dense.play` for each stream; `regret` and `reward` have a row per run, a column per checkpoint or none."""
    size = min(LARGEST_BATCH, max(SMALLEST_BATCH, ARMS_IN_A_BATCH // environment.arms))
    first = 0
    while first < len(streams.seeds):
        last = min(first + size, len(streams.seeds))
        batch = Streams(streams.generator, streams.state, streams.seeds[first:last])
        play_batch(policy, environment, schedule, batch, regret[first:last], reward[first:last])
        first = last


@kernel
def play_batch(policy: Any, environment: Any, schedule: Any, streams: Any, regret: Any, reward: Any) -> None:
    """One period after the other, all runs of the batch (lanes) in each."""
    world, resting, arms = environment.world, environment.state, environment.arms
    unit = terms(world, powers_of(1.0, environment.b, environment.c))
    horizon, checkpoints = schedule.horizon, schedule.checkpoints
    rng, state, seeds = streams.generator, streams.state, streams.seeds
    lanes = len(seeds)
    states = np.zeros((lanes, STATE_WORDS), dtype=np.uint64)
    for lane in range(lanes):
        restart(rng, state, seeds[lane])
        for word in range(STATE_WORDS):
            states[lane, word] = state[word]
    plays, total = np.zeros((arms, lanes)), np.zeros((arms, lanes))
    mean, width = np.full((arms, lanes), math.inf), np.zeros((arms, lanes))  # an arm never observed goes first
    lost, earned, expected, returned = np.zeros(lanes), np.zeros(lanes), np.zeros(lanes), np.zeros(lanes)
    best, chosen = np.zeros(lanes), np.zeros(lanes, dtype=np.int64)
    tied = np.zeros(arms)
    checkpoint = 0
    for number in range(1, horizon + 1):
        factor = optimism(policy, number)
        value = best_value(world, number, 1.0, resting)
        for lane in range(lanes):
            best[lane] = mean[0, lane] + factor * width[0, lane]
            chosen[lane] = 0
        for arm in range(1, arms):
            for lane in range(lanes):
                index = mean[arm, lane] + factor * width[arm, lane]
                chosen[lane] = arm if index > best[lane] else TIE if index == best[lane] else chosen[lane]
                best[lane] = index if index > best[lane] else best[lane]
        for lane in range(lanes):
            for word in range(STATE_WORDS):
                state[word] = states[lane, word]
            if chosen[lane] == TIE:
                ties = 0
                for arm in range(arms):
                    tied[arm] = 1.0 if mean[arm, lane] + factor * width[arm, lane] == best[lane] else 0.0
                    ties += int(tied[arm])
                keep_one(ties, rng, tied)
                for arm in range(arms):
                    if tied[arm] > 0.0:
                        chosen[lane] = arm
            arm = chosen[lane]
            expected[lane], returned[lane] = outcome(world, number, arm, unit, resting, rng)
            for word in range(STATE_WORDS):
                states[lane, word] = state[word]
        for lane in range(lanes):
            arm = chosen[lane]
            # All powers of a whole unit are 1: its information is a count, and its score the outcome itself.
            count, score = plays[arm, lane] + 1.0, total[arm, lane] + returned[lane]
            plays[arm, lane], total[arm, lane] = count, score
            mean[arm, lane], width[arm, lane] = grade(policy, number, arms, arm, count, count, score)
            lost[lane] += shortfall(world, arm, 1.0, expected[lane], value)
            earned[lane] += returned[lane]
        if checkpoint < len(checkpoints) and checkpoints[checkpoint] == number:
            for lane in range(lanes):
                if regret.shape[1] > 0:
                    regret[lane, checkpoint] = lost[lane]
                if reward.shape[1] > 0:
                    reward[lane, checkpoint] = earned[lane]
            checkpoint += 1
