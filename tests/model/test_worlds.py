"""The built-in worlds: what is expected, the best split against a solver, plain and compiled, means that move."""

import json
import math
import os
import pickle

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import apportion as ap
from apportion._common.compiled import compiled
from apportion.errors import InvalidValue
from apportion.model import world as kernels
from apportion.model.curves import fill_up
from apportion.model.law import value_at
from apportion.model.worlds import WORLDS, find_world, world_from_dict
from apportion.simulation.engines.dense import Dense
from apportion.simulation.engines.records import empty_traces
from apportion.simulation.engines.streams import streams

SOAK = bool(os.environ.get("APPORTION_SOAK"))
MEANS = (1.0, 0.85, 0.7, 0.6, 0.4)
CURVED = {"c": 0.6, "b": 0.5, "sigma": (0.3, 0.2, 0.1, 0.6, 0.15)}
STILL = {
    "instance": ap.Instance(MEANS, **CURVED),
    "saturating": ap.Saturating(MEANS, scale=(0.1, 0.5, 1.0, 2.0, 0.3), b=0.5, sigma=0.4),
    "capped": ap.Capped(MEANS, cap=(0.1, 0.5, 1.0, 2.0, 0.3), b=0.4, sigma=CURVED["sigma"]),
    "logarithmic": ap.Logarithmic(MEANS, scale=0.4, b=0.75, sigma=CURVED["sigma"], noise="laplace"),
}
MOVING = {
    "walk": ap.Moving(STILL["instance"], step=0.03),
    "linear walk": ap.Moving(ap.Instance(MEANS, b=0.75), step=0.03, common_step=0.1),
    "jumps": ap.Moving(STILL["saturating"], jump_every=7),
    "path": ap.Moving(STILL["logarithmic"], path=np.random.default_rng(1).random((9, 5)) + 0.1),
    "capped walk": ap.Moving(STILL["capped"], step=0.1),
    "season": ap.Moving(ap.Instance(MEANS, b=0.5), season=0.5, season_length=20, pattern=(0.7, 1.0, 1.3), spread=0.3),
}
ALL = {**STILL, **MOVING}
each_world = pytest.mark.parametrize("world", ALL.values(), ids=ALL)
each_still_world = pytest.mark.parametrize("world", STILL.values(), ids=STILL)


def expected(world, amounts, means=None):
    """The formulas of the docstrings, in another way."""
    means = np.array(world.means if means is None else means)
    amounts = np.asarray(amounts, dtype=float)
    if isinstance(world, ap.Instance):
        return float(means @ amounts**world.c)
    if isinstance(world, ap.Capped):
        return float(means @ np.minimum(amounts, world.caps))
    scale = np.array(world.scales)
    curve = (
        scale * amounts / (scale + amounts) if isinstance(world, ap.Saturating) else scale * np.log1p(amounts / scale)
    )
    return float(means @ curve)


def solved(world, budget, means=None):
    """The value of the best split by a general solver, from several starts; of a capped world by a linear program."""
    if isinstance(world, ap.Capped):  # of each arm an amount up to its cap, and one that is for nothing
        rates = np.concatenate([np.array(world.means), np.zeros(world.arms)])
        limits = [(0.0, cap) for cap in world.caps] + [(0.0, None)] * world.arms
        return -linprog(-rates, A_eq=np.ones((1, 2 * world.arms)), b_eq=[budget], bounds=limits).fun
    rng = np.random.default_rng(3)
    results = [
        minimize(
            lambda shares: -expected(world, budget * np.abs(shares), means) / budget,
            start,
            bounds=[(0.0, 1.0)] * world.arms,
            constraints={"type": "eq", "fun": lambda shares: shares.sum() - 1.0},
            options={"ftol": 1e-15, "maxiter": 500},
            method="SLSQP",
        )
        for start in (np.full(world.arms, 1.0 / world.arms), *rng.dirichlet(np.ones(world.arms), 3))
    ]
    return max(-result.fun * budget for result in results if abs(result.x.sum() - 1.0) < 1e-9)


@each_still_world
def test_what_is_expected_is_the_formula_and_outcomes_vary_around_it(world):
    amounts = np.array([0.3, 0.1, 2.0, 0.05, 0.7])
    course = ap.Course(world, np.random.default_rng(1))
    played = course.play(np.tile(amounts, (20_000, 1)))
    np.testing.assert_allclose(played.expected, expected(world, amounts), rtol=1e-13)
    deviation = np.array(world.sigmas) * amounts**world.b
    own = np.array([expected(world, np.where(np.arange(5) == arm, amounts, 0.0)) for arm in range(5)])
    # Error budget: 5 means at 5 standard errors, below 3e-6 in each world; the seed is fixed.
    assert (np.abs(played.outcomes.mean(axis=0) - own) < 5.0 * deviation / math.sqrt(20_000)).all()
    np.testing.assert_allclose(played.outcomes.std(axis=0), deviation, rtol=0.05)


@each_still_world
@pytest.mark.parametrize("budget", [0.01, 1.0, 30.0])
def test_the_best_value_is_what_a_solver_finds(world, budget):
    best = kernels.best_value(world.record(), 1, budget, world.initial_state())
    assert best == pytest.approx(solved(world, budget), rel=1e-7)
    shares = np.random.default_rng(2).dirichlet(np.full(5, 0.5), 500) * budget
    assert all(expected(world, split) <= best * (1 + 1e-12) for split in shares)
    if budget == 1.0:
        assert expected(world, world.best_split) == pytest.approx(best, rel=1e-13)
        assert sum(world.best_split) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("make", [ap.Saturating, ap.Logarithmic])
@pytest.mark.parametrize("budget", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_the_best_split_has_equal_marginal_returns_at_any_scale(make, budget):
    world = make(means=(1.0, 1.0 - 1e-9, 0.999, 0.5, -1.0), scale=(1.0, 3.0, 0.01, 1e3, 1.0), b=0.5)
    from apportion.model.curves import best_amounts

    amounts = np.zeros(5)
    best_amounts(world.record(), world.means, budget, amounts)
    assert amounts.sum() == pytest.approx(budget, rel=1e-12)
    ratio = 1.0 + amounts / np.array(world.scales)
    marginal = np.array(world.means) / (ratio**2 if make is ap.Saturating else ratio)
    spent = amounts > 0
    assert amounts[4] == 0.0
    np.testing.assert_allclose(marginal[spent], marginal[0], rtol=1e-9)
    assert (marginal[~spent] <= marginal[0] * (1 + 1e-12)).all()


@pytest.mark.parametrize("make", [ap.Saturating, ap.Logarithmic])
def test_without_a_good_arm_the_budget_goes_where_it_loses_least(make):
    world = make(means=(-1.0, -0.5, -2.0), scale=(0.1, 10.0, 0.2), b=0.5)
    record = world.record()
    single = [expected(world, np.where(np.arange(3) == arm, 1.0, 0.0)) for arm in range(3)]
    assert record.value == pytest.approx(max(single), rel=1e-14)
    assert value_at(record, np.array([0.0, -1.0, 0.0]), 1.0) == 0.0


@pytest.mark.parametrize(
    ("means", "caps", "budget", "amounts"),
    [
        ((1.0, 2.0, 0.5), (0.4, 0.3, 9.0), 1.0, (0.4, 0.3, 0.3)),
        ((1.0, 2.0, -0.5), (0.4, 0.3, 9.0), 1.0, (0.4, 0.6, 0.0)),  # the rest goes where it does no harm
        ((-1.0, -2.0, -3.0), (0.5, 0.1, 0.2), 1.0, (0.0, 1.0, 0.0)),  # a loss is capped too
        ((-1.0, -2.0, -3.0), (0.5, 0.1, 0.2), 0.05, (0.05, 0.0, 0.0)),
    ],
)
def test_a_capped_world_is_filled_from_the_best_arm_down(means, caps, budget, amounts):
    found = np.zeros(3)
    fill_up(np.array(means), np.array(caps), budget, found)
    np.testing.assert_allclose(found, amounts, rtol=1e-12)
    world = ap.Capped(means, caps, b=0.5)
    best = kernels.best_value(world.record(), 1, budget, world.initial_state())
    assert best == pytest.approx(expected(world, amounts), rel=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_plain_is_compiled(name):
    """Divided; and evenly, and on one arm, which is another compilation each: of two worlds but in a soak."""
    world, others = ALL[name], (ap.Uniform(), ap.UCB())
    for policy in (ap.Odds(b=0.5), *(others if SOAK or name in ("capped", "walk") else ())):
        results = []
        for plain in (True, False):
            traces = empty_traces(2, 40, 5)
            Dense(policy, world, 40, range(1, 41), plain=plain).run(streams("check", 3, 0, 2), traces)
            results.append((traces.regret, traces.reward))
        for plain, machine in zip(*results):
            np.testing.assert_allclose(plain, machine, rtol=1e-12, atol=1e-12)


@each_world
def test_regret_is_never_negative(world):
    amounts = np.random.default_rng(5).dirichlet(np.full(5, 0.3), 200)
    played = ap.Course(world, np.random.default_rng(6)).play(amounts)
    assert (played.regret > -1e-12).all()
    np.testing.assert_allclose(played.best - played.expected, played.regret, atol=1e-12)


@each_world
def test_a_world_survives_json_and_pickling(world):
    written = json.loads(json.dumps(world.to_dict()))
    assert world_from_dict(written) == world
    assert pickle.loads(pickle.dumps(world)) == world
    assert written.get("world", "Instance") == type(world).__name__


@each_world
def test_simulations_play_it(world):
    policies = [ap.Odds(b=0.5), ap.Odds(b=0.75)]
    found = ap.simulate(policies, world, horizon=50, replications=3, seed=1, progress=False)
    again = ap.simulate(policies, world, horizon=50, replications=3, seed=1, progress=False)
    assert np.isfinite(found.regret.values).all()
    assert (found.regret.values == again.regret.values).all()
    assert found.dataset["instance"].values.tolist() == [world.label]


def means_of(world, periods, seed=1):
    """The means of some periods."""
    state, rng, record = world.initial_state(), np.random.default_rng(seed), world.record()
    rows = []
    for number in range(1, periods + 1):
        kernels.advance(record, number, state, rng)
        rows.append(state[: world.arms].copy())
    return np.array(rows)


def test_a_walk_starts_at_the_means_and_has_the_steps_it_is_given():
    base = ap.Instance((1.0, 2.0, -0.5, 0.0), b=0.5)
    rows = means_of(ap.Moving(base, step=0.03), 4000)
    np.testing.assert_array_equal(rows[0], base.means)
    steps = np.diff(np.log(np.abs(rows[:, :3])), axis=0)
    # Error budget: the deviation of 3999 steps is known to 1.1%, five times that is allowed.
    np.testing.assert_allclose(steps.std(axis=0), 0.03, rtol=0.06)
    assert abs(np.corrcoef(steps.T)[0, 1]) < 0.08
    assert (rows[:, 2] < 0.0).all()
    assert (rows[:, 3] == 0.0).all()
    together = np.diff(np.log(means_of(ap.Moving(base, common_step=0.03), 50)[:, :2]), axis=0)
    np.testing.assert_allclose(together[:, 0], together[:, 1], rtol=1e-9)


def test_jumps_move_the_means_on_by_one_arm():
    rows = means_of(ap.Moving(ap.Instance((3.0, 2.0, 1.0), b=0.5), jump_every=150), 451)
    assert rows[[0, 149]].tolist() == [[3.0, 2.0, 1.0]] * 2
    assert rows[[150, 299]].tolist() == [[1.0, 3.0, 2.0]] * 2
    assert rows[450].tolist() == [3.0, 2.0, 1.0]


def test_a_path_is_followed_and_its_last_row_stays():
    path = [[1.0, 0.0], [0.5, 0.6], [0.2, 0.9]]
    rows = means_of(ap.Moving(ap.Instance((9.0, 9.0), b=0.5), path=path), 5)
    assert rows.tolist() == [*path, path[-1], path[-1]]


def test_common_factors_multiply_and_regret_follows_the_period():
    base = ap.Instance((1.0, 0.5), b=0.5)
    season = means_of(ap.Moving(base, season=0.5, season_length=200), 400)
    np.testing.assert_allclose(season[:, 0], 1.0 + 0.5 * np.sin(2 * np.pi * np.arange(400) / 200), rtol=1e-12)
    np.testing.assert_allclose(season[:, 1] * 2.0, season[:, 0])
    spread = means_of(ap.Moving(base, spread=0.3), 20_000)[:, 0]
    # Error budget: five standard errors of the mean and of the deviation of the logarithm.
    assert abs(spread.mean() - 1.0) < 5 * 0.31 / math.sqrt(20_000)
    assert abs(np.log(spread).std() - 0.3) < 5 * 0.3 / math.sqrt(40_000)
    both = ap.Moving(base, season=0.5, pattern=(0.5, 2.0), step=0.1)
    played = ap.Course(both, np.random.default_rng(4)).play(np.full((60, 2), 0.5))
    means = means_of(both, 60, seed=4)
    assert played.best[0] == pytest.approx(means[0].max())
    assert ap.Course(both, np.random.default_rng(4)).play(np.zeros((1, 2))).best[0] == 0.0


def test_common_noise_moves_every_policy_alike():
    world = ap.Moving(ap.Instance((1.0, 0.5), b=0.5), step=0.2)
    options = {"horizon": 40, "replications": 2, "seed": 1, "progress": False, "periods": range(1, 41)}
    found = ap.simulate([ap.Uniform(), ap.Uniform()], world, common=True, **options)
    np.testing.assert_array_equal(found.regret.values[0], found.regret.values[1])


def test_users_get_a_sentence():
    base = ap.Instance((1.0, 0.5), b=0.5)
    cases = {
        "`scale` must be a number above 0; got -1.0.": lambda: ap.Saturating((1.0, 2.0), -1.0, 0.5),
        "`scale` must be a number, or one per arm (2); got (1.0, 2.0, 3.0).": lambda: ap.Logarithmic(
            (1.0, 2.0), (1.0, 2.0, 3.0), 0.5
        ),
        "`cap` must be a number above 0; got 0.0.": lambda: ap.Capped((1.0, 2.0), 0.0, 0.5),
        "`base` must be a world given by means, such as apportion.Instance; got 3.": lambda: ap.Moving(3),
        "`step` must be a number of at least 0; got -1.0.": lambda: ap.Moving(base, step=-1.0),
        "`path` must be rows of 2 numbers, one per arm; got shape (1, 3).": lambda: ap.Moving(
            base, path=[[1.0, 2.0, 3.0]]
        ),
        "`path` must be finite numbers; got nan.": lambda: ap.Moving(base, path=[[1.0, math.nan]]),
    }
    for sentence, make in cases.items():
        with pytest.raises(InvalidValue) as error:
            make()
        assert str(error.value) == sentence
    with pytest.raises(InvalidValue, match="depends on how it moves"):
        ap.Moving(base, step=0.1).regret([0.5, 0.5])
    with pytest.raises(
        InvalidValue, match="`world` must be one of Instance, Saturating, Logarithmic, Capped, Moving"
    ):
        find_world("Nowhere")


def test_every_world_has_its_place():
    assert [find_world(name).__name__ for name in WORLDS] == list(WORLDS)
    assert all(hasattr(ap, name) for name in WORLDS)


def test_the_best_value_of_many_arms_is_found_in_compiled_code():
    rng = np.random.default_rng(8)
    world = ap.Saturating(rng.random(2000), rng.random(2000) + 0.1, b=0.5)
    record = world.record()
    assert compiled(value_at_plain)(record, record.means) == pytest.approx(record.value, rel=1e-12)


def value_at_plain(record, means):
    """`value_at` as compiled code calls it."""
    return value_at(record, means, 1.0)
