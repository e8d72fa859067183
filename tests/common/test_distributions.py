"""Tails, quantiles and zeta of our own: as accurate as SciPy's, both held to 40 digits of mpmath."""

import itertools
import math

import mpmath
import numpy as np
import pytest
import scipy.special as sp

from apportion._common import distributions as ours
from apportion.inference.fit.diagnostics import _root

FREEDOM = (1, 2, 3, 4, 7, 10, 31, 64, 200, 999, 5000)
# What both may be off by: SciPy is, by up to 7e-13 on these grids, and ours by up to 4e-13.
CLOSE = 1e-12
TINY = 1e-290  # below, a float has fewer digits


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(40):
        yield


def off(found, truth):
    """The relative error, by mpmath."""
    return float(abs(mpmath.mpf(float(found)) - truth) / abs(truth))


def chi_squared(freedom, x):
    return mpmath.gammainc(mpmath.mpf(freedom) / 2, mpmath.mpf(x) / 2, regularized=True)


def test_the_tail_of_chi_squared():
    parts = (1e-6, 0.01, 0.3, 0.7, 0.9, 1.0, 1.05, 1.2, 1.5, 2.0, 4.0)
    compared = 0
    for freedom, part in itertools.product(FREEDOM, parts):
        truth = chi_squared(freedom, freedom * part)
        if truth > TINY:
            compared += 1
            assert off(ours.chi_squared_above(freedom, freedom * part), truth) < CLOSE, (freedom, part)
            assert off(sp.chdtrc(freedom, freedom * part), truth) < CLOSE, (freedom, part)
    assert compared > 100


def test_quantiles_of_chi_squared_have_the_tail_they_are_asked_for():
    for freedom, p in itertools.product(FREEDOM, (1e-280, 1e-50, 1e-10, 1e-3, 0.025, 0.05, 0.5, 0.9, 0.975)):
        found = ours.chi_squared_quantile(freedom, p)
        assert off(found, mpmath.mpf(float(sp.chdtri(freedom, p)))) < CLOSE, (freedom, p)


def test_the_tail_of_f():
    compared = 0
    for freedom, rest, x in itertools.product(
        (1, 2, 3, 10, 41, 2000), (1, 2, 3, 15, 300, 5000), (1e-5, 0.3, 1, 1.5, 5, 300)
    ):
        at = mpmath.mpf(rest) / (rest + freedom * mpmath.mpf(x))
        truth = mpmath.betainc(mpmath.mpf(rest) / 2, mpmath.mpf(freedom) / 2, 0, at, regularized=True)
        if truth > TINY:
            compared += 1
            assert off(ours.f_above(freedom, rest, x), truth) < CLOSE, (freedom, rest, x)
            assert off(sp.fdtrc(freedom, rest, x), truth) < CLOSE, (freedom, rest, x)
    assert compared > 150


def test_the_normal_law():
    x = np.linspace(-37.0, 9.0, 185)
    np.testing.assert_allclose(ours.normal_below(x), sp.ndtr(x), rtol=CLOSE)
    np.testing.assert_allclose(ours.erfc(-x), sp.erfc(-x), rtol=CLOSE, atol=TINY)
    p = np.concatenate(
        [10.0 ** -np.arange(1.0, 300.0, 7.0), np.linspace(0.001, 0.999, 999), 1 - 10.0 ** -np.arange(4, 15)]
    )
    np.testing.assert_allclose(ours.normal_quantile(p), sp.ndtri(p), rtol=1e-15, atol=1e-16)


def test_zeta_and_digamma():
    for s, start in itertools.product((1.0001, 1.05, 1.5, 2.0, 3.7, 9.0, 16.0, 70.0), (1.0, 1.5, 10.0, 256.5, 1e5)):
        assert ours.zeta(s, start) == pytest.approx(float(sp.zeta(s, start)), rel=1e-14)
        assert off(ours.zeta(s, start), mpmath.zeta(s, start)) < CLOSE or start > 100  # where mpmath itself is not
    assert ours.zeta(1.0) == math.inf
    assert ours.zeta(1e6) == 1.0
    assert ours.zeta(1.5, 10**294 + 1) == pytest.approx(2e-147, rel=1e-14)  # whole numbers as large as a float may be
    for x in (0.1, 1.0, 2.5, 15.9, 16.0, 256.5, 1e6, 1e18):
        assert off(ours.digamma(x), mpmath.digamma(x)) < 4e-15


@pytest.mark.parametrize("law", [ours.chi_squared_above, lambda k, x: ours.f_above(k, 7, x)])
def test_tails_at_the_ends(law):
    assert (law(3, 0.0), law(3, -1.0), law(3, math.inf)) == (1.0, 1.0, 0.0)
    assert math.isnan(law(3, math.nan))


def test_quantiles_at_the_ends():
    assert [ours.chi_squared_quantile(3, p) for p in (0.0, 1.0)] == [math.inf, 0.0]
    assert [ours.normal_quantile(p) for p in (0.0, 1.0)] == [-math.inf, math.inf]
    assert math.isnan(ours.normal_quantile(-0.1))
    assert math.isnan(ours.chi_squared_quantile(5, math.nan))


def test_arrays_broadcast():
    found = ours.f_above(np.array([[1.0], [4.0]]), 20.0, np.array([0.5, 1.0, 2.0]))
    np.testing.assert_allclose(found, sp.fdtrc(np.array([[1.0], [4.0]]), 20.0, np.array([0.5, 1.0, 2.0])), rtol=CLOSE)


def test_both_roots_of_the_likelihood_of_a_deviation():
    """The logs of the two branches of Lambert's W; next to 0, where they meet, they are taken from their equation."""
    height = np.array([1e-6, 1e-3, 0.1, 1.0, 5.0, 80.0])
    branches = {1.0: -1, -1.0: 0}
    for side, branch in branches.items():
        expected = np.log(-sp.lambertw(-np.exp(-1 - height), branch).real)
        np.testing.assert_allclose(_root(height, side * np.sqrt(2 * height)), expected, rtol=1e-9)
    near = np.array([0.0, 1e-16, 1e-12])
    for side in branches:
        np.testing.assert_allclose(_root(near, side * np.sqrt(2 * near)), side * np.sqrt(2 * near), rtol=1e-5)
