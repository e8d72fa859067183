"""Numbers as people write them: what is clear, what is not, and what a file tells about it."""

import pytest

from apportion._common import parsing, tables
from apportion.errors import InvalidValue


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("1200", 1200, 1200), ("-7", -7, -7), ("1e3", 1000, 1000), ("1 840", 1840, 1840), ("1'840", 1840, 1840),
        ("1.840", 1.84, 1840), ("1,840", 1840, 1.84), ("-12.345", -12.345, -12345), ("999,001", 999001, 999.001),
        ("12.5", 12.5, None), ("12,5", None, 12.5), ("0.530", 0.53, None), ("0,530", None, 0.53), (".5", 0.5, None),
        ("1234.567", 1234.567, None), ("1234,567", None, 1234.567), ("1.2345", 1.2345, None),
        ("1,234.56", 1234.56, None), ("1.234,56", None, 1234.56), ("1,234,567", 1234567, None),
        ("1.234.567", None, 1234567), ("1 234,567", None, 1234.567), ("1.234e5", 123400, None), ("1,5e3", None, 1500),
        ("1\u202f840,5", None, 1840.5), ("−2,5", None, -2.5), ("5 %", 0.05, 0.05),
        ("€ 12,50", None, 12.5), ("-$1,234.5", -1234.5, None), ("£-3", -3, -3), ("12 EUR", 12, 12),
        *((text, None, None) for text in (
            "", "x", "nan", "inf", "1e999", "0x10", "1,2,3", "12,34,567", "1_0", "12 34", "1.84.0", "01.840,5",
            "1.234,567.8", "--1", "1e", ",", "$5%", "€5€", "ABC 5", "€", "%",
        )),
    ],
)  # fmt: skip
def test_a_text_is_read_with_either_decimal_mark(text, point, comma):
    assert (parsing.reading(text, "point"), parsing.reading(text, "comma")) == (point, comma)


@pytest.mark.parametrize(
    ("columns", "marks"),
    [
        ([["3.530", "380"], ["3.677", "336"]], [None, None]),
        ([["3.530", "380"], ["3.677", "33,6"]], ["comma", "comma"]),
        ([["3.530", "380"], ["3.677", "33.6"]], ["point", "point"]),
        ([["3,530", "380"], ["1,234.5"]], ["point", "point"]),
        ([["3.530", "12,5"], ["1.5"]], [None, None]),  # the file contradicts itself
        ([["12.345", "1200"], ["7"]], ["point", None]),
        ([["12.345"], ["1200"]], [None, "point"]),  # another column may be written otherwise
        ([["12.345", "1.840", "1200"], []], [None, None]),
        ([["12,345", "1200"], []], [None, None]),
        ([["", "no data"], []], [None, None]),
        ([["$1,234"], ["7"]], ["point", "point"]),
        ([["1.234 €"], ["7"]], ["comma", "comma"]),
    ],
)
def test_the_decimal_mark_of_a_file(columns, marks):
    assert parsing.decimal_marks(columns) == marks
    assert parsing.decimal_marks(columns, "comma") == ["comma", "comma"]


@pytest.mark.parametrize("value", [2.125, 12.345, -999.001, 1234.567, 0.125, 1e-7, 1e22, 5000.0, 0.1 + 0.2])
def test_what_apportion_writes_is_read_back_in_one_way(value):
    assert parsing.readings(parsing.plain(value)) == (value,)
    assert parsing.number(parsing.plain(value), "x") == value


@pytest.mark.parametrize("typed", ["1,840", "1.840"])
def test_a_number_that_stands_alone_must_be_clear(typed):
    with pytest.raises(InvalidValue) as caught:
        parsing.number(typed, "the budget")
    assert str(caught.value) == f"The budget can be read in two ways; write 1840 or 1.84, not {typed!r}."


def test_a_column_is_found_in_any_case_if_there_is_one():
    assert tables.column_index(["DATE ", "date", "arm"], "date") == 1
    assert tables.column_index([" Date", "arm"], "date") == 0
    assert tables.column_index(["date", "date"], "date") is None
    assert tables.column_index(["day"], "date") is None
