"""The paper's three examples as worlds with names and units: research hours, venture capital, test kits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apportion.model.sums import Floats
from apportion.studies.scenarios.scenario import Scenario

RESEARCH = Scenario(
    title="Research hours",
    story=(
        "A doctoral student has five hours a day for research and four directions to follow. An hour spent shows "
        "most of what a whole day would (b = 0.8), so it pays to look at several a little."
    ),
    arms=("proof", "simulation", "field data", "survey"),
    means=(0.8, 1.1, 0.95, 0.5),
    b=0.8,
    sigma=1.0,
    budget=5.0,
    unit="hours",
    period="day",
    periods=120,
    returns="results",
)

STARTUPS = Scenario(
    title="Venture capital",
    story=(
        "A fund gives one million a month to six start-ups. What a company makes of it is noisy, and the noise "
        "grows a little faster than the root of the money (b = 0.6)."
    ),
    arms=("robots", "batteries", "biotech", "chips", "software", "games"),
    means=(0.85, 1.0, 1.05, 1.25, 1.15, 0.75),
    b=0.6,
    sigma=8.0,
    budget=1000.0,
    unit="thousand EUR",
    period="month",
    periods=60,
    returns="thousand EUR of value",
)


@dataclass(frozen=True)
class KitScenario(Scenario):
    """Each kit finds a case with the probability of its state: b = 1/2 exactly, σ² = p(1 − p)."""

    def draw(self, amounts: Floats, rng: np.random.Generator) -> Floats:
        """Binomial counts of positives; NaN where no kit was sent."""
        found = rng.binomial(amounts.astype(np.int64), self.means).astype(np.float64)
        return np.where(amounts > 0.0, found, np.nan)


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
    b=0.5,
    sigma=0.37,
    budget=343.0,
    unit="kits",
    period="day",
    periods=60,
    returns="cases found",
    whole=True,
)

SCENARIOS = (RESEARCH, STARTUPS, KITS)
