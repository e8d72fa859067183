"""Arms with curves of their own: what is found of them in the last periods, and the split that is best for them."""

import math

import numpy as np
import pytest

import apportion as ap
from apportion._common.compiled import compiled
from apportion.inference.response_curves import believed, concave_hull, fill_steepest, filtered, fit_curves, smoothed

PERIODS = 200


def last_periods(world, seed):
    """Amounts around many splits, and what came back."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(world.arms, 3.0), PERIODS)
    return shares, ap.Course(world, rng).play(shares).outcomes


def curves_of(world, c, seed, fit=fit_curves):
    amounts, outcomes = last_periods(world, seed)
    aim = np.zeros(world.arms)
    gain, _ = fit(amounts, outcomes, 1, PERIODS, c, world.b, np.array(world.sigmas), False, 1.0, aim)
    return gain, aim


CAPPED = ap.Capped(means=(1.0, 0.8, 0.6, 0.2), cap=(0.25, 0.2, 0.4, 1.0), b=0.5, sigma=0.1)


def test_capped_arms_are_found_out_and_filled_up_to_their_caps():
    gain, aim = curves_of(CAPPED, 0.7, seed=1)
    assert gain > 20.0
    # Three quarters of the way, in logarithms, from the even split that was played to the best one.
    assert CAPPED.regret(aim) < 0.4 * CAPPED.regret([0.25] * 4)
    assert aim[3] < 0.1


@pytest.mark.parametrize("c", [0.5, 0.8])
def test_a_power_law_is_not_taken_for_curves(c):
    """In 40 power laws the odds for curves are never above 1; 40 × P(a log-odds of more than 6.5) is below 0.1."""
    world = ap.Instance(means=(1.0, 0.8, 0.6, 0.4), b=0.5, sigma=(0.1, 0.2, 0.3, 0.4), c=c)
    assert max(curves_of(world, c, seed)[0] for seed in range(40)) < 0.0


def test_compiled_as_plain():
    plain, compiled_one = curves_of(CAPPED, 0.7, 2), curves_of(CAPPED, 0.7, 2, compiled(fit_curves))
    assert compiled_one[0] == pytest.approx(plain[0], rel=1e-9)
    assert compiled_one[1] == pytest.approx(plain[1], rel=1e-9)


def test_too_little_says_nothing():
    amounts, outcomes = np.full((10, 2), 0.5), np.full((10, 2), np.nan)
    outcomes[1:3] = 1.0
    assert fit_curves(amounts, outcomes, 1, 9, 1.0, 0.5, np.ones(2), False, 1.0, np.zeros(2))[0] == -math.inf
    assert believed(-math.inf) == 0.0 < believed(1.0) < 1.0 == believed(50.0)


def test_the_hull_is_concave_and_above_all_points():
    rng = np.random.default_rng(3)
    for _ in range(50):
        size, level = np.sort(rng.uniform(0.1, 1.0, 12)), rng.uniform(-0.2, 1.0, 12)
        slopes, lengths = np.zeros(12), np.zeros(12)
        concave_hull(size, level, 12, slopes, lengths)
        pieces = lengths > 0.0
        assert np.all(np.diff(slopes[pieces]) <= 1e-12)
        assert lengths.sum() == pytest.approx(size[-1])
        corners = np.concatenate([[0.0], np.cumsum(lengths[pieces])])
        heights = np.concatenate([[0.0], np.cumsum((slopes * lengths)[pieces])])
        assert np.all(np.interp(size, corners, heights) >= level - 1e-12)


def test_the_steepest_pieces_are_filled_first_and_falling_ones_never():
    slopes, lengths = np.array([[2.0, 0.5], [1.0, -1.0]]), np.array([[0.3, 0.7], [0.4, 0.6]])
    aim = np.zeros(2)
    fill_steepest(slopes, lengths, 1.0, aim)
    assert aim == pytest.approx([0.6, 0.4])
    aim = np.zeros(2)
    fill_steepest(slopes, lengths, 5.0, aim)
    assert aim == pytest.approx([1.0, 0.4])


def test_the_passes_forth_and_back_are_the_exact_posterior():
    """Against the normal equations of the random walk, with some classes empty."""
    rng = np.random.default_rng(4)
    weight = rng.uniform(0.5, 3.0, 9) * (rng.random(9) < 0.7)
    weight[[0, -1]] = 1.0
    value, step = rng.normal(size=9) * weight, 0.3
    level, spread = np.empty(9), np.empty(9)
    filtered(weight, value, step, level, spread)
    smoothed(weight, step, level, spread)
    change = np.diff(np.eye(9), axis=0)
    exact = np.linalg.solve(np.diag(weight) + change.T @ change / step, value)
    assert level == pytest.approx(exact)
