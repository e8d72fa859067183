"""The pages of the studies: text, tables and pictures as blocks, written as Markdown and as HTML.

Pictures are saved as PNG and SVG beside the page, or in the folder that the page names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from apportion._common import files
from apportion.reporting.html import Page as HtmlPage
from apportion.reporting.html import shown
from apportion.studies.intervals import ROUNDING

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Figure
else:
    Figure = Any  # Matplotlib may be missing, and takes a while to import


class Heading(NamedTuple):
    """The title of a section (level 2), or of a part of one."""

    text: str
    level: int = 2


class Text(NamedTuple):
    """A paragraph."""

    text: str


class Table(NamedTuple):
    """Rows of words and numbers; `shown` writes the numbers."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def table_of(
    caption: str, entries: Iterable[Mapping[Any, Any]], columns: Mapping[str, str | Callable[[Any], object]]
) -> Table:
    """A row for each entry: every column shows a field of it, or what a function says of it.

    >>> table_of("", [{"a": 1}], {"a": "a", "twice": lambda entry: 2 * entry["a"]}).rows
    [[1, 2]]
    """
    cells = columns.values()
    rows = [[entry[cell] if isinstance(cell, str) else cell(entry) for cell in cells] for entry in entries]
    return Table(caption, list(columns), rows)


class Picture(NamedTuple):
    """A figure, its caption, and the name of its files without the suffix."""

    name: str
    caption: str
    draw: Callable[[], Figure]


Block = Heading | Text | Table | Picture


def write_page(
    path: Path,
    title: str,
    lead: str,
    blocks: Iterable[Block],
    *,
    pictures: Path | None = None,
    html: Path | None = None,
) -> Path:
    """Write the Markdown page and its pictures, and with `html` the same as one self-contained file.

    `lead` is the first paragraph. `pictures` is the folder of the pictures; without it they go beside the page.
    """
    from apportion.reporting import figures

    folder = path.parent if pictures is None else pictures
    folder.mkdir(parents=True, exist_ok=True)
    listed = list(blocks)
    drawn = {block.name: block.draw() for block in listed if isinstance(block, Picture)}
    vectors = {name: figures.save(figure, folder / name)[1] for name, figure in drawn.items()}
    if html is not None:
        _html_page(title, lead, listed, drawn, vectors).write(html)
    files.write_text(path, markdown(title, lead, listed, folder.relative_to(path.parent)))
    return path


def markdown(title: str, lead: str, blocks: Iterable[Block], pictures: Path = Path()) -> str:
    """The page as Markdown; `pictures` is the folder of the pictures, seen from the page."""
    parts = [f"# {title}", lead]
    for block in blocks:
        match block:
            case Heading(text, level):
                parts.append(f"{'#' * level} {text}")
            case Text(text):
                parts.append(text)
            case Table(caption):
                parts += [*([caption] if caption else []), markdown_table(block)]
            case Picture(name, caption):
                parts.append(f"![{caption}]({(pictures / name).as_posix()}.png)")
    return "\n\n".join(parts) + "\n"


def _html_page(
    title: str, lead: str, blocks: Iterable[Block], drawn: Mapping[str, Figure], vectors: Mapping[str, Path]
) -> HtmlPage:
    import pandas as pd

    page = HtmlPage(title, lead)
    for block in blocks:
        match block:
            case Heading(text):
                page.section(text)
            case Text(text):
                page.text(_without_ticks(text))
            case Table(caption, columns, rows):
                cells = [[_for_html(value) for value in row] for row in rows]
                page.table(pd.DataFrame(cells, columns=list(columns), dtype=object), caption)
            case Picture(name, caption):
                page.figure(drawn[name], caption, vectors[name].read_text(encoding="utf-8"))
    return page


def interval(middle: float | None, low: float | None, high: float | None) -> str:
    """A number with its interval, two decimals.

    >>> interval(0.512, 0.48, 0.544)
    '0.51 (0.48 to 0.54)'
    """
    if middle is None:
        return "–"
    if low is None or high is None:
        return f"{middle:.2f}"
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def with_error(mean: float, error: float | None) -> str:
    """A mean with its standard error, of which two digits say enough; one that is only rounding is none.

    >>> with_error(12.3456, 0.517), with_error(64.94, 7.1e-15)
    ('12.35 ± 0.52', '64.94 ± 0')
    """
    if error is not None and error < ROUNDING * abs(mean):
        error = 0.0
    return shown(mean) if error is None else f"{shown(mean)} ± {shown(float(f'{error:.2g}'))}"


def mean_of(entry: Mapping[str, Any]) -> str:
    """The mean of an entry with its standard error."""
    return with_error(entry["mean"], entry["error"])


def power_of(entry: Mapping[str, Any]) -> str:
    """The fitted power of an entry with its interval."""
    return interval(entry["power"], entry["low"], entry["high"])


def span_of(entry: Mapping[str, Any]) -> str:
    """From the first to the last point at which an entry was measured."""
    return f"{shown(entry['x'][0])} to {shown(entry['x'][-1])}"


def _for_html(value: Any) -> Any:
    """Numbers stay numbers, which are set to the right; code needs no ticks."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return _without_ticks(shown(value))


def _without_ticks(text: str) -> str:
    return text.replace("`", "")


def markdown_table(table: Table) -> str:
    """A table without its caption; a bar inside a cell would end it."""
    rows = [[shown(value).replace("|", "\\|") for value in row] for row in [table.columns, *table.rows]]
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, f"|{'---|' * len(table.columns)}", *body])
