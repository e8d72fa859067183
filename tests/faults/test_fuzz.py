"""Whatever is typed and whatever is in a file: exit code 0 or 2, never a traceback, and on 2 nothing has changed."""

import contextlib
import json
import os
import sqlite3
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from commands import run

import apportion as ap
from apportion.campaigns.files import export_json, export_log

SOAK = os.environ.get("APPORTION_SOAK") == "1"
CASES = 10_000 if SOAK else 1_000

often = settings(
    max_examples=CASES // 5, deadline=None, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip


@pytest.fixture
def base(sqlite, monkeypatch, tmp_path):
    """A campaign with an open ticket and a told one, and a folder to be in."""
    monkeypatch.setenv("APPORTION_DB", sqlite)
    monkeypatch.chdir(tmp_path)
    campaign = ap.Campaign.create("ads", ("a", "b"), budget=100, b=0.75, sigma=1, seed=1, db=sqlite)
    campaign.record(campaign.split().ticket, {"a": 1.0, "b": 2.0})
    campaign.split()
    return campaign


def everything(db):
    """How much is in the database: nothing is ever taken out of it."""
    with contextlib.closing(sqlite3.connect(db)) as plain:
        return plain.execute("SELECT (SELECT count(*) FROM campaigns), count(*), max(number) FROM events").fetchone()


def command_is_sound(db, *arguments):
    before = everything(db)
    done = run(*arguments)
    assert done.code in (0, 2), (arguments, done)
    assert "Traceback" not in done.err + done.out
    if done.code == 2:
        assert done.err.strip()
        assert everything(db) == before, (arguments, done)


numbers = st.one_of(
    st.integers(-3, 10**20).map(str),
    st.floats().map(repr),
    st.sampled_from(["0", "1", "-1", "1e308", "nan", "inf", "-inf", "0x1", "1_000", "١", "", "1e-320"]),
)
names = st.one_of(st.sampled_from(["a", "b", "ads", "c", "", " ", "=", "a=b"]), st.text(max_size=12))
pairs = st.tuples(names, numbers).map("=".join)
verbs = st.sampled_from(
    [
        "new",
        "split",
        "record",
        "amend",
        "close",
        "status",
        "history",
        "settings",
        "arms",
        "check",
        "import",
        "campaigns",
    ]
)
options = st.sampled_from(
    ["--budget", "--ticket", "--spent", "--arms", "--min", "--max", "--pin", "--b", "--sigma", "--unit", "--policy",
     "--key", "--step", "--whole", "--json", "--half-life", "--level", "--horizon", "--seed", "--last", "--log",
     "--window", "--robust", "--no-robust", "--unset", "--minimise", "--csv", "add", "pause", "resume", "remove",
     "bound", "--", "-h", "odds", "ucb", "thompson"]
)  # fmt: skip
words = st.one_of(options, names, numbers, pairs, st.just("ads"), st.just("x,y,z"))


@often
@given(verb=verbs, first=st.sampled_from(["ads", "ads", "ads", "other"]), rest=st.lists(words, max_size=7))
def test_anything_typed(base, sqlite, verb, first, rest):
    command_is_sound(sqlite, verb, first, *rest)


@st.composite
def probable(draw):
    """Commands that are nearly right: they get further than a random line of words."""
    verb = draw(st.sampled_from(["split", "record", "amend", "arms", "settings", "new", "close"]))
    if verb == "split":
        return [verb, "ads", "--budget", draw(numbers)]
    if verb == "record":
        return [verb, "ads", *draw(st.lists(pairs, max_size=3)), "--ticket", draw(st.sampled_from(["1", "2", "3"]))]
    if verb == "amend":
        return [verb, "ads", draw(st.sampled_from(["1", "2", "0"])), *draw(st.lists(pairs, min_size=1, max_size=3))]
    if verb == "arms":
        action = draw(st.sampled_from(["add", "pause", "resume", "remove", "bound"]))
        return [verb, "ads", action, "--min", draw(numbers), "--max", draw(numbers), "--", draw(names)]
    if verb == "settings":
        options = ["--budget", "--b", "--sigma", "--level", "--step", "--horizon", "--half-life", "--window"]
        option = draw(st.sampled_from(options))
        return [verb, "ads", option, draw(numbers)]
    if verb == "close":
        return [verb, "ads", draw(numbers)]
    return [verb, draw(names), "--arms", ",".join(draw(st.lists(names, max_size=4))), "--budget", draw(numbers),
            "--min", draw(pairs), "--seed", "1"]  # fmt: skip


@often
@given(line=probable())
@example(line=["settings", "ads", "--half-life", "1e-67"])  # was an OverflowError
def test_nearly_right_commands(base, sqlite, line):
    command_is_sound(sqlite, *line)


cells = st.one_of(numbers, names, st.sampled_from(["a", "b", "1", "2", "2026-01-01", "no data", '"', "a\nb"]))
headers = st.sampled_from(
    ["date,arm,amount,outcome", "date;arm;amount;outcome", "ticket,arm,outcome,amount", "arm,outcome", ""]
)


@st.composite
def tables(draw):
    """Files that are nearly tables of a history or of outcomes."""
    head = draw(headers)
    mark = ";" if ";" in head else ","
    width = head.count(mark) + 1
    rows = draw(
        st.lists(st.lists(cells, min_size=width, max_size=draw(st.sampled_from([width, width + 1]))), max_size=5)
    )
    text = "\n".join([head, *(mark.join(row) for row in rows)])
    return draw(
        st.sampled_from([text.encode(), text.encode("utf-16"), text.encode()[: len(text) // 2], text.encode()])
    )


@often
@given(content=st.one_of(tables(), tables(), st.binary(max_size=200)), verb=st.sampled_from(["import", "record"]))
def test_any_table(base, sqlite, tmp_path, content, verb):
    (tmp_path / "table.csv").write_bytes(content)
    more = ["table.csv", "--add-arms"] if verb == "import" else ["--csv", "table.csv", "--ticket", "2"]
    command_is_sound(sqlite, verb, "ads", *more)


junk = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


def places(value, path=()):
    """Every place inside of plain data."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@often
@given(data=st.data())
def test_any_damage_to_an_export(base, sqlite, tmp_path, data):
    content = json.loads(export_json(base))
    content["name"] = "again"
    path = data.draw(st.sampled_from(sorted(places(content), key=str)))
    (tmp_path / "export.json").write_text(json.dumps(replaced(content, path, data.draw(junk))))
    command_is_sound(sqlite, "restore", "export.json")


@often
@given(data=st.data())
def test_any_damage_to_an_exported_log(base, sqlite, tmp_path, data):
    lines = export_log(base).splitlines()
    place = data.draw(st.integers(0, len(lines) - 1))
    at = data.draw(st.integers(0, len(lines[place])))
    lines[place] = (
        lines[place][:at] + data.draw(st.text(max_size=4)) + lines[place][at + data.draw(st.integers(0, 5)) :]
    )
    (tmp_path / "again.csv").write_text("\n".join(lines), encoding="utf-8")
    command_is_sound(sqlite, "restore", "again.csv")
