"""The worlds of neighbouring models: the contract, the best split against another way, refusals."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import apportion as ap
from apportion.errors import InvalidValue
from apportion.testing import WORLD_CHECKS

KNOTS = np.linspace(0.0, 1.0, 11)
WORLDS = {
    "jobs": ap.Jobs(needs=(0.4, 0.9, 0.5, 2.0)),
    "thresholds": ap.Thresholds(rates=(0.9, 0.5, 0.8, 0.3), threshold=(0.6, 0.3, 0.5, 0.2)),
    "one threshold": ap.Thresholds(rates=(0.9, 0.5, 0.8, 0.3), threshold=0.3),
    "concave": ap.Concave(values=[np.sqrt(KNOTS), 0.8 * KNOTS, 1.0 - np.exp(-3.0 * KNOTS)], sigma=(0.1, 0.2, 0.3)),
    "slopes": ap.ConcaveSlopes(
        slopes=((2.0, 1.0, 0.2), (1.0, 1.0, 0.0), (1.5, 0.5, 0.5)), knots=(0.0, 0.5, 1.0), sigma=(0.1, 0.2, 0.3)
    ),
    "curves": ap.SuccessCurves(
        chances=((0.0, 0.1, 0.2, 0.8, 0.9), (0.0, 0.4, 0.5, 0.55, 0.6), (0.0, 0.3, 0.3, 0.3, 1.0))
    ),
    "discounted": ap.Discounted(means=(1.0, 0.5, 0.2), discount=0.95, sigma=0.5),
}  # fmt: skip


@pytest.mark.parametrize("check", WORLD_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_contract(world, check):
    check(world)


@pytest.mark.parametrize("budget", [0.7, 1.0, 1.6])
@pytest.mark.parametrize("name", ["jobs", "concave"])
def test_the_best_split_of_concave_worlds_is_that_of_a_linear_program(name, budget):
    world = WORLDS[name]
    if name == "jobs":
        slopes, widths = 1.0 / np.array(world.needs), np.array(world.needs)
    else:
        slopes = np.diff(np.array(world.values), axis=1).ravel() / 0.1
        widths = np.full(slopes.size, 0.1)
    free = [*slopes, 0.0], [(0.0, width) for width in widths] + [(0.0, None)]
    solved = -linprog(-np.array(free[0]), A_eq=np.ones((1, len(free[0]))), b_eq=[budget], bounds=free[1]).fun
    best = ap.Course(world, np.random.default_rng(0)).play(np.full((1, world.arms), budget / world.arms)).best[0]
    assert best == pytest.approx(solved, rel=1e-9)


@pytest.mark.parametrize("budget", [0.3, 1.0, 1.6, 4.0])
def test_the_best_split_of_slopes_is_that_of_many_small_steps(budget):
    """Each step to the arm with the largest slope in its middle: exact up to the square of a step's size."""
    world, steps = WORLDS["slopes"], 4000
    size, amounts, value = budget / steps, np.zeros(world.arms), 0.0
    for _ in range(steps):
        middles = amounts + 0.5 * size
        slopes = [np.interp(x, world.knots, row, right=0.0) for x, row in zip(middles, world.slopes)]
        arm = int(np.argmax(slopes))
        amounts[arm] += size
        value += slopes[arm] * size
    best = ap.Course(world, np.random.default_rng(0)).play(np.full((1, world.arms), budget / world.arms)).best[0]
    assert best == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("budget", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("name", ["thresholds", "one threshold", "curves"])
def test_the_best_split_of_steps_is_that_of_every_split_tried(name, budget):
    world = WORLDS[name]
    if name == "curves":
        choices, steps = [range(5)] * world.arms, round(4 * budget)
        value = max(
            sum(world.chances[arm][level] for arm, level in enumerate(levels))
            for levels in itertools.product(*choices)
            if sum(levels) <= steps
        )
    else:
        value = max(
            sum(rate for rate, one in zip(world.rates, members) if one)
            for members in itertools.product((0, 1), repeat=world.arms)
            if sum(need for need, one in zip(world.thresholds, members) if one) <= budget + 1e-12
        )
    best = ap.Course(world, np.random.default_rng(0)).play(np.full((1, world.arms), budget / world.arms)).best[0]
    assert best == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("name", sorted(set(WORLDS) - {"discounted"}))
def test_the_best_split_has_no_regret_and_adds_up(name):
    world = WORLDS[name]
    assert sum(world.best_split) == pytest.approx(1.0, abs=1e-12)
    assert world.regret(world.best_split) == pytest.approx(0.0, abs=1e-12)


def test_a_threshold_is_reached_by_an_amount_that_misses_it_by_rounding_only():
    """As in the best set: 0.1 + 0.2 pays for 0.3, and 1 − 0.7 for 0.3."""
    world = ap.Thresholds(rates=(0.9, 0.5), threshold=(0.3, 0.7))
    assert 1.0 - 0.7 > 0.3 > 0.3 - 1e-13
    for first in (1.0 - 0.7, 0.3 - 1e-13):
        assert world.regret([first, 1.0 - first]) == pytest.approx(0.0, abs=1e-9)
    assert world.regret([0.3 - 1e-9, 0.7 + 1e-9]) == pytest.approx(0.9)


def test_amounts_and_needs_of_any_size():
    """Thresholds of next to nothing and budgets of any size: no number overflows, and sums are not made too long."""
    for threshold in (5e-324, 1e-300, 1e-30):
        assert ap.Thresholds(rates=(0.5, 0.6), threshold=threshold).regret([0.5, 0.5]) == pytest.approx(
            0.0, abs=1e-12
        )
    large = ap.Thresholds(rates=(0.9, 0.5, 0.4), threshold=(0.1 * 3e6, 0.2 * 3e6, 0.7 * 3e6))
    assert large.regret([0.3e6, 0.6e6, 3e6 - 0.9e6]) == pytest.approx(0.0, abs=1e-9)
    curves = WORLDS["curves"]
    for budget in (1e9, 1e300):
        best = ap.Course(curves, np.random.default_rng(0)).play(np.full((1, curves.arms), budget)).best[0]
        assert best == pytest.approx(sum(row[-1] for row in curves.chances))


def test_discounting_is_what_ending_by_chance_is_on_average():
    """Error budget: a mean of 4000 runs at five standard errors, below 6e-7; the seed is fixed."""
    world = WORLDS["discounted"]
    found = ap.simulate(ap.Uniform(), world, horizon=200, replications=4000, seed=3, periods=1, progress=False)
    regret = found.regret.values.ravel()
    gap = 1.0 - np.mean(world.means)
    exact = gap * (1.0 - world.discount**200) / (1.0 - world.discount)
    assert abs(regret.mean() - exact) < 5.0 * regret.std() / np.sqrt(len(regret))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ap.Jobs(needs=(0.5, 0.0)), r"`needs\[1\]` must be a number above 0"),
        (lambda: ap.Thresholds(rates=(0.5, 1.2)), r"`rates\[1\]` must be a number in \[0, 1\]; got 1.2"),
        (lambda: ap.Thresholds(rates=(0.5,) * 20, threshold=tuple(np.linspace(0.1, 0.2, 20))), "more than 16 arms"),
        (lambda: ap.Concave(values=((0.0, 0.1, 0.5),), knots=(0.0, 0.5, 1.0)), "rise by less and less"),
        (lambda: ap.Concave(values=((0.0, 0.1),), knots=(0.1, 0.5)), "begin with 0"),
        (lambda: ap.ConcaveSlopes(slopes=((1.0, 1.1),)), r"`slopes\[0\]` must be .* that never rise"),
        (lambda: ap.ConcaveSlopes(slopes=((1.0, -0.1),)), "numbers of 0 or more"),
        (lambda: ap.ConcaveSlopes(slopes=((1.0, 0.5),), knots=(0.0, 0.0)), "begin with 0 and rise"),
        (lambda: ap.SuccessCurves(chances=((0.0, 0.5, 0.4),)), "never falling"),
        (lambda: ap.SuccessCurves(chances=((0.0, 0.5), (0.0, 0.4, 0.9))), "`chances`"),
        (lambda: ap.Discounted(means=(1.0, 0.5), discount=1.0), "`discount`"),
    ],
)
def test_what_cannot_be_is_refused(make, sentence):
    with pytest.raises(InvalidValue, match=sentence):
        make()
