"""Responses of the service as the types that a campaign on this machine gives. Numbers are the same to the last bit.

A client and a service of different releases understand each other: fields that a newer service adds are ignored, and
fields that an older one does not send are the default, or unknown (None, NaN, nothing).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType, NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from apportion.allocation.arms import Arm
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

Content = Mapping[str, Any]
"""A JSON object of a response."""
Record = TypeVar("Record", bound=tuple[Any, ...])


class Scale(NamedTuple):
    """What beliefs are relative to: σ, the level of the intervals, whether outcomes are costs, what was learned."""

    sigma: float | None
    level: float
    minimise: bool
    learned: Learned | None = None


class RemoteBeliefs(Beliefs):
    """Beliefs as the service sent them: nothing is computed here."""

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
        super().__init__(decision, _RemotePolicy(), beliefs(arms, scale_of(content)))
        self._sent_note: str = content.get("note", "")
        self._sent_reasons = [arm.get("reason", "") for arm in arms]

    @functools.cached_property
    def reasons(self) -> Mapping[str, str]:
        """Why each arm got its share, in plain words."""
        return MappingProxyType(dict(zip(self._decision.arms, self._sent_reasons)))

    @property
    def note(self) -> str:  # type: ignore[override]
        """What the policy does."""
        return self._sent_note


class _RemotePolicy(Policy):
    """Stands for the policy, which decided in the service."""


def belief(content: Content) -> Belief:
    """One belief; JSON has no NaN and no infinity, but which null means which is known.

    >>> belief({"mean": None, "low": None, "high": None, "probability_best": None, "resource": 0, "information": 0})
    Belief(mean=nan, low=-inf, high=inf, probability_best=nan, resource=0.0, information=0.0)
    """
    if content["mean"] is None:
        return _record(Belief, content, low=-math.inf, high=math.inf)
    return _record(Belief, content)


def beliefs(arms: Iterable[Content], scale: Scale) -> Beliefs:
    """Beliefs by arm."""
    rows = list(arms)
    return RemoteBeliefs([row["arm"] for row in rows], [belief(row) for row in rows], scale)


def settings(content: Content) -> Settings:
    """What a campaign is run by."""
    defaults = {name: SETTINGS[name].default for name in Settings._fields if name in SETTINGS and name not in content}
    parameters = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in content.get("parameters", {}).items()
    }
    return _record(Settings, content, **defaults, parameters=parameters)


def arm(content: Content) -> Arm:
    """An arm with its state and bounds."""
    return _record(Arm, content)


def status(content: Content) -> Status:
    """Where a campaign stands."""
    run_by = settings(content["settings"])
    rows = [{**row, "arm": row["name"]} for row in content["arms"]]
    scale = Scale(run_by.sigma, run_by.level, run_by.minimise, learned(content.get("learned")))
    believed = beliefs([row for row in rows if row["state"] != "removed"], scale)
    return _record(
        Status,
        content,
        name=content["campaign"],
        version=content["events"],
        expected_regret=_number(content.get("expected_regret_per_period")),
        arms=tuple(_record(ArmStatus, row, belief=believed.get(row["name"])) for row in rows),
        settings=run_by,
        beliefs=believed,
    )


def scale_of(content: Content) -> Scale:
    """What the beliefs of a response are relative to, as of their own time and not of today."""
    level = content.get("level", SETTINGS["level"].default)
    return Scale(content.get("sigma"), level, content.get("minimise", False), learned(content.get("learned")))


def learned(content: Content | None) -> Learned | None:
    """What the outcomes say about b and σ, where the policy learns them."""
    return None if content is None else _record(Learned, content)


def line(content: Content) -> Line:
    """A line of the history."""
    return _record(Line, content)


def event(content: Content) -> Event:
    """An event of the log."""
    return _record(Event, content)


def forecast(content: Content) -> Forecast:
    """What policies may earn."""
    return _record(
        Forecast, content, policies=tuple(_record(PolicyForecast, row) for row in content.get("prospects", ()))
    )


def check(content: Content) -> Check:
    """The result of a check."""
    return _record(Check, content)


def imported(content: Content) -> Imported:
    """What an import did."""
    return _record(Imported, content)


# Fields by name and type


def _record(kind: type[Record], content: Content, **given: Any) -> Record:
    """A named tuple from the fields of a response; `given` goes before them."""
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
    return math.nan if hint is float else (get_origin(hint) or hint)()


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
