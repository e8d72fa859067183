"""What leaping can simulate, and the sentence for what it cannot."""

from __future__ import annotations

import math
from typing import Final

from apportion._common import validation
from apportion.errors import InvalidValue
from apportion.model.law import Instance
from apportion.model.noise import Gaussian
from apportion.policies.contract import Policy
from apportion.policies.elimination import SuccessiveElimination
from apportion.policies.full_feedback import FollowTheLeader
from apportion.policies.greedy import EpsilonGreedy
from apportion.policies.oracle import Oracle
from apportion.policies.uniform import Uniform

LONGEST_HORIZON: Final = 10**12
POLICIES: Final = (SuccessiveElimination, EpsilonGreedy, FollowTheLeader, Uniform, Oracle)

# Variances beyond this would leave the range of floats.
_LARGEST_VARIANCE = 1e140


def why_not(policy: Policy, instance: Instance, horizon: int, common: bool = False) -> str | None:
    """Why leaping cannot simulate this, as the object of "for …"; None where it can."""
    if type(policy) not in POLICIES:  # a subclass may decide by another rule
        names = ", ".join(cls.__name__ for cls in POLICIES)
        return f"{policy.label}, whose shares are not fixed between events as those of {names} are"
    if not isinstance(instance.noise, Gaussian):
        return f"{instance.noise.name} noise, of which only the Gaussian kind adds up to itself"
    if common:
        return "`common` noise, which is drawn period by period"
    if horizon > LONGEST_HORIZON:
        return f"horizons beyond {LONGEST_HORIZON:.0e}"
    if isinstance(policy, EpsilonGreedy):
        exponent = policy.prepared(instance.arms, horizon).exponent
        smallest = exponent * math.log(horizon) + math.log(instance.arms)
        if (2.0 - 2.0 * instance.b) * smallest > math.log(_LARGEST_VARIANCE):
            return (
                f"{policy.label} on {instance.label}, where shares get too small for their information to be counted"
            )
    return None


def refusal(reason: str) -> InvalidValue:
    """The error for `engine="leap"` where leaping cannot do it."""
    return validation.refuse("engine", f"'dense' or 'auto' for {reason}", "leap")
