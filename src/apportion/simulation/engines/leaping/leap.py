"""Simulated runs that leap from event to event: exact in law, for Gaussian noise, to a horizon of 10^12.

Between two events (an arm is dropped, another arm takes the lead) the shares of these policies are fixed functions
of time, so over any interval each arm's sums move by a Gaussian amount of known mean and variance. A run samples
the end of a long interval and bounds the probability that an event happened inside (`crossings`). Below the tolerance
the interval is accepted whole; else its middle is sampled from the bridge between the ends, and the halves are
looked at in turn, down to single periods. Every accepted interval ends in the decision of the policy itself: there
is no second copy of any rule. Where it changes something, the samples beyond are dropped, and the run goes on from
there; increments are independent, so nothing is lost.

The law is that of the dense engine but for events missed inside of accepted intervals: the probability that a run
misses any is at most the sum of its accepted bounds, which is reported.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion._common import validation
from apportion._common.compiled import compiled, kernel
from apportion.model.law import Instance
from apportion.model.noise import Gaussian
from apportion.model.sums import Floats, powers_of
from apportion.model.world import World
from apportion.policies import EpsilonGreedy, FollowTheLeader, Oracle, SuccessiveElimination, Uniform
from apportion.policies.contract import Period, Policy, allocate
from apportion.simulation.engines.leaping.crossings import event_bound
from apportion.simulation.engines.leaping.increments import (
    Interval,
    add_interval,
    amounts_spent,
    bisect_increments,
    fill_power_sums,
    make_workspace,
    sample_increments,
    walk_exponent,
)
from apportion.simulation.engines.records import (
    ACTIVE_FRACTION,
    Trace,
    make_schedule,
    note_active,
    policy_state,
    reset,
    trace_of,
    write_checkpoint,
)
from apportion.simulation.engines.streams import Streams, restart

TOLERANCE: Final = 1e-9
LONGEST_HORIZON: Final = 10**12
POLICIES: Final = (SuccessiveElimination, EpsilonGreedy, FollowTheLeader, Uniform, Oracle)

# Variances beyond this would leave the range of floats.
_LARGEST_VARIANCE = 1e140


class SteadyLaw(NamedTuple):
    """The paper's law as leaping needs it: means μ_i, gaps Δ_i, one b, one σ."""

    means: Floats
    gaps: Floats
    b: float
    sigma: float


def steady_law(instance: Any) -> SteadyLaw:
    """The record of an `Instance` that `why_not` has nothing against."""
    return SteadyLaw(np.array(instance.means), np.array(instance.gaps), instance.b, instance.sigmas[0])


def why_not(policy: Policy, instance: World, horizon: int, common: bool = False) -> str | None:
    """Why leaping cannot simulate this, as the object of "for …"; None where it can."""
    if type(instance) is not Instance:
        return f"{instance.label}, which is not the law of `Instance`"
    if instance.c < 1.0 or len(set(instance.sigmas)) > 1:
        return f"{instance.label}: it knows the paper's law only, c = 1 and one σ"
    if isinstance(levels := getattr(policy, "sigma", None), tuple) and len(set(levels)) > 1:
        return f"{policy.label}: its arms must share one σ"
    if type(policy) not in POLICIES:  # a subclass may decide by another rule
        names = ", ".join(cls.__name__ for cls in POLICIES)
        return f"{policy.label}, whose shares are not fixed between events as those of {names} are"
    if not isinstance(instance.noise, Gaussian):
        return f"{instance.noise.name} noise, of which only the Gaussian kind adds up to itself"
    if common:
        return "`common` noise, which is drawn period by period"
    if horizon > LONGEST_HORIZON:
        return f"horizons beyond {LONGEST_HORIZON:.0e}"
    if isinstance(policy, EpsilonGreedy):
        exponent = policy.prepared(instance.arms, horizon).exponent
        smallest = exponent * math.log(horizon) + math.log(instance.arms)
        if (2.0 - 2.0 * instance.b) * smallest > math.log(_LARGEST_VARIANCE):
            where = f"{policy.label} on {instance.label}"
            return f"{where}, where shares get too small for their information to be counted"
    if getattr(policy, "b", instance.b) != instance.b:
        return f"{policy.label} on {instance.label}, whose sums would be taken at another b than the law's"
    return None


def require_leaping(policy: Policy, instance: World, horizon: int, common: bool = False) -> None:
    """Refuse what leaping cannot simulate."""
    if reason := why_not(policy, instance, horizon, common):
        raise validation.refuse("engine", f"'dense' or 'auto' for {reason}", "leap")


class Tally(NamedTuple):
    """What is counted in each run.

    `changes`: in how many periods from the third on another arm led or fewer were in the race than before (in the
    first nobody leads). `leap_error`: at least the probability, given what was sampled, that one was missed.
    """

    changes: NDArray[np.int64]
    leap_error: Floats


@kernel
def leap(policy: Any, sums: Any, instance: Any, schedule: Any, rng: Any, work: Any, trace: Any) -> Any:
    """Run the periods of `schedule` as `dense.play` does, event by event; returns the two numbers of its `Tally`.

    An interval is tried that is twice as long as the last that was accepted, and after an event one period. It ends
    before each checkpoint, so that the period of the checkpoint is one of its own, with the shares that are decided
    for it. What was spent is added up at events and checkpoints only, and with it the regret, which has no noise.
    """
    means, gaps, b = instance.means, instance.gaps, instance.b
    horizon, checkpoints, tolerance = schedule.horizon, schedule.checkpoints, schedule.tolerance
    ends, shares, spent = work.ends, work.shares, work.scratch
    exponent = walk_exponent(sums, b)
    with_reward = len(trace.reward) > 0
    regret = reward = error = 0.0
    checkpoint = changes = depth = time = since = 0
    leader = active = decided = -1
    reach = 1
    refused = False
    powers = powers_of(1.0, b)
    while True:
        if decided < time:
            previous_leader, previous_active = leader, active
            if time < horizon:
                allocate(policy, Period(time + 1, horizon, 1.0), sums, work.memory, rng, work.proposed)
                leader, active = leader_and_active(work.proposed)
            decided = time
            changed = leader != previous_leader or active != previous_active
            at_checkpoint = checkpoint < len(checkpoints) and checkpoints[checkpoint] == time
            if time > since and (changed or at_checkpoint):
                amounts_spent(policy, shares, previous_leader, since, time, spent)
                for arm in range(len(means)):
                    regret += spent[arm] * gaps[arm]
                    reward += spent[arm] * means[arm]
                since = time
            if at_checkpoint:
                write_checkpoint(trace, checkpoint, regret, reward, shares)
                checkpoint += 1
            if time == horizon:
                break
            for arm in range(len(means)):
                shares[arm] = work.proposed[arm]
            if shares[leader] != powers.amount:
                powers = powers_of(shares[leader], b)
            if changed:
                changes += 1 if time >= 2 else 0
                depth, reach = 0, 1  # what was sampled beyond was sampled for other shares

        fresh = 0
        if depth == 0:
            stop = checkpoints[checkpoint] if checkpoint < len(checkpoints) else horizon
            ends[0] = min(time + reach, stop - 1 if stop - 1 > time else stop)
            depth = fresh = 1
        elif refused:
            ends[depth] = time + (ends[depth - 1] - time) // 2
            depth, fresh, reach = depth + 1, 2, 0
        top = depth - 1
        for row in range(top, top - fresh, -1):
            first = time if row == top else ends[row + 1]
            part = Interval(row, first, ends[row], leader, powers)
            fill_power_sums(policy, part, time, exponent, b, with_reward, work)
        interval = Interval(top, time, ends[top], leader, powers)
        if fresh == 1:
            sample_increments(interval, rng, work)
        elif fresh == 2:
            bisect_increments(interval, rng, work)

        periods = interval.last - time
        bound = 0.0
        if periods > 1:
            bound = event_bound(policy, sums, instance, interval, tolerance, work)
        refused = bound > tolerance
        if not refused:
            error += bound
            reward += add_interval(sums, interval, instance, with_reward, rng, work)
            if len(trace.eliminated) > 0:
                note_active(interval.last, horizon, shares, trace.eliminated)
            reach = max(reach, 2 * periods)
            time = interval.last
            depth -= 1
    return changes, error


@kernel
def leader_and_active(shares: Any) -> Any:
    """(the first arm with the largest share, how many arms are active): what an event changes."""
    leader = active = 0
    for arm in range(len(shares)):
        if shares[arm] > shares[leader]:
            leader = arm
    for arm in range(len(shares)):
        if shares[arm] >= ACTIVE_FRACTION * shares[leader]:
            active += 1
    return leader, active


@kernel
def leap_block(
    policy: Any, state: Any, instance: Any, schedule: Any, streams: Any, work: Any, traces: Any, tally: Any
) -> None:
    """`leap` for each stream; `traces` and `tally` have a row for each run."""
    for run in range(len(streams.seeds)):
        restart(streams.generator, streams.state, streams.seeds[run])
        reset(state, work.memory)
        tally.changes[run], tally.leap_error[run] = leap(
            policy, state.sums, instance, schedule, streams.generator, work, trace_of(traces, run)
        )


class Leap:
    """Runs one policy on one instance, replication after replication, compiled unless `plain`.

    `tolerance` bounds the probability that an event is missed, per accepted interval.
    """

    def __init__(
        self,
        policy: Policy,
        instance: World,
        horizon: int,
        checkpoints: Any,
        plain: bool = False,
        tolerance: float = TOLERANCE,
    ) -> None:
        require_leaping(policy, instance, horizon)
        tolerance = validation.number("tolerance", tolerance, above=0.0, below=1.0)
        self._policy, self._arms = policy, instance.arms
        self._schedule = make_schedule(horizon, checkpoints, tolerance)
        self._prepared = policy.prepared(instance.arms, horizon)
        self._instance = steady_law(instance)
        self._leap = leap_block if plain else compiled(leap_block)

    def run(self, own: Streams, traces: Trace) -> Tally:
        """One run per stream, written into `traces`."""
        runs = len(own.seeds)
        state, work = policy_state(self._policy, self._arms), make_workspace(self._schedule.horizon, self._arms)
        tally = Tally(np.zeros(runs, np.int64), np.zeros(runs))
        with np.errstate(all="ignore"):
            self._leap(self._prepared, state, self._instance, self._schedule, own, work, traces, tally)
        return tally
