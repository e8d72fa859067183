"""Every policy by name, and from a name and what is known of the noise to a policy.

A new policy is one file beside this one and its two lines here: the import for type checkers, and the row of
`POLICIES`. The package's names, the laboratory, the command line and the reference follow this table.
Classes are imported on first use: each file needs only what it needs.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from apportion._common import validation
from apportion._common.imports import is_ours
from apportion.errors import InvalidValue, UnknownName
from apportion.policies.contract import Policy as Policy
from apportion.policies.index import IndexPolicy as IndexPolicy
from apportion.policies.parameters import Parameter, parameters_of
from apportion.policies.published import PUBLISHED

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
    from apportion.policies.pooled import UCB as UCB
    from apportion.policies.pooled import Thompson as Thompson
    from apportion.policies.recommended import Recommended as Recommended
    from apportion.policies.yardsticks import Oracle as Oracle
    from apportion.policies.yardsticks import Uniform as Uniform

# The file of each policy, in the order in which people meet them: ours, the paper's, the classical ones, the
# yardsticks, and what is new.
POLICIES = {
    "Recommended": "recommended",
    "Odds": "odds",
    "Maillard": "odds",
    "Matching": "odds",
    "AdaptiveElimination": "adaptive_elimination",
    "SuccessiveElimination": "elimination",
    "EpsilonGreedy": "greedy",
    "Thompson": "pooled",
    "UCB": "pooled",
    "FollowTheLeader": "full_feedback",
    "Hedge": "full_feedback",
    "Uniform": "yardsticks",
    "Oracle": "yardsticks",
    "Auto": "auto",
}

# What is taken where nobody says: half the budget carries half the information.
DEFAULT_B = 0.5


def find_policy(name: str, home: str | None = None) -> type[Policy]:
    """A policy class by name: one of ours, a published one, or one defined in a module that was imported.

    `home` is what `Policy.to_state` says of a class that is not ours; a name of ours without one is ours.
    """
    if name in POLICIES and home is None:
        ours: type[Policy] = getattr(import_module(f"apportion.policies.{POLICIES[name]}"), name)
        return ours
    if name in PUBLISHED and home is None:
        published: type[Policy] = getattr(import_module("apportion.policies.published"), name)
        return published
    found = _imported(name, home)
    if found is None:
        ours_by_name = [(each, find_policy(each)) for each in POLICIES]
        own = [(each, cls) for each, homes in Policy._registry.items() for cls in homes.values() if not is_ours(cls)]
        known = {each for each, cls in (*ours_by_name, *own) if set(_required(cls)) <= {"b"}}
        raise UnknownName(
            f"Policy '{name}' is not known; known are {', '.join(sorted(known))}. "
            "One of your own is for Python: import the module that defines it first."
        )
    return found


def parameters(policy: str | type[Policy]) -> tuple[Parameter, ...]:
    """The parameters of a policy: name, what is allowed, default, and a few words for people.

    >>> [(parameter.name, parameter.default) for parameter in parameters("UCB")]
    [('sigma', 1.0), ('index', 'ucb1'), ('horizon', None), ('c', 1.0)]
    >>> parameters("Odds")[0].allowed
    'a number in [0, 1]'
    """
    return parameters_of(find_policy(policy) if isinstance(policy, str) else policy)


def policy_from_dict(
    state: Mapping[str, Any], find: Callable[[str, str | None], type[Policy]] = find_policy
) -> Policy:
    """The policy that `Policy.to_dict` or `Policy.to_state` wrote; `find` turns a name and a home into the class.

    A parameter that is missing takes its default: state that was saved before a policy learned a new one loads.
    """
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in state["parameters"].items()}
    cls = find(state["name"], state.get("home"))
    try:
        return cls(**given)
    except TypeError as error:
        raise InvalidValue(f"Policy {state['name']} does not take these parameters: {given}.") from error


def policy_from_plain(given: Any) -> Policy | str:
    """A policy as people write it in JSON: a name, or {name, parameters} as `Policy.to_dict` writes it.

    >>> policy_from_plain({"name": "odds", "parameters": {"b": 0.75, "floor": 0.01}})
    Odds(b=0.75, floor=0.01)
    """
    if isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        raise validation.refuse("policy", "a policy or the name of one", given)
    name, values = given.get("name"), given.get("parameters", {})
    if not isinstance(name, str) or not isinstance(values, Mapping) or set(given) - {"name", "parameters"}:
        raise validation.refuse("policy", "a name, or an object with name and parameters", dict(given))
    return policy_from_dict({"name": name, "parameters": values}, _find_loosely) if "parameters" in given else name


def choose_policy(
    policy: Policy | str, b: float | None = None, sigma: float | tuple[float, ...] | None = None, **more: Any
) -> tuple[Policy, tuple[str, ...]]:
    """The policy, and which of b and sigma nobody gave: they are assumed, or learned by `Auto`.

    >>> choose_policy("auto")
    (Auto(), ('b', 'sigma'))

    >>> choose_policy("odds", b=0.75)
    (Odds(b=0.75), ('sigma',))
    """
    if isinstance(policy, Policy):
        return policy, ()
    if not isinstance(policy, str):
        raise validation.refuse("policy", "a policy or the name of one", policy)
    cls = _find_loosely(policy)
    declared = {parameter.name: parameter for parameter in parameters_of(cls)}
    given = {"b": b, "sigma": sigma, **more}
    chosen = {name: value for name, value in given.items() if value is not None and name in declared}
    assumed = tuple(name for name in ("b", "sigma") if name in declared and given[name] is None)
    if "b" in assumed and declared["b"].required:
        chosen["b"] = DEFAULT_B
    try:
        return cls(**chosen), assumed
    except TypeError:
        raise InvalidValue(f"Policy {cls.__name__} needs {', '.join(_required(cls))}: make it in Python.") from None


def _find_loosely(name: str, home: str | None = None) -> type[Policy]:
    """`find_policy`, but a name of ours may be written in any case, with hyphens or underscores."""
    exact = {known.lower(): known for known in POLICIES}
    return find_policy(name if home else exact.get(name.lower().replace("-", "").replace("_", ""), name), home)


def _imported(name: str, home: str | None) -> type[Policy] | None:
    """The class of that name at `home`, or the only one of that name; None where there is none.

    The only one will do: older releases stored no home, and a class may have moved, from `__main__` to a module say.
    But ours never stands in for one that has a home, which is not ours.
    """
    found = Policy._registry.get(name, {})
    if home is not None:
        if home in found:
            return found[home]
        found = {known: cls for known, cls in found.items() if not is_ours(cls)}
    if len(found) > 1:
        homes = ", ".join(sorted(found))
        if home is None:
            advice = "Give the policy itself, or import the module of one alone."
            raise UnknownName(f"Policy '{name}' is not known by its name alone: there are {homes}. {advice}")
        advice = "Import the module that defines it first."
        raise UnknownName(f"Policy '{home}' is not known; of that name are {homes}. {advice}")
    return next(iter(found.values()), None)


def _required(cls: type[Policy]) -> tuple[str, ...]:
    """The parameters that a policy class cannot do without."""
    return tuple(parameter.name for parameter in parameters_of(cls) if parameter.required)
