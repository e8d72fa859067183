"""How likely it is that an event happened inside of an interval, given its two ends: crossings of Brownian bridges.

Given its ends, a Gaussian random walk is a Brownian bridge observed at the whole periods, in the time of its
variance. A bridge of variance v crosses a straight line at distances d1 > 0 and d2 > 0 from its ends with probability
exp(−2·d1·d2/v); it crosses whatever lies beyond that line, or is observed on a grid only, no more often. Every
bound here is a union of such crossings, and is 1 where an end is already beyond.
"""

from __future__ import annotations

import math
from typing import Any

from apportion._common.compiled import generic, implements, kernel
from apportion.policies import EpsilonGreedy, FollowTheLeader, Oracle, SuccessiveElimination, Uniform
from apportion.policies.elimination import ANYTIME, CONE, CYCLES, elimination_radius
from apportion.simulation.engines.leaping.increments import LEADER, OTHERS, WALK_VARIANCE

# e to this power is lost beside any tolerance.
_NEGLIGIBLE_EXPONENT = -60.0


@generic
def event_bound(  # type: ignore[empty-body]
    policy: Any, sums: Any, instance: Any, interval: Any, tolerance: float, work: Any
) -> float:
    """A bound on P(the policy would decide otherwise after one of the periods first < s ≤ last | both ends).

    `sums` are those after period `first`, `work.shares` those of period first + 1, in which the interval's leader has
    the most. `work.increments` and `work.power_sums` say how far the noise of each arm's walk, in units of σ, moves
    over the interval, and with what variance; `work.scratch` is room for a number per arm. A bound above `tolerance`
    may be cut short: the interval is refused in any case.
    """


@kernel
def _nothing_happens(policy: Any, sums: Any, instance: Any, interval: Any, tolerance: float, work: Any) -> float:
    return 0.0


for _record in (Uniform.Record, Oracle.Record):
    implements(event_bound, _record)(_nothing_happens)


# ---- Algorithm 1: an arm is dropped -----------------------------------------------------------------------


@implements(event_bound, SuccessiveElimination.Record)
def _elimination_bound(policy: Any, sums: Any, instance: Any, interval: Any, tolerance: float, work: Any) -> float:
    """Active arms share one history, so arm i is dropped for j when X_j − X_i > c·r·S, with X = ΣY, S = ΣA (or the
    score Z and the information B for `anytime`), and c = 2, or √2 where the test is pairwise.

    While shares are constant, ΣA^(2b) and B are linear in time, and that boundary is concave: it is √(u·v) with u
    and v positive and concave (log t or h(t), and ΣA^(2b); or B + ρ and log(1 + B/ρ) + 2·log(1/δ)). So it lies above
    its chord. A quantile from a table (`cone`, `cycles`) is a step function that only rises: its value after the
    first period, held for the whole interval, makes a lower boundary that is concave again.

    All pairs are within `nearest`, the arm that is closest to being dropped for an imagined arm which is the
    highest at both ends: often one exponential decides. Else the arms far from it are still dealt with one at a time.
    """
    means, shares, after = instance.means, work.shares, work.scratch
    row, leader, powers, periods = interval.row, interval.leader, interval.powers, interval.last - interval.first
    arms = len(means)
    by_score = policy.radius == ANYTIME
    drift = periods * (powers.information if by_score else powers.amount)
    scale = instance.sigma * (powers.score * powers.deviation if by_score else powers.deviation)
    boundary_before = boundary_after = 0.0
    for end in range(2):
        more = periods * end
        response = sums.response[leader] + more * powers.response
        noise = sums.noise[leader] + more * powers.noise
        information = sums.information[leader] + more * powers.information
        tabulated = policy.radius == CONE or policy.radius == CYCLES
        count = float(interval.first + 1 if tabulated else interval.first + more)
        radius = policy.sigma[leader] * elimination_radius(
            policy, 1.0, count, response * (response / noise), information, arms
        )
        boundary_before = boundary_after
        factor = math.sqrt(2.0) if policy.pairwise else 2.0
        boundary_after = factor * radius * (information if by_score else response)
    before = sums.score if by_score else sums.reward
    highest_before = highest_after = -math.inf
    active = 0
    for arm in range(arms):
        if shares[arm] > 0.0:
            active += 1
            after[arm] = before[arm] + drift * means[arm] + scale * work.increments[row, arm]
            highest_before, highest_after = max(highest_before, before[arm]), max(highest_after, after[arm])
    if active < 2 or math.isinf(boundary_before):
        return 0.0
    variance = scale * scale * periods  # of each arm; a difference has twice as much
    nearest = math.inf
    for arm in range(arms):
        if shares[arm] > 0.0:
            left = boundary_before - (highest_before - before[arm])
            right = boundary_after - (highest_after - after[arm])
            if left <= 0.0 or right <= 0.0:
                return 1.0
            nearest = min(nearest, left * right)
    pairs = active * (active - 1.0)
    total = pairs * math.exp(-nearest / variance)
    if total <= tolerance:
        return total
    total = 0.0
    for arm in range(arms):
        if shares[arm] > 0.0 and total <= tolerance:
            left = boundary_before - (highest_before - before[arm])
            right = boundary_after - (highest_after - after[arm])
            all_pairs = (active - 1.0) * math.exp(-left * right / variance)
            if all_pairs * active > 0.5 * tolerance:
                all_pairs = 0.0
                for other in range(arms):
                    if shares[other] > 0.0 and other != arm:
                        left = boundary_before - (before[other] - before[arm])
                        right = boundary_after - (after[other] - after[arm])
                        all_pairs += math.exp(-left * right / variance)
            total += all_pairs
    return total


# ---- Algorithm 2: another arm takes the lead ---------------------------------------------------------------


@implements(event_bound, EpsilonGreedy.Record)
def _overtaken_by_ratios(policy: Any, sums: Any, instance: Any, interval: Any, tolerance: float, work: Any) -> float:
    """Arm j takes the lead when D = Q_leader − Q_j is below 0 (all counts are alike).

    D has the drift Δ = μ_leader − μ_j a period and moves by the variance of both walks. Conditional on its ends it is
    the chord in the time of its variance, plus Δ·(x − n·u(x)), plus a bridge; x of n periods are u(x) of the
    variance. Shares of others fall, so variance speeds up (from period 2 on, for all K, b and α > 1: what the
    leader's ratio gains in precision is less than what the other's loses), u is convex and x − n·u ≥ 0. A leader
    that is better only gains by it, and the bound holds with the distances as they are. For one that is worse, both
    distances are shortened by the sag, the largest |Δ|·(x − n·u).
    """
    means, shares, increments = instance.means, work.shares, work.increments
    row, leader, b, sigma = interval.row, interval.leader, instance.b, instance.sigma
    first, last = interval.first, interval.last
    periods = last - first
    variance = work.power_sums[row, OTHERS, WALK_VARIANCE] + work.power_sums[row, LEADER, WALK_VARIANCE]
    precision = -2.0 / (sigma * sigma * variance)
    sag = -1.0
    total = 0.0
    for arm in range(len(means)):
        if arm != leader and total <= tolerance:
            drift = means[leader] - means[arm]
            left = sums.ratio[leader] - sums.ratio[arm]
            right = left + periods * drift + sigma * (increments[row, leader] - increments[row, arm])
            if left <= 0.0 or right <= 0.0:
                return 1.0
            if drift < 0.0:
                if sag < 0.0:
                    # From the first step to the last, the variance of the leader's ratio falls, and that of another
                    # arm's rises by (last / (first + 1))^(α(2 − 2b)), or less where shares are at their smallest.
                    power = 2.0 * b - 2.0
                    slowest = shares[arm] ** power
                    fastest = slowest * (last / (first + 1.0)) ** (-policy.exponent * power)
                    scale = periods / variance
                    leading = interval.powers.ratio_noise
                    sag = largest_sag(periods, (slowest + leading) * scale, (fastest + leading) * scale)
                left += drift * sag
                right += drift * sag
                if left <= 0.0 or right <= 0.0:
                    return 1.0
            exponent = left * right * precision
            if exponent > _NEGLIGIBLE_EXPONENT:
                total += math.exp(exponent)
    return total


@kernel
def largest_sag(periods: float, slowest: float, fastest: float) -> float:
    """At least max_x (x − n·u(x)) for every convex u from u(0) = 0 to u(n) = 1, n = `periods`.

    `slowest` ≤ 1 ≤ `fastest` are n times the first and the last step of u. As u(x) ≥ slowest·x/n and
    u(x) ≥ 1 − fastest·(n − x)/n, the difference is at most min(p·x, q·(n − x)) with p = 1 − slowest and
    q = fastest − 1, whose largest value is n·p·q/(p + q).

    >>> largest_sag(10.0, 0.5, 1.5)
    2.5
    """
    p, q = max(1.0 - slowest, 0.0), max(fastest - 1.0, 0.0)
    return periods * p * q / (p + q) if p > 0.0 and q > 0.0 else 0.0


@kernel
def _overtaken_by_information(
    policy: Any, sums: Any, instance: Any, interval: Any, tolerance: float, work: Any
) -> float:
    """Arm j takes the lead when its Z_j/B_j is above the leader's: one of the two has to pass any level θ_j between.

    Z − θ·B is a walk with variance σ²·B and a drift that is linear in B, the time of its variance, whatever the
    shares: there is no sag. With m = Z/B at the ends, arm j rises above θ_j with probability at most
    exp(−2·κ_j·(θ_j − m)(θ_j − m')/σ²), κ = B·B'/(B' − B); and the leader falls below some θ_j when it falls below the
    highest. Each θ_j divides the distance between the nearest ends of the two so that both are as unlikely.
    """
    means, increments, sigma = instance.means, work.increments, instance.sigma
    row, leader = interval.row, interval.leader
    more, leader_more = work.power_sums[row, OTHERS, WALK_VARIANCE], work.power_sums[row, LEADER, WALK_VARIANCE]
    leader_before = sums.information[leader]
    leader_after = leader_before + leader_more
    high = sums.score[leader] / leader_before
    high_after = (sums.score[leader] + leader_more * means[leader] + sigma * increments[row, leader]) / leader_after
    lowest = min(high, high_after)
    leader_kappa = leader_before * (leader_after / leader_more)
    leader_root = math.sqrt(leader_kappa)
    precision = 2.0 / (sigma * sigma)
    highest_level = -math.inf
    total = 0.0
    for arm in range(len(means)):
        if arm != leader and total <= tolerance:
            information = sums.information[arm]
            information_after = information + more
            low = sums.score[arm] / information
            low_after = (sums.score[arm] + more * means[arm] + sigma * increments[row, arm]) / information_after
            highest = max(low, low_after)
            if highest >= lowest:
                return 1.0
            kappa = information * (information_after / more)
            level = highest + (lowest - highest) * (leader_root / (leader_root + math.sqrt(kappa)))
            total += math.exp(-precision * kappa * (level - low) * (level - low_after))
            highest_level = max(highest_level, level)
    return total + math.exp(-precision * leader_kappa * (high - highest_level) * (high_after - highest_level))


for _record in (EpsilonGreedy.ByInformation, FollowTheLeader.Record):
    implements(event_bound, _record)(_overtaken_by_information)
