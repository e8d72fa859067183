"""The commands of a campaign, for people and for machines."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest
from commands import run

import apportion as ap

COMMANDS = (
    "new", "split", "record", "amend", "close", "status", "campaigns", "history", "settings", "check", "upgrade",
    "arms", "import", "export", "restore", "report", "forecast", "backtest",
)  # fmt: skip


@pytest.fixture(autouse=True)
def here(request, monkeypatch, tmp_path):
    # One life of commands on each database; the rest is the same for both.
    wanted = "db" if "db" in request.fixturenames else "sqlite"
    monkeypatch.setenv("APPORTION_DB", request.getfixturevalue(wanted))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)


def machine(*arguments):
    done = run(*arguments, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.fixture
def ads():
    return machine("new", "ads", "--arms", "search, social,video", "--budget", "5000", "--unit", "EUR", "--b", "0.75",
                   "--sigma", "40", "--seed", "7", "--min", "video=0.05", "--max", "search=0.9")  # fmt: skip


def test_a_life_of_commands(db, ads):
    assert ads["settings"]["unit"] == "EUR"
    split = machine("split", "ads")
    assert sum(arm["amount"] for arm in split["arms"]) == pytest.approx(5000)
    assert set(split["arms"][0]) >= {"arm", "amount", "share", "mean", "low", "high", "probability_best", "reason"}
    assert machine("record", "ads", "search=812", "social=410.5")["open_tickets"] == [1]
    assert machine("record", "ads", "video=none", "--ticket", "1")["open_tickets"] == []
    assert machine("split", "ads", "--budget", "6000")["budget"] == 6000
    assert machine("record", "ads", "search=500", "--spent", "search=3000", "--ticket", "2")["open_tickets"] == [2]
    assert machine("amend", "ads", "1", "search=790")["tickets"] == [1]
    assert machine("close", "ads", "2")["open_tickets"] == []
    arms = machine("arms", "ads", "add", "radio", "--min", "0.05")
    assert arms[-1] == {"name": "radio", "state": "active", "minimum": 0.05, "maximum": 1.0}
    for action, state in (("pause", "paused"), ("resume", "active"), ("remove", "removed")):
        assert machine("arms", "ads", action, "radio")[-1]["state"] == state
    assert machine("arms", "ads", "bound", "social", "--max", "0.5")[1]["maximum"] == 0.5
    status = machine("status", "ads")
    assert (status["period"], status["open_tickets"]) == (2, [])
    history = machine("history", "ads")
    assert history[0]["outcome"] == 790
    assert history[0]["corrections"][0]["outcome"] == 812
    assert machine("history", "ads", "--log")[-1]["kind"] == "arm"
    assert machine("settings", "ads", "--budget", "100", "--half-life", "30")["half_life"] == 30
    assert machine("check", "ads")["ok"]
    assert machine("campaigns")[0]["campaign"] == "ads"
    assert machine("upgrade")["after"] == machine("upgrade")["before"]


def test_a_split_has_one_line_for_each_arm_and_says_more_when_asked(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    names = [f"region {number}" for number in range(1, 16)]
    machine("new", "many", "--arms", ",".join(names), "--budget", "1000", "--b", "0.6", "--sigma", "1")
    run("split", "many")
    run("record", "many", *(f"{name}={50 + place}" for place, name in enumerate(names)))
    shown = run("split", "many").out.splitlines()
    assert len([line for line in shown if "region" in line and "│" in line]) == 15
    assert len(shown) <= 15 + 9  # the leader's limit takes a line more
    assert "More: apportion split many --ticket 2 --details" in shown
    assert "(" not in "".join(line for line in shown if "│" in line)  # no ranges
    before = ap.Campaign.open("many").version
    again = run("split", "many", "--ticket", "2").out.splitlines()
    assert again == shown
    whole = " ".join(run("split", "many", "--ticket", "2", "--details").out.split())
    assert "Leads with" in whole
    assert ap.Campaign.open("many").version == before
    refused = run("split", "many", "--ticket", "2", "--budget", "5")
    assert "`--ticket` shows an earlier split: `--budget`, `--date` and `--key` are for a new one." in refused.err


def test_an_imported_ticket_has_no_reasons_that_nobody_had(ads, tmp_path):
    (tmp_path / "past.csv").write_text("date,arm,amount,outcome\n2026-01-01,search,3,9\n2026-01-01,social,4,1\n")
    run("import", "ads", "past.csv")
    shown = run("split", "ads", "--ticket", "1").out
    assert shown.count("Imported: it was spent so, without advice.") == 2
    assert "Leads" not in shown
    assert "record" not in shown  # it is complete


def test_an_arm_without_results_has_no_chance_that_stands_on_nothing(ads):
    run("split", "ads")
    run("record", "ads", "search=5000", "social=400", "video=none")
    for shown in (run("status", "ads").out, run("split", "ads").out):
        row = next(line for line in shown.splitlines() if "video" in line and "│" in line)
        assert "–" in row
        assert not any(cell.strip().startswith("3") and "%" in cell for cell in row.split("│")[4:])


def test_the_split_shows_everything_per_arm(ads):
    run("split", "ads")
    run("record", "ads", "search=5000", "social=400", "video=100")
    shown = " ".join(run("split", "ads", "--details").out.split())
    for word in (
        "ticket 2, 5,000 EUR",
        "amount EUR",
        "share",
        "Return per EUR",
        "best",
        "why",
        "Leads with",
    ):
        assert word in shown
    assert re.search(r"search │ [\d,.]+ │ [\d.]+% │ [\d.]+ \(-?[\d.]+ to [\d.]+\) │ [<>\d.]+% │ Leads with", shown)


def test_people_get_tables_and_sentences(ads):
    for arguments in (
        ("status", "ads"), ("split", "ads"), ("record", "ads", "search=1"), ("history", "ads"),
        ("history", "ads", "--log"), ("settings", "ads"), ("campaigns",), ("arms", "ads"), ("check", "ads"),
        ("amend", "ads", "1", "search=2"), ("forecast", "ads", "--worlds", "2", "--periods", "3"),
        ("report", "ads"), ("export", "ads", "--out", "ads.json"), ("restore", "ads.json", "--name", "again"),
        ("export", "ads", "--format", "log", "--out", "twin.csv"), ("restore", "twin.csv"), ("export", "ads"),
        ("close", "ads", "1"), ("upgrade",),
    ):  # fmt: skip
        done = run(*arguments)
        assert (done.code, done.err) == (0, ""), arguments
        assert done.out
    assert os.path.exists("ads.html")
    assert ap.Campaign.names() == ("ads", "again", "twin")


def test_files_of_outcomes_and_histories(ads, tmp_path):
    run("split", "ads")
    run("split", "ads")
    (tmp_path / "told.csv").write_text("ticket,arm,outcome,amount\n1,search,5,\n2,social,6,70\n1,video,,\n")
    assert machine("record", "ads", "--csv", "told.csv")["tickets"] == [1, 2]
    beliefs = ap.Campaign.open("ads").beliefs()
    assert beliefs["social"].resource == 70
    (tmp_path / "old.csv").write_text("day,channel,spend,sales\n1,search,60,66\n1,social,40,20\n")
    mapped = (
        "--date-column",
        "day",
        "--arm-column",
        "channel",
        "--amount-column",
        "spend",
        "--outcome-column",
        "sales",
    )
    assert machine("import", "ads", "old.csv", *mapped)["rows"] == 2
    done = run("import", "ads", "old.csv", *mapped)
    assert done.code == 2
    assert "was imported before" in done.err
    version = ap.Campaign.open("ads").version
    (tmp_path / "bad.csv").write_text("ticket,arm,outcome\n1,social,5\n2,nobody,6\n")
    done = run("record", "ads", "--csv", "bad.csv")
    assert (done.code, ap.Campaign.open("ads").version) == (2, version)  # all or nothing


def test_a_backtest(tmp_path):
    rows = [
        f"{day},{arm},{10 + day},{(10 + day) * mean + (day * 7 % 5)}"
        for day in range(20)
        for arm, mean in (("a", 2), ("b", 1))
    ]
    (tmp_path / "old.csv").write_text("date,arm,amount,outcome\n" + "\n".join(rows))
    result = machine("backtest", "old.csv", "--worlds", "3", "--policies", "odds,uniform")
    assert [row["policy"] for row in result["prospects"]] == ["odds", "uniform", "as it was split"]
    done = run("backtest", "old.csv", "--worlds", "1", "--b", "0.75", "--sigma", "1")
    shown = " ".join(done.out.split())
    assert "Auto" in shown
    assert "Assumed: " in shown
    assert "No arm gets more in a period than the most that it really got" in shown


@pytest.mark.parametrize(
    "command",
    [
        ("backtest", "grouped.csv", "--worlds", "2"),
        ("fit", "grouped.csv"),
        ("import", "ads", "grouped.csv"),
        ("record", "ads", "--csv", "grouped.csv"),
    ],
)
def test_every_command_that_reads_a_file_can_be_given_the_decimal_mark(tmp_path, command):
    ads = ap.Campaign.create("ads", ("a", "b"), budget=5000, b=0.75, sigma=1)
    for _ in range(6):
        ads.split()
    days = "".join(f"{day},{day},a,3.{day}30,2.{day}10\n{day},{day},b,2.{day}20,3.{day}50\n" for day in range(1, 7))
    (tmp_path / "grouped.csv").write_text("ticket,date,arm,amount,outcome\n" + days)
    refused = run(*command)
    assert refused.code == 2
    assert "or say whether `decimal` is comma or point (`--decimal` on the command line)." in refused.err
    done = run(*command, "--decimal", "comma")
    assert (done.err, done.code) == ("", 0)
    if command[1] == "ads":
        assert [line.amount for line in ads.history()][-12:-10] == [3130, 2120]
    assert "`decimal` must be one of 'point', 'comma'; got 'dot'" in run(*command, "--decimal", "dot").err


@pytest.mark.parametrize(
    "ticket", [("{}",), ("--ticket", "{}"), ("--ticket", "{}", "{}")], ids=["first", "option", "both"]
)
def test_every_command_takes_the_ticket_first_or_as_an_option(ads, ticket):
    def told(command, number, *rest):
        return machine(command, "ads", *(word.format(number) for word in ticket), *rest)

    for _ in range(3):
        machine("split", "ads")
    assert told("record", 2, "search=5", "social=none", "video=1")["tickets"] == [2]
    assert told("amend", 2, "search=6")["tickets"] == [2]
    assert told("close", 1)["tickets"] == [1]
    assert told("cancel", 3)["open_tickets"] == []
    lines = ap.Campaign.open("ads").history()
    assert [line.outcome for line in lines if line.ticket == 2] == [6, None, 1]


def test_a_ticket_is_closed_without_its_number_where_one_is_open(ads):
    machine("split", "ads")
    assert machine("close", "ads") == {"campaign": "ads", "tickets": [1], "open_tickets": []}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("split", "nobody"), "Campaign 'nobody' is not known; there are: ads."),
        (
            ("record", "ads", "search=1"),
            "No ticket of 'ads' is open; ask for a split first, or name one, such as --ticket 3.",
        ),
        (("record", "ads", "search=1", "--ticket", "9"), "Ticket 9 is not known; no split was asked for yet."),
        (("record", "ads", "search", "--ticket", "1"), "An outcome must be written as arm=number; got 'search'."),
        (
            ("record", "ads", "search=x", "--ticket", "1"),
            "The outcome of 'search' must be a number such as 812.50; got 'x'.",
        ),
        (
            ("record", "ads", "search=1,840", "--ticket", "1"),
            "The outcome of 'search' can be read in two ways; write 1840 or 1.84, not '1,840'.",
        ),
        (
            ("new", "x", "--arms", "a,b", "--budget", "1", "--min", "a=160%"),
            "The smallest share of 'a' must be a percentage such as 5%, a share from 0 to 1, or an amount such as "
            "0.050 units; got '160%'.",
        ),
        (("record", "ads", "a=1", "a=2", "--ticket", "1"), "Arm 'a' is given twice."),
        (("record", "ads", "--csv", "none.csv"), "The file 'none.csv' cannot be read: No such file or directory."),
        (("split", "ads", "--budget", "-5"), "`budget` must be a number above 0; got -5.0."),
        (("new", "ads", "--arms", "a,b", "--budget", "1"), "Campaign 'ads' is there already; choose another name."),
        (("new", "x"), "`apportion new` needs --arms and --budget; see `apportion new --help`."),
        (("new", "x", "--arms", "a,a", "--budget", "1"), "`arms` must be names that are all different; got 'a'."),
        (("arms", "ads", "add", "search"), "Arm 'search' is there already (active)."),
        (("arms", "ads", "jump", "search"), "`action` must be one of add, pause, resume, remove, bound; got 'jump'."),
        (("arms", "ads", "add"), "Which arm? apportion arms ads add ARM"),
        (("amend", "ads", "1", "search=1"), "Ticket 1 is not known; no split was asked for yet."),
        (
            ("amend", "ads", "search=1"),
            "`amend` needs the ticket, right after the name or as --ticket; got none.",
        ),
        (("amend", "ads", "1"), "Say what should stand there, for example search=812; got no outcome."),
        (("cancel", "ads", "3", "--ticket", "4"), "The ticket must be named once; got 3 and `--ticket 4`."),
        (("export", "ads", "--format", "xml"), "`--format` must be one of csv, json, log; got 'xml'."),
        (("settings", "ads", "--b", "2"), "`b` must be a number in [0, 1]; got 2.0."),
        (
            ("settings", "ads", "--unset", "budget"),
            "`--unset` must be one of unit, outcome-unit, every, step, b, c, sigma, horizon, growth, change, "
            "half-life, window; got 'budget'.",
        ),
        (
            ("settings", "ads", "--policy", "odds", "--c", "0.7"),
            "`c` must be 1, as it knows returns in proportion to the amount only (Recommended, Matching and Thompson "
            "know others); got 0.7.",
        ),
        (("settings", "ads", "--policy", "recommended", "--c", "1.3"), "`c` must be a number in (0, 1]; got 1.3."),
        (("settings", "ads", "--sigma", "x"), "Σ must be a number such as 812.50; got 'x'."),
        (("settings", "ads", "--sigma", "0"), "`sigma` must be a number above 0; got 0.0."),
        (
            ("settings", "ads", "--policy", "odds", "--sigma", "search=3,social=0,video=1"),
            "`sigma of 'social'` must be a number above 0; got 0.0.",
        ),
        (
            ("settings", "ads", "--policy", "odds", "--sigma", "search=3,social=2"),
            "`sigma` must be a number, or one for each arm; got none for 'video'.",
        ),
        (
            ("settings", "ads", "--policy", "odds", "--sigma", "search=3,social=2,radio=1"),
            "`sigma` names 'radio', which is not one of the arms search, social, video.",
        ),
        (
            ("settings", "ads", "--sigma", "search=3,5"),
            "Σ must be a number, or arm=number for each arm; got '5'.",
        ),
        (
            ("arms", "ads", "add", "radio", "--sigma", "2"),
            "`sigma` must be left out where the arms do not have one each; got 2.0.",
        ),
        (
            ("arms", "ads", "pause", "social", "--sigma", "2"),
            "`--sigma` goes with add, not with pause; see `apportion settings --help`.",
        ),
        (
            ("settings", "ads", "--unset", "half-life", "--half-life", "3"),
            "`--half-life` is given a value and unset at once; choose one.",
        ),
        (("restore", "none.json"), "The file 'none.json' cannot be read: No such file or directory."),
        (
            ("forecast", "ads"),
            "No outcome was recorded yet: record some first, a forecast starts from them.",
        ),
        (("record", "ads"), "Say what came back, for example search=812; got no outcome."),
        (("record", "ads", "--spent", "search=5"), "Say what came back, for example search=812; got no outcome."),
        (
            ("settings", "ads", "--policy", "odds", "--unset", "b"),
            "`--unset b` needs a policy that learns it; got Odds. Add --policy auto, or give --b a value.",
        ),
    ],
)
def test_bad_input_gets_one_sentence(ads, arguments, sentence):
    done = run(*arguments)
    assert done.code == 2
    assert done.err == sentence + "\n"
    assert done.out == ""
    assert ap.Campaign.open("ads").version == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("split", "ads", "--budget", "5,000"),
            "`--budget` can be read in two ways; write 5000 or 5.0, not '5,000'.",
        ),
        (("split", "ads", "--budget", "12,5"), "`--budget` must be a number in the form 12.5; got '12,5'."),
        (("split", "ads", "--budget", "much"), "`--budget` must be a number such as 812.50; got 'much'."),
        (("cancel", "ads", "first"), "`ticket` must be a whole number; got 'first'."),
        (("history", "ads", "--last", "0"), "`--last` must be a number of at least 1; got '0'."),
        (("forecast", "ads", "--worlds", "1e9"), "`--worlds` must be a whole number; got '1e9'."),
    ],
)
def test_an_option_that_is_no_number_gets_the_sentence_below_the_usage(ads, arguments, sentence):
    done = run(*arguments)
    assert done.code == 2
    assert "Usage: " in done.err
    assert sentence in done.err


def test_returns_that_diminish_and_a_noise_level_per_arm():
    made = machine("new", "bent", "--arms", "search,social", "--budget", "100", "--unit", "EUR", "--seed", "7", "--b",
                   "0.5", "--c", "0.6", "--sigma", "social=1, search=4", "--policy", "recommended")  # fmt: skip
    assert (made["settings"]["c"], made["settings"]["sigma"]) == (0.6, {"search": 4, "social": 1})
    machine("split", "bent")
    machine("record", "bent", "search=60", "social=20")
    search = machine("split", "bent")["arms"][0]
    assert search["marginal"] == pytest.approx(0.6 * search["mean"] * search["amount"] ** -0.4)
    shown = run("status", "bent", "--details").out
    assert "Return of the next EUR" in " ".join(shown.split())
    assert "c = 0.6; σ = search: 4, social: 1." in shown
    assert machine("arms", "bent", "add", "radio", "--sigma", "2")[-1]["name"] == "radio"
    settings = machine("settings", "bent", "--sigma", "search=4,social=1,radio=3")
    assert settings["sigma"] == {"search": 4, "social": 1, "radio": 3}
    assert machine("settings", "bent", "--sigma", "2.5")["sigma"] == 2.5
    assert machine("settings", "bent", "--unset", "c")["c"] == 1
    assert machine("check", "bent")["exact"] is True
    assert machine("forecast", "bent", "--periods", "2", "--worlds", "2")["c"] == 1


def test_numbers_as_people_write_them_where_they_are_clear(ads, tmp_path):
    run("split", "ads")
    machine("record", "ads", "search=1 840", "social=1,234.5", "video=12,5")
    assert [line["outcome"] for line in machine("history", "ads")] == [1840, 1234.5, 12.5]
    machine("amend", "ads", "1", "search=1.840")  # what a program writes has a decimal point
    assert machine("history", "ads")[0]["outcome"] == 1.84
    run("split", "ads")
    (tmp_path / "told.csv").write_text("arm;outcome\nsearch;1.840\nsocial;2.510\n")
    done = run("record", "ads", "--csv", "told.csv")
    assert done.err == (
        "Row 2: the outcome '1.840' can be read in two ways, as 1840 or as 1.84, and nothing else in the file tells "
        "which; write all numbers without thousands separators, or say whether `decimal` is comma or point "
        "(`--decimal` on the command line).\n"
    )
    (tmp_path / "told.csv").write_text("arm;outcome\nsearch;1.840\nsocial;2.510,50\n")
    machine("record", "ads", "--csv", "told.csv")
    assert [line["outcome"] for line in machine("history", "ads")][3:5] == [1840, 2510.5]


def test_an_import_says_in_which_order_it_took_the_periods(ads, tmp_path):
    (tmp_path / "new.csv").write_text("date;arm;amount;outcome\n8.1.2026;search;1.060;66\n1.1.2026;search;2.040;20\n")
    assert "as 1060 or as 1.06, and nothing else" in run("import", "ads", "new.csv").err
    done = run("import", "ads", "new.csv", "--decimal", "comma")
    assert done.out == "2 rows on 2 dates were imported from new.csv, in date order, from 1.1.2026 to 8.1.2026.\n"
    assert [line["amount"] for line in machine("history", "ads")] == [2040, 1060]
    (tmp_path / "weeks.csv").write_text("date,arm,amount,outcome\nweek 2,search,60,66\nweek 1,search,40,20\n")
    order = machine("import", "ads", "weeks.csv")["order"]
    assert order == "in file order, from week 2 to week 1, as 'week 2' is not read as a date"


def test_every_command_that_reads_a_table_reads_it_the_same_way(ads, tmp_path):
    rows = [
        (f"{day:02d}.01.2026", arm, f"€ {day},50", day + day % 3)
        for day in range(1, 29)
        for arm in ("search", "social")
    ]
    head = "Datum;Kanal;Kosten;Umsatz\n"
    text = head + "".join(";".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "werbung.csv").write_bytes(text.encode("cp1252"))
    named = ("werbung.csv", "--date-column", "Datum", "--arm-column", "Kanal", "--amount-column", "Kosten",
             "--outcome-column", "Umsatz", "--period", "week")  # fmt: skip
    notes = ["The text was read as Windows-1252.", "Rows of one week and arm were summed: 56 rows became 10."]
    assert machine("fit", *named, "--c", "1")["notes"] == notes
    tested = machine("backtest", *named, "--worlds", "2", "--policies", "uniform")
    assert (tested["periods"], tested["notes"]) == (5, notes)
    done = run("import", "ads", *named)
    assert done.out.splitlines() == [
        "56 rows on 5 weeks were imported from werbung.csv, in date order, from 2025-12-29 to 2026-01-26.", *notes,
    ]  # fmt: skip
    study = ("--kits", "10", "--days", "5", "--mean-days", "1", "--runs", "2", "--decimal", "comma")
    refused = run("study", "replay", *named, *study)
    assert "outcomes from 0 to their amount" in refused.err  # it was read: more came back than was spent
    (tmp_path / "werbung.csv").write_text(head + "01.01.2026;search;x;1\n32.01.2026;search;1;1\n01.01.2026;;1;y\n")
    for command in (("import", "ads"), ("fit",), ("backtest",), ("study", "replay")):
        done = run(*command, *named)
        assert done.code == 2
        assert [line.partition(":")[0] for line in done.err.splitlines()] == ["Row 2", "Row 3", "Row 4", "Row 4"]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example_and_json(command):
    done = run(command, "--help")
    assert done.code == 0
    assert "Example: apportion " in done.out
    assert "--json" in done.out


def test_a_check_that_fails_says_so(ads):
    from apportion.campaigns.storage.store import open_store

    with open_store().writing() as session:
        number, state = session.snapshot(1)
        session.save_snapshot(1, number, state.replace('"issued": 0', '"issued": 5'))
    assert run("check", "ads").code == 1
    assert run("check", "ads", "--repair").code == 1
    assert run("check", "ads").code == 0


def test_settings_can_be_unset(ads):
    machine("settings", "ads", "--half-life", "30", "--horizon", "40", "--step", "50")
    run("split", "ads")
    run("record", "ads", "search=2500", "social=900", "video=80")
    now = machine("settings", "ads", "--unset", "half-life", "--unset", "step", "--budget", "6000")
    assert (now["half_life"], now["step"], now["horizon"], now["budget"]) == (None, None, 40, 6000)
    now = machine("settings", "ads", "--window", "12", "--unset", "horizon", "--unset", "unit")
    assert (now["window"], now["horizon"], now["unit"]) == (12, None, None)
    assert machine("settings", "ads", "--unset", "window")["window"] is None
    version = ap.Campaign.open("ads").version
    assert machine("settings", "ads", "--unset", "half_life")["half_life"] is None  # it was so: nothing happens
    assert ap.Campaign.open("ads").version == version
    assert machine("check", "ads")["ok"]


def test_names_are_completed(ads):
    from apportion.cli.campaign import complete_campaigns

    assert complete_campaigns("a") == ["ads"]
    assert complete_campaigns("b") == []


def test_names_with_brackets_are_shown_as_they_are():
    machine("new", "[bold]x[blue]", "--arms", "[red]a,b", "--budget", "1")
    assert "[bold]x[blue]" in run("status", "[bold]x[blue]").out
    assert "[red]a" in run("split", "[bold]x[blue]").out


def test_new_asks_for_what_is_missing_on_a_terminal():
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "apportion", "new", "--b", "0.75"]
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        os.write(ours, b"\nfrom a terminal\nx, y\n250\nEUR\nweek\norders\nn\n")
        said = process.communicate(timeout=180)[0]
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0, said
    assert "Name of the campaign" in said
    campaign = ap.Campaign.open("from a terminal")
    assert (campaign.settings.budget, campaign.settings.unit) == (250, "EUR")
    assert [arm.name for arm in campaign.arms] == ["x", "y"]
