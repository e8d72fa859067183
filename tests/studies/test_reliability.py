"""The reliability of P(best): drawn worlds are what they are called, cases are counted right, the page is written."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from apportion.allocation.allocator import Allocator
from apportion.cli.app import app
from apportion.errors import InvalidValue
from apportion.policies import Uniform
from apportion.studies.reliability import reliability
from apportion.studies.reliability.page import DATA
from apportion.studies.reliability.run import FIRST_DAY, Bin, ReliabilityStudy, _bins
from apportion.studies.reliability.worlds import KINDS, drawn_rates

DOCS = Path(__file__).parents[2] / "docs"


def told(names, **options):
    """An allocator that is quick: an even split that knows the noise."""
    return Allocator(Uniform(), names, b=0.5, sigma=0.3, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_worlds_are_what_they_are_called(kind):
    rates = drawn_rates(kind, 400, 6, np.random.default_rng(4))
    assert rates.shape == (400, 6)
    assert ((rates > 0) & (rates < 1)).all()
    np.testing.assert_array_equal(rates, drawn_rates(kind, 400, 6, np.random.default_rng(4)))
    logits = np.log(rates / (1 - rates))
    steps = np.diff(logits, axis=0)
    still = np.isclose(steps, 0).mean()
    alike = np.allclose(steps, steps[:, :1])
    assert {"returns stand still": still == 1, "each arm drifts": still == 0 and not alike,
            "arms jump": 0.95 < still < 1, "a season of all arms": still < 0.05 and alike}[kind]  # fmt: skip


def test_cases_are_counted_by_what_was_said_with_an_error_over_worlds():
    said = np.array([[[0.05, 0.95]] * 10, [[0.05, 0.95]] * 10])
    was_best = np.array([[[0.0, 1.0]] * 10, [[0.0, 1.0]] * 5 + [[1.0, 0.0]] * 5])
    low, high = _bins("x", said, was_best)
    assert (low.said, low.happened, low.cases) == (pytest.approx(0.05), 0.25, 20)
    assert (high.said, high.happened, high.cases) == (pytest.approx(0.95), 0.75, 20)
    assert high.error == pytest.approx(np.sqrt(2 * 2.5**2) / 20)


def test_what_was_said_is_compared_with_the_day_after():
    study = reliability(worlds=3, days=40, kits=400, seed=2, make=told)
    for kind in KINDS:
        assert sum(each.cases for each in study.of(kind)) == 3 * (40 - 1 - FIRST_DAY) * study.arms
        assert 0.0 <= study.gap(kind) < 0.2
    happened = sum(each.cases * each.happened for each in study.bins) / sum(each.cases for each in study.bins)
    assert happened == pytest.approx(1 / study.arms)  # one of five is the best
    assert study == reliability(worlds=3, days=40, kits=400, seed=2, make=told)
    with pytest.raises(InvalidValue, match="`worlds` must be"):
        reliability(worlds=1)


def test_the_command_writes_page_numbers_and_picture(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.studies.reliability.run.Auto", Uniform)
    monkeypatch.setattr("apportion.studies.reliability.run.Allocator", lambda _, names, **more: told(names, **more))
    options = ["--worlds", "2", "--days", "30", "--kits", "50"]
    files = ["--out", str(tmp_path / "out"), "--plot", str(tmp_path / "p.svg")]
    done = CliRunner().invoke(app, ["study", "reliability", *options, *files, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == json.loads((tmp_path / "out" / "reliability.json").read_text())
    page = (tmp_path / "out" / "reliability.md").read_text()
    assert "apportion study reliability --worlds 2 --days 30 --kits 50 --seed 1" in page
    assert (tmp_path / "out" / "reliability.png").stat().st_size > 10_000
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
    refused = CliRunner().invoke(app, ["study", "reliability", *options, "--plot", "p.doc"])
    assert refused.exit_code == 2
    assert "ends with .png, .svg, .pdf; got 'p.doc'" in refused.output


def test_the_picture_of_the_docs_is_that_of_its_numbers():
    data = json.loads((DOCS / "reliability" / DATA).read_text(encoding="utf-8"))
    study = ReliabilityStudy(**{**data, "bins": [Bin(**each) for each in data["bins"]]})
    words = " ".join((DOCS / "explanation" / "reliability.md").read_text(encoding="utf-8").split())
    drift, jumps = (study.of(kind)[-1] for kind in ("each arm drifts", "arms jump"))
    told_of_drift = (
        f"Said {100 * drift.said:.1f}%, the arm was the best on the next day in {100 * drift.happened:.0f}%"
    )
    assert told_of_drift in words
    assert f"said {100 * jumps.said:.1f}% in {100 * jumps.happened:.0f}% with jumps" in words
