"""The suite: b from 0 to 1, 2 to 200 arms, four shapes of means, 100 to 100,000 periods, three kinds of noise."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from apportion.model.law import Instance
from apportion.model.noise import noise_family
from apportion.simulation.families import means_of


class Case(NamedTuple):
    """One instance and how long it is played."""

    family: str
    arms: int
    gap: float
    b: float
    horizon: int
    noise: str = "gaussian"
    sigma: float = 1.0

    @property
    def instance(self) -> Instance:
        """The world of the case."""
        means = means_of(self.family, self.arms, self.gap)
        return Instance(means, self.b, self.sigma, noise=noise_family(self.noise))

    @property
    def label(self) -> str:
        """What tells it from the others."""
        noise = "" if self.noise == "gaussian" else f", {self.noise}"
        return f"{self.family}, K={self.arms}, gap {self.gap:g}, b={self.b:g}, T={self.horizon:,}{noise}"


GOOD, LINEAR, CLUSTERED, TIED = "one good arm", "linear", "clustered", "nearly tied"

SUITE: tuple[Case, ...] = (
    # Pooling: b ≤ 1/2.
    Case(GOOD, 2, 0.3, 0.0, 1_000),
    Case(GOOD, 5, 0.5, 0.0, 10_000),
    Case(LINEAR, 10, 0.1, 0.0, 3_000),
    Case(GOOD, 30, 0.5, 0.0, 10_000, "rademacher"),
    Case(GOOD, 2, 1.0, 0.25, 100),
    Case(TIED, 10, 0.5, 0.25, 10_000),
    Case(CLUSTERED, 20, 0.5, 0.25, 3_000, "uniform"),
    Case(LINEAR, 5, 0.2, 0.25, 1_000),
    Case(GOOD, 100, 0.5, 0.25, 3_000),
    Case(GOOD, 5, 0.25, 0.4, 100_000),
    Case(CLUSTERED, 10, 0.3, 0.4, 1_000, "rademacher"),
    Case(TIED, 3, 0.5, 0.4, 300),
    # The transition.
    Case(GOOD, 2, 0.3, 0.5, 10_000),
    Case(GOOD, 5, 0.5, 0.5, 1_000, "uniform"),
    Case(LINEAR, 20, 0.05, 0.5, 3_000),
    Case(GOOD, 50, 0.5, 0.5, 3_000),
    Case(CLUSTERED, 10, 0.5, 0.5, 10_000, "rademacher"),
    # Dividing: b > 1/2.
    Case(GOOD, 2, 0.3, 0.6, 3_000),
    Case(GOOD, 5, 0.5, 0.6, 10_000),
    Case(GOOD, 30, 0.5, 0.6, 3_000),
    Case(LINEAR, 10, 0.1, 0.6, 3_000, "uniform"),
    Case(CLUSTERED, 20, 1.0, 0.6, 1_000),
    Case(GOOD, 3, 0.5, 0.65, 300, "rademacher"),
    Case(TIED, 5, 1.0, 0.65, 10_000),
    Case(GOOD, 100, 0.5, 0.65, 3_000),
    Case(GOOD, 2, 0.3, 0.75, 10_000),
    Case(GOOD, 5, 0.5, 0.75, 10_000),
    Case(GOOD, 5, 0.1, 0.75, 10_000),
    Case(GOOD, 10, 0.5, 0.75, 100),
    Case(LINEAR, 10, 0.1, 0.75, 3_000, "rademacher"),
    Case(CLUSTERED, 30, 0.5, 0.75, 3_000),
    Case(GOOD, 200, 0.5, 0.75, 1_000, "uniform"),
    Case(GOOD, 5, 0.25, 0.75, 100_000),
    Case(TIED, 10, 0.5, 0.8, 3_000),
    Case(GOOD, 3, 1.0, 0.85, 100),
    Case(GOOD, 10, 0.15, 0.85, 3_000),
    Case(CLUSTERED, 50, 0.3, 0.85, 3_000, "uniform"),
    Case(GOOD, 5, 0.5, 0.9, 1_000),
    Case(GOOD, 30, 0.15, 0.9, 10_000),
    Case(LINEAR, 20, 0.05, 0.9, 1_000, "rademacher"),
    Case(GOOD, 2, 0.1, 0.95, 10_000),
    Case(GOOD, 100, 0.3, 0.95, 1_000),
    Case(GOOD, 5, 0.3, 1.0, 1_000),
    Case(TIED, 30, 0.5, 1.0, 3_000, "uniform"),
)

FRESH_CASES = 44
# K·T is held to this, so that a fresh suite takes about as long as the fixed one.
LARGEST_CASE = 500_000


def fresh_suite(seed: int, count: int = FRESH_CASES) -> tuple[Case, ...]:
    """A suite drawn at random, which no constant of any policy was chosen on.

    b is uniform on [0, 1], or in one case of four one of 0, ¼, ½, 0.6, ¾, 0.9, 1; K from 2 to 200, T from 100 to
    100,000 and the gap from 0.1 to 1 are uniform on a logarithmic scale (K·T at most 500,000; the gaps of `linear`
    are 3/K of that), shape and noise any of the four and of the three. Many of them are too short for their gap, as
    in life: no policy can do much better than another there.

    >>> fresh_suite(1, 1) == fresh_suite(1, 2)[:1]
    True
    """
    rng = np.random.default_rng(seed)
    found: dict[str, Case] = {}
    while len(found) < count:
        b = float(rng.choice([0.0, 0.25, 0.5, 0.6, 0.75, 0.9, 1.0]) if rng.random() < 0.25 else rng.uniform(0.0, 1.0))
        arms, horizon = (
            round(math.exp(rng.uniform(math.log(a), math.log(z)))) for a, z in ((2, 200), (100, 100_000))
        )
        family = (GOOD, LINEAR, CLUSTERED, TIED)[rng.integers(4)]
        noise = ("gaussian", "rademacher", "uniform")[rng.integers(3)]
        gap = math.exp(rng.uniform(math.log(0.1), 0.0)) * (3.0 / arms if family == LINEAR else 1.0)
        if arms * horizon <= LARGEST_CASE:
            case = Case(family, arms, float(f"{gap:.2g}"), round(b, 2), horizon, noise)
            found.setdefault(case.label, case)
    return tuple(found.values())
