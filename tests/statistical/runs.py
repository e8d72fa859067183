"""Simulated runs for the statistical tests: one line in each test, whatever runs underneath."""

from typing import NamedTuple

import numpy as np

from apportion._common.compiled import compiled
from apportion.model.sums import Sums
from apportion.simulation.engines.dense import play
from apportion.simulation.engines.records import Generators, empty_traces, environment_of, make_schedule, trace_of


class Runs(NamedTuple):
    """What is left after the last period: one row per replication, and per arm where it says so."""

    regret: np.ndarray
    sums: Sums  # per arm
    memory: np.ndarray  # per arm: what the policy keeps


def runs(policy, instance, horizon, replications, seed):
    """Replication r runs on the generator [seed, r]."""
    arms, law, schedule = instance.arms, environment_of(instance, policy), make_schedule(horizon, [horizon])
    memory = np.empty((replications, arms))
    table = np.zeros((replications, len(Sums._fields), arms))
    traces = empty_traces(replications, 1, arms, ("regret",))
    record = policy.prepared(arms, horizon)
    for r in range(replications):
        rng = np.random.Generator(np.random.SFC64([seed, r]))
        memory[r] = policy.initial_memory(arms)
        sums, generators = Sums(*table[r]), Generators(rng, rng, False)
        compiled(play)(record, sums, memory[r], law, schedule, generators, trace_of(traces, r))
    return Runs(traces.regret[:, 0], Sums(*table.transpose(1, 0, 2)), memory)


def regrets(policy, instance, horizon, replications, seed):
    """Regret after `horizon` periods, one value per replication."""
    return runs(policy, instance, horizon, replications, seed).regret
