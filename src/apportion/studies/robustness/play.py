"""One run of the study: through the Allocator, or by the compiled loop that does the same."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from apportion._common.compiled import compiled
from apportion.allocation.allocator import Allocator
from apportion.model.sums import Floats
from apportion.model.trimmed_mean import GROUPS, TRIM
from apportion.policies import Policy, find_policy
from apportion.studies.robustness.kernel import Course, Rules, play_run
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

    def course(self) -> Course:
        """Drawn from (seed, number) alone: every policy and every remedy meets the same means and the same noise."""
        arms, horizon, start = self.world.arms, self.horizon, [self.seed, self.number]
        means = means_over_time(self.world, self.violation, horizon, np.random.default_rng(start))
        noise = noise_over_time(self.violation, horizon, arms, np.random.default_rng([*start, 1]))
        if self.violation.late:
            return Course(means, noise, arms - LATE_ARMS, horizon // LATE_FRACTION + 1)
        return Course(means, noise, arms, 1)

    def informed_policy(self) -> Policy:
        """The policy with the b and σ that it assumes: b stays within [0, 1]."""
        b = min(1.0, max(0.0, self.world.b + self.violation.b_shift))
        assumed = {"b": b, "sigma": self.violation.sigma_factor, **PARAMETERS.get(self.policy, {})}
        return find_policy(self.policy)(**assumed)


def play(run: Run, periods: int) -> Floats:
    """The regret of each of the first `periods`, through the Allocator: ask, wait for the outcomes, tell."""
    world, course = run.world, run.course()
    names = [f"arm {arm}" for arm in range(world.arms)]
    allocator = Allocator(
        run.informed_policy(), names[: course.early_arms], seed=run.number, horizon=run.horizon,
        **run.violation.options,
    )  # fmt: skip
    waiting: deque[tuple[int, dict[str, float]]] = deque()
    lost = np.zeros(periods)
    for period in range(periods):
        if period + 1 == course.arrival:
            for newcomer in names[course.early_arms :]:
                allocator.add_arm(newcomer)
        split = allocator.ask()
        present = allocator.arms
        shares = np.array([split.amounts[arm] for arm in present])
        means, noise = course.means[period, : len(present)], course.noise[period, : len(present)]
        outcomes = {
            arm: float(share * mean + share**world.b * error)
            for arm, share, mean, error in zip(present, shares.tolist(), means, noise)
            if share > 0.0
        }
        lost[period] = means.max() - shares @ means
        waiting.append((split.ticket, outcomes))
        if len(waiting) > run.violation.delay:
            allocator.tell(*waiting.popleft())
    return lost


def play_fast(run: Run) -> Floats:
    """The same by the compiled loop, over the whole horizon."""
    course, policy, options = run.course(), run.informed_policy(), run.violation.options
    rules = Rules(
        b=run.world.b,
        assumed_b=policy.b,  # type: ignore[attr-defined]
        delay=run.violation.delay,
        decay=0.5 ** (1.0 / options["half_life"]) if "half_life" in options else 1.0,
        window=options.get("window", 0),
        groups=GROUPS if options.get("robust") else 1,
        trim=TRIM,
    )
    lost = np.zeros(run.horizon)
    with np.errstate(all="ignore"):
        compiled(play_run)(
            policy.prepared(course.early_arms, run.horizon), policy.prepared(run.world.arms, run.horizon), course,
            rules, np.random.Generator(np.random.PCG64(run.number)), lost,
        )  # fmt: skip
    return lost
