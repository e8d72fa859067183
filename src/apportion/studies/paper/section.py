"""What a section of the report is: it measures plain data at the sizes of a run, and shows what is in that data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from apportion.studies.page import Block


class Sizes(NamedTuple):
    """How much is run; it is part of the key of every finished section. `FULL` is the report, `QUICK` a look at it.

    `arm_periods` is how many to spend on one mean, with at least `min_runs` and at most `max_runs` runs. Where a
    policy can leap over periods, its horizons are `long_horizons` and its runs `leaping_runs`. `gap_ratio` is the
    ratio of one gap to the one before where the worst case over gaps is taken. `b_values` are those of the phase
    transition, `draws` and `seasons` how many are averaged, `surface_steps` the grid of Lemma 2.
    """

    name: str
    horizons: tuple[int, ...]
    long_horizons: tuple[int, ...]
    arms: tuple[int, ...]
    arms_horizon: int
    gap_ratio: float
    arm_periods: int
    min_runs: int
    max_runs: int
    leaping_runs: int
    transition_arms: tuple[int, ...]
    transition_horizon: int
    b_values: tuple[float, ...]
    draws: int
    seasons: int
    surface_steps: int

    def times(self, factor: float) -> Sizes:
        """The same with more runs of each kind, where runs are cheap or differences small; or with fewer."""
        names = ("arm_periods", "min_runs", "leaping_runs")
        return self._replace(**{name: max(2, round(factor * getattr(self, name))) for name in names})


FULL = Sizes(
    name="full", horizons=(1_000, 3_000, 10_000, 30_000, 100_000),
    long_horizons=(10**4, 10**6, 10**8, 10**10, 10**12), arms=(5, 10, 20, 40, 80), arms_horizon=10_000,
    gap_ratio=1.5, arm_periods=5_000_000, min_runs=40, max_runs=2_000, leaping_runs=200,
    transition_arms=(2, 10, 100), transition_horizon=10_000,
    b_values=tuple(round(0.05 * n, 2) for n in range(21)), draws=40_000, seasons=100, surface_steps=80,
)  # fmt: skip

QUICK = Sizes(
    name="quick", horizons=(300, 1_000, 3_000, 10_000), long_horizons=(10**3, 10**5, 10**7, 10**9),
    arms=(6, 18, 54), arms_horizon=5_000, gap_ratio=2.0, arm_periods=200_000, min_runs=20, max_runs=400,
    leaping_runs=60, transition_arms=(2, 10, 100), transition_horizon=3_000,
    b_values=tuple(round(0.1 * n, 1) for n in range(11)), draws=10_000, seasons=20, surface_steps=40,
)  # fmt: skip

Values = dict[str, Any]
OnStep = Callable[[str], None]


@dataclass(frozen=True)
class Section:
    """One section: `measure(sizes, seed, on_step)` makes plain data, `show(data)` the blocks of the page.

    `on_step` is called with a few words before each piece of work. `module` is the file that both are in.
    """

    name: str
    title: str
    module: str
    measure: Callable[[Sizes, int, OnStep], Values]
    show: Callable[[Values], list[Block]]
