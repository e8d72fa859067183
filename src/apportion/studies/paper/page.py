"""The report: one self-contained HTML file, and Markdown with pictures beside it, both from the data alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from apportion.studies.page import Block, Heading, Text, write_page
from apportion.studies.paper.section import Section, Values
from apportion.studies.paper.sizes import Sizes

TITLE = "The paper, measured"
LEAD = (
    "The tables, examples and claims of Chen and Li, Allocating Divisible Resources on Arms with Unknown and "
    "Random Rewards: what is printed, what is right, and what was measured, side by side."
)
MARKDOWN, HTML = "report.md", "report.html"


def write_report(
    folder: Path, sizes: Sizes, seed: int, sections: Sequence[Section], values: Mapping[str, Values]
) -> Path:
    """Write `report.html`, `report.md` and the pictures into the folder; returns the Markdown file."""
    blocks = _blocks(command_of(sizes, seed), sections, values)
    return write_page(folder / MARKDOWN, TITLE, LEAD, blocks, html=folder / HTML)


def _blocks(command: str, sections: Sequence[Section], values: Mapping[str, Values]) -> Iterator[Block]:
    yield Text(f"Made by `{command}`. Every measured number is in data.json beside this page, and comes from there.")
    for number, section in enumerate(sections, start=1):
        yield Heading(f"{number}. {section.title}")
        yield from section.show(dict(values[section.name]))


def command_of(sizes: Sizes, seed: int) -> str:
    """The command that makes this report."""
    return f"apportion reproduce{' --quick' if sizes.name == 'quick' else ''} --seed {seed}"
