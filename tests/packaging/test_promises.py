"""What the project says of itself holds: Python versions, the version in one place, the files of a release."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import apportion as ap

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SOURCES = sorted(
    path for folder in ("src", "tests", "benchmarks", "examples", "docs") for path in (ROOT / folder).rglob("*.py")
)
OLDEST = (3, 11)


def test_every_source_file_is_written_in_the_oldest_python():
    assert len(SOURCES) > 200
    for path in SOURCES:
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=OLDEST)


def test_newer_syntax_would_be_found():
    with pytest.raises(SyntaxError):
        ast.parse("type Shares = list[float]", feature_version=OLDEST)


def test_the_oldest_python_is_the_same_everywhere():
    name = ".".join(map(str, OLDEST))
    assert PROJECT["project"]["requires-python"] == f">={name}"
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{name.replace('.', '')}"
    assert PROJECT["tool"]["mypy"]["python_version"] == name
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert declared == ["3.11", "3.12", "3.13"]


def test_the_version_is_in_one_place():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/apportion/_version.py"
    literal = re.compile(rf"""["'\s]v?{re.escape(ap.__version__)}["'\s]""")
    elsewhere = [
        path.relative_to(ROOT).as_posix()
        for path in [
            *SOURCES,
            ROOT / "pyproject.toml",
            ROOT / "Dockerfile",
            ROOT / "CITATION.cff",
            ROOT / "mkdocs.yml",
        ]
        if path.name not in ("_version.py", "test_promises.py") and literal.search(path.read_text(encoding="utf-8"))
    ]
    assert elsewhere == []
    assert re.search(rf"^## {re.escape(ap.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_the_licence_is_mit():
    assert PROJECT["project"]["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License\n")


def test_the_citation_names_the_software_and_the_paper():
    import yaml  # a part of the docs extra

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["cff-version"], citation["type"], citation["title"]) == ("1.2.0", "software", "apportion")
    assert citation["license"] == "MIT"
    assert citation["message"]
    assert citation["authors"]
    (paper,) = citation["references"]
    assert paper["title"] == "Allocating Divisible Resources on Arms with Unknown and Random Rewards"
    assert [author["family-names"] for author in paper["authors"]] == ["Chen", "Li"]


def test_contributing_names_every_target_of_make_and_only_those():
    targets = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z]+)`", (ROOT / "CONTRIBUTING.md").read_text()))
    assert named == targets - {"help"}


def test_contributing_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w./]+)`", text)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
