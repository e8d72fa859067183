"""apportion splits a renewable, divisible budget over options with unknown, noisy returns, and learns.

>>> import apportion as ap
>>> allocator = ap.Allocator(ap.Odds(b=0.75), arms=("search", "social", "video"), seed=7)
>>> split = allocator.ask(budget=5000)
>>> sum(split.amounts.values())
5000.0
>>> allocator.tell(split.ticket, {"search": 812.0, "social": 410.5, "video": 77.0})

Names are imported on first use, so that `import apportion` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from apportion._version import __version__
from apportion.errors import (
    ApportionError,
    Conflict,
    IncompatibleState,
    Infeasible,
    InvalidValue,
    NotAllowed,
    ServiceUnavailable,
    SimulationFailed,
    StoreUnavailable,
    UnknownName,
)

if TYPE_CHECKING:
    from apportion import testing as testing
    from apportion import theory as theory
    from apportion._common.compiled import kernel as kernel
    from apportion.allocation import feasible as feasible
    from apportion.allocation.allocator import Allocator as Allocator
    from apportion.allocation.split import Split as Split
    from apportion.campaigns.campaign import Campaign as Campaign
    from apportion.client import Client as Client
    from apportion.inference.best_probabilities import best_probabilities as best_probabilities
    from apportion.inference.fit import BurnInFit as BurnInFit
    from apportion.inference.fit import NoiseFit as NoiseFit
    from apportion.inference.fit import burn_in_design as burn_in_design
    from apportion.inference.fit import fit_burn_in as fit_burn_in
    from apportion.inference.fit import fit_noise as fit_noise
    from apportion.model import confidence as confidence
    from apportion.model import estimators as estimators
    from apportion.model.exact_sums import Statistics as Statistics
    from apportion.model.law import Instance as Instance
    from apportion.model.noise import Batch as Batch
    from apportion.model.noise import CentredBernoulli as CentredBernoulli
    from apportion.model.noise import Gaussian as Gaussian
    from apportion.model.noise import Laplace as Laplace
    from apportion.model.noise import Rademacher as Rademacher
    from apportion.model.noise import StudentT as StudentT
    from apportion.model.noise import UniformNoise as UniformNoise
    from apportion.model.sums import Sums as Sums
    from apportion.policies import UCB as UCB
    from apportion.policies import AdaptiveElimination as AdaptiveElimination
    from apportion.policies import Auto as Auto
    from apportion.policies import EpsilonGreedy as EpsilonGreedy
    from apportion.policies import FollowTheLeader as FollowTheLeader
    from apportion.policies import Hedge as Hedge
    from apportion.policies import IndexPolicy as IndexPolicy
    from apportion.policies import Maillard as Maillard
    from apportion.policies import Matching as Matching
    from apportion.policies import Odds as Odds
    from apportion.policies import Oracle as Oracle
    from apportion.policies import Policy as Policy
    from apportion.policies import Recommended as Recommended
    from apportion.policies import SuccessiveElimination as SuccessiveElimination
    from apportion.policies import Thompson as Thompson
    from apportion.policies import Uniform as Uniform
    from apportion.reporting import figures as figures
    from apportion.reporting import html
    from apportion.simulation.plan import Informed as Informed
    from apportion.simulation.plan import simulate as simulate
    from apportion.simulation.result import Result as Result
    from apportion.simulation.result import load_result as load_result

    report = html

_HOMES = {
    "apportion.allocation.allocator": ("Allocator",),
    "apportion.client": ("Client",),
    "apportion.inference.fit": ("BurnInFit", "NoiseFit", "burn_in_design", "fit_burn_in", "fit_noise"),
    "apportion._common.compiled": ("kernel",),
    "apportion.model.law": ("Instance",),
    "apportion.campaigns.campaign": ("Campaign",),
    "apportion.model.noise": (
        "Batch", "CentredBernoulli", "Gaussian", "Laplace", "Rademacher", "StudentT", "UniformNoise",
    ),
    "apportion.policies": (
        "AdaptiveElimination", "Auto", "EpsilonGreedy", "FollowTheLeader", "Hedge", "IndexPolicy", "Maillard",
        "Matching", "Odds", "Oracle", "Policy", "Recommended", "SuccessiveElimination", "Thompson", "UCB", "Uniform",
    ),
    "apportion.inference.best_probabilities": ("best_probabilities",),
    "apportion.allocation.split": ("Split",),
    "apportion.simulation.result": ("Result", "load_result"),
    "apportion.simulation.plan": ("Informed", "simulate"),
    "apportion.model.exact_sums": ("Statistics",),
    "apportion.model.sums": ("Sums",),
}  # fmt: skip
_MODULES = {
    "confidence": "apportion.model.confidence",
    "estimators": "apportion.model.estimators",
    "feasible": "apportion.allocation.feasible",
    "figures": "apportion.reporting.figures",
    "report": "apportion.reporting.html",
    "testing": "apportion.testing",
    "theory": "apportion.theory",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ApportionError",
    "Conflict",
    "IncompatibleState",
    "Infeasible",
    "InvalidValue",
    "NotAllowed",
    "ServiceUnavailable",
    "SimulationFailed",
    "StoreUnavailable",
    "UnknownName",
    "__version__",
    *_MODULES,
    *_HOME,
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOME:
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value
    raise AttributeError(f"module 'apportion' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
