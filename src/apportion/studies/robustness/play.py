"""One run of a troubled world: through the Allocator, or by the compiled loop that does the same."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from apportion._common.compiled import compiled
from apportion.allocation.allocator import Allocator
from apportion.model.sums import Floats
from apportion.model.trimmed_mean import GROUPS, TRIM
from apportion.policies import Policy, find_policy
from apportion.studies.robustness.kernel import play_run
from apportion.studies.robustness.troubles import PARAMETERS, Trouble, World, means_over_time, noise_over_time


def told_policy(name: str, world: World, trouble: Trouble) -> Policy:
    """The policy with the b and σ it is told: b stays within [0, 1]."""
    told = {"b": min(1.0, max(0.0, world.b + trouble.b_shift)), "sigma": trouble.sigma_factor}
    return find_policy(name)(**told, **PARAMETERS.get(name, {}))


class Course(NamedTuple):
    """What happens in one run whatever the policy does: drawn from (seed, run) alone."""

    means: Floats
    noise: Floats
    few: int
    arrival: int


def course(world: World, trouble: Trouble, horizon: int, seed: int, run: int) -> Course:
    """Every policy and every remedy meets the same means and the same noise."""
    means = means_over_time(world, trouble, horizon, np.random.default_rng([seed, run]))
    noise = noise_over_time(trouble, horizon, world.arms, np.random.default_rng([seed, run, 1]))
    few, arrival = (world.arms - 2, horizon // 3 + 1) if trouble.late else (world.arms, 1)
    return Course(means, noise, few, arrival)


def play(name: str, world: World, trouble: Trouble, horizon: int, seed: int, run: int, periods: int) -> Floats:
    """The regret of each of the first `periods`, through the Allocator: ask, wait for the outcomes, tell."""
    there = course(world, trouble, horizon, seed, run)
    names = [f"arm {place}" for place in range(world.arms)]
    allocator = Allocator(
        told_policy(name, world, trouble), names[: there.few], seed=run, horizon=horizon, **trouble.options
    )
    waiting: deque[tuple[int, dict[str, float]]] = deque()
    lost = np.zeros(periods)
    for period in range(periods):
        if period + 1 == there.arrival:
            for newcomer in names[there.few :]:
                allocator.add_arm(newcomer)
        split = allocator.ask()
        present = allocator.arms
        shares = np.array([split.amounts[arm] for arm in present])
        means, noise = there.means[period, : len(present)], there.noise[period, : len(present)]
        outcomes = {
            arm: float(share * mean + share**world.b * error)
            for arm, share, mean, error in zip(present, shares.tolist(), means, noise)
            if share > 0.0
        }
        lost[period] = means.max() - shares @ means
        waiting.append((split.ticket, outcomes))
        if len(waiting) > trouble.delay:
            allocator.tell(*waiting.popleft())
    return lost


def play_fast(name: str, world: World, trouble: Trouble, horizon: int, seed: int, run: int) -> Floats:
    """The same by the compiled loop, over the whole horizon."""
    there = course(world, trouble, horizon, seed, run)
    policy = told_policy(name, world, trouble)
    options, lost = trouble.options, np.zeros(horizon)
    with np.errstate(all="ignore"):
        compiled(play_run)(
            policy.prepared(there.few, horizon), policy.prepared(world.arms, horizon), there.few, there.arrival,
            there.means, there.noise, world.b, policy.b, trouble.delay,  # type: ignore[attr-defined]
            0.5 ** (1.0 / options["half_life"]) if "half_life" in options else 1.0, options.get("window", 0),
            GROUPS if options.get("robust") else 1, TRIM, np.random.Generator(np.random.PCG64(run)), lost,
        )  # fmt: skip
    return lost
