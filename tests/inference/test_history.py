"""The one reader of histories: which rows count, by which rule, in which kinds of files, and what is refused."""

import io
import re
from datetime import datetime

import openpyxl
import pandas as pd
import pytest

import apportion as ap
from apportion._common.dates import parse_date
from apportion._common.tables import FileContent
from apportion.inference.history import read_history

HEADER = "date,arm,amount,outcome\n"


def read(rows, **options):
    return read_history(FileContent("h.csv", (HEADER + rows).encode()), **options)


def lines(reading):
    return [(line.date, line.arm, line.amount, line.outcome) for line in reading.observations]


def test_rows_of_one_date_and_arm_are_summed_and_that_is_said():
    found = read("2026-01-01,a,10,1\n2026-01-01,b,5,2\n1.1.2026,a,20,3\n2026-01-01,a,0.1,\n2026-01-01,a,0.2,0.5\n")
    assert lines(found) == [("2026-01-01", "a", 30.2, 4.5), ("2026-01-01", "b", 5.0, 2.0)]
    assert found.observations[0].row == 2
    assert found.summary.sentences() == (
        "Rows of one date and arm were summed: 5 rows became 2.",
        "1 row without an outcome was left out of sums whose other rows have one, with its spend of 0.100.",
    )


def test_days_are_rolled_into_weeks_and_months():
    days = "".join(f"2026-01-{day:02d},a,1,{day}\n" for day in range(1, 32) if day != 20)
    weeks = read(days, period="week")
    assert [line.date for line in weeks.observations] == [
        "2025-12-29", "2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26",
    ]  # fmt: skip
    assert [line.amount for line in weeks.observations] == [4, 7, 7, 6, 6]
    assert weeks.observations[0].outcome == 1 + 2 + 3 + 4
    assert "Rows of one week and arm were summed: 30 rows became 5." in weeks.summary.sentences()
    assert lines(read(days, period="month")) == [("2026-01-01", "a", 30.0, 31 * 16 - 20.0)]
    hours = "2026-01-01 08:00,a,1,1\n2026-01-01 09:00,a,2,2\n"
    assert len(read(hours).observations) == 2
    assert lines(read(hours, period="day")) == [("2026-01-01", "a", 3.0, 3.0)]
    with pytest.raises(ap.InvalidValue, match=r"Row 3: the date must be one to be rolled into weeks; got 'week 3'\."):
        read("2026-01-01,a,1,1\nweek 3,a,1,1\n", period="week")
    with pytest.raises(ap.InvalidValue, match="`period` must be one of 'day', 'week', 'month'; got 'year'"):
        read(days, period="year")


def test_what_is_not_spent_or_not_known_is_kept_or_left_out_by_rule():
    found = read(
        "2026-01-01,a,10,1\n2026-01-01,b,0,0\n2026-01-01,c,,\n"  # without spend: got nothing
        "2026-01-02,a,10,\n2026-01-02,b,,7\n"  # not known; came back on no spend
        "2026-01-03,a,0,0\n2026-01-03,b,0,5\n"  # a day without spend
        "2026-01-06,a,10,2\nTotal,,30,15\n,total:,30,15\n"  # two days are missing
    )
    assert lines(found) == [
        ("2026-01-01", "a", 10.0, 1.0), ("2026-01-01", "b", 0.0, None), ("2026-01-01", "c", 0.0, None),
        ("2026-01-02", "a", 10.0, None), ("2026-01-02", "b", 0.0, None), ("2026-01-06", "a", 10.0, 2.0),
    ]  # fmt: skip
    assert found.summary.sentences() == (
        "2 rows of totals were left out.",
        "3 rows without spend: the arm got nothing then.",
        "2 rows returned 12 on no spend: left out, as no amount explains it.",
        "1 day without any spend was left out.",
        "1 amount without an outcome: spent, but the result is not known.",
        "2 days between the first and the last have no row: nothing is assumed about them.",
    )


def test_spend_and_results_in_rows_of_their_own_come_together():
    found = read("d1,a,10,\nd1,a,20,\nd1,a,,6\nd2,a,5,1\n")
    assert lines(found) == [("d1", "a", 30.0, 6.0), ("d2", "a", 5.0, 1.0)]
    assert found.summary.sentences() == (
        "Rows of one date and arm were summed: 4 rows became 2.",
        "1 row without spend of its own returned something: counted with what the arm got on the same date.",
    )


def test_every_fault_is_said_at_once_with_its_row():
    with pytest.raises(ap.InvalidValue) as caught:
        read("2026-02-30,a,1,1\n2026-01-01,,1,1\n2026-01-01,a,x,y\n,a,1,1\n2026-01-01,a,-1,1\n")
    assert str(caught.value).splitlines() == [
        "Row 2: the date must be a date that exists; got '2026-02-30'.",
        "Row 3: the arm must be a printable name; got ''.",
        "Row 4: the amount must be a number; got 'x'.",
        "Row 4: the outcome must be a number; got 'y'.",
        "Row 5: the date must be a short printable text; got ''.",
        "Row 6: the amount must be a number of at least 0; got '-1'.",
    ]
    with pytest.raises(ap.InvalidValue, match=r"Row 21: .*\nAnd 5 more such rows\.$"):
        read("d,a,x,1\n" * 25)


@pytest.mark.parametrize(
    ("rows", "dates"),
    [
        (("1/31/2026", "2/3/2026"), ["2026-01-31", "2026-02-03"]),
        (("31/1/2026", "2/3/2026"), ["2026-01-31", "2026-03-02"]),
        (("31-01-2026", "02-03-2026"), ["2026-01-31", "2026-03-02"]),
        (("2/3/2026", "1/3/2026"), ["2/3/2026", "1/3/2026"]),  # nobody can tell
    ],
)
def test_the_column_tells_the_day_from_the_month(rows, dates):
    found = read("".join(f"{day},a,1,1\n" for day in rows))
    assert [line.date for line in found.observations] == dates
    assert (found.moments is not None) == ("/" not in dates[0])


@pytest.mark.parametrize(
    "written",
    [
        "January 5, 2026", "Jan 5 2026", "5 Jan 2026", "5-Jan-26", "Monday, 5 January 2026", "Mon Jan 5th, 2026",
        "05.01.26",        "5. Januar 2026", "Mo. 5. Jan. 2026", "5 janvier 2026", "5/ene/2026",
    ],
)  # fmt: skip
def test_dates_with_the_name_of_a_month(written):
    found = read(f'"{written}",a,1,1\n2026-01-04,a,2,3\n')
    assert [line.date for line in found.observations] == ["2026-01-04", "2026-01-05"]


def test_months_in_four_languages_and_what_is_only_a_name():
    texts = ("März 2026", "mars 2026", "Mar 2026", "marzo 2026", "AOÛT 2026", "Dez 2026", "May 2026")
    assert [parse_date(text).month for text in texts] == [3, 3, 3, 3, 8, 12, 5]
    for name in (
        "week 3",
        "Jui 2026",
        "Ma 2026",
        "Sales Jan 5, 2026",
        "Jan-26",
        "period 5 2026",
        "Mayor 2026",
        "q1 2026",
    ):
        assert parse_date(name) is None
    with pytest.raises(ap.InvalidValue, match=r"Row 2: the date must be a date that exists; got '30 Feb 2026'"):
        read("30 Feb 2026,a,1,1\n")


def test_subtotals_and_captions_are_left_out():
    found = read(
        "Week 1,,,\n2026-01-01,a,10,1\n2026-01-01,Total Wine,4,2\n"
        "Total January:,,14,3\nGesamt 1.1.,,14,3\n,Summe a,10,1\n"
    )
    assert lines(found) == [("2026-01-01", "a", 10.0, 1.0), ("2026-01-01", "Total Wine", 4.0, 2.0)]
    assert found.summary.sentences() == (
        "3 rows of totals were left out.", "1 row with neither arm nor numbers was left out.",
    )  # fmt: skip


TEXT = "Datum;Kanal;Kosten;Umsatz\n01.02.2026;Außen;1.200,50 €;5%\n02.02.2026;Außen;€ 900;7\n"
GERMAN = {"date": "datum", "arm": "kanal", "amount": "kosten", "outcome": "umsatz"}


@pytest.mark.parametrize(
    ("encoding", "note"),
    [("utf-8", ()), ("utf-8-sig", ()), ("cp1252", ("Windows-1252",)), ("utf-16", ("UTF-16",))],
)
def test_encodings_currencies_and_titles(encoding, note):
    for text in (TEXT, "Bericht Februar\n\n" + TEXT, TEXT.replace(";", "\t")):
        found = read_history(FileContent("h.csv", text.encode(encoding)), **GERMAN)
        assert [(line.arm, line.amount, line.outcome) for line in found.observations] == [
            ("Außen", 1200.5, 0.05), ("Außen", 900.0, 7.0),
        ]  # fmt: skip
        assert found.summary.sentences() == tuple(f"The text was read as {name}." for name in note)


def workbook(sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return FileContent("book.xlsx", out.getvalue())


ROWS = [
    ("Our spend",),
    ("Date", "Channel", "Spend", "Sales"),
    (datetime(2026, 1, 1), "search", 3.53, 10),
    (datetime(2026, 1, 1), "search", 1, "€ 2.50"),
    (None, None, None, None),
    (datetime(2026, 1, 2), "social", 2, None),
]
NAMED = {"arm": "channel", "amount": "spend", "outcome": "sales"}


def test_a_workbook_with_two_sheets():
    book = workbook({"Notes": [("What", "Why"), ("a", "b")], "Data": ROWS})
    found = read_history(book, **NAMED)
    assert lines(found) == [("2026-01-01", "search", 4.53, 12.5), ("2026-01-02", "social", 2.0, None)]
    assert [line.row for line in found.observations] == [3, 6]
    assert found.summary.sentences()[0] == "Sheet 'Data' was read; there are also 'Notes'."
    for sheet in ("data", "2", 2):
        assert read_history(book, sheet=sheet, **NAMED) == found
    with pytest.raises(ap.InvalidValue, match=r"Row 1: columns named .* found are What, Why in sheet 'Notes'\.$"):
        read_history(book, sheet="Notes", **NAMED)
    with pytest.raises(ap.InvalidValue) as error:  # what may be meant is said, to be typed
        read_history(book)
    assert "found are What, Why in sheet 'Notes'. Perhaps, in sheet 'Data', the " in str(error.value)
    for wrong in ("3", "0", "none"):
        with pytest.raises(ap.InvalidValue, match="`sheet` must be one of 'Notes', 'Data', or its number"):
            read_history(book, sheet=wrong, **NAMED)
    with pytest.raises(ap.InvalidValue, match="`sheet` is for workbooks"):
        read("d,a,1,1\n", sheet="Data")
    both = workbook({"one": ROWS, "two": ROWS})
    assert read_history(both, sheet=1, **NAMED).digest != read_history(both, sheet=2, **NAMED).digest


def test_a_parquet_file_is_read_as_the_frame_it_was():
    frame = pd.DataFrame(
        {
            "date": pd.to_datetime(["2026-01-01", "2026-01-02"]),
            "arm": ["a", "b"],
            "amount": [1.234, 2],
            "outcome": [1, None],
        }
    )
    out = io.BytesIO()
    frame.to_parquet(out)
    found = read_history(FileContent("h.parquet", out.getvalue()))
    assert lines(found) == [("2026-01-01", "a", 1.234, 1.0), ("2026-01-02", "b", 2.0, None)]
    assert lines(read_history(frame)) == lines(found)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"PK\x03\x04 nothing", "The file 'x' cannot be read as a workbook (.xlsx); it may be damaged."),
        (b"PAR1 nothing", "The file 'x' cannot be read as Parquet; it may be damaged."),
        (b"\xd0\xcf\x11\xe0\xa1", "The file 'x' is an old Excel file (.xls): save it as .xlsx or CSV."),
        (b"a\0b,c", "The file 'x' is not a text file, a workbook (.xlsx) or a Parquet file."),
        (b"", "The file 'x' is empty."),
    ],
)
def test_other_files_get_a_sentence(content, sentence):
    with pytest.raises(ap.InvalidValue, match=f"^{re.escape(sentence)}$"):
        read_history(FileContent("x", content))


def test_fit_reads_as_import_does():
    rows = "".join(f"2026-01-{day:02d},a,{day},{day + day % 3}\n" for day in range(1, 29))
    file = FileContent("h.csv", (HEADER + rows + rows).encode())
    fit = ap.fit_noise(file, c=1.0)
    assert fit.observations == 28
    assert fit.amounts.tolist() == [2.0 * day for day in range(1, 29)]
    assert fit.notes == ("Rows of one date and arm were summed: 56 rows became 28.",)
    assert fit.notes[0] in fit.summary()
    assert ap.fit_noise(file, c=1.0, period="week").observations == 5
