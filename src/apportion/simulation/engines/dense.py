"""One simulated run, period by period: the same loop as live use, with the law instead of the world."""

from __future__ import annotations

from typing import Any

import numpy as np

from apportion._common.compiled import compiled, kernel, lent
from apportion.model.sums import Floats, observe, powers_of
from apportion.model.world import World, advance, best_value, outcome, shortfall, terms
from apportion.policies.contract import Period, Policy, allocate
from apportion.simulation.engines.batched import can_run_batched, play_batched
from apportion.simulation.engines.records import (
    Generators,
    Trace,
    environment_of,
    make_schedule,
    note_active,
    policy_state,
    reset,
    trace_of,
    write_checkpoint,
)
from apportion.simulation.engines.streams import Streams, restart


@kernel
def play(policy: Any, sums: Any, memory: Any, environment: Any, schedule: Any, generators: Any, trace: Any) -> None:
    """Run the periods of `schedule`, each with a budget of 1, and write `trace` at its checkpoints.

    `sums` are those that the policy reads, all 0, and `memory` what it starts from; both are left as they are after
    the last period. Regret is what the splits fall short of the best value of their period in expectation, Σ A·Δ
    under the paper's law; reward is what came back.
    """
    world, state, arms, b, c = environment.world, environment.state, environment.arms, environment.b, environment.c
    horizon, checkpoints = schedule.horizon, schedule.checkpoints
    rng, noise_rng, common = generators.policy, generators.noise, generators.common
    eliminated = trace.eliminated
    shares = np.zeros(arms)
    regret = 0.0
    reward = 0.0
    checkpoint = 0
    powers = previous = powers_of(1.0, b, c)
    amount = previous_amount = terms(world, powers)
    for number in range(1, horizon + 1):
        allocate(policy, Period(number, horizon, 1.0), sums, memory, rng, shares)
        advance(world, number, state, noise_rng)
        best = best_value(world, number, 1.0, state)
        for arm in range(arms):
            if shares[arm] > 0.0:
                if shares[arm] != powers.amount:  # powers are dear: most splits have one or two different shares
                    powers, previous = previous, powers
                    amount, previous_amount = previous_amount, amount
                    if shares[arm] != powers.amount:
                        powers = powers_of(shares[arm], b, c)
                        amount = terms(world, powers)
                expected, returned = outcome(world, number, arm, amount, state, noise_rng)
                observe(sums, arm, returned, powers)
                regret += shortfall(world, arm, powers.amount, expected, best)
                reward += returned
            elif common:
                outcome(world, number, arm, terms(world, powers_of(1.0, b, c)), state, noise_rng)
        if len(eliminated) > 0:
            note_active(number, horizon, shares, eliminated)
        if checkpoint < len(checkpoints) and checkpoints[checkpoint] == number:
            write_checkpoint(trace, checkpoint, regret, reward, shares)
            checkpoint += 1


@kernel
def play_block(
    policy: Any, state: Any, memory: Any, environment: Any, schedule: Any, own: Any, noise: Any, common: bool,
    traces: Any,
) -> None:  # fmt: skip
    """`play` for each stream of `own`; `memory` and `traces` have a row per run.

    The streams of `noise` are those of `own` unless they are `common` to several policies: one kind of argument
    either way, so that one machine code does for both.
    """
    generators, sums, record = Generators(own.generator, noise.generator, common), lent(state.sums), lent(policy)
    for run in range(len(own.seeds)):
        restart(own.generator, own.state, own.seeds[run])
        if common:
            restart(noise.generator, noise.state, noise.seeds[run])
        reset(state, memory[run])
        for index in range(len(environment.state)):
            environment.state[index] = environment.initial_state[index]
        play(record, sums, memory[run], environment, schedule, generators, trace_of(traces, run))


class Dense:
    """Runs one policy in one world, replication after replication, compiled unless `plain`."""

    def __init__(self, policy: Policy, world: World, horizon: int, checkpoints: Any, plain: bool = False) -> None:
        self._policy, self._arms = policy, world.arms
        self._prepared = policy.prepared(world.arms, horizon)
        self._environment = environment_of(world, policy)
        self._schedule = make_schedule(horizon, checkpoints)
        plain = plain or not policy.compiles
        self._play = play_block if plain else compiled(play_block)
        self._batched = not plain and not world.moves and can_run_batched(policy, horizon)

    def run(self, own: Streams, traces: Trace, common: Streams | None = None) -> Floats:
        """One run per stream, written into `traces`; returns the memory of each run at its end.

        `common` are the streams of noise that runs of several policies share.
        """
        memory = np.zeros((len(own.seeds), self._arms))
        if self._batched and common is None and traces.without_arms:
            compiled(play_batched)(
                self._prepared, self._environment, self._schedule, own, traces.regret, traces.reward
            )
            return memory
        state = policy_state(self._policy, self._arms)
        with np.errstate(all="ignore"):
            self._play(
                self._prepared, state, memory, self._environment, self._schedule, own,
                own if common is None else common, common is not None, traces,
            )  # fmt: skip
        return memory
