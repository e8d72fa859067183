"""How much is run: horizons, arms, replications. `FULL` is the report, `QUICK` a look at it."""

from __future__ import annotations

from typing import NamedTuple


class Effort(NamedTuple):
    """The sizes of a run; it is part of the key of every finished section.

    `work` is the number of arm-periods to spend on one mean, with at least `fewest` and at most `most` runs. Where a
    policy can leap over periods, its horizons are `long_horizons` and its runs `leaps`. `spacing` is the ratio of one
    gap to the one before where the worst case over gaps is taken. `powers` are the b of the phase transition.
    """

    name: str
    horizons: tuple[int, ...]
    long_horizons: tuple[int, ...]
    arms: tuple[int, ...]
    arms_horizon: int
    spacing: float
    work: int
    fewest: int
    most: int
    leaps: int
    transition_arms: tuple[int, ...]
    transition_horizon: int
    powers: tuple[float, ...]
    draws: int
    seasons: int
    surface: int

    def times(self, factor: int) -> Effort:
        """The same with more runs of each kind, where runs are cheap or differences small."""
        return self._replace(work=factor * self.work, fewest=factor * self.fewest, leaps=factor * self.leaps)


FULL = Effort(
    name="full",
    horizons=(1_000, 3_000, 10_000, 30_000, 100_000),
    long_horizons=(10**4, 10**6, 10**8, 10**10, 10**12),
    arms=(5, 10, 20, 40, 80),
    arms_horizon=10_000,
    spacing=1.5,
    work=5_000_000,
    fewest=40,
    most=2_000,
    leaps=200,
    transition_arms=(2, 10, 100),
    transition_horizon=10_000,
    powers=tuple(round(0.05 * n, 2) for n in range(21)),
    draws=40_000,
    seasons=100,
    surface=80,
)

QUICK = Effort(
    name="quick",
    horizons=(300, 1_000, 3_000, 10_000),
    long_horizons=(10**3, 10**5, 10**7, 10**9),
    arms=(6, 18, 54),
    arms_horizon=5_000,
    spacing=2.0,
    work=200_000,
    fewest=20,
    most=400,
    leaps=60,
    transition_arms=(2, 10, 100),
    transition_horizon=3_000,
    powers=tuple(round(0.1 * n, 1) for n in range(11)),
    draws=10_000,
    seasons=20,
    surface=40,
)
