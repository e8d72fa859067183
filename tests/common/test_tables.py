"""Tables as people have them: what is read, and what is refused with the row that is wrong."""

import io
import re
import tracemalloc

import openpyxl
import pyarrow as pa
import pytest
from pyarrow import parquet

from apportion._common import tables, workbooks
from apportion._common.tables import FileContent, read_table
from apportion.errors import InvalidValue


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_cells_come_without_blanks_and_rows_with_their_place_in_the_file(delimiter):
    text = 'Arm| Amount \r\na| 1.5\r\n\r\n | \r\n"b c"|2\r\n'.replace("|", delimiter)
    table = tables.parse_table(text, "past.csv")
    assert table.header == ("Arm", "Amount")
    assert table.rows == [["a", "1.5"], ["b c", "2"]]
    assert table.lines == [2, 5]
    assert (table.index_of("AMOUNT "), table.index_of("date")) == (1, None)
    assert table.column(0) == ["a", "b c"]


def test_a_cell_over_several_lines_is_one_cell():
    table = tables.parse_table('arm,note\na,"one\ntwo"\nb,three\n', "x.csv")
    assert table.column(1) == ["one\ntwo", "three"]
    assert table.lines == [3, 4]


@pytest.mark.parametrize(
    ("text", "delimiter", "sentence"),
    [
        (" \n", None, "The file 'x.csv' is empty."),
        ("a,b\n1,2\n1,2,3\n", None, "Row 3: 2 cells are needed; got 3."),
        ('a,b\n"1"2,3\n', None, "The file 'x.csv' is not CSV: ',' expected after '\"' (row 2)."),
        ("a,b\n1,2\n", "||", "`delimiter` must be one character."),
    ],
)
def test_what_is_wrong_with_a_file_is_said(text, delimiter, sentence):
    with pytest.raises(InvalidValue, match=f"^{re.escape(sentence)}$"):
        tables.parse_table(text, "x.csv", delimiter=delimiter)


def test_a_header_alone_has_no_rows():
    table = tables.parse_table("a,b\n", "x.csv")
    with pytest.raises(InvalidValue, match=r"^The file 'x\.csv' has no rows\.$"):
        table.require_rows()


def test_a_file_that_cannot_be_read_is_refused_by_its_name(tmp_path):
    with pytest.raises(InvalidValue, match=r"none\.csv' cannot be read: No such file or directory\."):
        tables.read_table(tmp_path / "none.csv")
    with pytest.raises(InvalidValue, match="cannot be read: Is a directory"):
        tables.read_table(tmp_path)
    (tmp_path / "x.csv").write_bytes("\ufeffarm\na\n".encode())
    assert tables.read_table(tmp_path / "x.csv").header == ("arm",)
    content = tables.FileContent("sent.csv", b"arm;amount\na;1\n")
    assert tables.read_table(content) == tables.Table("sent.csv", ("arm", "amount"), [["a", "1"]], [2], "UTF-8")
    with pytest.raises(InvalidValue, match=r"^The file 'sent\.csv' cannot be read: it is not UTF-8 text"):
        tables.read_text(tables.FileContent("sent.csv", b"\xff"))


# Small files that unfold to large ones


def unfolding_workbook(cell, names=("Sheet",)):
    """A workbook whose first sheet has 50 rows with a cell far to the right, or one that says so; under all names."""
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["date", "arm"])
    for row in range(2, 52):
        book.active.cell(row, cell[0], cell[1])
    for name in names[1:]:
        book.copy_worksheet(book.active).title = name
    book.save(out)
    return FileContent("h.xlsx", out.getvalue())


def unfolding_parquet(table):
    out = io.BytesIO()
    parquet.write_table(pa.table(table), out)
    return FileContent("h.parquet", out.getvalue())


def test_empty_cells_before_a_far_one_count_and_those_after_the_last_are_not_kept(monkeypatch):
    far = unfolding_workbook((1000, 1))
    assert len(read_table(far).rows[0]) == 2
    monkeypatch.setattr(workbooks, "MOST_CELLS", 10_000)
    with pytest.raises(InvalidValue, match=r"^The sheet 'Sheet' of 'h\.xlsx' is too large\.$"):
        read_table(far)
    many = unfolding_workbook((100, 1), ("one", "two", "three"))
    assert read_table(many, sheet="two").sheet == "two"
    with pytest.raises(InvalidValue, match="too large"):  # all of them together
        read_table(many, wanted=["none of this name"])


def test_one_text_in_every_cell_of_a_workbook_counts_each_time(monkeypatch):
    monkeypatch.setattr(workbooks, "MOST_BYTES", 100_000)
    with pytest.raises(InvalidValue, match="too large"):
        read_table(unfolding_workbook((1, " x" * 5_000)))


def test_one_text_in_every_row_of_a_parquet_file_is_kept_once():
    file = unfolding_parquet({"arm": ["x" * 100_000] * 5_000, "row": [str(row) for row in range(5_000)]})
    assert len(file.content) < 100_000
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    try:
        found = read_table(file)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.rows[-1] == ["x" * 100_000, "4999"]
    assert most + pa.total_allocated_bytes() - before < 20_000_000  # unfolded it would be 500 MB


def test_a_parquet_file_of_many_cells_or_long_values_is_refused(monkeypatch):
    wide = unfolding_parquet({f"column {number}": [1.0] * 300 for number in range(100)})
    long = unfolding_parquet({"value": pa.array([b"x" * 1_000] * 300, pa.binary(1_000))})
    assert len(read_table(wide).rows) == len(read_table(long).rows) == 300
    monkeypatch.setattr(workbooks, "MOST_CELLS", 29_999)
    monkeypatch.setattr(workbooks, "MOST_BYTES", 299_999)
    for file in (wide, long):
        with pytest.raises(InvalidValue, match=r"^The Parquet file 'h\.parquet' is too large\.$"):
            read_table(file)


def test_columns_of_lists_are_left_out():
    assert read_table(unfolding_parquet({"arm": ["a"], "tags": [["x", "y"]], "more": [{"z": 1}]})).header == ("arm",)
