"""What a split must keep: the arms and their bounds, limits, rules, and what amounts are multiples of."""

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np

from apportion.allocation import feasible
from apportion.allocation.arms import Arms
from apportion.allocation.beliefs import Beliefs
from apportion.allocation.decision import Decision
from apportion.allocation.limits import LimitedShares, Limits
from apportion.allocation.room import Fitted, fit, raised_rest, toward_best
from apportion.allocation.rules import Rules
from apportion.allocation.spendable import spendable_amounts
from apportion.allocation.split import RulePull
from apportion.allocation.tickets import TicketStore
from apportion.model.sums import Floats


class Allowed:
    """Makes of the shares that a policy wants those that may be given, and of these amounts.

    `tickets` tell the limits what was tried; they are those of the allocator. `Infeasible` where no split keeps all
    that is asked for: nothing has changed then.
    """

    def __init__(
        self, arms: Arms, limits: Limits, rules: Rules, tickets: TicketStore, step: float | None,
        resolution: float | None,
    ) -> None:  # fmt: skip
        self.arms, self.limits, self.rules = arms, limits, rules
        self.step, self.resolution = step, resolution
        self._tickets = tickets
        self._last: tuple[Floats, Fitted] | None = None
        self.require_split()
        limits.watch_change(rules.limit_change, tickets)

    def with_arms(self, arms: Arms, rules: Rules | None = None) -> Self:
        """The same for other arms, or the same arms in another state."""
        return type(self)(
            arms, self.limits, self.rules if rules is None else rules, self._tickets, self.step, self.resolution
        )

    def set_option(self, name: str, value: Any) -> None:
        """Another step, resolution, growth or change, checked by the caller; or other rules."""
        if name == "rules":
            self._set_rules(value)
        elif name in ("growth", "change"):
            self.limits.set_option(name, value, self._tickets)
        else:
            setattr(self, name, value)

    def _set_rules(self, texts: Iterable[str]) -> None:
        rules = Rules(texts, self.arms.names)
        _require_split(self.arms, rules)
        self.rules = rules
        self.limits.watch_change(rules.limit_change, self._tickets)

    def require_split(self, budget: float | None = None) -> None:
        """`Infeasible` where no split keeps the rules: of this budget, or of any where they name no amounts."""
        _require_split(self.arms, self.rules, budget)

    def fit(self, wanted: Floats, budget: float, active: Any, believe: Callable[[], Beliefs]) -> Fitted:
        """The wanted shares of the arms at these indices, within bounds, rules and limits.

        What is taken from some arms goes to the likely best of the others, which is when beliefs are asked for.
        """
        fitted = self._fitted(wanted, budget, active)
        if raised_rest(wanted, fitted):
            fitted = self._toward_best(wanted, fitted, budget, active, believe())
        self._last = wanted, fitted
        return fitted

    def amounts(self, shares: Floats, budget: float, active: Any, rng: np.random.Generator) -> Floats:
        """The budget by shares: in steps, such as can be spent, or to the last bit."""
        names, low, high = self.arms.bounds(active)
        rules = self.rules.active(names, budget) if self.rules else None
        within: Any = {"low": low, "high": high, "rng": rng, "names": names, "rules": rules}
        if self.step is None and self.resolution is not None:
            return spendable_amounts(shares, budget, self.resolution, **within)
        return feasible.amounts(shares, budget, step=self.step or None, **within)  # a step of 0 asks for any amount

    def effects(self, decision: Decision) -> tuple[LimitedShares | None, tuple[RulePull, ...]]:
        """What held the shares of a decision, and how hard each rule pulled at its arms."""
        fitted = None
        if decision.wanted is not decision.shares:
            if self._last is not None and self._last[0] is decision.wanted:
                fitted = self._last[1]  # it was made just now
            else:
                fitted = self._fitted(decision.wanted, decision.budget, decision.indices)
        return None if fitted is None else fitted.limited, self._pulls(decision.pulls, decision.arms)

    def _fitted(self, wanted: Floats, budget: float, active: Any) -> Fitted:
        names, low, high = self.arms.bounds(active)
        self.limits.find_lost(self._tickets)
        limited = self.limits.shares(budget, active, low, high)
        rules = change = None
        if self.rules:
            rules = self.rules.active(names, budget)
            change = self.rules.on_change(names, budget, self.limits.previous(active))
        return fit(wanted, budget, names, low, high, limited, rules, change)

    def _toward_best(self, wanted: Floats, fitted: Fitted, budget: float, active: Any, beliefs: Beliefs) -> Fitted:
        """The same with what is over given to the likely best of the arms that are wanted little."""
        if beliefs.c < 1.0:
            return fitted
        names, low, high = self.arms.bounds(active)
        if fitted.limited is not None:
            low, high = fitted.limited.low, fitted.limited.high
        least, most = np.zeros(wanted.size) if low is None else low, np.ones(wanted.size) if high is None else high
        gains = -beliefs.mean if beliefs.minimise else beliefs.mean
        held = np.zeros(wanted.size, dtype=bool)
        for pull in self._pulls(fitted.pulls, names):
            held |= pull.effect < 0.0
        shares = toward_best(wanted, fitted.shares, least, most, gains, beliefs.spread, held)
        if self.rules:
            shares = self._fitted(shares, budget, active).shares
        return fitted._replace(shares=shares)

    def _pulls(self, pulls: Iterable[tuple[str, float]], arms: tuple[str, ...]) -> tuple[RulePull, ...]:
        known = ((self.rules.by_text(text), pull) for text, pull in pulls)
        return tuple(RulePull.of(rule, pull, arms) for rule, pull in known if rule is not None)


def _require_split(arms: Arms, rules: Rules, budget: float | None = None) -> None:
    """`Infeasible` where no split of the arms that take part keeps the rules."""
    if rules and (arms.active is None or len(arms.active)):
        rules.require_split(*arms.bounds(arms.active), budget)
