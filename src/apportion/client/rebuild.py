"""What the service told, as the types that a campaign on this machine gives. Numbers are the same to the last bit."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from apportion.allocation.beliefs import Belief, Beliefs
from apportion.allocation.decision import Decision
from apportion.allocation.split import Split
from apportion.campaigns.check import Check
from apportion.campaigns.events import Event
from apportion.campaigns.files import Imported
from apportion.campaigns.forecast import Forecast, PolicyForecast
from apportion.campaigns.history import Line
from apportion.campaigns.settings import SETTINGS, Settings
from apportion.campaigns.status import ArmStatus, Status
from apportion.inference.learning import Learned
from apportion.model.sums import Floats, Sums
from apportion.policies import Policy


class Scale(NamedTuple):
    """What beliefs are relative to: σ, the level of the intervals, whether outcomes are costs, what was learned."""

    sigma: float | None
    level: float
    minimise: bool
    learned: Learned | None = None


class ToldBeliefs(Beliefs):
    """Beliefs as the service told them: nothing is computed here."""

    def __init__(self, names: Sequence[str], rows: Sequence[Belief], scale: Scale) -> None:
        count = len(names)
        sums = Sums(*(np.zeros(count) for _ in Sums._fields))
        sums = sums._replace(
            resource=np.array([row.resource for row in rows], dtype=float),
            information=np.array([row.information for row in rows], dtype=float),
        )
        known = np.isfinite([row.probability_best for row in rows])
        in_play = known if known.any() else None  # without σ none has a probability, and all may take part
        super().__init__(names, sums, **scale._asdict(), rho=math.nan, in_play=in_play)
        self._rows = list(rows)

    @functools.cached_property
    def _gain(self) -> Floats:
        return 0.0 - self.mean if self.minimise else self.mean

    @functools.cached_property
    def mean(self) -> Floats:
        """μ* per arm."""
        return np.array([row.mean for row in self._rows], dtype=float)

    @functools.cached_property
    def radius(self) -> Floats:
        """The half-width of the interval per arm: infinite without outcomes, NaN without σ."""
        return np.array([0.5 * (row.high - row.low) for row in self._rows], dtype=float)

    @functools.cached_property
    def probability_best(self) -> Floats:
        """P(best) per arm, adding up to 1."""
        return np.array([row.probability_best for row in self._rows], dtype=float)

    def at(self, index: int) -> Belief:
        """The belief about the arm at a position."""
        return self._rows[index]


class ToldSplit(Split):
    """A split as the service told it, with its words."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        arms = told["arms"]
        names = [arm["arm"] for arm in arms]
        shares = np.array([arm["share"] for arm in arms], dtype=float)
        amounts = np.array([arm["amount"] for arm in arms], dtype=float)
        decision = Decision(
            told["ticket"], float(told["budget"]), tuple(names), None, shares, shares, amounts, memory=shares
        )
        super().__init__(decision, _Elsewhere(), beliefs(arms, scale_of(told)))
        self._told_note: str = told["note"]
        self._told_reasons = [arm["reason"] for arm in arms]

    @functools.cached_property
    def reasons(self) -> Mapping[str, str]:
        """Why each arm got its share, in plain words."""
        return MappingProxyType(dict(zip(self._decision.arms, self._told_reasons)))

    @property
    def note(self) -> str:  # type: ignore[override]
        """What the policy does."""
        return self._told_note


class _Elsewhere(Policy):
    """Stands for the policy, which decided in the service."""


def belief(told: Mapping[str, Any]) -> Belief:
    """One belief; JSON has no NaN and no infinity, but which null means which is known.

    >>> belief({"mean": None, "low": None, "high": None, "probability_best": None, "resource": 0, "information": 0})
    Belief(mean=nan, low=-inf, high=inf, probability_best=nan, resource=0.0, information=0.0)
    """
    unseen = told["mean"] is None
    return Belief(
        _number(told["mean"]),
        -math.inf if unseen else _number(told["low"]),
        math.inf if unseen else _number(told["high"]),
        _number(told["probability_best"]),
        _number(told["resource"]),
        _number(told["information"]),
    )


def beliefs(arms: Iterable[Mapping[str, Any]], scale: Scale) -> Beliefs:
    """Beliefs by arm."""
    rows = list(arms)
    return ToldBeliefs([row["arm"] for row in rows], [belief(row) for row in rows], scale)


def settings(told: Mapping[str, Any]) -> Settings:
    """What a campaign is run by. What a newer service adds is left out; what an older one lacks is the default."""
    known = {name: told[name] if name in told else SETTINGS[name].default for name in Settings._fields}
    parameters = {
        name: tuple(value) if isinstance(value, list) else value for name, value in known["parameters"].items()
    }
    return Settings(**{**known, "parameters": parameters, "assumed": tuple(told["assumed"])})


def status(told: Mapping[str, Any]) -> Status:
    """Where a campaign stands."""
    run_by = settings(told["settings"])
    rows = [{**arm, "arm": arm["name"]} for arm in told["arms"]]
    scale = Scale(run_by.sigma, run_by.level, run_by.minimise, learned(told["learned"]))
    believed = beliefs([row for row in rows if row["state"] != "removed"], scale)
    arms = tuple(
        ArmStatus(row["name"], row["state"], row["minimum"], row["maximum"], believed.get(row["name"]))
        for row in rows
    )
    return Status(
        told["campaign"], told["period"], tuple(told["open_tickets"]), told["leader"],
        _number(told["expected_regret_per_period"]), arms, run_by, told["events"], tuple(told["notes"]), believed,
    )  # fmt: skip


def scale_of(told: Mapping[str, Any]) -> Scale:
    """What the beliefs of an answer are relative to, as of their own time and not of today."""
    return Scale(told["sigma"], told["level"], told["minimise"], learned(told["learned"]))


def learned(told: Mapping[str, Any] | None) -> Learned | None:
    """What the outcomes say about b and σ, where the policy learns them."""
    if told is None:
        return None
    *numbers, flag = Learned._fields
    return Learned._make([*(_number(told[name]) for name in numbers), told.get(flag, False)])


def line(told: Mapping[str, Any]) -> Line:
    """A line of the history."""
    return Line(**{**told, "corrections": tuple(told["corrections"])})


def event(told: Mapping[str, Any]) -> Event:
    """An event of the log."""
    return Event(**told)


def forecast(told: Mapping[str, Any]) -> Forecast:
    """What policies may earn."""
    names = PolicyForecast._fields[1:]
    policies = (PolicyForecast(row["policy"], *(_number(row[name]) for name in names)) for row in told["prospects"])
    rest = {name: value for name, value in told.items() if name != "prospects"}
    return Forecast(**rest, policies=tuple(policies))


def check(told: Mapping[str, Any]) -> Check:
    """The answer of a check."""
    return Check(**told)


def imported(told: Mapping[str, Any]) -> Imported:
    """What an import did."""
    return Imported(**{**told, "arms_added": tuple(told["arms_added"])})


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
