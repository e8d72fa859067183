"""The leaderboard: the suite is as wide as it says, the score is what it says, the page comes from the run."""

import numpy as np
import pytest

import apportion as ap
from apportion.leaderboard import SUITE, Board, run_leaderboard
from apportion.leaderboard.board import Score, score
from apportion.leaderboard.page import write_page
from apportion.simulation.run import Informed

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
    ranking = Board((first, second), scores).ranking()
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
    board = run_leaderboard(cases=FEW, policies=policies, quick=True)
    dividing = sum(case.b > 0.5 for case in FEW)
    assert board.ranking()["cases"].to_dict() == {
        "Recommended": len(FEW), "Thompson": len(FEW), "EpsilonGreedy": dividing,
    }  # fmt: skip
    assert set(board.against_thompson().index) == {case.label for case in FEW}
    page = write_page(board, tmp_path, "apportion leaderboard").read_text()
    assert all(case.label in page for case in FEW)
    assert (tmp_path / "leaderboard.png").stat().st_size > 10_000


def test_the_same_seed_gives_the_same_board():
    policies = {"Recommended": Informed(ap.Recommended)}
    first, second = (run_leaderboard(cases=FEW[:1], policies=policies, quick=True, workers=n) for n in (1, 2))
    assert first.scores == second.scores
