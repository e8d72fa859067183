"""apportion splits a renewable, divisible budget over options with unknown, noisy returns, and learns.

>>> import apportion as ap
>>> allocator = ap.Allocator(ap.Odds(b=0.75), arms=("search", "social", "video"), seed=7)
>>> split = allocator.ask(budget=5000)
>>> sum(split.amounts.values())
5000.0
>>> allocator.tell(split.ticket, {"search": 812.0, "social": 410.5, "video": 77.0})

Names are imported on first use, so that `import apportion` costs next to nothing.
"""

# ruff: noqa: F401, F403

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from apportion._version import __version__

if TYPE_CHECKING:
    from apportion import testing as testing
    from apportion import theory as theory
    from apportion._common.compiled import kernel as kernel
    from apportion.allocation import feasible as feasible
    from apportion.allocation.allocator import Allocator as Allocator
    from apportion.allocation.split import Split as Split
    from apportion.campaigns.campaign import Campaign as Campaign
    from apportion.client import AsyncClient as AsyncClient
    from apportion.client import Client as Client
    from apportion.errors import *
    from apportion.inference.best_probabilities import best_probabilities as best_probabilities
    from apportion.inference.fit import BurnInFit as BurnInFit
    from apportion.inference.fit import NoiseFit as NoiseFit
    from apportion.inference.fit import burn_in_design as burn_in_design
    from apportion.inference.fit import fit_burn_in as fit_burn_in
    from apportion.inference.fit import fit_noise as fit_noise
    from apportion.inference.fitted_world import FittedWorld as FittedWorld
    from apportion.inference.fitted_world import fit_world as fit_world
    from apportion.inference.fitted_world import world_from_history as world_from_history
    from apportion.model import confidence as confidence
    from apportion.model import estimators as estimators
    from apportion.model import response as response
    from apportion.model.curves import Capped as Capped
    from apportion.model.curves import Logarithmic as Logarithmic
    from apportion.model.curves import Saturating as Saturating
    from apportion.model.empirical_noise import Empirical as Empirical
    from apportion.model.exact_sums import Statistics as Statistics
    from apportion.model.law import Instance as Instance
    from apportion.model.law import ResponseWorld as ResponseWorld
    from apportion.model.moving import Moving as Moving
    from apportion.model.neighbours import Concave as Concave
    from apportion.model.neighbours import ConcaveSlopes as ConcaveSlopes
    from apportion.model.neighbours import Discounted as Discounted
    from apportion.model.neighbours import Jobs as Jobs
    from apportion.model.neighbours import SuccessCurves as SuccessCurves
    from apportion.model.neighbours import Thresholds as Thresholds
    from apportion.model.noise import *
    from apportion.model.noise import Noise as Noise
    from apportion.model.sums import Sums as Sums
    from apportion.model.world import Course as Course
    from apportion.model.world import World as World
    from apportion.policies import published as published
    from apportion.policies.registry import *
    from apportion.reporting import figures as figures
    from apportion.reporting import html
    from apportion.simulation.candidates import Informed as Informed
    from apportion.simulation.result import Result as Result
    from apportion.simulation.result import load_result as load_result
    from apportion.simulation.simulate import simulate as simulate

    report = html

_HOMES = {
    "apportion.allocation.allocator": ("Allocator",),
    "apportion.client": ("AsyncClient", "Client"),
    "apportion.errors": (
        "ApportionError", "ChangedSince", "Conflict", "IncompatibleState", "Infeasible", "InvalidValue", "NotAllowed",
        "ServiceUnavailable", "SimulationFailed", "StoreUnavailable", "UncertainWrite", "Unconfirmed", "UnknownName",
    ),
    "apportion.inference.fit": ("BurnInFit", "NoiseFit", "burn_in_design", "fit_burn_in", "fit_noise"),
    "apportion.inference.fitted_world": ("FittedWorld", "fit_world", "world_from_history"),
    "apportion._common.compiled": ("kernel",),
    "apportion.model.empirical_noise": ("Empirical",),
    "apportion.model.curves": ("Capped", "Logarithmic", "Saturating"),
    "apportion.model.law": ("Instance", "ResponseWorld"),
    "apportion.model.moving": ("Moving",),
    "apportion.model.neighbours": ("Concave", "ConcaveSlopes", "Discounted", "Jobs", "SuccessCurves", "Thresholds"),
    "apportion.model.noise": ("Noise",),
    "apportion.model.world": ("Course", "World"),
    "apportion.campaigns.campaign": ("Campaign",),
    "apportion.inference.best_probabilities": ("best_probabilities",),
    "apportion.allocation.split": ("Split",),
    "apportion.simulation.result": ("Result", "load_result"),
    "apportion.simulation.candidates": ("Informed",),
    "apportion.simulation.simulate": ("simulate",),
    "apportion.model.exact_sums": ("Statistics",),
    "apportion.model.sums": ("Sums",),
}  # fmt: skip
_MODULES = {
    "confidence": "apportion.model.confidence",
    "estimators": "apportion.model.estimators",
    "feasible": "apportion.allocation.feasible",
    "figures": "apportion.reporting.figures",
    "published": "apportion.policies.published",
    "report": "apportion.reporting.html",
    "response": "apportion.model.response",
    "testing": "apportion.testing",
    "theory": "apportion.theory",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _public_names()
    if name in _MODULES:
        return import_module(_MODULES[name])
    if not name.startswith("_") and (home := _HOME.get(name) or _listed_elsewhere().get(name)):
        value = globals()[name] = getattr(import_module(home), name)
        return value
    raise AttributeError(f"module 'apportion' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_public_names())


def _public_names() -> list[str]:
    return sorted({"__version__", *_MODULES, *_HOME, *_listed_elsewhere()})


@cache
def _listed_elsewhere() -> dict[str, str]:
    """Where policies and families of noise are defined; they are listed in their own tables and not again here."""
    policies, noise = "apportion.policies.registry", "apportion.model.noise"
    names = ("IndexPolicy", "Policy", *import_module(policies).POLICIES)
    return {**dict.fromkeys(names, "apportion.policies"), **dict.fromkeys(import_module(noise).__all__, noise)}
