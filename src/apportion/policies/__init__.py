"""Policies: each an immutable record of parameters and one function from sums to shares, found by name.

Here belong the contract, the registry and one file per policy; not what is stored, drawn or shown.
"""

from typing import TYPE_CHECKING, Any

from apportion.policies.contract import Period, allocate
from apportion.policies.index import IndexPolicy
from apportion.policies.registry import POLICIES, Policy, find_policy, policy_from_dict

if TYPE_CHECKING:
    from apportion.policies.registry import *  # noqa: F403

__all__ = ["POLICIES", "IndexPolicy", "Period", "Policy", "allocate", "find_policy", "policy_from_dict", *POLICIES]


def __getattr__(name: str) -> Any:
    if name in POLICIES:
        return find_policy(name)
    raise AttributeError(f"module 'apportion.policies' has no attribute {name!r}")
