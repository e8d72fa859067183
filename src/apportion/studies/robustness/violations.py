"""The worlds and the violations: what the policy assumes wrongly, what the world does, and which remedy is on."""

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
DRIFT_STEP, DRIFT_TOP = 0.015, 1.5
JUMP_STRETCHES = 4
STUDENT_DEGREES = 3.0
# The noise of the best arm is this many times the one that is assumed, that of the last one as many times less.
LARGEST_LEVEL = 2.0
# The correlation of two arms in one period, and of one arm in two periods that follow each other.
CORRELATION = 0.5
RETURN_EXPONENT = 0.7
SLIP_CHANCE, SLIP_SIZE = 0.01, 30.0
LOW_MEAN = 0.5


class World(NamedTuple):
    """A steady world to start from: one good arm, noise of 1."""

    name: str
    b: float
    arms: int = 5
    gap: float = 0.5

    @property
    def means(self) -> tuple[float, ...]:
        """The good arm, then the others."""
        return (LOW_MEAN + self.gap, *([LOW_MEAN] * (self.arms - 1)))


WORLDS = (World("divide", 0.75), World("pool", 0.4))


class Violation(NamedTuple):
    """One assumption that does not hold, and the remedy that is tried, if any.

    `sigma_factor` and `b_shift`: how far the policy's σ and b are from the true ones; `means`: steady, drift, jump;
    `late`: two arms, one the best, arrive after a third of the time; `noise`: gaussian, student (3 degrees of
    freedom, variance 1), slips (1 outcome in 100 is off by ±30σ·A^b), unequal (a σ for each arm, their geometric mean
    assumed), shock (arms correlated within a period), serial (periods correlated); `c`: returns grow as A^c. The keys
    are those of the data file.
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
    c: float = 1.0
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


NONE = "clean"
VIOLATIONS = (
    Violation(NONE, "none", "nothing is wrong"),
    Violation("sigma-half", "σ wrong", "half of σ assumed", sigma_factor=0.5),
    Violation("sigma-double", "σ wrong", "twice σ assumed", sigma_factor=2.0),
    Violation("b-low", "b wrong", "b − 0.15 assumed", b_shift=-0.15),
    Violation("b-high", "b wrong", "b + 0.15 assumed", b_shift=0.15),
    Violation("student", "heavy tails", "Student-t, 3 degrees", noise="student"),
    Violation("student-robust", "heavy tails", "Student-t, robust", noise="student", remedy="robust"),
    Violation("slips", "heavy tails", "1 in 100 off by 30σ", noise="slips"),
    Violation("slips-robust", "heavy tails", "1 in 100 off by 30σ, robust", noise="slips", remedy="robust"),
    Violation("robust", "heavy tails", "nothing is wrong, robust", remedy="robust"),
    Violation("unequal", "noise", "σ per arm, 2 to 1/2, one assumed", noise="unequal"),
    Violation("shock", "noise", "arms correlated by 0.5", noise="shock"),
    Violation("serial", "noise", "periods correlated by 0.5", noise="serial"),
    Violation("bent", "returns", "returns as A^0.7", c=RETURN_EXPONENT),
    Violation("drift", "means move", "drift", means="drift"),
    Violation("drift-half-life", "means move", "drift, half-life", means="drift", remedy="half-life"),
    Violation("drift-window", "means move", "drift, window", means="drift", remedy="window"),
    Violation("jump", "means move", "jumps", means="jump"),
    Violation("jump-half-life", "means move", "jumps, half-life", means="jump", remedy="half-life"),
    Violation("jump-window", "means move", "jumps, window", means="jump", remedy="window"),
    Violation("half-life", "means move", "nothing is wrong, half-life", remedy="half-life"),
    Violation("window", "means move", "nothing is wrong, window", remedy="window"),
    Violation("delay", "delay", "outcomes 10 periods late", delay=DELAY),
    Violation("late", "late arms", "two arms arrive at T/3", late=True),
)
BY_KEY = {violation.key: violation for violation in VIOLATIONS}


def means_over_time(world: World, violation: Violation, horizon: int, rng: np.random.Generator) -> Floats:
    """The mean of every arm in every period, (T, K).

    Drift: a random walk of each mean with steps of 0.015, reflected into [0, 1.5]. Jump: after each quarter of the
    time the means move on by one arm, so another arm is the good one.
    """
    means = np.tile(np.array(world.means), (horizon, 1))
    if violation.late:  # the late ones are the last, one of them the best; until then an arm with half the gap leads
        means[:] = world.means[::-1]
        means[:, 0] += world.gap / 2.0
    if violation.means == "drift":
        steps = DRIFT_STEP * rng.standard_normal((horizon, world.arms))
        walk = (means[0] + np.cumsum(steps, axis=0)) % (2.0 * DRIFT_TOP)
        return np.asarray(np.where(walk > DRIFT_TOP, 2.0 * DRIFT_TOP - walk, walk))
    if violation.means == "jump":
        stretch = np.minimum(JUMP_STRETCHES * np.arange(horizon) // horizon, JUMP_STRETCHES - 1)
        indices = (np.arange(world.arms)[np.newaxis] - stretch[:, np.newaxis]) % world.arms
        return np.asarray(np.take_along_axis(means, indices, axis=1))
    return means


def noise_over_time(violation: Violation, horizon: int, arms: int, rng: np.random.Generator) -> Floats:
    """ξ of every period and arm: the same draws for every policy and remedy."""
    if violation.noise == "student":
        deviation = np.sqrt(STUDENT_DEGREES / (STUDENT_DEGREES - 2.0))
        return np.asarray(rng.standard_t(STUDENT_DEGREES, (horizon, arms)) / deviation)
    noise = rng.standard_normal((horizon, arms))
    if violation.noise == "slips":
        slipped = rng.random((horizon, arms)) < SLIP_CHANCE
        noise = np.where(slipped, SLIP_SIZE * np.sign(noise), noise)
    elif violation.noise == "unequal":
        noise = noise * np.geomspace(LARGEST_LEVEL, 1.0 / LARGEST_LEVEL, arms)
    elif violation.noise == "shock":
        common = rng.standard_normal((horizon, 1))
        noise = np.sqrt(CORRELATION) * common + np.sqrt(1.0 - CORRELATION) * noise
    elif violation.noise == "serial":
        fresh = np.sqrt(1.0 - CORRELATION**2)
        for period in range(1, horizon):
            noise[period] = CORRELATION * noise[period - 1] + fresh * noise[period]
    return noise
