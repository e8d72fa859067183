"""What the laboratory offers: worlds to begin with, families of noise, and every policy with its parameters."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any, NamedTuple

from apportion.model.noise import Batch, CentredBernoulli, Noise, StudentT
from apportion.policies import FILES, Policy, find_policy
from apportion.policies.adaptive_elimination import SPLITS
from apportion.policies.elimination import RADII
from apportion.policies.greedy import LEADERS
from apportion.policies.pooled import INDICES
from apportion.simulation.families import FAMILIES, means_of
from apportion.studies.scenarios import SCENARIOS, Scenario

# The order in which people meet the policies: ours, those of the paper, the classical ones, the yardsticks.
ORDER = (
    "Recommended", "Odds", "Maillard", "Matching", "AdaptiveElimination", "SuccessiveElimination", "EpsilonGreedy",
    "Thompson", "UCB", "FollowTheLeader", "Hedge", "Uniform", "Oracle",
)  # fmt: skip

# Where a policy cannot run, its own check says so; here it is told beforehand.
NEEDS = {
    "EpsilonGreedy": "Needs b above 0.5.",
    "Hedge": "Needs b = 1 (full feedback).",
    "FollowTheLeader": "Made for b = 1; below that a wrong leader can stay for ever.",
}
CHOICES = {"radius": RADII, "index": INDICES, "leader": LEADERS, "split": SPLITS}
HINTS = {
    "b": "the b it is told; empty: the true one",
    "sigma": "the σ it is told; empty: the true one",
    "horizon": "the horizon it is told; empty: the true one",
    "tilt": "power of the weights; empty: √κ, κ = 1/(2−2b)",
    "floor": "power α of the smallest share t^(−α)/K; 0: none; empty: its own",
    "scale": "width of the intervals; 1 has the proof, 0.5 measures better",
    "epsilon": "in (0, 2b−1); empty: a tenth of that",
    "delta": "error level of the intervals; empty: by the horizon",
    "pairwise": "compare two arms at a time",
    "radius": "how wide the intervals are",
    "index": "kind of optimism",
    "leader": "which mean leads",
    "split": "what the arms in the race get",
}
# The truth about the means is what `Oracle` is there for: nobody types it in.
TOLD_ALWAYS = ("means",)


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


NOISES: dict[str, tuple[str, type[Noise] | None]] = {
    "gaussian": ("Gaussian", None),
    "uniform": ("Uniform", None),
    "rademacher": ("Coin: +1 or −1", None),
    "bernoulli": ("Success or not, centred", CentredBernoulli),
    "batch": ("Batches of successes", Batch),
    "laplace": ("Laplace (no guarantee covers it)", None),
    "student": ("Student's t (no guarantee covers it)", StudentT),
}


def describe_noises() -> list[dict[str, Any]]:
    """The families of noise with the parameters they take."""
    return [
        {"name": name, "title": title, "parameters": {} if family is None else family().describe() | {"name": name}}
        for name, (title, family) in NOISES.items()
    ]


def describe_policies() -> list[dict[str, Any]]:
    """Every policy of the package: what it does, what it needs, and what can be set."""
    missing = set(FILES) - set(ORDER)  # one that is new is offered last, never left out
    return [describe_policy(find_policy(name)) for name in (*ORDER, *sorted(missing))]


def describe_policy(cls: type[Policy]) -> dict[str, Any]:
    """One policy for the page.

    >>> [(p["name"], p["kind"]) for p in describe_policy(find_policy("UCB"))["parameters"]]
    [('index', 'choice'), ('sigma', 'number'), ('horizon', 'number')]
    """
    told = ("b", "sigma", "horizon")
    fields = [field for field in dataclasses.fields(typing.cast(Any, cls)) if field.name not in TOLD_ALWAYS]
    ordered = sorted(fields, key=lambda field: field.name in told)  # what is the policy's own comes first
    return {
        "name": cls.__name__,
        "rule": cls.rule[:1].upper() + cls.rule[1:] + ".",
        "needs": NEEDS.get(cls.__name__, ""),
        "parameters": [_describe_parameter(field.name, field.default) for field in ordered],
    }


def _describe_parameter(name: str, default: Any) -> dict[str, Any]:
    plain = {bool: "flag", str: "text"}.get(type(default), "number")
    kind = "choice" if name in CHOICES else plain
    known = default is not dataclasses.MISSING and name not in ("b", "sigma", "horizon")
    return {
        "name": name,
        "kind": kind,
        "options": list(CHOICES.get(name, ())),
        "default": default if known else None,
        "hint": HINTS.get(name, ""),
    }
