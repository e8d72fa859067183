"""σ of a campaign's arms: one number for all, or one per arm, kept by name so that it stays with its arm."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from apportion._common import validation
from apportion.allocation.arms import by_name
from apportion.errors import InvalidValue, UnknownName
from apportion.model.law import positive_per_arm
from apportion.model.sums import Floats

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
