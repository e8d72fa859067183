"""Simulated runs for the statistical tests: one line in each test, whatever runs underneath."""

from typing import NamedTuple

import numpy as np

from apportion._common.compiled import compiled
from apportion.model.sums import Sums
from apportion.simulation.engines.dense import Record, play


class Runs(NamedTuple):
    """What is left after the last period: one row per replication, and per arm where it says so."""

    regret: np.ndarray
    seen: Sums  # per arm
    memory: np.ndarray  # per arm: what the policy keeps


def runs(policy, instance, horizon, replications, seed):
    """Replication r runs on the generator [seed, r]."""
    arms, marks = instance.arms, np.array([horizon])
    means, gaps = np.array(instance.means), np.array(instance.gaps)
    regret, memory = np.empty((replications, 1)), np.empty((replications, arms))
    table = np.zeros((replications, len(Sums._fields), arms))
    nothing = (
        np.empty(0), np.empty((0, arms)), np.empty(0, dtype=np.int32), np.empty((0, arms), dtype=np.bool_),
        np.empty(0),
    )  # fmt: skip
    record = policy.prepared(arms, horizon)
    for r in range(replications):
        rng = np.random.Generator(np.random.SFC64([seed, r]))
        memory[r] = policy.initial_memory(arms)
        compiled(play)(
            record, Sums(*table[r]), memory[r], instance.noise, means, gaps, instance.b, instance.sigma, horizon,
            rng, rng, False, marks, Record(regret[r], *nothing),
        )  # fmt: skip
    return Runs(regret[:, 0], Sums(*table.transpose(1, 0, 2)), memory)


def regrets(policy, instance, horizon, replications, seed):
    """Regret after `horizon` periods, one value per replication."""
    return runs(policy, instance, horizon, replications, seed).regret
