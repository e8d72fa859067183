"""A plan: what a budget may bring back, how it is best split, what the next unit of money adds, and how sure that is.

From the law μ_i·x^c as it is believed. With bounds and rules on shares the best shares a are the same for every
budget M, as a power law has no scale of its own: V(M) = v·M^c with v = Σ μ_i·a_i^c, the next unit adds V'(M) =
c·v·M^(c−1), which is `target` at M = (c·v/target)^(1/(1−c)), and V(M) = `goal` takes M = (goal/v)^(1/c). Bands are
those of the same split under laws drawn from what is believed (`law_draws`). At c = 1 the next unit always adds v:
all or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion.allocation import feasible
from apportion.allocation.best_split import best_within
from apportion.allocation.room import fit
from apportion.allocation.rules import Rules
from apportion.allocation.spendable import spendable_amounts
from apportion.campaigns.law_draws import BelievedLaw, LawDraws, Point, band, believed_law
from apportion.campaigns.plan_words import LARGEST_BUDGET, sentences
from apportion.errors import InvalidValue
from apportion.model.sums import Floats

if TYPE_CHECKING:
    from apportion.allocation.arms import Arm
    from apportion.campaigns.campaign import Campaign

DRAWS = 300
CURVE_POINTS = 25
BUDGET_POINTS = 60
BUDGETS_UP_TO = 3.0  # budgets up to this many times the planned one are worked out
POINTS_SHOWN = 120  # at most so many points are kept with a curve, the last ones


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

    @property
    def range_note(self) -> str:
        """What stands in brackets, and why it is not that of the estimates."""
        return (
            f"In brackets the likely range ({100 * self.level:.6g}%) as of today; the one beside an estimated return "
            "is wider, as it holds however often one looks."
        )

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
    best = best_within(_means_to_raise(law, sign), law.c, low, high, None if rules is None else rules.rows)
    shares = fit(best, total, law.names, low, high, None, rules, None).shares  # refused here, where no split can be
    amounts = _amounts(campaign, shares, total, low=low, high=high, names=law.names, rules=rules)
    draws = law.draws(DRAWS, np.random.default_rng(0)) if not np.isnan(law.spread[law.known]).any() else None
    level = settings.level
    worth = _Worth(law, draws, shares, level)
    whole = worth.at(total)
    step = _nice_step(BUDGETS_UP_TO * total / BUDGET_POINTS)
    count = max(1, math.ceil(BUDGETS_UP_TO * total / step))
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
    held = rules is not None and not np.allclose(
        shares, best_within(_means_to_raise(law, sign), law.c, low, high, None)
    )
    return found._replace(sentences=tuple(sentences(found, law, settings, held)))


def _amounts(campaign: Campaign, shares: Floats, total: float, **within: Any) -> Floats:
    """The amounts of a plan: in steps, or such as can be spent, as those of splits are."""
    step = campaign.settings.step
    resolution = campaign.transactions.read(lambda state, session: state.allocator.resolution)
    within["rng"] = np.random.default_rng(0)  # whole units of the same plan are the same
    if step is None and resolution is not None:
        return spendable_amounts(shares, total, resolution, testing=False, **within)
    return feasible.amounts(shares, total, step=step or None, **within)


def _means_to_raise(law: BelievedLaw, sign: float) -> Floats:
    """The means of what is to be made large; an arm without results comes after all others."""
    means = sign * law.means
    return np.where(law.known, means, min(float(means[law.known].min()), 0.0) - 1.0)


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
    return value if value < LARGEST_BUDGET else None  # NaN is none either


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
