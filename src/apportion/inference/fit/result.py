"""The result of a fit: estimates, intervals, tests of the assumptions, sentences and pictures."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from apportion._common import optional, validation
from apportion._common.formatting import Table
from apportion.inference.fit.assumptions import Assumption, evidence
from apportion.inference.fit.diagnostics import deviation_interval
from apportion.inference.fit.estimate import LOWEST_C, EqualNoise, Estimate, equal_noise
from apportion.inference.fit.history import History
from apportion.inference.fit.intervals import highest
from apportion.inference.fit.likelihood import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from apportion.inference.health.findings import Health


@dataclass(frozen=True)
class Arms(Table):
    """Per arm: observations, μ (the return at amount 1) with its standard error, and the scale it shows itself."""

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
    """c, b and σ of the law y = μ·x^c + x^b·σ·ξ, as estimated from a history. Printing it says what it means.

    - `c` in (0, 1] with `c_interval` (at `level`) and `c_error`: how the mean grows with the amount. `c_source` says
      whether it was "estimated", "given", or "assumed" to be 1, as amounts that hardly vary cannot tell it.
    - `b` in [0, 1] with `b_interval` and `b_error`, its standard error: how the noise grows with the amount.
    - `sigma`: the standard deviation of an outcome at amount 1, in the units of the outcome, with
      `sigma_interval`. With a scale per arm: `sigmas` by arm, `sigma` their root mean square, no interval.
      `scale` says which, "common" or "per-arm".
    - `means`, `errors`: μ by arm, the return at amount 1 (at c = 1 that per unit of amount), and its standard error;
      `arms` is the table.
    - `residuals`: (y − μ·x^c)/(x^b·σ) in the order of the history, scaled to variance 1; NaN for an arm that was
      observed once.
    - `stretch`: how many times wider heavy tails make the interval of b (as measured by the residuals; 1 for
      Gaussian noise). `tails="measured"` builds it in.
    - `assumptions`: the tests of what the law takes for granted, each with its words; `equal_scales` is the p-value
      of "all arms have one σ".
    - `health`: what would make splits worse, outliers too, with what it means and what to do.
    - `beyond`: how much higher twice the log-likelihood is at the best exponent of [−1, 2] than at `b`. Above 6.6
      (1% by chance) something other than the amount drives the noise, and b is only the nearest the law can get.
    - `skipped`, `pending`: rows without spend, and amounts whose outcome is not known; neither went in.
    - `notes`: what was done with the rows, in sentences (`inference.history`).

    The intervals are for amounts that did not depend on the noise, or only on that of earlier periods, and for
    means that stay. They are not for noise that is shared by arms or periods: a drift of the means is read as noise
    that grows with the amount, and pulls b towards 1; amounts that followed demand make c look larger than it is.
    """

    c: float
    c_interval: tuple[float, float]
    c_error: float
    c_source: str
    b: float
    b_interval: tuple[float, float]
    b_error: float
    sigma: float
    level: float
    scale: str
    tails: str
    apart: str | None
    arms: Arms
    amounts: Floats
    residuals: Floats
    stretch: float
    skipped: int
    pending: int
    notes: tuple[str, ...]
    _estimate: Estimate = field(compare=False)
    _history: History = field(compare=False)

    @property
    def observations(self) -> int:
        """How many observations went in."""
        return len(self.amounts)

    @property
    def codes(self) -> npt.NDArray[np.intp]:
        """The arm of each observation, as an index of `arms`."""
        return self._history.codes

    @property
    def outcomes(self) -> Floats:
        """The outcomes, in the order of the history."""
        return self._history.outcomes

    @property
    def means(self) -> dict[str, float]:
        """μ by arm."""
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

    @cached_property
    def sigma_interval(self) -> tuple[float, float] | None:
        """The interval of σ; None with a scale per arm."""
        return self.deviation_interval(1.0) if self.scale == "common" else None

    @cached_property
    def assumptions(self) -> tuple[Assumption, ...]:
        """The tests of what the law takes for granted: proportional returns, equal noise, no drift, no weekday
        pattern, no memory."""
        from apportion.inference.fit.words import assumption

        found = evidence(self._estimate, self._equal_noise, self._history, apart=self.apart)
        return tuple(assumption(name, each) for name, each in found.items())

    @cached_property
    def health(self) -> "Health":
        """What in these data would make splits worse, with what it means and what to do (`inference.health`)."""
        from apportion.inference.health.check import check_health
        from apportion.inference.health.observations import Observations

        return check_health(Observations.of_file(self._history))

    @cached_property
    def _equal_noise(self) -> EqualNoise:
        found = self._estimate
        return found.equal_noise or equal_noise(found.data, found.surface.c_range, found.surface.b_range)[0]

    @property
    def scale_chosen(self) -> bool:
        """Whether `scale` was chosen by the test of equal noise."""
        return self._estimate.equal_noise is not None

    @property
    def equal_scales(self) -> float:
        """The p-value of "all arms have one σ"; NaN where it cannot be tested."""
        return self._equal_noise.p_value

    @cached_property
    def beyond(self) -> float:
        """How much better an exponent of the noise outside [0, 1] fits; 0 where b is inside."""
        data = self._estimate.data
        if 0.0 < self.b < 1.0 or self._estimate.surface.b_range.given:
            return 0.0

        def curve(b: Floats) -> Floats:
            return data.log_likelihood(b, self.c)

        best = highest(curve, -1.0, 2.0)
        return max(0.0, 2 * float(np.subtract(*curve(np.array([best, self.b])))))

    def typical_amounts(self) -> Floats:
        """The geometric mean of the amounts of each arm."""
        data = self._estimate.data
        found: Floats = np.exp(data.log_sums / data.counts + data.log_unit)
        return found

    def mean_at(self, amount: float, arm: str) -> float:
        """The expected outcome of an amount on an arm, μ·amount^c."""
        x = validation.number("amount", amount, above=0.0)
        validation.choice("arm", arm, self.arms.names)
        mean = self.means[arm]
        return math.copysign(math.exp(math.log(abs(mean)) + self.c * math.log(x)), mean) if mean else 0.0

    def deviation_at(self, amount: float, arm: str | None = None) -> float:
        """The standard deviation of an outcome at an amount, amount^b·σ (of that arm).

        >>> from apportion import fit_noise
        >>> fit = fit_noise([("x", 2**t, 2**t * 3 + (-1) ** t * 2 ** (t / 2)) for t in range(8)])
        >>> round(fit.deviation_at(4) / fit.deviation_at(1), 6) == round(4**fit.b, 6)
        True
        """
        x = validation.number("amount", amount, above=0.0)
        if arm is not None:
            validation.choice("arm", arm, self.arms.names)
        sigma = self.sigma if arm is None else self.sigmas[arm]
        return math.exp(math.log(sigma) + self.b * math.log(x)) if sigma else 0.0

    def deviation_interval(self, amount: float) -> tuple[float, float]:
        """The interval for `deviation_at(amount)` by the likelihood ratio; for a common scale only.

        It is narrowest at the typical amount, and widens with the distance from it: there b matters.
        """
        x = validation.number("amount", amount, above=0.0)
        if self.scale != "common":
            raise validation.refuse("sigma", "'common' for an interval of the deviation", self.scale)
        return deviation_interval(self._estimate.data, self._estimate.surface, self.level, self._widen, x)

    @property
    def _widen(self) -> float:
        return self.stretch**2 if self.tails == "measured" else 1.0

    def log_likelihood(self, b: npt.ArrayLike) -> Floats:
        """The (restricted) log-likelihood of each b at the best c for it, relative to the best."""
        values = _within("b", b, 0.0)
        return self._estimate.surface.along_b(self._estimate.data, values.ravel()).reshape(values.shape)

    def log_likelihood_of_c(self, c: npt.ArrayLike) -> Floats:
        """The log-likelihood of each c at the best b for it, relative to the best."""
        values = _within("c", c, LOWEST_C)
        return self._estimate.surface.along_c(self._estimate.data, values.ravel()).reshape(values.shape)

    def likelihood_region(self) -> tuple[Floats, Floats, Floats]:
        """Values of c, values of b, and the log-likelihood of each pair (c in rows), relative to the best."""
        surface = self._estimate.surface
        c, b = surface.c_axis.points(101), surface.b_axis.points(101)
        return c, b, surface.values(c, b)

    def summary(self) -> str:
        """What was found, in sentences."""
        from apportion.inference.fit.words import sentences

        return "\n".join(sentences(self))

    def __str__(self) -> str:
        return f"{self.summary()}\n\n{self.arms}"

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Everything but residuals and curves, as plain data for JSON: NaN becomes None."""
        arms = {
            name: {"observations": count, "mean": mean, "error": _or_none(error), "sigma": _or_none(sigma)}
            for name, count, mean, error, sigma in zip(
                self.arms.names, self.arms.observations, self.arms.means, self.arms.errors, self.arms.sigmas
            )
        }
        return {
            "c": self.c, "c_interval": list(self.c_interval), "c_error": _or_none(self.c_error),
            "c_source": self.c_source, "b": self.b, "b_interval": list(self.b_interval), "b_error": self.b_error,
            "sigma": self.sigma, "sigma_interval": None if self.sigma_interval is None else list(self.sigma_interval),
            "level": self.level, "scale": self.scale, "tails": self.tails, "apart": self.apart,
            "observations": self.observations, "skipped": self.skipped, "pending": self.pending,
            "notes": list(self.notes),
            "stretch": self.stretch, "equal_scales": _or_none(self.equal_scales), "beyond": self.beyond,
            "assumptions": [found.to_dict() for found in self.assumptions], "health": self.health.to_dict(),
            "arms": arms, "summary": self.summary(),
        }  # fmt: skip

    def plot(self) -> "Figure":
        """The mean and the noise against the amount, and the likelihood of c and b."""
        optional.require("plot")
        from apportion.inference.fit.picture import draw

        return draw(self)

    def plot_assumptions(self) -> "Figure":
        """A panel for each of the `assumptions`."""
        optional.require("plot")
        from apportion.inference.fit.assumption_picture import draw

        return draw(self)


def _within(name: str, values: npt.ArrayLike, low: float) -> Floats:
    found = np.asarray(values, np.float64)
    if not ((found >= low) & (found <= 1)).all():
        raise validation.refuse(name, f"numbers in [{low:g}, 1]", values)
    return found


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
