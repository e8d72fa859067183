"""What is believed about each arm: a mean, an interval that holds at any time, the probability of being best."""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion._common.formatting import Table, readable, side_by_side
from apportion.allocation.noise_levels import Sigma, per_arm
from apportion.errors import UnknownName
from apportion.inference.best_probabilities import best_probabilities
from apportion.inference.learned import Learned
from apportion.model.confidence import anytime_radius
from apportion.model.estimators import information_weighted
from apportion.model.response import marginal_return
from apportion.model.sums import Floats, Sums

MOST_SURE_OF_MOVING = 0.8
"""Where each arm moves by itself nobody can be surer of the best arm than this: what is said to be above 90% then
holds in 82 to 88% of the cases (`apportion study reliability`)."""

_NO_WIDTH = 1e-4  # an interval narrower than this part of the mean: of a single outcome, or of outcomes without noise
_SMALLEST_SPREAD = float(np.finfo(np.float64).tiny)


class Belief(NamedTuple):
    """What is believed about one arm. NaN: not known (no outcome yet, or σ was not given)."""

    mean: float
    low: float
    high: float
    probability_best: float
    resource: float
    information: float
    marginal: float


class Beliefs(Table, Mapping[str, Belief]):
    """Beliefs by arm name.

    - `mean`: μ*, the information-weighted return per unit: a raw estimate from the outcomes, no prior. Where returns
      diminish, A units return μ·A^c: μ is the return of the first unit.
    - `low`, `high`: the anytime interval at `level`: valid at whatever moment one looks, for σ_i-sub-Gaussian
      noise and any policy. It does not cover returns that drift, nor a σ, b or c that is wrong.
    - `probability_best`: of the largest μ, under independent N(μ*, σ_i²/B), by quadrature; an arm without outcomes
      counts as unknown. It is that among the arms that take part in splits, and NaN for one that is paused; so is
      `leader` one of them, unless all are paused. Where returns diminish the best arm is not the only one worth its
      share: every arm with μ > 0 has a part in the best split.
    - `resource`: the amount whose outcome is known. `information`: Σ A^(2c−2b).
    - `marginal`: c·μ*·x^(c−1), what the next unit would return at the amount x that the arm got in the last split (in
      the beliefs of a split: in that one). At c = 1 it is μ*, whatever x; for c < 1 NaN where the arm got nothing.
    - `sigma`: the scale of the noise that they stand on, a number or one by arm; NaN where it is not known.
    - `c`: the exponent of the returns.
    - `learned`: what the outcomes say about b and σ, where the policy learns them; the columns then stand on these.
    """

    chance_columns = ("probability_best",)

    def __init__(
        self,
        names: Sequence[str],
        sums: Sums,
        *,
        sigma: Sigma | None,
        rho: float,
        level: float,
        minimise: bool = False,
        learned: Learned | None = None,
        in_play: NDArray[np.bool_] | None = None,
        c: float = 1.0,
        amounts: Floats | None = None,
    ) -> None:
        self._names = names
        self._sums = sums
        self.sigma: Sigma = math.nan if sigma is None else sigma
        self.c = c
        self._amounts = amounts
        self._rho = rho
        self.level = level
        self.minimise = minimise
        self.learned = learned
        self._in_play = in_play

    @functools.cached_property
    def _gain(self) -> Floats:
        """μ* per arm of what is to be made large: of the negated outcomes where small ones are wanted."""
        return information_weighted(self._sums).mean

    @functools.cached_property
    def mean(self) -> Floats:
        """μ* per arm."""
        return 0.0 - self._gain if self.minimise else self._gain

    @functools.cached_property
    def radius(self) -> Floats:
        """The half-width of the interval per arm: infinite without outcomes, NaN without σ."""
        log_inverse_delta = -math.log1p(-self.level)
        known = zip(self._sums.information.tolist(), self._sigmas.tolist())
        return np.array([anytime_radius(each, log_inverse_delta, self._rho, sigma) for each, sigma in known])

    @functools.cached_property
    def probability_best(self) -> Floats:
        """P(best) per arm in play, adding up to 1; NaN for the others."""
        found = np.full(len(self._names), math.nan)
        if self._names and not np.isnan(self._sigmas).any():
            found[self.in_play] = best_probabilities(self._gain[self.in_play], self.spread[self.in_play])
        return found

    @property
    def most_sure(self) -> float:
        """The largest chance that is told in words: all of it, unless arms were learned to move by themselves."""
        return MOST_SURE_OF_MOVING if self.learned is not None and self.learned.fades else 1.0

    @property
    def in_play(self) -> NDArray[np.bool_]:
        """Which arms take part in splits; all where none does."""
        return np.ones(len(self._names), dtype=bool) if self._in_play is None else self._in_play

    @property
    def spread(self) -> Floats:
        """σ_i/√B: the standard deviation of each mean; infinite without outcomes, NaN without σ.

        Numbers beyond all bounds say nothing: their deviation is infinite, too.
        """
        with np.errstate(all="ignore"):
            found = np.maximum(self._sigmas / np.sqrt(self._sums.information), _SMALLEST_SPREAD)
        nothing_said = ~np.isfinite(self._gain) | ~np.isfinite(self._sums.information)
        return np.where(nothing_said & ~np.isnan(self._sigmas), math.inf, found)

    @functools.cached_property
    def marginal(self) -> Floats:
        """c·μ*·x^(c−1) per arm."""
        if self.c == 1.0:
            return self.mean
        found = np.full(len(self._names), math.nan)
        if self._amounts is not None:
            played = (self._amounts > 0.0) & ~np.isnan(self.mean)
            if played.any():
                found[played] = marginal_return(self.mean[played], self._amounts[played], self.c)
        return found

    @functools.cached_property
    def _sigmas(self) -> Floats:
        return per_arm(self.sigma, self._names)

    @functools.cached_property
    def _index(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self._names)}

    def __getitem__(self, arm: str) -> Belief:
        try:
            return self.at(self._index[arm])
        except KeyError:
            raise UnknownName(f"Arm '{arm}' is not known; the arms are {', '.join(self._names[:20])}.") from None

    def __contains__(self, arm: object) -> bool:
        return arm in self._index

    def get(self, arm: str, default: Any = None) -> Any:
        """The belief about an arm, or `default` where there is none of that name."""
        index = self._index.get(arm)
        return default if index is None else self.at(index)

    def at(self, index: int) -> Belief:
        """The belief about the arm at a position."""
        return self._rows[index]

    @functools.cached_property
    def _rows(self) -> list[Belief]:
        sums = self._sums
        columns = (self.mean, self.radius, self.probability_best, sums.resource, sums.information, self.marginal)
        rows = []
        for mean, radius, *rest in zip(*(column.tolist() for column in columns)):
            low, high = (-math.inf, math.inf) if math.isnan(mean) else (mean - radius, mean + radius)
            rows.append(Belief(mean, low, high, *rest))
        return rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @functools.cached_property
    def leader(self) -> str | None:
        """The arm in play with the best mean, the smallest where that is wanted; None before any outcome."""
        gain = np.where(self.in_play, self._gain, math.nan)
        return None if np.isnan(gain).all() else self._names[int(np.nanargmax(gain))]

    @property
    def note(self) -> str:  # type: ignore[override]
        """What the columns mean."""
        learned = " and ".join(() if self.learned is None else self.learned.names)
        valid = f"for {learned} as learned" if learned else "valid at any time"
        of = "per unit" if self.c == 1.0 else "of the first unit"
        text = (
            f"mean: estimated {'cost' if self.minimise else 'return'} {of} (raw, no prior); "
            f"low to high: {100 * self.level:.6g}% interval, {valid}"
        )
        return text if self.c == 1.0 else f"{text}; marginal: of the next unit, at the amounts of the last split"

    def columns(self) -> dict[str, Sequence[Any]]:
        """One column per field of `Belief`; `marginal`, which is the mean at c = 1, only where returns diminish."""
        fields = {name: [getattr(row, name) for row in self._rows] for name in Belief._fields}
        if self.c == 1.0:
            del fields["marginal"]
        return {"arm": list(self._names), **fields}


def per_unit(belief: Belief, amount: float, c: float) -> Belief:
    """The belief with mean and interval of what each unit of an amount returns: μ·x^(c−1).

    μ is the return of the first unit alone, which nobody ever saw where amounts are large.

    >>> per_unit(Belief(4.0, 3.0, 5.0, 1.0, 1.0, 1.0, 0.5), 16.0, 0.5)[:3]
    (1.0, 0.75, 1.25)
    """
    if c == 1.0:  # the same at any amount, none too
        return belief
    factor = amount ** (c - 1.0) if amount > 0.0 else math.nan
    return belief._replace(mean=factor * belief.mean, low=factor * belief.low, high=factor * belief.high)


def interval(belief: Belief) -> str:
    """'1.02 (0.91 to 1.13)': a mean with its interval, in words; without one that no digit would tell from the mean.

    >>> interval(Belief(2.39790, 2.39789, 2.39791, 1.0, 1.0, 1.0, 2.4))
    '2.398'
    """
    exact = belief.high - belief.low < _NO_WIDTH * abs(belief.mean)
    if math.isnan(belief.low) or math.isinf(belief.low) or exact:
        return readable(belief.mean)
    low, mean, high = side_by_side(belief.low, belief.mean, belief.high)
    return f"{mean} ({low} to {high})"
