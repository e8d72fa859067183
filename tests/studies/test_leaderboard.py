"""The leaderboard: the suite is as wide as it says, the score is what it says, the page comes from the run."""

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import apportion as ap
from apportion.cli.app import app
from apportion.simulation.candidates import Informed
from apportion.studies.concave import drawn_cases
from apportion.studies.leaderboard import SUITE, Leaderboard, fresh_suite, run_leaderboard
from apportion.studies.leaderboard.page import Part, write_folder, write_parts
from apportion.studies.leaderboard.plateau import load_curves, run_plateau, save_curves
from apportion.studies.leaderboard.run import FULL, concave_contestants, contestants
from apportion.studies.leaderboard.scores import TAIL_RUNS, Estimate, Score, ratio, score, thompson_bar

SOAK = 10 if os.environ.get("APPORTION_SOAK") else 1

FEW = tuple(case for case in SUITE if case.horizon <= 300)


def test_the_suite_is_wide():
    assert len(SUITE) >= 40
    assert len({case.label for case in SUITE}) == len(SUITE)
    assert {case.family for case in SUITE} == {"one good arm", "linear", "clustered", "nearly tied"}
    assert {case.noise for case in SUITE} == {"gaussian", "rademacher", "uniform"}
    assert {0.0, 0.25, 0.5, 0.75, 1.0} <= {case.b for case in SUITE}
    assert min(case.arms for case in SUITE) == 2
    assert max(case.arms for case in SUITE) == 200
    assert min(case.horizon for case in SUITE) == 100
    assert max(case.horizon for case in SUITE) == 100_000


def test_the_score_is_the_geometric_mean_of_ratios_to_the_best():
    first, second = FEW[:2]
    scores = {
        "a": {first.label: Score(1.0, 0, 10.0, 0), second.label: Score(8.0, 0, 1.0, 0)},
        "b": {first.label: Score(2.0, 0, 5.0, 0), second.label: Score(4.0, 0, 1.0, 0)},
    }
    ranking = Leaderboard((first, second), scores).ranking()
    assert ranking.loc["a", "mean"] == pytest.approx(np.sqrt(1 * 2))
    assert ranking.loc["b", "mean"] == pytest.approx(np.sqrt(2 * 1))
    assert ranking.loc["a", "tail"] == pytest.approx(np.sqrt(2 * 1))
    assert ranking.loc["a", "worst"] == 2.0


def test_a_score_has_standard_errors():
    values = np.random.default_rng(1).exponential(size=1000)
    found = score(values)
    assert found.mean == pytest.approx(1.0, abs=5 * found.mean_error)
    # The 99% quantile of an exponential is log 100; five standard errors: below 1e-6 to fail by chance.
    assert found.tail == pytest.approx(np.log(100), abs=5 * found.tail_error)


def test_a_policy_that_refuses_a_case_is_scored_on_the_others(tmp_path):
    policies = {
        "Recommended": Informed(ap.Recommended),
        "Thompson": Informed(ap.Thompson),
        "EpsilonGreedy": Informed(ap.EpsilonGreedy),
    }
    board = run_leaderboard(cases=FEW, policies=policies, quick=True, path=tmp_path / "suite.json", command="again")
    dividing = sum(case.b > 0.5 for case in FEW)
    assert board.ranking()["cases"].to_dict() == {
        "Recommended": len(FEW), "Thompson": len(FEW), "EpsilonGreedy": dividing,
    }  # fmt: skip
    assert set(board.against_thompson().index) == {case.label for case in FEW}
    page = write_folder(tmp_path).read_text()
    assert all(case.label in page for case in FEW)
    assert "Made by `again`" in page
    assert "A fresh suite" not in page
    assert (tmp_path / "suite.png").stat().st_size > 10_000
    assert Leaderboard.load(tmp_path / "suite.json").scores == board.scores


def test_the_same_seed_gives_the_same_board():
    policies = {"Recommended": Informed(ap.Recommended)}
    first, second = (run_leaderboard(cases=FEW[:1], policies=policies, quick=True, workers=n) for n in (1, 2))
    assert first.scores == second.scores


def test_a_fresh_suite_is_drawn_from_its_seed_and_as_wide():
    cases = fresh_suite(5, 200)
    assert cases == fresh_suite(5, 200)
    assert cases[:44] == fresh_suite(5)
    assert not {case.label for case in fresh_suite(6)} & {case.label for case in cases}
    assert len({case.label for case in cases}) == 200
    assert {case.family for case in cases} == {"one good arm", "linear", "clustered", "nearly tied"}
    assert {case.noise for case in cases} == {"gaussian", "rademacher", "uniform"}
    assert min(case.b for case in cases) < 0.1 < 0.9 < max(case.b for case in cases)
    assert 2 <= min(case.arms for case in cases) <= 3 < 100 < max(case.arms for case in cases) <= 200
    assert 100 <= min(case.horizon for case in cases) < 200 < 20_000 < max(case.horizon for case in cases) <= 100_000
    assert all(case.instance.arms == case.arms for case in cases[:20])


def test_an_interrupted_board_goes_on_where_it_stopped(tmp_path):
    class Interrupted(Exception):
        pass

    def stop(case):
        if case == FEW[1]:
            raise Interrupted

    stored = tmp_path / "suite.json"
    policies = {"Uniform": Informed(ap.Uniform), "Odds": Informed(ap.Odds)}
    with pytest.raises(Interrupted):
        run_leaderboard(cases=FEW[:3], policies=policies, quick=True, on_case=stop, path=stored)
    assert set(Leaderboard.load(stored).scores["Odds"]) == {case.label for case in FEW[:2]}
    # A mark in the file shows what is taken from it and what is played again.
    text = json.loads(stored.read_text())
    text["scores"][FEW[0].label]["Odds"]["score"][0] = 123.0
    text["scores"][FEW[1].label]["Odds"]["score"][0] = 123.0
    text["scores"][FEW[1].label]["Odds"]["made_by"][2] = "other code"
    stored.write_text(json.dumps(text))
    board = run_leaderboard(cases=FEW[:3], policies=policies, quick=True, path=stored)
    whole = run_leaderboard(cases=FEW[:3], policies=policies, quick=True)
    assert board.scores["Odds"][FEW[0].label].mean == 123.0
    assert board.scores["Odds"][FEW[1].label] == whole.scores["Odds"][FEW[1].label]
    assert board.scores["Uniform"] == whole.scores["Uniform"]


def test_a_file_of_another_kind_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "suite.json").write_text("[1, 2]")
    with pytest.raises(ap.InvalidValue, match="must be a data file of a leaderboard; got something else"):
        run_leaderboard(cases=FEW[:1], quick=True, path=tmp_path / "suite.json")
    assert (tmp_path / "suite.json").read_text() == "[1, 2]"


def test_the_error_of_a_ratio():
    """Against 20,000 draws of two independent estimates with 2 and 1 per cent: the error to 5 per cent."""
    rng = np.random.default_rng(3)
    quotients = (10 + 0.2 * rng.standard_normal(20_000)) / (5 + 0.05 * rng.standard_normal(20_000))
    found, error = ratio(Estimate(10.0, 0.2), Estimate(5.0, 0.05))
    assert found == 2.0
    assert error == pytest.approx(quotients.std(), rel=0.05)


def test_also_a_winner_has_a_standard_error_where_another_may_be_the_best():
    """Two policies that are as good as each other, 5% apart in error: the score of either is 1 or a little more."""
    first, second = FEW[:2]
    scores = {
        "a": {case.label: Score(10.0, 0.5, 20.0, 1.0) for case in (first, second)},
        "b": {case.label: Score(10.1, 0.5, 20.2, 1.0) for case in (first, second)},
        "far": {case.label: Score(100.0, 1.0, 200.0, 2.0) for case in (first, second)},
    }
    ranking = Leaderboard((first, second), scores).ranking()
    assert ranking.loc["a", "mean"] == 1.0
    assert ranking.loc["far", "mean"] == pytest.approx(10.0)
    # log a − log min(a, b), both errors 5%: half a normal of 0.05·√2, mean over two cases.
    half_normal = 0.05 * np.sqrt(2.0) * np.sqrt(0.5 - 1.0 / (2.0 * np.pi)) / np.sqrt(2.0)
    for name in ("a", "b"):
        assert ranking.loc[name, "mean_error"] == pytest.approx(half_normal, rel=0.2)
        assert ranking.loc[name, "tail_error"] > 0.0
    alone = Leaderboard((first, second), {name: scores[name] for name in ("a", "far")}).ranking()
    assert alone.loc["a", "mean_error"] == pytest.approx(0.0, abs=1e-12)  # nobody else is near
    assert alone.loc["far", "mean_error"] == pytest.approx(10.0 * np.hypot(0.05, 0.01) / np.sqrt(2.0), rel=0.15)


def test_a_tail_of_too_few_runs_is_not_scored(tmp_path):
    """The second case has 999 runs of one policy: its means count, its tails do not, and stand in brackets."""
    assert FULL.min_runs == TAIL_RUNS == 1000
    first, second = FEW[:2]
    scores = {
        "a": {first.label: Score(1.0, 0.1, 10.0, 1.0), second.label: Score(1.0, 0.1, 7.0, 1.0, 999)},
        "b": {first.label: Score(2.0, 0.1, 40.0, 1.0), second.label: Score(2.0, 0.1, 14.0, 1.0)},
    }
    board = Leaderboard((first, second), scores)
    ranking = board.ranking()
    assert ranking["cases"].tolist() == [2, 2]
    assert ranking["tails"].tolist() == [1, 1]
    assert ranking.loc["b", "tail"] == pytest.approx(4.0)
    page = write_parts(tmp_path, Part(board, "suite", "again")).read_text()
    assert "| (7 ± 1) | 14 ± 1 |" in page


def test_the_policy_with_both_proofs_is_on_the_board():
    assert contestants()["AdaptiveElimination, leader"].parameters == {"split": "leader"}


def test_the_bar_against_thompson():
    large, small, three = (
        next(c for c in SUITE if c.b == b and c.arms == k) for b, k in ((0.6, 5), (0.5, 2), (0.65, 3))
    )
    assert thompson_bar(large, 21.0) == 0.5
    assert np.isnan(thompson_bar(large, 20.0))
    assert thompson_bar(small, 1.0) == 1.1
    assert np.isnan(thompson_bar(three, 100.0))


def test_a_case_that_no_policy_can_reach_is_counted_as_such(tmp_path):
    """The least regret of the case is 14.3, whoever plays it: half of 25 is out of reach, half of 60 is not."""
    case = next(c for c in SUITE if (c.arms, c.b, c.horizon) == (10, 0.75, 100))
    other = case._replace(noise="uniform")

    def page(thompson, ours):
        scores = {name: {c.label: Score(mean, 0.1, 50.0, 1.0) for c in (case, other)}
                  for name, mean in (("Thompson", thompson), ("Recommended", ours))}  # fmt: skip
        board = Leaderboard((case, other), scores)
        text = write_parts(tmp_path, Part(board, "suite", "again")).read_text()
        return board.against_thompson()["bound"], text

    found, text = page(25.0, 20.0)
    assert found.tolist() == pytest.approx([14.3 / 25.0] * 2, rel=0.05)
    assert "of the 2 missed, 2 are reached by no policy on this board, 1 cannot be reached by any policy" in text
    assert "and 1 more could not with Gaussian noise" in text
    assert "† |" in text
    found, text = page(60.0, 50.0)
    assert "0 cannot be reached by any policy" in text
    found, text = page(60.0, 20.0)
    assert found.isna().all()
    assert "missed" not in text.split("## Cases")[0]


def test_the_command_plays_a_fresh_suite_and_writes_its_page(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.cli.studies.fresh_suite", lambda seed: fresh_suite(seed, 2))
    asked = ["study", "leaderboard", "--fresh", "3", "--quick", "--workers", "1", "--json", "--out", str(tmp_path)]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    rows = json.loads(found.stdout)
    assert {row["policy"] for row in rows} >= {"Recommended", "Thompson"}
    page = (tmp_path / "leaderboard.md").read_text()
    assert "A fresh suite" in page
    assert "--fresh 3 --seed 1" in page
    assert all(case.label in page for case in fresh_suite(3, 2))


def test_the_command_plays_concave_worlds_and_the_page_has_them(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.cli.studies.drawn_cases", lambda seed: drawn_cases(seed, 1))
    few = {"Uniform": ap.Uniform(), "EpsilonGreedy": Informed(ap.EpsilonGreedy)}
    monkeypatch.setattr("apportion.studies.leaderboard.run.concave_contestants", lambda: few)
    asked = ["study", "leaderboard", "--concave", "--fresh", "2", "--quick", "--workers", "1", "--out", str(tmp_path)]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    page = (tmp_path / "leaderboard.md").read_text()
    assert "## Fresh concave worlds" in page
    assert "apportion study leaderboard --concave --quick --fresh 2 --seed 1" in page
    assert "| Uniform |" in page
    assert set(concave_contestants()) >= {"Auto", "Recommended", "Matching", "Uniform"}


@pytest.mark.parametrize("b", [0.6, 0.75])
def test_regret_stops_growing_above_one_half(b, tmp_path):
    """To T = 10^5. Measured over 40 runs: the last tenfold adds 4.5% of the regret at b = 0.6 (standard error 0.6%)
    and 0.2% at b = 0.75; Thompson's adds 26%. The bars leave five standard errors of 20 runs; the seed is fixed.
    """
    lines = run_plateau(horizon=100_000, runs=20 * SOAK, exponents=[b], policies=["Recommended", "Thompson"], seed=4)
    ours, pooled = lines
    assert ours.growth < {0.6: 0.1, 0.75: 0.01}[b] * ours.mean[-1]
    assert pooled.growth > 0.15 * pooled.mean[-1]
    assert 2 * ours.mean[-1] < pooled.mean[-1]
    save_curves(lines, tmp_path / "plateau.json")
    assert load_curves(tmp_path / "plateau.json")[0].growth == ours.growth
    assert "Does regret stop growing?" in write_folder(tmp_path).read_text()
    assert (tmp_path / "plateau.png").stat().st_size > 10_000


def test_recommended_against_thompson_on_fresh_short_cases():
    """Never above 1.1 times Thompson at b ≤ 1/2. Twelve unseen cases, 200 runs each: standard error of a ratio about
    0.05, ratios about 0.75 (0.99 where no policy can learn), so five errors of room; the seed is fixed.
    """
    cases = [case for case in fresh_suite(99, 200) if case.b <= 0.5 and case.arms * case.horizon <= 10_000][:12]
    assert len(cases) == 12
    for case in cases:
        means = [
            ap.simulate(
                policy(b=case.b), case.instance, horizon=case.horizon, replications=200 * SOAK, seed=8, periods=1,
                progress=False,
            ).regret.values.mean()
            for policy in (ap.Recommended, ap.Thompson)
        ]  # fmt: skip
        assert means[0] <= 1.1 * means[1], case.label
