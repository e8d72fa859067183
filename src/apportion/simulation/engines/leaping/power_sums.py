"""Sums of powers in closed form: Σ A^p of the shares that an arm gets over an interval.

Between two events the shares of a leaping policy are fixed functions of time: constant, or t^(−α)/K for an arm
that does not lead under ε-greedy, and what those leave for the leader. Every moment that a run needs over an
interval (resource, variance, information) is a sum of powers of them.
"""

from __future__ import annotations

import math
from typing import Any

from apportion._common.compiled import generic, implements, kernel
from apportion.policies import EpsilonGreedy, FollowTheLeader, Oracle, SuccessiveElimination, Uniform
from apportion.policies.shared import SMALLEST_SHARE, power_floor

# Terms of sums up to here are added one by one: from here on Euler–Maclaurin has a relative error below 1e-13 for
# the exponents in use.
ONE_BY_ONE = 32
# And so are sums of no more terms than this: it is faster.
FEW_TERMS = 2

# Relative size below which a term of a series is left out, and the most terms that are looked at.
_NEGLIGIBLE = 1e-16
_MOST_SERIES_TERMS = 64
# Below this exponent α, 10^12 periods of t^(−α)/K do not reach the smallest share.
_REACHES_SMALLEST = 20.0
# Beyond each of these the first, second and third correction of Euler–Maclaurin is below the last digit.
_FIRST_CORRECTION_TO, _SECOND_CORRECTION_TO, _THIRD_CORRECTION_TO = 1e8, 2e4, 2e3


@generic
def sum_of_powers(  # type: ignore[empty-body]
    policy: Any, share: float, leads: bool, power: float, first: int, last: int, arms: int
) -> float:
    """Σ A_s^power over the periods first < s ≤ last, while nothing happens.

    `share` is what the arm gets now, and `leads` whether it is the leader.
    """


@kernel
def _constant_shares(policy: Any, share: float, leads: bool, power: float, first: int, last: int, arms: int) -> float:
    if power == 0.0:
        return float(last - first)
    if power == 1.0:
        return (last - first) * share
    return float((last - first) * share**power)


for _record in (SuccessiveElimination.Record, FollowTheLeader.Record, Uniform.Record, Oracle.Record):
    implements(sum_of_powers, _record)(_constant_shares)


@implements(sum_of_powers, EpsilonGreedy.Record)
def _greedy_shares(policy: Any, share: float, leads: bool, power: float, first: int, last: int, arms: int) -> float:
    if power == 0.0:
        return float(last - first)
    if not leads:
        return sum_of_falling_shares(policy.exponent, arms, power, first, last)
    total = 0.0
    start = first
    while start < last and (start < ONE_BY_ONE or last - first <= FEW_TERMS):
        start += 1
        total += (1.0 - (arms - 1) * power_floor(start, policy.exponent, arms)) ** power
    if start < last:
        total += sum_of_leading_shares(policy.exponent, (arms - 1.0) / arms, power, start, last)
    return total


@kernel
def sum_of_falling_shares(exponent: float, arms: int, power: float, first: int, last: int) -> float:
    """Σ max(s^(−α)/K, 1e-290)^p over first < s ≤ last: K^(−p)·Σ s^(−αp) up to where no share may fall further."""
    bottom = last
    if exponent > _REACHES_SMALLEST:
        bottom = int(min(float(last), max(float(first), (SMALLEST_SHARE * arms) ** (-1.0 / exponent))))
    total = float(arms) ** -power * power_sum(first, bottom, -exponent * power) if bottom > first else 0.0
    return total + (last - bottom) * SMALLEST_SHARE**power if last > bottom else total


@kernel
def sum_of_leading_shares(exponent: float, scale: float, power: float, first: int, last: int) -> float:
    """Σ (1 − c·s^(−α))^p over first < s ≤ last: the binomial series, term by term a sum of powers.

    For first ≥ 32 and α > 1 the terms fall by a factor of 32 at least; for p = 1 there is one.
    """
    left = first + 0.5
    stretch = math.log1p((last - first) / left)
    falling = left**-exponent
    total = float(last - first)
    coefficient = at_left = 1.0
    term = 0
    while term < _MOST_SERIES_TERMS:
        term += 1
        factor = -(power - term + 1.0) / term * scale
        coefficient *= factor
        at_left *= falling
        if abs(coefficient) * at_left < _NEGLIGIBLE:
            break
        total += coefficient * euler_maclaurin(left, stretch, -exponent * term, at_left)
    return total


@kernel
def power_sum(first: int, last: int, exponent: float) -> float:
    """Σ s^q over first < s ≤ last, q = `exponent`, to about 1e-13 of itself, in a time that does not grow.

    >>> power_sum(0, 3, -1.0), round(power_sum(0, 10**12, -2.0), 12)
    (1.8333333333333333, 1.644934066847)
    """
    total = 0.0
    start = first
    while start < last and (start < ONE_BY_ONE or last - first <= FEW_TERMS):
        start += 1
        total += float(start) ** exponent
    if start >= last:
        return total
    left = start + 0.5
    return float(total + euler_maclaurin(left, math.log1p((last - start) / left), exponent, left**exponent))


@kernel
def euler_maclaurin(left: float, stretch: float, exponent: float, at_left: float) -> float:
    """Σ s^q over the whole s between x = `left` and y = x·exp(stretch), two half-integers; `at_left` is x^q.

    Euler–Maclaurin at the midpoints: ∫ f − (1/24)[f'] + (7/5760)[f'''] − (31/967680)[f⁽⁵⁾] between x and y.
    Differences of powers are x^p·expm1(p·log(y/x)), so that short intervals far out keep their digits too.
    """
    growth = (exponent + 1.0) * stretch
    relative = math.expm1(growth) / growth if growth != 0.0 else 1.0
    total = left * stretch * relative
    if left < _FIRST_CORRECTION_TO:
        slope = exponent / left
        total -= slope / 24.0 * math.expm1((exponent - 1.0) * stretch)
        if left < _SECOND_CORRECTION_TO:
            slope *= (exponent - 1.0) / left * ((exponent - 2.0) / left)
            total += slope * (7.0 / 5760.0) * math.expm1((exponent - 3.0) * stretch)
            if left < _THIRD_CORRECTION_TO:
                slope *= (exponent - 3.0) / left * ((exponent - 4.0) / left)
                total -= slope * (31.0 / 967680.0) * math.expm1((exponent - 5.0) * stretch)
    return at_left * total
