"""The curves of theory, where a theorem covers the world that is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apportion import theory
from apportion.figures.data import Floats, Point, World
from apportion.figures.style import FAINT, look
from apportion.figures.words import number, short

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
                label = f"guarantee of\n{short(names[p])}"
                found.append(Bound(label, np.full(len(periods), value), True, look(p).colour, (0, (1, 2))))
    return found


def guarantee(kind: Mapping[str, Any], world: World) -> float | None:
    """What a policy of the paper loses at most by the horizon, where its theorem covers parameters and noise.

    Regret never falls, so the value at the horizon holds for every period before.
    """
    facts, given = world.facts, dict(kind.get("parameters", {}))
    b, sigma, horizon = facts["b"], facts["sigma"], world.horizon
    told = "informed" in kind
    if facts["noise"] in ("laplace", "student") or world.means is None or given.get("b", b) != b:
        return None
    name = kind.get("informed") or kind.get("name")
    if name == "SuccessiveElimination":
        radius = given.get("radius", "corrected")
        plain = not given.get("pairwise") and given.get("delta") is None and radius in ("corrected", "anytime")
        knows = given.get("sigma", sigma if told else 1.0) == sigma and given.get("horizon") in (None, horizon)
        if plain and knows and b >= 0.5 and horizon >= world.arms:
            return theory.elimination_regret_bound(world.means, horizon=horizon, b=b, sigma=sigma, form=radius)
    if name == "EpsilonGreedy" and b > 0.5:
        epsilon = given.get("epsilon")
        epsilon = 0.1 * (2 * b - 1) if epsilon is None else epsilon  # the policy's default
        form = "information" if given.get("leader") == "information" else "corrected"
        return theory.greedy_regret_bound(world.means, b, epsilon, sigma, form)
    return None


def lower_curve(group: list[Point], parameter: str) -> tuple[Floats, Floats] | None:
    """The lower bound of Theorem 1 along a group, where it covers all of it."""
    if any(point.world.facts["noise"] != "gaussian" or point.world.horizon < point.world.arms for point in group):
        return None
    facts = [point.world.facts for point in group]
    x = np.array([float(each[parameter]) for each in facts])
    values = [theory.minimax_lower_bound(e["arms"], e["horizon"], e["b"], e["sigma"]) for e in facts]
    return x, np.array(values)
