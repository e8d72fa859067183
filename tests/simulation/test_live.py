"""A world played through the Allocator."""

import numpy as np
import pytest

import apportion as ap
from apportion.model.world import Course
from apportion.simulation.live import play_through

WORLD = ap.Instance((1.0, 0.4, 0.7), b=0.5, sigma=(0.2, 0.1, 0.3), c=0.6)
NAMES = ("a", "b", "c")


def test_it_is_asking_and_telling():
    budgets = [1.0, 5.0, 2.0, 8.0]
    one, other = (ap.Allocator(ap.Odds(b=0.5), NAMES, seed=3) for _ in range(2))
    played = play_through(one, WORLD, budgets, np.random.default_rng(4))
    course = Course(WORLD, np.random.default_rng(4))
    for row, budget in enumerate(budgets):
        split = other.ask(budget)
        step = course.play([list(split.amounts.values())])
        other.tell(split.ticket, dict(zip(NAMES, step.outcomes[0].tolist())))
        np.testing.assert_array_equal(played.outcomes[row], step.outcomes[0])
        assert played.regret[row] == step.regret[0] >= 0.0
    assert one.to_json() == other.to_json()
    np.testing.assert_allclose(played.best - played.expected, played.regret, atol=1e-12)
    np.testing.assert_allclose(played.amounts.sum(axis=1), budgets)


def test_costs_are_told_with_their_own_sign_and_the_cheapest_arm_wins():
    world = ap.Instance((-1.0, -3.0), b=0.75, sigma=0.1)
    allocator = ap.Allocator(ap.Odds(b=0.75, sigma=0.1), ("cheap", "dear"), seed=1, minimise=True)
    played = play_through(allocator, world, [1.0] * 60, np.random.default_rng(2))
    assert allocator.beliefs()["dear"].mean == pytest.approx(3.0, abs=0.5)
    assert played.regret[-1] < 0.1 < played.regret[0]


def test_only_the_arms_of_the_world_are_told_and_no_budget_is_no_period():
    allocator = ap.Allocator(ap.Uniform(), NAMES, b=0.5, minimum={}, pinned={"b": 0.0})
    played = play_through(allocator, ap.Instance((1.0, 0.5), b=0.5), [2.0], np.random.default_rng(2), ("c", "a"))
    assert played.amounts.tolist() == [[1.0, 1.0]]
    assert played.regret.tolist() == [0.5]
    assert len(play_through(allocator, WORLD, [], np.random.default_rng(2)).regret) == 0


def test_common_noise_does_not_depend_on_the_split():
    world = ap.Instance((0.0, 0.0, 0.0), b=0.0)
    first, second = (Course(world, np.random.default_rng(5), common=True) for _ in range(2))
    full, part = first.play(np.full((9, 3), 0.5)), second.play(np.tile([0.0, 0.5, 0.0], (9, 1)))
    np.testing.assert_array_equal(full.outcomes[:, 1], part.outcomes[:, 1])
