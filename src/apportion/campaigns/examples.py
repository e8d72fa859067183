"""Worked examples to start from: three campaigns with a past, made up by the program itself; nobody's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion._common.tables import FileContent
from apportion.campaigns.settings import Every, NewSettings

_FIRST_DAY = date(2026, 1, 5)  # a Monday
_STEPS = {"day": 1, "week": 7}


class Example(NamedTuple):
    """A campaign to start from. `rates` is what a unit brings back on average, where the budget is split evenly."""

    key: str
    title: str
    story: str
    budget: float
    unit: str
    outcome_unit: str
    every: Every
    whole: bool
    periods: int
    rates: Mapping[str, float]
    habits: tuple[float, ...]
    """The shares that somebody had gone by, more or less."""
    each_counts_once: bool
    """Whether a unit brings back one at most: a test is positive, or not."""
    diminishing: float
    """The c of amount^c that returns grow as."""
    seed: int

    @property
    def arms(self) -> tuple[str, ...]:
        """What the budget is split over."""
        return tuple(self.rates)

    @property
    def file(self) -> str:
        """The name of its history."""
        return f"{self.key} example.csv"

    def settings(self) -> NewSettings:
        """What a campaign begins with."""
        return {
            "budget": self.budget, "unit": self.unit, "outcome_unit": self.outcome_unit, "every": self.every,
            "whole": self.whole,
        }  # fmt: skip

    def history(self) -> FileContent:
        """What was spent and came back in the periods before, as a CSV file: the same every time.

        Amounts are a habit that was followed loosely, so that something can be learned of them. Counts come back,
        with the luck of counts, and with good and bad periods that all options share.
        """
        rng = np.random.Generator(np.random.PCG64(self.seed))
        rows = ["date,arm,amount,outcome"]
        even, day = self.budget / len(self.rates), _FIRST_DAY
        rates = np.array(list(self.rates.values()))
        for _ in range(self.periods):
            shares = np.array(self.habits) * np.exp(0.45 * rng.standard_normal(len(rates)))
            amounts = np.floor(self.budget * shares / shares.sum())
            amounts[int(shares.argmax())] += self.budget - amounts.sum()
            luck = np.exp(0.08 * rng.standard_normal())
            expected = rates * even * (amounts / even) ** self.diminishing * luck
            for arm, amount, mean in zip(self.rates, amounts, expected):
                found = int(rng.poisson(mean))
                outcome = min(found, int(amount)) if self.each_counts_once else found
                rows.append(f"{day.isoformat()},{arm},{amount:.0f},{outcome}")
            day += timedelta(days=_STEPS[self.every])
        return FileContent(self.file, ("\n".join(rows) + "\n").encode())


EXAMPLES: Mapping[str, Example] = MappingProxyType({
    each.key: each
    for each in (
        Example(
            key="marketing", title="A marketing budget",
            story="5,000 EUR a week over four channels; orders come back. Half a year of weeks is there already.",
            budget=5000, unit="EUR", outcome_unit="orders", every="week", whole=False, periods=26,
            rates=MappingProxyType({"search": 0.042, "social": 0.034, "video": 0.021, "newsletter": 0.036}),
            habits=(0.4, 0.3, 0.2, 0.1), each_counts_once=False, diminishing=0.75, seed=20260105,
        ),
        Example(
            key="kits", title="Test kits",
            story="400 test kits a day over four regions; positive tests come back. Six weeks are there already.",
            budget=400, unit="kits", outcome_unit="positive tests", every="day", whole=True, periods=42,
            rates=MappingProxyType({"north": 0.08, "east": 0.05, "south": 0.11, "west": 0.06}),
            habits=(0.25, 0.25, 0.25, 0.25), each_counts_once=True, diminishing=0.65, seed=20260106,
        ),
        Example(
            key="hours", title="A team's hours",
            story="40 hours a week over three kinds of work; sign-ups come back. Twenty weeks are there already.",
            budget=40, unit="hours", outcome_unit="sign-ups", every="week", whole=True, periods=20,
            rates=MappingProxyType({"calls": 1.9, "articles": 1.2, "events": 1.5}),
            habits=(0.4, 0.3, 0.3), each_counts_once=False, diminishing=0.7, seed=20260107,
        ),
    )
})  # fmt: skip
"""The examples by name."""


def find_example(key: Any) -> Example:
    """The example of that name; a refusal that lists them."""
    return EXAMPLES[validation.choice("example", key, tuple(EXAMPLES))]


def begin_example(
    example: Example, create: Callable[..., Any], name: str, options: Mapping[str, Any] | None = None
) -> Any:
    """A campaign that `create` (`Campaign.create`, or that of a client) begins as the example says, with its past.

    >>> import tempfile, pathlib, functools
    >>> from apportion.campaigns.campaign import Campaign
    >>> db = pathlib.Path(tempfile.mkdtemp()) / "campaigns.db"
    >>> campaign = begin_example(find_example("hours"), functools.partial(Campaign.create, db=db), "my hours")
    >>> campaign.period, campaign.settings.outcome_unit, campaign.settings.every
    (20, 'sign-ups', 'week')
    """
    settings: dict[str, Any] = {**example.settings(), **(options or {})}
    campaign = create(name, settings.pop("arms", example.arms), **settings)
    campaign.import_history(example.history(), add_arms=True)
    return campaign
