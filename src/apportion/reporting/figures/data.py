"""What the results hold, in the form that pictures need: worlds, final regrets, lines over a parameter."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from apportion._common import validation
from apportion.errors import InvalidValue
from apportion.model.noise import noise_family
from apportion.reporting.figures.phrases import display_name

if TYPE_CHECKING:
    from apportion.simulation.result import Result


Floats = npt.NDArray[np.float64]


class World(NamedTuple):
    """One instance of a result; `proxy` is the sub-Gaussian proxy of its noise, infinite where none is known."""

    number: int
    label: str
    facts: dict[str, Any]
    means: tuple[float, ...] | None
    proxy: float

    @property
    def paper(self) -> bool:
        """Whether it obeys the law of the paper, which its theorems are about: c = 1 and one σ."""
        return self.facts["world"] == "" and self.facts["c"] == 1.0 and self.facts["sigma"] is not None

    @property
    def arms(self) -> int:
        """How many options there are."""
        return int(self.facts["arms"])

    @property
    def horizon(self) -> int:
        """The last period."""
        return int(self.facts["horizon"])


class FinalRegret(NamedTuple):
    """Where a policy ends: mean and standard error over the runs."""

    label: str
    mean: float
    error: float
    runs: int

    @property
    def name(self) -> str:
        """The policy as people write it."""
        return display_name(self.label)


class WorldFinals(NamedTuple):
    """All policies on one world."""

    world: World
    finals: list[FinalRegret]


class Curve(NamedTuple):
    """The regret of one policy (its number among those of the result) over the values of a parameter."""

    label: str
    policy: int
    x: Floats
    mean: Floats
    error: Floats

    @property
    def name(self) -> str:
        """The policy as people write it."""
        return display_name(self.label)


def policies_of(result: Result) -> list[str]:
    """The labels of the policies, in their order."""
    return [str(label) for label in result.dataset["policy"].values]


def worlds_of(result: Result, wanted: str | Sequence[str] | None) -> list[World]:
    """The worlds with the wanted labels, or all of them."""
    data = result.dataset
    labels = [str(label) for label in data["instance"].values]
    if wanted is not None:
        asked = [wanted] if isinstance(wanted, str) else list(wanted)
        chosen = [labels.index(validation.choice("instance", label, labels)) for label in asked]
    else:
        chosen = list(range(len(labels)))
    known = result.provenance.get("definition", {}).get("instances", [])
    found = []
    for index in chosen:
        facts = facts_of(data, index, labels[index])
        facts["horizon"] = int(data["period"].values[-1])
        defined = known[index] if len(known) == len(labels) else {}
        means = tuple(defined.get("means", ()))
        proxy = _noise_proxy(defined.get("noise", facts["noise"]))
        found.append(World(index, labels[index], facts, means if len(means) == facts["arms"] else None, proxy))
    if not found:
        raise validation.refuse("instance", "at least one label", wanted)
    return found


def facts_of(data: Any, index: int, label: str) -> dict[str, Any]:
    """The numbers beside a world's label, None where it has no such number, and of other worlds than `Instance` what
    else the label says. (Before there were others, results had no c and no world.)"""
    default = {"c": 1.0, "world": "Instance"}
    names = ("arms", "b", "c", "sigma", "gap", "noise", "world")
    facts = {name: data[name].values[index].item() if name in data else default[name] for name in names}
    numbers = (f"{name}=" for name in ("K", "b", "c", "σ", "Δmin"))
    rest = [word for word in label.split() if not word.startswith(tuple(numbers)) and word != facts["noise"]]
    facts["world"] = "" if facts["world"] == "Instance" else " ".join(rest)
    return {name: None if value != value else value for name, value in facts.items()}


def _noise_proxy(described: Any) -> float:
    """The proxy of the family that was written down; of a user's family nothing is known before it is imported."""
    name = described.get("name") if isinstance(described, Mapping) else described
    if isinstance(name, str) and ":" in name and name.partition(":")[0] not in sys.modules:
        return math.inf
    try:
        return noise_family(described).proxy
    except InvalidValue:
        return math.inf


def runs_of(result: Result, policy: int, world: World) -> Floats:
    """Regret by run and period; runs that did not finish are left out."""
    runs: Floats = result.dataset["regret"].values[policy, world.number]
    return runs[~np.isnan(runs).any(axis=1)]


def final_of(label: str, runs: Floats) -> FinalRegret:
    """The last period of a policy's runs."""
    if not len(runs):
        return FinalRegret(label, math.nan, math.nan, 0)
    last = runs[:, -1]
    error = float(last.std(ddof=1)) / math.sqrt(len(last)) if len(last) > 1 else 0.0
    return FinalRegret(label, float(last.mean()), error, len(last))


def finals_of_worlds(result: Result) -> list[WorldFinals]:
    """A point per world."""
    labels = policies_of(result)
    return [
        WorldFinals(world, [final_of(label, runs_of(result, p, world)) for p, label in enumerate(labels)])
        for world in worlds_of(result, None)
    ]


def grouped(points: list[WorldFinals], parameter: str) -> list[list[WorldFinals]]:
    """Points that differ in the parameter only, in its order; all in one group where nothing else is held fixed."""
    groups: dict[Any, list[WorldFinals]] = {}
    for point in points:
        rest = tuple(value for name, value in point.world.facts.items() if name != parameter)
        copy = 0  # worlds alike in all that is known of them go to different panels
        while any(other.world.facts == point.world.facts for other in groups.get((rest, copy), [])):
            copy += 1
        groups.setdefault((rest, copy), []).append(point)
    found = [group for group in groups.values() if len(group) > 1] or [points]
    return [sorted(group, key=lambda point: float(point.world.facts[parameter])) for group in found]


def shared_facts(group: list[WorldFinals]) -> dict[str, Any]:
    """The facts that are the same all over the group."""
    first = group[0].world.facts
    return {name: value for name, value in first.items() if all(p.world.facts[name] == value for p in group)}


def curves_of(group: list[WorldFinals], names: list[str], parameter: str) -> list[Curve]:
    """A curve per policy that has runs; its number is that of its name."""
    found = []
    for index, label in enumerate(names):
        points = [
            (float(point.world.facts[parameter]), final.mean, final.error)
            for point in group
            for final in point.finals
            if final.label == label and final.runs
        ]
        if points:
            x, mean, error = np.array(points).T
            found.append(Curve(label, index, x, mean, error))
    return found


def fitted_exponent(x: npt.ArrayLike, y: npt.ArrayLike, errors: npt.ArrayLike | None = None) -> tuple[float, float]:
    """The power p of y ∝ x^p by least squares on the logarithms, and its standard error.

    The error comes from the residuals (NaN for two points). Given the standard `errors` of y, it is at least what
    these propagate to. It describes the scatter around a power law; whether it is one, the picture must show.

    >>> slope, error = fitted_exponent([1, 10, 100], [3, 30, 300])
    >>> round(slope, 9), round(error, 9)
    (1.0, 0.0)
    """
    across, up = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if across.ndim != 1 or across.shape != up.shape or len(np.unique(across)) < 2:
        raise validation.refuse("x", "a list with at least two different numbers, as many as `y`", x)
    for name, values in (("x", across), ("y", up)):
        if not (np.isfinite(values) & (values > 0)).all():
            raise validation.refuse(name, "positive finite numbers", values.tolist())
    log_x, log_y = np.log(across), np.log(up)
    centred = log_x - log_x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ log_y) / spread
    residuals = log_y - log_y.mean() - slope * centred
    freedom = len(across) - 2
    error = math.sqrt(float(residuals @ residuals) / freedom / spread) if freedom else math.nan
    if errors is not None:
        relative = np.asarray(errors, np.float64) / up
        error = float(np.fmax(error, math.sqrt(float(np.square(centred) @ np.square(relative))) / spread))
    return slope, error
