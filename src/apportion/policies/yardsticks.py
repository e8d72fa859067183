"""Two yardsticks: even shares for ever, which learn nothing, and the best split for means that are known."""

from typing import Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion.model.response import best_shares
from apportion.model.sums import Floats, InformationSums
from apportion.policies.contract import Policy
from apportion.policies.parameters import RETURN_EXPONENT, NumberPerArm, parameter


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
    """The optimal split of the given `means`: a_i = μ_i^e/Σ μ_j^e, e = 1/(1−c). Regret 0 if they are true.

    At c = 1 all goes to the arm with the largest mean, ties shared evenly (`apportion.model.response`).

    >>> Oracle(means=(0.2, 0.9))
    Oracle(means=(0.2, 0.9))
    """

    means: tuple[float, ...] = parameter(NumberPerArm())
    c: float = parameter(RETURN_EXPONENT, default=1.0)

    rule = "splits as is best for the returns that it is given"
    reads = InformationSums

    def initial_memory(self, arms: int) -> Floats:
        """The means themselves: they belong to the arms, and travel with them."""
        if arms != len(self.means):
            raise validation.refuse("means", f"one number per arm ({arms})", self.means)
        return np.array(self.means)

    class Record(NamedTuple):
        """The means live in the memory."""

        c: float

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """Only the exponent."""
        return self.Record(self.c)

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """The optimal split."""
        best_shares(memory, self.c, shares)
