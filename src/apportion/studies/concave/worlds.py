"""Worlds that real data resemble: concave returns of four shapes, a noise level per arm, means at rest or moving.

All of them are made by one `Recipe`, so a random world is of the same kind as a named one.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from apportion.model.curves import Capped, Logarithmic, Saturating
from apportion.model.law import Instance
from apportion.model.moving import Moving
from apportion.model.world import Course, World

POWER, SATURATING, LOGARITHMIC, CAPPED = "power", "saturating", "logarithmic", "capped"
STEADY: Final = "steady"

WEEKDAYS: Final = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
MOTIONS: Final[dict[str, dict[str, Any]]] = {
    STEADY: {},
    "weekday": {"pattern": WEEKDAYS},
    "season": {"season": 0.5, "season_length": 200.0},
    "random": {"spread": 0.3},
    "drift": {"step": 0.03},
    "jumps": {"jump_every": 150},
    "season + drift": {"season": 0.5, "season_length": 200.0, "step": 0.03},
}
"""How means move: what `Moving` is given. The second to the fourth are factors common to all arms."""

# The scales or caps of a world reach from half to twice their middle.
_SCALE_SPREAD = 4.0


class Case(NamedTuple):
    """A world with a name that tells it from the others.

    `quarter` is how many periods a quarter of a year has, where that is known; what plans by the quarter is told it.
    """

    name: str
    world: World
    quarter: int | None = None

    @property
    def steady(self) -> bool:
        """Whether its means are at rest."""
        return not self.world.moves

    @property
    def periods(self) -> int | None:
        """How many periods the history had whose means the world follows; None where it follows none."""
        path = self.world.path if isinstance(self.world, Moving) else None
        return len(path) if path is not None and len(path) > 1 else None


class Recipe(NamedTuple):
    """What a concave world is made from; the budget of a period is 1, an even share 1/K.

    - `bend`: c of a power law; of the other shapes the middle of the scales or caps, in even shares.
    - `contrast`: the largest mean over the smallest; between them the means are spaced evenly in their logarithm.
    - `noise`: the standard deviation of what an even share returns over its mean, the geometric mean over arms. That
      is what makes learning realistic: one period of an even split knows each arm to `noise` times its return.
    - `spread`: the largest σ_i over the smallest.
    - `motion`: one of `MOTIONS`.
    """

    shape: str
    bend: float
    arms: int
    contrast: float
    b: float
    noise: float
    spread: float = 1.0
    motion: str = STEADY

    @property
    def name(self) -> str:
        """All of it in a line."""
        bend = f"c={self.bend:g}" if self.shape == POWER else f"bend {self.bend:g}"
        spread = "" if self.spread == 1.0 else f", σ × {self.spread:g}"
        means = f"means × {self.contrast:g}"
        return (
            f"{self.shape} {bend}, K={self.arms}, {means}, b={self.b:g}, noise {self.noise:g}{spread}, {self.motion}"
        )

    def world(self, seed: int) -> World:
        """The world; the seed says which arm has which mean, σ and scale."""
        rng, even = np.random.default_rng(seed), 1.0 / self.arms
        steps = np.linspace(0.0, 1.0, self.arms)
        means, levels, scales = (
            top ** (rng.permutation(steps) - shift)
            for top, shift in ((self.contrast, 1.0), (self.spread, 0.5), (_SCALE_SPREAD, 0.5))
        )
        base: World
        if self.shape == POWER:
            base = Instance(tuple(means), self.b, c=self.bend)
        else:
            kinds: dict[str, Any] = {SATURATING: Saturating, LOGARITHMIC: Logarithmic, CAPPED: Capped}
            base = kinds[self.shape](means, self.bend * even * scales, self.b)
        course = Course(base, rng)
        returns = [course.play(row[np.newaxis]).expected[0] for row in even * np.eye(self.arms)]
        sigma = levels * self.noise * math.exp(np.log(returns).mean()) / even**self.b
        base = type(base)(**{**base.parameters, "sigma": sigma})
        return base if self.motion == STEADY else Moving(base, **MOTIONS[self.motion])


_NAMED = (
    # Power laws, from nearly even to nearly all on one arm.
    Recipe(POWER, 0.4, 5, 3.0, 0.3, 0.5, 6.0),
    Recipe(POWER, 0.5, 5, 2.5, 0.5, 0.5),
    Recipe(POWER, 0.5, 10, 5.0, 0.5, 1.0, 20.0),
    Recipe(POWER, 0.6, 20, 4.0, 0.75, 1.0, 8.0),
    Recipe(POWER, 0.7, 3, 2.0, 0.2, 0.3, 3.0),
    Recipe(POWER, 0.7, 5, 2.5, 0.3, 0.5, 8.0),
    Recipe(POWER, 0.7, 10, 5.0, 0.75, 1.0, 20.0),
    Recipe(POWER, 0.8, 5, 1.2, 0.5, 0.5, 4.0),
    Recipe(POWER, 0.85, 10, 3.0, 0.5, 0.5, 8.0),
    Recipe(POWER, 0.9, 20, 3.0, 0.4, 0.5, 10.0),
    Recipe(POWER, 0.9, 5, 4.0, 0.9, 2.0, 20.0),
    Recipe(POWER, 1.0, 5, 2.5, 0.5, 0.5, 8.0),
    Recipe(POWER, 1.0, 10, 3.0, 0.75, 1.0),
    Recipe(POWER, 1.0, 20, 2.0, 0.3, 0.3, 20.0),
    # Other shapes.
    Recipe(SATURATING, 1.0, 5, 2.5, 0.5, 0.5, 8.0),
    Recipe(SATURATING, 4.0, 10, 4.0, 0.75, 1.0, 8.0),
    Recipe(SATURATING, 0.5, 3, 3.0, 0.3, 0.3),
    Recipe(SATURATING, 2.0, 20, 3.0, 0.5, 0.5, 20.0),
    Recipe(LOGARITHMIC, 1.0, 5, 2.5, 0.5, 0.5, 8.0),
    Recipe(LOGARITHMIC, 3.0, 10, 4.0, 0.3, 0.5, 4.0),
    Recipe(LOGARITHMIC, 0.5, 20, 3.0, 0.9, 1.0, 20.0),
    Recipe(CAPPED, 2.0, 5, 3.0, 0.5, 0.5, 4.0),
    Recipe(CAPPED, 1.5, 10, 4.0, 0.75, 1.0, 8.0),
    Recipe(CAPPED, 4.0, 20, 3.0, 0.3, 0.5, 8.0),
    # Means that move.
    Recipe(POWER, 1.0, 5, 2.5, 0.5, 0.5, 4.0, "drift"),
    Recipe(POWER, 0.7, 5, 2.5, 0.5, 0.5, 4.0, "drift"),
    Recipe(SATURATING, 2.0, 10, 3.0, 0.75, 1.0, 8.0, "drift"),
    Recipe(POWER, 1.0, 5, 2.5, 0.75, 0.5, 4.0, "jumps"),
    Recipe(POWER, 0.75, 10, 4.0, 0.5, 0.5, 8.0, "jumps"),
    Recipe(LOGARITHMIC, 2.0, 5, 3.0, 0.5, 0.5, 4.0, "jumps"),
    Recipe(POWER, 0.7, 5, 2.5, 0.3, 0.5, 8.0, "weekday"),
    Recipe(CAPPED, 2.0, 10, 3.0, 0.5, 0.5, 8.0, "weekday"),
    Recipe(POWER, 1.0, 5, 2.5, 0.5, 0.5, 4.0, "season"),
    Recipe(SATURATING, 1.0, 5, 3.0, 0.5, 0.5, 4.0, "season"),
    Recipe(POWER, 0.6, 20, 4.0, 0.75, 1.0, 8.0, "random"),
    Recipe(POWER, 0.75, 5, 2.5, 0.5, 0.5, 4.0, "season + drift"),
)

NAMED: Final = tuple(Case(recipe.name, recipe.world(seed)) for seed, recipe in enumerate(_NAMED))
"""The named worlds."""

DRAWN: Final = 40
"""How many worlds are drawn unless it is said."""


def drawn_recipe(rng: np.random.Generator) -> Recipe:
    """A recipe at random: half of the worlds are power laws, two of three at rest.

    c is uniform on [0.4, 1], or 1 in one power law of five; K from 3 to 20, the contrast from 1.1 to 6, the spread of
    σ from 1 to 20, the noise from 0.2 to 2 and the bend of the other shapes (caps: from 1.2 to 5) uniform on a
    logarithmic scale; b uniform on [0.2, 0.9].
    """
    shape = (POWER, SATURATING, LOGARITHMIC, CAPPED)[rng.choice(4, p=(0.5, 1 / 6, 1 / 6, 1 / 6))]
    if shape == POWER:
        bend = 1.0 if rng.random() < 0.2 else rng.uniform(0.4, 1.0)
    else:
        bend = _between(rng, 1.2 if shape == CAPPED else 0.3, 5.0)
    arms = round(_between(rng, 2.5, 20.49))
    numbers = _between(rng, 1.1, 6.0), rng.uniform(0.2, 0.9), _between(rng, 0.2, 2.0), _between(rng, 1.0, 20.0)
    contrast, b, noise, spread = (float(f"{number:.2g}") for number in numbers)
    moving = [motion for motion in MOTIONS if motion != STEADY]
    motion = STEADY if rng.random() < 2 / 3 else moving[rng.integers(len(moving))]
    return Recipe(shape, float(f"{bend:.2g}"), arms, contrast, b, noise, spread, motion)


def drawn_cases(seed: int, count: int = DRAWN) -> tuple[Case, ...]:
    """Worlds drawn at random, which no constant of any policy was chosen on.

    >>> drawn_cases(1, 1) == drawn_cases(1, 2)[:1]
    True
    """
    found = []
    for number in range(count):
        recipe = drawn_recipe(np.random.default_rng([seed, number]))
        found.append(Case(f"{number + 1}: {recipe.name}", recipe.world(seed)))
    return tuple(found)


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """Uniform on a logarithmic scale."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))
