"""b and σ from what was spent and what came back: `fit_noise` and its result."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from apportion._common import optional, validation
from apportion._common.formatting import Table, readable
from apportion.errors import InvalidValue
from apportion.inference.fit.diagnostics import (
    deviation_interval,
    equal_scales,
    own_scales,
    quiet_arms,
    standardised,
    tail_stretch,
)
from apportion.inference.fit.history import History, read_history
from apportion.inference.fit.likelihood import Data, Floats, highest, interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A standard error of b beyond this says that the amounts hardly vary.
_HOPELESS = 1e3


@dataclass(frozen=True)
class Arms(Table):
    """Per arm: observations, mean return per unit of amount with its standard error, and its own scale at b."""

    names: tuple[str, ...]
    observations: tuple[int, ...]
    means: tuple[float, ...]
    errors: tuple[float, ...]
    sigmas: tuple[float, ...]

    def columns(self) -> Mapping[str, Any]:
        """The columns of the table."""
        return {
            "arm": self.names, "observations": self.observations, "mean": self.means, "error": self.errors,
            "own sigma": self.sigmas,
        }  # fmt: skip

    __str__ = Table.__str__
    __repr__ = Table.__str__


@dataclass(frozen=True, repr=False)
class NoiseFit:
    """b and σ of the law y = μ·x + x^b·σ·ξ, as estimated from a history. Printing it says what it means.

    - `b` in [0, 1] with `b_interval` (at `level`) and `b_error`, its standard error.
    - `sigma`: the standard deviation of an outcome at amount 1, in the units of the outcome, with
      `sigma_interval`. With a scale per arm: `sigmas` by arm, `sigma` their root mean square, no interval.
    - `means`, `errors`: return per unit of amount, by arm, and its standard error; `arms` is the table.
    - `residuals`: (y − μx)/(x^b·σ) in the order of the history, scaled to variance 1; NaN for an arm that was
      observed once.
    - `stretch`: how many times wider heavy tails make the interval of b (as measured by the residuals; 1 for
      Gaussian noise). `tails="measured"` builds it in.
    - `equal_scales`: the p-value of "all arms have one σ" (Bartlett's test, at b); small: try `sigma="per-arm"`.
      Like the test it takes the noise for Gaussian.
    - `beyond`: how much higher twice the log-likelihood is at the best exponent of [−1, 2] than at `b`. Above 6.6
      (1% by chance) something other than the amount drives the noise, and b is only the nearest the law can get.

    The intervals are for amounts that did not depend on the noise, or only on that of earlier periods, and for
    means that stay. They are not for noise that is shared by arms or periods: a drift of the means is read as noise
    that grows with the amount, and pulls b towards 1.
    """

    b: float
    b_interval: tuple[float, float]
    b_error: float
    sigma: float
    sigma_interval: tuple[float, float] | None
    level: float
    scale: str
    tails: str
    arms: Arms
    amounts: Floats
    residuals: Floats
    stretch: float
    equal_scales: float
    beyond: float
    skipped: int
    _data: Data = field(compare=False)

    @property
    def observations(self) -> int:
        """How many observations went in."""
        return len(self.amounts)

    @property
    def means(self) -> dict[str, float]:
        """Return per unit of amount, by arm."""
        return dict(zip(self.arms.names, self.arms.means))

    @property
    def errors(self) -> dict[str, float]:
        """The standard errors of `means`."""
        return dict(zip(self.arms.names, self.arms.errors))

    @property
    def sigmas(self) -> dict[str, float]:
        """σ by arm: all the same for a common scale."""
        if self.scale == "common":
            return dict.fromkeys(self.arms.names, self.sigma)
        return dict(zip(self.arms.names, self.arms.sigmas))

    def deviation_at(self, amount: float, arm: str | None = None) -> float:
        """The standard deviation of an outcome at an amount, amount^b·σ (of that arm).

        >>> fit = fit_noise([("x", 2**t, 2**t * 3 + (-1) ** t * 2 ** (t / 2)) for t in range(8)])
        >>> round(fit.deviation_at(4) / fit.deviation_at(1), 6) == round(4**fit.b, 6)
        True
        """
        x = validation.number("amount", amount, above=0.0)
        if arm is not None:
            validation.choice("arm", arm, self.arms.names)
        sigma = self.sigma if arm is None else self.sigmas[arm]
        return math.exp(math.log(sigma) + self.b * math.log(x))

    def deviation_interval(self, amount: float) -> tuple[float, float]:
        """The interval for `deviation_at(amount)` by the likelihood ratio; for a common scale only.

        It is narrowest at the typical amount, and widens with the distance from it: there b matters.
        """
        x = validation.number("amount", amount, above=0.0)
        if self.scale != "common":
            raise validation.refuse("sigma", "'common' for an interval of the deviation", self.scale)
        return deviation_interval(self._data, self.b, self.level, self._widen, x)

    @property
    def _widen(self) -> float:
        return self.stretch**2 if self.tails == "measured" else 1.0

    def log_likelihood(self, b: npt.ArrayLike) -> Floats:
        """The (restricted) log-likelihood of each b, relative to the best: the curve in the picture."""
        values = np.asarray(b, np.float64)
        if not ((values >= 0) & (values <= 1)).all():
            raise validation.refuse("b", "numbers in [0, 1]", b)
        top = self._data.log_likelihood(self.b)[0]
        found: Floats = (self._data.log_likelihood(values.ravel()) - top).reshape(values.shape)
        return found

    def summary(self) -> str:
        """What was found, in sentences."""
        from apportion.inference.fit.words import sentences

        return "\n".join(sentences(self))

    def __str__(self) -> str:
        return f"{self.summary()}\n\n{self.arms}"

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Everything but residuals and curve, as plain data for JSON: NaN becomes None."""
        arms = {
            name: {"observations": count, "mean": mean, "error": _or_none(error), "sigma": _or_none(sigma)}
            for name, count, mean, error, sigma in zip(
                self.arms.names, self.arms.observations, self.arms.means, self.arms.errors, self.arms.sigmas
            )
        }
        return {
            "b": self.b, "b_interval": list(self.b_interval), "b_error": self.b_error, "sigma": self.sigma,
            "sigma_interval": None if self.sigma_interval is None else list(self.sigma_interval),
            "level": self.level, "scale": self.scale, "tails": self.tails, "observations": self.observations,
            "skipped": self.skipped, "stretch": self.stretch, "equal_scales": _or_none(self.equal_scales),
            "beyond": self.beyond, "arms": arms, "summary": self.summary(),
        }  # fmt: skip

    def plot(self) -> "Figure":
        """Two panels: the size of the noise against the amount, and the likelihood of b with its interval."""
        optional.require("plot")
        from apportion.inference.fit.picture import draw

        return draw(self)


def fit_noise(
    history: Any,
    *,
    arm: str = "arm",
    amount: str = "amount",
    outcome: str = "outcome",
    sigma: str = "common",
    level: float = 0.95,
    tails: str = "gaussian",
    decimal: str | None = None,
) -> NoiseFit:
    """How the noise of outcomes grows with the amount: b and σ of y = μ·x + x^b·σ·ξ, with intervals.

    `history` is a data frame, the path of a CSV file, a mapping of columns, or rows (mappings, or triples of arm,
    amount, outcome); `arm`, `amount` and `outcome` name its columns. Rows with an amount of 0 are skipped.

    - `sigma`: "common" for one σ, "per-arm" for one per arm (b is common in either case). With a common σ arms of
      different amounts can be compared with each other; if their scales differ in truth, b answers for it.
    - `level`: of the intervals.
    - `tails`: "gaussian", or "measured" to let the residuals' own tails widen the intervals (never narrow them).
    - `decimal`: "point" or "comma" in numbers that are text, as in a file; by default they tell it themselves.

    Restricted maximum likelihood (`inference.fit.likelihood`) and its likelihood ratio, which near b = 0 and b = 1 is
    compared with its own law there. Intervals at 95% were measured to cover 93–97% from 30 observations on, for
    Gaussian noise and independent amounts; `docs/real_data.md` has the table. When the guarantee fails: noise with
    heavy tails (use `tails`), means that drift, noise shared between observations.

    >>> rng = np.random.default_rng(1)
    >>> x = rng.lognormal(size=500)
    >>> fit = fit_noise({"arm": ["a"] * 500, "amount": x, "outcome": 2 * x + x**0.75 * rng.normal(size=500)})
    >>> print(f"{fit.b:.2f} in {fit.b_interval[0]:.2f}–{fit.b_interval[1]:.2f}, sigma {fit.sigma:.2f}")
    0.79 in 0.72–0.86, sigma 1.06
    """
    validation.choice("sigma", sigma, ("common", "per-arm"))
    validation.choice("tails", tails, ("gaussian", "measured"))
    level = validation.number("level", level, above=0.0, below=1.0)
    observed = read_history(history, arm, amount, outcome, decimal)
    data = _data(observed, sigma == "per-arm")
    b = highest(data.log_likelihood)
    at = data.at(b)
    error = 1 / math.sqrt(data.information(b))
    scales = own_scales(data, at.residual)
    residuals = standardised(data, b, scales if data.per_arm else None)
    stretch = tail_stretch(data, b, residuals)
    widen = stretch**2 if tails == "measured" else 1.0
    pooled = math.sqrt(at.residual.sum() / data.dof)
    back = math.exp(-b * data.log_unit) * data.size
    rate = data.size / data.unit
    used = scales if data.per_arm else np.full(len(scales), pooled)
    arms = Arms(
        observed.names,
        tuple(data.counts.tolist()),
        tuple((at.means * rate).tolist()),
        tuple((used / np.sqrt(at.information) * rate).tolist()),
        tuple((scales * back).tolist()),
    )
    in_order = np.empty(len(residuals))
    in_order[data.order] = residuals
    return NoiseFit(
        b=b,
        b_interval=interval(data.log_likelihood, b, error, level, widen),
        b_error=error * math.sqrt(widen),
        sigma=pooled * back,
        sigma_interval=None if data.per_arm else deviation_interval(data, b, level, widen, 1.0),
        level=level,
        scale=sigma,
        tails=tails,
        arms=arms,
        amounts=observed.amounts,
        residuals=in_order,
        stretch=stretch,
        equal_scales=equal_scales(scales, data.free),
        beyond=_beyond(data, b),
        skipped=observed.skipped,
        _data=data,
    )


def _data(observed: History, per_arm: bool) -> Data:
    """The data in safe units; refuses what cannot tell b."""
    count, arms = len(observed.amounts), len(observed.names)
    free = np.maximum(np.bincount(observed.codes, minlength=arms) - 2, 0).sum() if per_arm else count - arms - 1
    if free < 2:
        need = "three more observations (amount above 0) than arms"
        if per_arm:
            need = "arms with three or more observations (amount above 0) each"
        raise InvalidValue(f"`history` must have {need}; got {count} of {arms} arm{'s' * (arms != 1)}.")
    if not observed.outcomes.any():
        raise InvalidValue(f"`history` must have outcomes that differ from 0; got 0 in all {count} rows.")
    data = Data(observed.codes, observed.amounts, observed.outcomes, per_arm=per_arm)
    if data.information(0.5) < _HOPELESS**-2:
        where = "within an arm" if per_arm else "between rows"
        typical = readable(float(np.median(observed.amounts)))
        raise InvalidValue(
            f"`history` must have amounts that differ {where}, or b is not identified: give the same arm sometimes a "
            f"half, sometimes double; got {count} rows with amounts near {typical}."
        )
    quiet = quiet_arms(data)
    if quiet.all():
        raise InvalidValue("`history` must have noise in the outcomes; got outcomes in proportion to the amounts.")
    if per_arm and quiet.any():
        name = observed.names[int(np.argmax(quiet))]
        raise InvalidValue(
            "`history` must have noise in the outcomes of every arm (leave the arm out, or set sigma to common); "
            f"got outcomes in proportion to the amounts for {name!r}."
        )
    return data


def _beyond(data: Data, b: float) -> float:
    if 0.0 < b < 1.0:
        return 0.0
    best = highest(data.log_likelihood, -1.0, 2.0)
    return max(0.0, 2 * float(np.subtract(*data.log_likelihood([best, b]))))


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
