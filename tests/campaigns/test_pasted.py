"""Cells from a spreadsheet: a column, or names and numbers, read as people write them."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import apportion as ap
from apportion.campaigns.pasted import read_pasted
from cli.commands import run

ARMS = ("search", "social", "Video, long")


def pairs(text, arms=ARMS, **options):
    return {row.arm: row.outcome for row in read_pasted(text, arms, **options)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("812\n410.5\n77\n", {"search": 812.0, "social": 410.5, "Video, long": 77.0}),
        ("Revenue\r\n812\r\n410,5\r\n77", {"search": 812.0, "social": 410.5, "Video, long": 77.0}),
        ("€ 1.200,50\n1.840\n77", {"search": 1200.5, "social": 1840.0, "Video, long": 77.0}),
        ("\n410\n\n", {"social": 410.0}),
        ("812\n\n\n\n\n", {"search": 812.0}),
        ("812\nno data\n-", {"search": 812.0, "social": None, "Video, long": None}),
        ("Channel\tSales\nSOCIAL\t$4\nvideo, long\t\nsearch\t5%", {"social": 4.0, "search": 0.05}),
        ("search,812\nsocial,410", {"search": 812.0, "social": 410.0}),
        ("social;410,5", {"social": 410.5}),
        ("arm;outcome;amount\nsocial;410,5;7", {"social": 410.5}),
    ],
)
def test_what_is_pasted(text, found):
    assert pairs(text) == found


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (" \n", "Nothing was pasted"),
        ("812\n410", "one cell for each arm that waits, in this order: search, social, Video, long; got 2 for 3"),
        ("1\n2\n3\n4\n5", "got 5 for 3"),
        ("1\nmany\n3", "Row 2: the outcome must be a number; got 'many'."),
        ("radio\t3\nsocial\t2", "Row 1: arm 'radio' does not wait for an outcome; those that do are search, social"),
        ("social\t3\nsocial\t2", "Row 2: arm 'social' is given twice."),
        ("a\tb\tc\td", "got 4 columns"),
        ("1.840\n2.530\n1.111", "can be read in two ways"),
    ],
)
def test_what_cannot_be_read_is_said(text, sentence):
    with pytest.raises(ap.InvalidValue) as error:
        read_pasted(text, ARMS)
    assert sentence in str(error.value)
    assert pairs("1.840\n2.530\n1.111", decimal="comma")["search"] == 1840.0


@given(st.text(st.sampled_from("12.,;\t\n -€%asearch\r"), max_size=60))
def test_any_text_is_read_or_refused_in_a_sentence(text):
    try:
        found = read_pasted(text, ARMS)
    except ap.ApportionError as error:
        assert str(error)  # noqa: PT017
    else:
        assert {row.arm for row in found} <= set(ARMS) or "arm" in text


def test_a_column_on_the_command_line(sqlite, tmp_path, monkeypatch):
    campaign = ap.Campaign.create("ads", ARMS, budget=90, policy="Uniform", b=0.5, sigma=2.0, seed=1, db=sqlite)
    campaign.split()
    (tmp_path / "so_far.csv").write_text("came back\n10\n\n3\n")
    done = run("record", "ads", "--csv", str(tmp_path / "so_far.csv"), "--provisional", "--json", "--db", str(sqlite))
    assert (done.code, json.loads(done.out)["open_tickets"]) == (0, [1])
    assert campaign.status().returned == 13.0
    monkeypatch.setattr("sys.stdin", io.StringIO("search\t€ 11\nsocial\t20\nvideo, long\tno data\n"))
    assert run("record", "ads", "--csv", "-", "--db", str(sqlite)).code == 0
    assert (campaign.status().returned, campaign.open_tickets) == (31.0, ())
    campaign.split()
    (tmp_path / "short.csv").write_text("10\n20\n")
    refused = run("record", "ads", "--csv", str(tmp_path / "short.csv"), "--db", str(sqlite))
    assert (refused.code, refused.out) == (2, "")
    assert "got 2 for 3" in refused.err
    assert campaign.status().returned == 31.0
