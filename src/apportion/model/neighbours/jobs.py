"""Jobs that complete with a chance in proportion to what they get, up to what makes them certain."""

from typing import Any, NamedTuple

import numpy as np

from apportion._common.compiled import kernel
from apportion.model.law import numbers_per_arm, positive_per_arm, span
from apportion.model.sums import Floats
from apportion.model.world import World


class JobsRecord(NamedTuple):
    """Jobs as compiled code sees them; `value` is that of the best split of one unit."""

    needs: Floats
    order: Any
    value: float


class Jobs(World):
    """Jobs that complete or not: arm i returns 1 with probability min(1, A/ν_i), else 0.

    ν_i (`needs`) is what makes a job certain; more is wasted. The best split fills jobs from the smallest need up,
    and its value is the number that it completes, the last one in part. Regret is in jobs.

    Literature: Lattimore, Crammer and Szepesvári (2014), *Optimal resource allocation with semi-bandit feedback*,
    regret log² T (`published.OptimisticAllocation`); Dagan and Crammer (2018), *A better resource allocation
    algorithm with semi-bandit feedback*, log T (`published.MARA`).

    >>> world = Jobs(needs=(0.4, 0.9, 0.5))
    >>> [round(share, 6) for share in world.best_split], round(world.regret([0.5, 0.0, 0.5]), 6)
    ([0.4, 0.1, 0.5], 0.111111)
    """

    needs: tuple[float, ...]

    Record = JobsRecord

    def __post_init__(self) -> None:
        given = numbers_per_arm("needs", self.needs)
        object.__setattr__(self, "needs", positive_per_arm("needs", given, len(given)))

    @property
    def best_split(self) -> tuple[float, ...]:
        """The optimal shares of one unit; what is left over is with the job of the smallest need."""
        left, shares, order = 1.0, [0.0] * self.arms, np.argsort(self.needs, kind="stable").tolist()
        for arm in order:
            shares[arm] = min(left, self.needs[arm])
            left -= shares[arm]
        shares[order[0]] += left
        return tuple(shares)

    @property
    def label(self) -> str:
        """A short name for people."""
        return f"Jobs K={self.arms} ν={span(self.needs)}"

    def record(self, b: float | None = None, c: float | None = None) -> JobsRecord:
        """The jobs in the order of their needs."""
        del b, c
        needs, order = np.array(self.needs), np.argsort(self.needs, kind="stable")
        return self.Record(needs, order, jobs_value(needs, order, 1.0))

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        """min(1, A/ν), and whether it completed."""
        chance = min(1.0, amount / self.needs[arm])
        return chance, 1.0 if rng.random() < chance else 0.0

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        """The jobs that the best split completes on average."""
        return self.value if budget == 1.0 else jobs_value(self.needs, self.order, budget)


@kernel
def jobs_value(needs: Any, order: Any, budget: float) -> float:
    """Jobs filled from the smallest need up."""
    left, value = budget, 0.0
    for arm in order:
        amount = min(left, needs[arm])
        value += amount / needs[arm]
        left -= amount
    return value
