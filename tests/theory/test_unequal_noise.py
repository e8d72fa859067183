"""Theorem J of docs/theory.md, elimination with a σ for each arm, step by step and by simulation.

Error budget. Everything is seeded. Mean regret is held below its bound with 4 standard errors added (3e-5 each where
the bound is reached; it is 20 times larger and more), twelve times.
"""

import itertools
import math

import numpy as np
import pytest

from apportion import theory
from apportion.errors import InvalidValue
from apportion.model.confidence import monotone_growth


def constant_of(order, b):
    """Σ u_j² / (G_j^(2b) − G_(j+1)^(2b)) and Σ u_j / G_j for weights in the order in which their arms leave."""
    weights = np.array(order)
    left = np.cumsum(weights[::-1])[::-1]
    after = np.append(left[1:], 0.0)
    return float(np.sum(weights**2 / (left ** (2 * b) - after ** (2 * b)))), float(np.sum(weights / left))


@pytest.mark.parametrize("b", [0.5, 0.6, 0.75, 0.9, 1.0])
def test_the_largest_weight_first_is_the_worst_order_and_no_stopping_times_beat_the_constant(b):
    rng = np.random.default_rng(31)
    for arms in (1, 2, 3, 5):
        weights = np.exp(1.5 * rng.standard_normal(arms))
        orders = [constant_of(order, b) for order in itertools.permutations(weights)]
        worst = constant_of(sorted(weights, reverse=True), b)
        assert max(np.array(orders)[:, 0]) == pytest.approx(worst[0], rel=1e-12)
        assert max(np.array(orders)[:, 1]) == pytest.approx(worst[1], rel=1e-12)
        constant = theory.stopping_time_constant(weights.tolist(), b)
        assert constant == pytest.approx(worst[0], rel=1e-10)
        if b < 1:
            assert constant <= weights.sum() ** (2 - 2 * b) / (2 - 2 * b) * (1 + 1e-12)
        # Arms leave at random times up to 1: Σ w_i √(Σ U^(−2b)) is at most √C.
        for _ in range(200):
            ends = rng.random(arms) ** rng.choice([0.2, 1.0, 5.0])
            ends[rng.integers(arms)] = 1.0
            turn = np.argsort(ends)
            active = np.cumsum(weights[turn][::-1])[::-1]
            spread = np.cumsum(np.diff(ends[turn], prepend=0.0) * active ** (-2 * b))
            assert weights[turn] @ np.sqrt(spread) <= math.sqrt(constant) * (1 + 1e-12)
    assert theory.stopping_time_constant([2.0] * 4, b) == pytest.approx(
        2 ** (2 - 2 * b) * theory.stopping_time_constant(4, b)
    )


def race(sigmas, gap, b, horizon, runs, seed):
    """Elimination with shares in proportion to σ^(1/(1−b)): the regret of every run, and who is left at the end."""
    rng, sigmas, means = np.random.default_rng(seed), np.array(sigmas), np.zeros(len(sigmas))
    means[0] = gap
    weights, shape = sigmas ** (1 / (1 - b)), (runs, len(sigmas))
    active, lost = np.ones(shape, dtype=bool), np.zeros(runs)
    resource, noise, outcomes = np.zeros((3, *shape))
    for period in range(1, horizon + 1):
        shares = active * weights
        shares /= shares.sum(axis=1, keepdims=True)
        lost += gap - shares @ means
        resource += shares
        noise += shares ** (2 * b)
        outcomes += shares * means + shares**b * sigmas * rng.standard_normal(shape)
        radius = sigmas * np.sqrt(8 * monotone_growth(float(period)) * math.log(horizon) * noise) / resource
        common = np.where(active, radius, 0.0).max(axis=1, keepdims=True)
        # One radius for all, always.
        assert np.all(np.abs(radius - common)[active] <= 1e-9 * np.broadcast_to(common, shape)[active])
        best = np.where(active, outcomes / resource - radius, -np.inf).max(axis=1, keepdims=True)
        active &= outcomes / resource + radius >= best
    return lost, active


@pytest.mark.parametrize("b", [0.5, 0.75])
@pytest.mark.parametrize("sigmas", [(1.0, 0.5, 0.3, 0.1), (0.1, 0.3, 0.5, 1.0)], ids=["loud", "quiet"])
def test_shares_by_noise_give_one_radius_and_regret_below_the_bound(sigmas, b):
    horizon = 1000
    for gap in (0.5, 2.0, 8.0):
        lost, active = race(sigmas, gap, b, horizon, 30, seed=32)
        bound = theory.elimination_regret_bound((gap, 0.0, 0.0, 0.0), horizon=horizon, b=b, sigma=sigmas)
        assert lost.mean() + 4 * lost.std() / math.sqrt(len(lost)) < bound
        assert np.all(active[:, 0])
    assert np.all(active.sum(axis=1) == 1)  # of the largest gap: all that are worse are gone


def test_the_bound_is_the_lower_bound_up_to_logarithms_and_that_of_one_sigma_where_they_are_equal():
    horizon = 10**8
    for b, form in itertools.product((0.5, 0.7, 0.9), ("corrected", "cycles", "anytime")):
        one = theory.elimination_regret_bound(arms=4, max_gap=0.3, horizon=horizon, b=b, sigma=2.5, form=form)
        same = theory.elimination_regret_bound(arms=4, max_gap=0.3, horizon=horizon, b=b, sigma=[2.5] * 4, form=form)
        assert one == same
        for sigmas in ((1.0, 0.5), (3.0, 0.2, 0.1, 0.1), (1e-3, 1.0, 1e3), (1.0, 1e-200)):
            sized = {"arms": len(sigmas), "horizon": horizon, "b": b, "sigma": sigmas}
            upper = theory.elimination_regret_bound(max_gap=0.0, form=form, **sized)
            lower = theory.minimax_lower_bound(**sized, constant="sharp")
            width = 4 * math.sqrt(8 * monotone_growth(horizon) * math.log(horizon))
            if form == "corrected":
                total = math.fsum((sigma / max(sigmas)) ** (1 / (1 - b)) for sigma in sigmas)
                rate = max(sigmas) * total ** (1 - b) * math.sqrt(horizon / (2 - 2 * b))
                assert upper <= width * rate * (1 + 1e-12)
            if min(sigmas) > 1e-100:  # the range of the anytime radius has the logarithm of the least weight in it
                most = 2 * math.exp(0.5) * 16 * width * math.sqrt(1 / (2 - 2 * b))
                assert lower < upper < most * lower


def test_what_has_no_bound_is_refused():
    with pytest.raises(InvalidValue, match="`sigma` must be the same for all arms at b = 1"):
        theory.elimination_regret_bound([0.5, 0.0], horizon=100, b=1.0, sigma=[1.0, 2.0])
    with pytest.raises(InvalidValue, match="`sigma` must be the same for all arms at b = 1"):
        theory.elimination_regret_bound([0.5, 0.0], horizon=100, b=0.6, sigma=[1.0, 2.0], form="printed")
    with pytest.raises(InvalidValue, match="`arms` must be a whole number, or a weight above 0 for each arm"):
        theory.stopping_time_constant([1.0, 0.0], 0.75)
