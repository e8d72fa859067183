"""The pages under docs/ name tests and code that exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))

TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
NAME = re.compile(r"`(apportion(?:\.\w+)+)`")


def resolve(name):
    """Import the longest part of a dotted name that is a module, and look the rest up in it."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page):
    missing = []
    for file, name in TEST.findall(page.read_text()):
        source = ROOT / file
        if not source.is_file() or not re.search(rf"^def {name}\(", source.read_text(), re.MULTILINE):
            missing.append(f"{file}::{name}")
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_that_a_page_uses_resolves(page):
    missing = []
    for name in NAME.findall(page.read_text()):
        try:
            resolve(name)
        except AttributeError:
            missing.append(name)
    assert not missing


def test_the_paper_page_names_every_statistical_test_of_the_paper():
    page = (ROOT / "docs" / "paper.md").read_text()
    source = (ROOT / "tests" / "statistical" / "test_paper.py").read_text()
    unnamed = [name for name in re.findall(r"^def (test_\w+)\(", source, re.MULTILINE) if f"::{name}`" not in page]
    assert not unnamed
