"""`apportion simulate-campaign` and `backtest`: what may come, and what might have been."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apportion.cli.campaign import Db, Json, Name

if TYPE_CHECKING:
    from apportion.campaigns.forecast import Outlook

Policies = Annotated[str | None, typer.Option(help="Policies to compare, with commas between.")]
Worlds = Annotated[int, typer.Option(help="How many worlds to draw.", min=1, max=100_000)]
Seed = Annotated[int, typer.Option(help="The seed of everything that is drawn.", min=0)]


def simulate_campaign(
    name: Name,
    periods: Annotated[int, typer.Option(help="How many periods to play.", min=1, max=1_000_000)] = 50,
    worlds: Worlds = 100,
    policies: Policies = None,
    seed: Seed = 0,
    db: Db = None,
    json: Json = False,
) -> None:
    """Play the campaign forward from today's beliefs, under several policies.

    Example: apportion simulate-campaign ads --periods 100 --policies odds,thompson,uniform
    """
    from apportion._common.formatting import counted
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.forecast import forecast

    campaign = Campaign.open(name, db)
    outlook = forecast(campaign, periods=periods, worlds=worlds, policies=_names(policies), seed=seed)
    _show(f"{name}: the next {counted(outlook.periods, 'period')}", outlook, json)


def backtest(
    file: Annotated[Path, typer.Argument(help="A CSV file with a row per date and arm.")],
    date_column: Annotated[str, typer.Option(help="The column of the dates.")] = "date",
    arm_column: Annotated[str, typer.Option(help="The column of the arms.")] = "arm",
    amount_column: Annotated[str, typer.Option(help="The column of the amounts.")] = "amount",
    outcome_column: Annotated[str, typer.Option(help="The column of the outcomes.")] = "outcome",
    b: Annotated[float | None, typer.Option(help="How much a small share reveals; fitted by default.")] = None,
    sigma: Annotated[float | None, typer.Option(help="The scale of the noise; fitted by default.")] = None,
    minimise: Annotated[bool, typer.Option("--minimise", help="Outcomes are costs.")] = False,
    worlds: Worlds = 100,
    policies: Policies = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Play a history again with the law fitted to it: what would these policies have earned?

    Example: apportion backtest history.csv --arm-column channel --amount-column spend
    """
    from apportion._common.formatting import counted
    from apportion.campaigns.files import read_history
    from apportion.campaigns.forecast import replay

    found, _ = read_history(file, date=date_column, arm=arm_column, amount=amount_column, outcome=outcome_column)
    outlook = replay(found, b=b, sigma=sigma, worlds=worlds, policies=_names(policies), minimise=minimise, seed=seed)
    _show(f"{file.name}: {counted(outlook.periods, 'period')} again", outlook, json)


def _names(policies: str | None) -> list[str] | None:
    return None if policies is None else [name.strip() for name in policies.split(",")]


def _show(title: str, outlook: Outlook, json: bool) -> None:
    from apportion._common.formatting import counted, readable, together
    from apportion.cli import show

    if json:
        show.show_json({**outlook._asdict(), "prospects": [row._asdict() for row in outlook.prospects]})
        return
    rows, rare = [], []
    for row in outlook.prospects:
        low, mean, high = together(row.earned_low, row.earned, row.earned_high)
        least, lost, most = together(row.regret_low, row.regret, row.regret_high)
        rows.append((row.policy, mean, f"{low} to {high}", lost, f"{least} to {most}"))
        if row.regret - row.regret_high > 1e-9 * abs(row.earned):  # by more than rounding
            rare.append(row.policy)
    columns = {"policy": "left", "earned": "right", "5% to 95%": "right", "regret": "right", "5% to 95% ": "right"}
    worlds = counted(outlook.worlds, "world")
    note = f"{worlds} drawn from the beliefs; b = {outlook.b:.3g}, σ = {outlook.sigma:.3g}."
    if rare:  # the mean is right, and looks wrong beside its band
        note += f" Regret of {' and '.join(rare)}: the few worlds (fewer than 1 of 20) that lose much lift the mean."
    if outlook.actual is not None:
        note += f" Really earned: {readable(outlook.actual)}."
    show.grid(title, columns, rows, note)
