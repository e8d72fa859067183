"""The command line as a user meets it: in a process of its own."""

import json
import os
import re
import subprocess
import sys

import pytest

import apportion as ap


def apportion(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "apportion", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "110", "PYTHONIOENCODING": "utf-8", **environment},
        check=False,
    )


@pytest.fixture(scope="module")
def demo():
    return apportion("demo", "--repeats", "1", "--seed", "5")


def test_the_demo_shows_four_problems_being_solved(demo):
    assert demo.returncode == 0
    assert demo.stderr == ""
    titles = re.findall(r"─ (\d)\. ([\w ]+) ─", demo.stdout)
    assert titles == [
        ("1", "Research hours"), ("2", "Venture capital"), ("3", "Test kits"), ("4", "Half a year of test kits"),
    ]  # fmt: skip


def test_each_section_has_splits_learning_and_earnings(demo):
    sections = re.split(r"─ \d\. ", demo.stdout)[1:]
    for section, splits in zip(sections, ("5 hours, day by day", "1,000 thousand EUR, month by month", "343 kits")):
        assert f"The split of {splits}" in section
        assert "What was learned after" in section
        assert "What it earned in a season" in section
        for rival in ("knowing the best split", "apportion (Odds)", "all on one arm (Thompson)", "even split"):
            assert rival in section


def test_the_demos_kits_are_whole_and_add_up(demo):
    section = demo.stdout.partition("Test kits")[2].partition("What was learned")[0]
    rows = re.findall(r"^│ +(\d+) │(.*)│$", section, flags=re.MULTILINE)
    assert len(rows) >= 5
    for _, cells in rows:
        assert sum(int(cell) for cell in cells.split("│")) == 343


def test_the_demo_is_the_same_for_the_same_seed(demo):
    assert apportion("demo", "--repeats", "1", "--seed", "5").stdout == demo.stdout


def test_theory_for_people_and_for_machines():
    table = apportion("theory", "--arms", "10", "--horizon", "1e4", "--b", "0.75")
    assert table.returncode == 0
    assert "10 arms, 10,000 periods, b = 0.75, σ = 1" in table.stdout
    assert "divide" in table.stdout
    plain = apportion("theory", "--arms", "10", "--horizon", "1e4", "--b", "0.75", "--json")
    facts = json.loads(plain.stdout)
    assert (facts["arms"], facts["horizon"], facts["b"], facts["sigma"]) == (10, 10_000, 0.75, 1.0)
    values = {fact["what"]: fact["value"] for fact in facts["facts"]}
    bound = ap.theory.minimax_lower_bound(10, 10_000, 0.75, 1.0, constant="sharp")
    assert values["no policy's worst case is below"] == bound
    assert values["pool or divide"] == "divide"


@pytest.mark.parametrize(("b", "advice"), [("0", "pool"), ("0.5", "either"), ("1", "divide")])
def test_theory_knows_the_phase_transition(b, advice):
    facts = json.loads(apportion("theory", "--b", b, "--json").stdout)["facts"]
    assert facts[0]["value"] == advice


def test_theory_of_given_means_with_diminishing_returns():
    done = apportion("theory", "--means", "1,0.5,0.5,0.5,0.5", "--b", "0.5", "--c", "0.5", "--json")
    facts = json.loads(done.stdout)
    assert (facts["arms"], facts["c"], facts["means"]) == (5, 0.5, [1.0, 0.5, 0.5, 0.5, 0.5])
    values = {fact["what"]: fact["value"] for fact in facts["facts"]}
    assert values["pool or divide"] == "divide"
    assert values["optimal split"] == "50.0%, 12.5%, 12.5%, 12.5%, 12.5%"
    assert values["regret ÷ log T of the best policies"] == pytest.approx(2**0.5)
    assert "no policy's worst case is below" not in values  # the paper's theorems are of returns in proportion
    proportional = json.loads(apportion("theory", "--means", "1, 0.5, 0.5", "--b", "0.5", "--json").stdout)
    assert {fact["what"]: fact["value"] for fact in proportional["facts"]}["regret ÷ log T is at least"] == 8.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--c", "0"), "`c` must be a number in (0, 1]; got 0.0."),
        (("--means", "1,a"), "`means` must be numbers separated by commas; got '1,a'."),
        (("--means", "1,nan"), "`means` must be finite numbers; got nan."),
        (("--b", "1.3"), "`b` must be a number in [0, 1]; got 1.3."),
        (("--b", "nan"), "`b` must be a number in [0, 1]; got nan."),
        (("--sigma", "0"), "`sigma` must be a number above 0; got 0.0."),
        (("--horizon", "0.5"), "`horizon` must be a whole number of at least 1; got 0.5."),
        (("--horizon", "inf"), "`horizon` must be a whole number of at least 1; got inf."),
        (
            ("--sigma", "1e308", "--horizon", "1e300", "--json"),
            "`sigma` must be small enough for finite bounds at a horizon of 1e+300; got 1e+308.",
        ),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(arguments, sentence):
    done = apportion("theory", *arguments)
    assert done.returncode == 2
    assert done.stderr == sentence + "\n"
    assert done.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("theory", "--nonsense"),
        ("theory", "--arms", "many"),
        ("theory", "--arms", "1"),
        ("demo", "--repeats", "0"),
        ("demo", "--seed", "-1"),
    ],
)
def test_usage_errors_exit_with_2_and_no_traceback(arguments):
    done = apportion(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "Usage: " in done.stderr


def test_help_and_version():
    done = apportion("--help")
    assert done.returncode == 0
    assert {"demo", "theory"} <= set(re.findall(r"\w+", done.stdout))
    for command in ("demo", "theory"):
        assert apportion(command, "-h").returncode == 0
    assert apportion("--version").stdout == f"apportion {ap.__version__}\n"


def test_help_shows_the_commands_in_their_groups():
    shown = apportion("--help").stdout
    marks = [shown.index(f"─ {title} ─") for title in ("Campaigns", "Files", "Understand", "Laboratory", "Service")]
    assert marks == sorted(marks)
    parts = [shown[low:high] for low, high in zip(marks, [*marks[1:], None])]
    for part, names in zip(parts, (
        ("new", "split", "record", "status", "settings", "arms", "campaigns"),
        ("import", "export", "check", "upgrade"),
        ("fit", "backtest", "theory"), ("simulate", "study"), ("serve", "token", "doctor", "demo"),
    )):  # fmt: skip
        listed = re.findall(r"^│ ([a-z-]+) ", part, re.M)
        assert [name for name in listed if name in names] == list(names)


def test_studies_stand_together_and_not_beside_the_commands():
    below = apportion("study", "--help").stdout
    for name in ("paper", "leaderboard", "robustness"):
        assert re.search(rf"^│ {name} ", below, re.M)
    for old in ("reproduce", "leaderboard", "robustness"):
        refused = apportion(old, "--quick")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"No such command '{old}'" in refused.stderr


def test_a_terminal_without_greek_letters_gets_no_traceback():
    done = apportion("theory", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "? = 1" in done.stdout


def imported(code):
    """The top-level modules that a fresh interpreter holds after running `code`."""
    script = (
        f"import sys\n{code}\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_importing_the_package_imports_next_to_nothing():
    assert not {"numpy", "numba", "scipy", "pandas", "typer", "rich"} & imported("import apportion")


def test_help_imports_nothing_heavy():
    code = """
    sys.argv = ["apportion", "--help"]
    from apportion.cli import main
    try:
        main()
    except SystemExit:
        pass
    """
    lines = [line.removeprefix("    ") for line in code.splitlines()]
    assert not {"numpy", "numba", "scipy", "pandas", "xarray", "matplotlib"} & imported("\n".join(lines))


def test_live_use_with_few_arms_does_not_load_the_compiler():
    code = "import apportion as ap; a = ap.Allocator(ap.Odds(b=0.75), ('x', 'y')); a.tell(a.ask().ticket, {'x': 1})"
    assert not {"numba", "pandas"} & imported(code)
