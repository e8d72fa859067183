"""`apportion demo`: the paper's three examples, and one as data are, printed for people.

The season that is shown is a real campaign in a throw-away database, checked at its end. What is earned is averaged
over more seasons, by the Allocator alone: a campaign gives the same splits (tests/cli/test_demo.py).
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import typer
from rich.console import Console
from rich.table import Column, Table

from apportion._common.formatting import chance, one_of, percent, readable, side_by_side
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.check import Check
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.database import close_engine
from apportion.cli.show import show_json
from apportion.policies import Odds, Policy, Thompson, Uniform
from apportion.policies.registry import choose_policy
from apportion.studies.scenarios import (
    HALF_YEAR,
    SCENARIOS,
    BentKitScenario,
    Scenario,
    Season,
    expected_returns,
    live_through,
)

DEFAULT = "apportion (Auto, default)"
ODDS = "apportion (Odds)"
SHOWN: tuple[Scenario, ...] = (*SCENARIOS, HALF_YEAR)


def show_demo(seed: int, repeats: int, as_json: bool = False) -> None:
    """Print all scenarios; exit code 1 if a campaign does not agree with its events."""
    if as_json:
        _show_json(seed, repeats)
        return
    console = Console(width=None if Console().is_terminal else 110)
    sound = True
    for number, scenario in enumerate(SHOWN, start=1):
        console.rule(f"[bold]{number}. {scenario.title}")
        console.print(scenario.story)
        season, found = play_campaign(scenario, _ours(scenario)[_shown(scenario)], seed)
        console.print(_splits(scenario, season))
        if scenario.known:  # of a world that moved, the truth of the last period is no yardstick
            console.print(_learned(scenario, season))
        console.print(_earnings(scenario, seed, repeats))
        rebuilt = f"{found.events} events stored in a throw-away database, rebuilt bit for bit: ok."
        console.print(rebuilt if found.exact else found.message, highlight=False)
        sound = sound and found.ok
    console.print(
        "Next: a campaign of your own, [bold]apportion new[/bold]; or ask what is possible at all: "
        "[bold]apportion theory --arms 6 --horizon 60 --b 0.6[/bold]"
    )
    if not sound:
        raise typer.Exit(1)


def _show_json(seed: int, repeats: int) -> None:
    found = []
    for scenario in SHOWN:
        season, check = play_campaign(scenario, _ours(scenario)[_shown(scenario)], seed)
        earned = [
            {"policy": name, "mean": mean, "error": error} for name, mean, error in _earned(scenario, seed, repeats)
        ]
        amounts = [dict(zip(scenario.arms, row)) for row in season.played.amounts.tolist()]
        found.append({
            "title": scenario.title, "budget": scenario.budget, "unit": scenario.unit, "period": scenario.period,
            "policy": _shown(scenario), "splits": amounts, "seasons": repeats, "earned": earned,
            "events": check.events, "rebuilt": check.exact, "ok": check.ok,
        })  # fmt: skip
    show_json(found)
    if not all(each["ok"] for each in found):
        raise typer.Exit(1)


def play_campaign(scenario: Scenario, policy: Policy, seed: int) -> tuple[Season, Check]:
    """One season as a campaign in a database that is removed afterwards, and whether it could be rebuilt."""
    with tempfile.TemporaryDirectory(prefix="apportion-demo-") as folder:
        db = Path(folder) / "campaigns.db"
        try:
            campaign = Campaign.create(
                scenario.title, scenario.arms, budget=scenario.budget, unit=scenario.unit, policy=policy,
                horizon=scenario.periods, whole=scenario.whole, seed=seed, db=db, **scenario.noise,
                growth=None, step=None if scenario.whole else 0,  # the averages beside it are of the policy alone
            )  # fmt: skip
            played = live_through(scenario, seed, campaign.split, campaign.record)
            return Season(played, campaign.beliefs()), campaign.check()
        finally:
            close_engine(database_url(db))


def _ours(scenario: Scenario) -> dict[str, Policy]:
    """What a user gets who tells b and σ, if they are known, and the policy that divides by the odds, told both."""
    default, _ = choose_policy("auto", scenario.b, scenario.sigma) if scenario.known else choose_policy("auto")
    return {DEFAULT: default, ODDS: Odds(b=scenario.b, sigma=scenario.sigma)}


def _shown(scenario: Scenario) -> str:
    """The better of the two in a season this short: the default, which pools at b = 1/2, unless b is known there.

    Lost over 100 seasons, default and Odds: research hours 42 ± 4 and 44 ± 3, venture capital 6,770 ± 360 and
    8,240 ± 240, test kits 211 ± 7 and 174 ± 4.
    """
    return ODDS if scenario.known and scenario.b == 0.5 else DEFAULT


def _splits(scenario: Scenario, season: Season) -> Table:
    period_by_period = f"{scenario.period} by {scenario.period}, by {_shown(scenario)}"
    title = f"The split of {readable(scenario.budget)} {scenario.unit}, {period_by_period}"
    table = Table(*(Column(name, justify="right") for name in (scenario.period, *scenario.arms)), title=title)
    shown = [n for n in (1, 2, 3, 5, 10, 20, 40, 80, 160) if n < scenario.periods] + [scenario.periods]
    rows = {str(number): season.played.amounts[number - 1] for number in shown}
    if isinstance(scenario, BentKitScenario):
        rows["even split"] = np.full(len(scenario.arms), scenario.budget / len(scenario.arms))
        rows[f"optimum, {scenario.period} {scenario.periods}"] = np.array(scenario.best_split)
    for label, row in rows.items():
        cells = [f"{value:.0f}" if scenario.whole or row.max() >= 100 else f"{value:.2f}" for value in row]
        cells[int(row.argmax())] = f"[bold]{cells[int(row.argmax())]}[/bold]"
        table.add_row(label, *cells)
    return table


def _learned(scenario: Scenario, season: Season) -> Table:
    what = f"{scenario.returns} per {one_of(scenario.unit)}"
    title = f"What was learned after {scenario.periods} {scenario.period}s ({what})"
    numbers = ("truth", "estimate", "95% interval", "chance to be best", "spent")
    table = Table("arm", *(Column(name, justify="right") for name in numbers), title=title)
    for arm, truth in sorted(zip(scenario.arms, scenario.means), key=lambda pair: -pair[1]):
        belief = season.beliefs[arm]
        low, mean, high, true = side_by_side(belief.low, belief.mean, belief.high, truth)
        best = chance(belief.probability_best)
        table.add_row(arm, true, mean, f"{low} to {high}", best, f"{belief.resource:,.0f}")
    return table


def _earned(scenario: Scenario, seed: int, repeats: int) -> list[tuple[str, float, float]]:
    """What was possible, and what each policy earns: the mean of seasons and its standard error."""
    rivals: dict[str, Policy] = {
        **_ours(scenario),
        "all on one arm (Thompson)": Thompson(b=scenario.b, sigma=scenario.sigma),
        "even split": Uniform(),
    }
    rows = [("knowing the best split", scenario.possible, math.nan)]
    for name, policy in rivals.items():
        value = expected_returns(scenario, policy, range(seed + 1, seed + 1 + repeats))
        error = value.std(ddof=1) / repeats**0.5 if repeats > 1 else math.nan
        rows.append((name, float(value.mean()), float(error)))
    return rows


def _earnings(scenario: Scenario, seed: int, repeats: int) -> Table:
    seasons = "one season" if repeats == 1 else f"mean of {repeats} seasons"
    title = f"What it earned in a season of {scenario.periods} {scenario.period}s, {seasons}"
    numbers = (scenario.returns, "± s.e.", "of what was possible", "lost by not knowing")
    table = Table("policy", *(Column(name, justify="right") for name in numbers), title=title)
    rows, possible = _earned(scenario, seed, repeats), scenario.possible
    means = side_by_side(*(mean for _, mean, _ in rows))
    losses = side_by_side(*(0.0 if math.isclose(mean, possible) else possible - mean for _, mean, _ in rows))
    for (name, mean, error), shown, lost in zip(rows, means, losses):
        spread = "–" if math.isnan(error) else f"{error:,.{len(shown.partition('.')[2])}f}"
        cells = (shown, spread, percent(min(mean / possible, 1.0)), lost)
        table.add_row(name, *cells, style="bold" if name == _shown(scenario) else None)
    return table
