"""A world to simulate in, fitted to a history: its law, its noise per arm, and how its means moved.

c and b are at first those of `fit_noise`, with a mean of its own for each month where there are months. The mean of
an arm in period t is the information-weighted mean of the outcomes around it,

  μ_i(t) = Σ_s k((t − s)/h)·x^(c−2b)·Y / Σ_s k((t − s)/h)·x^(2c−2b),  k(u) = exp(−u²/2),

with one h for all arms: the one at which the outcomes of an arm predict each other best (Gaussian likelihood of each
given the others, leave-one-out). Where means move, what moves within a month would count as noise that grows with the
amount: b comes out too large, up to 1. So c and b are then those of greatest likelihood too, at these means. σ_i is
what is left, with the degrees of freedom that smoothing leaves, tr (I − H)(I − H)'; with one or two outcomes that of
the others (their geometric mean). Amounts are in units of the mean total of a period, so that a budget of 1 is that
of a usual period.
"""

import contextlib
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from apportion._common import validation
from apportion.errors import InvalidValue
from apportion.inference.fit.noise import fit_noise
from apportion.inference.fit.result import NoiseFit
from apportion.model.empirical_noise import Empirical
from apportion.model.law import Instance
from apportion.model.moving import Moving
from apportion.model.noise import Gaussian
from apportion.model.response import best_value
from apportion.model.sums import Floats

# Bandwidths that are tried, in periods; the last one is no movement at all.
BANDWIDTHS = (2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 55.0, 1e6)
# With fewer days than this between first and last a month has no mean of its own.
_DAYS_FOR_MONTHS = 60
_LEAST_PERIODS = 8
# Fewer outcomes do not tell the noise of an arm, and the fit leaves them out as well.
_LEAST_OUTCOMES = 3
# Weights of outcomes further away than so many h are below rounding; all are counted at least so much.
_REACH, _LEAST_WEIGHT = 9.0, 1e-12
# The exponents are looked for in steps that are halved from the first to the second.
_FIRST_STEP, _LAST_STEP = 0.1, 0.002


class FittedWorld(NamedTuple):
    """A world, its exponents, the names of its arms, what a budget of 1 stands for, how far means are smoothed.

    `smooth` is the bandwidth h in periods; `periods` says how many there are: as many rows has the path of the world.
    `fit` is that from which c and b began, with intervals and tests.
    """

    world: Moving
    c: float
    b: float
    arms: tuple[str, ...]
    budget: float
    smooth: float
    periods: int
    fit: NoiseFit

    def entry(self, key: str, title: str, about: str, source: str, *, every: int = 1) -> dict[str, Any]:
        """The world as it stands in the file of real worlds: its path at every so many periods, returns in units of
        the mean value of the best split."""
        path = np.array(self.world.path)
        unit = float(np.mean([best_value(row, self.c, 1.0) for row in path]))
        still = self.smooth >= BANDWIDTHS[-1]
        knots = [0] if still else [*range(0, len(path) - 1, every), len(path) - 1]
        sigma = [float(f"{level / unit:.4g}") for level in np.broadcast_to(self.world.sigma, len(self.arms))]
        return {
            "key": key, "title": title, "about": about, "source": source, "arms": list(self.arms),
            "periods": len(path), "every": every, "c": round(self.c, 3), "b": round(self.b, 3),
            "sigma": sigma, "smooth": self.smooth,
            "path": [[float(f"{mean / unit:.4g}") for mean in path[at]] for at in knots],
        }  # fmt: skip


def world_from_history(history: Any, **options: Any) -> Moving:
    """A world fitted to a history: c, b, σ per arm, and means that move as they did there, smoothed.

    `history` is what `fit_noise` takes: a data frame, a file (CSV, .xlsx, Parquet), a mapping of columns, rows. A
    budget of 1 stands for the mean total of a period. `options`:

    - `noise`: "gaussian", or "residuals" for noise with the quantiles of the fit's own residuals (`Empirical`).
    - `smooth`: over how many periods means are smoothed; by default as cross-validation says.
    - `c`, `b`: exponents that are known; `apart`: "month" or "week" to take those that `fit_noise` finds within each,
      "none" those that it finds over all. By default they are fitted together with the moving means.
    - `date`, `arm`, `amount`, `outcome`, `period`, `decimal`, `delimiter`, `sheet`: how the table is read.

    Where it fails: what drove means besides the amount (weekdays, prices) is in the noise or in their movement; an
    arm that followed demand has a c that is too large. `fit_world` gives the fit as well.

    >>> rng = np.random.default_rng(1)
    >>> x = rng.lognormal(size=(200, 2))
    >>> y = np.array([2.0, 1.0]) * x**0.7 + 0.3 * x**0.5 * rng.normal(size=x.shape)
    >>> rows = [(arm, x[t, i], y[t, i]) for t in range(200) for i, arm in enumerate("ab")]
    >>> world = world_from_history(rows)
    >>> world.arms, abs(world.c - 0.7) < 0.05, world.path is not None
    (2, True, True)
    """
    return fit_world(history, **options).world


def fit_world(
    history: Any,
    *,
    noise: str = "gaussian",
    smooth: float | None = None,
    c: float | None = None,
    b: float | None = None,
    apart: str | None = None,
    **columns: Any,
) -> FittedWorld:
    """The world of `world_from_history`, with the fit, the names of the arms and the budget it is made for."""
    validation.choice("noise", noise, ("gaussian", "residuals"))
    if apart is not None:
        validation.choice("apart", apart, ("none", "week", "month"))
    if smooth is not None:
        smooth = validation.number("smooth", smooth, low=1.0)
    given = apart is not None
    within = None if apart == "none" else apart
    fit = fit_noise(history, c=c, b=b, sigma="per-arm", apart=within, **columns)
    moments = fit._history.moments
    if not given and moments is not None and len(fit.amounts) > 8 * len(fit.arms.names):
        days = (moments.max() - moments.min()) / np.timedelta64(1, "D")
        if days >= _DAYS_FOR_MONTHS:
            with contextlib.suppress(InvalidValue):  # amounts that stay the same within a month tell nothing
                fit = fit_noise(history, c=c, b=b, sigma="per-arm", apart="month", **columns)
    when = _periods(fit)
    periods = int(when.max()) + 1
    if periods < _LEAST_PERIODS or len(fit.arms.names) < 2:
        raise InvalidValue(
            f"The history must have at least two arms and {_LEAST_PERIODS} periods; got {len(fit.arms.names)} and "
            f"{periods}."
        )
    budget = float(fit.amounts.sum()) / periods
    arms = [
        _Arm.of(
            when[fit.codes == arm], fit.amounts[fit.codes == arm] / budget, fit.outcomes[fit.codes == arm], periods
        )
        for arm in range(len(fit.arms.names))
    ]
    telling = [arm for arm in arms if len(np.unique(arm.when)) >= _LEAST_OUTCOMES]
    c_found, b_found = fit.c, fit.b
    width = _bandwidth(telling, c_found, b_found) if smooth is None else smooth
    if not given and width < BANDWIDTHS[-1]:
        c_found, b_found = _exponents(telling, width, c_found, b_found, c is None, b is None)
        if smooth is None:
            width = _bandwidth(telling, c_found, b_found)
    path = np.column_stack([_means(arm, width, c_found, b_found) for arm in arms])
    found = [_noise(arm, width, c_found, b_found) if len(arm.when) >= _LEAST_OUTCOMES else None for arm in arms]
    known = [each for each in found if each is not None]
    usual = math.exp(sum(math.log(sigma) for sigma, _ in known) / len(known))
    sigmas = tuple(usual if each is None else each[0] for each in found)
    family = Gaussian() if noise == "gaussian" else Empirical.of(np.concatenate([errors for _, errors in known]))
    base = Instance(tuple(path.mean(axis=0).tolist()), b_found, sigmas, c_found, family)
    world = Moving(base, path=tuple(map(tuple, path.tolist())))
    return FittedWorld(world, c_found, b_found, tuple(fit.arms.names), budget, width, periods, fit)


class _Arm(NamedTuple):
    """The outcomes of one arm: in which periods, of which amounts; log A, and how many periods the history has."""

    when: npt.NDArray[np.int64]
    amounts: Floats
    outcomes: Floats
    logs: Floats
    periods: int

    @classmethod
    def of(cls, when: npt.NDArray[np.int64], amounts: Floats, outcomes: Floats, periods: int) -> "_Arm":
        """With their logarithms."""
        return cls(when, amounts, outcomes, np.log(amounts), periods)

    def near(self, values: Floats, width: float, *, power: int = 1, leave: bool = False) -> Floats:
        """Σ_s k((t − s)/h)^power·value for every period t, from a value for each outcome; `leave` those of t out."""
        each = np.bincount(self.when, weights=values, minlength=self.periods)
        others = each.sum() - each if leave else np.full(self.periods, each.sum())
        if width >= BANDWIDTHS[-1]:
            return others
        reach = min(self.periods - 1, math.ceil(_REACH * width))
        weights = np.exp(-0.5 * power * (np.arange(-reach, reach + 1) / width) ** 2)
        weights[reach] = 0.0 if leave else 1.0
        around = np.convolve(each, weights)[reach : reach + self.periods]
        return np.asarray(around + _LEAST_WEIGHT**power * others)


def _periods(fit: NoiseFit) -> npt.NDArray[np.int64]:
    """The period of each observation, from 0 on: its date among all dates, or how many its arm had before."""
    moments = fit._history.moments
    if moments is not None:
        days = moments.astype("datetime64[D]")
        _, index = np.unique(days, return_inverse=True)
        return index.astype(np.int64)
    counts = dict.fromkeys(range(len(fit.arms.names)), 0)
    found = []
    for code in fit.codes.tolist():
        found.append(counts[code])
        counts[code] += 1
    return np.array(found, dtype=np.int64)


def _means(arm: _Arm, width: float, c: float, b: float, *, leave: bool = False) -> Floats:
    """The mean of an arm in every period, from the outcomes around it."""
    weighted = arm.near(arm.amounts ** (c - 2.0 * b) * arm.outcomes, width, leave=leave)
    return np.asarray(weighted / arm.near(arm.amounts ** (2.0 * c - 2.0 * b), width, leave=leave))


def _surprise(arms: list[_Arm], width: float, c: float, b: float) -> float:
    """−2 × the log-likelihood of each outcome given the others of its arm, at the best σ_i."""
    total = 0.0
    for arm in arms:
        information = arm.amounts ** (2.0 * c - 2.0 * b)
        whole = arm.near(information, width, leave=True)[arm.when]
        doubt = 1.0 + information * arm.near(information, width, power=2, leave=True)[arm.when] / whole**2
        means = _means(arm, width, c, b, leave=True)[arm.when]
        errors = (arm.outcomes - means * arm.amounts**c) / arm.amounts**b
        spread = max(float((errors**2 / doubt).mean()), 1e-300)
        total += len(errors) * math.log(spread) + float(np.log(doubt).sum() + 2.0 * b * arm.logs.sum())
    return total


def _bandwidth(arms: list[_Arm], c: float, b: float) -> float:
    """The bandwidth at which outcomes are least of a surprise."""
    return min(BANDWIDTHS, key=lambda width: _surprise(arms, width, c, b))


def _exponents(arms: list[_Arm], width: float, c: float, b: float, free_c: bool, free_b: bool) -> tuple[float, float]:
    """The c and b at which outcomes are least of a surprise: from these on, in steps that are halved."""
    step, least = _FIRST_STEP, _surprise(arms, width, c, b)
    while step >= _LAST_STEP:
        tried = [(min(c + move, 1.0), b) for move in (-step, step) if free_c and c + move > _LAST_STEP]
        tried += [(c, min(max(b + move, 0.0), 1.0)) for move in (-step, step) if free_b]
        found = min(((_surprise(arms, width, *pair), pair) for pair in tried), default=(least, (c, b)))
        if found[0] < least:
            least, (c, b) = found
        else:
            step *= 0.5
    return c, b


def _noise(arm: _Arm, width: float, c: float, b: float) -> tuple[float, Floats]:
    """σ of an arm with the degrees of freedom that are left, and its residuals in units of it."""
    errors = (arm.outcomes - _means(arm, width, c, b)[arm.when] * arm.amounts**c) / arm.amounts**b
    information = arm.amounts ** (2.0 * c - 2.0 * b)
    whole = arm.near(information, width)[arm.when]
    taken = information / whole * (2.0 - arm.near(information, width, power=2)[arm.when] / whole)
    freedom = max(len(errors) - float(taken.sum()), 1.0)
    sigma = max(math.sqrt(float((errors**2).sum()) / freedom), 1e-12)
    return sigma, errors / sigma
