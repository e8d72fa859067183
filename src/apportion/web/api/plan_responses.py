"""Models of responses about what is to come: plans and forecasts."""

from __future__ import annotations

from typing import Any

from apportion.campaigns import forecast, law_draws, past_forecasts
from apportion.campaigns import plan as plans
from apportion.web.api.responses import Maybe, ResponseModel, fields_of


@fields_of(forecast.PolicyForecast)
class PolicyForecast(ResponseModel):
    """What one policy may earn and lose: means, and ranges from the 5% to the 95% quantile."""


@fields_of(forecast.ArmForecast)
class ArmForecast(ResponseModel):
    """The part of an arm in a split to come: its mean share, and the range over simulated futures."""


@fields_of(forecast.PeriodForecast, arms=list[ArmForecast])
class PeriodForecast(ResponseModel):
    """A period to come: what may come back of its budget (from the 5% to the 95% quantile), and its split."""


class Forecast(ResponseModel):
    """What the next periods may bring; `calendar` has them, with the splits of the first of the `prospects`.

    `sentences` say it in words, `assumes` what it stands on; `first` is the ticket that the first period will have.
    """

    periods: int
    worlds: int
    budget: float
    b: float
    c: float
    sigma: float | dict[str, float]
    prospects: list[PolicyForecast]
    actual: Maybe = None
    calendar: list[PeriodForecast]
    first: int | None
    sentences: list[str]
    assumes: list[str]


@fields_of(past_forecasts.PeriodCheck, inside=bool | None)
class PeriodCheck(ResponseModel):
    """A period of a forecast beside what came; `state` is compared, waiting, or why it is not compared."""


@fields_of(past_forecasts.PastForecast, periods=list[PeriodCheck])
class PastForecast(ResponseModel):
    """A forecast that was kept, and how it did; `error` and `bias` are relative, null before there are any."""


@fields_of(past_forecasts.PastForecasts, forecasts=list[PastForecast], sentences=list[str], coverage=Maybe)
class PastForecasts(ResponseModel):
    """The forecasts that were kept, oldest first; `expected` of the compared periods should be within the ranges."""


@fields_of(law_draws.Point)
class Point(ResponseModel):
    """What was spent on an arm in one period, and what came back."""


class Curve(ResponseModel):
    """What amounts on one arm may bring back, with the likely range; null where that is not known."""

    amounts: list[float]
    returned: list[Maybe]
    low: list[Maybe]
    high: list[Maybe]


_RANGES: Any = {
    f"{name}{edge}": Maybe for name in ("returned", "marginal") for edge in ("", "_low", "_high")
}  # unknown without σ


@fields_of(plans.ArmPlan, **_RANGES, curve=Curve, points=list[Point])
class ArmPlan(ResponseModel):
    """One arm in a plan; `tried` is the largest amount that has a result: beyond it the curve is a guess."""


@fields_of(plans.BudgetPlan, **_RANGES)
class BudgetPlan(ResponseModel):
    """What a budget may bring back where it is best split, and what the next unit would add."""


@fields_of(plans.BudgetAnswer)
class BudgetAnswer(ResponseModel):
    """The budget that answers a question, with its likely range; null: none is large enough, or too large."""


@fields_of(
    plans.Plan, whole=BudgetPlan, arms=list[ArmPlan], budgets=list[BudgetPlan], target=BudgetAnswer | None,
    goal=BudgetAnswer | None, sentences=list[str],
)  # fmt: skip
class Plan(ResponseModel):
    """A plan for a budget: its best split, the curves behind it, other budgets, and answers; `sentences` in words."""
