"""A policy to leave alone: it learns the law and how the world moves, and decides as `Recommended` would."""

import math
from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel, large_kernel
from apportion.inference.knowledge import knowledge
from apportion.inference.learner import RECENT_PERIODS, Learning, expect
from apportion.inference.learning import CURVED, NOISE_EXPONENTS, PROPORTIONAL, RETURN_EXPONENTS, B, C
from apportion.inference.movement import STEP, STILL
from apportion.model.sums import Floats, Grid
from apportion.policies.contract import Policy
from apportion.policies.draws import FLOOR_EXPONENT, antithetic_normals, write_shares
from apportion.policies.parameters import (
    HORIZON,
    NOISE_EXPONENT,
    NOISE_LEVEL,
    RETURN_EXPONENT,
    Flag,
    parameter,
)
from apportion.policies.recommended import (
    BentRule,
    Rule,
    bent_weights,
    divide_by_odds,
    excess_power,
    fresh_part,
    optimistic_arm,
    shrinkage,
)
from apportion.policies.shared import open_shares, power_floor, recommended_tilt
from apportion.theory.floors import recommended_floor

# While it pools, every other arm gets the trace t^(−3/2)/K: in all at most ζ(3/2) = 2.6 times the mean gap, and
# amounts so far apart that b is soon known and stays known.
TRACE_EXPONENT = 1.5
# Between these values of c − b it goes over from dividing to pooling.
_DIVIDES_UP_TO, _POOLS_FROM = 0.5, 0.6
# The dividing rule has its exponents for b above 1/2; at 1/2 itself it would have no floor.
_LEAST_DIVIDING_B = 0.5 + 1e-9
# In a world that stands still a split is kept, after the first periods, from one period to the next but for so many
# times in every e-fold of time: what is known has hardly changed. Whether it still stands still is looked up after so
# many periods, and later so many times in every e-fold.
_ALWAYS_ANEW, _SPLITS_PER_EFOLD = 50, 30.0
_STILL_ENOUGH, _LOOKED_UP, _LOOKS_PER_EFOLD = 0.9, 8, 40.0
# While c is in doubt this part of the budget is divided evenly where it would be pooled, and all of it in this part
# of that part of the periods: small amounts tell a bent law, and even ones a cap. It is in doubt while P(c = 1) is
# not above the first of the two below, less so up to the second, and never quite sure; after so many periods the part
# shrinks as 1/t: what has not shown itself by then will take long.
_DIVIDED_IN_DOUBT, _WHOLLY_EVEN, _LEAST_DOUBT, _PERIODS_IN_DOUBT = 0.15, 0.3, 0.2, 40.0
_DOUBT_UP_TO, _SURE_FROM = 0.5, 0.8
# From this b on the shares that rivals get anyway tell enough.
_ALL_TELLS_FROM = 0.75
# Where it divides because returns diminish, and P(c = 1) is at least the one, amounts vary by the other part.
_VARY_FROM, _VARIED_IN_DOUBT, _PERIODS_VARIED = 0.05, 0.35, 30.0
# Where returns diminish, so many periods in every e-fold of time go this far towards the even split: without amounts
# that differ, arms that have reached a cap look like any others.
_PROBES, _PROBED, _FIRST_PROBE = 3.0, 0.6, 5
# Where arms have curves of their own, amounts vary by this part, by so many times as much in one of so many periods,
# and c is at most the last.
_VARIED_ON_CURVES, _VARIED_MORE, _EVERY, _LARGEST_CURVED_C = 0.08, 3.0, 7, 0.9
# In one of so many periods the split is that of the law, or what speaks against it would be forgotten.
_LAW_AGAIN = 20
# An arm that moves less than this in a period does not move.
_LEAST_STEP = 1e-3


class Auto(Policy):
    """Learns c, b, every σ_i and how the means move, and makes the split that is best for what it knows.

    - Period 1 is an even split. What is learned, and from what, is in `apportion.inference.learner`: c and b have a
      posterior with half of it on c = 1, so returns count as proportional until the outcomes reject it; the noise of
      the arms is pooled partly; a bank of filters finds out whether the means stand still, move together (a season)
      or each alone (drift, jumps).
    - From that it has means and variances of every arm, and divides or pools as `Recommended` would with them: by
      the odds where returns are proportional, else by the mean of the best splits for draws from what it believes.
      Between c − b = 0.5 and 0.6 it goes from dividing to pooling, so no split jumps.
    - Where arms may have shapes of their own (caps, saturation), the split goes over to the one that is best for what
      is expected of each amount, over the law and these shapes (`apportion.inference.response_curves`).
    - While c is in doubt a part of the budget, and some periods, are divided evenly where small shares tell little,
      and amounts vary a little where returns diminish: c is found out, or the part fades as 1/t.
    - Where it pools, every other arm gets the trace t^(−3/2)/K: amounts so far apart tell what the noise of small
      ones is. All traces together cost at most 2.6 times the mean gap.
    - `b`, `c` or `sigma` may be given: they are then not learned. `moving=False` says that the means stand still.

    What is known: nothing is proven beyond `Recommended`; docs/explanation/auto.md has what was measured. Where it
    fails: with caps and much noise, shapes are told from a common c after hundreds of periods only; jumps in means
    are noticed after some periods, not at once; with heavy tails c and b are found less surely than it says.

    >>> Auto()
    Auto()
    >>> Auto(b=0.75)
    Auto(b=0.75)
    """

    b: float | None = parameter(NOISE_EXPONENT, default=None)
    sigma: float | tuple[float, ...] | None = parameter(NOISE_LEVEL, default=None)
    c: float | None = parameter(RETURN_EXPONENT, default=None)
    moving: bool = parameter(Flag(), default=True)
    horizon: int | None = parameter(HORIZON, default=None)

    rule = "spreads the budget to keep learning, and gives more to what returns more"

    class Record(NamedTuple):
        """The σ_i are 0 where they are to be learned; the horizon is 0 where it is unknown."""

        given: Floats
        horizon: int
        normals: Floats

    @property
    def reads(self) -> Any:
        """What is learned from the outcomes, with the exponents that are given or those of a grid."""
        c = RETURN_EXPONENTS if self.c is None else (self.c,)
        b = NOISE_EXPONENTS if self.b is None else (self.b,)
        sigma = self.sigma if isinstance(self.sigma, tuple) else () if self.sigma is None else (self.sigma,)
        return Learning(Grid(c, b), self.moving, sigma)

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """What compiled code reads."""
        given = np.zeros(arms) if self.sigma is None else self.each_arm("sigma", arms)
        return self.Record(given, self.horizon or horizon or 0, antithetic_normals(arms))

    @property
    def randomised(self) -> bool:
        """Where returns diminish and a whole unit tells more than its parts."""
        return True

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Learn, then pool or divide; or make the split of the last period again."""
        if not looks_up(period.number) and keeps(period.number, memory):
            expect(sums, period.number)
            for arm in range(len(shares)):
                shares[arm] = memory[arm]
        else:
            split_by_knowledge(self, period, sums, memory, rng, shares)


@large_kernel
def split_by_knowledge(policy: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
    """`Auto.allocate`. Compiled once, whatever the world that it is played in."""
    known = knowledge(sums, period.number, policy.given)
    still = known.motion[STILL] >= _STILL_ENOUGH
    if still and keeps(period.number, memory):
        shares[:] = memory
        return
    memory[:] = 0.0
    c, step, curved = known.law[C], known.motion[STEP], known.law[CURVED]
    arms = len(shares)
    information = np.zeros(arms)
    for arm in range(arms):
        if not math.isnan(known.means[arm]):
            information[arm] = 1.0 / max(known.contrasts[arm], 1e-300)
    left = open_shares(information, shares)
    if left <= 0.0:
        return
    # What is older than the memory is as if it had never been.
    number = max(1, int(period.number / (1.0 + step * period.number)))
    horizon = policy.horizon if step < _LEAST_STEP else 0
    plan = Plan(period.number, number, horizon, period.unit, left)
    settled = True
    if c >= 1.0:
        settled = straight_split(plan, known, information, rng, shares)
    if c < 1.0 or curved > 0.0:
        bent = np.zeros(arms)
        bent_split(plan, known, information, policy.normals, rng, bent)
        part = 1.0 if c < 1.0 else curved
        for arm in range(arms):
            if information[arm] > 0.0:
                shares[arm] += part * (bent[arm] - shares[arm])
        settled = curved == 0.0
    if still and settled:
        memory[:] = shares
    if curved == 0.0 and c < 1.0 and probes(period.number):
        even = left / np.count_nonzero(information)
        for arm in range(arms):
            if information[arm] > 0.0:
                shares[arm] += _PROBED * (even - shares[arm])


class Plan(NamedTuple):
    """What a split is for: the period, the periods that count, the horizon, the unit, and what is left to give."""

    period: int
    number: int
    horizon: int
    unit: float
    left: float


@large_kernel
def bent_split(plan: Any, known: Any, information: Any, normals: Any, rng: Any, shares: Any) -> None:
    """Write the split where returns diminish, or where arms have shapes of their own."""
    c, b, curved = known.law[C], known.law[B], known.law[CURVED]
    if curved > 0.0:
        c = min(c, _LARGEST_CURVED_C)
    # With returns in proportion how far it is believed is how far the split goes; it is aimed at as it is.
    part = (1.0 if known.law[C] >= 1.0 else curved) if plan.period % _LAW_AGAIN > 0 else 0.0
    means = aimed_at(known.means, known.aim, c, part if curved > 0.0 else 0.0)
    score = np.zeros(len(shares))
    for arm in range(len(shares)):
        if information[arm] > 0.0:
            score[arm] = means[arm] * information[arm]
    rule = BentRule(
        plan.horizon, c, np.ones(len(shares)), normals, excess_power(c), fresh_part(b, c), shrinkage(b, c)
    )  # fmt: skip
    observed = np.nonzero(information)[0]
    weights = bent_weights(rule, plan.number, observed, information, score, rng)
    vary(weights, known.law[PROPORTIONAL], curved, plan.period)
    floor = power_floor(plan.number, FLOOR_EXPONENT, len(shares))
    write_shares(observed, weights, floor, information, plan.left, shares)


@large_kernel
def straight_split(plan: Any, known: Any, information: Any, rng: Any, shares: Any) -> bool:
    """Write the split where returns are in proportion; whether it is worth keeping if the world stands still."""
    arms, b = len(shares), known.law[B]
    score = np.zeros(arms)
    for arm in range(arms):
        if information[arm] > 0.0:
            score[arm] = known.means[arm] * information[arm]
    dividing_b = max(b, _LEAST_DIVIDING_B)
    tilt, floor = recommended_tilt(dividing_b), recommended_floor(dividing_b)
    rule = Rule(plan.number, plan.horizon, 1.0, np.ones(arms), tilt, floor)
    pooled = min(max((1.0 - b - _DIVIDES_UP_TO) / (_POOLS_FROM - _DIVIDES_UP_TO), 0.0), 1.0)
    doubt = divided_in_doubt(known.law[PROPORTIONAL], b, plan.period)
    even = plan.left / np.count_nonzero(information)
    if pooled < 1.0:
        divide_by_odds(rule, information, score, plan.left, rng, shares)
        for arm in range(arms):
            if information[arm] > 0.0:
                shares[arm] += doubt * (even - shares[arm])
    if pooled == 0.0:
        return True
    still = known.motion[STILL] >= _STILL_ENOUGH
    once = max(1.0, plan.period / _SPLITS_PER_EFOLD) if still else 1.0  # for so many periods
    if doubt > 0.0 and rng.random() < _WHOLLY_EVEN * pooled * doubt * once:
        for arm in range(arms):
            shares[arm] = even if information[arm] > 0.0 else shares[arm]
        return False
    # A period of the whole budget on one arm counts 1.
    count = np.zeros(arms)
    for arm in range(arms):
        count[arm] = (known.sigma[arm] * plan.unit ** (b - 1.0)) ** 2 * information[arm]
    chosen = optimistic_arm(rule, count, information, score, rng)
    trace = plan.left * power_floor(plan.period, TRACE_EXPONENT, arms)
    others = 0.0
    for arm in range(arms):
        if information[arm] > 0.0 and arm != chosen:
            shares[arm] = max((1.0 - pooled) * shares[arm] + pooled * doubt * even, trace)
            others += shares[arm]
    shares[chosen] = max(plan.left - others, 0.0)
    # What is tried is tried for one period; what was mostly chosen goes on for a part of the time so far.
    return bool(count[chosen] == count.max())


@kernel
def divided_in_doubt(proportional: float, b: float, number: int) -> float:
    """The part of the budget that is divided evenly to find out whether returns diminish."""
    if proportional >= 1.0:  # as given
        return 0.0
    sure = min(max((proportional - _DOUBT_UP_TO) / (_SURE_FROM - _DOUBT_UP_TO), 0.0), 1.0)
    hidden = min(max((_ALL_TELLS_FROM - b) / (_ALL_TELLS_FROM - 0.5), 0.0), 1.0)
    return _DIVIDED_IN_DOUBT * hidden * max(1.0 - sure, _LEAST_DOUBT) * min(1.0, _PERIODS_IN_DOUBT / number)


@kernel
def probes(number: int) -> bool:
    """Whether this period looks at amounts nearer to the even split; in every e-fold of time there are three."""
    return number > _FIRST_PROBE and recurs(number, _PROBES)


@kernel
def looks_up(number: int) -> bool:
    """Whether it is looked up in this period whether the world still stands still.

    At least as often as the rows of the last periods call for: they are written over by those that follow.
    """
    if number < _LOOKED_UP * _LOOKS_PER_EFOLD or number % RECENT_PERIODS == 0:
        return number % _LOOKED_UP == 0
    return recurs(number, _LOOKS_PER_EFOLD)


@kernel
def recurs(number: int, rate: float) -> bool:
    """Whether this period is one of `rate` in every e-fold of time."""
    return int(rate * math.log(number)) != int(rate * math.log(number - 1))


@kernel
def aimed_at(means: Any, aim: Any, c: float, curved: float) -> Any:
    """The means for which the law's best split is the one to aim at, as far as the arms have curves of their own."""
    found, whole, parts = means.copy(), 0.0, 0.0
    for arm in range(len(means)):
        if not math.isnan(means[arm]):
            whole += max(means[arm], 0.0)
            parts += aim[arm] ** (1.0 - c)
    if curved > 0.0 and whole > 0.0 and parts > 0.0:
        for arm in range(len(means)):
            found[arm] += curved * (whole / parts * aim[arm] ** (1.0 - c) - means[arm])
    return found


@kernel
def vary(weights: Any, proportional: float, curved: float, number: int) -> None:
    """Move weights up and down in turn while c is in doubt: near the best split that costs little, and tells c.

    Where arms have curves of their own they go on varying: what a little more brings must be seen.
    """
    size = _VARIED_IN_DOUBT * min(1.0, proportional / _VARY_FROM) * min(1.0, _PERIODS_VARIED / number)
    size = max(size, _VARIED_ON_CURVES * curved * (_VARIED_MORE if number % _EVERY == 0 else 1.0))
    for index in range(len(weights)):
        weights[index] *= 1.0 + size * ((number * (index + 1)) % 3 - 1)


@kernel
def keeps(number: int, memory: Any) -> bool:
    """Whether the split of the last period, which is in `memory`, is made again; all 0 there: it is not."""
    if number <= _ALWAYS_ANEW or recurs(number, _SPLITS_PER_EFOLD) or probes(number):
        return False
    total = 0.0
    for arm in range(len(memory)):
        if not memory[arm] > 0.0:
            return False
        total += memory[arm]
    return abs(total - 1.0) <= 1e-9
