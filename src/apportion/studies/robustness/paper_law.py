"""What it costs to take the paper's law for granted, returns in proportion and one σ, where the world is another."""

from __future__ import annotations

import dataclasses
import math

from apportion.model.world import World
from apportion.policies import Auto, Policy, Recommended
from apportion.simulation.candidates import Candidate, Informed

# The worlds in the folder of the study, named and fresh, and the headings of their sections.
FILES = {
    "concave.json": "Returns that diminish, unequal noise, seasons",
    "concave-fresh.json": "The same in worlds drawn at random",
}
HORIZONS = (400, 2_000)
RUNS, QUICK_RUNS = 20, 4


class ByThePaper(Informed):
    """A policy class that is told b and one σ for all arms, the geometric mean of theirs, and believes c = 1."""

    def on(self, instance: World) -> Policy:
        """The policy for that world."""
        policy = super().on(instance)
        levels = getattr(policy, "sigma", 1.0)
        each = levels if isinstance(levels, tuple) else (levels,)
        sigma = math.exp(sum(map(math.log, each)) / len(each))
        return dataclasses.replace(policy, c=1.0, sigma=sigma)  # type: ignore[type-var]


def believers() -> dict[str, Candidate]:
    """Who is told the law, who takes the paper's for granted, and who learns it."""
    return {
        "Recommended, told the law": Informed(Recommended),
        "Recommended, by the paper": ByThePaper(Recommended),
        "Auto, told nothing": Auto(),
    }
