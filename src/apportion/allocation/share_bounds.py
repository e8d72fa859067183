"""Shares and their bounds, checked: what some split can satisfy, or a sentence that names the arms in the way."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from apportion._common.validation import refuse
from apportion.errors import Infeasible
from apportion.model.sums import Floats

Names = Sequence[str] | None

SUM_SLACK: Final = 1e-12
"""A sum this close to 1 is 1."""
INPUT_SLACK: Final = 1e-9
"""Shares as given may miss a sum of 1 by this much."""

_MOST_LISTED: Final = 6


def checked_shares(shares: npt.ArrayLike) -> Floats:
    """Non-negative numbers that add up to 1."""
    given = _numbers("shares", shares)
    if given.ndim != 1 or not given.size:
        raise refuse("shares", "one share per arm, of shape (K,)", given.shape)
    smallest, total = float(given.min()), float(given.sum())
    if not smallest >= 0.0:
        raise refuse("shares", "non-negative numbers", smallest)
    if not abs(total - 1.0) <= INPUT_SLACK:
        raise refuse("shares", "numbers that add up to 1", total)
    return given


def checked_bounds(
    low: npt.ArrayLike | None, high: npt.ArrayLike | None, arms: int, names: Names
) -> tuple[Floats, Floats]:
    """Minimum and maximum share per arm, such that some split satisfies them."""
    if names is not None and len(names) != arms:
        raise refuse("names", f"one name for each of {arms} arms", names)
    least = _bound("low", 0.0 if low is None else low, arms)
    most = _bound("high", 1.0 if high is None else high, arms)
    crossed = least > most
    if crossed.any():
        arm = int(np.argmax(crossed))
        raise Infeasible(
            f"The minimum share of {_name(arm, names)} ({least[arm]:g}) is above its maximum ({most[arm]:g})."
        )
    if float(least.sum()) > 1.0 + SUM_SLACK:
        raise _impossible("minimum", least, np.flatnonzero(least > 0.0), "at most", names)
    if float(most.sum()) < 1.0 - SUM_SLACK:
        raise _impossible("maximum", most, np.arange(arms), "at least", names)
    return least, np.minimum(most, 1.0)


def _bound(name: str, values: npt.ArrayLike, arms: int) -> Floats:
    given = _numbers(name, values)
    if given.shape not in ((), (arms,)):
        raise refuse(name, f"one share per arm, of shape ({arms},)", given.shape)
    if not float(given.min()) >= 0.0:
        raise refuse(name, "non-negative numbers", float(given.min()))
    return np.broadcast_to(given, (arms,))


def _numbers(name: str, values: npt.ArrayLike) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse(name, "numbers", values) from None


def _impossible(what: str, bounds: Floats, arms: Any, limit: str, names: Names) -> Infeasible:
    total = f"{float(bounds.sum()):.12g}"
    if arms.size == 1:
        arm = int(arms[0])
        return Infeasible(f"The {what} share of {_name(arm, names)} is {total}; it must be {limit} 1.")
    listed = listed_arms(arms, names, bounds)
    return Infeasible(f"The {what} shares of {listed} add up to {total}; they must add up to {limit} 1.")


def listed_arms(arms: Any, names: Names, values: Floats | None = None) -> str:
    """The arms by name, the first few of many: 'a' (0.6), 'b' (0.5) and 3 more."""
    shown = [
        _name(int(arm), names) + ("" if values is None else f" ({values[arm]:g})")
        for arm in (arms if arms.size <= _MOST_LISTED else arms[: _MOST_LISTED - 1])
    ]
    if arms.size > _MOST_LISTED:
        shown.append(f"{arms.size - _MOST_LISTED + 1} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _name(arm: int, names: Names) -> str:
    return f"arm {arm}" if names is None else repr(names[arm])
