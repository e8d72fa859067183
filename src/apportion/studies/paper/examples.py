"""The three examples of the introduction as worlds with names and units: what a season earns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from apportion.policies import Odds, Oracle, Policy, Recommended, Thompson, Uniform
from apportion.reporting.html import shown
from apportion.studies.page import Block, Figure, Picture, Text, table_of
from apportion.studies.paper.section import OnStep, Section, Sizes, Values
from apportion.studies.scenarios import SCENARIOS, Scenario, expected_returns


def contestants(scenario: Scenario) -> dict[str, Policy]:
    """What the owner of the budget could do."""
    b, sigma = scenario.b, scenario.sigma
    return {
        "knowing the best arm": Oracle(means=scenario.means),
        "Recommended": Recommended(b=b, sigma=sigma),
        "Odds": Odds(b=b, sigma=sigma),
        "Thompson, all on one arm": Thompson(b=b, sigma=sigma),
        "even split": Uniform(),
    }


def measure(sizes: Sizes, seed: int, on_step: OnStep) -> Values:
    """The expected return of the chosen amounts, over seasons."""
    worlds = []
    for scenario in SCENARIOS:
        rows: list[dict[str, Any]] = []
        for name, policy in contestants(scenario).items():
            on_step(f"{scenario.title}: {name}")
            earned = expected_returns(scenario, policy, range(seed, seed + sizes.seasons))
            error = float(np.round(earned.std(ddof=1) / math.sqrt(len(earned)), 6))
            mean = float(earned.mean())
            rows.append({"policy": name, "earned": mean, "error": error, "share": mean / scenario.possible})
        fields = ("title", "b", "arms", "budget", "unit", "period", "periods", "returns", "possible")
        world = {name: getattr(scenario, name) for name in fields}
        worlds.append({**world, "arms": len(scenario.arms), "rows": rows})
    return {"worlds": worlds, "seasons": sizes.seasons}


def show(values: Values) -> list[Block]:
    """A table for each world, and one picture."""
    blocks: list[Block] = [
        Text(
            "The introduction motivates the model by research hours, venture capital and test kits, without "
            "numbers. Here they are worlds with names and units, played through the allocator as their owner "
            f"would, test kits in whole units with binomial positives. Means over {shown(values['seasons'])} seasons."
        )
    ]
    for world in values["worlds"]:
        caption = (
            f"{world['title']}: {shown(world['budget'])} {world['unit']} a {world['period']} over "
            f"{shown(world['arms'])} arms, {shown(world['periods'])} {world['period']}s, b = {shown(world['b'])}."
        )
        columns = {world["returns"]: "earned", "standard error": "error", "of what was possible": "share"}
        blocks.append(table_of(caption, world["rows"], {"policy": "policy", **columns}))
    blocks.append(Picture("examples", "What a season earned, of what was possible.", lambda: draw(values)))
    return blocks


def draw(values: Values) -> Figure:
    """Shares of what was possible, a panel for each world."""
    from apportion.reporting.figures.canvas import new_canvas
    from apportion.reporting.figures.style import FAINT, PALETTE, picture_style

    worlds = values["worlds"]
    least = min(row["share"] for world in worlds for row in world["rows"] if row["policy"] == "Recommended")
    with picture_style():
        title = f"In all three examples Recommended earns at least {100 * least:.0f}% of what was possible"
        canvas = new_canvas(3, title, [f"{values['seasons']} seasons each"])
        for ax, world in zip(canvas.axes, worlds):
            names = [row["policy"] for row in world["rows"]]
            shares = [100 * row["share"] for row in world["rows"]]
            ax.barh(names, shares, color=[FAINT, PALETTE[2], PALETTE[0], PALETTE[1], "#B0B0B0"], height=0.6)
            style: dict[str, Any] = {"va": "center", "ha": "right", "color": "white", "weight": "bold", "size": 9}
            for height, share in enumerate(shares):
                ax.text(share - 1.5, height, f"{share:.1f}", **style)
            ax.invert_yaxis()
            ax.set_xlim(0, 102)
            ax.grid(visible=False, axis="y")
            if ax is not canvas.axes[0]:
                ax.set_yticklabels([])
        canvas.finish("% of what was possible", "", [world["title"] for world in worlds])
    return canvas.figure


SECTION = Section("examples", "The three examples", __name__, measure, show)
