"""σ of a campaign's arms: one number for all, or one per arm, kept by name so that it stays with its arm."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self, overload

import numpy as np

from apportion._common import validation
from apportion.allocation.arms import by_name
from apportion.errors import InvalidValue, UnknownName
from apportion.model.law import positive_per_arm
from apportion.model.sums import Floats
from apportion.policies.contract import Policy

Sigma = float | Mapping[str, float]
"""As it is kept: a number, or one per arm by name."""
GivenSigma = float | Mapping[str, float] | Iterable[float]
"""As it is given: also one per arm in the order of the arms."""


def sigma_by_name(sigma: Any, names: Sequence[str]) -> Sigma | None:
    """σ as it is kept; None where it is not known.

    >>> sigma_by_name([40, 10], ("search", "social"))
    {'search': 40.0, 'social': 10.0}
    >>> sigma_by_name({"search": 40}, ("search", "social"))
    Traceback (most recent call last):
    apportion.errors.InvalidValue: `sigma` must be a number, or one for each arm; got none for 'social'.
    """
    if sigma is None:
        return None
    if not isinstance(sigma, Mapping) and not (hasattr(sigma, "keys") and hasattr(sigma, "items")):
        levels = positive_per_arm("sigma", sigma, len(names))
        return dict(zip(names, levels)) if isinstance(levels, tuple) else levels
    given, known = by_name("sigma", sigma), set(names)
    for name in given:
        if name not in known:
            raise UnknownName(f"`sigma` names '{name}', which is not one of the arms {', '.join(names[:20])}.")
    for name in names:
        if name not in given:
            raise InvalidValue(f"`sigma` must be a number, or one for each arm; got none for '{name}'.")
    return {name: validation.number(f"sigma of '{name}'", given[name], above=0.0) for name in names}


@overload
def in_order(sigma: Sigma, names: Sequence[str]) -> float | tuple[float, ...]: ...
@overload
def in_order(sigma: Sigma | None, names: Sequence[str]) -> float | tuple[float, ...] | None: ...
def in_order(sigma: Sigma | None, names: Sequence[str]) -> float | tuple[float, ...] | None:
    """σ as policies and worlds take it: a number, or one per arm in their order."""
    return tuple(sigma[name] for name in names) if isinstance(sigma, Mapping) else sigma


def per_arm(sigma: Sigma | None, names: Sequence[str]) -> Floats:
    """σ of each of these arms; NaN where it is not known."""
    found = in_order(sigma, names)
    return np.full(len(names), np.nan if found is None else found, dtype=np.float64)


class NoiseLevels(NamedTuple):
    """The σ of the arms, and the policy, which may have been given them too."""

    policy: Policy
    sigma: Sigma | None

    def with_arm(self, name: str, index: int, sigma: float | None, new: bool) -> Self:
        """With that of one arm more, which comes at this index: a `new` one needs it where every arm has its own."""
        policy, levels = self
        own = getattr(policy, "sigma", None)
        if not isinstance(levels, Mapping) and not isinstance(own, tuple):
            if sigma is not None:
                raise validation.refuse("sigma", "left out where the arms do not have one each", sigma)
            return self
        if sigma is None:
            if new:
                raise InvalidValue(f"`sigma` must be given for '{name}', as every arm has its own.")
            return self
        level = validation.number("sigma", sigma, above=0.0)
        if isinstance(levels, Mapping):
            levels = {**levels, name: level}
        if isinstance(own, tuple):
            policy = dataclasses.replace(policy, sigma=(*own[:index], level, *own[index + 1 :]))  # type: ignore[type-var]
        return type(self)(policy, levels)
