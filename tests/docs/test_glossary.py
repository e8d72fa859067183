"""The glossary has each term once, and names what is there."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| term"))
]


def test_each_term_stands_once():
    terms = [term for row in ROWS for term in row[0].split(", ")]
    assert len(terms) > 60
    assert sorted(set(terms)) == sorted(terms)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_term_has_a_meaning_and_a_home(row):
    assert row[1]
    (name,) = re.findall(r"`(apportion\.[\w.]+)`", row[-1])
    module, _, member = name.rpartition(".")
    assert hasattr(importlib.import_module(module), member), name
