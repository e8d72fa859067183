"""The page for those who would cite it: every number comes from a data file by its script; nothing is typed in."""

import re
import runpy
import string
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SCRIPT = DOCS / "tools" / "beyond.py"
PAGE = (DOCS / "explanation" / "beyond-the-paper.md").read_text(encoding="utf-8")
TEMPLATE = (DOCS / "tools" / "beyond-the-paper.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


def test_the_page_is_what_its_script_makes_of_the_data(script):
    assert script["page"]() == PAGE, "run python docs/tools/beyond.py"


def test_every_measured_number_is_a_name_in_the_template():
    """Decimals and numbers with thousands in the page come from the data; what is typed are names and fractions."""
    named = [name for _, name, _, _ in string.Formatter().parse(TEMPLATE) if name]
    assert len(named) >= 40
    typed = re.sub(r"\{\w+\}", "", TEMPLATE)
    assert re.findall(r"\d[.,]\d|\d{3,}|\d%", typed) == []
    assert re.findall(r"\d\.\d", PAGE)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("reproduction/data.json", '"median": ', '"median": 7'),
        ("leaderboard/suite.json", '"score": [', '"score": [9'),
    ],
)
def test_another_number_in_a_data_file_is_another_page(script, monkeypatch, file, old, new):
    """A digit more in the data shows on the page: the page cannot say something else than the files."""
    read = Path.read_text

    def changed(path, *args, **options):
        text = read(path, *args, **options)
        return text.replace(old, new, 1) if path == DOCS / file else text

    monkeypatch.setattr(Path, "read_text", changed)
    assert script["page"]() != PAGE


def test_each_item_has_a_theorem_a_function_and_a_command():
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    assert len(sections) == 6
    theory = (DOCS / "theory.md").read_text(encoding="utf-8")
    for section in sections:
        title = section.partition("\n")[0]
        assert re.search(r"`apportion\.[\w.]+`", section), f"{title} names no function"
        if "Estimation" not in title:
            assert re.search(r"`apportion study [\w -]+`", section), f"{title} names no command"
    for name in set(re.findall(r"(?:Theorem|Proposition) (?:[A-Z]|\d)\b", PAGE)):
        number = name.split()[1]
        stated = number.isdigit() or f"**{name} (" in theory or f"**{name}.**" in theory or f"**{name}**" in theory
        assert stated, f"{name} is not in the theory"
