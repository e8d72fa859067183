"""The rules of a split, all together: what they ask of the arms that take part, for one budget.

Rules that a person gave are hard, as bounds are: a split that cannot keep them is refused, with the smallest set that
contradicts itself. Rules about change give way where they must, as the limit on change does (`limits`).

An arm that is paused or removed gets nothing, and counts as that. A rule rests while all arms on one of its sides do:
"north + south >= 20%" while both are paused, "social = video" while either is.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Self

import numpy as np

from apportion._common import validation
from apportion._common.formatting import written
from apportion.allocation.conflicts import conflict
from apportion.allocation.nearest import Rows, nearest
from apportion.allocation.rule import EXAMPLE, Rule, read_rule
from apportion.errors import Conflict, Infeasible, InvalidValue, UnknownName
from apportion.model.sums import Floats

MOST_RULES: Final = 1000


class ActiveRules(NamedTuple):
    """The rules that say something for one split, as rows over the arms that take part."""

    rules: tuple[Rule, ...]
    rows: Rows

    @property
    def shown(self) -> list[str]:
        """As people read them, row by row."""
        return [rule.shown for rule in self.rules]


class Rules:
    """The rules of a campaign, read; immutable."""

    def __init__(self, texts: Any = (), arms: Sequence[str] = ()) -> None:
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise validation.refuse("rules", f"a list of texts such as {EXAMPLE!r}", texts)
        read = {rule.text: rule for rule in (read_rule(text, arms) for text in texts)}
        if len(read) > MOST_RULES:
            raise validation.refuse("rules", f"at most {MOST_RULES} rules", len(read))
        self._all = tuple(read.values())
        self._last: tuple[Any, ActiveRules | None] = (None, None)

    def __bool__(self) -> bool:
        return bool(self._all)

    @property
    def texts(self) -> tuple[str, ...]:
        """As they are kept and typed."""
        return tuple(rule.text for rule in self._all)

    @property
    def limit_change(self) -> bool:
        """Whether one of them is about change: the shares of the split before are needed."""
        return any(rule.change for rule in self._all)

    def by_text(self, text: str) -> Rule | None:
        """The rule that is kept as this text."""
        return next((rule for rule in self._all if rule.text == text), None)

    def with_arm(self, name: str, arms: Sequence[str]) -> Self:
        """The same rules where there is an arm more: `Conflict` where its name would make one mean something else."""
        try:
            again = type(self)(self.texts, arms)
        except (InvalidValue, UnknownName):
            again = None
        if again is None or again._all != self._all:
            raise Conflict(
                f"Arm '{name}' cannot be added under this name, as a rule would then mean something else; the rules "
                f"are {', '.join(map(repr, self.texts[:5]))}."
            )
        return again

    def active(self, names: tuple[str, ...], budget: float) -> ActiveRules | None:
        """Those about the shares of these arms; None where there are none."""
        if self._last[0] != (names, budget):  # asked for several times for each split
            self._last = ((names, budget), self._rows(names, budget, None))
        return self._last[1]

    def on_change(self, names: tuple[str, ...], budget: float, previous: Floats) -> ActiveRules | None:
        """Those about change from these shares; None where there are none, or there was no split before."""
        return self._rows(names, budget, previous) if float(previous.sum()) > 0.0 else None

    def _rows(self, names: tuple[str, ...], budget: float, previous: Floats | None) -> ActiveRules | None:
        at, change = {name: index for index, name in enumerate(names)}, previous is not None
        rules = tuple(rule for rule in self._all if rule.change == change and not rule.rests(at.keys()))
        if not rules:
            return None
        matrix, least, most = np.zeros((len(rules), len(names))), [], []
        for row, rule in zip(matrix, rules):
            for name, value in rule.terms.items():
                if name in at:
                    row[at[name]] = value
            end, size = rule.share + rule.amount / budget, float(np.abs(row).max())
            row /= size  # so that what a rule misses is measured in shares
            middle = 0.0 if previous is None else float(row @ (previous / previous.sum()))
            most.append(middle + end / size if rule.sign in ("<=", "=") else np.inf)
            least.append(middle - end / size if change else end / size if rule.sign in (">=", "=") else -np.inf)
        return ActiveRules(rules, Rows(matrix, np.array(least), np.array(most)))

    def require_split(
        self, names: tuple[str, ...], low: Floats | None, high: Floats | None, budget: float | None = None
    ) -> None:
        """`Infeasible` where no split keeps them; without a budget those alone that name no amounts are looked at."""
        asked = self
        if budget is None:
            asked = type(self)()
            asked._all = tuple(rule for rule in self._all if rule.amount == 0.0)
        active = asked.active(names, 1.0 if budget is None else budget) if names else None
        if active is None:
            return
        least, most = _bounds(low, high, len(names))
        if nearest(np.full(len(names), 1.0 / len(names)), least, most, active.rows) is None:
            raise impossible(active, least, most, names, budget)


def impossible(
    active: ActiveRules,
    low: Floats,
    high: Floats,
    names: Sequence[str],
    budget: float | None,
    at: str = "of the budget",
) -> Infeasible:
    """The error where no split keeps the rules within these bounds."""
    at = at if budget is None else f"of {written(budget)}"
    return conflict(active.rows, active.shown, low, high, names, at=at)


def _bounds(low: Floats | None, high: Floats | None, count: int) -> tuple[Floats, Floats]:
    return np.zeros(count) if low is None else low, np.ones(count) if high is None else high
