"""The world of one run: means and noise drawn ahead, so that every policy and every remedy meets the same."""

from __future__ import annotations

from typing import Any

from apportion.model import response
from apportion.model.sums import Floats, powers_of
from apportion.model.world import World


class DrawnAhead(World):
    """Y = A^c·μ + A^b·ξ with the mean and the ξ of every period and arm given, (periods, arms).

    Until period `arrival` only the first `early_arms` arms are there, and regret is against the best of them.
    """

    means: Floats
    noise: Floats
    b: float
    early_arms: int
    arrival: int
    c: float = 1.0

    def __post_init__(self) -> None:
        """The arrays stay as they are: a tuple of all periods would take longer to make than to play."""

    @property
    def arms(self) -> int:
        """The number of arms."""
        return int(self.means.shape[1])

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """A^c·μ, and what comes back; nothing is drawn."""
        expected = amount**self.c * self.means[number - 1, arm]
        return expected, expected + powers_of(amount, self.b).deviation * self.noise[number - 1, arm]

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """All on the best arm that is there; where returns diminish, the best split over those that are."""
        present = self.means.shape[1] if number >= self.arrival else self.early_arms
        return response.best_value(self.means[number - 1, :present], self.c, budget)
