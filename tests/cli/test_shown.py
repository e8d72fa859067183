"""What the commands of a campaign show to people: words, numbers, headings, and what fits on a terminal."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest
from commands import run

import apportion as ap
from apportion._common.formatting import column_cells, to_the_minute
from apportion.campaigns.forecast import Forecast, PolicyForecast
from apportion.campaigns.status import spent_heading
from apportion.cli.forecast import _show


@pytest.fixture(autouse=True)
def here(monkeypatch, sqlite, tmp_path):
    monkeypatch.setenv("APPORTION_DB", sqlite)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)


def begun(**options):
    return ap.Campaign.create(
        "ads", ("search", "social", "video"), **{"budget": 5000, "unit": "EUR", "seed": 7, **options}
    )


def on_a_terminal(columns, *arguments):
    """What `apportion …` prints on a real terminal of that width, without its colours."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    command = [sys.executable, "-m", "apportion", *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            said += more
    os.close(ours)
    assert process.returncode == 0, said
    return re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).replace("\r", "").splitlines()


def headings(lines):
    return " ".join(" ".join(line.replace("┃", " ").split()) for line in lines if line.startswith("┃"))


def test_the_amounts_of_a_status_are_called_what_they_are():
    ads = begun()
    for ticket in (1, 2, 3, 4):
        ads.split()
        ads.record(
            ticket, {"search": 900.0, "social": 700.0, "video": None}, {"search": 2000, "social": 2000, "video": 1000}
        )
    shown = run("status", "ads").out
    assert all(word in shown for word in ("spent EUR", "came back", "return so far", "estimated return per EUR"))
    assert re.search(r"search .* 8,000 .* 3,600 .* 0.450 ", shown)
    assert re.search(r"all .* 20,000 .* 6,400 .* 0.320 ", shown)
    for statistics in ("σ", "b is", "Auto", "with results"):
        assert statistics not in shown
    assert "Spent, with results".lower() in run("status", "ads", "--details").out
    for change in ({"half_life": 4}, {"window": 2}):
        ads.change(**change)
        shown, stand = run("status", "ads", "--details").out.split("What the estimates stand on")
        assert re.search(r"search .* 8,000 ", shown)
        assert "spent, still counting" in stand
        assert not re.search(r"search .* 8,000 ", stand)
    ads.change(window=None, unit=None)
    assert spent_heading(ads.settings) == "Spent, with results"


def test_b_and_sigma_are_learned_again_once_they_are_unset():
    ads = begun()
    ads.split()
    ads.record(1, {"search": 900.0, "social": 700.0, "video": 20.0})
    learned = ads.settings
    done = run("settings", "ads", "--b", "0.7", "--sigma", "30")
    assert ads.settings.assumed == ()
    done = run("settings", "ads", "--policy", "auto")
    assert "As given: b = 0.7 and σ = 30; `--unset b --unset sigma` has it learned." in done.out
    done = run("settings", "ads", "--unset", "b")
    assert "b is about" in done.out
    assert "σ is 30, as given" in done.out
    assert ads.settings.assumed == ("b",)
    done = run("settings", "ads", "--unset", "sigma")
    assert (done.code, done.err) == (0, "")
    assert "learned from the outcomes" in done.out
    assert ads.settings == learned
    assert json.loads(run("settings", "ads", "--json").out)["assumed"] == ["b", "sigma"]
    assert ads.check().ok


def test_another_policy_can_be_left_for_one_that_learns():
    ads = begun(policy="odds", b=0.7, sigma=3)
    assert run("settings", "ads", "--unset", "b").code == 2
    done = run("settings", "ads", "--policy", "auto", "--unset", "b", "--unset", "sigma")
    assert "Nothing is known of the noise yet" in done.out
    assert (ads.settings.policy, ads.settings.assumed) == ("Auto", ("b", "sigma"))


def test_what_a_policy_does_not_ask_for_is_assumed_or_not_known():
    begun(policy="uniform", b=0.7, sigma=3)
    done = run("settings", "ads", "--unset", "b", "--unset", "sigma")
    assert done.out.splitlines()[-1] == "b = 0.5 is assumed. σ is not known: there are no intervals."


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_a_history_on_a_narrow_terminal_keeps_words_and_numbers_whole(columns):
    ads = begun()
    ads.split()
    ads.record(1, {"search": 1493.86, "social": 410.5, "video": None}, {"search": 3000, "social": 506.14})
    ads.amend(1, {"search": 1400.25})
    shown = on_a_terminal(columns, "history", "ads")
    assert max(map(len, shown)) <= columns
    words = re.split(r"[\s│]+", "\n".join(shown))
    for word in ("3,000.00", "506.14", "1,666.67", "410.50", "1,400.25", "recorded", "amended,", "search", "(UTC)"):
        assert word in words
    assert ads.history()[0].date[:10] in words
    assert ads.history()[0].date[11:16] in words


def test_a_status_on_a_terminal_of_80_columns():
    begun()
    shown = on_a_terminal(80, "status", "ads")
    assert max(map(len, shown)) <= 80
    assert all(word in headings(shown).split() for word in ("spent", "EUR", "back", "range)"))


def test_moments_are_called_utc():
    begun().split()
    assert "date (UTC)" in run("history", "ads").out
    assert "at (UTC)" in run("history", "ads", "--log").out
    assert to_the_minute("2026-01-05") == "2026-01-05"


def test_a_correction_shows_what_it_replaced():
    ads = begun()
    ads.split()
    ads.record(1, {"search": 812.0, "social": None})
    ads.amend(1, {"search": 790.0})
    ads.amend(1, {"search": 791.0, "social": 5.0})
    shown = run("history", "ads").out
    assert "amended, was 812, 790" in shown
    assert "amended, was no data" in shown


def test_the_numbers_of_a_column_have_as_many_decimals():
    begun(budget=160, step=0.5, b=0.75, sigma=1)
    run("split", "ads")
    run("record", "ads", "search=100", "social=20", "video=1")
    run("split", "ads")
    shown = [line.split("│")[4].strip() for line in run("history", "ads").out.splitlines() if line.startswith("│")]
    assert len({len(text.partition(".")[2]) for text in shown}) == 1, shown
    assert column_cells([1666.6666, 551.1, 0.0]) == ["1,666.67", "551.10", "0.00"]
    assert column_cells([3000.0, 2000.0, None]) == ["3,000", "2,000", "–"]
    assert column_cells([-3.25, float("inf"), float("nan")]) == ["-3.250", "∞", "–"]
    assert column_cells([60, None, 12.5]) == [
        "60.00",
        "–",
        "12.50",
    ]  # an export that somebody edited has whole numbers
    assert column_cells([]) == []


def test_one_of_a_thing_is_not_called_many():
    ads = begun()
    ads.split()
    ads.record(1, {"search": 900.0, "social": 700.0, "video": 20.0})
    assert "ads: 1 period\n" in re.sub(r" +\n", "\n", run("status", "ads").out)
    assert run("check", "ads").out == "3 events rebuilt; 1 snapshot agrees bit for bit.\n"
    shown = run("forecast", "ads", "--periods", "1", "--worlds", "1").out
    assert "the next 1 period " in shown
    assert "simulated were 1 future." in " ".join(shown.split())


def test_a_mean_regret_outside_of_its_band_is_explained(capsys):
    inside = PolicyForecast("Odds", 900.0, 800.0, 1000.0, 5.0, 1.0, 9.0)
    outside = PolicyForecast("Thompson", 900.0, 800.0, 1000.0, 2.79, 0.0, 0.0)
    rounding = PolicyForecast("Uniform", 900.0, 800.0, 1000.0, 1e-12, 0.0, 0.0)
    _show("Forecast", Forecast(10, 100, 50000.0, 0.75, 2.0, (inside, outside, rounding)), False)
    said = " ".join(capsys.readouterr().out.split())
    assert "Lost by Thompson: the few (fewer than 1 of 20) that lose much raise the mean." in said
    _show("Forecast", Forecast(10, 100, 50000.0, 0.75, 2.0, (inside,)), False)
    assert "raise" not in capsys.readouterr().out


def test_an_export_does_not_replace_a_file_unless_told_to(tmp_path):
    begun()
    mine = tmp_path / "mine.csv"
    mine.write_text("a year of work")
    done = run("export", "ads", "--out", "mine.csv")
    assert done.code == 2
    assert done.err == "The file 'mine.csv' is there already; choose another name, or --force to replace it.\n"
    assert mine.read_text() == "a year of work"
    assert run("export", "ads", "--out", "mine.csv", "--force").code == 0
    assert mine.read_text().startswith("ticket,")
    assert run("report", "ads").code == run("report", "ads").code == 0  # a report of our own is written anew


def test_a_ticket_that_is_not_known_says_which_there_are():
    ads = begun()
    ads.split()
    ads.record(1, {"search": 1.0, "social": 1.0, "video": 1.0})
    assert run("amend", "ads", "7", "search=2").err == "Ticket 7 is not known; there is only 1 (open: none).\n"
