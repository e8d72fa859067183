"""A plan: what a budget may bring back, how it is best split, what the next unit of money adds, and how sure that is.

From the law μ_i·x^c as it is believed. With bounds on shares the best shares a are the same for every budget M, as a
power law has no scale of its own: V(M) = v·M^c with v = Σ μ_i·a_i^c, the next unit adds V'(M) = c·v·M^(c−1), which
is `target` at M = (c·v/target)^(1/(1−c)), and V(M) = `goal` takes M = (goal/v)^(1/c). Bands are those of the same
split under laws drawn from what is believed (`law_draws`). At c = 1 the next unit always adds v: all or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion._common.formatting import one_of, percent, readable, written
from apportion.allocation import feasible
from apportion.allocation.room import fit
from apportion.allocation.rules import Rules
from apportion.campaigns.law_draws import BelievedLaw, LawDraws, Point, band, believed_law
from apportion.errors import InvalidValue
from apportion.model.response import optimal_split
from apportion.model.sums import Floats

if TYPE_CHECKING:
    from apportion.allocation.arms import Arm
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.settings import Settings

DRAWS = 300
CURVE_POINTS = 25
BUDGET_POINTS = 60
LARGEST_BUDGET = 3.0  # budgets up to this many times the planned one are worked out
POINTS_SHOWN = 120  # at most so many points are kept with a curve, the last ones
_LARGEST = 1e15  # a budget above this is none


class Curve(NamedTuple):
    """What amounts on one arm may bring back, with the likely range."""

    amounts: tuple[float, ...]
    returned: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


class ArmPlan(NamedTuple):
    """One arm in a plan: its part of the best split, what that may bring back, what the next unit would add.

    `tried` is the largest amount that has a result, 0 where there is none; beyond it the curve is a guess.
    """

    arm: str
    amount: float
    share: float
    returned: float
    returned_low: float
    returned_high: float
    marginal: float
    marginal_low: float
    marginal_high: float
    tried: float
    curve: Curve
    points: tuple[Point, ...] = ()


class BudgetPlan(NamedTuple):
    """What a budget may bring back where it is best split, and what the next unit would add."""

    budget: float
    returned: float
    returned_low: float
    returned_high: float
    marginal: float
    marginal_low: float
    marginal_high: float


class BudgetAnswer(NamedTuple):
    """The budget that answers a question, with its likely range. None: no budget is large enough, or too large."""

    asked: float
    budget: float | None
    low: float | None
    high: float | None


class Plan(NamedTuple):
    """A plan for a budget; `sentences` say it in words.

    - `arms`: the best split of it, with the curve of each arm and the points behind it.
    - `budgets`: return and marginal return of other budgets. The best shares are the same for each of them.
    - `target`: up to which budget the next unit still brings back so much; `goal`: the least budget for a return.
    - `c` (`c_low` to `c_high`): returns grow as amount^c; `proportional`: they look proportional, so c is 1.
    - `level`: of the likely ranges, which are NaN where the noise is not known.
    """

    budget: float
    unit: str | None
    minimise: bool
    level: float
    c: float
    c_low: float
    c_high: float
    proportional: bool
    whole: BudgetPlan
    arms: tuple[ArmPlan, ...]
    budgets: tuple[BudgetPlan, ...]
    target: BudgetAnswer | None
    goal: BudgetAnswer | None
    sentences: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        from apportion.campaigns.plain_data import plain

        found: dict[str, Any] = plain(self)
        return found


def plan(
    campaign: Campaign, budget: float | None = None, *, target: float | None = None, goal: float | None = None
) -> Plan:
    """The plan of a campaign for a `budget`, its own unless another is given."""
    settings = campaign.settings
    total = settings.budget if budget is None else validation.number("budget", budget, above=0.0)
    for name, asked in (("target", target), ("goal", goal)):
        if asked is not None:
            validation.number(name, asked, above=0.0)
            if settings.minimise:
                raise InvalidValue(f"`{name}` is for returns; the outcomes of this campaign are costs.")
    law = believed_law(campaign, "a plan")
    sign = -1.0 if settings.minimise else 1.0
    arms = {arm.name: arm for arm in campaign.arms}
    low, high = _share_bounds(law, [arms[name] for name in law.names])
    rules = Rules(settings.rules, tuple(arms)).active(law.names, total) if settings.rules else None
    best = best_shares(law, [arms[name] for name in law.names], sign)
    # The nearest split that keeps the rules, as splits of the campaign do.
    shares = fit(best, total, law.names, low, high, None, rules, None).shares
    amounts = total * shares
    if settings.step:
        amounts = feasible.amounts(
            shares, total, low=low, high=high, step=settings.step, rng=np.random.default_rng(0), names=law.names,
            rules=rules,
        )  # fmt: skip
    draws = law.draws(DRAWS, np.random.default_rng(0)) if not np.isnan(law.spread[law.known]).any() else None
    level = settings.level
    worth = _Worth(law, draws, shares, level)
    whole = worth.at(total)
    step = _nice_step(LARGEST_BUDGET * total / BUDGET_POINTS)
    count = max(1, math.ceil(LARGEST_BUDGET * total / step))
    answers = {
        "target": None if target is None else worth.budget_for_marginal(float(target)),
        "goal": None if goal is None else worth.budget_for(float(goal)),
    }
    found = Plan(
        total, settings.unit, settings.minimise, level, law.c,
        law.c if law.learned is None else law.learned.c_low, law.c if law.learned is None else law.learned.c_high,
        law.c == 1.0, whole, tuple(_arm_plans(law, draws, amounts, total, level)),
        tuple(worth.at(step * (index + 1)) for index in range(count)), answers["target"], answers["goal"], (),
    )  # fmt: skip
    held = not np.allclose(shares, best, atol=1e-9)
    return found._replace(sentences=tuple(_sentences(found, law, settings, held)))


def best_shares(law: BelievedLaw, arms: Sequence[Arm], sign: float = 1.0) -> Floats:
    """The best split of one unit within the bounds of the arms; an arm without results gets its minimum only."""
    low, high = _share_bounds(law, arms)
    means = np.where(law.known, sign * law.means, -math.inf)
    lowest = float(means[law.known].min())
    means = np.where(law.known, means, min(lowest, 0.0) - 1.0)
    return optimal_split(means, 1.0, law.c, low, high)


def _share_bounds(law: BelievedLaw, arms: Sequence[Arm]) -> tuple[Floats, Floats]:
    """The bounds of the arms; those without results get no more than their minimum if the others take the rest."""
    low, high = (np.array([getattr(arm, name) for arm in arms]) for name in ("minimum", "maximum"))
    held = np.where(law.known, high, low)
    return low, held if held.sum() >= 1.0 else high


class _Worth:
    """What budgets are worth that are split by the same shares: v·M^c, and the same for laws that may be true."""

    def __init__(self, law: BelievedLaw, draws: LawDraws | None, shares: Floats, level: float) -> None:
        known = law.known
        self.c, self.level = law.c, level
        self.worth = float(np.dot(law.means[known], shares[known] ** law.c))
        self.draws = None
        if draws is not None:
            parts = np.where(shares > 0.0, draws.means * shares ** draws.c[:, np.newaxis], 0.0)
            self.draws = LawDraws(parts[:, known].sum(axis=1), draws.c)

    def at(self, budget: float) -> BudgetPlan:
        """What a budget returns, and its next unit."""
        returned, marginal = _power(self.worth, budget, self.c)
        lows, highs = [math.nan] * 2, [math.nan] * 2
        if self.draws is not None:
            each = _power(self.draws.means, budget, self.draws.c)
            lows, highs = zip(*(map(float, band(values, self.level)) for values in each))  # type: ignore[assignment]
        low, high = (tuple(edge) for edge in (lows, highs))
        return BudgetPlan(
            budget, returned, min(low[0], returned), max(high[0], returned), marginal, min(low[1], marginal),
            max(high[1], marginal),
        )  # fmt: skip

    def budget_for_marginal(self, target: float) -> BudgetAnswer:
        """Up to which budget the next unit returns at least `target`: (c·v/target)^(1/(1−c)).

        At c = 1 there is no such budget where v ≥ target, and it is 0 where v < target.
        """

        def budget(worth: Any, c: Any) -> Any:
            ratio = np.maximum(c * worth / target, 0.0)
            with np.errstate(all="ignore"):
                bent = np.exp(np.log(ratio) / np.maximum(1.0 - c, 1e-12))
            return np.where(c < 1.0, bent, np.where(ratio >= 1.0, math.inf, 0.0))

        return self._answer(target, budget)

    def budget_for(self, goal: float) -> BudgetAnswer:
        """The least budget that returns `goal`: (goal/v)^(1/c)."""

        def budget(worth: Any, c: Any) -> Any:
            with np.errstate(all="ignore"):
                return np.where(worth > 0.0, (goal / np.maximum(worth, 1e-300)) ** (1.0 / c), math.inf)

        return self._answer(goal, budget)

    def _answer(self, asked: float, budget: Any) -> BudgetAnswer:
        own = float(budget(np.float64(self.worth), self.c))
        low = high = math.nan
        if self.draws is not None:
            edges = band(budget(self.draws.means, self.draws.c), self.level)
            low, high = min(float(edges[0]), own), max(float(edges[1]), own)
        return BudgetAnswer(asked, *(_a_budget(value) for value in (own, low, high)))


def _a_budget(value: float) -> float | None:
    return value if value < _LARGEST else None  # NaN is none either


def _power(worth: Any, budget: float, c: Any) -> tuple[Any, Any]:
    """v·M^c, and its derivative."""
    return worth * budget**c, c * worth * budget ** (c - 1.0)


def _arm_plans(
    law: BelievedLaw, draws: LawDraws | None, amounts: Floats, total: float, level: float
) -> list[ArmPlan]:
    found = []
    for index, name in enumerate(law.names):
        mean, amount, points = law.means[index], float(amounts[index]), law.points[index]
        tried = max((point.amount for point in points), default=0.0)
        reach = 1.25 * max(tried, amount) or total / len(law.names)
        grid = np.linspace(0.0, reach, CURVE_POINTS)
        at = np.append(grid, amount)
        returned = mean * at**law.c
        low = high = np.full(len(at), math.nan)
        marginal = _marginal(mean, amount, law.c)
        marginal_band: tuple[float, float] = (math.nan, math.nan)
        if draws is not None and law.known[index]:
            own = draws.means[:, index, np.newaxis]
            low, high = band(own * at ** draws.c[:, np.newaxis], level)
            low, high = np.minimum(low, returned), np.maximum(high, returned)
            if amount > 0.0:
                each = draws.c * draws.means[:, index] * amount ** (draws.c - 1.0)
                edges = band(each, level)
                marginal_band = (min(float(edges[0]), marginal), max(float(edges[1]), marginal))
        curve = Curve(*(tuple(values[:-1].tolist()) for values in (at, returned, low, high)))
        found.append(ArmPlan(
            name, amount, amount / total, float(returned[-1]), float(low[-1]), float(high[-1]), marginal,
            *marginal_band, tried, curve, points[-POINTS_SHOWN:],
        ))  # fmt: skip
    return found


def _marginal(mean: float, amount: float, c: float) -> float:
    """c·μ·x^(c−1); NaN where returns diminish and the arm gets nothing: the first unit would return without limit."""
    if c < 1.0 and amount <= 0.0:
        return math.nan
    return float(c * mean * amount ** (c - 1.0)) if amount > 0.0 else float(mean)


def _nice_step(step: float) -> float:
    """A round number near `step`, not above it: 1, 2, 2.5 or 5 times a power of ten.

    >>> _nice_step(250.0), _nice_step(0.037)
    (250.0, 0.025)
    """
    power = 10.0 ** math.floor(math.log10(step))
    return max(round(factor * power, 12) for factor in (1.0, 2.0, 2.5, 5.0) if factor * power <= step * (1 + 1e-9))


# In words


def ranged(value: float, low: float, high: float) -> str:
    """'8,120 (7,400 to 8,900)': as many decimals as the range calls for; the number alone where there is none.

    >>> ranged(1199.13, 1164.3, 1236.8), ranged(1.2293, 1.126, 1.334), ranged(2.0, math.nan, math.nan)
    ('1,199 (1,164 to 1,237)', '1.23 (1.13 to 1.33)', '2')
    """
    if not (math.isfinite(low) and math.isfinite(high)) or not 1e-9 < high - low < _LARGEST:
        return readable(float(value))
    decimals = min(max(1 - math.floor(math.log10(high - low)), 0), 12)
    least, middle, most = (f"{each:,.{decimals}f}" for each in (low, value, high))
    return f"{middle} ({least} to {most})"


def _sentences(found: Plan, law: BelievedLaw, settings: Settings, held: bool) -> list[str]:
    unit, one = settings.unit or "", one_of(settings.unit)
    whole, verb = found.whole, "is paid" if found.minimise else "comes back"
    amount = f"{written(found.budget)} {unit}".strip()
    said = [
        f"Of {amount} about {ranged(whole.returned, whole.returned_low, whole.returned_high)} {verb} per period, "
        f"{readable(whole.returned / found.budget)} per {one}; the next {one} "
        f"{'costs' if found.minimise else 'brings back'} about "
        f"{ranged(whole.marginal, whole.marginal_low, whole.marginal_high)}."
    ]
    said += _on_the_shape(found, law, one)
    if held:
        said.append("The split is the nearest one that keeps the rules of the campaign, here and for other budgets.")
    if found.target is not None:
        said.append(_on_target(found, found.target, unit, one))
    if found.goal is not None:
        said.append(_on_goal(found.goal, unit))
    most = _most_spent(law)
    far = [answer for answer in (found.target, found.goal) if answer is not None and (answer.budget or 0.0) > most]
    if far and most:
        said.append(f"The most ever spent in a period is {written(most)}: an answer above that is a guess.")
    untried = [arm.arm for arm, known in zip(found.arms, law.known) if not known]
    if untried:
        said.append(f"{_listed(untried)} {'has' if len(untried) == 1 else 'have'} no results yet and only what the "
                    "bounds demand; nothing is counted for it.")  # fmt: skip
    beyond = [arm.arm for arm in found.arms if arm.amount > arm.tried * (1 + 1e-9) and arm.arm not in untried]
    if beyond:
        said.append(f"{_listed(beyond)}: more than ever had a result, so it is a guess from smaller amounts.")
    if law.learned is not None and law.learned.fades:
        said.append("Returns move over time: this is for returns as they are now.")
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


def _on_the_shape(found: Plan, law: BelievedLaw, one: str) -> list[str]:
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
    best = max(found.arms, key=lambda arm: arm.share)
    why = "Returns look proportional" if law.learned is not None else "This campaign takes returns as proportional"
    held = "" if best.share > 0.999 else " as far as the bounds allow"
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
        f"{rest} That is not sure ({percent(law.learned.proportional)}): splits of different size will tell, and the "
        "ranges allow for it."
    ]


def _on_target(found: Plan, answer: BudgetAnswer, unit: str, one: str) -> str:
    wanted = written(answer.asked)
    if answer.budget is None:
        return f"No budget is too large for the next {one} to bring back {wanted}: returns do not diminish."
    if answer.budget == 0.0:
        why = f"every {one} brings back {readable(found.whole.marginal)}, the first one too"
        return f"No budget is small enough for the next {one} to bring back {wanted}: {why}."
    return f"Up to {_budget_range(answer, unit)} the next {one} brings back at least {wanted}; from there on less."


def _on_goal(answer: BudgetAnswer, unit: str) -> str:
    if answer.budget is None:
        return f"No budget brings back {written(answer.asked)}: nothing is expected to come back."
    return f"For {written(answer.asked)} to come back it takes {_budget_range(answer, unit)} per period."


def _budget_range(answer: BudgetAnswer, unit: str) -> str:
    if answer.budget is None:
        return "no budget"
    if answer.low is None and answer.high is None:
        return f"{readable(_rounded(answer.budget))} {unit}".strip()
    low = 0.0 if answer.low is None else answer.low
    if answer.high is None:
        return f"{readable(_rounded(answer.budget))} {unit} ({readable(_rounded(low))} or more)"
    middle, _, edges = ranged(answer.budget, low, answer.high).partition(" ")
    return " ".join(part for part in (middle, unit, edges) if part)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:5]) + ([f"{len(names) - 5} more"] if len(names) > 5 else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
