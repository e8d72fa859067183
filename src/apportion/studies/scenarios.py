"""The paper's three examples as worlds with names and units: research hours, venture capital, test kits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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

    @property
    def possible(self) -> float:
        """What a season is expected to earn with all of the budget on the best arm."""
        return max(self.means) * self.budget * self.periods


@dataclass(frozen=True)
class KitScenario(Scenario):
    """Each kit finds a case with the probability of its state: b = 1/2 exactly, σ² = p(1 − p)."""

    def draw(self, amounts: Floats, rng: np.random.Generator) -> Floats:
        """Binomial counts of positives; NaN where no kit was sent."""
        found = rng.binomial(amounts.astype(np.int64), self.means).astype(np.float64)
        return np.where(amounts > 0.0, found, np.nan)


RESEARCH = Scenario(
    title="Research hours",
    story=(
        "A doctoral student has five hours a day for research and four directions to follow. An hour spent shows "
        "most of what a whole day would (b = 0.8), so it pays to look at several a little."
    ),
    arms=("proof", "simulation", "field data", "survey"),
    means=(0.8, 1.1, 0.95, 0.5),
    b=0.8, sigma=1.0, budget=5.0, unit="hours", period="day", periods=120, returns="results",
)  # fmt: skip

STARTUPS = Scenario(
    title="Venture capital",
    story=(
        "A fund gives one million a month to six start-ups. What a company makes of it is noisy, and the noise "
        "grows a little faster than the root of the money (b = 0.6)."
    ),
    arms=("robots", "batteries", "biotech", "chips", "software", "games"),
    means=(0.85, 1.0, 1.05, 1.25, 1.15, 0.75),
    b=0.6, sigma=8.0, budget=1000.0, unit="thousand EUR", period="month", periods=60, returns="thousand EUR of value",
)  # fmt: skip

# Positives per PCR result reported in June 2020, and one thousandth of the 342,993 results a day in these twelve
# states. Source: US Department of Health and Human Services, "COVID-19 Diagnostic Laboratory Testing (PCR
# Testing) Time Series", as archived on 2021-06-01.
KITS = KitScenario(
    title="Test kits",
    story=(
        "An agency has 343 test kits a day for twelve states and wants to find cases: a thousandth of the tests "
        "reported there in June 2020, at the shares of positives of that month. Half the kits tell half as much "
        "(b = 0.5). Kits are whole."
    ),
    arms=("AZ", "CA", "CO", "FL", "GA", "IL", "LA", "MA", "NY", "OH", "TX", "WA"),
    means=(0.1639, 0.0689, 0.0352, 0.1294, 0.1007, 0.0447, 0.0962, 0.0374, 0.0183, 0.0458, 0.1532, 0.0463),
    b=0.5, sigma=0.37, budget=343.0, unit="kits", period="day", periods=60, returns="cases found", whole=True,
)  # fmt: skip

SCENARIOS = (RESEARCH, STARTUPS, KITS)


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
        named = zip(scenario.arms, outcomes[period].tolist())
        tell(split.ticket, {arm: value for arm, value in named if value == value})
    return amounts, outcomes


def expected_returns(scenario: Scenario, policy: Policy, seeds: Iterable[int]) -> Floats:
    """What the amounts chosen in each season are expected to earn: as what it earned, with less noise."""
    chosen = (play_season(scenario, policy, seed).amounts for seed in seeds)
    return np.array([float((amounts @ scenario.means).sum()) for amounts in chosen])
