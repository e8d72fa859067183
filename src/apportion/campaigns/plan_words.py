"""A plan in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from apportion._common.formatting import fixed, listed, one_of, percent, plural, readable, written
from apportion.campaigns.law_draws import BelievedLaw
from apportion.campaigns.status import per_period

if TYPE_CHECKING:
    from apportion.campaigns.plan import BudgetAnswer, Plan
    from apportion.campaigns.settings import Settings

LARGEST_BUDGET = 1e15
"""A budget above this is none."""

_FAR = 1.1  # an amount up to this many times the largest that was tried is no leap
_FAR_BELOW = 0.5  # nor is one down to this part of the smallest


def ranged(value: float, low: float, high: float) -> str:
    """'8,120 (7,400 to 8,900)': as many decimals as the range calls for; the number alone where there is none.

    >>> ranged(1199.13, 1164.3, 1236.8), ranged(1.2293, 1.126, 1.334), ranged(2.0, math.nan, math.nan)
    ('1,199 (1,164 to 1,237)', '1.23 (1.13 to 1.33)', '2')
    """
    if not (math.isfinite(low) and math.isfinite(high)) or not 1e-9 < high - low < LARGEST_BUDGET:
        return readable(float(value))
    decimals = min(max(1 - math.floor(math.log10(high - low)), 0), 12)
    least, middle, most = (fixed(each, decimals) for each in (low, value, high))
    return f"{middle} ({least} to {most})"


def with_unit(text: str, unit: str | None) -> str:
    """A number with its range, and its unit between the two.

    >>> with_unit("1,199 (1,164 to 1,237)", "EUR"), with_unit("77", "orders"), with_unit("2 (1 to 3)", None)
    ('1,199 EUR (1,164 to 1,237)', '77 orders', '2 (1 to 3)')
    """
    middle, _, edges = text.partition(" ")
    return " ".join(part for part in (middle, unit, edges) if part)


def back_verb(settings: Settings) -> str:
    """'comes back', 'come back' of orders; 'is paid', 'are paid'."""
    several = plural(settings.outcome_unit)
    if settings.minimise:
        return "are paid" if several else "is paid"
    return "come back" if several else "comes back"


def sentences(found: Plan, law: BelievedLaw, settings: Settings, held: bool) -> list[str]:
    """A plan in words; `held`: it is not the best split, for the rules."""
    unit, one = settings.unit or "", one_of(settings.unit)
    whole, verb = found.whole, back_verb(settings)
    back = with_unit(ranged(whole.returned, whole.returned_low, whole.returned_high), settings.outcome_unit)
    amount = f"{written(found.budget)} {unit}".strip()
    said = [
        f"Of {amount} about {back} {verb} "
        f"{per_period(settings)}, {readable(whole.returned / found.budget)} per {one}; the next {one} "
        f"{'costs' if found.minimise else 'brings back'} about "
        f"{ranged(whole.marginal, whole.marginal_low, whole.marginal_high)}."
    ]
    said += _on_the_shape(found, law, one, bool(settings.rules))
    if held:
        said.append("The split is the best one that keeps the rules of the campaign; other budgets are split alike.")
    if found.target is not None:
        said.append(_on_target(found, found.target, unit, one))
    if found.goal is not None:
        said.append(_on_goal(found.goal, settings, unit))
    most = _most_spent(law)
    far = [answer for answer in (found.target, found.goal) if answer is not None and (answer.budget or 0.0) > most]
    if far and most:
        period = settings.every or "period"
        said.append(
            f"The most ever spent in a {period} is {with_unit(written(most), unit)}: an answer above that is a guess."
        )
    untried = [arm.arm for arm, known in zip(found.arms, law.known) if not known]
    if untried:
        have, get, them = ("has", "gets", "it") if len(untried) == 1 else ("have", "get", "them")
        said.append(
            f"{listed(untried)} {have} no results yet and {get} only what the bounds demand; nothing is counted for "
            f"{them}."
        )
    beyond = [arm.arm for arm in found.arms if arm.amount > _FAR * arm.tried and arm.arm not in untried]
    if beyond:
        said.append(f"{listed(beyond)}: more than ever had a result, so it is a guess from smaller amounts.")
    below = [
        arm.arm
        for arm, points in zip(found.arms, law.points)
        if points and 0.0 < arm.amount < _FAR_BELOW * min(point.amount for point in points)
    ]
    if below:
        said.append(f"{listed(below)}: far less than ever had a result, so it is a guess from larger amounts.")
    if law.learned is not None and law.learned.fades:
        said.append("Returns move over time: these are returns as they are now, not as they were long ago.")
    if math.isnan(whole.returned_low):
        said.append("How sure these numbers are cannot be said: the noise is not known yet.")
    return said


def _most_spent(law: BelievedLaw) -> float:
    """The most that was spent in one period, on the arms of today."""
    by_ticket: dict[int, float] = {}
    for points in law.points:
        for point in points:
            by_ticket[point.ticket] = by_ticket.get(point.ticket, 0.0) + point.amount
    return max(by_ticket.values(), default=0.0)


def _on_the_shape(found: Plan, law: BelievedLaw, one: str, ruled: bool) -> list[str]:
    if law.own_curves:
        return [
            "Arms level off each in its own way, and splits follow that. This plan counts with one curve for all: it "
            "is a guess away from the amounts that were tried."
        ]
    if not found.proportional:
        return [
            f"Returns diminish: twice the budget brings back about {2.0**found.c:.1f} times as much. All arms bend "
            "alike, so the best shares are the same for every budget."
        ]
    sign = -1.0 if found.minimise else 1.0
    best = max((arm for arm in found.arms if arm.share > 0.0), key=lambda arm: sign * arm.marginal)
    why = "Returns look proportional" if law.learned is not None else "This campaign takes returns as proportional"
    held = "" if best.share > 0.999 else f" as far as the {'bounds and rules' if ruled else 'bounds'} allow"
    rest = (
        f"{why}: the last {one} brings back as much as the first. So the best arm, {best.arm}, gets all{held}, and "
        f"how much to spend is all or nothing: as much as you can while {readable(found.whole.marginal)} per {one} "
        "is worth it to you, else nothing."
    )
    doubt = law.learned is not None and law.learned.proportional < 0.95 and law.learned.c_low < 1.0
    if not doubt:
        return [rest]
    assert law.learned is not None
    return [
        f"{rest} That they are proportional is {percent(law.learned.proportional)} likely: splits of different sizes "
        "will tell, and the ranges allow for it."
    ]


def _on_target(found: Plan, answer: BudgetAnswer, unit: str, one: str) -> str:
    wanted = written(answer.asked)
    if answer.budget is None:
        return f"No budget is too large for the next {one} to bring back {wanted}: returns do not diminish."
    if answer.budget == 0.0:
        why = f"every {one} brings back {readable(found.whole.marginal)}, the first one too"
        return f"No budget is small enough for the next {one} to bring back {wanted}: {why}."
    return f"Up to {_budget_range(answer, unit)} the next {one} brings back at least {wanted}; from there on less."


def _on_goal(answer: BudgetAnswer, settings: Settings, unit: str) -> str:
    asked = with_unit(written(answer.asked), settings.outcome_unit)
    if answer.budget is None:
        return f"No budget brings back {asked}: nothing is expected to come back."
    return f"For {asked} to come back it takes {_budget_range(answer, unit)} {per_period(settings)}."


def _budget_range(answer: BudgetAnswer, unit: str) -> str:
    if answer.budget is None:
        return "no budget"
    if answer.low is None and answer.high is None:
        return f"{readable(_rounded(answer.budget))} {unit}".strip()
    low = 0.0 if answer.low is None else answer.low
    if answer.high is None:
        return f"{readable(_rounded(answer.budget))} {unit} ({readable(_rounded(low))} or more)"
    return with_unit(ranged(answer.budget, low, answer.high), unit)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
