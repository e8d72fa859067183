"""What simulated numbers are made of is found by following imports, and nothing is forgotten."""

import ast
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import apportion
from apportion._common import sources

ROOT = Path(apportion.__file__).parent

LOADED = """
import importlib, json, pkgutil, sys
import apportion.simulation.engines as engines
import apportion.simulation.task
from apportion.policies import POLICIES, find_policy

for found in pkgutil.walk_packages(engines.__path__, engines.__name__ + "."):
    importlib.import_module(found.name)
for name in POLICIES:
    find_policy(name)
print(json.dumps(sorted(name for name in sys.modules if name.startswith("apportion."))))
"""


def output(code, folder=None):
    environment = dict(os.environ) if folder is None else {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_every_module_that_the_engines_and_policies_import_is_found():
    loaded = set(json.loads(output(LOADED)))
    assert {"apportion.simulation.engines.leaping.leap", "apportion.policies.auto", "apportion.model.sums"} <= loaded
    # The version is a name on results; no number is made of it.
    assert loaded - set(sources.modules_reached(sources.simulation_starts())) <= {"apportion._version"}


def test_what_shows_numbers_is_not_what_they_are_made_of():
    found = sources.modules_reached(sources.simulation_starts())
    rooms = {module.split(".")[1] for module in found}
    assert rooms == {"_common", "errors", "inference", "model", "policies", "simulation", "theory"}
    aside = sources.modules_reached(["apportion.simulation.simulate"], aside=["apportion.reporting"])
    assert not any(module.startswith("apportion.reporting") for module in aside)
    assert set(aside) < set(sources.modules_reached(["apportion.simulation.simulate"]))


def test_it_takes_far_less_than_to_read_the_sources_as_programs_are_read():
    """The least of five each; what is measured is a seventh."""
    files = [
        Path(importlib.util.find_spec(name).origin) for name in sources.modules_reached(sources.simulation_starts())
    ]

    def seconds(work):
        begun = time.process_time()
        work()
        return time.process_time() - begun

    digest = min(seconds(lambda: sources.digest_of(sources.simulation_starts())) for _ in range(5))
    assert digest < 0.5 * min(seconds(lambda: [ast.parse(file.read_text()) for file in files]) for _ in range(5))


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("policies/odds.py", True),
        ("policies/new_one.py", True),
        ("simulation/engines/leaping/increments.py", True),
        ("theory/floors.py", True),
        ("inference/fit/words.py", False),
        ("web/app.py", False),
        ("__init__.py", False),
    ],
)
def test_the_digest_follows_an_edit_of_a_file_that_counts(tmp_path, file, counts):
    copy = tmp_path / "apportion"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__", "static", "templates"))
    look = "from apportion._common import sources; print(sources.simulation_digest())"
    before = output(look, tmp_path)
    with (copy / file).open("a", encoding="utf-8") as edited:
        edited.write("# edited\n")
    assert (output(look, tmp_path) != before) == counts
