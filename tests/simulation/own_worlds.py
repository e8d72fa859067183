"""Worlds and noise as users write them, in a file of their own; some are wrong."""

import math
from typing import NamedTuple

import numpy as np

from apportion import Noise, ResponseWorld, World
from apportion.model.noise import draw_noise


class Cosine(Noise, NamedTuple("Cosine", [("size", float)])):
    """Between −size·√2 and size·√2."""

    proxy = 1.0

    def draw(self, amount, rng):
        return self.size * math.sqrt(2.0) * math.cos(2.0 * math.pi * rng.random())


class Capped(World):
    """Each arm returns its rate per unit, up to a cap; noise of one size."""

    rates: tuple[float, ...]
    cap: float = 0.5
    noise: Noise = "gaussian"

    def outcome(self, number, arm, amount, state, rng):
        expected = self.rates[arm] * min(amount, self.cap)
        return expected, expected + 0.1 * draw_noise(self.noise, amount, rng)

    def best_value(self, number, budget, state):
        left, value = budget, 0.0
        for rate in -np.sort(-self.rates):
            value += max(rate, 0.0) * min(left, self.cap)
            left -= min(left, self.cap)
        return value


class Threshold(World):
    """Nothing comes back below a threshold, which rises by `step` each period."""

    rates: tuple[float, ...]
    start: float = 0.1
    step: float = 0.01

    def initial_state(self):
        return np.array([self.start])

    def advance(self, number, state, rng):
        state[0] += self.step

    def outcome(self, number, arm, amount, state, rng):
        expected = self.rates[arm] if amount >= state[0] else 0.0
        return expected, expected + 0.5 * rng.standard_normal()

    def best_value(self, number, budget, state):
        count, value = int(budget / state[0] + 1e-9), 0.0
        for rate in -np.sort(-self.rates):
            if count > 0 and rate > 0.0:
                value += rate
                count -= 1
        return value


class TooLow(Capped):
    """Its best value forgets the cap of all arms but one."""

    def best_value(self, number, budget, state):
        return self.rates.max() * min(budget, self.cap)


class OneNumber(Capped):
    """Its outcome is no pair."""

    def outcome(self, number, arm, amount, state, rng):
        return self.rates[arm] * amount


class NotANumber(Capped):
    """Something is NaN."""

    def outcome(self, number, arm, amount, state, rng):
        return math.nan, 1.0


class Biased(Capped):
    """What comes back is not what is expected."""

    def outcome(self, number, arm, amount, state, rng):
        expected = self.rates[arm] * min(amount, self.cap)
        return expected, expected + 0.1 * (rng.standard_normal() + 0.5)


class WrongIndex(Capped):
    """Reads beyond its arms."""

    def outcome(self, number, arm, amount, state, rng):
        return self.rates[arm + 1], 1.0


class Strict(Capped):
    """Never to be asked about nothing."""

    def outcome(self, number, arm, amount, state, rng):
        assert amount > 0.0
        return 0.0, rng.standard_normal()


class Greedy(World):
    """Has no best value."""

    rates: tuple[float, ...]

    def outcome(self, number, arm, amount, state, rng):
        return 1.0, 1.0


class Root(ResponseWorld):
    """A user's own response, √A, which `Moving` can move."""

    means: tuple[float, ...]
    b: float = 0.5
    sigma: float = 0.2
    noise: Noise = "gaussian"

    def respond(self, arm, mean, amount, rng):
        expected = mean * math.sqrt(amount)
        return expected, expected + self.sigma * amount**self.b * draw_noise(self.noise, amount, rng)

    def value_at(self, means, budget):
        total = 0.0
        for mean in means:
            total += max(mean, 0.0) ** 2
        return math.sqrt(budget * total)
