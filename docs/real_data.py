"""The tables and pictures of docs/real_data.md: python docs/real_data.py us_covid_tests.csv ads_by_placement.csv

Neither file is part of the project.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import apportion as ap

FIGURES = Path(__file__).parent / "figures"
COLUMNS = "c | b | likelihood ratio | σ ratio | drift | weekdays | memory"


def described(value, interval):
    """An exponent with its interval."""
    return f"{value:.2f} ({interval[0]:.2f}–{interval[1]:.2f})"


def cells(fit):
    """Estimates and effects; a star where an exponent outside the range would fit better."""
    tests = {test.name: test for test in fit.assumptions}
    bend = tests["proportional returns"]
    beyond = f"* {bend.effect:.2f}" if bend.effect > 1 and bend.holds is False else ""
    yield described(fit.c, fit.c_interval) + beyond
    yield described(fit.b, fit.b_interval) + "*" * (fit.beyond > 6.63)
    yield f"{bend.statistic:.0f}"
    yield f"{tests['equal noise'].effect:.0f}"
    for name, digits in (("no drift", 2), ("no weekday pattern", 2), ("no memory", 2)):
        test = tests[name]
        yield "–" if test.holds is None else f"{test.effect:.{digits}f}" + " (chance)" * test.holds


def rows(parts):
    """A line for each named fit."""
    for name, fit in parts:
        yield "| " + " | ".join([name, *cells(fit)]) + " |"


def written(lines):
    """Print lines."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


def sundays(data):
    """By what factor amounts and rates of a Sunday differ from the median of their state and week."""
    week = data.arm + data.date.dt.strftime("%G-%V")
    rate = (data.outcome / data.amount).clip(1e-4)
    factors = [column / column.groupby(week).transform("median") for column in (data.amount, rate)]
    return [float(np.exp(np.log(column[data.date.dt.day_name() == "Sunday"]).median())) for column in factors]


def main(tests, ads):
    """Print the tables, draw two pictures."""
    data = pd.read_csv(tests, parse_dates=["date"])
    months = dict(list(data[data.amount > 0].groupby(data.date.dt.strftime("%Y-%m"))))
    for title, options in (("As they come", {}), ("Weeks apart", {"apart": "week"})):
        written([f"\n{title}\n", f"| month | {COLUMNS} |", "|---" * 8 + "|"])
        written(rows((name, ap.fit_noise(month, tails="measured", **options)) for name, month in months.items()))
    straight = [ap.fit_noise(month, tails="measured", apart="week", c=1.0).b for month in months.values()]
    written(["\nb, weeks apart, where c is held at 1: " + ", ".join(f"{b:.2f}" for b in straight)])
    factors = sundays(data[data.amount > 0])
    written([f"Sundays: {factors[0]:.2f} times the week's amount, {factors[1]:.2f} times its rate."])
    spend = pd.read_csv(ads)
    written(["", f"| outcome, apart | {COLUMNS} |", "|---" * 8 + "|"])
    written(
        rows(
            (f"{outcome}, {apart or 'no'}", ap.fit_noise(spend, outcome=outcome, apart=apart, tails="measured"))
            for outcome in ("clicks", "conversions", "revenue")
            for apart in (None, "month", "week")
        )
    )
    fit = ap.fit_noise(months["2021-04"])
    for name, figure in (("fit-tests", fit.plot()), ("fit-tests-assumptions", fit.plot_assumptions())):
        (FIGURES / f"{name}.svg").write_text(ap.figures.svg(figure), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
