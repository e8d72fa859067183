"""`apportion forecast` and `backtest`: what policies may earn from here, and what they would have earned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apportion._common.parsing import number_or_per_arm
from apportion.campaigns.settings import SETTINGS
from apportion.cli import show
from apportion.cli.campaign import Db, Json, Name, open_campaign
from apportion.cli.table_options import reading_options, with_table_options

if TYPE_CHECKING:
    from apportion.campaigns.forecast import Forecast

Policies = Annotated[str | None, typer.Option(help="Policies to compare, separated by commas.")]
Worlds = Annotated[int, typer.Option(help="How many futures to simulate.", min=1, max=100_000)]
Seed = Annotated[int, typer.Option(help="The seed of the random numbers.", min=0)]


def forecast(
    name: Name,
    periods: Annotated[int, typer.Option(help="How many periods to simulate.", min=1, max=1_000_000)] = 50,
    worlds: Worlds = 100,
    policies: Policies = None,
    seed: Seed = 0,
    db: Db = None,
    json: Json = False,
) -> None:
    """What several policies may earn in the next periods, simulated from what is known today.

    Example: apportion forecast ads --periods 100 --policies odds,thompson,uniform
    """
    from apportion._common.formatting import counted
    from apportion.campaigns import forecast as forecasts

    campaign = open_campaign(name, db)
    result = forecasts.forecast(campaign, periods=periods, worlds=worlds, policies=_names(policies), seed=seed)
    _show(f"{name}: the next {counted(result.periods, 'period')}", result, json)


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
    worlds: Worlds = 100,
    policies: Policies = None,
    seed: Seed = 0,
    json: Json = False,
    **table: Any,
) -> None:
    """What policies would have earned on a history: its periods, simulated with the law fitted to it.

    Example: apportion backtest history.csv --arm-column channel --amount-column spend
    """
    from apportion._common.formatting import counted
    from apportion.campaigns.forecast import backtest as simulate
    from apportion.inference.history import read_history

    reading = read_history(file, **reading_options(table))
    result = simulate(
        reading.observations, b=b, sigma=None if sigma is None else number_or_per_arm(sigma, "σ", show.number), c=c,
        worlds=worlds, policies=_names(policies), minimise=minimise, growth=growth or None, change=change, seed=seed,
    )  # fmt: skip
    _show(f"{file.name}: {counted(result.periods, 'period')} simulated", result, json, reading.summary.sentences())


ROUNDING = 1e-9  # a mean above its range by less than this part of the earnings is rounding


def _names(policies: str | None) -> list[str] | None:
    return None if policies is None else [name.strip() for name in policies.split(",")]


def _show(title: str, forecast: Forecast, json: bool, notes: tuple[str, ...] = ()) -> None:
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
    sigma = forecast.sigma
    scale = cell(sigma) if isinstance(sigma, Mapping) else readable(sigma)
    bent = "" if forecast.c == 1.0 else f", c = {forecast.c:.3g}"
    note = f"{simulated}; b = {forecast.b:.3g}{bent}, σ = {scale}."
    if rare:  # the mean is right, and looks wrong beside its band
        note += f" Lost by {' and '.join(rare)}: the few (fewer than 1 of 20) that lose much raise the mean."
    if forecast.actual is not None:
        note += f" Really came back: {readable(forecast.actual)}."
    show.grid(title, columns, rows, " ".join((note, *notes)))
