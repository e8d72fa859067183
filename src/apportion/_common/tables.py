"""Tables as people have them: the one reader of CSV files.

The text is UTF-8. Cells are separated by commas, semicolons or tabs, whichever the first line has most of. Columns
are found by name, but for case and blanks. The decimal mark is found in the numbers of the file, or given. An error
names the row as a text editor counts it: the header is row 1.
"""

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from apportion._common import validation
from apportion._common.parsing import DECIMALS, reading, readings
from apportion.errors import InvalidValue

DELIMITERS = (",", ";", "\t")

_NOT_UTF8 = "it is not UTF-8 text, which spreadsheets save as “CSV UTF-8”"

_NOTHING = {"", "no data", "na", "n/a", "nan", "none", "null"}
_FORMULA_MARKS = "=+-@"

_UNGROUPED = re.compile(r"[+-]?\d{4,}")


class FileContent(NamedTuple):
    """A file that is not on this disk, but came over the network: its name, and what is in it."""

    name: str
    content: bytes


Source = str | os.PathLike[str] | FileContent
"""A file: its path, or its content."""


class TextTable(NamedTuple):
    """The cells of a file, without blanks around them; rows that are blank are left out."""

    file: str
    """The file's name, without its folder."""
    header: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]
    """Where each row stands in the file."""

    def index_of(self, name: str) -> int | None:
        """Which column is called `name`; None if none is, or several are."""
        return column_index(self.header, name)

    def require_rows(self) -> None:
        """Refuse a table that has a header only."""
        if not self.rows:
            raise InvalidValue(f"The file {self.file!r} has no rows.")

    def column(self, index: int) -> list[str]:
        """The cells of one column."""
        return [row[index] for row in self.rows]


def read_content(source: Source) -> FileContent:
    """What is in a file, and its name without the folder; one sentence where it cannot be read."""
    if isinstance(source, FileContent):
        return source
    path = Path(source)
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


def parse_table(text: str, file: str, *, delimiter: str | None = None, strict: bool = True) -> TextTable:
    """The table in the text of a file of that name; `strict` refuses quotes that do not match.

    >>> table = parse_table("Arm; Spend\\na; 12,5\\n\\nb; 7\\n", "past.csv")
    >>> table.header, table.column(1), table.lines
    (('Arm', 'Spend'), ['12,5', '7'], [2, 4])
    """
    if "\0" in text:
        raise InvalidValue(f"The file {file!r} is not a text file.")
    if not text.strip():
        raise InvalidValue(f"The file {file!r} is empty.")
    first_line = text.partition("\n")[0]
    rows, lines = [], []
    try:
        separator = delimiter or max(DELIMITERS, key=first_line.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=strict)
        header = tuple(name.strip() for name in next(reader, []))
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if not any(stripped):
                continue
            if len(stripped) != len(header):
                raise InvalidValue(f"Row {reader.line_num}: {len(header)} cells are needed; got {len(stripped)}.")
            rows.append(stripped)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise InvalidValue(f"The file {file!r} is not CSV: {error}.") from error
    except TypeError as error:
        raise InvalidValue("`delimiter` must be one character.") from error
    return TextTable(file, header, rows, lines)


def read_table(source: Source, *, delimiter: str | None = None, strict: bool = True) -> TextTable:
    """The table in a CSV file."""
    file = read_content(source)
    return parse_table(read_text(file), file.name, delimiter=delimiter, strict=strict)


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


def decimal_name(value: str | None) -> str | None:
    """The `decimal` of a file as it was given: "point", "comma", or None to find it in the file."""
    return None if value is None else validation.choice("decimal", value, tuple(DECIMALS))


def decimal_marks(columns: Sequence[Iterable[str]], given: str | None = None) -> list[str | None]:
    """The decimal mark of each column of one file, "point" or "comma"; None where nothing tells it.

    A number that is one with one of the marks only, in any column, tells it for all: 12,5 or 0.530 or 1.234,56. A
    column with numbers such as 1200 does not group thousands, so that its 12.345 has a decimal point; but not if
    one ends in 0, which is not how 12.34 is written beside 1200, nor for 12,345, which is more often a thousand.

    >>> decimal_marks([["3.530", "960"], ["12,5", "7"]]), decimal_marks([["12.345", "1200"], ["3.530", "960"]])
    (['comma', 'comma'], ['point', None])
    """
    if decimal_name(given) is not None:
        return [given] * len(columns)
    certain: set[str] = set()
    likely: list[str | None] = []
    for column in columns:
        ungrouped, doubtful = False, False
        for text in column:
            point, comma = reading(text, "point"), reading(text, "comma")
            if (point is None) != (comma is None):
                certain.add("comma" if point is None else "point")
            elif point != comma:
                doubtful |= "," in text or text.rstrip().endswith("0")
            ungrouped |= bool(_UNGROUPED.fullmatch(text.strip()))
        likely.append("point" if ungrouped and not doubtful else None)
    if len(certain) == 1:
        return [certain.pop()] * len(columns)
    return [None] * len(columns) if certain else likely


def cell_number(text: str, decimal: str | None, where: str) -> float | None:
    """A number of a file whose decimal mark is `decimal`; None if it is none. `where` begins the sentence of refusal.

    >>> cell_number("3.530", None, "It")
    Traceback (most recent call last):
    ...
    apportion.errors.InvalidValue: It can be read in two ways, as 3530 or as 3.53, and nothing else in the file \
tells which; write all numbers without thousands separators, or say whether `decimal` is comma or point (`--decimal` \
on the command line).
    """
    if decimal is not None:
        return reading(text, decimal)
    found = readings(text)
    if len(found) > 1:
        raise InvalidValue(
            f"{where} can be read in two ways, as {max(found, key=abs):.0f} or as {min(found, key=abs)!r}, and "
            "nothing else in the file tells which; write all numbers without thousands separators, or say whether "
            "`decimal` is comma or point (`--decimal` on the command line)."
        )
    return found[0] if found else None


def says_nothing(cell: object) -> bool:
    """Whether a cell says that there is no value.

    >>> says_nothing("N/A"), says_nothing("0")
    (True, False)
    """
    return isinstance(cell, str) and cell.strip().lower() in _NOTHING


def unescaped(cell: str) -> str:
    """A cell without the ' that an export writes before what a spreadsheet would take for a formula.

    >>> unescaped("'=social"), unescaped("'social")
    ('=social', "'social")
    """
    return cell[1:] if cell[:1] == "'" and cell[1:2] and cell[1] in _FORMULA_MARKS else cell
