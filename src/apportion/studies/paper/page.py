"""The report: one self-contained HTML file, and Markdown with pictures beside it, both from the data alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from apportion.reporting.html import Page
from apportion.studies.paper.blocks import Picture, Section, Table, Text, Values, told
from apportion.studies.paper.effort import Effort

TITLE = "The paper, measured"
MARKDOWN, HTML = "report.md", "report.html"


def write_report(
    folder: Path, effort: Effort, seed: int, sections: Sequence[Section], values: Mapping[str, Values]
) -> Path:
    """Write `report.html`, `report.md` and the pictures into the folder; returns the Markdown file."""
    import pandas as pd

    lead = (
        "The tables, examples and claims of Chen and Li, Allocating Divisible Resources on Arms with Unknown and "
        "Random Rewards: what is printed, what is right, and what was measured, side by side."
    )
    origin = (
        f"Made by {command_of(effort, seed)}. Every measured number is in data.json beside this page, and comes from "
        "there."
    )
    page = Page(TITLE, lead).text(origin)
    lines = [f"# {TITLE}", "", lead, "", origin, ""]
    for place, section in enumerate(sections, start=1):
        heading = f"{place}. {section.title}"
        page.section(heading)
        lines += [f"## {heading}", ""]
        for block in section.show(dict(values[section.name])):
            if isinstance(block, Text):
                page.text(block.text.replace("`", ""))
                lines += [block.text, ""]
            elif isinstance(block, Table):
                rows = [[told(value) for value in row] for row in block.rows]
                shown = [[_bare(value) for value in row] for row in block.rows]
                page.table(pd.DataFrame(shown, columns=block.columns, dtype=object), block.caption)
                lines += [block.caption, "", *_markdown(block.columns, rows), ""]
            elif isinstance(block, Picture):
                figure = block.draw()
                page.figure(figure, block.caption)
                _save(figure, folder / f"{block.name}.png")
                lines += [f"![{block.caption}]({block.name}.png)", ""]
    page.write(folder / HTML)
    target = folder / MARKDOWN
    target.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8", newline="\n")
    return target


def command_of(effort: Effort, seed: int) -> str:
    """The command that makes this report."""
    return f"`apportion reproduce{' --quick' if effort.name == 'quick' else ''} --seed {seed}`"


def _bare(value: object) -> object:
    """For HTML, where numbers stay numbers (they are set to the right) and code needs no ticks."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return told(value).replace("`", "")


def _save(figure: object, path: Path) -> None:
    from matplotlib.figure import Figure

    from apportion.reporting.figures.style import light

    if isinstance(figure, Figure):
        with light():
            figure.savefig(path, dpi=110, metadata={"Software": None})


def _markdown(columns: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table; a bar inside a cell would end it."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in [columns, *rows]]
    head, *body = [f"| {' | '.join(row)} |" for row in cells]
    return [head, f"|{'---|' * len(columns)}", *body]
