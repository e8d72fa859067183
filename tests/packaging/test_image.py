"""The Docker image: what it may install is written down with hashes, and agrees with what the package asks for.

No Docker is needed: under `make soak` the commands of the Dockerfile run here, in folders of our own. They alone ask
a network.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from closure import closure
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import apportion as ap

ROOT = Path(__file__).parent.parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")
COMMANDS = re.findall(r"^RUN (.+)", DOCKERFILE, re.MULTILINE)
(PYTHON,) = set(re.findall(r"^FROM python:([\d.]+)-slim", DOCKERFILE, re.MULTILINE))
(EXTRAS,) = re.findall(r"^ARG EXTRAS=(.+)", DOCKERFILE, re.MULTILINE)
FILE = ROOT / "requirements-image.txt"
MACHINES = ("x86_64", "aarch64")
PIN = re.compile(r"(\S+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)")
PATIENCE = 600
AS_THE_IMAGE = (sys.platform, f"{sys.version_info[0]}.{sys.version_info[1]}") == ("linux", PYTHON)
# It downloads 250 MB.
WHOLE = os.environ.get("APPORTION_SOAK") == "1" and AS_THE_IMAGE


def asked_of_the_image():
    """What pyproject.toml asks for: the package, its extras, its build."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = declared["project"]["optional-dependencies"]
    every = Requirement(extras["all"][0]).extras
    base = [*declared["build-system"]["requires"], *declared["project"]["dependencies"]]
    return base + [line for extra in every for line in extras[extra]]


def pins(text):
    """The version of each package, and how many hashes it has."""
    return {canonicalize_name(name): (version, hashes.count("--hash")) for name, version, hashes in PIN.findall(text)}


@pytest.mark.parametrize("machine", MACHINES)
def test_every_package_that_the_image_needs_has_its_version_and_hashes(machine):
    place = {
        "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": machine,
        "implementation_name": "cpython", "platform_python_implementation": "CPython",
        "python_version": PYTHON, "python_full_version": f"{PYTHON}.0",
    }  # fmt: skip
    constrained = {
        canonicalize_name(name): version
        for name, version in (line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    }
    pinned = pins(FILE.read_text())
    needed = closure(asked_of_the_image(), place=place)
    assert set(pinned) == {*map(canonicalize_name, needed)}, "`make hashes` writes the file anew"
    assert {name: version for name, (version, _) in pinned.items()} == {name: constrained[name] for name in pinned}
    for distribution in needed.values():
        pure = "Root-Is-Purelib: true" in distribution.read_text("WHEEL")
        _, count = pinned[canonicalize_name(distribution.name)]
        assert count in ((1,) if pure else (1, len(MACHINES))), distribution.name


def test_the_file_says_nothing_but_versions_and_hashes():
    head, _, rest = FILE.read_text().partition("\n")
    assert head.startswith("# ")
    assert PIN.sub("", rest).strip() == ""


def test_nothing_comes_into_the_image_but_what_has_a_hash():
    of_pip = [command for command in COMMANDS if re.match("pip |.* -m pip ", command)]
    assert len(of_pip) == 2
    assert {"--require-hashes", "--only-binary=:all:"} <= set(of_pip[0].split())
    assert {"--no-index", "--find-links"} <= set(of_pip[1].split())


def test_what_the_image_is_made_of_is_sent_to_docker():
    """`.dockerignore` lets through what the Dockerfile copies, and nothing else of the tree."""
    copied = {
        name.rstrip("/").removeprefix("./")
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
        for name in line.split()
    }
    allowed = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert copied == set(allowed)


@pytest.fixture
def run(tmp_path):
    """Runs a command of the Dockerfile in folders of our own."""
    for name in ("src", "pyproject.toml", "README.md", "LICENSE"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    shutil.copy(FILE, tmp_path)

    def run(command):
        for place in ("/requirements-image.txt", "/wheels", "/opt/apportion"):
            command = command.replace(f" {place}", f" {tmp_path}{place}")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False,
            env={**os.environ, "PATH": path, "EXTRAS": EXTRAS, "PYTHONPATH": "", "COLUMNS": "110"},
        )  # fmt: skip

    return run


if WHOLE:

    def test_the_commands_of_the_dockerfile_make_an_environment_that_works(run, tmp_path):
        for command in COMMANDS[:3]:
            done = run(command)
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        programs = tmp_path / "opt" / "apportion" / "bin"
        assert run(f"{programs}/apportion --version").stdout == f"apportion {ap.__version__}\n"
        (site,) = tmp_path.glob("opt/apportion/lib/python*/site-packages")
        found = {canonicalize_name(each.name): each.version for each in metadata.distributions(path=[str(site)])}
        ours = [f"apportion[{EXTRAS}]"]
        assert set(found) == {*map(canonicalize_name, closure(ours))}
        pinned = pins(FILE.read_text())
        assert [name for name in set(found) - {"apportion"} if found[name] != pinned[name][0]] == []
        doctor = run(f"{programs}/apportion doctor --db {tmp_path}/campaigns.db")
        assert doctor.returncode == 0, doctor.stdout + doctor.stderr


def test_a_package_whose_hash_is_another_is_refused(run, tmp_path):
    name, version, hashes = PIN.search(FILE.read_text()).groups()
    wrong = re.sub("[0-9a-f]{64}", "0" * 64, hashes)
    (tmp_path / "requirements-image.txt").write_text(f"{name}=={version}{wrong}\n")
    done = run(COMMANDS[0])
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
