"""Outcomes as people give them, by arm name, checked before anything is changed."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion._common import validation
from apportion._common.formatting import written
from apportion.allocation.arms import Arms, by_name
from apportion.allocation.tickets import Ticket
from apportion.errors import Conflict, UnknownName
from apportion.model.sums import Floats

# Within these the square of a budget (its information at b = 0) and a return per unit stay in the range of
# floating point.
SMALLEST_BUDGET = 1e-100
LARGEST_BUDGET = 1e100
LARGEST_OUTCOME = 1e100

Outcomes = Mapping[str, float | None]
"""By arm name; None where none will come. A pandas Series will do."""
Amounts = Mapping[str, float]


class OutcomeUpdate(NamedTuple):
    """What a ticket is to hold: all amounts and outcomes, and which arms were named."""

    named: NDArray[np.bool_]
    outcomes: Floats
    amounts: Floats


def read_outcomes(ticket: Ticket, arms: Arms, outcomes: Outcomes, amounts: Amounts | None) -> OutcomeUpdate:
    """What the ticket will hold once these are taken in, checked; changes nothing."""
    if ticket.cancelled:
        raise Conflict(f"Ticket {ticket.number} was cancelled: nothing can be recorded for it.")
    given = by_name("outcomes", outcomes)
    if not given:
        raise validation.refuse("outcomes", "a mapping with at least one arm", outcomes)
    indices = _indices(ticket, arms, tuple(given))
    named = np.zeros(len(ticket.recorded), dtype=bool)
    named[indices] = True
    now = ticket.outcomes.copy()
    now[indices] = _outcomes(given)
    spent = ticket.amounts
    if amounts is not None:
        actual = by_name("amounts", amounts)
        spent = spent.copy()
        spent[_indices(ticket, arms, tuple(actual))] = read_amounts(actual)
    unspent = (spent == 0.0) & (now != 0.0) & ~np.isnan(now)
    if unspent.any():
        index = int(unspent.argmax())
        raise validation.refuse(
            f"outcome of '{arms.names[index]}'", "0 or left out, as nothing was spent on it", now[index]
        )
    return OutcomeUpdate(named, now, spent)


def must_agree(ticket: Ticket, update: OutcomeUpdate, names: tuple[str, ...]) -> None:
    """`Conflict` where an outcome that is final, or the amount it came from, would become another one."""
    changed = (update.outcomes != ticket.outcomes) & ~(np.isnan(update.outcomes) & np.isnan(ticket.outcomes))
    conflict = ticket.recorded & ~ticket.provisional & (changed | (update.amounts != ticket.amounts))
    if conflict.any():
        index = int(conflict.argmax())
        has = outcome_shown(ticket.outcomes[index], "an outcome of ")
        raise Conflict(
            f"Ticket {ticket.number} already has {has} from an amount of {written(ticket.amounts[index])} for "
            f"'{names[index]}'; use `amend` to correct it."
        )


def refuse_missing(update: OutcomeUpdate, names: tuple[str, ...]) -> None:
    """Of totals so far each is a number: what will not come is not provisional."""
    missing = update.named & np.isnan(update.outcomes)
    if missing.any():
        name = names[int(missing.argmax())]
        raise validation.refuse(f"outcome of '{name}'", "a number where it is provisional", None)


def _indices(ticket: Ticket, arms: Arms, names: tuple[str, ...]) -> Any:
    """Where the named arms stand in the ticket: all of it, or an index array."""
    if len(names) == len(ticket.amounts) and names == arms.names:
        return slice(None)
    indices = np.array([arms.index(name) for name in names], dtype=np.int64)
    late = indices >= len(ticket.amounts)
    if late.any():
        name = names[int(late.argmax())]
        raise UnknownName(f"Arm '{name}' came after ticket {ticket.number} and has no part in it.")
    return indices


def read_amounts(given: Mapping[str, Any]) -> Floats:
    """Amounts as numbers, in the order in which they are given; anything that cannot be spent is refused."""
    if set(map(type, given.values())) == {float}:
        values = np.array(list(given.values()))
        if ((values >= 0.0) & (values <= LARGEST_BUDGET)).all():
            return values
    found = [validation.number(f"amount of '{name}'", given[name], low=0.0, high=LARGEST_BUDGET) for name in given]
    return np.array(found, dtype=np.float64)


def _outcomes(given: Mapping[str, Any]) -> Floats:
    """Outcomes as numbers, NaN for None; anything that is no finite number is refused."""
    if set(map(type, given.values())) == {float}:
        values = np.array(list(given.values()))
        if (np.abs(values) <= LARGEST_OUTCOME).all():
            return values
    return np.array([math.nan if value is None else _outcome(name, value) for name, value in given.items()])


def _outcome(name: str, value: Any) -> float:
    validation.number(f"outcome of '{name}'", value)
    return validation.number(f"outcome of '{name}'", value, low=-LARGEST_OUTCOME, high=LARGEST_OUTCOME)


def budget_amount(value: Any) -> float:
    """A budget that can be split: above 0, and within what floating point can square."""
    validation.number("budget", value, above=0.0)
    return validation.number("budget", value, low=SMALLEST_BUDGET, high=LARGEST_BUDGET)


def outcome_shown(outcome: float, prefix: str = "") -> str:
    """An outcome in words, after a `prefix` where there is one: NaN is one that will not come.

    >>> outcome_shown(12.5), outcome_shown(math.nan)
    ('12.5', 'no data')
    """
    return "no data" if math.isnan(outcome) else f"{prefix}{written(outcome)}"
