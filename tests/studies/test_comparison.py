"""Policies × worlds: the table, users' own by file, what does not play, the real worlds and their headline."""

import json
import sys

import pytest

import apportion as ap
from apportion.errors import InvalidValue
from apportion.model.moving import Moving
from apportion.model.real_worlds import real_worlds
from apportion.studies.comparison import compare, named_policies, named_worlds
from apportion.studies.comparison.page import cost_table, earned_table, ranked, regret_table, write_comparison
from apportion.studies.comparison.worlds import USUAL_POLICIES, USUAL_WORLDS, world_names
from apportion.studies.concave.scores import Score
from apportion.studies.concave.worlds import Case
from apportion.studies.real_worlds.run import BEGIN, END, headline, run_study, write_headline, write_study

OWN = '''
import apportion as ap

class Flat(ap.World):
    """Each arm returns its rate whatever it gets."""
    rates: tuple[float, ...] = (0.2, 0.8)
    def outcome(self, number, arm, amount, state, rng):
        return self.rates[arm], self.rates[arm] + 0.1 * rng.standard_normal()
    def best_value(self, number, budget, state):
        return self.rates.sum()

class Halves(ap.Policy):
    """Half and half."""
    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 1.0 / len(shares)
'''


def test_a_table_of_policies_and_worlds_with_pictures(tmp_path):
    cases = [Case("jobs", ap.Jobs((0.3, 0.5, 0.8, 1.2))), Case("law", ap.Instance((1.0, 0.5), b=0.75))]
    policies = {"mara": ap.published.MARA(), **named_policies(["Odds"])}
    found = compare(policies, cases, horizon=50, runs=3, path=tmp_path / "comparison.json")
    again = compare(policies, cases, horizon=50, runs=3, path=tmp_path / "comparison.json", timed=False)
    assert again.scores == found.scores
    table = earned_table(found.scores)
    assert table.columns == ["policy", "jobs (T = 50)", "law (T = 50)"]
    odds = next(row for row in table.rows if row[0] == "Odds")
    assert odds[1] == ""
    assert "±" in odds[2]
    assert len(regret_table(found.scores).rows) == 3
    assert all(row[2] > 0.0 for row in cost_table(found.costs).rows)
    page = write_comparison(found, tmp_path, "apportion compare").read_text(encoding="utf-8")
    assert "# Policies compared" in page
    assert (tmp_path / "comparison.png").stat().st_size > 5_000


def test_a_policy_and_a_world_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_comparison.py").write_text(OWN, encoding="utf-8")
    policies = named_policies(["own_comparison.py:Halves", "uniform"])
    (case,) = named_worlds(["own_comparison.py:Flat"])
    found = compare(policies, [case], horizon=5, runs=2, timed=False)
    assert [round(score.part, 9) for score in found.scores] == [1.0, 1.0]
    (imported,) = named_worlds(["own_comparison:Flat"])
    assert imported.world == case.world
    with pytest.raises(InvalidValue, match=r"`policy` must be a policy of own_comparison\.py; got 'Flat'"):
        named_policies(["own_comparison.py:Flat"])


def test_own_ones_of_the_same_name_and_instances(tmp_path, monkeypatch):
    """The path tells them apart: neither takes the place of the other. An import path is looked for where one is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [each for each in sys.path if each])
    more = "\nflat = Flat()\ntuned = ap.Odds(b=0.6, tilt=0.5)\n\nclass Uniform(Halves):\n    pass\n"
    for name in ("own_first", "own_second"):
        (tmp_path / f"{name}.py").write_text(OWN + more, encoding="utf-8")
    paths = ["uniform", "own_first:Halves", "own_second.py:Halves", "own_first:tuned", "own_first:Uniform", "Uniform"]
    policies = named_policies(paths)
    assert list(policies) == ["Uniform", "Halves", "own_second.py:Halves", "tuned", "own_first:Uniform"]
    assert policies["tuned"] == ap.Odds(b=0.6, tilt=0.5)
    cases = named_worlds(["own_first:flat", "own_second.py:Flat"])
    assert [case.name for case in cases] == ["Flat K=2", "own_second.py:Flat"]
    with pytest.raises(InvalidValue, match="'own_first:nothing' cannot be imported"):
        named_policies(["own_first:nothing"])


def test_what_cannot_be_compared_is_refused_with_its_reason():
    jobs = Case("jobs", ap.Jobs((0.3, 0.5)))
    with pytest.raises(InvalidValue, match=r"got none that can: `b` of Odds must be given"):
        compare(named_policies(["Odds"]), [jobs], horizon=5, runs=2, timed=False)
    for world, best in ((ap.Thresholds((0.5, 0.6), threshold=2.0), "0"), (ap.Instance((-1.0, -2.0), b=0.5), "-5")):
        with pytest.raises(InvalidValue, match=f"earns something, .* where it earns {best} in 5 periods"):
            compare({"even": ap.Uniform()}, [Case("nothing", world)], horizon=5, runs=2, timed=False)


def test_policies_that_play_everywhere_come_first():
    scores = [
        Score(world, policy, 10, True, 0.5, 0.0, 0.5, 0.0, ahead, 0.0, 1.0, 0.0, 1.0)
        for world, policy, ahead in (
            ("a", "x", 0.1),
            ("b", "x", 0.1),
            ("a", "y", 0.3),
            ("a", "z", 0.2),
            ("b", "z", 0.2),
        )
    ]
    assert ranked(scores) == ["z", "x", "y"]


def test_names_that_are_not_known_are_refused():
    with pytest.raises(InvalidValue, match="`world` must be one of paper, bent, jobs"):
        named_worlds(["mars"])
    with pytest.raises(InvalidValue, match="`policy` must be one of Recommended"):
        named_policies(["Mars"])
    with pytest.raises(InvalidValue, match="default for every parameter"):
        named_worlds(["apportion.model.neighbours:Jobs"])
    assert list(named_policies(USUAL_POLICIES)) == list(USUAL_POLICIES)
    assert len(named_worlds(USUAL_WORLDS)) == len(USUAL_WORLDS)
    assert set(USUAL_WORLDS) <= set(world_names())


def test_real_worlds_have_a_source_and_are_of_one_kind():
    worlds = real_worlds()
    assert len(worlds) == len({each.key for each in worlds}) == 13
    for each in worlds:
        assert each.source
        assert each.about
        assert len(each.arms) == each.world.arms
        assert isinstance(each.world, Moving)
        assert 0.0 < each.world.c <= 1.0
        assert 0.0 <= each.world.b <= 1.0
        assert (
            len({type(each.world.record()), type(each.world.record().base)} - {Moving.Record, ap.Instance.Record})
            == 0
        )
    by_key = {each.key: each.world for each in worlds}
    assert by_key["fields"].b == 0.77
    assert by_key["clicks-median"].c == 0.78
    assert 0.7 <= by_key["tests"].c <= 0.9
    assert 0.4 <= by_key["ads-conversions"].c <= 0.6
    assert by_key["nitrogen-sites"].c == 0.466
    assert [each.periods for each in worlds if each.key.startswith("tests")] == [359, 52, 12]


def test_a_quarter_is_as_many_periods_as_the_world_has_in_one(tmp_path):
    """In 12 months a plan by the quarter is made anew three times, so it is ahead of an even split; told 90 it never
    is (its spend varies around an even plan, which loses a little)."""
    quarters = {each.key: each.quarter for each in real_worlds()}
    assert (quarters["tests"], quarters["tests-weekly"], quarters["tests-monthly"]) == (90, 13, 3)
    assert quarters["nitrogen-sites"] is quarters["fields"] is None
    cases, path = named_worlds(["tests-monthly"]), tmp_path / "scores.json"
    (found,) = compare(named_policies(["QuarterlyRefit"]), cases, horizon=12, runs=10, timed=False, path=path).scores
    never = {"refit": ap.Informed(ap.published.QuarterlyRefit, {"quarter": 90})}
    (without,) = compare(never, cases, horizon=12, runs=10, timed=False, path=path).scores
    assert found.ahead > 5.0 * found.ahead_error
    assert without.ahead < 0.0
    assert "'quarter': 3" in path.read_text(encoding="utf-8")


def test_a_world_that_follows_a_history_ends_with_it():
    """Beyond its end the means would stand still; where they always do there is no end."""
    cases = named_worlds(["tests-monthly", "fields", "bent"])
    assert [case.periods for case in cases] == [12, None, None]
    found = compare(named_policies(["Uniform"]), cases, horizon=20, runs=2, timed=False).scores
    assert [score.horizon for score in found] == [12, 20, 20]
    assert "tests by state and month (T = 12)" in " ".join(earned_table(found).columns)


def test_the_study_of_real_worlds_and_its_headline(tmp_path):
    chosen = [each for each in real_worlds() if each.key in ("ads-revenue", "clicks-low")]
    found = run_study(["Matching", "RiverUCB"], worlds=chosen, runs=2, timed=False)
    table = headline(found.scores)
    assert [row[0] for row in table.rows] == ["an even split", "Matching, told", "RiverUCB"]
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\noutdated\n{END}\nafter\n", encoding="utf-8")
    write_headline(found, readme)
    text = readme.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "Matching, told" in text
    assert "outdated" not in text
    page = write_study(found, tmp_path, "apportion study real-worlds", chosen).read_text(encoding="utf-8")
    assert all(each.source in page for each in chosen)
    readme.write_text("nothing", encoding="utf-8")
    with pytest.raises(InvalidValue, match="must have the lines"):
        write_headline(found, readme)


def test_the_commands(tmp_path, capsys, monkeypatch):
    from typer.testing import CliRunner

    from apportion.cli.app import app

    run = CliRunner().invoke
    done = run(app, ["compare", "--policy", "Uniform", "--world", "jobs", "--horizon", "10", "--runs", "2", "--json"])
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["scores"][0]["policy"] == "Uniform"
    assert data["costs"][0]["microseconds"] > 0.0
    rows = ["arm,amount,outcome"]
    for number in range(40):
        rows += [f"a,{1 + number % 7},{2.0 * (1 + number % 7) ** 0.6 + 0.1 * (number % 3)}",
                 f"b,{1 + number % 5},{(1 + number % 5) ** 0.6 + 0.1 * (number % 4)}"]  # fmt: skip
    (tmp_path / "history.csv").write_text("\n".join(rows), encoding="utf-8")
    asked = ["compare", "--policy", "Uniform", "--history", str(tmp_path / "history.csv"), "--residuals"]
    done = run(app, [*asked, "--horizon", "10", "--runs", "2"])
    assert done.exit_code == 0, done.output
    assert "history.csv" in done.output
    assert "an even split" in done.output
    out = ["--policy", "Uniform", "--horizon", "10", "--runs", "2", "--out", str(tmp_path / "page")]
    read = ["--history", str(tmp_path / "history.csv"), "--arm-column", "arm", "--delimiter", ","]
    assert run(app, ["compare", *read, *out]).exit_code == 0
    page = (tmp_path / "page" / "comparison.md").read_text(encoding="utf-8")
    assert "apportion compare --policy Uniform --history history.csv --delimiter , --horizon 10" in page
    done = run(app, ["compare", "--policy", "Uniform", "--policy", "Odds", "--world", "jobs", *out[2:6]])
    assert "Not played, as they ask for what none of these worlds has (b, σ, c): Odds." in done.output
    for asked, words in (
        (["compare", "--policy", "Uniform", "--residuals"], "`--residuals` must be given with --history"),
        (["compare", "--horizon", "100000000"], "must be a number of at most 1000000; got"),
        (["compare", "--world", "mars"], "`world` must be one of paper, bent"),
        (["study", "real-worlds", "--readme", str(tmp_path / "none.md")], "`readme` must be a text that can be read"),
        (["study", "real-worlds", "--readme", str(tmp_path / "history.csv")], "must have the lines"),
    ):
        done = run(app, asked)
        assert done.exit_code == 2
        assert words in done.output
    asked = ["study", "real-worlds", "--policy", "Uniform", "--world", "fields", "--runs", "2"]
    done = run(app, asked)
    assert done.exit_code == 0, done.output
    assert "Field trials" in done.output
