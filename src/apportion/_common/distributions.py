"""Tails and quantiles of the normal, χ² and F laws, and the zeta function: what live campaigns need of them.

They stand on Python's own `erfc`, `lgamma` and `NormalDist`, so that a campaign needs no SciPy. Degrees of freedom
are whole numbers. They are as accurate as SciPy's (tests/common/test_distributions.py): a density is computed from
its distance to the peak, and not from large logarithms that cancel (Loader 2000).
"""

import functools
import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STANDARD = NormalDist()
_STIRLING_FROM = 16.0  # from here on five terms of Stirling's series are exact to rounding
_MOST_STEPS = 10_000
_SETTLED = 2e-15
_NEWTON_STEPS = 100
_SMALLEST = 1e-300
# B_{2j}/(2j)!, j = 1 .. 8, of the formula of Euler and Maclaurin; from 16 on they are exact to rounding.
_BERNOULLI = tuple(
    float(top) / bottom / math.factorial(2 * j)
    for j, (top, bottom) in enumerate(
        ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510)), start=1
    )
)
_SUMMED_TO = 16


def _each(function: Callable[..., float]) -> Callable[..., Any]:
    """The function of numbers for arrays of them, which broadcast."""
    over_arrays = np.vectorize(function, otypes=[np.float64])

    @functools.wraps(function)
    def found(*arguments: Any) -> Any:
        if all(isinstance(each, (int, float)) for each in arguments):
            return function(*arguments)
        return over_arrays(*arguments)

    return found


@_each
def erfc(x: float) -> float:
    """1 − erf(x), with its relative accuracy also where it is tiny."""
    return math.erfc(x)


@_each
def normal_below(x: float) -> float:
    """Φ(x) = P(N ≤ x).

    >>> round(normal_below(1.96), 4), normal_below(-30.0) > 0
    (0.975, True)
    """
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@_each
def normal_quantile(p: float) -> float:
    """x with Φ(x) = p, for p in [0, 1].

    >>> round(normal_quantile(0.975), 4)
    1.96
    """
    if 0.0 < p < 1.0:
        return _STANDARD.inv_cdf(p)
    return -math.inf if p == 0.0 else math.inf if p == 1.0 else math.nan


@_each
def chi_squared_above(freedom: float, x: float) -> float:
    """P(χ² ≥ x) with a whole number of degrees of freedom: a finite sum of positive terms.

    >>> round(chi_squared_above(1, 3.841), 4), round(chi_squared_above(4, 9.488), 4)
    (0.05, 0.05)
    """
    if not x > 0.0:
        return 1.0 if x <= 0.0 else math.nan
    if math.isinf(x):
        return 0.0
    # With y = x/2 it is the sum of y^a e^(−y)/Γ(a + 1), a = freedom/2 − 1, freedom/2 − 2, …, and erfc(√y) if odd.
    y, top = 0.5 * x, 0.5 * freedom - 1.0
    rest = math.erfc(math.sqrt(y)) if freedom % 2 else 0.0
    if top < 0.0:
        return rest
    peak = min(top, top % 1.0 + math.floor(y))  # the largest of the terms; the others by their ratios to it
    down, up = np.arange(peak, 0.5, -1.0), np.arange(peak + 1.0, top + 0.5)
    ratios = 1.0 + float(np.cumprod(down / y).sum()) + float(np.cumprod(y / up).sum())
    return min(1.0, rest + _gamma_density(peak, y) * ratios)


@_each
@functools.lru_cache(maxsize=4096)  # many arms have as many outcomes as others, and the levels are few
def chi_squared_quantile(freedom: float, p: float) -> float:
    """x with P(χ² ≥ x) = p, for a whole number of degrees of freedom: Newton on the log of the tail, in a bracket.

    >>> round(chi_squared_quantile(1, 0.05), 3), round(chi_squared_quantile(4, 0.05), 3)
    (3.841, 9.488)
    """
    if not 0.0 < p < 1.0:
        return math.inf if p == 0.0 else 0.0 if p == 1.0 else math.nan
    if freedom == 1:
        return float(normal_quantile(0.5 * p)) ** 2
    if freedom == 2:
        return -2.0 * math.log(p)
    tail = functools.partial(chi_squared_above, freedom)
    low, high = 0.0, freedom + 1.0
    while tail(high) > p:
        low, high = high, 2.0 * high
    x, aim = 0.5 * (low + high), math.log(p)
    for _ in range(_NEWTON_STEPS):
        above = tail(x)
        low, high = (x, high) if above > p else (low, x)
        density = 0.5 * _gamma_density(0.5 * freedom - 1.0, 0.5 * x)
        following = x + (math.log(above) - aim) * above / density if above > 0.0 and density > 0.0 else math.nan
        if not low <= following <= high:
            following = 0.5 * (low + high)
        if abs(following - x) <= _SETTLED * x:
            return following
        x = following
    return x


@_each
def f_above(freedom: float, rest: float, x: float) -> float:
    """P(F ≥ x) with `freedom` degrees of freedom above the line and `rest` below it.

    It is the incomplete beta function at rest/(rest + freedom·x), by its continued fraction.

    >>> round(f_above(3, 20, 3.098), 4)
    0.05
    """
    if not x > 0.0:
        return 1.0 if x <= 0.0 else math.nan
    if math.isinf(x):
        return 0.0
    a, b = 0.5 * rest, 0.5 * freedom
    at, other = rest / (rest + freedom * x), freedom * x / (rest + freedom * x)
    front = _beta_density(a, b, at, other)
    if at < (a + 1.0) / (a + b + 2.0):
        return front / a * _beta_fraction(a, b, at)
    return 1.0 - front / b * _beta_fraction(b, a, other)


@_each
def zeta(s: float, start: float = 1.0) -> float:
    """Σ 1/(start + n)^s over n ≥ 0: term by term up to 16 (or s), and Euler and Maclaurin for what is left.

    Infinite for s ≤ 1, where the sum is.

    >>> round(zeta(2.0), 6), round(zeta(2.0, 256.5), 9)
    (1.644934, 0.003906245)
    """
    if not s > 1.0:
        return math.inf
    # A float from here on: whole numbers above 10^154 have squares that no float holds.
    head, at = 0.0, float(start)
    while at < max(_SUMMED_TO, s):
        term = math.pow(at, -s)
        head += term
        at += 1.0
        if term <= 1e-18 * head:
            return head
    # Relative to at^(−s), so that nothing under- or overflows before it has to.
    tail, factor = at / (s - 1.0) + 0.5, s / at
    for j, weight in enumerate(_BERNOULLI, start=1):
        tail += weight * factor
        factor *= (s + 2 * j - 1) / at * ((s + 2 * j) / at)
    return head + math.pow(at, -s) * tail


@_each
def digamma(x: float) -> float:
    """The derivative of log Γ(x), x > 0.

    >>> round(digamma(1.0), 6)
    -0.577216
    """
    head, at = 0.0, x
    while at < _SUMMED_TO:
        head -= 1.0 / at
        at += 1.0
    square, power, tail = 1.0 / (at * at), 1.0, 0.0
    for j, weight in enumerate(_BERNOULLI, start=1):
        power *= square
        tail += weight * math.factorial(2 * j - 1) * power
    return head + math.log(at) - 0.5 / at - tail


def _gamma_density(a: float, y: float) -> float:
    """y^a e^(−y)/Γ(a + 1)."""
    if a < 1.0:
        return math.exp(a * math.log(y) - y) / math.gamma(a + 1.0)
    return math.exp(-_stirling_rest(a) - _deviance(a, y)) / math.sqrt(2.0 * math.pi * a)


def _beta_density(a: float, b: float, x: float, y: float) -> float:
    """x^a y^b/B(a, b), where x + y = 1."""
    n = a + b
    rest = _stirling_rest(n) - _stirling_rest(a) - _stirling_rest(b)
    return math.exp(rest - _deviance(a, n * x) - _deviance(b, n * y)) * math.sqrt(a * b / (2.0 * math.pi * n))


def _stirling_rest(a: float) -> float:
    """log Γ(a + 1) − (a + ½)·log a + a − ½·log 2π: what Stirling's formula leaves."""
    if a < _STIRLING_FROM:
        return math.lgamma(a + 1.0) - (a + 0.5) * math.log(a) + a - 0.5 * math.log(2.0 * math.pi)
    x = 1.0 / (a * a)
    return (1 / 12 - x * (1 / 360 - x * (1 / 1260 - x * (1 / 1680 - x / 1188)))) / a


def _deviance(a: float, mean: float) -> float:
    """a·log(a/mean) + mean − a ≥ 0; infinite where the mean is 0."""
    if mean == 0.0:
        return math.inf
    off = (mean - a) / a
    return a * (off - math.log1p(off)) if abs(off) < 0.5 else a * math.log(a / mean) + mean - a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (Lentz), for x below (a + 1)/(a + b + 2)."""
    above, below = 1.0, 1.0 / _kept_from_zero(1.0 - (a + b) * x / (a + 1.0))
    found = below
    for m in range(1, _MOST_STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            below = 1.0 / _kept_from_zero(1.0 + term * below)
            above = _kept_from_zero(1.0 + term / above)
            step = above * below
            found *= step
        if abs(step - 1.0) <= _SETTLED:
            break
    return found


def _kept_from_zero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST
