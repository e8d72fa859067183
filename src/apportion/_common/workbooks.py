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
MOST_CELLS = 20_000_000  # of all sheets that are read, empty ones before the last of a row too

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
                return _chosen(_Sheets(book, file.name), sheet, wanted)
            finally:
                book.close()
    except ApportionError:
        raise
    except Exception as error:  # whatever a damaged workbook makes the package raise
        raise InvalidValue(
            f"The file {file.name!r} cannot be read as a workbook (.xlsx); it may be damaged."
        ) from error


class _Sheets:
    """The sheets of an open workbook, and how much of it was read: one sheet can be there under many names."""

    def __init__(self, book: Any, file: str) -> None:
        self.file = file
        self.names = tuple(each.title for each in book.worksheets)
        self._book = book
        self.too_large = False
        self._cells = self._characters = 0

    def table(self, name: str) -> Table:
        """What is on the sheet of that name."""
        sheet = next(each for each in self._book.worksheets if each.title == name)
        sheet.reset_dimensions()  # what the file says of its size is often wrong
        found = from_rows(self._numbered(sheet, name), self.file, ragged=True)
        return found._replace(sheet=name, sheets=self.names)

    def _numbered(self, sheet: Any, name: str) -> Iterator[tuple[int, list[Cell]]]:
        for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
            cells = [as_cell(value) for value in values]
            self._cells += len(cells)
            self._characters += sum(len(cell) for cell in cells if isinstance(cell, str))
            # A text that stands in the file once can be in every cell.
            self.too_large = (
                number > MOST_ROWS
                or len(values) > MOST_COLUMNS
                or self._cells > MOST_CELLS
                or self._characters > MOST_BYTES
            )
            if self.too_large:
                raise InvalidValue(f"The sheet {name!r} of {self.file!r} is too large.")
            while cells and cells[-1] == "":
                cells.pop()
            yield number, cells


def _chosen(sheets: _Sheets, sheet: str | int | None, wanted: Sequence[str]) -> Table:
    file, names = sheets.file, sheets.names
    if not names:
        raise InvalidValue(f"The workbook {file!r} has no sheets.")
    if sheet not in (None, ""):
        return sheets.table(_named(names, sheet))
    first: Table | None = None
    for name in names:
        try:
            table = sheets.table(name)
        except InvalidValue:
            if sheets.too_large:
                raise
            continue  # it is empty
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


def read_parquet(file: FileContent) -> Table:
    """The table in a Parquet file; its rows are counted from 1. Columns of lists or records are left out."""
    optional.require("parquet", f"The Parquet file {file.name!r}")
    from pyarrow import parquet, types

    try:
        source = parquet.ParquetFile(io.BytesIO(file.content))
        shape, schema = source.metadata, source.schema
        rows, columns = shape.num_rows, [schema.column(number) for number in range(shape.num_columns)]
        size = sum(shape.row_group(number).total_byte_size for number in range(shape.num_row_groups))
        widest = max((column.length for column in columns), default=0)  # of values that all have one length
        if (
            rows > MOST_ROWS
            or len(columns) > MOST_COLUMNS
            or rows * len(columns) > MOST_CELLS
            or max(size, rows * widest) > MOST_BYTES
        ):
            raise InvalidValue(f"The Parquet file {file.name!r} is too large.")
        flat = [field.name for field in source.schema_arrow if not types.is_nested(field.type)]
        # A text that stands in the file once can be in every row: it is kept once here, too.
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        found = parquet.ParquetFile(io.BytesIO(file.content), read_dictionary=texts).read(columns=flat)
        cells = [_cells(column) for column in found.columns]
    except ApportionError:
        raise
    except Exception as error:  # whatever a damaged file makes the package raise
        raise InvalidValue(f"The file {file.name!r} cannot be read as Parquet; it may be damaged.") from error
    lines = [list(row) for row in zip(*cells)]
    kept = [number for number, row in enumerate(lines, 1) if any(cell != "" for cell in row)]
    return Table(file.name, tuple(found.column_names), [lines[number - 1] for number in kept], kept, header_line=0)


def _cells(column: Any) -> list[Cell]:
    found: list[Cell] = []
    for chunk in column.chunks:
        if hasattr(chunk, "dictionary"):
            values = [as_cell(value) for value in chunk.dictionary.to_pylist()]
            found += ("" if index is None else values[index] for index in chunk.indices.to_pylist())
        else:
            found += map(as_cell, chunk.to_pylist())
    return found
