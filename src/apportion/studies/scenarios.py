"""The paper's three examples as worlds with names and units: research hours, venture capital, test kits.

A fourth is as data are: rates that move, returns that diminish, and nobody who says b and σ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from apportion.allocation.allocator import Allocator
from apportion.allocation.beliefs import Beliefs
from apportion.allocation.split import Split
from apportion.model.law import Instance
from apportion.model.response import best_value as best_power_value
from apportion.model.sums import Floats
from apportion.model.world import Course, Played, World
from apportion.policies import Policy
from apportion.simulation.live import ask_and_tell, play_through


@dataclass(frozen=True)
class Scenario:
    """A problem as its owner would describe it. `means` are the true returns per unit, which no policy knows.

    `known`: whether b and σ are told to the default policy.
    """

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
    known: bool = True

    @property
    def world(self) -> World:
        """What answers: the law with these means."""
        return Instance(self.means, self.b, self.sigma)

    @property
    def noise(self) -> dict[str, Any]:
        """What is known of the noise, as an `Allocator` or a campaign is given it."""
        return {"b": self.b, "sigma": self.sigma} if self.known else {}

    @property
    def possible(self) -> float:
        """What a season is expected to earn with the best split of every period."""
        return float(self.played_evenly.best.sum())

    @property
    def played_evenly(self) -> Played:
        """A season of even splits."""
        amounts = np.full((self.periods, len(self.arms)), self.budget / len(self.arms))
        return Course(self.world, np.random.default_rng(0)).play(amounts)


class Kits(World):
    """Each of a whole number of kits finds a case with the probability of its state: b = 1/2, σ² = p(1 − p)."""

    probabilities: tuple[float, ...]

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """p·A, and a binomial count of positives."""
        probability = self.probabilities[arm]
        return amount * probability, float(rng.binomial(int(amount), probability))

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """All kits where they find the most."""
        return budget * self.probabilities.max()


@dataclass(frozen=True)
class KitScenario(Scenario):
    """A problem with kits."""

    @property
    def world(self) -> World:
        """Binomial counts of positives."""
        return Kits(self.means)


class BentKits(World):
    """Kits whose first ones find the most: A of them find p·R·(A/R)^c cases on average, a binomial count of A.

    p, the rate of a state in a month, (months, states), holds at the reference amount R. Months have `days` days.
    """

    rates: tuple[tuple[float, ...], ...]
    reference: float
    c: float
    days: int

    @property
    def arms(self) -> int:
        """The number of states."""
        return len(self.rates[0])

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """The chance of a kit is p·(A/R)^(c−1)."""
        rate = self.rates[min((number - 1) // self.days, len(self.rates) - 1), arm]
        chance = min(1.0, rate * (amount / self.reference) ** (self.c - 1.0))
        return amount * chance, float(rng.binomial(int(amount), chance))

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """V of the law μ·A^c with μ = p·R^(1−c)."""
        row = self.rates[min((number - 1) // self.days, len(self.rates) - 1)]
        return best_power_value(row, self.c, budget) * self.reference ** (1.0 - self.c)


@dataclass(frozen=True)
class BentKitScenario(Scenario):
    """A problem with kits whose returns diminish, at rates (months, states); `means` are those of the last month."""

    rates: tuple[tuple[float, ...], ...] = ()
    c: float = 1.0

    @property
    def world(self) -> World:
        """Binomial counts; the rates hold for an even share."""
        return BentKits(self.rates, self.budget / len(self.arms), self.c, self.periods // len(self.rates))

    @property
    def best_split(self) -> tuple[float, ...]:
        """The best amounts of the last period."""
        return tuple((self.budget * np.array(Instance(self.means, b=self.b, c=self.c).best_split)).tolist())


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

# Positives per PCR result reported in the months from June to November 2020; source as above. That positives grow
# less than in proportion to tests was measured there too: exponents of 0.7 to 0.9 (docs/real_data.md).
POSITIVITY = (
    (0.164, 0.035, 0.129, 0.045, 0.046, 0.153),
    (0.174, 0.052, 0.161, 0.045, 0.061, 0.213),
    (0.068, 0.033, 0.103, 0.052, 0.046, 0.111),
    (0.040, 0.033, 0.055, 0.047, 0.033, 0.068),
    (0.056, 0.063, 0.057, 0.073, 0.051, 0.090),
    (0.113, 0.121, 0.085, 0.131, 0.127, 0.125),
)
HALF_YEAR = BentKitScenario(
    title="Half a year of test kits",
    story=(
        "An agency has 1,000 test kits a day for six states, on twenty days a month from June to November 2020, at "
        "the shares of positives of those months. Who needs a test most comes first, so twice the kits find 1.74 "
        "times the cases (c = 0.8). Nobody knows that, nor how noisy counts are, nor when the rates move."
    ),
    arms=("AZ", "CO", "FL", "IL", "OH", "TX"),
    means=POSITIVITY[-1], rates=POSITIVITY, c=0.8,
    b=0.5, sigma=0.3, budget=1000.0, unit="kits", period="day", periods=120, returns="cases found", whole=True,
    known=False,
)  # fmt: skip


class Season(NamedTuple):
    """What happened: amounts and outcomes, (periods, arms), and what was believed at the end."""

    played: Played
    beliefs: Beliefs

    @property
    def earned(self) -> float:
        """Everything that came back."""
        return float(np.nansum(self.played.outcomes))


def play_season(scenario: Scenario, policy: Policy, seed: int) -> Season:
    """Ask and tell through a whole season, as its owner would."""
    allocator = Allocator(
        policy, scenario.arms, seed=seed, whole=scenario.whole, horizon=scenario.periods, **scenario.noise
    )
    rng = np.random.default_rng([seed, 1])
    played = play_through(allocator, scenario.world, [scenario.budget] * scenario.periods, rng)
    return Season(played, allocator.beliefs())


def live_through(
    scenario: Scenario,
    seed: int,
    ask: Callable[[float], Split],
    tell: Callable[[int, dict[str, float]], object],
) -> Played:
    """A season whose splits are asked for by `ask(budget)` and answered by `tell`: the same as `play_season`."""
    course = Course(scenario.world, np.random.default_rng([seed, 1]))
    return ask_and_tell(ask, tell, course, [scenario.budget] * scenario.periods, scenario.arms)


def expected_returns(scenario: Scenario, policy: Policy, seeds: Iterable[int]) -> Floats:
    """What the amounts chosen in each season are expected to earn: as what it earned, with less noise."""
    return np.array([play_season(scenario, policy, seed).played.expected.sum() for seed in seeds])
