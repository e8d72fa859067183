"""What the results hold, in the form that pictures need: worlds, final regrets, lines over a parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from apportion._common import validation
from apportion.errors import InvalidValue
from apportion.model.noise import noise_family

if TYPE_CHECKING:
    from apportion.simulation.result import Result

Floats = npt.NDArray[np.float64]


class World(NamedTuple):
    """One instance of a result; `proxy` is the sub-Gaussian proxy of its noise, infinite where none is known."""

    place: int
    label: str
    facts: dict[str, Any]
    means: tuple[float, ...] | None
    proxy: float

    @property
    def arms(self) -> int:
        """How many options there are."""
        return int(self.facts["arms"])

    @property
    def horizon(self) -> int:
        """The last period."""
        return int(self.facts["horizon"])


class Final(NamedTuple):
    """Where a policy ends: mean and standard error over the runs."""

    label: str
    mean: float
    error: float
    runs: int


class Point(NamedTuple):
    """All policies on one world."""

    world: World
    finals: list[Final]


class Line(NamedTuple):
    """One policy over the values of a parameter."""

    label: str
    place: int
    x: Floats
    mean: Floats
    error: Floats


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
    for place in chosen:
        facts = {name: data[name].values[place].item() for name in ("arms", "b", "sigma", "gap", "noise")}
        facts["horizon"] = int(data["period"].values[-1])
        defined = known[place] if len(known) == len(labels) else {}
        means = tuple(defined.get("means", ()))
        proxy = _noise_proxy(defined.get("noise", facts["noise"]))
        found.append(World(place, labels[place], facts, means if len(means) == facts["arms"] else None, proxy))
    if not found:
        raise validation.refuse("instance", "at least one label", wanted)
    return found


def _noise_proxy(described: Any) -> float:
    """The proxy of the family that was written down; of a family that is not ours nothing is known."""
    try:
        return noise_family(described).proxy
    except InvalidValue:
        return math.inf


def runs_of(result: Result, policy: int, world: World) -> Floats:
    """Regret by run and period; runs that did not finish are left out."""
    runs: Floats = result.dataset["regret"].values[policy, world.place]
    return runs[~np.isnan(runs).any(axis=1)]


def final_of(label: str, runs: Floats) -> Final:
    """The last period of a policy's runs."""
    if not len(runs):
        return Final(label, math.nan, math.nan, 0)
    last = runs[:, -1]
    error = float(last.std(ddof=1)) / math.sqrt(len(last)) if len(last) > 1 else 0.0
    return Final(label, float(last.mean()), error, len(last))


def points_of(result: Result) -> list[Point]:
    """A point per world."""
    labels = policies_of(result)
    return [
        Point(world, [final_of(label, runs_of(result, p, world)) for p, label in enumerate(labels)])
        for world in worlds_of(result, None)
    ]


def grouped(points: list[Point], parameter: str) -> list[list[Point]]:
    """Points that differ in the parameter only, in its order; all in one group where nothing else is held fixed."""
    groups: dict[Any, list[Point]] = {}
    for point in points:
        rest = tuple(value for name, value in point.world.facts.items() if name != parameter)
        copy = 0  # worlds alike in all that is known of them go to different panels
        while any(other.world.facts == point.world.facts for other in groups.get((rest, copy), [])):
            copy += 1
        groups.setdefault((rest, copy), []).append(point)
    found = [group for group in groups.values() if len(group) > 1] or [points]
    return [sorted(group, key=lambda point: float(point.world.facts[parameter])) for group in found]


def shared_facts(group: list[Point]) -> dict[str, Any]:
    """The facts that are the same all over the group."""
    first = group[0].world.facts
    return {name: value for name, value in first.items() if all(p.world.facts[name] == value for p in group)}


def lines_of(group: list[Point], names: list[str], parameter: str) -> list[Line]:
    """A line per policy that has runs; its place is that of its name."""
    found = []
    for place, label in enumerate(names):
        at = [
            (float(point.world.facts[parameter]), final.mean, final.error)
            for point in group
            for final in point.finals
            if final.label == label and final.runs
        ]
        if at:
            x, mean, error = np.array(at).T
            found.append(Line(label, place, x, mean, error))
    return found
