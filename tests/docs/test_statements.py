"""Every statement of docs/theory.md and docs/paper.md names what computes it and a test that checks it."""

import re
from pathlib import Path

import pytest

from apportion.studies.paper.errata import ERRATA

ROOT = Path(__file__).parents[2]
TEST = re.compile(r"`(tests/[\w/]+\.py::test_\w+)`")
HOME = re.compile(r"`apportion(?:\.\w+)+`")
START = re.compile(r"^\*\*(.+?)\*\*", re.MULTILINE)
# What stands alone in the code as part of another function, and where.
PART_OF = {"(a)", "(c)", "Lemma 4", "Lemma 5", "Lemma 6", "Theorem A", "Theorem B", "Theorem D"}


def read(page):
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def statements(page):
    """(title, text) of every bold paragraph: up to the next one, or the next heading of any level."""
    text = read(page)
    found = []
    for section in re.split(r"^#+ .*$", text, flags=re.MULTILINE)[1:]:
        starts = list(START.finditer(section))
        ends = [*(match.start() for match in starts[1:]), len(section)]
        found += [(match[1], section[match.start() : end]) for match, end in zip(starts, ends)]
    return found


THEORY, PAPER = statements("theory.md"), statements("paper.md")


@pytest.mark.parametrize(("title", "text"), THEORY, ids=[title for title, _ in THEORY])
def test_a_statement_of_the_theory_has_a_check_and_a_function(title, text):
    assert TEST.search(text), f"{title} names no test"
    if not title.startswith(tuple(PART_OF)):
        assert HOME.search(text), f"{title} names no function"


@pytest.mark.parametrize(("title", "text"), PAPER, ids=[title for title, _ in PAPER])
def test_a_statement_of_the_paper_has_a_check(title, text):
    assert TEST.search(text), f"{title} names no test"


def test_theorems_are_proven_or_called_what_they_are():
    for title, text in THEORY:
        assert "∎" in text or "*Why.*" in text, f"{title} has no proof"


def test_all_that_the_theory_numbers_is_there():
    """A number or letter that is used must be that of a statement, here or in the paper."""
    page = read("theory.md")
    stated = {match for title, _ in THEORY for match in re.findall(r"(?:Theorem|Lemma|Proposition) \w+", title)}
    for name in sorted(set(re.findall(r"\b(?:Theorem|Lemma|Proposition) (?:[A-Z]\b|\d+)", page))):
        assert name in stated, f"{name} is used and not stated"
    assert len(THEORY) >= 30


def errata_rows():
    """The first cells of the table of errata of the page on the paper."""
    table = read("paper.md").partition("\n## ")[0]
    return [name for name in re.findall(r"^\| ([^|]+?) \| [^\n]+\|$", table, flags=re.MULTILINE) if name.strip("-")]


def test_each_row_of_the_errata_is_in_the_report_with_its_test():
    """Each with a number that shows it; several of the report may be one row here."""
    rows, told = errata_rows(), {erratum.where.partition(",")[0] for erratum in ERRATA}
    assert len(rows) >= 15
    assert [name for name in rows if name not in told] == []
    for erratum in ERRATA:
        assert TEST.fullmatch(f"`{erratum.test}`"), erratum
        file, _, name = erratum.test.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), erratum.test


def test_each_row_of_the_errata_is_told_below_the_table():
    page = read("paper.md")
    rows = re.findall(r"^\| ([^|]+?) \| [^\n]+\|$", page, flags=re.MULTILINE)[:30]
    _, _, below = page.partition("\n## ")
    plain = re.sub(r"[*`\\]", "", below).casefold()
    for name in rows:
        if name and not set(name) <= set("-"):
            last = re.sub(r"^(Proof of|Remark on|After) ", "", name).casefold()
            if page.index(f"| {name} |") < page.index("\n## "):
                assert last in plain, f"{name} is not told below the table"
