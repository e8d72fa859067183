"""The study of concave worlds: the worlds are as they say, a score is what it says, the page comes from the run."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import apportion as ap
from apportion.cli.app import app
from apportion.simulation.candidates import Informed
from apportion.simulation.engines.streams import restart, streams
from apportion.studies.concave import NAMED, Case, Score, drawn_cases, scores, swings
from apportion.studies.concave import told as told_study
from apportion.studies.concave.scores import possible
from apportion.studies.concave.worlds import Recipe

SAME = ("error", "even_error", "ahead_error", "regret", "regret_error", "even_regret")


def parts(world):
    """The world at rest inside a moving one."""
    return world.base if isinstance(world, ap.Moving) else world


def test_the_worlds_are_wide_and_names_tell_them_apart():
    for cases in (NAMED, drawn_cases(3, 60)):
        assert len({case.name for case in cases}) == len(cases)
        kinds = {type(parts(case.world)) for case in cases}
        assert kinds == {ap.Instance, ap.Saturating, ap.Logarithmic, ap.Capped}
        assert min(case.world.arms for case in cases) == 3
        assert max(case.world.arms for case in cases) == 20
        assert 20 < sum(case.steady for case in cases) < len(cases) - 9
        spreads = [max(parts(case.world).sigmas) / min(parts(case.world).sigmas) for case in cases]
        assert 15.0 < max(spreads) <= 20.0 * (1 + 1e-9)


def test_the_noise_of_a_recipe_is_that_of_an_even_share():
    recipe = Recipe("logarithmic", 0.7, 6, 3.0, 0.4, 0.5, 8.0)
    world = recipe.world(5)
    even = 1.0 / 6
    returns = np.array(world.means) * world.scales * np.log1p(even / np.array(world.scales))
    ratio = np.array(world.sigmas) * even**0.4 / returns
    assert np.exp(np.log(ratio).mean()) == pytest.approx(0.5)
    assert max(world.means) / min(world.means) == pytest.approx(3.0)


def test_what_is_possible_is_of_the_same_runs_as_the_regret():
    world = ap.Moving(ap.Instance((1.0, 0.5, 0.7), b=0.5, c=0.7, sigma=(0.1, 0.2, 0.3)), step=0.2, spread=0.3)
    best, even = possible(world, 60, 3, 4)
    found = ap.simulate(
        ap.Uniform(), world, horizon=60, replications=3, seed=4, periods=range(1, 61), common=True, progress=False
    )
    np.testing.assert_allclose(best - even, found.regret.values[0, 0], atol=1e-12)


def test_a_policy_that_knows_the_means_earns_the_optimum_and_is_ahead_of_even():
    world = ap.Instance((1.0, 0.5, 0.2), b=0.5, c=0.8, sigma=0.1)
    told, even = scores({"told": Informed(ap.Oracle), "even": ap.Uniform()}, [Case("bent", world)], 2, 1, [400])
    assert told.part == pytest.approx(1.0)
    assert told.ahead == pytest.approx(1.0 - told.even)
    assert even.part == even.even
    assert (told.missed, even.missed) == ((), ("gain", "optimum"))


def test_the_bars_are_those_of_the_horizon():
    bent = {"world": "w", "policy": "p", **dict.fromkeys(SAME, 0.0)}
    behind = Score(horizon=100, steady=True, part=0.88, even=0.95, ahead=-0.07, **bent)
    assert behind.missed == ()
    assert behind._replace(horizon=400).missed == ("even", "optimum")
    assert behind._replace(horizon=400, steady=False).missed == ("even",)
    assert behind._replace(horizon=2000, part=0.93, ahead=-0.02).missed == ("optimum",)
    assert behind._replace(even=0.89, ahead=-0.01).missed == ("gain",)


def test_the_command_writes_a_page_and_goes_on_from_its_scores(tmp_path):
    command = ["study", "concave", "--fresh", "2", "--worlds", "1", "--runs", "2", "--policy", "Uniform"]
    first = CliRunner().invoke(app, [*command, "--out", str(tmp_path)])
    assert first.exit_code == 0, first.output
    assert "met in worlds" in first.output
    page = (tmp_path / "concave.md").read_text(encoding="utf-8")
    assert "World by world" in page
    stored = (tmp_path / "concave.json").read_text(encoding="utf-8")
    assert len(json.loads(stored)["scores"]) == 3
    again = CliRunner().invoke(app, [*command, "--out", str(tmp_path), "--json"])
    rows = json.loads(again.output)
    assert {row["horizon"] for row in rows} == {100, 400, 2000}
    assert all(row["ahead"] == 0.0 for row in rows)
    assert (tmp_path / "concave.json").read_text(encoding="utf-8") == stored


def test_fading_is_matching_with_what_the_allocator_forgets():
    world = ap.Instance((1.0, 0.8, 0.3), b=0.75, c=0.8, sigma=(0.2, 0.4, 0.1))
    fading = told_study.Fading(half_life=5.0, b=0.75, sigma=world.sigma, c=0.8)
    matching = ap.Matching(b=0.75, sigma=world.sigma, c=0.8)
    names = ("a", "b", "c")
    options = {"horizon": 30, "replications": 1, "seed": 1, "record": ("shares",), "periods": range(1, 31)}
    assert matching.randomised is False
    found = ap.simulate(fading, world, common=True, progress=False, **options).dataset["shares"].values[0, 0, 0]
    noise = told_study_noise(world)
    allocator = ap.Allocator(matching, names, half_life=5.0)
    course = ap.Course(world, noise, common=True)
    for shares in found:
        split = allocator.ask()
        np.testing.assert_allclose([split.shares[name] for name in names], shares, atol=1e-9)
        played = course.play([shares])
        allocator.tell(split.ticket, dict(zip(names, played.outcomes[0].tolist())))


def told_study_noise(world):
    """The first stream of noise of `simulate(..., common=True, seed=1)`."""
    noise = streams(["noise", world.to_dict()], 1, 0, 1)
    restart(noise.generator, noise.state, noise.seeds[0])
    return noise.generator


def test_the_tables_of_what_it_costs_not_to_know():
    assert len(told_study.grid_cases()) == 28
    assert len(told_study.moving_cases()) == 28
    grid = [made(case, policy) for case in told_study.grid_cases() for policy in told_study.grid_policies()]
    moving = [made(case, policy) for case in told_study.moving_cases() for policy in told_study.moving_policies()]
    assert {row[-1] for row in told_study.grid_table(grid).rows} == {2.0}
    assert {row[-1] for row in told_study.moving_table(moving).rows} == {4.0}
    asked = [row[2] for row in told_study.bars(grid, moving).rows]
    assert asked == pytest.approx([2.0, 2.0, 4.0, 1.0])
    assert [row[-1] for row in told_study.bars(grid, moving).rows] == [False, False, False, True]


def test_how_far_successive_shares_are_apart():
    assert swings.mean_swing(1.0, 0.75, 10, runs=2, seed=1, policy=ap.Uniform()) == (0.0, 0.0)
    swing, error = swings.mean_swing(0.9, 0.4, 5, runs=4, seed=1, policy=ap.UCB())
    assert 0.1 < swing < 1.0
    assert 0.0 < error < swing


def made(case, policy):
    """A score with a regret of 4 for Auto, 2 for those that are told something, and 1 with a half-life."""
    regret = {"Auto": 4.0, told_study.FORGETS_NOTHING: 2.0, "Recommended": 2.0, "Matching": 2.0}.get(policy, 1.0)
    same = dict.fromkeys((*SAME, "part", "even", "ahead"), 0.5)
    return Score(**{**same, "world": case.name, "policy": policy, "horizon": 1, "steady": True, "regret": regret})
