"""Violated assumptions: the compiled loop is the Allocator, nothing explodes, remedies help, the page is its data."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import apportion as ap
from apportion._common import files
from apportion.cli.app import app
from apportion.studies.concave import drawn_cases
from apportion.studies.robustness import BY_KEY, POLICIES, VIOLATIONS, WORLDS, CellName, Study, run_study
from apportion.studies.robustness.findings import paragraphs, verdict
from apportion.studies.robustness.page import write_study
from apportion.studies.robustness.paper_law import ByThePaper, believers
from apportion.studies.robustness.play import Run, play, play_fast
from apportion.studies.robustness.study import Cell
from apportion.studies.robustness.violations import CORRELATION, LARGEST_LEVEL, noise_over_time

DOCS = Path(__file__).parents[2] / "docs"
SCALE = 10 if os.environ.get("APPORTION_SOAK") else 1
WORLD_NAMES = [world.name for world in WORLDS]
NOISY = ("unequal", "shock", "serial")


@pytest.fixture(scope="module")
def study():
    """All violations, small: two policies, 600 periods, 60 runs (600 in a soak)."""
    return run_study(horizon=600, runs=60 * SCALE, seed=5, policies=("Recommended", "Thompson"))


@pytest.mark.parametrize("violation", VIOLATIONS, ids=lambda violation: violation.key)
def test_the_compiled_loop_is_the_allocator(violation):
    """Period by period, beyond the delay and the arrival of late arms."""
    for world in WORLDS:
        for policy in POLICIES:
            run = Run(policy, world, violation, horizon=50, seed=7, number=3)
            np.testing.assert_allclose(play_fast(run), play(run, 50), rtol=0, atol=1e-9)


def test_the_compiled_window_is_the_allocators_when_outcomes_leave_it(monkeypatch):
    monkeypatch.setattr("apportion.studies.robustness.violations.WINDOW", 11)
    monkeypatch.setattr("apportion.studies.robustness.violations.HALF_LIFE", 4.0)
    for key in ("window", "half-life", "jump-window"):
        for policy in POLICIES:
            run = Run(policy, WORLDS[0], BY_KEY[key], horizon=60, seed=7, number=3)
            np.testing.assert_allclose(play_fast(run), play(run, 60), rtol=0, atol=1e-9)


def test_the_same_seed_gives_the_same_numbers_whatever_the_workers():
    one, other = (
        run_study(horizon=40, runs=3, seed=4, workers=workers, policies=("Odds",), violations=("delay", "late"))
        for workers in (1, 3)
    )
    assert one.to_json() == other.to_json()


def test_unequal_and_correlated_noise_is_what_it_says():
    """20,000 periods: a correlation to 0.03 (four standard errors), a deviation to 3%."""
    noise = {key: noise_over_time(BY_KEY[key], 20_000, 5, np.random.default_rng(8)) for key in NOISY}
    np.testing.assert_allclose(noise["unequal"].std(axis=0), np.geomspace(2.0, 0.5, 5), rtol=0.03)
    np.testing.assert_allclose(np.corrcoef(noise["shock"].T)[np.triu_indices(5, 1)], 0.5, atol=0.03)
    for key in ("shock", "serial"):
        np.testing.assert_allclose(noise[key].std(axis=0), 1.0, rtol=0.03)
    for arm in range(5):
        series = noise["serial"][:, arm]
        assert np.corrcoef(series[1:], series[:-1])[0, 1] == pytest.approx(0.5, abs=0.03)
        assert np.corrcoef(series[2:], series[:-2])[0, 1] == pytest.approx(0.25, abs=0.03)


def test_bent_returns_are_held_against_the_best_split():
    """Even shares of 1/5 at A^0.7: μ·5^(−0.7) each, and the best split has (Σ μ^(1/0.3))^0.3."""
    run = Run("Uniform", WORLDS[0], BY_KEY["bent"], horizon=30, seed=7, number=0)
    means = np.array(WORLDS[0].means)
    best = np.sum(means ** (1 / 0.3)) ** 0.3
    np.testing.assert_allclose(play_fast(run), best - 5**-0.7 * means.sum(), rtol=1e-12)


def test_every_policy_meets_the_same_course():
    for violation in VIOLATIONS:
        one, other = (Run(policy, WORLDS[0], violation, 50, 1, 2).course() for policy in ("Odds", "Thompson"))
        np.testing.assert_array_equal(one.means, other.means)
        np.testing.assert_array_equal(one.noise, other.noise)
    jump = Run("Odds", WORLDS[0], BY_KEY["jump"], 8, 1, 1).course()
    assert jump.means.argmax(axis=1).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    late = Run("Odds", WORLDS[0], BY_KEY["late"], 9, 1, 1).course()
    assert (late.early_arms, late.arrival) == (3, 4)
    assert late.means[0].argmax() == 4


def test_nothing_explodes(study):
    """With σ or b wrong, other noise than is assumed, delays and late arms regret is not linear, and it is bounded.

    By four times that of the clean world; for unequal σ and lasting noise the next test has the bound.

    Error budget: the worst ratio measured is 2.24 with a standard error of 0.10 (Thompson given twice σ), the worst
    second half 28% ± 1% of an even split's where 50% is called linear (41 ± 4% of 120 with unequal σ): the bounds are
    over 15, and with unequal σ 5, standard errors away.
    """
    for key in study:
        violation = BY_KEY[key.violation]
        if violation.means == "steady" and violation.noise != "slips" and violation.remedy in ("none", "robust"):
            if violation.c < 1.0:
                continue  # another law than is assumed: the next two tests say what holds
            assert not study.linear(key), key
            if key.violation not in ("unequal", "serial"):
                assert study.ratio(key)[0] < 4.0, key


# As if the noise of every arm were so many times as large: the largest σ of unequal ones; the root of the variance of
# a long mean over that of independent noise, (1 + ρ)/(1 − ρ), where periods are correlated by ρ = 0.5.
SLOWER = {"unequal": LARGEST_LEVEL, "serial": ((1 + CORRELATION) / (1 - CORRELATION)) ** 0.5}


@pytest.mark.parametrize("key", SLOWER)
@pytest.mark.parametrize(("world", "policy"), [(0, "Recommended"), (1, "Recommended"), (0, "Thompson")])
def test_unequal_and_lasting_noise_costs_about_what_noise_that_large_everywhere_costs(key, world, policy):
    """At most 1.5 times the regret with every arm's noise f times what is assumed, which is f times that with the gap
    and the assumed σ f times smaller, as nothing but their quotient counts.

    Four times the clean regret is no bound: with noise of 2 and 1 assumed a rule learns four times as slowly *and*
    trusts too early (T = 2000, 400 runs: 4.6 ± 0.4 and 5.7 ± 0.5 times the clean regret for Recommended). Nor is the
    regret with that noise everywhere: a wrong arm that is quiet is left more slowly than one that is noisy.

    Error budget: measured with 600 runs 0.8 ± 0.06, 1.13 ± 0.07 and 1.05 ± 0.06 times it with unequal σ, 0.86 ± 0.06
    or less with lasting noise; with 240 runs 1.5 is over three standard errors away.
    """
    factor, place = SLOWER[key], WORLDS[world]
    quieter = place._replace(gap=place.gap / factor)
    assumed = BY_KEY["sigma-half"]._replace(sigma_factor=1.0 / factor)
    lost, everywhere = (
        sum(play_fast(Run(policy, where, violation, 600, 5, number)).sum() for number in range(240))
        for where, violation in ((place, BY_KEY[key]), (quieter, assumed))
    )
    assert lost < 1.5 * factor * everywhere


def test_a_shock_that_arms_share_is_no_loss(study):
    """It cancels in what arms return in one period: dividing learns faster by it, pooling sees one arm and nothing of
    it. Three standard errors on the side of the bound; measured 0.66 ± 0.04, and 0.7 ± 0.1 to 1.11 ± 0.07."""
    for key in study:
        if key.violation == "shock":
            ratio, error = study.ratio(key)
            limit = 1.0 if (key.world, key.policy) == ("divide", "Recommended") else 1.5
            assert ratio + 3.0 * error < limit, key


def test_what_is_told_that_returns_are_proportional_loses_for_ever_where_they_diminish(study):
    """By design: it ends with all on one arm, or nearly, and in every period loses what the best split has over it.

    Returns as A^0.7: V − max μ = (Σ μ^(1/0.3))^0.3 − max μ a period, 0.106 in both worlds, where an even split loses
    0.133. Recommended and Thompson lose 0.106 to 0.18 (measured, standard errors of 0.001 to 0.007)."""
    for key in study:
        if key.violation == "bent":
            means = np.array(next(world.means for world in WORLDS if world.name == key.world))
            least = (means ** (1.0 / 0.3)).sum() ** 0.3 - means.max()
            late = study.cells[key].late
            assert study.linear(key), key
            assert late.mean() > 0.97 * least * study.horizon / 2, key


@pytest.mark.parametrize("world", WORLDS, ids=WORLD_NAMES)
def test_auto_is_told_nothing_and_bends(world):
    """In the same worlds Auto finds c: its regret is not linear by the rule of the study, and below an even split's.

    Error budget: 30 runs; the second half loses 4% (± 1%) and 23% (± 4%) of what an even split does, where 50% is
    called linear, and all of it 12% and 54% (± 5%) where 100% is the bound: six standard errors at least."""
    instance = ap.Instance(world.means, b=world.b, sigma=1.0, c=0.7)
    found = ap.simulate(ap.Auto(), instance, horizon=600, replications=30, seed=5, periods=[300, 600], progress=False)
    half, whole = found.regret.values[0, 0].mean(axis=0)
    even = 600 * instance.regret(np.full(world.arms, 1.0 / world.arms))
    assert whole - half < 0.5 * (even / 2)
    assert whole < even


def test_the_detector_of_linear_regret_sees_it():
    """An even split is linear by definition; regret that stopped in the first half is not."""
    even = {("divide", "clean"): Cell(np.full(50, 400.0), np.full(50, 200.0))}
    key = CellName("divide", "Odds", "clean")
    noise = np.random.default_rng(1).standard_normal(50)
    for late, linear in ((200.0, True), (120.0, True), (100.0, False), (3.0, False)):
        cells = {key: Cell(np.full(50, 300.0), late + noise)}
        assert Study(1000, 1, cells, even).linear(key) is linear


def test_remedies_help_where_they_should(study):
    """Regret with the remedy over that without, the same runs: below 1 by three standard errors at least."""
    for remedy, violation in (("slips-robust", "slips"), ("jump-window", "jump"), ("jump-half-life", "jump")):
        for world in WORLD_NAMES:
            ratio, error = study.ratio(CellName(world, "Recommended", remedy), violation)
            assert ratio + 3.0 * error < 1.0, (remedy, world, ratio, error)


def test_the_robust_option_costs_little_where_nothing_is_wrong(study):
    for world in WORLD_NAMES:
        ratio, error = study.ratio(CellName(world, "Recommended", "robust"))
        assert ratio - 3.0 * error < 1.25


def test_a_study_comes_back_from_its_file(study):
    back = Study.from_json(study.to_json())
    assert back.to_json() == study.to_json()
    assert (back.horizon, back.seed, back.runs, list(back)) == (600, 5, study.runs, list(study))
    assert study.apart < 1e-8
    for text in ("", "[]", "{}", '{"format": "x"}', study.to_json().replace('"total"', '"none"')):
        with pytest.raises(ap.IncompatibleState):
            Study.from_json(text)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"policies": ("Uniform",)}, "`policies` must be one of 'Recommended', 'Odds', 'Thompson', "),
        ({"violations": ("rain",)}, "`violations` must be one of 'clean', 'sigma-half', "),
        ({"runs": 1}, "`runs` must be a whole number of at least 2; got 1."),
        ({"horizon": 3}, "`horizon` must be a whole number of at least 30; got 3."),
    ],
)
def test_what_cannot_be_played_is_refused(options, sentence):
    with pytest.raises(ap.InvalidValue) as caught:
        run_study(**options)
    assert str(caught.value).startswith(sentence)


def test_the_page_in_the_docs_is_what_its_data_say(tmp_path):
    (tmp_path / "robustness").mkdir()
    text = (DOCS / "robustness" / "data.json").read_text(encoding="utf-8")
    page = (DOCS / "robustness.md").read_text(encoding="utf-8")
    command = page.partition("Made by `")[2].partition("`")[0]
    for path in (DOCS / "robustness").glob("concave*.json"):
        files.write_text(tmp_path / "robustness" / path.name, path.read_text(encoding="utf-8"))
    again = write_study(Study.from_json(text), tmp_path / "robustness", command)
    assert again.read_text(encoding="utf-8") == page
    assert (tmp_path / "robustness" / "data.json").read_text(encoding="utf-8") == text


def test_the_full_study_in_the_docs_keeps_its_promises():
    found = Study.from_json((DOCS / "robustness" / "data.json").read_text(encoding="utf-8"))
    assert set(found) == {
        CellName(world.name, policy, violation.key)
        for world in WORLDS
        for policy in POLICIES
        for violation in VIOLATIONS
    }
    assert found.runs >= 400
    assert found.apart < 1e-8
    for key in found:
        if key.policy == "Recommended" and BY_KEY[key.violation].group in (
            "σ wrong",
            "b wrong",
            "delay",
            "late arms",
        ):
            assert not found.linear(key)
    assert verdict(found) in (DOCS / "robustness.md").read_text(encoding="utf-8")
    assert len(paragraphs(found)) == 9
    assert all("Lost" in text for _, text in paragraphs(found))


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr("apportion.cli.studies.QUICK_HORIZON", 30)
    monkeypatch.setattr("apportion.cli.studies.QUICK_RUNS", 2)
    runner = CliRunner()
    out = tmp_path / "robustness"
    result = runner.invoke(app, ["study", "robustness", "--quick", "--json", "--out", str(out)])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert len(rows) == len(WORLDS) * len(POLICIES) * len(VIOLATIONS)
    assert all(row["apart_from_allocator"] < 1e-8 for row in rows)
    assert (out / "robustness.png").stat().st_size > 10_000
    assert f"Made by `apportion study robustness --quick --seed 2 --out {out}`" in out.with_suffix(".md").read_text()


def test_by_the_paper_is_one_sigma_and_returns_in_proportion():
    world = ap.Instance((1.0, 0.5), b=0.6, c=0.7, sigma=(0.1, 0.4))
    by_the_paper = ByThePaper(ap.Recommended).on(world)
    assert (by_the_paper.b, by_the_paper.sigma, by_the_paper.c) == (0.6, pytest.approx(0.2), 1.0)
    told = believers()["Recommended, told the law"].on(world)
    assert told == ap.Recommended(b=0.6, sigma=(0.1, 0.4), c=0.7)


def test_the_page_has_the_concave_worlds_too(tmp_path, monkeypatch):
    few = {"Uniform": ap.Uniform()}
    monkeypatch.setattr("apportion.cli.studies.drawn_cases", lambda seed: drawn_cases(seed, 1))
    monkeypatch.setattr("apportion.studies.robustness.paper_law.believers", lambda: few)
    out = tmp_path / "robustness"
    asked = ["study", "robustness", "--concave", "--fresh", "2", "--quick", "--workers", "1", "--out", str(out)]
    assert CliRunner().invoke(app, asked).exit_code == 0
    assert not out.with_suffix(".md").exists()
    (out / "data.json").write_text((DOCS / "robustness" / "data.json").read_text(encoding="utf-8"))
    assert CliRunner().invoke(app, asked).exit_code == 0
    page = out.with_suffix(".md").read_text(encoding="utf-8")
    assert "## The same in worlds drawn at random" in page
    assert "apportion study robustness --concave --quick --fresh 2 --seed 2" in page
    alone = CliRunner().invoke(app, ["study", "robustness", "--fresh", "2"])
    assert alone.exit_code == 2


def test_an_interrupted_study_goes_on_where_it_stopped(tmp_path):
    """A mark in the file shows what is taken from it and what is played again."""

    class Interrupted(Exception):
        pass

    def stop(done, total):
        if done == 3:
            raise Interrupted

    path = tmp_path / "data.json"
    options = {"horizon": 30, "runs": 2, "seed": 3, "workers": 1, "policies": ("Odds",), "violations": ("delay",)}
    with pytest.raises(Interrupted):
        run_study(**options, path=path, on_cell=stop)
    data = json.loads(path.read_text())
    assert len(data["cells"]) == 3
    data["cells"][0]["total"][0] = 123.0
    path.write_text(json.dumps(data))
    played = []
    again = run_study(**options, path=path, on_cell=lambda done, total: played.append((done, total)))
    assert played == [(4, 4)]
    assert next(iter(again.cells.values())).total[0] == 123.0
    other = run_study(**options | {"seed": 4}, path=path)
    assert other.to_json() == run_study(**options | {"seed": 4}).to_json()
