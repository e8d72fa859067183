"""Arms with curves of their own: what is found of them in the last periods, and the split that is best for them."""

import math

import numpy as np
import pytest

import apportion as ap
from apportion._common.compiled import compiled
from apportion.inference.learned import Learned
from apportion.inference.learning import common_laws
from apportion.inference.response_curves import (
    believed,
    fill_steepest,
    fit_curves,
    likelihoods,
    posterior_of_shapes,
    products,
    shapes_of,
)

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
    assert aim == pytest.approx(np.array(CAPPED.best_split), abs=0.05)  # 0.25, 0.2, 0.4, 0.15


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
    assert believed(-math.inf) == 0.0 < believed(-1.0) < 1.0 == believed(50.0)


def test_the_steepest_pieces_are_filled_first_and_falling_ones_never():
    slopes, lengths = np.array([[2.0, 0.5], [1.0, -1.0]]), np.array([[0.3, 0.7], [0.4, 0.6]])
    aim = np.zeros(2)
    fill_steepest(slopes, lengths, 1.0, aim)
    assert aim == pytest.approx([0.6, 0.4])
    aim = np.zeros(2)
    fill_steepest(slopes, lengths, 5.0, aim)
    assert aim == pytest.approx([1.0, 0.4])


def test_shapes_are_one_at_an_even_share_and_as_their_names_say():
    size, even, c = np.geomspace(0.01, 1.0, 40), 0.2, 0.7
    shapes, prior = shapes_of(size, even, 5, c)
    assert prior.sum() == pytest.approx(1.0)
    at_even = [np.interp(math.log(even), np.log(size), shape) for shape in shapes]
    assert at_even == pytest.approx(np.ones(len(shapes)), abs=0.02)
    returned = shapes * size**c  # of an arm that returns even^c at an even share
    assert returned[0] == pytest.approx(size**c)
    assert np.all(np.diff(returned, axis=1) >= -1e-12)  # more never brings less,
    assert np.all(np.diff(np.diff(returned, axis=1) / np.diff(size), axis=1) <= 1e-9)  # and always less per unit
    assert returned[1][size > 0.5 * even] == pytest.approx(even**c)  # the smallest cap is half an even share


def test_likelihoods_are_those_of_outcomes_drawn_with_their_scale():
    """Against the joint normal law of an arm's outcomes, given how the scales of all arms are spread."""
    rng = np.random.default_rng(5)
    response, noise = rng.uniform(0.2, 1.0, (4, 6)), 0.3
    outcome = response * rng.normal(1.0, 0.5, (4, 1)) + rng.normal(0.0, math.sqrt(noise), (4, 6))
    precision, score = (response**2).sum(axis=1)[np.newaxis], (response * outcome).sum(axis=1)[np.newaxis]
    misfit = (outcome**2).sum(axis=1) - score**2 / precision
    heights, means = likelihoods(precision, score, misfit, np.ones(4), noise)
    centre, spread = common_laws(score / precision, noise / precision, np.ones(4))
    spread = max(spread.item(), (0.3 * centre.item()) ** 2)
    for arm in range(4):
        covariance = spread * np.outer(response[arm], response[arm]) + noise * np.eye(6)
        away = outcome[arm] - centre.item() * response[arm]
        # The determinant without noise is the same for all shapes.
        exact = -0.5 * (np.linalg.slogdet(covariance / noise)[1] + away @ np.linalg.solve(covariance, away))
        assert heights[0, arm] == pytest.approx(exact)
        mean = centre.item() + spread * response[arm] @ np.linalg.solve(covariance, away)
        assert means[0, arm] == pytest.approx(mean)


def test_the_posterior_of_shapes_is_bayes():
    heights, prior = np.log([[0.2, 1e-300], [0.4, 1e-300]]), np.array([0.6, 0.4])
    posterior, height = posterior_of_shapes(heights, prior)
    assert posterior == pytest.approx(np.array([[3.0 / 7.0, 0.6], [4.0 / 7.0, 0.4]]))
    assert height == pytest.approx(math.log(0.28) + math.log(1e-300))


def test_products_by_loops():
    rng = np.random.default_rng(6)
    rows, others = rng.normal(size=(3, 7)), rng.normal(size=(4, 7))
    assert compiled(products)(rows, others) == pytest.approx(rows @ others.T)


def test_shapes_are_spoken_of_only_where_they_are_more_probable_than_not():
    half = Learned(0.5, 0.3, 0.7, 1.0, 0.5, curved=believed(math.log(0.4 / 0.6)))
    assert 0.0 < half.curved < 1.0
    assert half.returns == ()
    assert "seem to level off" in half._replace(curved=believed(math.log(0.6 / 0.39))).sentence
