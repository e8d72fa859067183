"""Tables as people have them: the one reader of files of rows (CSV, Excel workbooks, Parquet).

What a file is, is told by its content, not by its name. Text is UTF-8 or UTF-16 with a byte order mark, UTF-8 without
one, or else Windows-1252. Cells are separated by commas, semicolons or tabs, whichever the header has most of. A
title above the header, of lines with one cell, is passed over. Columns are found by name, but for case and blanks.
Cells of a workbook or a Parquet file that are numbers stay numbers; dates become text as 2026-01-31. An error names
the row as a text editor or a spreadsheet counts it.
"""

import csv
import io
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from apportion._common.faults import Faults
from apportion.errors import InvalidValue

DELIMITERS = (",", ";", "\t")

_NOT_UTF8 = "it is not UTF-8 text, which spreadsheets save as “CSV UTF-8”"

_NOTHING = {"", "-", "–", "no data", "na", "n/a", "#n/a", "nan", "none", "null"}
_FORMULA_MARKS = "=+-@\t\r"  # a spreadsheet would take a cell that begins so for a formula

TITLE_LINES = 20  # at most so many lines above the header are a title


class FileContent(NamedTuple):
    """A file that is not on this disk, but came over the network: its name, and what is in it."""

    name: str
    content: bytes


Source = str | os.PathLike[str] | FileContent
"""A file: its path, or its content."""

Cell = str | int | float
"""What stands in a cell: a text without blanks around it, or a number; nothing is an empty text."""


class Table(NamedTuple):
    """The cells of a file; rows that are blank are left out."""

    file: str
    """The file's name, without its folder."""
    header: tuple[str, ...]
    rows: list[list[Cell]]
    lines: list[int]
    """Where each row stands in the file."""
    encoding: str = ""
    """How the text was encoded; nothing for what is no text."""
    sheet: str = ""
    sheets: tuple[str, ...] = ()
    """Of a workbook: the sheet that was read, and all there are."""
    header_line: int = 1

    def index_of(self, name: str) -> int | None:
        """Which column is called `name`; None if none is, or several are."""
        return column_index(self.header, name)

    def require_rows(self) -> None:
        """Refuse a table that has a header only."""
        if not self.rows:
            raise InvalidValue(f"The file {self.file!r} has no rows.")

    def column(self, index: int) -> list[Cell]:
        """The cells of one column."""
        return [row[index] for row in self.rows]


def read_content(source: Source) -> FileContent:
    """What is in a file, and its name without the folder; one sentence where it cannot be read."""
    if isinstance(source, FileContent):
        return source
    try:
        path = Path(source)
    except TypeError:
        raise InvalidValue(
            f"A file is needed: its path, or its content (`FileContent`); got {type(source).__name__}."
        ) from None
    try:
        return FileContent(path.name, path.read_bytes())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", "") or error
        raise InvalidValue(f"The file {str(source)!r} cannot be read: {why}.") from error


def read_text(source: Source) -> str:
    """The text of a file: UTF-8, with a byte order mark or without."""
    file = read_content(source)
    try:
        return file.content.decode("utf-8-sig")
    except UnicodeError as error:
        raise InvalidValue(f"The file {file.name!r} cannot be read: {_NOT_UTF8}.") from error


def decoded(file: FileContent) -> tuple[str, str]:
    """The text of a file as people have them, and its encoding.

    >>> decoded(FileContent("x.csv", "Größe €".encode("cp1252")))
    ('Größe €', 'Windows-1252')
    """
    utf16 = file.content[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding, name in (("utf-16", "UTF-16"),) if utf16 else (("utf-8-sig", "UTF-8"), ("cp1252", "Windows-1252")):
        try:
            text = file.content.decode(encoding)
        except UnicodeError:
            continue
        if "\0" in text:
            break
        return text, name
    raise InvalidValue(f"The file {file.name!r} is not a text file, a workbook (.xlsx) or a Parquet file.")


def read_table(
    source: Source,
    *,
    delimiter: str | None = None,
    sheet: str | int | None = None,
    wanted: Sequence[str] = (),
) -> Table:
    """The table in a file.

    Of a workbook: the `sheet` of that name or number (from 1), else the first that has the `wanted` columns; where
    none has them, the first that is not empty.
    """
    from apportion._common import workbooks

    file = read_content(source)
    if workbooks.is_parquet(file):
        _no_sheet(file, sheet)
        return workbooks.read_parquet(file)
    if workbooks.is_workbook(file):
        return workbooks.read_workbook(file, sheet, wanted)
    _no_sheet(file, sheet)
    text, encoding = decoded(file)
    return parse_table(text, file.name, delimiter=delimiter)._replace(encoding=encoding)


def _no_sheet(file: FileContent, sheet: str | int | None) -> None:
    if sheet not in (None, ""):
        raise InvalidValue(f"`sheet` is for workbooks (.xlsx); the file {file.name!r} has no sheets.")


def parse_table(text: str, file: str, *, delimiter: str | None = None) -> Table:
    """The table in the text of a CSV file of that name.

    >>> table = parse_table("Arm; Spend\\na; 12,5\\n\\nb; 7\\n", "past.csv")
    >>> table.header, table.column(1), table.lines
    (('Arm', 'Spend'), ['12,5', '7'], [2, 4])
    """
    if not text.strip():
        raise InvalidValue(f"The file {file!r} is empty.")
    top = text[:100_000].split("\n")[: TITLE_LINES + 1]
    first = next((line for line in top if any(line.count(mark) for mark in DELIMITERS)), top[0])
    separator = delimiter or max(DELIMITERS, key=first.count)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    except TypeError as error:
        raise InvalidValue("`delimiter` must be one character.") from error

    def numbered() -> Iterator[tuple[int, list[Cell]]]:
        try:
            for cells in reader:
                yield reader.line_num, [cell.strip() for cell in cells]
        except csv.Error as error:
            raise InvalidValue(f"The file {file!r} is not CSV: {error} (row {reader.line_num}).") from error

    return from_rows(numbered(), file)


def from_rows(numbered: Iterable[tuple[int, list[Cell]]], file: str, *, ragged: bool = False) -> Table:
    """The table of (row, cells): the header is the first with several. `ragged`: short rows end in empty cells."""
    found = [(line, cells) for line, cells in numbered if any(cell != "" for cell in cells)]
    if not found:
        raise InvalidValue(f"The file {file!r} is empty.")
    top = next((at for at, (_, cells) in enumerate(found[: TITLE_LINES + 1]) if _filled(cells) > 1), 0)
    header_line, names = found[top]
    header = [str(name) for name in names]
    while header and not header[-1]:
        header.pop()
    width, faults, rows = len(header), Faults(), []
    for line, cells in found[top + 1 :]:
        count = len(cells)
        if count > width and any(cell != "" for cell in cells[width:]):
            if not ragged:
                faults.add(line, f"{width} cells are needed; got {count}.")
                continue
        elif count < width and not ragged:
            faults.add(line, f"{width} cells are needed; got {count}.")
            continue
        rows.append((cells + [""] * (width - count))[:width])
    faults.refuse()
    return Table(file, tuple(header), rows, [line for line, _ in found[top + 1 :]], header_line=header_line)


def _filled(cells: Sequence[Cell]) -> int:
    return sum(cell != "" for cell in cells)


def as_cell(value: Any) -> Cell:
    """A value of a workbook, a Parquet file or a data frame as a cell.

    >>> as_cell(datetime(2026, 1, 31)), as_cell(2.5), as_cell(" a "), as_cell(None), as_cell(Decimal("1.5"))
    ('2026-01-31', 2.5, 'a', '', 1.5)
    """
    if isinstance(value, str):
        return value.strip()
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value)
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, int | float):
        return "" if math.isnan(value) else value
    if isinstance(value, datetime):
        if value != value:  # pandas' NaT
            return ""
        whole_day = value.time() == datetime.min.time() and value.tzinfo is None
        return value.date().isoformat() if whole_day else value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:  # a number or a moment of NumPy
        plain = value.item()
        return (
            str(value) if type(plain) is type(value) or not isinstance(plain, int | float | str) else as_cell(plain)
        )
    return str(value).strip()


def column_index(header: Sequence[str], name: str) -> int | None:
    """The index of the column `name`: the one that is called so, else the one that is but for case and blanks.

    >>> column_index(["Date", "arm"], "date"), column_index(["Date", "DATE"], "date")
    (0, None)
    """
    names = [found.strip() for found in header]
    for same in (name, name.strip().casefold()):
        if names.count(same) == 1:
            return names.index(same)
        if same in names:
            return None
        names = [found.casefold() for found in names]
    return None


def says_nothing(cell: object) -> bool:
    """Whether a cell says that there is no value.

    >>> says_nothing("N/A"), says_nothing("0")
    (True, False)
    """
    return isinstance(cell, str) and cell.strip().lower() in _NOTHING


def unescaped(cell: str) -> str:
    """A cell as it was before `harmless`; other cells as they are."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] and cell[1] in _FORMULA_MARKS + "'" else cell


def harmless(cell: str) -> str:
    """A text that no spreadsheet takes for a formula; what reads our files takes the mark away again.

    >>> harmless("=1+1"), unescaped(harmless("=1+1")), unescaped(harmless("'=1"))
    ("'=1+1", '=1+1', "'=1")
    """
    return f"'{cell}" if cell[:1] and cell[0] in _FORMULA_MARKS + "'" else cell
