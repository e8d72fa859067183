"""The policy of an allocator at work: what it remembers, the random numbers it draws, and what it decides."""

from collections.abc import Callable
from typing import Any

import numpy as np

from apportion.allocation.allowed import Allowed
from apportion.allocation.beliefs import Beliefs
from apportion.allocation.decision import Decision
from apportion.allocation.outcomes import budget_amount
from apportion.inference.learner import Learning
from apportion.model.sums import Floats
from apportion.policies import Policy
from apportion.policies.contract import Period, decide_now


class PolicyAtWork:
    """A policy with its memory of so many arms, its generator, and the first budget, which is its unit of money."""

    def __init__(self, policy: Policy, arms: int, horizon: int | None, seed: int) -> None:
        self.policy, self.horizon = policy, horizon
        self.generator = np.random.Generator(np.random.PCG64(seed))
        self.memory = policy.initial_memory(arms)
        self.unit: float | None = None
        self._records: dict[bool, Any] = {}

    @property
    def learns(self) -> bool:
        """Whether the policy learns the law from the outcomes."""
        return isinstance(self.policy.reads, Learning)

    def decide(
        self, budget: float, period: int, past: Any, allowed: Allowed, believe: Callable[..., Beliefs]
    ) -> Decision:
        """The split of this period, from the sums of all arms; nothing is changed until `take_in`.

        `believe` gives the beliefs about the arms of these names at these indices, where they are needed.
        """
        amount = budget_amount(budget)
        active = allowed.arms.active
        names, _, _ = allowed.arms.bounds(active)
        known = past if active is None else past.take(active)
        memory = self.memory.copy() if active is None else self.memory[active]
        before = self.generator.bit_generator.state
        try:
            now = Period(period, self.horizon or 0, amount if self.unit is None else self.unit)
            if active is not None and self.learns:  # the law is learned from the other arms too: they come last
                others = np.setdiff1d(np.arange(len(past.count)), active)
                known = past.take(np.concatenate([active, others]))
            wanted = decide_now(self.prepared(active), now, known, memory, self.generator)
            fitted = allowed.fit(wanted, amount, active, lambda: believe(names, past, active))
            given = allowed.amounts(fitted.shares, amount, active, self.generator)
            after = self.generator.bit_generator.state
            drawn = None if after == before else dict(after)
        finally:
            self.generator.bit_generator.state = before
        memory = memory if active is None else placed(memory, active, self.memory)
        changed = memory.tobytes() != self.memory.tobytes()
        return Decision(
            period, amount, names, active, wanted, fitted.shares, given, memory, changed, drawn, fitted.pulls
        )

    def take_in(self, decision: Decision) -> None:
        """Go on from a decision, whatever the policy would say today."""
        if self.unit is None:
            self.unit = decision.budget
        # Never changed in place: an earlier split explains itself from the memory of its own time.
        self.memory = decision.memory
        if decision.generator is not None:
            self.generator.bit_generator.state = decision.generator

    def prepared(self, active: Any) -> Any:
        """The policy prepared for the arms at these indices; None: for all. Refused where it cannot run so."""
        whole = active is None
        if whole not in self._records:
            policy = self.policy if whole else self.policy.restricted(active.tolist())
            self._records[whole] = policy.prepared(len(self.memory) if whole else len(active), self.horizon)
        return self._records[whole]

    def prepare_anew(self) -> None:
        """Before the next decision: other arms take part, or the horizon is another one."""
        self._records = {}

    def add_arm(self, policy: Policy) -> None:
        """Remember one arm more, as the policy for so many begins; a policy made for fewer refuses."""
        self.memory = np.concatenate([self.memory, policy.initial_memory(len(self.memory) + 1)[-1:]])

    def replace(self, policy: Policy) -> None:
        """Another policy, which remembers nothing yet; refused, before anything has changed, where it cannot run."""
        memory = policy.initial_memory(len(self.memory))
        records = {True: policy.prepared(len(memory), self.horizon)}
        self.policy, self.memory, self._records = policy, memory, records


def placed(values: Floats, indices: Any, where: Floats) -> Floats:
    """A copy of `where` with `values` at some indices."""
    filled = where.copy()
    filled[indices] = values
    return filled
