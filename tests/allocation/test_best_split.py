"""The best split under rules, against other solvers."""

import numpy as np
import pytest
from scipy.optimize import minimize

from apportion.allocation.best_split import best_split
from apportion.allocation.nearest import Rows
from apportion.model.response import optimal_split


def problem(seed, arms=6, groups=3):
    """Means, bounds, and groups of at most so much and at least so much, which an even split keeps."""
    rng = np.random.default_rng(seed)
    members = (rng.random((groups, arms)) < 0.5).astype(float)
    even = members.sum(axis=1) / arms
    least = np.where(rng.random(groups) < 0.5, -np.inf, 0.8 * even)
    rows = Rows(members, least, np.minimum(even * rng.uniform(1.0, 1.3, groups), 1.0))
    low = np.where(rng.random(arms) < 0.3, 0.02, 0.0)
    return rng.uniform(0.2, 2.0, arms), low, np.full(arms, 0.6), rows


def value(means, shares, c):
    return float(means @ shares**c)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("c", [0.3, 0.7, 0.95])
def test_it_is_worth_as_much_as_a_general_solver_finds(c, seed):
    means, low, high, rows = problem(seed)
    found = best_split(means, c, low, high, rows)
    assert found.sum() == pytest.approx(1.0, abs=1e-9)
    assert (found >= low - 1e-9).all()
    assert (found <= high + 1e-9).all()
    assert rows.kept(found)
    some = np.isfinite(rows.least)
    other = minimize(
        lambda x: -value(means, np.maximum(x, 1e-12), c), np.full(6, 1 / 6), method="SLSQP", tol=1e-12,
        bounds=list(zip(np.maximum(low, 1e-9), high)),
        constraints=[
            {"type": "eq", "fun": lambda x: x.sum() - 1.0},
            {"type": "ineq", "fun": lambda x: rows.most - rows.matrix @ x},
            {"type": "ineq", "fun": lambda x: rows.matrix[some] @ x - rows.least[some]},
        ],
    )  # fmt: skip
    assert value(means, found, c) >= (1 - 1e-5) * -other.fun


def test_without_rules_in_the_way_it_is_the_best_split():
    means, low, high, rows = problem(7)
    free = rows._replace(least=np.full(3, -np.inf), most=np.ones(3))
    for c in (0.6, 1.0):
        wanted = optimal_split(means, 1.0, c, low, high)
        found = best_split(means, c, low, high, free)
        assert value(means, found, c) == pytest.approx(value(means, wanted, c), rel=1e-6)


def test_where_no_split_keeps_the_rules_there_is_none():
    rows = Rows(np.ones((1, 2)), np.array([-np.inf]), np.array([0.5]))
    for c in (0.5, 1.0):
        assert best_split(np.array([1.0, 2.0]), c, np.zeros(2), np.ones(2), rows) is None


def test_costs_are_made_small():
    rows = Rows(np.array([[1.0, 0.0, 0.0]]), np.array([-np.inf]), np.array([0.3]))
    found = best_split(np.array([-1.0, -2.0, -3.0]), 1.0, np.zeros(3), np.ones(3), rows)
    assert found == pytest.approx([0.3, 0.7, 0.0])
