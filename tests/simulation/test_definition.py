"""Sweep files: what they mean, and complaints that name the key and the line."""

import textwrap

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import apportion as ap
from apportion.simulation.definition import read_definition

GOOD = """\
[sweep]
seed = 3
replications = 4
horizon = [20, 50]
[grid]
b = [0.5, 0.75]
arms = [2, 3]
gap = 0.5
[[policy]]
name = "UCB"
[[policy]]
name = "Odds"
tilt = 1.0
"""


def write(folder, text):
    path = folder / "sweep.toml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def test_a_file_is_policies_times_instances_times_horizons(tmp_path):
    definition = read_definition(write(tmp_path, GOOD))
    assert definition.name == "sweep"
    assert [plan.horizon for plan in definition.plans] == [20, 50]
    plan = definition.plans[0]
    assert [world.label for world in plan.instances] == [
        f"K={arms} b={b:g} σ=1 Δmin=0.5" for b in (0.5, 0.75) for arms in (2, 3)
    ]
    assert [candidate.label for candidate in plan.policies] == ["UCB", "Odds(tilt=1.0)"]
    assert plan.policy(1, plan.instances[3]) == ap.Odds(b=0.75, tilt=1.0)
    assert (plan.seed, plan.replications, plan.variables) == (3, 4, ("regret", "reward"))
    assert len({job.task.digest() for job in plan.jobs()}) == 2 * 4


def test_everything_that_can_be_said(tmp_path):
    text = """\
    [sweep]
    name = "All of it"
    horizon = 1e2
    periods = [1, 10, 100]
    record = ["shares"]
    common = true
    engine = "dense"
    [[instance]]
    means = [1, 0.5]
    b = 0.5
    sigma = 2
    noise = {name = "student", degrees = 4}
    [grid]
    family = ["linear", "nearly tied", "clustered"]
    noise = ["uniform", {name = "batch", epochs = 10, p = 0.2}]
    sigma = [1.0, 2.0]
    b = 0.75
    arms = 6
    gap = 0.1
    [[policy]]
    name = "Oracle"
    [[policy]]
    name = "SuccessiveElimination"
    b = 0.6
    sigma = 3.0
    """
    definition = read_definition(write(tmp_path, text))
    plan = definition.plans[0]
    assert (definition.name, plan.horizon, plan.checkpoints) == ("All of it", 100, (1, 10, 100))
    assert (plan.variables, plan.common) == (("regret", "shares"), True)
    assert plan.instances[0] == ap.Instance((1, 0.5), 0.5, 2.0, noise=ap.StudentT(4))
    assert len(plan.instances) == 1 + 3 * 2 * 2
    assert plan.policy(1, plan.instances[0]) == ap.SuccessiveElimination(b=0.6, sigma=3.0)


BAD = {
    "no toml": (
        "[sweep\n",
        "is not valid TOML: Expected ']' at the end of a table declaration (at line 1, column 7).",
    ),
    "unknown table": ("[swep]\n" + GOOD, ", line 1: `swep` is not known; known are grid, instance, policy, sweep."),
    "unknown key": (GOOD.replace("seed", "sead"), ", line 2: `sweep.sead` is not known; known are common, engine,"),
    "seed": (GOOD.replace("seed = 3", "seed = -3"), ", line 2: `sweep.seed` is not possible: `seed` must be a whole"),
    "replications": (GOOD.replace("= 4", "= 1.5"), ", line 3: `sweep.replications` is not possible: `replications`"),
    "too many": (
        GOOD.replace("= 4", "= 100000000000"),
        ", line 3: `sweep.replications` is not possible: `replications`",
    ),
    "horizon": (GOOD.replace("[20, 50]", "[20, 0]"), ", line 4: `sweep.horizon` is not possible: `horizon` must be"),
    "horizon text": (GOOD.replace("[20, 50]", "'x'"), ", line 4: `sweep.horizon` is not possible: `horizon` must be"),
    "no horizon": (
        GOOD.replace("horizon = [20, 50]", ""),
        ", line 1: `sweep.horizon` is missing: the number of periods.",
    ),
    "empty horizon": (
        GOOD.replace("[20, 50]", "[]"),
        ", line 4: `sweep.horizon` must be one number, or several different",
    ),
    "same horizon": (
        GOOD.replace("[20, 50]", "[20, 20]"),
        ", line 4: `sweep.horizon` must be one number, or several",
    ),
    "record": (GOOD.replace("seed", "record"), ", line 2: `sweep.record` is not possible: `record` must be a list"),
    "periods": (
        GOOD.replace("seed = 3", "periods = 'x'"),
        ", line 2: `sweep.periods` is not possible: `periods` must",
    ),
    "engine": (GOOD.replace("seed = 3", "engine = 'x'"), ", line 2: `sweep.engine` is not possible: `engine` must"),
    "b": (
        GOOD.replace("0.75]", "1.75]"),
        ", line 6: `grid.b` is not possible: `b` must be a number in [0, 1]; got 1.75.",
    ),
    "b nan": (
        GOOD.replace("0.75]", "nan]"),
        ", line 6: `grid.b` is not possible: `b` must be a number in [0, 1]; got nan.",
    ),
    "arms": (
        GOOD.replace("[2, 3]", "[2, 1]"),
        ", line 7: `grid.arms` is not possible: `arms` must be a whole number in",
    ),
    "many arms": (
        GOOD.replace("[2, 3]", "1000000000"),
        ", line 7: `grid.arms` is not possible: `arms` must be a whole",
    ),
    "no arms": (GOOD.replace("[2, 3]", "[]"), ", line 7: `grid.arms` must have at least one value; got none."),
    "gap": (GOOD.replace("gap = 0.5", "gap = -0.5"), ", line 8: `grid.gap` is not possible: `gap` must be a number"),
    "no gap": (GOOD.replace("gap = 0.5", ""), ", line 5: `grid.gap` is missing."),
    "family": (
        GOOD.replace("gap", "family = 'x'\ngap"),
        ", line 8: `grid.family` is not possible: `family` must be one",
    ),
    "noise": (
        GOOD.replace("gap", "noise = 'x'\ngap"),
        ", line 8: `grid.noise` is not possible: `noise` must be one of",
    ),
    "noise key": (
        GOOD.replace("gap", "noise = {name = 'gaussian', p = 2}\ngap"),
        ", line 8: `grid.noise` is not possible: `noise` must be 'gaussian' without parameters; got 'p'.",
    ),
    "sigma": (
        GOOD.replace("gap", "sigma = 0\ngap"),
        ", line 8: `grid.sigma` is not possible: `sigma` must be a number",
    ),
    "huge grid": (
        GOOD.replace("[0.5, 0.75]", repr([0.5] * 1000)).replace("[2, 3]", repr([2] * 1000)),
        ", line 6: `grid.b` and the others must make at most 100,000 instances.",
    ),
    "policy": (
        GOOD.replace('"UCB"', '"UBC"'),
        ", line 10: `policy.name` is not possible: Policy 'UBC' is not known;",
    ),
    "policy name": (GOOD.replace('"UCB"', "3"), ", line 10: `policy.name` must be the name of a policy."),
    "no policy name": (GOOD.replace('name = "Odds"', ""), ", line 11: `policy.name` must be the name of a policy."),
    "parameter": (
        GOOD.replace("tilt = 1.0", "tilt = -1"),
        ", line 13: `policy.tilt` is not possible: `tilt` must be",
    ),
    "no parameter": (GOOD.replace("tilt", "tild"), ", line 13: `policy.tild` is not possible: TypeError:"),
    "no fit": (
        GOOD.replace('"UCB"', '"EpsilonGreedy"'),
        ", line 10: `policy.name` is not possible: EpsilonGreedy cannot run on K=2 b=0.5 σ=1 Δmin=0.5: `b` must be",
    ),
    "file": (
        GOOD.replace("tilt = 1.0", "file = 'x.py'"),
        ", line 13: `policy.file` must be a Python file; got 'x.py'.",
    ),
    "file number": (GOOD.replace("tilt = 1.0", "file = 3"), ", line 13: `policy.file` must be a Python file; got 3."),
    "no policies": (GOOD.partition("[[")[0], ": at least one [[policy]] must be given; got none."),
    "policy table": (
        GOOD.partition("[[")[0] + "[policy]\nname = 'UCB'",
        ", line 9: `policy` must be tables, each under [[policy]]; got {'name': 'UCB'}.",
    ),
    "policy list": ("policy = [1]\n" + GOOD.partition("[[")[0], ", line 1: `policy` must be tables, each under"),
    "sweep list": (
        "sweep = [3]\n" + GOOD.partition("[grid]")[2].replace("\n", "\n[grid]\n", 1),
        ", line 1: `sweep` must be a table, [sweep]; got [3].",
    ),
    "no instances": (
        GOOD.partition("[grid]")[0] + "[[policy]]\nname='UCB'",
        ": a [grid] or at least one [[instance]]",
    ),
    "instance": (
        "[[instance]]\nmeans = [1, 'x']\nb = 0.5\n" + GOOD,
        ", line 2: `instance.means` is not possible: `means[1]`",
    ),
    "one arm": (
        "[[instance]]\nmeans = [1]\nb = 0.5\n" + GOOD,
        ", line 2: `instance.means` must be at least two numbers",
    ),
    "second": (
        "[[instance]]\nmeans = [1, 2]\nb = 0.5\n[[instance]]\nb = 2\nmeans = [1, 2]\n" + GOOD,
        ", line 5: `instance.b` is not possible: `b` must be",
    ),
    "no means": ("[[instance]]\nb = 0.5\n" + GOOD, ", line 1: `instance.means` is missing."),
    "inline": (
        "sweep = {horizon = 0}\n" + "[grid]" + GOOD.partition("[grid]")[2],
        ", line 1: `sweep.horizon` is not possible: `horizon` must be",
    ),
    "dotted": (
        "sweep.seed = 1\nsweep.horizon = 0\n" + "[grid]" + GOOD.partition("[grid]")[2],
        ", line 2: `sweep.horizon` is not possible: `horizon` must be",
    ),
    "quoted": (GOOD.replace("seed = 3", '"seed" = "3"'), ", line 2: `sweep.seed` is not possible: `seed` must be"),
    "deep": ("x = " + "[" * 20_000, "is not valid TOML: "),
    "long number": ("x = " + "1" * 20_000, "is not valid TOML: "),
}


@pytest.mark.parametrize("case", BAD)
def test_a_complaint_names_the_key_and_the_line(case, tmp_path):
    text, sentence = BAD[case]
    path = write(tmp_path, text)
    with pytest.raises(ap.InvalidValue) as caught:
        read_definition(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert said.removeprefix(str(path)).strip().startswith(sentence.strip()), said
    assert said.endswith(".")
    assert not said.endswith("..")
    assert "\n" not in said


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ap.InvalidValue, match=r"missing\.toml cannot be read: No such file or directory\."):
        read_definition(tmp_path / "missing.toml")
    with pytest.raises(ap.InvalidValue, match=r"cannot be read: Is a directory\."):
        read_definition(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# \xe9t\xe9")
    with pytest.raises(ap.InvalidValue, match="must be a text file in UTF-8; got byte 2 that is not"):
        read_definition(tmp_path / "latin.toml")


LEAVES = (
    st.none().map(lambda _: "nan")
    | st.integers(-3, 5).map(str)
    | st.sampled_from(
        ["1e400", "-inf", "1979-05-27", "07:32:00", "true", "''", "'UCB'", "'one good arm'", "2.5", "0.75"]
    )
    | st.sampled_from(["{}", "{name = 'student', degrees = 1}", "{name = 1}", "'laplace'", "9223372036854775808"])
)
VALUES = LEAVES | st.lists(LEAVES, max_size=3).map(lambda items: f"[{', '.join(items)}]")
KEYS = st.sampled_from(
    ["seed", "replications", "horizon", "periods", "record", "common", "engine", "name", "b", "arms", "gap", "sigma",
     "noise", "family", "means", "file", "tilt", "radius", "x", '"a.b"', "sweep", "policy.name", "grid"]
)  # fmt: skip
LINES = st.one_of(
    st.sampled_from(
        ["[sweep]", "[grid]", "[[instance]]", "[[policy]]", "[policy]", "[x]", "[[sweep]]", "[sweep.x]", ""]
    ),
    st.builds(lambda key, value: f"{key} = {value}", KEYS, VALUES),
)


def refused_or_read(folder, text):
    path = folder / "fuzz.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        definition = read_definition(path)
    except ap.InvalidValue as error:
        return str(error).startswith(str(path))
    return bool(definition.plans)


@given(st.lists(LINES, max_size=12), st.integers(0, 13), st.integers(0, 13))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(["seed = 1"], 1, 2)
def test_edited_files_are_read_or_refused(tmp_path, edits, start, length):
    """Lines of a good file replaced by others: only an `InvalidValue`, never another exception."""
    lines = GOOD.splitlines()
    lines[start : start + length] = edits
    assert refused_or_read(tmp_path, "\n".join(lines))


@given(st.text(max_size=200))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_or_refused(tmp_path, text):
    assert refused_or_read(tmp_path, text)


def test_a_real_world_goes_by_its_key_and_is_given_nothing(tmp_path):
    from apportion.model.real_worlds import find_real_world

    path = tmp_path / "sweep.toml"
    text = '[sweep]\nname = "x"\nseed = 1\nreplications = 2\nhorizon = 10\n[[policy]]\nname = "Uniform"\n'
    text += '[[instance]]\nworld = "nitrogen-sites"\n'
    path.write_text(text, encoding="utf-8")
    (plan,) = read_definition(path).plans
    assert plan.instances == (find_real_world("nitrogen-sites").world,)
    path.write_text(text + "b = 0.5\n", encoding="utf-8")
    with pytest.raises(ap.errors.InvalidValue, match="given nothing: it is as it was fitted; got 'b'"):
        read_definition(path)
