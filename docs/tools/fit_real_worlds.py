"""The fitted parameters that the package ships: python docs/tools/fit_real_worlds.py FOLDER

FOLDER has the public histories as CSV files, named as below; none of them is part of the project. An entry whose file
is missing stays as it is.
"""

import json
import sys
from pathlib import Path

import pandas as pd

import apportion as ap
from apportion.model.real_worlds import FITTED

HHS = (
    "US Department of Health and Human Services, COVID-19 Diagnostic Laboratory Testing (PCR Testing) Time Series, as"
    " archived on 2021-06-01"
)
BANNERS = (
    "Online advertising performance data (a public table of banner ads, April to June 2020, three campaigns), summed"
    " by day and placement"
)
SOCIAL = "Sales conversion optimization (the public table KAG_conversion_data: 1,143 ads on a social network)"
MINNESOTA = (
    "Hernandez and Mulla (2008), Estimating uncertainty of economically optimum fertilizer rates, data of 2006"
)
LAS_ROSAS = (
    "Anselin, Bongiovanni and Lowenberg-DeBoer (2004), A spatial econometric approach to the economics of"
    " site-specific nitrogen management in corn production, the field of 1999 at Las Rosas, Argentina"
)
# Means at rest: rows that follow each other are neighbours in a field or in a list, not in time.
AT_REST = 1e6


def tests(folder):
    """Kits in, positives out, by day, week and month; the exponents are those found within weeks of days."""
    rows = pd.read_csv(folder / "us_covid_tests.csv", parse_dates=["date"])
    days = ap.fit_world(rows, apart="week", smooth=5.0)
    about = "PCR tests in, positives out; 12 states, June 2020 to May 2021"
    yield {**days.entry("tests", "US tests by state and day", about, HHS, every=7), "period": "day"}
    for key, word, first in (
        ("tests-weekly", "week", rows.date.dt.to_period("W").dt.start_time),
        ("tests-monthly", "month", rows.date.dt.to_period("M").dt.start_time),
    ):
        sums = rows.assign(date=first).groupby(["date", "arm"], as_index=False)[["amount", "outcome"]].sum()
        fit = ap.fit_world(sums, c=days.c, b=days.b, apart="none")
        about = f"the same by {word}, at the exponents found within weeks of days"
        yield {**fit.entry(key, f"US tests by state and {word}", about, HHS), "period": word}


def banners(folder):
    """Daily cost in; clicks, conversions or revenue out; the exponents are those found within months."""
    rows = pd.read_csv(folder / "ads_by_placement.csv", parse_dates=["date"])
    for outcome in ("clicks", "conversions", "revenue"):
        # One placement had a ten-thousandth of the cost, and no conversions on most days.
        kept = rows if outcome == "clicks" else rows[rows.arm != "abc"]
        fit = ap.fit_world(kept, outcome=outcome, apart="month")
        about = f"daily cost in, {outcome} out; {len(fit.arms)} placements"
        entry = fit.entry(f"ads-{outcome}", f"Ad placements: {outcome}", about, BANNERS, every=3)
        yield {**entry, "period": "day"}


def social(folder):
    """What each ad cost, and how many bought the product after it; arms are the ages it was shown to."""
    rows = pd.read_csv(folder / "KAG_conversion_data.csv")
    rows = rows[rows.Spent > 0].sort_values("ad_id")
    history = [(row.age, row.Spent, row.Approved_Conversion) for row in rows.itertuples()]
    about = "cost of an ad in, sales out; 4 age groups"
    yield ap.fit_world(history, smooth=AT_REST).entry("ads-social", "Social ads: sales", about, SOCIAL)


def nitrogen(folder):
    """Nitrogen in, yield beyond that of unfertilised plots out."""
    sites = _gains(pd.read_csv(folder / "hernandez.nitrogen.txt", sep="\t"), "loc")
    about = "nitrogen on corn in, yield beyond the unfertilised one out; 5 sites in Minnesota"
    yield ap.fit_world(sites, smooth=AT_REST).entry("nitrogen-sites", "Nitrogen: five sites", about, MINNESOTA)
    field = pd.read_csv(folder / "lasrosas.corn.txt", sep="\t")
    slopes = _gains(field[field.year == 1999], "topo")
    about = "nitrogen on corn in, yield beyond the unfertilised one out; 4 slopes of a field in Argentina"
    yield ap.fit_world(slopes, smooth=AT_REST).entry("nitrogen-slopes", "Nitrogen: four slopes", about, LAS_ROSAS)


def _gains(plots, place):
    without = plots[plots.nitro == 0].groupby(place)["yield"].mean()
    given = plots[plots.nitro > 0]
    return [(at, amount, found - without[at]) for at, amount, found in zip(given[place], given.nitro, given["yield"])]


def main(folder):
    """Fit what there is, in the order of the functions above; after it what stays as it is."""
    entries = {}
    for part in (tests, banners, social, nitrogen):
        try:
            for entry in part(folder):
                entries[entry["key"]] = {**entry, "period": entry.get("period", "")}
        except FileNotFoundError as missing:
            sys.stderr.write(f"{missing.filename} is missing: what it gave stays as it is\n")
    for entry in json.loads(FITTED.read_text(encoding="utf-8")):
        entries.setdefault(entry["key"], entry)
    lines = []
    for entry in entries.values():
        path = ",\n".join(f"   {json.dumps(row)}" for row in entry.pop("path"))
        head = json.dumps(entry, ensure_ascii=False)[:-1]
        lines.append(f' {head}, "path": [\n{path}\n ]}}')
    FITTED.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
