"""Policies that pool by an index: the whole unit goes to the arm with the largest mean + optimism(t)·width.

The rule is two small functions, and everything else follows from them: the decision in live use, and simulated
runs that go side by side (`apportion.simulation.engines.batched`).

>>> class Quantile(IndexPolicy):
...     '''Everything on the arm with the largest upper quantile of its posterior.'''
...     sigma: float = 1.0
...     quantile: float = 1.65
...     def grade(self, number, arms, arm, count, information, score):
...         return score / information, self.sigma / math.sqrt(information)
...     def optimism(self, number):
...         return self.quantile
>>> Quantile(quantile=2.0)
Quantile(quantile=2.0)
"""

import math
from typing import Any

from apportion._common.compiled import generic, implements, kernel
from apportion.model.sums import InformationSums
from apportion.policies.contract import Policy


@generic
def grade(  # type: ignore[empty-body]
    policy: Any, number: int, arms: int, arm: int, count: float, information: float, score: float
) -> tuple[float, float]:
    """The mean and the width of an observed arm, from its sums; `number` is the period, `arms` how many there are."""


@generic
def optimism(policy: Any, number: int) -> float:  # type: ignore[empty-body]
    """By how many widths an arm may be better than its mean, in period `number`."""


class IndexPolicy(Policy, abstract=True):
    """The base of policies that put everything on the arm with the largest mean + optimism(t)·width.

    Arms never observed go first; ties are broken by chance. A subclass declares its parameters and has `grade` and
    `optimism` in place of `allocate`; as there, `self` is the record that compiled code sees.
    """

    reads = InformationSums

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        implements(grade, cls.Record)(cls.grade)
        implements(optimism, cls.Record)(cls.optimism)

    def grade(self, number: Any, arms: Any, arm: Any, count: Any, information: Any, score: Any) -> Any:
        """The mean and the width of an observed arm; see `apportion.policies.index.grade`."""
        raise NotImplementedError(f"{type(self).__name__} has no `grade`")

    def optimism(self, number: Any) -> Any:
        """How many widths to add in period `number`; see `apportion.policies.index.optimism`."""
        raise NotImplementedError(f"{type(self).__name__} has no `optimism`")

    def lasting(self, horizon: int) -> bool:
        """Whether, in a run of so many periods, the grade of an arm changes with its own outcomes only."""
        del horizon
        return True

    def allocate(self, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """The largest index takes all."""
        arms = len(shares)
        factor = optimism(self, period.number)
        best = -math.inf
        for arm in range(arms):
            shares[arm] = math.inf
            if sums.information[arm] > 0.0:
                mean, width = grade(
                    self, period.number, arms, arm, sums.count[arm], sums.information[arm], sums.score[arm]
                )
                shares[arm] = mean + factor * width
            best = max(best, shares[arm])
        ties = 0
        for arm in range(arms):
            shares[arm] = 1.0 if shares[arm] == best else 0.0
            ties += int(shares[arm])
        if ties > 1:
            keep_one(ties, rng, shares)


@kernel
def keep_one(ties: int, rng: Any, shares: Any) -> None:
    """Of the `ties` arms with a share of 1 leave one, any of them alike, and set the others to 0."""
    skipped = int(rng.random() * ties)
    for arm in range(len(shares)):
        if shares[arm] > 0.0:
            if skipped != 0:
                shares[arm] = 0.0
            skipped -= 1
