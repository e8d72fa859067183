"""`apportion new`: worked examples, and the questions on a terminal; it never asks how results vary."""

import json
import os
import pty
import select
import subprocess
import sys

import pytest

import apportion as ap
from apportion.campaigns.examples import EXAMPLES
from cli.commands import run

PATIENCE = 60.0


def on_a_terminal(answers, *arguments):
    """Run `apportion …` on a terminal of its own and type an answer at each question; all that was printed."""
    ours, theirs = pty.openpty()
    line = [sys.executable, "-m", "apportion", *arguments]
    with subprocess.Popen(
        line, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "COLUMNS": "120", "TERM": "dumb"}
    ) as process:
        os.close(theirs)
        said, waiting = "", list(answers)
        while select.select([ours], [], [], PATIENCE)[0]:
            try:
                piece = os.read(ours, 4096).decode(errors="replace")
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            said += piece
            if waiting and said.rstrip("\r\n").endswith((": ", ":")) and waiting[0][0] in said:
                os.write(ours, (waiting.pop(0)[1] + "\n").encode())
                said += "\0"  # the next question comes after this
        code = process.wait(PATIENCE)
    os.close(ours)
    assert not waiting, f"not asked: {waiting}; printed: {said}"
    return code, said


def test_what_is_missing_is_asked_for_and_nothing_else(sqlite):
    answers = [
        ("Start from an example", ""),
        ("Name of the campaign", "ads"),
        ("Arms, separated by commas", "search, social"),
        ("Budget of a period", "5000"),
        ("Counted in", "EUR"),
        ("Split every", "fortnight"),
        ("`every` must be one of 'day', 'week', 'month'", "week"),
        ("What comes back is measured in", "orders"),
        ("Whole units only?", "n"),
    ]
    code, said = on_a_terminal(answers, "new", "--db", str(sqlite))
    assert code == 0, said
    assert "σ" not in said
    assert " b " not in said.lower().replace("\r\n", " ")
    own = ap.Campaign.open("ads", sqlite).settings
    assert (own.budget, own.unit, own.every, own.outcome_unit, own.step) == (5000.0, "EUR", "week", "orders", None)
    assert "Budget: 5,000 EUR per week." in said


def test_an_example_is_offered_on_a_terminal(sqlite):
    answers = [("Start from an example (marketing, kits, hours", "hours"), ("Name of the campaign", "our hours")]
    code, said = on_a_terminal(answers, "new", "--db", str(sqlite))
    assert code == 0, said
    assert "A team's hours. 40 hours a week" in said
    assert ap.Campaign.open("our hours", sqlite).period == 20


@pytest.mark.parametrize("key", EXAMPLES)
def test_an_example_brings_its_past(sqlite, key):
    example = EXAMPLES[key]
    done = run("new", "--example", key, "--json", "--db", str(sqlite))
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["campaign"], found["period"], found["open_tickets"]) == (key, example.periods, [])
    assert found["leader"] == max(example.rates, key=example.rates.get)
    assert found["settings"]["outcome_unit"] == example.outcome_unit
    assert found["spent"] == example.budget * example.periods
    shown = run("status", key, "--db", str(sqlite)).out
    assert f"{ap.Campaign.open(key, sqlite).unit} per {example.every}." in shown
    split = ap.Campaign.open(key, sqlite).split()
    assert sum(split.amounts.values()) == pytest.approx(example.budget)
    assert example.history() == example.history()
    lines = example.history().content.decode().splitlines()[1:]
    amounts = [float(line.split(",")[2]) for line in lines]
    for start in range(0, len(amounts), len(example.arms)):
        assert sum(amounts[start : start + len(example.arms)]) == example.budget


def test_what_is_given_goes_before_the_example(sqlite):
    done = run("new", "mine", "--example", "marketing", "--budget", "6000", "--every", "month", "--min", "video=5%",
               "--db", str(sqlite))  # fmt: skip
    assert (done.code, "estimated orders" in done.out) == (0, True)
    made = ap.Campaign.open("mine", sqlite)
    assert (made.settings.budget, made.settings.every, made.settings.outcome_unit) == (6000.0, "month", "orders")
    assert [arm.minimum for arm in made.arms if arm.name == "video"] == [0.05]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("x", "--example", "shop"), "`example` must be one of 'marketing', 'kits', 'hours'; got 'shop'."),
        (("x", "--arms", "a,b", "--budget", "5", "--every", "year"), "`every` must be one of 'day', 'week', 'month'"),
        (
            ("x", "--arms", "a,b", "--budget", "5", "--outcome-unit", "x" * 50),
            "`outcome_unit` must be a short printable",
        ),
        (
            ("x", "--arms", "a,b", "--budget", "5", "--min", "a=lots"),
            "The smallest share of 'a' must be a percentage",
        ),
        ((), "`apportion new` needs NAME and --arms and --budget"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(sqlite, arguments, sentence):
    done = run("new", *arguments, "--db", str(sqlite))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(sentence)
    assert len(done.err.strip().splitlines()) == 1
    assert ap.Campaign.names(sqlite) == ()


def test_the_words_follow_the_settings(sqlite):
    campaign = ap.Campaign.create("x", ("a", "b"), budget=40, unit="hours", policy="Uniform", b=0.5, db=sqlite)
    campaign.record(campaign.split().ticket, {"a": 30.0, "b": 20.0})
    for unit, heading in (
        ("EUR", "estimated EUR per hour"),
        ("sign-ups", "estimated sign-ups per hour"),
        (None, "return"),
    ):
        campaign.change(outcome_unit=unit, every="month")
        shown = " ".join(run("status", "x", "--db", str(sqlite)).out.split())
        assert heading in shown
        assert "Budget: 40 hours per month." in shown
    assert run("settings", "x", "--unset", "every", "--db", str(sqlite)).code == 0
    assert campaign.settings.every is None
