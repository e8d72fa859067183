"""From a policy's name and what is known of the noise to a policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from apportion._common import validation
from apportion.errors import InvalidValue
from apportion.policies import FILES, Policy, find_policy
from apportion.policies.contract import policy_from_dict, required

# What is taken where nobody says: half the budget tells half as much, and noise of one per unit.
DEFAULT_B = 0.5


def choose_policy(
    policy: Policy | str, b: float | None = None, sigma: float | None = None, **more: Any
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
    cls = _find(policy)
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    given = {"b": b, "sigma": sigma, **more}
    chosen = {name: value for name, value in given.items() if value is not None and name in fields}
    assumed = []
    if "b" in fields and b is None:
        assumed.append("b")
        if fields["b"].default is dataclasses.MISSING:
            chosen["b"] = DEFAULT_B
    if "sigma" in fields and sigma is None:
        assumed.append("sigma")
    try:
        return cls(**chosen), tuple(assumed)
    except TypeError:
        raise InvalidValue(f"Policy {cls.__name__} needs {', '.join(required(cls))}: make it in Python.") from None


def told_policy(told: Any) -> Policy | str:
    """A policy as plain data tells it: by its name, or as {name, parameters}, as `Policy.to_dict` writes it.

    >>> told_policy({"name": "odds", "parameters": {"b": 0.75, "floor": 0.01}})
    Odds(b=0.75, floor=0.01)
    """
    if isinstance(told, str):
        return told
    if not isinstance(told, Mapping):
        raise validation.refuse("policy", "a policy or the name of one", told)
    name, parameters = told.get("name"), told.get("parameters", {})
    if not isinstance(name, str) or not isinstance(parameters, Mapping) or set(told) - {"name", "parameters"}:
        raise validation.refuse("policy", "a name, or an object with name and parameters", dict(told))
    return policy_from_dict({"name": name, "parameters": dict(parameters)}, _find) if "parameters" in told else name


def _find(name: str, home: str | None = None) -> type[Policy]:
    if home is not None:
        return find_policy(name, home)
    exact = {known.lower(): known for known in FILES}
    return find_policy(exact.get(name.lower().replace("-", "").replace("_", ""), name))
