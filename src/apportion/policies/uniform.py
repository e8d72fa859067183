"""Even shares, for ever: the yardstick that learns nothing."""

from typing import Any

from apportion.model.sums import InformationSums
from apportion.policies.contract import Policy


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
