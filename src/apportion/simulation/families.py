"""Families of instances, by the number of arms and a gap: the shapes that regret is usually compared on."""

from __future__ import annotations

from collections.abc import Callable

from apportion._common import validation

BASE = 0.5
MOST_ARMS = 1_000_000


def one_good_arm(arms: int, gap: float) -> tuple[float, ...]:
    """One arm better than all others by `gap`.

    >>> one_good_arm(3, 0.25)
    (0.75, 0.5, 0.5)
    """
    return (BASE + gap, *(BASE for _ in range(arms - 1)))


def linear(arms: int, gap: float) -> tuple[float, ...]:
    """Means falling evenly, `gap` from each to the next.

    >>> linear(3, 0.25)
    (1.0, 0.75, 0.5)
    """
    return tuple(BASE + gap * (arms - 1 - arm) for arm in range(arms))


def clustered(arms: int, gap: float) -> tuple[float, ...]:
    """Two clusters: a third of the arms (one at least) good, the best of them by a tenth of `gap`.

    >>> clustered(6, 1.0)
    (1.6, 1.5, 0.5, 0.5, 0.5, 0.5)
    """
    good = max(1, arms // 3)
    rest = (BASE + gap for _ in range(good - 1))
    return (BASE + 1.1 * gap, *rest, *(BASE for _ in range(arms - good)))


def nearly_tied(arms: int, gap: float) -> tuple[float, ...]:
    """Two arms on top, a tenth of `gap` apart, all others `gap` below.

    >>> nearly_tied(3, 1.0)
    (1.5, 1.4, 0.5)
    """
    return (BASE + gap, BASE + 0.9 * gap, *(BASE for _ in range(arms - 2)))


FAMILIES: dict[str, Callable[[int, float], tuple[float, ...]]] = {
    "one good arm": one_good_arm,
    "linear": linear,
    "clustered": clustered,
    "nearly tied": nearly_tied,
}


def means_of(family: str, arms: int, gap: float) -> tuple[float, ...]:
    """The means of a family by its name."""
    shape = FAMILIES[validation.choice("family", family, tuple(FAMILIES))]
    return shape(validation.whole("arms", arms, low=2, high=MOST_ARMS), validation.number("gap", gap, low=0.0))
