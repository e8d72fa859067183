"""Campaigns as files: everything out and back, histories in, reports."""

import csv
import gc
import html
import io
import json
import re
import threading
import tracemalloc

import pytest

import apportion as ap
from apportion._common.dates import describe_order
from apportion.campaigns import importing
from apportion.campaigns.actor import acting
from apportion.campaigns.backtest import backtest
from apportion.campaigns.files import export_csv, export_json, export_log, export_parts, restore_json, restore_log
from apportion.campaigns.forecast import forecast
from apportion.campaigns.importing import import_history
from apportion.campaigns.report import _means, _shares, campaign_page
from apportion.inference.history import read_history
from apportion.testing.stores import use_every_verb

ARMS = ("search", "social", "video")
HISTORY = """date,arm,amount,outcome
2026-01-01,search,60,66
2026-01-01,social,40,20
2026-01-02,search,80,90.5
2026-01-02,social,20,no data
"""


@pytest.fixture
def ads(sqlite):
    return ap.Campaign.create("ads", ARMS, budget=100, b=0.75, sigma=2, seed=7, db=sqlite)


@pytest.fixture
def history(tmp_path):
    def write(text=HISTORY, name="history.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize("form", ["json", "log"])
def test_everything_goes_out_and_comes_back_identical(db, tmp_path, form):
    options = {"budget": 100, "b": 0.3, "sigma": 2, "step": 1.0, "minimise": True, "unit": "kits"}
    campaign = ap.Campaign.create("all", ARMS, db=db, **options)
    use_every_verb(campaign)
    campaign.change(budget=120, sigma=3)
    campaign.split(key="k")
    other = str(tmp_path / "other.db")
    if form == "json":
        twin = restore_json(export_json(campaign), db=other)
    else:
        twin = restore_log(export_log(campaign), db=other, name="all")
    assert twin.events() == campaign.events()
    assert twin.state() == campaign.state()
    assert dict(twin.split().amounts) == dict(campaign.split().amounts)
    assert twin.check().exact
    twin._store.close()


def test_a_restore_does_not_overwrite(ads, sqlite):
    with pytest.raises(ap.Conflict, match="is there already"):
        restore_json(export_json(ads), db=sqlite)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "{}",
        lambda text: "[1, 2]",
        lambda text: text[:-20],
        lambda text: text.replace('"version": 1', '"version": 2'),
        lambda text: text.replace('"number": 2', '"number": 3'),
        lambda text: text.replace('"kind": "split"', '"kind": "spilt"', 1),
        lambda text: text.replace('"width": 3', '"width": 100000000000000'),
        lambda text: text.replace('"budget": 100.0', '"budget": 99.0'),
        lambda text: text.replace('"outcomes"', '"outcome"'),
        lambda text: json.dumps({**json.loads(text), "events": []}),
    ],
)
def test_a_damaged_export_is_refused_and_makes_nothing(ads, sqlite, damage):
    split = ads.split()
    ads.record(split.ticket, {"search": 1.0})
    with pytest.raises(ap.IncompatibleState):
        restore_json(damage(export_json(ads)), db=sqlite, name="again")
    assert ap.Campaign.names(sqlite) == ("ads",)


def test_a_history_is_taken_in(ads, history):
    done = import_history(ads, history())
    assert (done.rows, done.tickets) == (4, 2)
    beliefs = ads.beliefs()
    assert beliefs["search"].resource == 140.0
    assert beliefs["social"].resource == 40.0  # the other was "no data"
    assert beliefs["search"].resource == 140.0
    assert [line.date for line in ads.history()] == ["2026-01-01"] * 2 + ["2026-01-02"] * 2
    assert ads.open_tickets == ()
    assert ads.check().exact
    assert ads.split().ticket == 3


def test_a_file_that_was_imported_before_is_noticed(ads, history):
    import_history(ads, history())
    state = ads.state()
    with pytest.raises(ap.Conflict, match=r"'other.csv' was imported before, .* as 'history.csv'"):
        import_history(ads, history(name="other.csv"))
    assert ads.state() == state
    import_history(ads, history(), again=True)
    assert ads.period == 4


def test_dates_and_arms_that_were_imported_before_do_not_count_twice(ads, history):
    """As in a sheet that has grown by some days, and is imported again as a whole."""
    import_history(ads, history("date,arm,amount,outcome\n2026-01-01,search,60,80\n2026-01-02,search,80,90\n"))
    state = ads.state()
    grown = "date;arm;amount;outcome\n02.01.2026;search;80;90\n03.01.2026;search;70;85\n"
    said = (
        "1 of 2 dates in 'grown.csv' were imported before for the same arms, from 02.01.2026 on: they would count "
        "twice. Leave their rows out; or say `again`, if it is further spending on those dates."
    )
    with pytest.raises(ap.Conflict) as refused:
        import_history(ads, history(grown, name="grown.csv"))
    assert str(refused.value) == said
    assert ads.state() == state
    other = "date,arm,amount,outcome\n2026-01-01,social,30,20\n2026-01-02,social,30,20\n"
    assert import_history(ads, history(other, name="social.csv")).tickets == 2  # another arm on the same dates
    ads.undo_import()
    ads.undo_import()
    assert import_history(ads, history(grown, name="grown.csv")).tickets == 2
    assert import_history(ads, history(grown.replace("70", "71"), name="more.csv"), again=True).tickets == 2


def test_an_arm_that_is_written_otherwise_is_guessed(ads, history):
    with pytest.raises(ap.InvalidValue, match=r"arm 'SEARCH' is not known; .* Perhaps it is 'search'\."):
        import_history(ads, history("date,arm,amount,outcome\n2026-01-01,SEARCH,60,80\n"))
    with pytest.raises(ap.InvalidValue, match=r"arm 'tv' is not known; the arms are search, social, video\.$"):
        import_history(ads, history("date,arm,amount,outcome\n2026-01-01,tv,60,80\n"))


def test_rows_of_totals_are_not_counted_as_imported(ads, history):
    text = "date,arm,amount,outcome\n2026-01-01,search,60,80\n2026-01-01,social,40,10\nTotal,,100,90\n"
    done = import_history(ads, history(text))
    assert (done.rows, done.notes) == (2, ("1 row of totals was left out.",))


def test_columns_are_mapped_and_other_styles_read(ads, history):
    text = "\ufeffday;channel;spend;sales\n1.1.;search;60,5;1e2\n\n1.1.;social;40;\n"
    found = read_history(history(text), date="day", arm="channel", amount="spend", outcome="sales").observations
    assert [(line.arm, line.amount, line.outcome) for line in found] == [
        ("search", 60.5, 100.0),
        ("social", 40.0, None),
    ]


def spend(mark, group, last):
    """A history as a spreadsheet saves it where thousands are grouped."""
    rows = (("2026-W01", "search", 3530, 3677), ("2026-W01", "social", 380, 336), ("2026-W02", "search", 2240, 2536))
    lines = [mark.join((date, arm, f"{x:,}", f"{y:,}")).replace(",", group) for date, arm, x, y in rows]
    return "\n".join(
        [mark.join(("date", "arm", "amount", "outcome")), *lines, mark.join(("2026-W02", "social", *last))]
    )


@pytest.mark.parametrize(
    ("mark", "group", "last"),
    [
        (";", ".", ("620", "96,5")),
        (";", ".", ("1.620,00", "96")),
        (";", ".", ("620", "0,962")),
        (";", ".", ("620", "1.000.962")),
        ("\t", ",", ("620", "96.5")),
        ("\t", ",", ("1,620.00", "96")),
        (";", " ", ("620", "96")),
        (";", "’", ("620", "96,5")),
    ],
)
def test_grouped_thousands_are_read_where_the_file_tells(history, mark, group, last):
    found = read_history(history(spend(mark, group, last))).observations
    assert [(line.amount, line.outcome) for line in found][:3] == [(3530, 3677), (380, 336), (2240, 2536)]


@pytest.mark.parametrize(("mark", "group", "outcome"), [(";", ".", "336"), ("\t", ",", "336"), (";", ".", "4100")])
def test_numbers_that_can_be_read_in_two_ways_are_refused(ads, history, mark, group, outcome):
    path = history(spend(mark, group, ("620", outcome)))
    sentence = (
        f"Row 2: the amount '3{group}530' can be read in two ways, as 3530 or as 3.53, and nothing else in the file "
        "tells which; write all numbers without thousands separators, or say whether `decimal` is comma or point "
        "(`--decimal` on the command line)."
    )
    with pytest.raises(ap.InvalidValue, match=re.escape(sentence)):
        import_history(ads, path)
    assert ads.version == 1
    names = ("comma", "point") if group == "." else ("point", "comma")
    assert [read_history(path, decimal=name).observations[0].amount for name in names] == [3530, 3.53]
    with pytest.raises(ap.InvalidValue, match="`decimal` must be one of 'point', 'comma'; got 'dot'"):
        read_history(path, decimal="dot")


@pytest.mark.parametrize(
    "others",
    [("3.5", "1"), ("100.25", "1"), ("1200", "1"), ("0.125", "1"), ("7", "0.5"), ("1234.567", "1"), ("1e3", ".5")],
)
def test_three_decimals_are_decimals_in_a_plain_file(history, others):
    found = read_history(history(f"date,arm,amount,outcome\n1,a,12.345,7\n1,b,{','.join(others)}\n")).observations
    assert [line.amount for line in found] == [12.345, float(others[0])]


def test_periods_follow_their_dates_whatever_the_order_of_the_file(history, sqlite):
    rows = [f"2026-03-{day:02d},{arm},50,{50 * (day if arm == 'search' else 20 - day)}"
            for day in range(1, 13) for arm in ("search", "social")]  # fmt: skip
    means = []
    for name, lines in (("forth", rows), ("back", rows[::-1])):
        campaign = ap.Campaign.create(name, ARMS, budget=100, b=0.75, sigma=2, half_life=4, db=sqlite)
        import_history(campaign, history("\n".join(["Date,ARM, Amount,outcome", *lines])))
        assert [line.date for line in campaign.history()] == [row[:10] for row in rows]
        means.append(campaign.beliefs().mean.tolist())
    assert means[0] == pytest.approx(means[1], rel=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("dates", "order", "sentence"),
    [
        (("2026-02-01", "2026-01-15"), (1, 0), "in date order, from 2026-01-15 to 2026-02-01"),
        (("1.2.2026", "15.1.2026"), (1, 0), "in date order, from 15.1.2026 to 1.2.2026"),
        (("2026-W10", "2026-W09"), (1, 0), "in date order, from 2026-W09 to 2026-W10"),
        (("2026-02", "2026-01"), (1, 0), "in date order, from 2026-01 to 2026-02"),
        (("2026/2/1", "2026-01-31T23:59:59+00:00"), (1, 0),
         "in date order, from 2026-01-31T23:59:59+00:00 to 2026/2/1"),
        (("week 3", "week 2"), (0, 1), "in file order, from week 3 to week 2, as 'week 3' is not read as a date"),
        (("2026-02-01", "next week"), (0, 1),
         "in file order, from 2026-02-01 to next week, as 'next week' is not read as a date"),
        (("2/1/2026", "1/2/2026"), (0, 1),
         "in file order, from 2/1/2026 to 1/2/2026, as '2/1/2026' is not read as a date"),
        (("2026-14", "2026-13"), (0, 1),
         "in file order, from 2026-14 to 2026-13, as '2026-14' is not read as a date"),
    ],
)  # fmt: skip
def test_the_order_of_periods_is_said(history, dates, order, sentence):
    text = "".join(f"{date},a,{number},1\n" for number, date in enumerate(dates, start=1))
    found = read_history(history("date,arm,amount,outcome\n" + text)).observations
    assert [line.amount - 1 for line in found] == list(order)
    assert describe_order(line.date for line in found) == sentence


def test_unknown_arms_are_refused_or_added(ads, history):
    path = history(HISTORY + "2026-01-03,radio,10,3\n")
    with pytest.raises(ap.InvalidValue, match="Row 6: arm 'radio' is not known"):
        import_history(ads, path)
    assert ads.version == 1
    assert import_history(ads, path, add_arms=True).arms_added == ("radio",)
    assert ads.beliefs()["radio"].resource == 10.0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The file 'history.csv' is empty."),
        (
            "date,arm,amount\n",
            "Row 1: one column named 'outcome' is needed, or say which one is the outcome (`--outcome-column` on the "
            "command line, `outcome_column` over HTTP, `outcome` in Python); found are date, arm, amount.",
        ),
        ("Date,DATE,arm,amount,outcome\n", "Row 1: one column named 'date' is needed"),
        ("date,arm,amount,outcome\n", "has no rows"),
        (HISTORY + "2026-01-03,search,x,3\n", "Row 6: the amount must be a number; got 'x'"),
        (HISTORY + "2026-01-03,search,+,3\n", "Row 6: the amount must be a number"),
        (HISTORY + "2026-01-03,search,1_0,3\n", "Row 6: the amount must be a number"),
        (HISTORY + "2026-01-03,search,-1,3\n", "Row 6: the amount must be a number of at least 0"),
        (HISTORY + "2026-01-03,search,1,inf\n", "Row 6: the outcome must be a number"),
        (HISTORY + "2026-01-03,search,1\n", "Row 6: 4 cells are needed; got 3"),
        (HISTORY + ",search,1,1\n", "Row 6: the date must be"),
        (HISTORY + "2026-01-03,,1,1\n", "Row 6: the arm must be"),
        ("date,arm,amount,outcome\n2026-01-03,search,0,0\n", "The file 'history.csv' has no rows with an amount"),
        (HISTORY + '2026-01-03,"search,1,1\n', "is not CSV"),
        (HISTORY + "2026-02-30,search,1,1\n", "Row 6: the date must be a date that exists; got '2026-02-30'."),
        (HISTORY + "30.2.2026,search,1,1\n", "Row 6: the date must be a date that exists; got '30.2.2026'."),
        (HISTORY + "2026-01-03 25:00,search,1,1\n", "Row 6: the date must be a date that exists"),
        (
            b"\xff\xfe\x00",
            "The file 'history.csv' is not a text file, a workbook (.xlsx) or a Parquet file.",
        ),
    ],
)
def test_faults_are_named_with_their_row_and_nothing_is_taken_in(ads, history, text, sentence):
    with pytest.raises(ap.InvalidValue, match=re.escape(sentence)):
        import_history(ads, history(text))
    assert ads.version == 1


def test_the_exported_history_can_be_imported(ads, history, sqlite):
    use_every_verb(ads, rounds=6)
    rows = list(csv.DictReader(io.StringIO(export_csv(ads))))
    assert {row["state"] for row in rows} <= {"recorded", "open", "no data", "amended", "unused"}
    twin = ap.Campaign.create("twin", ARMS, budget=100, b=0.75, sigma=2, db=sqlite)
    import_history(twin, history(export_csv(ads)))
    for name in ARMS:
        assert twin.beliefs()[name].mean == pytest.approx(ads.beliefs()[name].mean, rel=1e-12, nan_ok=True)


def test_the_amounts_of_an_export_add_up_to_what_was_spent(ads, history, sqlite):
    """Advice that waits, was closed or cancelled is in `advised` alone, and is not imported as spent."""
    for outcomes in ({"search": 30.0}, dict.fromkeys(ARMS, 20.0), None, None):
        ticket = ads.split().ticket
        if outcomes:
            ads.record(ticket, outcomes)
    ads.close(1)
    ads.cancel(3)
    rows = list(csv.DictReader(io.StringIO(export_csv(ads))))
    assert sum(float(row["amount"] or 0.0) for row in rows) == pytest.approx(ads.status().spent)
    unspent = [row for row in rows if not float(row["amount"] or 0.0)]
    assert {row["state"] for row in unspent} == {"no data", "cancelled", "open"}
    assert all(float(row["advised"]) > 0.0 for row in unspent)
    twin = ap.Campaign.create("twin", ARMS, budget=100, b=0.75, sigma=2, db=sqlite)
    import_history(twin, history(export_csv(ads)))
    assert (twin.status().spent, twin.period) == (pytest.approx(ads.status().spent), 2)


@pytest.mark.parametrize(
    "amounts", [(3.53, 3.530), (1234.567, 2.125), (2.125, 12.345), (1e-7, 5e17), (3530.0, 999.001)]
)
def test_exported_numbers_come_back_exactly(sqlite, history, amounts):
    outcomes = dict(zip(("a", "b"), amounts))
    campaign = ap.Campaign.create("f", ("a", "b"), budget=10, b=0.75, db=sqlite)
    campaign.record(campaign.split().ticket, outcomes, outcomes)
    found = read_history(history(export_csv(campaign))).observations
    assert {line.arm: (line.amount, line.outcome) for line in found} == {arm: (x, x) for arm, x in outcomes.items()}


def test_a_name_that_looks_like_a_formula_is_made_harmless(sqlite, history):
    campaign = ap.Campaign.create("f", ("=1+1", "b"), budget=10, b=0.75, db=sqlite)
    campaign.record(campaign.split().ticket, {"=1+1": 1.0, "b": 2.0})
    assert "'=1+1" in export_csv(campaign)
    twin = ap.Campaign.create("g", ("=1+1", "b"), budget=10, b=0.75, db=sqlite)
    import_history(twin, history(export_csv(campaign)))
    assert twin.beliefs()["=1+1"].resource == 5.0


@pytest.mark.parametrize("mark", ["=", "+", "-", "@", "'", "'="])
def test_no_text_of_an_export_is_a_formula_and_all_come_back(sqlite, mark):
    arm, key, who = (f"{mark}{word}|'/C calc'!A0" for word in ("arm", "key", "who"))
    with acting(who, f"{mark}request"):
        campaign = ap.Campaign.create("f", (arm, "b"), budget=10, b=0.75, db=sqlite)
        ticket = campaign.split(date=f"{mark}week 3", key=key).ticket
        campaign.record(ticket, {arm: 1.0, "b": -2.0})
    for text in (export_csv(campaign), export_log(campaign)):
        for row in csv.DictReader(io.StringIO(text)):
            for column, cell in row.items():
                if column not in ("outcome", "amount", "advised"):  # numbers
                    assert cell[:1] not in tuple("=+-@"), (column, cell)
    twin = restore_log(export_log(campaign), name="twin", db=sqlite)
    assert twin.events() == campaign.events()


def test_the_report_is_one_page_that_asks_nothing_of_the_network(sqlite, tmp_path):
    campaign = ap.Campaign.create("a <b> & c", ("<script>", "$x_1$", "b"), budget=100, unit="€", b=0.75, db=sqlite)
    for _ in range(5):
        split = campaign.split()
        campaign.record(split.ticket, dict(split.amounts))
    text = campaign_page(campaign).write(tmp_path / "page.html").read_text()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert text.count("<svg") == 2
    assert not re.search(r'(src|href)="(?!#|data:)', text)
    assert "The last split" in text


def test_the_report_of_a_new_campaign(ads):
    assert "Where it stands" in campaign_page(ads).html()


def cells(page, heading):
    """The rows of the table below a heading of a report."""
    table = page.split(f"<h2>{heading}</h2>")[1].split("</table>")[0]
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]


def test_the_report_reads_as_the_command_line_does(sqlite):
    ads = ap.Campaign.create("ads", ARMS, budget=5000, unit="EUR", seed=7, half_life=4, c=1.0, db=sqlite)
    for ticket in range(1, 26):
        ads.split()
        ads.record(ticket, {"search": 900.0 + ticket, "social": 700.25, "video": None})
    last = ads.split()
    page = campaign_page(ads).html()
    header, *rows = cells(page, "The last split")
    assert header == ["arm", "amount EUR", "share", "Return per EUR", "best", "why"]
    assert sum(float(row[1].replace(",", "")) for row in rows) == pytest.approx(5000, abs=0.02)
    assert all(re.fullmatch(r"[<>]?[\d.]+%", row[2]) for row in rows)
    assert [row[5] for row in rows] == [html.escape(reason) for reason in last.reasons.values()]
    assert 'class="word long">why' in page
    header, *rows = cells(page, "The last 20 tickets")
    assert header[1] == "date (UTC)"
    assert {int(row[0]) for row in rows} == set(range(7, 27))
    settings = page.split("<h2>Settings</h2>")[1]
    assert "None" not in settings
    assert "{" not in settings
    assert "<dt>minimise</dt><dd>no</dd>" in settings
    assert "<dt>assumed</dt><dd>b, sigma</dd>" in settings


def test_the_report_shows_what_was_really_spent(sqlite):
    ads = ap.Campaign.create("ads", ARMS, budget=90, unit="EUR", seed=7, window=2, db=sqlite)
    for ticket in (1, 2, 3):
        ads.split()
        ads.record(ticket, {"search": 9.0, "social": 7.0, "video": None}, {"search": 30, "social": 20, "video": 10})
    ads.amend(1, {"social": 7.0}, {"social": 25})
    ads.split()  # still open: not spent yet
    header, *rows = cells(campaign_page(ads).html(), "Where it stands")
    assert header[1:4] == ["spent EUR", "came back", "return so far"]
    assert {row[0]: row[1] for row in rows} == {"search": "90", "social": "65", "video": "30", "all": "185"}
    assert {row[0]: row[2] for row in rows} == {"search": "27", "social": "21", "video": "0", "all": "48"}
    assert {row[0]: row[3] for row in rows} == {"search": "0.300", "social": "0.323", "video": "0", "all": "0.259"}
    header, *rows = cells(campaign_page(ads).html(), "Details")
    assert header[1] == "spent, still counting"
    assert {row[0]: row[1] for row in rows}["video"] == "0"
    assert float({row[0]: row[1] for row in rows}["search"]) < 90


def test_a_picture_of_tickets_has_whole_numbers_below_it(ads):
    for figure in (
        _shares([1, 2, 3], {"a": {1: 0.5, 2: 0.25, 3: 1.0}}, {}),
        _means([(1, {}), (3, {})], [], ads.status(), {}),
    ):
        axes = figure.axes[0]
        axes.set_xlim(1, 4)
        assert all(float(tick).is_integer() for tick in axes.get_xticks())


def test_a_forecast_without_sigma_says_what_to_do(sqlite):
    ads = ap.Campaign.create("even", ("a", "b"), budget=100, policy="uniform", seed=7, db=sqlite)
    with pytest.raises(ap.InvalidValue, match="record some first"):
        forecast(ads)
    ads.record(ads.split().ticket, {"a": 60.0, "b": 40.0})
    with pytest.raises(
        ap.InvalidValue, match=r"^σ of this campaign is not known: record more outcomes, or give `sigma`"
    ):
        forecast(ads)


def test_a_forecast_is_repeatable_and_leaves_the_campaign_alone(ads):
    for _ in range(10):
        split = ads.split()
        means = {"search": 2.0, "social": 1.0, "video": 0.5}
        ads.record(split.ticket, {name: means[name] * amount for name, amount in split.amounts.items()})
    ads.pause_arm("video")
    state = ads.state()
    result = forecast(ads, periods=20, worlds=20, policies=("odds", "uniform"))
    assert result == forecast(ads, periods=20, worlds=20, policies=("odds", "uniform"))
    assert ads.state() == state
    odds, uniform = result.policies
    assert odds.earned > uniform.earned
    assert 0 <= odds.regret < uniform.regret
    assert odds.earned_low <= odds.earned <= odds.earned_high


def test_a_forecast_needs_outcomes_to_start_from(ads):
    with pytest.raises(ap.InvalidValue, match="a forecast starts from them"):
        forecast(ads)


def test_a_backtest_replays_a_history(history):
    import numpy as np

    rng = np.random.default_rng(5)
    rows = ["date,arm,amount,outcome"]
    for day in range(60):
        for arm, mean in (("a", 2.0), ("b", 1.0)):
            amount = float(rng.integers(10, 100))
            rows.append(f"day {day},{arm},{amount},{mean * amount + 3.0 * amount**0.75 * rng.standard_normal()}")
    found = read_history(history("\n".join(rows))).observations
    result = backtest(found, worlds=10, policies=("Odds", "Uniform"))
    assert 0.5 < result.b <= 1.0
    by_name = {row.policy: row for row in result.policies}
    assert by_name["Odds"].earned > by_name["Uniform"].earned
    assert result.actual == pytest.approx(sum(line.outcome for line in found))
    costs = backtest(found, worlds=5, b=0.75, sigma=3.0, minimise=True, policies=("odds",))
    assert costs.policies[0].earned < result.actual


@pytest.mark.parametrize("kind", ["csv", "json", "log"])
def test_an_export_of_a_longer_campaign_takes_no_more_memory(sqlite, kind):
    arms = [f"arm {number}" for number in range(20)]
    campaign = ap.Campaign.create("long", arms, budget=100, policy="uniform", b=0.5, sigma=1, db=sqlite)

    def grow(periods):
        with campaign.together():
            for _ in range(periods):
                campaign.record(campaign.split().ticket, dict.fromkeys(arms, 1.0), confirm=True)

    def peak():
        gc.collect()
        tracemalloc.start()
        size = sum(len(part) for part in export_parts(campaign, kind))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size, found

    grow(150)
    peak()
    first_size, first = peak()
    grow(300)
    size, found = peak()
    assert size > 2.5 * first_size
    assert found < 1.4 * first


def history_text(periods):
    rows = (
        f"2026-{1 + day // 28:02d}-{1 + day % 28:02d},{arm},10,{11 + day % 3}"
        for day in range(periods)
        for arm in "ab"
    )
    return "\n".join(("date,arm,amount,outcome", *rows))


def test_an_import_keeps_no_other_writer_waiting(db, tmp_path, monkeypatch):
    """All of it is worked out before anything is locked: others write meanwhile, also in the same campaign."""
    table = tmp_path / "history.csv"
    table.write_text(history_text(200))
    ads, other = (ap.Campaign.create(name, ("a", "b"), budget=1, b=0.5, sigma=1, db=db) for name in ("ads", "other"))
    inside, seen = threading.Event(), threading.Event()
    append, calls = importing._append_period, []

    def slow(transaction, date, day):
        calls.append(date)
        if len(calls) == 100:
            inside.set()
            assert seen.wait(60)
        append(transaction, date, day)

    monkeypatch.setattr(importing, "_append_period", slow)
    worker = threading.Thread(target=lambda: ads.import_history(table, key="once"))
    worker.start()
    assert inside.wait(60)
    assert other.split().ticket == 1
    assert ads.split().ticket == 1  # the import is worked out once more, after it
    seen.set()
    worker.join()
    assert len(calls) == 400
    assert ads.period == 201
    assert ads.import_history(table, key="once").tickets == 200
    assert ads.period == 201
    assert ads.check().exact
    ads.transactions.shared.forget()
    assert ads.status(health=False).spent == 4000.0


def test_an_import_that_is_refused_changes_nothing(db, tmp_path):
    table = tmp_path / "history.csv"
    table.write_text(history_text(3).replace(",b,", ",c,"))
    ads = ap.Campaign.create("ads", ("a", "b"), budget=1, b=0.5, sigma=1, db=db)
    state = ads.state()
    with pytest.raises(ap.InvalidValue, match="arm 'c' is not known"):
        ads.import_history(table)
    assert ads.state() == state
    assert ads.version == 1
    with ads.together():
        ads.import_history(table, add_arms=True)
        assert ads.split().ticket == 4
    assert ads.period == 4
    assert ads.check().exact
