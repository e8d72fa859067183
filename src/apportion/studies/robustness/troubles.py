"""The worlds and the troubles: what the policy is told wrongly, what the world does, and which remedy is on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from apportion.model.sums import Floats

POLICIES = ("Recommended", "Odds", "Thompson", "AdaptiveElimination")
# The scale of 1 that has a proof hardly separates any arms within this horizon.
PARAMETERS = {"AdaptiveElimination": {"scale": 0.5}}

# Both forget at the same rate: the mean age of what counts is about 200 periods in either. Chosen on runs of the seed
# below, out of three pairs (70 and 200, 140 and 400, 210 and 600), as were the number of robust groups and the trim.
HALF_LIFE = 140.0
WINDOW = 400
CHOSEN_ON = 1

DELAY = 10
WALK = 0.015
SLIP_CHANCE, SLIP_SIZE = 0.01, 30.0


class World(NamedTuple):
    """A steady world to start from: one good arm, noise of 1."""

    name: str
    b: float
    arms: int = 5
    gap: float = 0.5

    @property
    def means(self) -> tuple[float, ...]:
        """0.5 + gap, then 0.5."""
        return (0.5 + self.gap, *([0.5] * (self.arms - 1)))


WORLDS = (World("divide", 0.75), World("pool", 0.4))


class Trouble(NamedTuple):
    """One thing that is not as assumed, and the remedy that is tried, if any.

    `means`: steady, drift, jump; `late`: two arms, one the best, arrive after a third of the time;
    `noise`: gaussian, student (3 degrees of freedom, variance 1), slips (1 outcome in 100 is off by ±30σ·A^b).
    """

    key: str
    group: str
    label: str
    sigma_factor: float = 1.0
    b_shift: float = 0.0
    noise: str = "gaussian"
    means: str = "steady"
    delay: int = 0
    late: bool = False
    remedy: str = "none"

    @property
    def options(self) -> dict[str, Any]:
        """What the Allocator is given for the remedy."""
        found: dict[str, dict[str, Any]] = {
            "none": {},
            "robust": {"robust": True},
            "half-life": {"half_life": HALF_LIFE},
            "window": {"window": WINDOW},
        }
        return found[self.remedy]


TROUBLES = (
    Trouble("clean", "clean", "nothing is wrong"),
    Trouble("sigma-half", "σ wrong", "told half of σ", sigma_factor=0.5),
    Trouble("sigma-double", "σ wrong", "told twice σ", sigma_factor=2.0),
    Trouble("b-low", "b wrong", "told b − 0.15", b_shift=-0.15),
    Trouble("b-high", "b wrong", "told b + 0.15", b_shift=0.15),
    Trouble("student", "heavy tails", "Student-t, 3 degrees", noise="student"),
    Trouble("student-robust", "heavy tails", "Student-t, robust", noise="student", remedy="robust"),
    Trouble("slips", "heavy tails", "1 in 100 off by 30σ", noise="slips"),
    Trouble("slips-robust", "heavy tails", "1 in 100 off by 30σ, robust", noise="slips", remedy="robust"),
    Trouble("robust", "heavy tails", "nothing is wrong, robust", remedy="robust"),
    Trouble("drift", "means move", "drift", means="drift"),
    Trouble("drift-half-life", "means move", "drift, half-life", means="drift", remedy="half-life"),
    Trouble("drift-window", "means move", "drift, window", means="drift", remedy="window"),
    Trouble("jump", "means move", "jumps", means="jump"),
    Trouble("jump-half-life", "means move", "jumps, half-life", means="jump", remedy="half-life"),
    Trouble("jump-window", "means move", "jumps, window", means="jump", remedy="window"),
    Trouble("half-life", "means move", "nothing is wrong, half-life", remedy="half-life"),
    Trouble("window", "means move", "nothing is wrong, window", remedy="window"),
    Trouble("delay", "delay", "outcomes 10 periods late", delay=DELAY),
    Trouble("late", "late arms", "two arms come at T/3", late=True),
)
BY_KEY = {trouble.key: trouble for trouble in TROUBLES}


def means_over_time(world: World, trouble: Trouble, horizon: int, rng: np.random.Generator) -> Floats:
    """The mean of every arm in every period, (T, K).

    Drift: a random walk of each mean with steps of 0.015, reflected into [0, 1.5]. Jump: after each quarter of the
    time the means move on by one place, so another arm is the good one.
    """
    means = np.tile(np.array(world.means), (horizon, 1))
    if trouble.late:  # the late ones are the last, one of them the best; until then an arm with half the gap leads
        means[:] = world.means[::-1]
        means[:, 0] += world.gap / 2.0
    if trouble.means == "drift":
        steps = WALK * rng.standard_normal((horizon, world.arms))
        walk = (means[0] + np.cumsum(steps, axis=0)) % 3.0
        return np.asarray(np.where(walk > 1.5, 3.0 - walk, walk))
    if trouble.means == "jump":
        quarter = np.minimum(4 * np.arange(horizon) // horizon, 3)
        places = (np.arange(world.arms)[np.newaxis] - quarter[:, np.newaxis]) % world.arms
        return np.asarray(np.take_along_axis(means, places, axis=1))
    return means


def noise_over_time(trouble: Trouble, horizon: int, arms: int, rng: np.random.Generator) -> Floats:
    """ξ of every period and arm: the same draws for every policy and remedy."""
    if trouble.noise == "student":
        return np.asarray(rng.standard_t(3.0, (horizon, arms)) / np.sqrt(3.0))
    noise = rng.standard_normal((horizon, arms))
    if trouble.noise == "slips":
        slipped = rng.random((horizon, arms)) < SLIP_CHANCE
        noise = np.where(slipped, SLIP_SIZE * np.sign(noise), noise)
    return noise
