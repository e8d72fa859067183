"""The replay of a history: rates are read as they stand, counts follow them, and the page says what was found."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import apportion as ap
from apportion.cli.app import app
from apportion.errors import InvalidValue
from apportion.studies.replay import Rates, read_rates, replay
from apportion.studies.replay.page import bars
from apportion.studies.replay.rates import Replay
from apportion.studies.replay.run import AUTO, BEST, EVEN, _bins, _holds


def written(path, rows):
    """A file of rows (date, arm, amount, outcome)."""
    lines = ["date,arm,amount,outcome", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def small(tmp_path):
    """Forty days of three arms; the best one changes in the middle."""
    rows = []
    for day in range(40):
        rates = (0.3, 0.1, 0.05) if day < 20 else (0.05, 0.1, 0.4)
        rows += [
            (f"2021-{1 + day // 28:02}-{1 + day % 28:02}", arm, 100, 100 * rate) for arm, rate in zip("xyz", rates)
        ]
    return written(tmp_path / "tests.csv", rows)


def test_gaps_take_the_last_rate_and_the_first_one_at_the_start(tmp_path):
    rows = [("2021-01-01", "x", 10, 1), ("2021-01-02", "x", 10, 2), ("2021-01-02", "y", 10, 5),
            ("2021-01-03", "x", 10, 3), ("2021-01-04", "x", 10, 4), ("2021-01-04", "y", 0, 0)]  # fmt: skip
    found = read_rates(written(tmp_path / "a.csv", rows), mean_days=1)
    assert found.arms == ("x", "y")
    np.testing.assert_allclose(found.rates, [[0.1, 0.5], [0.2, 0.5], [0.3, 0.5], [0.4, 0.5]])
    three = read_rates(written(tmp_path / "a.csv", rows), mean_days=3, days=3)
    np.testing.assert_allclose(three.rates[:, 0], [0.15, 0.2, 0.3])


def test_what_cannot_be_replayed_is_refused_in_a_sentence(tmp_path):
    above = written(tmp_path / "a.csv", [("2021-01-01", "x", 10, 11), ("2021-01-01", "y", 10, 1)])
    with pytest.raises(InvalidValue, match="outcomes from 0 to their amount"):
        read_rates(above)
    with pytest.raises(InvalidValue, match="`arms` must be some of x, y; got 'z'"):
        read_rates(above, arms=("x", "z"))
    nothing = written(tmp_path / "b.csv", [("2021-01-01", "x", 10, 1), ("2021-01-01", "y", 0, 0)])
    with pytest.raises(InvalidValue, match="Arm 'y' has no day with an amount and an outcome"):
        read_rates(nothing)


def test_counts_follow_the_rates():
    world = Replay(np.array([[0.2, 0.7]] * 400))
    played = ap.Course(world, np.random.default_rng(1)).play(np.full((400, 2), 50.0))
    # Error budget: two means at five standard errors, below 2e-6; the seed is fixed.
    error = np.sqrt(50 * np.array([0.16, 0.21]) / 400)
    assert (np.abs(played.outcomes.mean(axis=0) - [10.0, 35.0]) < 5 * error).all()
    assert (played.best == 70.0).all()
    assert (played.outcomes == np.round(played.outcomes)).all()


def test_p_best_is_held_against_the_next_days():
    rates = np.array([[0.1, 0.2], [0.3, 0.2], [0.1, 0.2], [0.1, 0.9]])
    said = np.array([[[0.6, 0.4], [0.6, 0.4], [0.05, 0.95]]])
    found = _bins(said, rates, 1)
    assert [(each.said, each.happened, each.cases) for each in found] == [
        (0.05, 0.0, 1), (0.4, 0.5, 2), (0.6, 0.5, 2), (0.95, 1.0, 1)
    ]  # fmt: skip
    later = _bins(said, rates, 3)
    assert [(each.said, each.happened) for each in later] == [(0.4, 1.0), (0.6, 0.0)]
    assert _bins(said, rates, 30) == []


def test_an_interval_of_a_bent_law_is_held_against_the_rate_at_its_amount():
    allocator = ap.Allocator(ap.Matching(b=0.5, sigma=0.1, c=0.5), ("x", "y"))
    split = allocator.ask(8.0)
    allocator.tell(split.ticket, {"x": 2.0, "y": 2.0})  # μ = 1 at c = 1/2, a rate of 1/2 at 4 units
    held = _holds(allocator.beliefs(), ("x", "y"), np.array([4.0, 4.0]), np.array([0.5, 1.0]))
    assert held.tolist() == [1.0, 0.0]


def test_a_replay_says_what_was_found(small):
    rates = read_rates(small, mean_days=1)
    study = replay(rates, kits=30, runs=2)
    assert (len(rates.dates), study.days, study.arms) == (40, 40, ("x", "y", "z"))
    even, best = study.row(EVEN), study.row(BEST)
    assert best.found == pytest.approx(30 * (20 * 0.3 + 20 * 0.4))
    assert even.found == pytest.approx(30 * rates.rates.mean(axis=1).sum(), rel=1e-9)
    assert (even.gain, best.gain) == (pytest.approx(0.0), 1.0)
    assert even.covered is None
    assert 0.0 <= study.row(AUTO).covered <= 1.0
    assert study.best_memory.found >= study.row("no forgetting").found
    assert [row[1] for row in bars(study).rows] == [0.98, 0.75, 0.90]
    again = replay(Rates(*rates), kits=30, runs=2)
    assert again == study


def test_the_command_writes_page_data_and_picture(small, tmp_path):
    out = tmp_path / "out"
    command = ["study", "replay", str(small), "--kits", "30", "--days", "35", "--runs", "2", "--arms", "x,z"]
    done = CliRunner().invoke(app, [*command, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "What is asked and what was found" in done.output
    assert {"replay.json", "replay.md", "reliability.png", "reliability.svg"} <= {each.name for each in out.iterdir()}
    data = json.loads((out / "replay.json").read_text(encoding="utf-8"))
    assert (data["arms"], data["days"], data["kits"]) == (["x", "z"], 35, 30)
    page = (out / "replay.md").read_text(encoding="utf-8")
    assert "--arms x,z" in page
    assert str(tmp_path) in page.split("--out")[1]
