"""Responses of the service as the types that a campaign on this machine gives. Numbers are the same to the last bit.

A client and a service of different releases understand each other: fields that a newer service adds are ignored, and
fields that an older one does not send are the default, or unknown (None, NaN, nothing).
"""

import functools
import math
from collections.abc import Mapping
from types import MappingProxyType, NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from apportion.allocation.beliefs import Belief, Beliefs
from apportion.allocation.decision import Decision
from apportion.allocation.split import Split, Why
from apportion.campaigns.forecast import ArmForecast, Forecast, PeriodForecast, PolicyForecast
from apportion.campaigns.law_draws import Point
from apportion.campaigns.past_forecasts import PastForecast, PastForecasts, PeriodCheck
from apportion.campaigns.plan import ArmPlan, BudgetAnswer, BudgetPlan, Curve, Plan
from apportion.campaigns.settings import SETTINGS, Settings
from apportion.campaigns.status import ArmStatus, Status
from apportion.inference.health.findings import Finding, Health
from apportion.inference.learned import Learned
from apportion.model.sums import Sums
from apportion.policies import Policy

Content = Mapping[str, Any]
"""A JSON object of a response."""
Record = TypeVar("Record", bound=tuple[Any, ...])


class RemoteBeliefs(Beliefs):
    """Beliefs as the service sent them, with what they are relative to as of their own time; nothing is computed."""

    def __init__(self, content: Content) -> None:
        names, rows = [arm["arm"] for arm in content["arms"]], [belief(arm) for arm in content["arms"]]
        columns = np.array(rows, dtype=float).reshape(-1, len(Belief._fields)).T
        mean, low, high, probability_best, resource, information, marginal = columns
        sums = Sums(*(np.zeros(len(names)) for _ in Sums._fields))._replace(
            resource=resource, information=information
        )
        known = np.isfinite(probability_best)
        super().__init__(
            names, sums, sigma=content.get("sigma"), rho=math.nan,
            level=content.get("level", SETTINGS["level"].default), minimise=content.get("minimise", False),
            learned=learned(content.get("learned")),
            in_play=known if known.any() else None,  # without σ none has a probability, and all may take part
            c=content.get("c", 1.0),
        )  # fmt: skip
        self._rows = rows
        self._gain, self.mean = 0.0 - mean if self.minimise else mean, mean
        self.radius, self.probability_best, self.marginal = 0.5 * (high - low), probability_best, marginal


class RemoteSplit(Split):
    """A split as the service sent it, with its words."""

    def __init__(self, content: Content) -> None:
        arms = content["arms"]
        names = tuple(arm["arm"] for arm in arms)
        shares = np.array([arm["share"] for arm in arms], dtype=float)
        amounts = np.array([arm["amount"] for arm in arms], dtype=float)
        decision = Decision(
            content["ticket"], float(content["budget"]), names, None, shares, shares, amounts, memory=shares
        )
        super().__init__(decision, _RemotePolicy(), RemoteBeliefs(content))
        self.date = content.get("date")
        self.unspent = tuple(content.get("unspent", ()))
        self._sent_note: str = content.get("note", "")
        self._sent_reasons = [arm.get("reason", "") for arm in arms]

    @functools.cached_property
    def _whys(self) -> Mapping[str, Why]:
        told = zip(self._decision.arms, self._sent_reasons)
        return MappingProxyType({name: Why(reason, reason) for name, reason in told})

    @property
    def note(self) -> str:  # type: ignore[override]
        """What the policy does."""
        return self._sent_note


class _RemotePolicy(Policy):
    """Stands for the policy, which decided in the service."""


def belief(content: Content) -> Belief:
    """One belief; JSON has no NaN and no infinity, but which null means which is known.

    >>> belief({"mean": None, "low": None, "high": None, "probability_best": None, "resource": 0, "information": 0})
    Belief(mean=nan, low=-inf, high=inf, probability_best=nan, resource=0.0, information=0.0, marginal=nan)
    """
    if content["mean"] is None:
        return record(Belief, content, low=-math.inf, high=math.inf)
    return record(Belief, content)


def settings(content: Content) -> Settings:
    """What a campaign is run by."""
    missing = {name: SETTINGS[name] for name in Settings._fields if name in SETTINGS and name not in content}
    defaults = {name: None if setting.nullable else setting.default for name, setting in missing.items()}
    parameters = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in content.get("parameters", {}).items()
    }
    if "c" not in content:  # older services know returns in proportion to the amount only
        defaults["c"] = 1.0
    return record(Settings, content, **defaults, parameters=parameters)


def status(content: Content) -> Status:
    """Where a campaign stands."""
    run_by = settings(content["settings"])
    rows = [{**row, "arm": row["name"]} for row in content["arms"]]
    present = [row for row in rows if row["state"] != "removed"]
    stood_on = {name: content[name] for name in ("sigma", "c", "learned") if name in content}
    believed = RemoteBeliefs({**run_by._asdict(), **stood_on, "arms": present})
    return record(
        Status,
        content,
        name=content["campaign"],
        version=content["events"],
        expected_regret=_number(content.get("expected_regret_per_period")),
        arms=tuple(record(ArmStatus, row, belief=believed.get(row["name"])) for row in rows),
        settings=run_by,
        beliefs=believed,
        health=health(content.get("health")),
    )


def health(content: Content | None) -> Health | None:
    """What was found in the data; None where it was not asked for, or the service does not check it."""
    if content is None:
        return None
    return record(Health, content, findings=tuple(record(Finding, each) for each in content.get("findings", ())))


def learned(content: Content | None) -> Learned | None:
    """What the outcomes say about b and σ, where the policy learns them."""
    return None if content is None else record(Learned, content)


def forecast(content: Content) -> Forecast:
    """What the next periods may bring."""
    policies = tuple(record(PolicyForecast, row) for row in content.get("prospects", ()))
    calendar = tuple(
        record(PeriodForecast, row, arms=tuple(record(ArmForecast, arm) for arm in row.get("arms", ())))
        for row in content.get("calendar", ())
    )
    return record(Forecast, content, policies=policies, calendar=calendar)


def past_forecasts(content: Content) -> PastForecasts:
    """The forecasts that were kept, and how they did."""
    found = tuple(
        record(PastForecast, row, periods=tuple(record(PeriodCheck, each) for each in row.get("periods", ())))
        for row in content.get("forecasts", ())
    )
    return record(PastForecasts, content, forecasts=found)


def plan(content: Content) -> Plan:
    """What a budget may bring back."""
    arms = tuple(
        record(
            ArmPlan,
            row,
            curve=Curve(*(tuple(map(_number, row.get("curve", {}).get(name, ()))) for name in Curve._fields)),
            points=tuple(record(Point, point) for point in row.get("points", ())),
        )
        for row in content.get("arms", ())
    )
    answers = {
        name: None if content.get(name) is None else record(BudgetAnswer, content[name])
        for name in ("target", "goal")
    }
    return record(
        Plan,
        content,
        whole=record(BudgetPlan, content.get("whole", {})),
        arms=arms,
        budgets=tuple(record(BudgetPlan, row) for row in content.get("budgets", ())),
        **answers,
    )


def record(kind: type[Record], content: Content, **given: Any) -> Record:
    """A named tuple from the fields of a response, by name and type; `given` goes before them."""
    defaults = getattr(kind, "_field_defaults", {})
    values = dict(given)
    for name, hint in _types(kind).items():
        if name in content and name not in given:
            values[name] = _value(hint, content[name])
        elif name not in given and name not in defaults:
            values[name] = _unknown(hint)
    return kind(**values)


@functools.cache
def _types(kind: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {name: hints[name] for name in kind._fields}


def _value(hint: Any, value: Any) -> Any:
    if hint is float:
        return _number(value)
    return tuple(value) if (get_origin(hint) or hint) is tuple else value


def _unknown(hint: Any) -> Any:
    """What stands for a field that was not sent: None, NaN, 0, False, or nothing."""
    if NoneType in get_args(hint):
        return None
    return math.nan if hint is float or float in get_args(hint) else (get_origin(hint) or hint)()


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
