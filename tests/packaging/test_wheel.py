"""What is released: the sdist, the wheel built from it, and the wheel at work in an environment of its own.

The environment sees the packages of the running one, but not its editable install of apportion: a folder named in a
.pth file is searched, and the .pth files inside of it are not read. Nothing asks a network.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

import pytest

import apportion as ap
from apportion._common import optional

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 300
QUIET = {"OMP_NUM_THREADS": "1", "COLUMNS": "110", "PYTHONIOENCODING": "utf-8"}


def ran(*command, **options):
    """What a command prints; an error with all it said where it fails."""
    options["env"] = {**os.environ, **QUIET, **options.get("env", {})}
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=PATIENCE, check=False, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The source distribution of this tree."""
    assert find_spec("hatchling"), "the tests build the package: pip install --editable '.[test]'"
    out = tmp_path_factory.mktemp("sdist")
    ran(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", out, cwd=ROOT)
    (found,) = out.iterdir()
    return found


@pytest.fixture(scope="module")
def unpacked(sdist, tmp_path_factory):
    """The tree as the source distribution brings it."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory):
    """The wheel, built from the source distribution by pip, as whoever downloads it would."""
    out = tmp_path_factory.mktemp("wheel")
    ran(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "-w", out,
        unpacked,
    )  # fmt: skip
    (found,) = out.iterdir()
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The programs of a new environment with the wheel in it."""
    place = tmp_path_factory.mktemp("environment")
    ran(sys.executable, "-m", "venv", "--without-pip", place)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    ran(
        sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index",
        "--no-compile", wheel,
    )  # fmt: skip
    site = Path(ran(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    ours = sorted(
        {str(Path(find_spec(name).origin).parent.parent) for name in ("numpy", "numba", "fastapi", "typer")}
    )
    (site / "dependencies.pth").write_text("\n".join(ours) + "\n")
    return programs


@pytest.fixture
def away(tmp_path, monkeypatch):
    """A folder of our own that is not the tree, with its own database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("APPORTION_DB", str(tmp_path / "campaigns.db"))
    return tmp_path


def sources(root):
    """Every file of the package under `root`, but what Python and its tools leave behind."""
    return {
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


# What is in them


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {name.removeprefix("apportion/") for name in names if name.startswith("apportion/")}
    assert package == sources(ROOT / "src" / "apportion")
    assert {
        "py.typed",
        "campaigns/storage/migrations/script.py.mako",
        "web/templates/base.html",
        "web/static/style.css",
    } <= package
    rest = {PurePosixPath(name).name for name in names if not name.startswith("apportion/")}
    assert rest == {"METADATA", "WHEEL", "RECORD", "LICENSE", "entry_points.txt"}


def test_the_metadata_says_what_is_promised(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        head = archive.read(name).decode().partition("\n\n")[0]
    assert f"\nVersion: {ap.__version__}\n" in head
    assert "\nRequires-Python: >=3.11\n" in head
    assert "\nLicense-Expression: MIT\n" in head
    for release in ("3.11", "3.12", "3.13"):
        assert f"Classifier: Programming Language :: Python :: {release}" in head
    for extra in optional.EXTRAS:
        assert f"Provides-Extra: {extra}" in head
    assert wheel.name == f"apportion-{ap.__version__}-py3-none-any.whl"


def test_the_sdist_holds_the_tree_and_nothing_stray(unpacked):
    tops = {path.name for path in unpacked.iterdir()}
    folders = {"src", "tests", "docs", "examples", "benchmarks"}
    assert folders <= tops
    files = {"pyproject.toml", "Makefile", "constraints.txt", "mkdocs.yml", "README.md", "CHANGELOG.md", "LICENSE"}
    files |= {"requirements-image.txt"}
    assert files <= tops
    assert {"CITATION.cff", "CONTRIBUTING.md", "SECURITY.md"} <= tops
    docker = {"Dockerfile", "compose.yaml", ".dockerignore"}
    about = {"CITATION.cff", "CONTRIBUTING.md", "SECURITY.md", ".gitignore", "PKG-INFO"}
    assert tops <= folders | files | docker | about
    allowed = {
        ".py", ".md", ".toml", ".txt", ".html", ".css", ".js", ".svg", ".png", ".json", ".csv", ".sqlite", ".mako",
        ".typed", ".yml", ".yaml", ".sh", "",
    }  # fmt: skip
    stray = [name for name in sources(unpacked) if PurePosixPath(name).suffix not in allowed | {".cff"}]
    assert stray == []
    for folder in ("src", "tests", "examples", "benchmarks"):
        assert sources(unpacked / folder) == sources(ROOT / folder)


# At work


def test_the_environment_runs_the_wheel_and_not_the_tree(installed, away):
    said = ran(installed / "python", "-c", "import apportion; print(apportion.__file__)").strip()
    assert Path(said).is_relative_to(installed.parent)
    assert ran(installed / "apportion", "--version") == f"apportion {ap.__version__}\n"
    assert version("apportion") == ap.__version__


def test_the_wheel_runs_the_demo(installed, away):
    out = ran(installed / "apportion", "demo", "--repeats", "1")
    assert out.count("stored in a throw-away database, rebuilt bit for bit: ok.") == 4


def test_the_wheel_keeps_a_campaign_and_finds_nothing_wrong_with_itself(installed, away):
    program = installed / "apportion"
    ran(program, "new", "ads", "--arms", "search,social", "--budget", "100", "--b", "0.75", "--sigma", "4")
    ran(program, "split", "ads")
    ran(program, "record", "ads", "search=51", "social=20")
    assert json.loads(ran(program, "check", "ads", "--json"))["ok"]
    found = {row["what"]: row for row in json.loads(ran(program, "doctor", "--json"))["findings"]}
    assert found["apportion"]["value"].startswith(ap.__version__)
    assert found["campaigns"]["value"] == "1"


def test_the_wheel_serves_its_pages_and_static_files(installed, away):
    process = subprocess.Popen(
        [installed / "apportion", "serve", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **QUIET},
    )
    with process, contextlib.ExitStack() as last:
        last.callback(process.kill)
        url = json.loads(process.stdout.readline())["url"]
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            page = answer.read().decode()
        assert "<title>" in page
        links = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
        assert links
        for link in links:
            with urllib.request.urlopen(url + link, timeout=PATIENCE) as answer:
                assert answer.status == 200
                assert answer.read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
