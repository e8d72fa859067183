"""The curves of theory, where a theorem covers the world that is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apportion import theory
from apportion.reporting.figures.data import Floats, World, WorldFinals
from apportion.reporting.figures.phrases import number, wrapped
from apportion.reporting.figures.style import FAINT, look
from apportion.theory.guarantee import guaranteed_regret

if TYPE_CHECKING:
    from apportion.simulation.result import Result

LOWER = "lower bound for\nthe worst world"


class Bound(NamedTuple):
    """A curve of theory and how it is drawn; `upper` if regret stays below it."""

    label: str
    values: Floats
    upper: bool
    colour: str
    dashes: Any


def bounds_of(result: Result, world: World, periods: Any, names: list[str]) -> list[Bound]:
    """The curves of theory that apply to this world; NaN where a theorem is silent."""
    facts, found = world.facts, []
    if not world.paper:
        return []
    setting = {"b": facts["b"], "sigma": facts["sigma"]}
    if facts["noise"] == "gaussian":
        lower = [
            theory.minimax_lower_bound(world.arms, int(t), **setting) if t >= world.arms else math.nan
            for t in periods
        ]
        found.append(Bound(LOWER, np.array(lower), False, FAINT, "-"))
        if facts["b"] <= 0.5 and world.means is not None and facts["gap"] > 0:
            slope = theory.asymptotic_lower_bound(world.means, **setting)
            curve = np.where(periods >= 3, slope * np.log(periods), math.nan)
            found.append(
                Bound(f"{number(slope)} log t: lower bound\nfor very long runs", curve, False, FAINT, (0, (1, 1)))
            )
    kinds = result.provenance.get("definition", {}).get("policies", [])
    if world.means is not None and len(kinds) == len(names):
        for p, kind in enumerate(kinds):
            value = guarantee(kind, world)
            if value is not None:
                label = f"guarantee of\n{wrapped(names[p])}"
                found.append(Bound(label, np.full(len(periods), value), True, look(p).colour, (0, (1, 2))))
    return found


def guarantee(kind: Mapping[str, Any], world: World) -> float | None:
    """What a policy loses at most by the horizon, where a theorem covers its parameters and the noise."""
    if world.means is None or not world.paper:
        return None
    law = {"b": world.facts["b"], "sigma": world.facts["sigma"]}
    return guaranteed_regret(kind, world.means, **law, horizon=world.horizon, proxy=world.proxy)


def lower_curve(group: list[WorldFinals], parameter: str) -> tuple[Floats, Floats] | None:
    """The lower bound of Theorem 1 along a group, where it covers all of it."""
    worlds = [point.world for point in group]
    if any(each.facts["noise"] != "gaussian" or each.horizon < each.arms or not each.paper for each in worlds):
        return None
    facts = [each.facts for each in worlds]
    x = np.array([float(each[parameter]) for each in facts])
    values = [theory.minimax_lower_bound(e["arms"], e["horizon"], e["b"], e["sigma"]) for e in facts]
    return x, np.array(values)
