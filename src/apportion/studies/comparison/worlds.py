"""Policies and worlds by the names that people give: ours, those of neighbouring models, real ones, their own."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from apportion._common.imports import object_at
from apportion._common.validation import refuse
from apportion.errors import ApportionError, InvalidValue
from apportion.model.law import Instance
from apportion.model.neighbours import Concave, ConcaveSlopes, Discounted, Jobs, SuccessCurves, Thresholds
from apportion.model.real_worlds import real_worlds
from apportion.model.world import World
from apportion.policies import POLICIES, Policy, find_policy
from apportion.policies.published import PUBLISHED
from apportion.simulation.candidates import Candidate, Informed
from apportion.simulation.executors import reason_of
from apportion.simulation.user_code import load_module
from apportion.studies.concave.worlds import Case

USUAL_POLICIES: Final = (
    "Uniform", "RiverUCB", "QuarterlyRefit", "DiscretisedCUCB", "GradientAscent", "OptimisticAllocation",
    "MARA", "CensoredMultiplePlays", "Thompson", "Matching", "Recommended",
)  # fmt: skip
"""What is compared unless it is said: all that is quick to compile and to play."""

_KNOTS = tuple(np.linspace(0.0, 1.0, 21).round(2).tolist())


@functools.cache
def neighbours() -> Mapping[str, tuple[str, World]]:
    """A world of each neighbouring model, and the paper's own, by key, with a title."""
    concave = [1.0 - np.exp(-3.0 * np.array(_KNOTS)), 0.8 * np.sqrt(_KNOTS), 0.7 * np.array(_KNOTS)]
    curves = np.array([np.array(_KNOTS) ** power for power in (0.5, 1.0, 2.0, 4.0)])
    return {
        "paper": ("The paper's law", Instance((1.0, 0.5, 0.5, 0.5, 0.5), b=0.75)),
        "bent": ("Diminishing returns", Instance((1.0, 0.85, 0.7, 0.6, 0.4), b=0.5, sigma=0.3, c=0.7)),
        "jobs": ("Jobs with caps", Jobs(needs=(0.3, 0.5, 0.8, 1.2))),
        "thresholds": ("Thresholds", Thresholds(rates=(0.9, 0.8, 0.6, 0.5, 0.4, 0.3), threshold=0.3)),
        "concave": ("Concave curves", Concave(values=np.array(concave), knots=_KNOTS, sigma=0.1)),  # type: ignore[arg-type]
        "slopes": ("Concave curves, slopes seen", ConcaveSlopes(((2.0, 0.0), (1.0, 0.2), (1.5, 0.0), (1.2, 0.6)))),
        "curves": ("Success curves", SuccessCurves(chances=0.9 * curves)),  # type: ignore[arg-type]
        "discounted": ("Discounted", Discounted(means=(1.0, 0.7, 0.5), discount=0.99, sigma=0.5)),
    }


USUAL_WORLDS: Final = ("paper", "bent", "jobs", "thresholds", "concave", "curves", "discounted")


def world_names() -> tuple[str, ...]:
    """Every key that `named_worlds` knows."""
    return (*neighbours(), *(each.key for each in real_worlds()))


def named_worlds(names: Iterable[str]) -> list[Case]:
    """The worlds of these names: a key, an import path 'module:Class', or 'file.py:Class'; an instance will do too.

    Those of users have their label as a name, or the path where another world has that.

    >>> [case.name for case in named_worlds(["jobs", "fields"])]
    ['Jobs with caps', 'Field trials']
    """
    real = {each.key: Case(each.title, each.world, each.quarter) for each in real_worlds()}
    found = []
    for name in names:
        if name in neighbours():
            found.append(Case(*neighbours()[name]))
        elif name in real:
            found.append(real[name])
        elif ":" in name:
            own = _own_world(name)
            taken = own.world.label in {case.name for case in found}
            found.append(own._replace(name=name) if taken else own)
        else:
            allowed = f"one of {', '.join(world_names())}, 'module:Class' or 'file.py:Class'"
            raise refuse("world", allowed, name)
    return found


def named_policies(names: Iterable[str]) -> dict[str, Candidate]:
    """The policies of these names: one of ours, an import path 'module:Class', or 'file.py:Class', or an instance.

    A class is told the truth that it asks for. Those of users have the path for a name where another has theirs.

    >>> list(named_policies(["Uniform", "RiverUCB"]))
    ['Uniform', 'RiverUCB']
    """
    found: dict[str, Candidate] = {}
    for name in names:
        own = _own("policy", name, Policy) if ":" in name else _ours(name)
        entry = Informed(own) if isinstance(own, type) else own
        usual = own.__name__ if isinstance(own, type) else name.rpartition(":")[2]
        found[usual if found.get(usual, entry) == entry else name] = entry
    return found


def _ours(name: str) -> Any:
    known = {each.lower(): each for each in (*POLICIES, *PUBLISHED)}
    exact = known.get(name.lower().replace("-", "").replace("_", ""))
    if exact is None:
        raise refuse("policy", f"one of {', '.join(known.values())}, 'module:Class' or 'file.py:Class'", name)
    return find_policy(exact)


def _own_world(name: str) -> Case:
    found = _own("world", name, World)
    if isinstance(found, type):
        try:
            found = found()
        except ApportionError:
            raise
        except TypeError as error:
            raise InvalidValue(f"`world` {name} must have a default for every parameter: {error}.") from error
    return Case(found.label, found)


def _own(kind: str, name: str, base: type) -> Any:
    """A user's class or an instance, by an import path or in a file."""
    place, _, attribute = name.rpartition(":")
    if place.endswith(".py"):
        file = Path(place)
        if not file.is_file():
            raise refuse(kind, "a Python file and a name in it, 'file.py:Class'", name)
        try:
            found = getattr(load_module(file.resolve()), attribute, None)
        except ApportionError:
            raise
        except (Exception, SystemExit) as error:  # the file is the user's: anything can go wrong in it
            raise InvalidValue(f"{file} cannot be loaded: {reason_of(error)}.") from error
    else:
        here = str(Path.cwd())
        if here not in sys.path:  # `python -m apportion` looks there, the command `apportion` does not
            sys.path.append(here)
        found = object_at(kind, name)
    if isinstance(found, base) or (isinstance(found, type) and issubclass(found, base)):
        return found
    raise refuse(kind, f"a {kind} of {Path(place).name}", attribute)
