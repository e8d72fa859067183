"""Simulated runs that leap from event to event: exact in law, for Gaussian noise, to a horizon of 10^12.

Between two events (an arm is dropped, another arm takes the lead) the shares of these policies are fixed functions
of time, so over any interval each arm's sums move by a Gaussian amount of known mean and variance. A run samples
the end of a long interval and bounds the probability that an event happened inside (`bridges`). Below the tolerance
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
from apportion.errors import InvalidValue
from apportion.model.law import Instance
from apportion.model.noise import Gaussian
from apportion.model.sums import Floats, weights
from apportion.policies.contract import Period, Policy, allocate
from apportion.policies.elimination import SuccessiveElimination
from apportion.policies.full_feedback import FollowTheLeader
from apportion.policies.greedy import EpsilonGreedy
from apportion.policies.oracle import Oracle
from apportion.policies.uniform import Uniform
from apportion.simulation.engines.dense import Record, note_active, write_down
from apportion.simulation.engines.leaping.bridges import event_bound
from apportion.simulation.engines.leaping.walks import (
    WALK,
    absorb,
    draw_ends,
    draw_middles,
    measure,
    reward_move,
    spent,
    walk_power,
)
from apportion.simulation.engines.streams import Streams, restart

TOLERANCE: Final = 1e-9
LONGEST: Final = 10**12
POLICIES: Final = (SuccessiveElimination, EpsilonGreedy, FollowTheLeader, Uniform, Oracle)

# Variances beyond this would leave the range of floats.
_WIDEST = 1e140


class Pieces(NamedTuple):
    """The intervals that were sampled and lie ahead, the nearest last: a stack that is as deep as log2 T.

    For each its last period (it begins where the one above it ends), how far the noise of each arm's walk moves in
    it, and the flow: sums Σ A^p (`walks.measure`) of an arm that does not lead, and of the leader.
    """

    ends: NDArray[np.int64]
    gains: Floats
    flows: Floats


class Tally(NamedTuple):
    """What is counted in each run.

    `changes`: in how many periods from the third on another arm led or fewer were in the race than before (in the
    first nobody leads). `leap_error`: at least the probability, given what was sampled, that one was missed.
    """

    changes: NDArray[np.int64]
    leap_error: Floats


@kernel
def leap(
    policy: Any,
    seen: Any,
    memory: Any,
    means: Any,
    gaps: Any,
    b: float,
    sigma: float,
    horizon: int,
    rng: Any,
    marks: Any,
    record: Any,
    tolerance: float,
    ends: Any,
    gains: Any,
    flows: Any,
    shares: Any,
    proposed: Any,
    after: Any,
) -> Any:
    """Run `horizon` periods as `engine.play` does, event by event; returns the two numbers of its `Tally`.

    An interval is tried that is twice as long as the last that was accepted, and after an event one period. It ends
    before each mark, so that the period of the mark is one of its own, with the shares that are decided for it. What
    was spent is added up at events and marks only, and with it the regret, which has no noise.
    """
    walk = walk_power(seen, b)
    with_reward = len(record.reward) > 0
    lost = earned = error = 0.0
    mark = changes = depth = time = since = 0
    leader = active = decided = -1
    reach = 1
    refused = False
    by = weights(1.0, b)
    while True:
        if decided < time:
            was_leader, was_active = leader, active
            if time < horizon:
                allocate(policy, Period(time + 1, horizon, 1.0), seen, memory, rng, proposed)
                leader, active = shape_of(proposed)
            decided = time
            changed = leader != was_leader or active != was_active
            marked = mark < len(marks) and marks[mark] == time
            if time > since and (changed or marked):
                spent(policy, shares, was_leader, since, time, after)
                for arm in range(len(means)):
                    lost += after[arm] * gaps[arm]
                    earned += after[arm] * means[arm]
                since = time
            if marked:
                write_down(record, mark, lost, earned, shares)
                mark += 1
            if time == horizon:
                break
            for arm in range(len(means)):
                shares[arm] = proposed[arm]
            if shares[leader] != by.amount:
                by = weights(shares[leader], b)
            if changed:
                changes += 1 if time >= 2 else 0
                depth, reach = 0, 1  # what was sampled beyond was sampled for other shares

        fresh = 0
        if depth == 0:
            stop = marks[mark] if mark < len(marks) else horizon
            ends[0] = min(time + reach, stop - 1 if stop - 1 > time else stop)
            depth = fresh = 1
        elif refused:
            ends[depth] = time + (ends[depth - 1] - time) // 2
            depth, fresh, reach = depth + 1, 2, 0
        top = depth - 1
        for piece in range(top, top - fresh, -1):
            first = time if piece == top else ends[piece + 1]
            measure(policy, shares, leader, walk, b, time, first, ends[piece], with_reward, flows, piece)
        if fresh == 1:
            draw_ends(gains, flows, top, shares, leader, rng)
        elif fresh == 2:
            draw_middles(gains, flows, top, shares, leader, rng)

        end = ends[top]
        bound = 0.0
        if end - time > 1:
            bound = event_bound(
                policy, seen, shares, leader, by, means, gains, flows, top, time, end, b, sigma, tolerance, after,
            )  # fmt: skip
        refused = bound > tolerance
        if not refused:
            error += bound
            earned += take_in(
                seen, end - time, shares, leader, by, means, b, sigma, gains, flows, top, with_reward, rng
            )
            if len(record.eliminated) > 0:
                note_active(end, horizon, shares, record.eliminated)
            reach = max(reach, 2 * (end - time))
            time = end
            depth -= 1
    return changes, error


@kernel
def shape_of(shares: Any) -> Any:
    """(the first arm with the largest share, how many arms get at least half of that): what an event changes."""
    leader = active = 0
    for arm in range(len(shares)):
        if shares[arm] > shares[leader]:
            leader = arm
    for arm in range(len(shares)):
        if shares[arm] >= 0.5 * shares[leader]:
            active += 1
    return leader, active


@kernel
def take_in(
    seen: Any, periods: int, shares: Any, leader: int, by: Any, means: Any, b: float, sigma: float, gains: Any,
    flows: Any, top: int, with_reward: bool, rng: Any,
) -> float:  # fmt: skip
    """Add an interval to the sums; returns the noise of its reward where that is wanted."""
    noise = 0.0
    for arm in range(len(shares)):
        if shares[arm] > 0.0:
            if shares[arm] != by.amount:
                by = weights(shares[arm], b)
            group = 1 if arm == leader else 0
            absorb(seen, arm, periods, by, flows[top, group, WALK], means[arm], sigma * gains[top, arm])
            if with_reward:
                noise += sigma * reward_move(flows, top, group, gains[top, arm], rng)
    return noise


@kernel
def leap_block(
    policy: Any,
    seen: Any,
    table: Any,
    first_memory: Any,
    means: Any,
    gaps: Any,
    b: float,
    sigma: float,
    horizon: int,
    rng: Any,
    state: Any,
    seeds: Any,
    marks: Any,
    block: Any,
    tolerance: float,
    pieces: Any,
    tally: Any,
) -> None:
    """`leap` for each row of `seeds`; `seen` are the rows of `table`; `block` and `tally` have a row for each run."""
    arms = len(means)
    shares, proposed, after, memory = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms)
    for run in range(len(seeds)):
        restart(rng, state, seeds[run])
        for row in range(table.shape[0]):
            for arm in range(arms):
                table[row, arm] = 0.0
        for arm in range(arms):
            memory[arm] = first_memory[arm]
        record = Record(
            block.regret[run], block.reward[run], block.shares[run], block.leader[run], block.active[run],
            block.eliminated[run],
        )  # fmt: skip
        tally.changes[run], tally.leap_error[run] = leap(
            policy, seen, memory, means, gaps, b, sigma, horizon, rng, marks, record, tolerance, pieces.ends,
            pieces.gains, pieces.flows, shares, proposed, after,
        )  # fmt: skip


class Leap:
    """Runs one policy on one instance, replication after replication, compiled unless `plain`.

    `tolerance` bounds the probability that an event is missed, per accepted interval.
    """

    def __init__(
        self, policy: Policy, instance: Instance, horizon: int, marks: Any, plain: bool = False,
        tolerance: float = TOLERANCE,
    ) -> None:  # fmt: skip
        if reason := why_not(policy, instance, horizon):
            raise refusal(reason)
        self._policy, self._instance, self._horizon = policy, instance, horizon
        self._tolerance = validation.number("tolerance", tolerance, above=0.0, below=1.0)
        self._marks = np.asarray(marks, dtype=np.int64)
        self._prepared = policy.prepared(instance.arms, horizon)
        self._means, self._gaps = np.array(instance.means), np.array(instance.gaps)
        self._leap = leap_block if plain else compiled(leap_block)

    def run(self, own: Streams, into: Record) -> Tally:
        """One run per stream; what is wanted goes `into` the record."""
        arms, world, runs = self._instance.arms, self._instance, len(own.seeds)
        depth = self._horizon.bit_length() + 2
        table = np.zeros((len(self._policy.reads._fields), arms))
        pieces = Pieces(np.zeros(depth, np.int64), np.zeros((depth, arms)), np.zeros((depth, 2, 3)))
        tally = Tally(np.zeros(runs, np.int64), np.zeros(runs))
        with np.errstate(all="ignore"):
            self._leap(
                self._prepared, self._policy.reads(*table), table, self._policy.initial_memory(arms), self._means,
                self._gaps, world.b, world.sigma, self._horizon, own.generator, own.state, own.seeds, self._marks,
                into, self._tolerance, pieces, tally,
            )  # fmt: skip
        return tally


def why_not(policy: Policy, instance: Instance, horizon: int, common: bool = False) -> str | None:
    """Why leaping cannot simulate this, as the object of "for …"; None where it can."""
    if type(policy) not in POLICIES:  # a subclass may decide by another rule
        names = ", ".join(cls.__name__ for cls in POLICIES)
        return f"{policy.label}, whose shares are not fixed between events as those of {names} are"
    if not isinstance(instance.noise, Gaussian):
        return f"{instance.noise.name} noise, of which only the Gaussian kind adds up to itself"
    if common:
        return "`common` noise, which is drawn period by period"
    if horizon > LONGEST:
        return f"horizons beyond {LONGEST:.0e}"
    if isinstance(policy, EpsilonGreedy):
        exponent = policy.prepared(instance.arms, horizon).exponent
        smallest = exponent * math.log(horizon) + math.log(instance.arms)
        if (2.0 - 2.0 * instance.b) * smallest > math.log(_WIDEST):
            return (
                f"{policy.label} on {instance.label}, where shares get too small for their information to be counted"
            )
    return None


def refusal(reason: str) -> InvalidValue:
    """The error for `engine="leap"` where leaping cannot do it."""
    return validation.refuse("engine", f"'dense' or 'auto' for {reason}", "leap")
