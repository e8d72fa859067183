"""One run of the study: through the Allocator, or by the compiled loop that does the same."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from apportion._common.compiled import compiled
from apportion.allocation.allocator import Allocator
from apportion.model.sums import Floats
from apportion.model.trimmed_mean import GROUPS, TRIM
from apportion.model.world import Course
from apportion.policies import Policy, Uniform, find_policy
from apportion.studies.robustness.course import DrawnAhead
from apportion.studies.robustness.kernel import Rules, play_run
from apportion.studies.robustness.violations import PARAMETERS, Violation, World, means_over_time, noise_over_time

# With late arms, this many arrive late, after 1/`LATE_FRACTION` of the time.
LATE_ARMS, LATE_FRACTION = 2, 3


class Run(NamedTuple):
    """One run: which policy, in which world with which violation, for how long, from which seed."""

    policy: str
    world: World
    violation: Violation
    horizon: int
    seed: int
    number: int

    def course(self) -> DrawnAhead:
        """Drawn from (seed, number) alone: every policy and every remedy meets the same means and the same noise."""
        arms, horizon, start = self.world.arms, self.horizon, [self.seed, self.number]
        means = means_over_time(self.world, self.violation, horizon, np.random.default_rng(start))
        noise = noise_over_time(self.violation, horizon, arms, np.random.default_rng([*start, 1]))
        early, arrival = (arms - LATE_ARMS, horizon // LATE_FRACTION + 1) if self.violation.late else (arms, 1)
        return DrawnAhead(means, noise, self.world.b, early, arrival, self.violation.c)

    @property
    def assumed_b(self) -> float:
        """The b that the policy assumes, within [0, 1]."""
        return min(1.0, max(0.0, self.world.b + self.violation.b_shift))

    def informed_policy(self) -> Policy:
        """The policy with the b and σ that it assumes."""
        if self.policy == Uniform.__name__:
            return Uniform()
        assumed = {"b": self.assumed_b, "sigma": self.violation.sigma_factor, **PARAMETERS.get(self.policy, {})}
        return find_policy(self.policy)(**assumed)


def play(run: Run, periods: int) -> Floats:
    """The regret of each of the first `periods`, through the Allocator: ask, wait for the outcomes, tell."""
    world = run.course()
    names = [f"arm {arm}" for arm in range(world.arms)]
    allocator = Allocator(
        run.informed_policy(), names[: world.early_arms], seed=run.number, horizon=run.horizon,
        **run.violation.options,
    )  # fmt: skip
    waiting: deque[tuple[int, dict[str, float]]] = deque()
    course = Course(world, np.random.default_rng())  # which draws nothing
    lost = np.zeros(periods)
    for period in range(periods):
        if period + 1 == world.arrival:
            for newcomer in names[world.early_arms :]:
                allocator.add_arm(newcomer)
        split = allocator.ask()
        played = course.play([[split.amounts.get(name, 0.0) for name in names]])
        lost[period] = played.regret[0]
        outcomes = zip(names, played.outcomes[0].tolist())
        waiting.append((split.ticket, {name: value for name, value in outcomes if value == value}))
        if len(waiting) > run.violation.delay:
            allocator.tell(*waiting.popleft())
    return lost


def play_fast(run: Run) -> Floats:
    """The same by the compiled loop, over the whole horizon."""
    world, policy, options = run.course(), run.informed_policy(), run.violation.options
    rules = Rules(
        b=run.assumed_b,
        delay=run.violation.delay,
        decay=0.5 ** (1.0 / options["half_life"]) if "half_life" in options else 1.0,
        window=options.get("window", 0),
        groups=GROUPS if options.get("robust") else 1,
        trim=TRIM,
    )
    lost = np.zeros(run.horizon)
    with np.errstate(all="ignore"):
        compiled(play_run)(
            policy.prepared(world.early_arms, run.horizon), policy.prepared(world.arms, run.horizon),
            world.record(), rules, np.random.Generator(np.random.PCG64(run.number)), lost,
        )  # fmt: skip
    return lost
