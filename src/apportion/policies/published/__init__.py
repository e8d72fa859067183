"""Policies that others published for neighbouring models, and rules in use today, written to be compared.

They are for simulations: most keep statistics of their own, which live use does not. `apportion.published` has them
by name, and `simulate`, sweeps and `apportion compare` find them by it.

>>> import apportion as ap
>>> ap.published.OptimisticAllocation()
OptimisticAllocation()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apportion.policies.published.baselines import QuarterlyRefit as QuarterlyRefit
    from apportion.policies.published.baselines import RiverUCB as RiverUCB
    from apportion.policies.published.caps import MARA as MARA
    from apportion.policies.published.caps import OptimisticAllocation as OptimisticAllocation
    from apportion.policies.published.concave import GradientAscent as GradientAscent
    from apportion.policies.published.concave import NoisyBisection as NoisyBisection
    from apportion.policies.published.gaussian_process import GaussianProcessKnapsack as GaussianProcessKnapsack
    from apportion.policies.published.levels import DiscretisedCUCB as DiscretisedCUCB
    from apportion.policies.published.multiple_plays import CensoredMultiplePlays as CensoredMultiplePlays
    from apportion.policies.published.nested_bisection import NestedBisection as NestedBisection

# The file of each.
PUBLISHED = {
    "OptimisticAllocation": "caps",
    "MARA": "caps",
    "CensoredMultiplePlays": "multiple_plays",
    "NestedBisection": "nested_bisection",
    "NoisyBisection": "concave",
    "GradientAscent": "concave",
    "DiscretisedCUCB": "levels",
    "GaussianProcessKnapsack": "gaussian_process",
    "RiverUCB": "baselines",
    "QuarterlyRefit": "baselines",
}


def __getattr__(name: str) -> Any:
    if name not in PUBLISHED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{PUBLISHED[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*PUBLISHED, "PUBLISHED"])
