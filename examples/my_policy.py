"""A policy of one's own, in about ten lines; `my_policy.toml` beside it runs it against others.

apportion simulate examples/my_policy.toml
"""

from apportion import Policy


class Leading(Policy):
    """An even share of `explore` for all arms, and the rest for the arm that has paid the most per unit so far."""

    explore: float = 0.1

    def allocate(self, period, sums, memory, rng, shares):
        """Runs as plain Python in live use, and compiled in simulations."""
        leader = 0
        for arm in range(len(shares)):
            if sums.reward[arm] * sums.resource[leader] > sums.reward[leader] * sums.resource[arm]:
                leader = arm
        explore = self.explore if period.number > 1 else 1.0
        for arm in range(len(shares)):
            shares[arm] = explore / len(shares)
        shares[leader] += 1.0 - explore
