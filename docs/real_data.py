"""The table and pictures of docs/real_data.md: python docs/real_data.py us_covid_tests.csv (not committed)."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

import apportion as ap

FIGURES = Path(__file__).parent / "figures"


def described(fit):
    """b with its interval; a star where an exponent outside [0, 1] would fit better."""
    low, high = fit.b_interval
    return f"{fit.b:.2f} ({low:.2f}–{high:.2f}){'*' if fit.beyond > 6.63 else ''}"


def drift(month):
    """By what factor the rate of a state moves from the first to the last ten days: the median over states."""
    first, last = month.date.dt.day <= 10, month.date.dt.day > month.date.dt.day.max() - 10
    sums = [month[part].groupby("arm")[["outcome", "amount"]].sum() for part in (first, last)]
    rates = [np.log(part.outcome / part.amount) for part in sums]
    return float(np.exp((rates[1] - rates[0]).abs().median()))


def memory(month, fit):
    """The correlation of a residual with the next day's of the same state."""
    told = month.assign(residual=fit.residuals).sort_values(["arm", "date"])
    pairs = [pair for _, one in told.groupby("arm") for pair in pairwise(one.residual)]
    return float(np.corrcoef(np.array(pairs).T)[0, 1])


def within_weeks(rows):
    """Amounts and rates relative to the median of their state and week, as logarithms."""
    rate = (rows.outcome / rows.amount).clip(1e-4)
    weeks = rows.week
    amounts = np.log(rows.amount / rows.amount.groupby(weeks).transform("median"))
    return amounts, np.log(rate / rate.groupby(weeks).transform("median"))


def table(data):
    """One line a month."""
    yield "| month | b, one σ | b, a σ per state | b, weeks apart | stretch | drift | memory | σ ratio | slope |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, month in data.groupby("month"):
        common = ap.fit_noise(month, c=1.0, sigma="common", tails="measured")
        own = ap.fit_noise(month, c=1.0, sigma="per-arm", tails="measured")
        whole = month.groupby("week").filter(lambda rows: len(rows) >= 4)
        weeks = ap.fit_noise(whole, arm="week", c=1.0, sigma="per-arm", tails="measured")
        spread = max(own.arms.sigmas) / min(own.arms.sigmas)
        slope = np.polyfit(*within_weeks(month), 1)[0]
        cells = [name, *map(described, (common, own, weeks)), f"{common.stretch:.1f}", f"{drift(month):.2f}"]
        yield "| " + " | ".join([*cells, f"{memory(month, own):.2f}", f"{spread:.0f}", f"{slope:.2f}"]) + " |"


def main(path):
    """Print the table, draw two pictures."""
    data = pd.read_csv(path, parse_dates=["date"])
    data = data[data.amount > 0]
    data = data.assign(
        month=data.date.dt.strftime("%Y-%m"),
        week=data.arm + " " + data.date.dt.strftime("%G-%V"),
    )
    sys.stdout.writelines(f"{line}\n" for line in table(data))
    amounts, rates = within_weeks(data)
    sunday = data.date.dt.day_name() == "Sunday"
    factors = np.exp([amounts[sunday].median(), rates[sunday].median()])
    sys.stdout.write(f"Sundays: {factors[0]:.2f} times the week's amount, {factors[1]:.2f} times its rate.\n")
    august = data[data.month == "2020-08"]
    for sigma in ("common", "per-arm"):
        picture = ap.figures.svg(ap.fit_noise(august, sigma=sigma).plot())
        (FIGURES / f"fit-tests-{sigma}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
