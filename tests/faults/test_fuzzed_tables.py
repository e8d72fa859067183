"""Made-up tables, as people have them: read, or refused in sentences; imported whole or not at all."""

import contextlib
import io
import math
import os

import openpyxl
import pyarrow as pa
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import apportion as ap
from apportion._common.tables import FileContent
from apportion.inference.history import read_history

SOAK = os.environ.get("APPORTION_SOAK") == "1"

often = settings(
    max_examples=10_000 if SOAK else 300, deadline=None, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip

days = st.integers(1, 28)
dates = st.one_of(
    st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-05"]),
    st.sampled_from(
        ["2026-02-30", "week 3", "", "Total", "2026-W05", "2026-01", "2026-01-01 08:00", "31/12/9999", "1/2/0000"]
    ),
    days.map(lambda day: f"{day}.1.2026"),
    days.map(lambda day: f"1/{day}/2026"),
)
arms = st.one_of(
    st.sampled_from(["search", "social", "Außen"]), st.sampled_from(["", "total", "=1+1", "a\nb", "a" * 300])
)
figures = st.one_of(
    st.floats(0, 1e6).map(lambda x: f"{x:.2f}"),
    st.integers(0, 10**6).map(lambda x: f"{x:,}"),
    st.integers(0, 10**6).map(lambda x: f"{x:,}".replace(",", ".") + " €"),
    st.sampled_from(
        ["", "0", "-", "n/a", "$1,200.50", "12,5", "5%", "-3", "1e3", "1e-70", "1e70", "x", "nan", "€", "1.234"]
    ),
    st.floats(),
    st.integers(-(10**400), 10**400),
    st.booleans(),
    st.none(),
)
rows = st.lists(st.tuples(dates, arms, figures, figures), max_size=8)
good = st.lists(
    st.tuples(
        st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-09"]), st.sampled_from(["search", "social", "new"]),
        st.sampled_from([0, 12.5, "€ 7", ""]), st.sampled_from([0, 3, "", "$1,200.50"]),
    ),
    min_size=1, max_size=8,
)  # fmt: skip
heads = st.sampled_from(
    [("date", "arm", "amount", "outcome")] * 4 + [("Date", "ARM ", "amount", "outcome"), ("date", "arm")]
)


def written(head, body, kind):
    """The table as a file of a kind."""
    if kind == "xlsx":
        book = openpyxl.Workbook()
        book.create_sheet("second").append(("nothing",))
        for row in (head, *body):
            book.active.append([_cell(cell) for cell in row])
        out = io.BytesIO()
        book.save(out)
        return out.getvalue()
    if kind == "parquet":
        columns = zip(*((*row, "", "", "")[: len(head)] for row in body)) if body else [()] * len(head)
        out = io.BytesIO()
        parquet.write_table(
            pa.table({name: [str(cell) for cell in column] for name, column in zip(head, columns)}), out
        )
        return out.getvalue()
    mark, encoding = kind
    text = "\n".join(mark.join(_quoted(cell, mark) for cell in row) for row in (head, *body))
    return text.encode(encoding, "replace")


def _cell(cell):
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return str(cell) if isinstance(cell, int) and abs(cell) > 10**15 else cell


def _quoted(cell, mark):
    text = "" if cell is None else str(cell)
    return f'"{text}"' if mark in text or "\n" in text else text


@st.composite
def files(draw):
    texts = st.tuples(st.sampled_from(",;\t"), st.sampled_from(["utf-8", "utf-8-sig", "cp1252", "utf-16"]))
    kind = draw(st.one_of(texts, st.sampled_from(["xlsx", "parquet"])))
    content = written(draw(heads), draw(st.one_of(good, rows)), kind)
    if draw(st.integers(0, 9)) == 0:  # damaged
        at = len(content) * draw(st.integers(0, 1000)) // 1000  # a workbook's length depends on the clock
        content = content[:at] + draw(st.binary(max_size=8)) + content[at + draw(st.integers(0, 8)) :]
    return FileContent("table", content)


options = st.fixed_dictionaries(
    {},
    optional={
        "period": st.sampled_from(["day", "week", "month", "year"]),
        "decimal": st.sampled_from(["point", "comma", "dot"]),
        "delimiter": st.sampled_from([",", ";", "||", ""]),
        "sheet": st.sampled_from(["Sheet", "second", "1", 2, "9", ""]),
        "date": st.sampled_from(["date", "day", "arm", ""]),
    },
)


@often
@given(file=files(), more=st.one_of(st.just({}), options))
@example(
    file=FileContent("table", b"date,arm,amount,outcome\n9999-12-31,a,1,1\n0001-01-01,a,1,1\n"),
    more={"period": "week"},
)
def test_any_table_is_read_or_refused_and_imported_whole_or_not_at_all(sqlite, file, more):
    try:
        reading = read_history(file, **more)
    except ap.InvalidValue:
        reading = None
    else:
        assert all(0.0 <= line.amount < math.inf for line in reading.observations)
        assert all(reading.summary.sentences())
    with contextlib.suppress(ap.InvalidValue):
        ap.fit_noise(file, **more)
    ads = _campaign(sqlite)
    before = ads.version
    try:
        done = ads.import_history(file, add_arms=True, again=True, **more)
    except ap.InvalidValue:
        assert ads.version == before
        assert (
            reading is None or not reading.observations or any(len(line.arm) > 200 for line in reading.observations)
        )
        return
    lines = list(ads.history(ads.period - done.tickets + 1))
    assert {line.ticket for line in lines} == set(range(ads.period - done.tickets + 1, ads.period + 1))
    wanted = [(line.date, line.arm, line.amount, line.outcome) for line in reading.observations]
    assert sorted(map(str, wanted)) == sorted(str((line.date, line.arm, line.amount, line.outcome)) for line in lines)


CAMPAIGNS = {}


def _campaign(sqlite):
    """One for some dozens of files, so that none grows long."""
    number = CAMPAIGNS[sqlite] = CAMPAIGNS.get(sqlite, -1) + 1
    name = f"ads {number // 50}"
    if number % 50 == 0:
        return ap.Campaign.create(name, ("search", "social"), budget=100, policy="Uniform", db=sqlite)
    return ap.Campaign.open(name, db=sqlite)
