"""Tables as people have them: what is read, and what is refused with the row that is wrong."""

import re

import pytest

from apportion._common import tables
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
