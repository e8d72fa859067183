"""A world with names and units, and one season of a budget being split in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from apportion.allocation.allocator import Allocator
from apportion.allocation.beliefs import Beliefs
from apportion.allocation.split import Split
from apportion.model.law import Instance
from apportion.model.sums import Floats
from apportion.policies import Policy


@dataclass(frozen=True)
class Scenario:
    """A problem as its owner would describe it. `means` are the true returns per unit, which no policy knows."""

    title: str
    story: str
    arms: tuple[str, ...]
    means: tuple[float, ...]
    b: float
    sigma: float
    budget: float
    unit: str
    period: str
    periods: int
    returns: str
    whole: bool = False

    def draw(self, amounts: Floats, rng: np.random.Generator) -> Floats:
        """What comes back for raw amounts; NaN where nothing was spent."""
        return Instance(self.means, self.b, self.sigma).draw(amounts, rng)


class Season(NamedTuple):
    """What happened: amounts and outcomes, (periods, arms), and what was believed at the end."""

    amounts: Floats
    outcomes: Floats
    beliefs: Beliefs

    @property
    def earned(self) -> float:
        """Everything that came back."""
        return float(np.nansum(self.outcomes))


def play_season(scenario: Scenario, policy: Policy, seed: int) -> Season:
    """Ask and tell through a whole season, as its owner would."""
    allocator = Allocator(
        policy, scenario.arms, seed=seed, b=scenario.b, sigma=scenario.sigma, whole=scenario.whole,
        horizon=scenario.periods,
    )  # fmt: skip
    amounts, outcomes = live_through(scenario, seed, allocator.ask, allocator.tell)
    return Season(amounts, outcomes, allocator.beliefs())


def live_through(
    scenario: Scenario,
    seed: int,
    ask: Callable[[float], Split],
    tell: Callable[[int, dict[str, float | None]], object],
) -> tuple[Floats, Floats]:
    """Amounts and outcomes of a season whose splits are asked for by `ask(budget)` and answered by `tell`."""
    rng = np.random.default_rng([seed, 1])
    amounts, outcomes = np.zeros((2, scenario.periods, len(scenario.arms)))
    for period in range(scenario.periods):
        split = ask(scenario.budget)
        amounts[period] = list(split.amounts.values())
        outcomes[period] = scenario.draw(amounts[period], rng)
        tell(
            split.ticket,
            {arm: value for arm, value in zip(scenario.arms, outcomes[period].tolist()) if value == value},
        )
    return amounts, outcomes
