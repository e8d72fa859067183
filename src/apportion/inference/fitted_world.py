"""A world to simulate in, fitted to a history: its law, its noise per arm, and how its means moved.

First c and b (`fit_noise`, with a mean of its own for each month where there are months). At these exponents the mean
of an arm in period t is the information-weighted mean of the outcomes around it,

  μ_i(t) = Σ_s k((t − s)/h)·x^(c−2b)·Y / Σ_s k((t − s)/h)·x^(2c−2b),  k(u) = exp(−u²/2),

with one h for all arms: the one that predicts an outcome best from the others of its arm (leave-one-out). σ_i is what
is left, with the degrees of freedom that smoothing took; with one or two outcomes that of the others (their geometric
mean). Amounts are in units of the mean total of a period, so that
a budget of 1 is that of a usual period.
"""

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


class FittedWorld(NamedTuple):
    """A world, the names of its arms, what a budget of 1 stands for, how far means are smoothed, and the fit.

    `smooth` is the bandwidth h in periods; `periods` says how many there are: as many rows has the path of the world.
    """

    world: Moving
    arms: tuple[str, ...]
    budget: float
    smooth: float
    periods: int
    fit: NoiseFit

    def entry(self, key: str, title: str, about: str, source: str, *, every: int = 1) -> dict[str, Any]:
        """The world as it stands in the file of real worlds: its path at every so many periods, returns in units of
        the mean value of the best split."""
        path = np.array(self.world.path)
        unit = float(np.mean([best_value(row, self.fit.c, 1.0) for row in path]))
        still = self.smooth >= BANDWIDTHS[-1]
        knots = [0] if still else [*range(0, len(path) - 1, every), len(path) - 1]
        sigma = [float(f"{level / unit:.4g}") for level in np.broadcast_to(self.world.sigma, len(self.arms))]
        return {
            "key": key, "title": title, "about": about, "source": source, "arms": list(self.arms),
            "periods": len(path), "every": every, "c": round(self.fit.c, 3), "b": round(self.fit.b, 3),
            "sigma": sigma, "smooth": self.smooth,
            "path": [[float(f"{mean / unit:.4g}") for mean in path[at]] for at in knots],
        }  # fmt: skip


def world_from_history(history: Any, **options: Any) -> Moving:
    """A world fitted to a history: c, b, σ per arm, and means that move as they did there, smoothed.

    `history` is what `fit_noise` takes: a data frame, a file (CSV, .xlsx, Parquet), a mapping of columns, rows. A
    budget of 1 stands for the mean total of a period. `options`:

    - `noise`: "gaussian", or "residuals" for noise with the quantiles of the fit's own residuals (`Empirical`).
    - `smooth`: over how many periods means are smoothed; by default as cross-validation says.
    - `c`, `b`: exponents that are known; `apart`: "month" or "week" for the fit of the others, "none" for neither, by
      default months where there are any.
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
        smooth = validation.number("smooth", smooth, above=0.0)
    fit = fit_noise(history, c=c, b=b, sigma="per-arm", apart=None, **columns)
    moments = fit._history.moments
    if apart is None and moments is not None:
        days = (moments.max() - moments.min()) / np.timedelta64(1, "D")
        apart = "month" if days >= _DAYS_FOR_MONTHS and len(fit.amounts) > 8 * len(fit.arms.names) else None
    if apart not in (None, "none"):
        fit = fit_noise(history, c=c, b=b, sigma="per-arm", apart=apart, **columns)
    when = _periods(fit)
    periods = int(when.max()) + 1
    if periods < _LEAST_PERIODS or len(fit.arms.names) < 2:
        raise InvalidValue(
            f"The history must have at least two arms and {_LEAST_PERIODS} periods; got {len(fit.arms.names)} and "
            f"{periods}."
        )
    budget = float(fit.amounts.sum()) / periods
    exponents = fit.c, fit.b
    arms = [
        _Arm(when[fit.codes == arm], fit.amounts[fit.codes == arm] / budget, fit.outcomes[fit.codes == arm])
        for arm in range(len(fit.arms.names))
    ]
    width = _bandwidth(arms, *exponents) if smooth is None else smooth
    path = np.column_stack([_smoothed(arm, np.arange(periods), width, *exponents)[0] for arm in arms])
    found = [_noise(arm, width, *exponents) for arm in arms if len(arm.when) >= _LEAST_OUTCOMES]
    usual = math.exp(sum(math.log(sigma) for sigma, _ in found) / len(found))
    sigmas = [_noise(arm, width, *exponents)[0] if len(arm.when) >= _LEAST_OUTCOMES else usual for arm in arms]
    family = Gaussian() if noise == "gaussian" else Empirical.of(np.concatenate([errors for _, errors in found]))
    base = Instance(tuple(path.mean(axis=0).tolist()), fit.b, tuple(map(float, sigmas)), fit.c, family)
    return FittedWorld(
        Moving(base, path=tuple(map(tuple, path.tolist()))), tuple(fit.arms.names), budget, width, periods, fit
    )


class _Arm(NamedTuple):
    """The outcomes of one arm: in which periods, of which amounts."""

    when: npt.NDArray[np.int64]
    amounts: Floats
    outcomes: Floats


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


def _smoothed(arm: _Arm, at: Any, width: float, c: float, b: float, *, leave: bool = False) -> tuple[Floats, Floats]:
    """The means at some periods, and how much of each is the outcome of that very period; `leave` it out."""
    near = np.exp(-0.5 * ((np.asarray(at)[:, np.newaxis] - arm.when) / width) ** 2) + 1e-12
    if leave:
        near[np.asarray(at)[:, np.newaxis] == arm.when] = 0.0
    information = near * arm.amounts ** (2.0 * c - 2.0 * b)
    whole = information.sum(axis=1)
    means = (near * arm.amounts ** (c - 2.0 * b) * arm.outcomes).sum(axis=1) / whole
    own = np.where(np.asarray(at)[:, np.newaxis] == arm.when, information, 0.0).sum(axis=1) / whole
    return means, own


def _bandwidth(arms: list[_Arm], c: float, b: float) -> float:
    """The bandwidth whose leave-one-out errors are least, each arm in units of its own noise."""

    def score(width: float) -> float:
        total = 0.0
        for arm in arms:
            if len(arm.when) > 2:
                means, _ = _smoothed(arm, arm.when, width, c, b, leave=True)
                error = (arm.outcomes - means * arm.amounts**c) / arm.amounts**b
                total += len(arm.when) * math.log(max(float((error**2).mean()), 1e-300))
        return total

    return min(BANDWIDTHS, key=score)


def _noise(arm: _Arm, width: float, c: float, b: float) -> tuple[float, Floats]:
    """σ of an arm with the degrees of freedom that are left, and its residuals in units of it."""
    means, own = _smoothed(arm, arm.when, width, c, b)
    errors = (arm.outcomes - means * arm.amounts**c) / arm.amounts**b
    freedom = max(len(errors) - float(own.sum()), 1.0)
    sigma = math.sqrt(max(float((errors**2).sum()) / freedom, 1e-300))
    return max(sigma, 1e-12), errors / max(sigma, 1e-12)
