"""`apportion forecast` and `backtest`: what policies may earn from here, and what they would have earned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apportion._common.parsing import number_or_per_arm
from apportion.campaigns.settings import SETTINGS
from apportion.cli import show
from apportion.cli.campaign import Db, Details, Json, Key, Name, open_campaign
from apportion.cli.table_options import reading_options, with_table_options
from apportion.errors import InvalidValue

if TYPE_CHECKING:
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.forecast import Forecast

DEFAULT_WORLDS = 24

Policies = Annotated[str | None, typer.Option(help="Policies to compare, separated by commas.")]
Worlds = Annotated[int, typer.Option(help="How many futures to simulate.", min=1, max=100_000)]
Seed = Annotated[int, typer.Option(help="The seed of the random numbers.", min=0)]


def forecast(
    name: Name,
    periods: Annotated[
        int | None, typer.Option(help="How many periods, with the campaign's budget; 12 by default.", min=1, max=1000)
    ] = None,
    calendar: Annotated[
        Path | None, typer.Option(help="A file of budgets to come: columns date and budget (CSV, .xlsx, Parquet).")
    ] = None,
    budgets: Annotated[str | None, typer.Option(help="The same typed: 2026-12-01=5000, 2026-12-08=6000.")] = None,
    past: Annotated[bool, typer.Option("--past", help="How the forecasts so far did, instead of a new one.")] = False,
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="Keep it, to be held against what comes.")] = True,
    worlds: Worlds = DEFAULT_WORLDS,
    policies: Policies = None,
    seed: Seed = 0,
    key: Key = None,
    details: Details = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """What the next periods may bring: returns and splits with ranges, simulated from what is known today.

    It is kept, and `--past` says how earlier ones did. With `--policies` these are compared instead.

    Example: apportion forecast ads --budgets "2026-12-01=5000, 2026-12-08=6000"
    """
    from apportion.campaigns.calendar import typed_calendar

    campaign = open_campaign(name, db)
    if past:
        _show_past(campaign, json)
        return
    if calendar is not None and budgets is not None:
        raise InvalidValue("`--calendar` must be left out where `--budgets` is given; got both.")
    given: Any = calendar if budgets is None else typed_calendar(budgets)
    result = campaign.forecast(
        periods=periods, budgets=given, worlds=worlds, policies=_names(policies), seed=seed, keep=keep, key=key
    )
    if json:
        show.show_json(result.to_dict())
        return
    if policies is None:
        _show_calendar(campaign, result)
    else:
        _show(f"{name}: the next {_periods(campaign, result)}", result, False, details=details)


@with_table_options(before="b")
def backtest(
    file: Annotated[Path, typer.Argument(help="A file with dates, arms, amounts, outcomes: CSV, .xlsx, Parquet.")],
    b: Annotated[float | None, typer.Option(help="Noise exponent; fitted by default.")] = None,
    c: Annotated[float | None, typer.Option(help="Return exponent; fitted by default.")] = None,
    sigma: Annotated[str | None, typer.Option(help="Noise scale σ, also arm=σ for each; fitted by default.")] = None,
    minimise: Annotated[bool, typer.Option("--minimise", help="Outcomes are costs.")] = False,
    growth: Annotated[float, typer.Option(help=SETTINGS["growth"].help + " 0: no limit.")] = SETTINGS[
        "growth"
    ].default,
    change: Annotated[float | None, typer.Option(help=SETTINGS["change"].help)] = None,
    reach: Annotated[
        float,
        typer.Option(help="No arm gets more in a period than so many times the most it really got. 0: no limit."),
    ] = 1.0,
    worlds: Worlds = DEFAULT_WORLDS,
    policies: Policies = None,
    seed: Seed = 0,
    details: Details = False,
    json: Json = False,
    **table: Any,
) -> None:
    """What policies would have earned on a history: its periods, simulated with the law fitted to it.

    Arms take part while the history has them, and get no more than they ever really got; below the table stands what
    else is assumed.

    Example: apportion backtest history.csv --arm-column channel --amount-column spend
    """
    from apportion._common.formatting import counted
    from apportion.campaigns.backtest import backtest as simulate
    from apportion.inference.history import read_history

    reading = read_history(file, **reading_options(table))
    result = simulate(
        reading.observations, b=b, sigma=None if sigma is None else number_or_per_arm(sigma, "σ", show.number), c=c,
        worlds=worlds, policies=_names(policies), minimise=minimise, growth=growth or None, change=change,
        reach=reach or None, seed=seed,
    )  # fmt: skip
    title = f"{file.name}: {counted(result.periods, 'period')} simulated"
    _show(title, result, json, reading.summary.sentences(), details=details)


ROUNDING = 1e-9  # a mean above its range by less than this part of the earnings is rounding


def _names(policies: str | None) -> list[str] | None:
    return None if policies is None else [name.strip() for name in policies.split(",")]


def _show(title: str, forecast: Forecast, json: bool, notes: tuple[str, ...] = (), *, details: bool = False) -> None:
    from apportion._common.formatting import counted, readable, side_by_side
    from apportion.campaigns.tables import cell

    if json:
        show.show_json({**forecast.to_dict(), **({"notes": list(notes)} if notes else {})})
        return
    rows, rare = [], []
    for row in forecast.policies:
        low, mean, high = side_by_side(row.earned_low, row.earned, row.earned_high)
        least, lost, most = side_by_side(row.regret_low, row.regret, row.regret_high)
        rows.append((row.policy, mean, f"{low} to {high}", lost, f"{least} to {most}"))
        if row.regret - row.regret_high > ROUNDING * abs(row.earned):
            rare.append(row.policy)
    columns = {
        "policy": "left",
        "comes back": "right",
        "5% to 95%": "right",
        "lost against the best": "right",
        "5% to 95% ": "right",
    }
    simulated = counted(forecast.worlds, "simulation" if forecast.actual is not None else "simulated future")
    note = f"{simulated}."
    if details:
        sigma = forecast.sigma
        scale = cell(sigma) if isinstance(sigma, Mapping) else readable(sigma)
        bent = "" if forecast.c == 1.0 else f", c = {forecast.c:.3g}"
        note = f"{simulated}; b = {forecast.b:.3g}{bent}, σ = {scale}."
    if rare:  # the mean is right, and looks wrong beside its band
        note += f" Lost by {' and '.join(rare)}: the few (fewer than 1 of 20) that lose much raise the mean."
    if forecast.actual is not None:
        note += f" Really came back: {readable(forecast.actual)}."
    assumed = f"Assumed: {' '.join(forecast.assumes)}" if forecast.assumes else ""
    show.grid(title, columns, rows, " ".join(part for part in (note, assumed, *notes) if part))


def _periods(campaign: Campaign, forecast: Forecast) -> str:
    from apportion._common.formatting import counted

    return counted(forecast.periods, campaign.settings.every or "period")


ARMS_SHOWN = 6  # so many shares fit beside each other


def _show_calendar(campaign: Campaign, found: Forecast) -> None:
    """The periods to come: budget, return, shares; the words below."""
    from apportion._common.formatting import column_cells, percent
    from apportion.campaigns.forecast import largest_arms

    unit, settings = campaign.unit, campaign.settings
    indices = largest_arms(found, ARMS_SHOWN)
    columns = {settings.every or "period": "left", f"budget{f' ({unit})' if unit else ''}": "right",
               "is paid" if settings.minimise else "comes back": "right", "likely range (90%)": "right",
               **{found.calendar[0].arms[place].arm: "right" for place in indices}}  # fmt: skip
    budgets = column_cells([period.budget for period in found.calendar])
    edges = ("returned", "returned_low", "returned_high")
    means, lows, highs = _four_figures([[getattr(period, edge) for period in found.calendar] for edge in edges])
    rows = []
    for index, period in enumerate(found.calendar):
        label = period.date or f"ticket {(found.first or 1) + index}"
        shares = [percent(period.arms[place].share) for place in indices] if period.arms else ["–"] * len(indices)
        rows.append((label, budgets[index], means[index], f"{lows[index]} to {highs[index]}", *shares))
    note = " ".join((*found.sentences, f"Assumed: {' '.join(found.assumes)}"))
    show.grid(f"{campaign.name}: the next {_periods(campaign, found)}", columns, rows, note)


def _four_figures(columns: list[list[float]]) -> list[list[str]]:
    """Numbers that are read side by side, with about four figures: a forecast knows no more."""
    from apportion._common.formatting import fixed

    largest = max(abs(value) for column in columns for value in column)
    decimals = min(max(3 - math.floor(math.log10(largest)), 0), 6) if largest > 0.0 else 0
    return [[fixed(value, decimals) for value in column] for column in columns]


def _show_past(campaign: Campaign, json: bool) -> None:
    """How the forecasts so far did."""
    from apportion._common.formatting import percent, readable, to_the_minute

    found = campaign.forecasts()
    if json:
        show.show_json(found.to_dict())
        return
    columns = {"made": "left", "periods": "right", "with results": "right", "within the range": "right",
               "off by": "right"}  # fmt: skip
    rows = [
        (to_the_minute(each.at), readable(len(each.periods)), readable(each.compared),
         f"{each.inside} of {each.compared}" if each.compared else "–",
         "–" if each.error is None else percent(each.error))
        for each in found.forecasts
    ]  # fmt: skip
    show.grid(f"{campaign.name}: forecasts so far", columns, rows, " ".join(found.sentences))
