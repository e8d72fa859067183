"""Example 3 of the paper: daily test kits over cities, in whole kits, with binomial positives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apportion.model.sums import Floats
from apportion.studies.scenarios.scenario import Scenario


@dataclass(frozen=True)
class KitScenario(Scenario):
    """Each kit finds a case with the probability of its place: b = 1/2 exactly, σ² = p(1 − p)."""

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
        "An agency has 343 test kits a day for twelve places and wants to find cases: a thousandth of the tests "
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
