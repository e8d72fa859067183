"""Excel workbooks and Parquet files as tables; the packages for them are extras."""

import io
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

from apportion._common import optional
from apportion._common.tables import Cell, FileContent, Table, as_cell, column_index, from_rows
from apportion.errors import ApportionError, InvalidValue

# A small file can unfold to a very large one: beyond these it is refused before anything is unfolded.
MOST_BYTES = 300_000_000
MOST_ROWS = 1_100_000
MOST_COLUMNS = 2_000

_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


def is_workbook(file: FileContent) -> bool:
    """Whether it is a workbook; an old one (.xls) or another archive is refused."""
    if file.content.startswith(_OLD_EXCEL):
        raise InvalidValue(f"The file {file.name!r} is an old Excel file (.xls): save it as .xlsx or CSV.")
    return file.content.startswith(b"PK\x03\x04")


def is_parquet(file: FileContent) -> bool:
    """Whether it is a Parquet file."""
    return file.content.startswith(b"PAR1")


def read_workbook(file: FileContent, sheet: str | int | None, wanted: Sequence[str]) -> Table:
    """A sheet of a workbook (.xlsx); see `read_table`. A formula is the value it had when the file was saved."""
    optional.require("excel", f"The workbook {file.name!r}")
    import openpyxl

    try:
        with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > MOST_BYTES:
            raise InvalidValue(f"The workbook {file.name!r} is too large: {size:,} bytes when it is unpacked.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about formats and pictures, which are not read
            book = openpyxl.load_workbook(io.BytesIO(file.content), read_only=True, data_only=True)
            try:
                return _chosen(book, file.name, sheet, wanted)
            finally:
                book.close()
    except ApportionError:
        raise
    except Exception as error:  # whatever a damaged workbook makes the package raise
        raise InvalidValue(
            f"The file {file.name!r} cannot be read as a workbook (.xlsx); it may be damaged."
        ) from error


def _chosen(book: Any, file: str, sheet: str | int | None, wanted: Sequence[str]) -> Table:
    names = tuple(each.title for each in book.worksheets)
    if not names:
        raise InvalidValue(f"The workbook {file!r} has no sheets.")
    if sheet not in (None, ""):
        return _sheet(book, file, _named(names, sheet), names)
    first: Table | None = None
    for name in names:
        try:
            table = _sheet(book, file, name, names)
        except InvalidValue:  # empty
            continue
        if all(column_index(table.header, column) is not None for column in wanted):
            return table
        first = first or table
    if first is None:
        raise InvalidValue(f"The file {file!r} is empty.")
    return first


def _named(names: tuple[str, ...], sheet: Any) -> str:
    index = column_index(names, str(sheet))
    if index is None and str(sheet).strip().isdecimal():
        index = int(str(sheet)[:9]) - 1
    if index is None or not 0 <= index < len(names):
        listed = ", ".join(repr(name) for name in names[:20])
        raise InvalidValue(f"`sheet` must be one of {listed}, or its number; got {str(sheet)[:50]!r}.")
    return names[index]


def _sheet(book: Any, file: str, name: str, names: tuple[str, ...]) -> Table:
    sheet = next(each for each in book.worksheets if each.title == name)
    sheet.reset_dimensions()  # what the file says of its size is often wrong

    def numbered() -> Iterator[tuple[int, list[Cell]]]:
        for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
            if number > MOST_ROWS or len(values) > MOST_COLUMNS:
                raise InvalidValue(f"The sheet {name!r} of {file!r} is too large.")
            yield number, [as_cell(value) for value in values]

    return from_rows(numbered(), file, ragged=True)._replace(sheet=name, sheets=names)


def read_parquet(file: FileContent) -> Table:
    """The table in a Parquet file; its rows are counted from 1."""
    optional.require("parquet", f"The Parquet file {file.name!r}")
    from pyarrow import parquet

    try:
        source = parquet.ParquetFile(io.BytesIO(file.content))
        shape = source.metadata
        size = sum(shape.row_group(number).total_byte_size for number in range(shape.num_row_groups))
        if shape.num_rows > MOST_ROWS or shape.num_columns > MOST_COLUMNS or size > MOST_BYTES:
            raise InvalidValue(f"The Parquet file {file.name!r} is too large.")
        found = source.read()
        columns = [[as_cell(value) for value in column.to_pylist()] for column in found.columns]
    except ApportionError:
        raise
    except Exception as error:  # whatever a damaged file makes the package raise
        raise InvalidValue(f"The file {file.name!r} cannot be read as Parquet; it may be damaged.") from error
    rows = [list(cells) for cells in zip(*columns)]
    kept = [number for number, cells in enumerate(rows, 1) if any(cell != "" for cell in cells)]
    return Table(file.name, tuple(found.column_names), [rows[number - 1] for number in kept], kept, header_line=0)
