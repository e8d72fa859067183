"""`apportion demo`: the paper's three examples, printed for people."""

from __future__ import annotations

import math

import numpy as np
from rich.console import Console
from rich.table import Table

from apportion.policies import Policy
from apportion.policies.odds import Odds
from apportion.policies.oracle import Oracle
from apportion.policies.pooled import Thompson
from apportion.policies.uniform import Uniform
from apportion.scenarios import SCENARIOS, Scenario, Season, play_season
from apportion.tables import percent, readable, together

OURS = "apportion (Odds)"


def show_demo(seed: int, repeats: int) -> None:
    """Print all three scenarios."""
    console = Console(width=None if Console().is_terminal else 110)
    for number, scenario in enumerate(SCENARIOS, start=1):
        console.rule(f"[bold]{number}. {scenario.title}")
        console.print(scenario.story)
        season = play_season(scenario, Odds(b=scenario.b, sigma=scenario.sigma), seed)
        console.print(_splits(scenario, season))
        console.print(_learned(scenario, season))
        console.print(_earned(scenario, seed, repeats))
    console.print(
        "Next: write a split of your own in Python (README), or ask what is possible at all: "
        "[bold]apportion theory --arms 6 --horizon 60 --b 0.6[/bold]"
    )


def _seasons(repeats: int) -> str:
    return "one season" if repeats == 1 else f"mean of {repeats} seasons"


def _splits(scenario: Scenario, season: Season) -> Table:
    table = Table(
        title=f"The split of {readable(scenario.budget)} {scenario.unit}, {scenario.period} by {scenario.period}"
    )
    table.add_column(scenario.period, justify="right")
    for arm in scenario.arms:
        table.add_column(arm, justify="right")
    shown = [n for n in (1, 2, 3, 5, 10, 20, 40, 80, 160) if n < scenario.periods] + [scenario.periods]
    for number in shown:
        row = season.amounts[number - 1]
        cells = [f"{value:.0f}" if scenario.whole or row.max() >= 100 else f"{value:.2f}" for value in row]
        cells[int(row.argmax())] = f"[bold]{cells[int(row.argmax())]}[/bold]"
        table.add_row(str(number), *cells)
    return table


def _learned(scenario: Scenario, season: Season) -> Table:
    what = f"{scenario.returns} per {scenario.unit.removesuffix('s')}"
    table = Table(title=f"What was learned after {scenario.periods} {scenario.period}s ({what})")
    for title in ("arm", "truth", "estimate", "95% interval", "chance to be best", "spent"):
        table.add_column(title, justify="left" if title == "arm" else "right")
    for arm, truth in sorted(zip(scenario.arms, scenario.means), key=lambda pair: -pair[1]):
        belief = season.beliefs[arm]
        low, mean, high, true = together(belief.low, belief.mean, belief.high, truth)
        chance = percent(belief.probability_best)
        table.add_row(arm, true, mean, f"{low} to {high}", chance, f"{belief.resource:,.0f}")
    return table


def _earned(scenario: Scenario, seed: int, repeats: int) -> Table:
    rivals: dict[str, Policy] = {
        "knowing the best arm": Oracle(means=scenario.means),
        OURS: Odds(b=scenario.b, sigma=scenario.sigma),
        "all on one arm (Thompson)": Thompson(b=scenario.b, sigma=scenario.sigma),
        "even split": Uniform(),
    }
    table = Table(title=f"What it earned in a season of {scenario.periods} {scenario.period}s, {_seasons(repeats)}")
    for title in ("policy", scenario.returns, "± s.e.", "of what was possible", "lost by not knowing"):
        table.add_column(title, justify="left" if title == "policy" else "right")
    possible = max(scenario.means) * scenario.budget * scenario.periods
    rows = []
    for name, policy in rivals.items():
        # The expected return of the amounts that were chosen: the same seasons with less noise.
        value = np.array([
            float((play_season(scenario, policy, seed + 1 + repeat).amounts @ scenario.means).sum())
            for repeat in range(repeats)
        ])  # fmt: skip
        error = value.std(ddof=1) / repeats**0.5 if repeats > 1 else math.nan
        rows.append((name, float(value.mean()), float(error)))
    means = together(*(mean for _, mean, _ in rows))
    losses = together(*(possible - mean for _, mean, _ in rows))
    for (name, mean, error), shown, lost in zip(rows, means, losses):
        spread = "–" if math.isnan(error) else f"{error:,.{len(shown.partition('.')[2])}f}"
        cells = (shown, spread, percent(mean / possible), lost)
        table.add_row(name, *cells, style="bold" if name == OURS else None)
    return table
