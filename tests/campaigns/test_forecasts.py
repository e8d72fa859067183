"""Forecasts with a calendar, kept and held against what came."""

import math
import os

import numpy as np
import openpyxl
import pytest
from tests.campaigns.test_plan import MEANS, play

import apportion as ap
from apportion._common.tables import FileContent
from apportion.campaigns import past_forecasts
from apportion.campaigns.calendar import BudgetPeriod, as_typed, calendar_of, read_calendar, typed_calendar
from apportion.campaigns.forecast import (
    ArmForecast,
    Forecast,
    PeriodForecast,
    PolicyForecast,
    describe,
    forecast,
    futures_of,
    largest_arms,
)
from apportion.campaigns.law_draws import believed_law

SOAK = bool(os.environ.get("APPORTION_SOAK"))
QUICK = {"worlds": 4}


@pytest.fixture
def told(sqlite):
    options = {"policy": "recommended", "b": 0.5, "c": 0.7, "sigma": 2.0, "seed": 7}
    return play(ap.Campaign.create("told", MEANS, budget=1000, unit="EUR", db=sqlite, **options))


def spend(campaign, budget, date=None, rng=None):
    """A split, spent as advised."""
    split = campaign.split(budget, date=date)
    noise = 0.0 if rng is None else 2.0
    campaign.record(split.ticket, {
        arm: MEANS[arm] * x**0.7 + noise * x**0.5 * (0.0 if rng is None else rng.standard_normal())
        for arm, x in split.amounts.items() if x > 0
    }, confirm=True)  # fmt: skip
    return split.ticket


# Calendars


def test_a_calendar_is_typed_given_or_read(tmp_path):
    wanted = (BudgetPeriod("2026-12-01", 5000.0), BudgetPeriod("2026-12-08", 6500.5))
    file = tmp_path / "budgets.csv"
    file.write_text("Date;Budget\n08.12.2026;6.500,50 €\n2026-12-01;5.000,00 €\n", encoding="utf-8")
    found = calendar_of(file, None, 1.0)
    assert [period.budget for period in found] == [5000.0, 6500.5]
    book = openpyxl.Workbook()
    for row in (("date", "budget"), ("2026-12-01", 5000), ("2026-12-08", 6500.5)):
        book.active.append(row)
    book.save(tmp_path / "budgets.xlsx")
    assert calendar_of(tmp_path / "budgets.xlsx", None, 1.0) == wanted
    for typed in (
        "2026-12-01=5000; 2026-12-08=6500.5", "2026-12-08=6500.5, 2026-12-01=5000",
        "date,budget\n2026-12-01,5000\n2026-12-08,6500.5", "2026-12-01\t5000\n\n2026-12-08\t6500.50",
        "2026-12-01: 5000 EUR\n2026-12-08: 6,500.50 EUR", "2026-12-01 5.000,00 €\n2026-12-08 6.500,50 €",
        "2026-12-01 5 000,00\n2026-12-08, 6.500,50",
    ):  # fmt: skip
        assert typed_calendar(typed) == wanted
    assert calendar_of({"2026-12-08": 6500.5, "2026-12-01": 5000}, None, 1.0) == wanted
    assert calendar_of([("2026-12-01", 5000), ("2026-12-08", 6500.5)], None, 1.0) == wanted
    assert calendar_of([3, 4.5], None, 1.0) == (BudgetPeriod(None, 3.0), BudgetPeriod(None, 4.5))
    assert typed_calendar("week 49=100; week 50=200") == (
        BudgetPeriod("week 49", 100.0),
        BudgetPeriod("week 50", 200.0),
    )
    assert typed_calendar("; ".join(map(as_typed, wanted))) == wanted


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], "The calendar must have 1 to 1000 periods; got 0."),
        ([0.0], "`budget` must be a number above 0; got 0.0."),
        ({"2026-02-30": 5.0}, "`date` must be a date that exists; got '2026-02-30'."),
        ([("2026-12-01", 1.0), ("2026-12-01", 2.0)], "The date '2026-12-01' is given twice in the calendar."),
        (7, "`budgets` must be budgets by date, a list of them, or a file; got 7."),
    ],
)
def test_a_bad_calendar_is_refused(given, sentence):
    with pytest.raises(ap.InvalidValue) as error:
        calendar_of(given, None, 1.0)
    assert str(error.value) == sentence


def test_faults_of_a_calendar_come_with_their_rows():
    bad = FileContent("b.csv", b"date,budget\n2026-12-01,5000\n2026-13-01,x\n2026-12-09,-3\n")
    with pytest.raises(ap.InvalidValue, match=r"(?s)3.*4"):
        read_calendar(bad)
    with pytest.raises(ap.InvalidValue, match="a column named budget is needed"):
        read_calendar(FileContent("b.csv", b"date,spend\n2026-12-01,5000\n"))
    with pytest.raises(ap.InvalidValue, match="The budget of 2026-12-01 must be a number"):
        typed_calendar("2026-12-01=lots")
    with pytest.raises(ap.InvalidValue, match="`periods` must be left out where `budgets`"):
        calendar_of([3], 4, 1.0)


# Forecasts


def test_a_forecast_follows_its_calendar(told):
    made = told.forecast(budgets={"2026-12-01": 500, "2026-12-08": 2000}, **QUICK)
    assert [(period.date, period.budget) for period in made.calendar] == [("2026-12-01", 500), ("2026-12-08", 2000)]
    assert (made.periods, made.budget, made.first) == (2, 2500.0, 13)
    for period in made.calendar:
        truth = math.fsum(MEANS[arm.arm] * arm.amount**0.7 for arm in period.arms)
        assert period.returned == pytest.approx(truth, rel=0.1)
        assert period.returned_low < period.returned < period.returned_high
        assert math.fsum(arm.share for arm in period.arms) == pytest.approx(1.0)
        assert all(arm.share_low - 1e-9 <= arm.share <= arm.share_high + 1e-9 for arm in period.arms)
    assert made.sentences[0].startswith("The next 2 periods, 2,500 EUR in all: about ")
    assert any(sentence.startswith("An even split: about") for sentence in made.sentences)
    assert made.policies[0].earned > made.policies[1].earned
    assert "Returns stay as they are." in made.assumes


@pytest.mark.parametrize("seed", [0.1, -1, "x", None])
def test_a_seed_that_is_none_is_refused(told, seed):
    with pytest.raises(ap.InvalidValue, match="`seed` must be a whole number"):
        told.forecast(periods=1, seed=seed, **QUICK)
    assert told.forecasts().forecasts == ()


def test_a_learned_campaign_is_forecast_with_any_policy(sqlite):
    """Also with one that must be told the law, where what was learned bends."""
    campaign = play(ap.Campaign.create("auto", MEANS, budget=1000, db=sqlite, seed=1), periods=16)
    assert campaign.settings.c < 1.0
    made = campaign.forecast(periods=2, worlds=2, policies=["auto", "thompson", "uniform"], keep=False)
    assert [row.policy for row in made.policies] == ["auto", "thompson", "uniform"]
    assert made.policies[1].earned == pytest.approx(made.policies[0].earned, rel=0.05)


def test_futures_move_where_the_past_did(sqlite):
    """With means that drift the range of a later period is wider than that of the next one."""
    campaign = ap.Campaign.create("moving", ("a", "b"), budget=100, db=sqlite, b=0.5, c=1.0, sigma=0.5, seed=1)
    rng, level = np.random.default_rng(2), np.zeros(2)
    for _ in range(60):
        level += 0.15 * rng.standard_normal(2)
        split = campaign.split()
        means = dict(zip(("a", "b"), np.exp(level)))
        amounts = split.amounts.items()
        back = {arm: means[arm] * x + 0.5 * x**0.5 * rng.standard_normal() for arm, x in amounts}
        campaign.record(split.ticket, back, confirm=True)
    assert campaign.beliefs().learned.own > 0.01
    made = campaign.forecast(periods=10, worlds=16, keep=False)
    widths = [period.returned_high - period.returned_low for period in made.calendar]
    assert np.mean(widths[-3:]) > 1.2 * widths[0]
    assert "Returns go on to move as they did so far." in made.assumes
    # Which way they will move nobody knows: of a fixed split as much is expected in every period, within ever wider
    # ranges, from the first one on. 1,000 futures at a fixed seed: the standard error of a mean is below 2%.
    law = believed_law(campaign, "a forecast")
    futures = futures_of(law, 1000, 8, 1.0, np.random.default_rng(5))
    played = [ap.Course(future, np.random.default_rng([6, at])).play([[50.0, 50.0]] * 8).expected
              for at, future in enumerate(futures)]  # fmt: skip
    assert np.mean(played, axis=0) == pytest.approx(np.full(8, 50.0 * law.means.sum()), rel=0.06)
    widths = np.std(played, axis=0)
    still = np.sqrt(((50.0 * law.spread) ** 2).sum())  # if the next period were as the last one
    assert 1.05 * still < widths[0] < widths[3] < widths[7]


def test_the_arms_that_are_told_are_those_that_get_most_at_any_time(sqlite):
    def period(*shares):
        return PeriodForecast(
            None, 10.0, 5.0, 4.0, 6.0,
            tuple(ArmForecast(name, 10 * x, x, x, x) for name, x in zip("abcdef", shares)),
        )  # fmt: skip

    def foreseen(*calendar):
        row = PolicyForecast("Auto", 10.0, 8.0, 12.0, 1.0, 0.0, 2.0)
        return Forecast(2, 4, 20.0, 0.5, 1.0, (row,), calendar=calendar)

    made = foreseen(period(0.6, 0.4, 0, 0, 0, 0), period(0.1, 0.4, 0.001, 0.001, 0.498, 0))
    assert largest_arms(made, 3) == [0, 1, 4]
    settings = ap.Campaign.create("ads", ("a", "b"), budget=10, unit="EUR", every="week", db=sqlite).settings
    said = describe(made, settings)
    assert said[0] == "The next 2 weeks, 20 EUR in all: about 10.00 comes back (8.00 to 12.00), 0.500 per EUR."
    assert said[1] == (
        "Expected split: a 60.0%, later 10.0%; b about 40.0%; e 0%, later 49.8%; 3 other arms share the rest."
    )
    in_orders = describe(made, settings._replace(outcome_unit="orders"))
    assert "about 10.00 orders come back (8.00 to 12.00)" in in_orders[0]
    two = foreseen(period(1.0, 0.0), period(0.7, 0.3))
    assert describe(two, settings)[1] == "Expected split: a 100%, later 70.0%; b 0%, later 30.0%."


def test_forecasts_are_kept_unless_told_otherwise(told):
    version = told.version
    told.forecast(periods=2, keep=False, **QUICK)
    assert told.version == version
    made = told.forecast(periods=2, key="monday", **QUICK)
    assert told.forecast(periods=2, key="monday", **QUICK) == made
    with pytest.raises(ap.Conflict, match="used before for something else"):
        told.forecast(periods=3, key="monday", **QUICK)
    assert [event.kind for event in told.events(version)] == ["forecast"]
    assert Forecast.from_payload(told.events(version)[0].payload) == made
    assert made == forecast(told, periods=2, **QUICK)
    assert told.check().ok


def test_a_kept_forecast_goes_with_an_export(told, sqlite):
    told.forecast(periods=2, **QUICK)
    clone = told.clone("copy")
    assert clone.forecasts().forecasts[0].periods == told.forecasts().forecasts[0].periods


# How they did


def test_what_came_is_held_against_the_forecast_by_order(told):
    assert told.forecasts().sentences == ("No forecast was made yet.",)
    told.forecast(periods=4, **QUICK)
    assert told.forecasts().sentences == ("1 forecast kept; none of the periods has its results yet.",)
    told.cancel(told.split().ticket)  # passed over
    tickets = [spend(told, 1000), spend(told, 1000), spend(told, 1500)]
    told.split()  # waits
    (past,) = told.forecasts().forecasts
    assert [period.ticket for period in past.periods] == [*tickets, tickets[-1] + 1]
    assert [period.state for period in past.periods] == ["compared", "compared", "other budget", "waiting"]
    assert [period.inside for period in past.periods] == [True, True, None, None]
    whole = told.forecasts()
    assert (whole.compared, whole.inside, whole.coverage, whole.expected) == (2, 2, 1.0, pytest.approx(0.9))
    assert whole.error == pytest.approx(
        np.mean([abs(period.actual / period.returned - 1) for period in past.periods[:2]])
    )
    assert whole.sentences[0] == "2 of 2 periods with results came out within the range; nine of ten should."
    assert whole.sentences[-1] == "That is too few to judge them by."


def test_what_came_is_held_against_the_forecast_by_date(told):
    told.forecast(budgets={"2027-01-04": 1000, "2027-01-11": 800, "2027-01-18": 1000}, **QUICK)
    spend(told, 1000, "2026-12-28")  # not one of them
    assert [period.ticket for period in told.forecasts().forecasts[0].periods] == [None, None, None]
    second, first = spend(told, 800, "2027-01-11"), spend(told, 1000, "2027-01-04")
    (past,) = told.forecasts().forecasts
    assert [period.ticket for period in past.periods] == [first, second, None]
    assert [period.state for period in past.periods] == ["compared", "compared", "waiting"]


def test_a_total_so_far_is_no_result_yet(told):
    told.forecast(periods=1, **QUICK)
    split = told.split()
    totals = {arm: MEANS[arm] * x**0.7 for arm, x in split.amounts.items() if x > 0}
    told.record(split.ticket, totals, provisional=True)
    assert told.forecasts().compared == 0
    told.record(split.ticket, totals)
    assert told.forecasts().compared == 1


def test_an_outcome_out_of_the_range_is_said_to_be(told):
    told.forecast(periods=12, **QUICK)
    for _ in range(12):
        split = told.split()
        told.record(split.ticket, {arm: 0.5 * MEANS[arm] * x**0.7 for arm, x in split.amounts.items() if x > 0},
                    confirm=True)  # fmt: skip
    found = told.forecasts()
    assert (found.compared, found.inside) == (12, 0)
    assert found.bias == pytest.approx(-0.5, abs=0.05)
    assert "mostly more than came" in found.sentences[1]
    assert "too narrow" in found.sentences[2]


def test_the_ranges_hold_nine_of_ten(sqlite):
    """With the law as it is told. 20 campaigns of 5 periods: 90 of 100 are expected, and fewer than 78 has a chance
    below 0.1% even where the periods of a campaign all miss together a little; 200 campaigns in `make soak`.
    """
    count, inside, compared = (200 if SOAK else 20), 0, 0
    for number in range(count):
        campaign = ap.Campaign.create(
            f"c{number}", MEANS, budget=1000, db=sqlite, policy="recommended", b=0.5, c=0.7, sigma=2.0, seed=number
        )
        play(campaign, periods=5, seed=200 + number)
        campaign.forecast(periods=5, worlds=8, policies=["recommended"])
        rng = np.random.default_rng(number)
        for _ in range(5):
            spend(campaign, 1000, rng=rng)
        found = campaign.forecasts()
        inside, compared = inside + found.inside, compared + found.compared
    assert compared == 5 * count
    assert 0.78 * compared <= inside < compared


def test_what_came_is_read_piece_by_piece(told, monkeypatch):
    monkeypatch.setattr(past_forecasts, "TICKETS_AT_ONCE", 2)
    told.forecast(periods=5, **QUICK)
    for _ in range(5):
        spend(told, 1000)
    asked, history = [], ap.Campaign.history
    monkeypatch.setattr(ap.Campaign, "history", lambda self, *given: (asked.append(given), history(self, *given))[1])
    found = told.forecasts()
    assert all(last - first == 1 for first, last in asked)
    monkeypatch.undo()
    assert told.forecasts() == found
    assert found.compared == 5
