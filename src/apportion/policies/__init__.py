"""Every policy, by name. A new one is one new file here and one line in this table.

Classes are imported on first use: each file needs only what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from apportion.errors import UnknownName
from apportion.policies.contract import Period, Policy, allocate, own_names, registered, required
from apportion.policies.contract import policy_from_dict as _policy_from_dict
from apportion.policies.index import IndexPolicy

if TYPE_CHECKING:
    from apportion.policies.adaptive_elimination import AdaptiveElimination as AdaptiveElimination
    from apportion.policies.auto import Auto as Auto
    from apportion.policies.elimination import SuccessiveElimination as SuccessiveElimination
    from apportion.policies.full_feedback import FollowTheLeader as FollowTheLeader
    from apportion.policies.full_feedback import Hedge as Hedge
    from apportion.policies.greedy import EpsilonGreedy as EpsilonGreedy
    from apportion.policies.odds import Maillard as Maillard
    from apportion.policies.odds import Matching as Matching
    from apportion.policies.odds import Odds as Odds
    from apportion.policies.oracle import Oracle as Oracle
    from apportion.policies.pooled import UCB as UCB
    from apportion.policies.pooled import Thompson as Thompson
    from apportion.policies.recommended import Recommended as Recommended
    from apportion.policies.uniform import Uniform as Uniform

FILES = {
    "SuccessiveElimination": "elimination",
    "EpsilonGreedy": "greedy",
    "UCB": "pooled",
    "Thompson": "pooled",
    "FollowTheLeader": "full_feedback",
    "Hedge": "full_feedback",
    "Uniform": "uniform",
    "Oracle": "oracle",
    "Matching": "odds",
    "Odds": "odds",
    "Maillard": "odds",
    "AdaptiveElimination": "adaptive_elimination",
    "Recommended": "recommended",
    "Auto": "auto",
}

__all__ = ["FILES", "IndexPolicy", "Period", "Policy", "allocate", "find_policy", "policy_from_dict", *FILES]


def __getattr__(name: str) -> Any:
    if name in FILES:
        return getattr(import_module(f"apportion.policies.{FILES[name]}"), name)
    raise AttributeError(f"module 'apportion.policies' has no attribute {name!r}")


def find_policy(name: str, home: str | None = None) -> type[Policy]:
    """A policy class by name: one of ours, or one defined in a module that was imported.

    `home` is what `Policy.kept` says of a class that is not ours; a name of ours without one is ours.
    """
    if name in FILES and home is None:
        ours: type[Policy] = __getattr__(name)
        return ours
    found = registered(name, home)
    if found is None:
        known = {*(each for each in FILES if set(required(__getattr__(each))) <= {"b"}), *own_names()}
        raise UnknownName(
            f"Policy '{name}' is not known; known are {', '.join(sorted(known))}. "
            "One of your own is for Python: import the module that defines it first."
        )
    return found


def policy_from_dict(state: dict[str, Any]) -> Policy:
    """The policy that `Policy.to_dict` or `Policy.kept` wrote."""
    return _policy_from_dict(state, find_policy)
