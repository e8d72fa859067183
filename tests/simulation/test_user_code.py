"""A user's own policy, from a file of their own: it runs, it shows, and an edit is never missed."""

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import apportion as ap
from apportion.simulation.definition import read_definition
from apportion.simulation.sweep import run_sweep
from apportion.testing import check_policy

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def _forget_modules(monkeypatch, tmp_path):
    """Files of the same name in other folders belong to other tests."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def example(tmp_path):
    """The example in a folder of its own, with fewer runs."""
    for name in ("my_policy.py", "my_policy.toml"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    toml = tmp_path / "my_policy.toml"
    small = (
        toml.read_text().replace("replications = 200", "replications = 5").replace("horizon = 2000", "horizon = 50")
    )
    assert small != toml.read_text()
    toml.write_text(small)
    return toml


SCRIPT = """
import json, sys
from pathlib import Path
from apportion.simulation import executors
from apportion.simulation.definition import read_definition
from apportion.simulation.sweep import run_sweep
ran, run = [], executors.run_elsewhere
executors.run_elsewhere = lambda task, code: ran.append(task.policy.label) or run(task, code)
result, = run_sweep(read_definition(Path(sys.argv[1])), Path(sys.argv[2]))
print(json.dumps({"ran": sorted(ran), "regret": result.regret.values.tolist(),
                  "policies": result.summary().index.get_level_values(0).tolist()}))
"""


def in_a_fresh_process(toml, folder):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(toml), str(folder)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_the_example_runs_and_an_edit_changes_what_runs(example, tmp_path):
    first = in_a_fresh_process(example, tmp_path / "out")
    assert first["policies"] == ["Leading(explore=0.05)"] * 2 + ["Odds"] * 2 + ["Uniform"] * 2
    assert len(first["ran"]) == 6
    here = run_sweep(read_definition(example), tmp_path / "here", progress=False)[0]
    assert here.regret.values.tolist() == first["regret"]

    # An edit of the same length, at once: by its time and size the file is the old one.
    file = tmp_path / "my_policy.py"
    text = file.read_text()
    edited = text.replace("period.number > 1", "period.number > 9", 1)
    assert len(edited) == len(text)
    assert edited != text
    file.write_text(edited)
    second = in_a_fresh_process(example, tmp_path / "out")
    assert second["ran"] == ["Leading(explore=0.05)"] * 2  # the others are kept
    assert second["regret"][0] != first["regret"][0]
    assert second["regret"][1:] == first["regret"][1:]
    # In this process too, which has the machine code of the old one.
    again = run_sweep(read_definition(example), tmp_path / "here", progress=False)[0]
    assert again.regret.values.tolist() == second["regret"]
    # And back: what was computed first is still there.
    file.write_text(text)
    third = in_a_fresh_process(example, tmp_path / "out")
    assert (third["ran"], third["regret"]) == ([], first["regret"])


def test_an_edit_in_a_module_that_the_policy_uses_is_noticed(tmp_path):
    (tmp_path / "own_helper.py").write_text(
        "from apportion import kernel\n@kernel\ndef most(arms):\n    return 1.0 / arms\n"
    )
    (tmp_path / "own_even.py").write_text(
        textwrap.dedent("""
        from apportion import Policy
        from own_helper import most
        class Even(Policy):
            def allocate(self, period, sums, memory, rng, shares):
                for arm in range(len(shares)):
                    shares[arm] = most(len(shares))
    """)
    )
    toml = tmp_path / "sweep.toml"
    toml.write_text(
        "[sweep]\nhorizon = 5\nreplications = 2\n[[instance]]\nmeans = [1, 0]\nb = 0.5\n"
        "[[policy]]\nname = 'Even'\nfile = 'own_even.py'\n"
    )
    digests = []
    for helper in ("return 1.0 / arms", "return 2.0 / 4.0 "):
        file = tmp_path / "own_helper.py"
        file.write_text(file.read_text().rpartition("    return")[0] + f"    {helper}\n")
        code = (
            "import sys; from pathlib import Path\n"
            "from apportion.simulation.definition import read_definition\n"
            f"print(read_definition(Path({str(toml)!r})).plans[0].jobs()[0].task.digest())"
        )
        run = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=True)
        digests.append(run.stdout)
    assert digests[0] != digests[1]


def test_the_example_keeps_the_contract_and_learns(example):
    plan = read_definition(example).plans[0]
    cls = plan.policies[0].cls
    assert cls.__doc__
    lines = [
        line for line in (EXAMPLES / "my_policy.py").read_text().partition("class ")[2].splitlines() if line.strip()
    ]
    assert len(lines) <= 15
    check_policy(cls(explore=0.2))
    world = ap.Instance((1.0, 0.5, 0.5), b=0.75, sigma=0.3)
    found = ap.simulate([cls(explore=0.2), ap.Uniform()], world, horizon=300, replications=20, seed=1, progress=False)
    leading, uniform = found.regret.isel(period=-1).mean("replication").values.ravel()
    assert leading < 0.5 * uniform
    provenance = found.provenance
    assert list(provenance["own policies"]) == ["Leading"]


def test_the_same_file_is_loaded_once_and_an_edited_one_anew(example, tmp_path):
    one, two = (read_definition(example).plans[0].policies[0].cls for _ in range(2))
    assert one is two
    file = tmp_path / "my_policy.py"
    file.write_text(file.read_text() + "\n# a remark\n")
    three = read_definition(example).plans[0].policies[0].cls
    assert three is not one


HEAD = "[sweep]\nhorizon = 5\n[[instance]]\nmeans = [1, 0]\nb = 0.5\n[[policy]]\n"


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("own_broken", "def x(:\n", ", line 8: `policy.file` cannot be loaded: SyntaxError: "),
        ("own_broken", "import nothing_of_this_name", ", line 8: `policy.file` cannot be loaded: ModuleNotFound"),
        ("own_broken", "1 / 0", ", line 8: `policy.file` cannot be loaded: ZeroDivisionError: "),
        ("own_broken", "raise SystemExit(3)", ", line 8: `policy.file` cannot be loaded: SystemExit: 3."),
        ("own_broken", "\0", ", line 8: `policy.file` cannot be loaded: "),
        ("own_broken", "", ", line 7: `policy.name` must be a policy of own_broken.py; got 'Mine'."),
        ("own_broken", "Mine = 3", ", line 7: `policy.name` must be a policy of own_broken.py; got 'Mine'."),
        ("random", "", ", line 8: `policy.file` cannot be loaded: `file` must have a name that no other"),
        ("this", "", ", line 8: `policy.file` cannot be loaded: `file` must have a name that no other"),
        (
            "own_broken",
            "from apportion import Policy\nclass Mine(Policy):\n"
            "    def allocate(self, period, seen, memory, rng, shares):\n        shares[2] = 1.0\n",
            ", line 7: `policy.name` is not possible: Mine cannot run on K=2 b=0.5 σ=1 Δmin=1: IndexError",
        ),
        (
            "own_broken",
            "from apportion import Policy\nclass Mine(Policy):\n    x: float = 1 / 2\n"
            "    def __post_init__(self):\n        raise KeyError('no')\n"
            "    def allocate(self, period, seen, memory, rng, shares):\n        shares[0] = 1.0\n",
            ", line 7: `policy.name` is not possible: Mine cannot run on K=2 b=0.5 σ=1 Δmin=1: KeyError: 'no'.",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, file, content, sentence):
    (tmp_path / f"{file}.py").write_text(content)
    toml = tmp_path / "sweep.toml"
    toml.write_text(f"{HEAD}name = 'Mine'\nfile = '{file}.py'\n")
    with pytest.raises(ap.InvalidValue) as caught:
        read_definition(toml)
    assert str(caught.value).removeprefix(str(toml)).startswith(sentence), str(caught.value)


def test_the_phase_transition_can_be_seen(tmp_path):
    """The example with fewer and shorter runs: pooling does not care about b, dividing does."""
    text = (EXAMPLES / "phase_transition.toml").read_text()
    small = text.replace("replications = 100", "replications = 10").replace("horizon = 5000", "horizon = 500")
    assert small.count("replications = 10\n") == small.count("horizon = 500\n") == 1
    (tmp_path / "phase.toml").write_text(small)
    (result,) = run_sweep(read_definition(tmp_path / "phase.toml"), tmp_path / "out", progress=False)
    mean = result.regret.isel(period=-1).mean("replication")
    assert mean["b"].values.tolist() == [0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    ucb, odds = mean.sel(policy="UCB").values, mean.sel(policy="Odds").values
    assert ucb.max() < 2.0 * ucb.min()
    assert odds[-1] < 0.25 * odds[0]
    assert np.isfinite(mean.values).all()
