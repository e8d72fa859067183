"""Two yardsticks: even shares for ever, which learn nothing, and everything on the arm that is known to be best."""

from typing import Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion.model.sums import Floats, InformationSums
from apportion.policies.contract import Policy
from apportion.policies.parameters import NumberPerArm, parameter


class Uniform(Policy):
    """Every arm gets 1/K in every period.

    Regret: exactly T·Δ̄, Δ̄ the average gap. Information about each arm grows by K^(2b−2) a period, so for
    b > 1/2 this is the fastest way to learn all arms alike, and for b < 1/2 the slowest.

    >>> Uniform()
    Uniform()
    """

    rule = "splits evenly, whatever comes back"
    reads = InformationSums

    def allocate(self, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """1/K each."""
        arms = len(shares)
        for arm in range(arms):
            shares[arm] = 1.0 / arms


class Oracle(Policy):
    """All on the arm with the largest of the given `means`, ties shared evenly. Regret 0 if they are true.

    >>> Oracle(means=(0.2, 0.9))
    Oracle(means=(0.2, 0.9))
    """

    means: tuple[float, ...] = parameter(NumberPerArm())

    rule = "puts everything on the arm that is known to be the best"
    reads = InformationSums

    def initial_memory(self, arms: int) -> Floats:
        """The means themselves: they belong to the arms, and travel with them."""
        if arms != len(self.means):
            raise validation.refuse("means", f"one number per arm ({arms})", self.means)
        return np.array(self.means)

    class Record(NamedTuple):
        """The means live in the memory."""

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Nothing to prepare."""
        return self.Record()

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """All on the largest mean."""
        best = memory[0]
        for arm in range(len(shares)):
            best = max(best, memory[arm])
        winners = 0
        for arm in range(len(shares)):
            winners += memory[arm] == best
        for arm in range(len(shares)):
            shares[arm] = 1.0 / winners if memory[arm] == best else 0.0
