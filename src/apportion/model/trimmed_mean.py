"""Sums that a few outliers cannot spoil: the past in sixteen groups, and a trimmed mean over them.

Outcomes go into G = 16 groups by their period, one after the other. Each group has sums of its own, and so an
estimate of every arm's mean; one outlier spoils one group. The centre of an arm is the trimmed mean of its
groups' estimates: sorted, weighted by their precision, with the outer τ = 1/5 of the weight on either side left out,

    centre = 1/(1 − 2τ) · ∫ F⁻¹(u) du over u from τ to 1 − τ,

F the weighted distribution of the groups' estimates. τ → 1/2 would be the median of means. What policies see are the
sums with this centre in them, score = B × centre with B = Σ_g B_g, so every policy works as it is.

What it costs and what it gives: with equal groups and Gaussian noise the variance is 1.13 times that of the plain
mean (`docs/robustness.md` has the regret). Groups that together hold less than τ of an arm's information on either
side may hold anything. An arm with one or two outcomes has nothing to trim against.

What is lost: the anytime intervals and the radii of elimination are theorems about the plain mean, and not proven for
this one. With skewed noise the centre leans to the median. With a fixed number of groups it is not median-of-means
with its sub-Gaussian bound at every level δ, which needs about 8·log(1/δ) groups.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from apportion._common import validation
from apportion.errors import IncompatibleState, InvalidValue
from apportion.model.estimators import mu1, mu1_precision, mu2, mu2_precision, mu_star
from apportion.model.exact_sums import Statistics
from apportion.model.memory import Window
from apportion.model.sums import (
    GRID_FIELDS,
    Floats,
    Grid,
    GridSums,
    Sums,
)

GROUPS = 16
TRIM = 0.2


class Groups:
    """Statistics in groups by period; `sums` has the robust centre in the place of the mean. Exact like its groups.

    >>> past = Groups([Statistics(arms=1, b=0.5) for _ in range(GROUPS)])
    >>> for outcome in (1.0, 1.1, 0.9, 1.0, 1e6):         # the last one is a slip of the decimal point
    ...     past.advance()
    ...     past.update([1.0], [outcome])
    >>> sums = past.sums()
    >>> round(float(sums.score[0] / sums.information[0]), 3)
    1.033
    """

    def __init__(self, groups: Sequence[Statistics]) -> None:
        self._groups = tuple(groups)

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return self._groups[0].arms

    @property
    def b(self) -> Any:
        """The exponent the sums are kept for; the exponents, where it is to be learned."""
        return self._groups[0].b

    @property
    def c(self) -> Any:
        """The exponent of the mean that the sums are kept for; the exponents, where it is to be learned."""
        return self._groups[0].c

    @property
    def half_life(self) -> float | None:
        """Periods until an outcome counts half."""
        return self._groups[0].half_life

    @property
    def period(self) -> int:
        """The present period."""
        return self._groups[0].period

    def _group(self, period: int | None) -> Statistics:
        return self._groups[(self.period if period is None else period) % len(self._groups)]

    def update(self, amounts: ArrayLike, outcomes: ArrayLike, period: int | None = None) -> None:
        """Take in outcomes; see `Statistics.update`. The period also chooses the group."""
        self._group(period).update(amounts, outcomes, period)

    def revert(self, amounts: ArrayLike, outcomes: ArrayLike, period: int | None = None) -> None:
        """Take back outcomes that `update` took in with the same arguments, exactly."""
        self._group(period).revert(amounts, outcomes, period)

    def advance(self, periods: int = 1) -> None:
        """Let time pass in every group."""
        for group in self._groups:
            group.advance(periods)

    def merge(self, other: "Groups") -> None:
        """Take in all that `other` holds, group by group; all of it or nothing."""
        if not isinstance(other, Groups) or len(other._groups) != len(self._groups):
            raise InvalidValue("`other` must be kept in the same number of groups.")
        merged = [type(own).from_dict(own.to_dict()) for own in self._groups]
        for own, theirs in zip(merged, other._groups):
            own.merge(theirs)
        self._groups = tuple(merged)

    def add_arms(self, arms: int = 1) -> None:
        """Make room for arms that nothing is known about."""
        for group in self._groups:
            group.add_arms(arms)

    def sums(self) -> Any:
        """The sums over all groups, with the centre of the groups' estimates in the place of their mean."""
        groups = [group.sums() for group in self._groups]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            return _robust_grid(groups) if isinstance(groups[0], GridSums) else _robust(groups)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `from_dict` restores it to the last bit."""
        return {"robust": True, "period": self.period, "groups": [group.to_dict() for group in self._groups]}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        """The groups that `to_dict` wrote."""
        groups = [_one_from_dict(group) for group in state["groups"]]
        alike = {(type(one), one.arms, one.b, one.c, one.half_life, window_of(one), one.period) for one in groups}
        if len(groups) != GROUPS or len(alike) != 1 or groups[0].period != state["period"]:
            raise IncompatibleState("The saved statistics are damaged: their groups do not belong together.")
        return cls(groups)


def _robust(groups: Sequence[Sums]) -> Sums:
    """Each mean, of rewards, ratios and scores, by its centre: the groups weigh by its precision in them."""
    by_group = Sums(*np.stack([np.stack(group) for group in groups], axis=1))
    total = Sums(*np.stack(by_group).sum(axis=1))
    everything = slice(None)
    values = [mean(by_group, everything) for mean in (mu1, mu2, mu_star)]
    precision = [mu1_precision(by_group, everything), mu2_precision(by_group, everything), by_group.information]
    reward, ratio, score = centre(np.stack(values, axis=1), np.stack(precision, axis=1))
    return total._replace(reward=total.response * reward, ratio=total.count * ratio, score=total.information * score)


def _robust_grid(groups: Sequence[GridSums]) -> GridSums:
    """The same for every b, at one c. The residual sum of squares is that about the plain mean: σ is not trimmed."""
    total = GridSums(*groups[0][:GRID_FIELDS], *(np.sum(rows, axis=0) for rows in list(zip(*groups))[GRID_FIELDS:]))
    # With one c the rows of all three belong to the b in turn, from the largest down.
    score, information = (np.stack([getattr(group, name) for group in groups]) for name in ("score", "information"))
    middle = centre(score / information, information)
    plain = np.where(total.information > 0.0, total.score / total.information, 0.0)
    shift = total.information * (middle - plain) * (middle + plain)
    return total._replace(score=total.information * middle, square=total.square + shift)


def centre(values: Floats, precision: Floats, trim: float = TRIM) -> Floats:
    """The trimmed mean over the first axis of `values`, weighted by `precision`; 0 where nothing has a weight.

    >>> centre(np.array([[1.0], [2.0], [3.0], [4.0], [900.0]]), np.ones((5, 1))).tolist()
    [3.0]
    """
    known = (precision > 0.0) & np.isfinite(values)
    order = np.argsort(np.where(known, values, np.inf), axis=0, kind="stable")
    value = np.take_along_axis(np.where(known, values, 0.0), order, axis=0)
    weight = np.take_along_axis(np.where(known, precision, 0.0), order, axis=0)
    largest = weight.max(axis=0)
    weight = weight / np.where(largest > 0.0, largest, 1.0)
    above = np.cumsum(weight, axis=0)
    below = above - weight
    inside = np.minimum(above, (1.0 - trim) * above[-1]) - np.maximum(below, trim * above[-1])
    inside = np.maximum(inside, 0.0)
    total = inside.sum(axis=0)
    return np.asarray((inside * value).sum(axis=0) / np.where(total > 0.0, total, 1.0))


Past = Statistics | Groups
"""All outcomes, as a policy reads them: as they are, of a window only, or robust."""


def new_past(
    arms: int,
    b: float | Grid,
    half_life: float | None = None,
    window: int | None = None,
    robust: bool = False,
    c: float = 1.0,
) -> Past:
    """Statistics as they are, with a half-life or a window (not both), robust or not.

    >>> window_of(new_past(2, 0.75, window=30, robust=True))
    30
    """
    if half_life is not None and window is not None:
        raise validation.refuse("window", "left out where `half_life` is given", window)

    def one() -> Statistics:
        return Statistics(arms, b, half_life, c) if window is None else Window(arms, b, window, c)

    return Groups([one() for _ in range(GROUPS)]) if validation.flag("robust", robust) else one()


def past_from_dict(state: dict[str, Any]) -> Past:
    """What `to_dict` of any of them wrote."""
    return Groups.from_dict(state) if "groups" in state else _one_from_dict(state)


def _one_from_dict(state: dict[str, Any]) -> Statistics:
    return Window.from_dict(state) if "window" in state else Statistics.from_dict(state)


def window_of(past: Past) -> int | None:
    """The length of the window, None where there is none."""
    one = past._groups[0] if isinstance(past, Groups) else past
    return one.window if isinstance(one, Window) else None
