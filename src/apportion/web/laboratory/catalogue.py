"""What the laboratory offers: worlds to begin with, families of noise, and every policy with its parameters."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from apportion.model.noise import FAMILIES as NOISE_FAMILIES
from apportion.model.noise import Noise
from apportion.policies import POLICIES, Policy, find_policy
from apportion.policies.parameters import Parameter
from apportion.policies.registry import parameters
from apportion.simulation.families import FAMILIES, means_of
from apportion.studies.scenarios import SCENARIOS, Scenario

# The truth about the means is what `Oracle` is there for: nobody types it in.
NOT_OFFERED = ("means",)
# Of the true world unless someone says otherwise.
TRUTHS = ("b", "sigma", "horizon")


class Preset(NamedTuple):
    """A world to begin with, and how long to play in it."""

    key: str
    title: str
    story: str
    means: tuple[float, ...]
    b: float
    sigma: float
    horizon: int
    family: str | None
    unit: str
    arms: tuple[str, ...]


def unit_scenario(scenario: Scenario) -> Preset:
    """A scenario with its budget B as the unit: means B·μ and noise B^b·σ, so regret is in what the owner counts.

    >>> from apportion.studies.scenarios import RESEARCH
    >>> preset = unit_scenario(RESEARCH)
    >>> preset.means, round(preset.sigma, 3), preset.unit
    ((4.0, 5.5, 4.75, 2.5), 3.624, 'results')
    """
    means = tuple(round(scenario.budget * mean, 9) for mean in scenario.means)
    sigma = float(f"{scenario.budget**scenario.b * scenario.sigma:.6g}")
    key = scenario.title.lower().replace(" ", "-")
    return Preset(
        key, scenario.title, scenario.story, means, scenario.b, sigma, scenario.periods, None, scenario.returns,
        scenario.arms,
    )  # fmt: skip


FAMILY_STORIES = {
    "one good arm": "One arm is better than all others by the gap.",
    "linear": "Means fall evenly, one gap from each arm to the next.",
    "clustered": "A third of the arms is good, and the best of them by a tenth of the gap only.",
    "nearly tied": "Two arms on top, a tenth of the gap apart; all others one gap below.",
}
FAMILY_ARMS, FAMILY_GAP = 5, 0.5


def presets() -> list[Preset]:
    """The families that regret is usually compared on, then the paper's three examples."""
    shapes = [
        Preset(
            name.replace(" ", "-"), name.capitalize(), FAMILY_STORIES[name], means_of(name, FAMILY_ARMS, FAMILY_GAP),
            0.75, 1.0, 10_000, name, "return", (),
        )
        for name in FAMILIES
    ]  # fmt: skip
    return [*shapes, *(unit_scenario(scenario) for scenario in SCENARIOS)]


def describe_noises() -> list[dict[str, Any]]:
    """The families of noise with the parameters they take."""
    return [_describe_noise(family()) for family in NOISE_FAMILIES.values()]


def _describe_noise(noise: Noise) -> dict[str, Any]:
    described = noise.describe()
    covered = "" if math.isfinite(noise.proxy) else " (no guarantee covers it)"
    return {
        "name": noise.name,
        "title": (noise.title or noise.name.capitalize()) + covered,
        "parameters": described if len(described) > 1 else {},
    }


def describe_policies() -> list[dict[str, Any]]:
    """Every policy of the package: what it does, what it needs, and what can be set."""
    return [describe_policy(find_policy(name)) for name in POLICIES]


def describe_policy(cls: type[Policy]) -> dict[str, Any]:
    """One policy for the page.

    >>> [(p["name"], p["kind"]) for p in describe_policy(find_policy("UCB"))["parameters"]]
    [('index', 'choice'), ('sigma', 'number'), ('horizon', 'whole')]
    """
    own = [
        parameter
        for parameter in parameters(cls)
        if parameter.name not in NOT_OFFERED and not (parameter.constraint and parameter.constraint.kind == "fixed")
    ]
    ordered = sorted(own, key=lambda parameter: parameter.name in TRUTHS)  # what is the policy's own comes first
    return {
        "name": cls.__name__,
        "rule": cls.rule[:1].upper() + cls.rule[1:] + ".",
        "needs": cls.needs,
        "parameters": [_describe_parameter(parameter) for parameter in ordered],
    }


def _describe_parameter(parameter: Parameter) -> dict[str, Any]:
    constraint = parameter.constraint
    return {
        "name": parameter.name,
        "kind": "number" if constraint is None else constraint.kind,
        "options": [] if constraint is None else list(constraint.bounds.get("options", ())),
        "default": None if parameter.required or parameter.name in TRUTHS else parameter.default,
        "hint": "" if constraint is None else constraint.hint,
    }
