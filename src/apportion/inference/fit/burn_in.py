"""The paper's burn-in (remark "Estimate b"): play amounts a_1..a_L twice on one arm, and compare.

D_t = Y_(t+L) − Y_t = a_t^b·σ·(ξ' − ξ) has no mean in it. The paper regresses log D on log a; D is negative half of
the time, so it must be log |D|. For Gaussian noise log |D| scatters around its line with variance π²/8, so the slope
has variance (π²/8)/S with S = Σ(log a − mean)². The likelihood of D² uses the same numbers better: ½/S, two fifths
of it.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from apportion._common import validation
from apportion.errors import InvalidValue
from apportion.inference.fit.intervals import highest, interval
from apportion.inference.fit.likelihood import Data, Floats
from apportion.inference.history.reader import LARGEST, SMALLEST


class BurnInFit(NamedTuple):
    """b and σ from a burn-in; the likelihood's and, for comparison, the paper's regression.

    `b_error` and `slope_error` are standard errors for Gaussian noise. `slope` is not held within [0, 1].
    """

    b: float
    b_interval: tuple[float, float]
    b_error: float
    sigma: float
    slope: float
    slope_error: float
    level: float

    def __str__(self) -> str:
        low, high = self.b_interval
        return (
            f"b = {self.b:.2f} ({100 * self.level:g}% interval {low:.2f} to {high:.2f}), σ = {self.sigma:.3g}; the "
            f"regression of log |D| on log a gives {self.slope:.2f} ± {self.slope_error:.2f}."
        )


def burn_in_design(largest: float, periods: int, smallest: float | None = None) -> Floats:
    """The amounts a_1..a_L of a burn-in of 2L = `periods` periods: play them in this order, then all of them again.

    Geometric from `largest` down to `smallest` (a sixteenth of it by default). The standard error of b will be
    1/√(2·Σ(log a − mean)²) for Gaussian noise: the ratio of the amounts counts, not their unit.

    >>> burn_in_design(80, 10)
    array([80., 40., 20., 10.,  5.])
    """
    top = validation.number("largest", largest, low=SMALLEST, high=LARGEST)
    bottom = validation.number("smallest", top / 16 if smallest is None else smallest, low=SMALLEST, below=top)
    count = validation.whole("periods", periods, low=6)
    if count % 2:
        raise validation.refuse("periods", "even, as each amount is played twice", periods)
    return np.geomspace(top, bottom, count // 2)


def fit_burn_in(
    amounts: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, *, level: float = 0.95
) -> BurnInFit:
    """b and σ from the outcomes `first` and `second` of the same `amounts`, played twice.

    An outcome that comes back exactly the same (noise with two values does that half of the time) says nothing
    about its scale here, and is refused; `fit_noise` can use such data.

    >>> found = fit_burn_in([8, 4, 2, 1], [80.0, 41.0, 21.5, 9.0], [88.0, 37.0, 19.5, 10.0])
    >>> round(found.slope, 6), round(found.b, 2)
    (1.0, 1.0)
    """
    a, y1, y2 = _column("amounts", amounts), _column("first", first), _column("second", second)
    level = validation.number("level", level, above=0.0, below=1.0)
    for name, column in (("first", y1), ("second", y2)):
        if len(column) != len(a):
            raise validation.refuse(name, f"{len(a)} outcomes, one for each of `amounts`", f"{len(column)}")
    if len(a) < 3:
        raise validation.refuse("amounts", "at least 3 numbers", a.tolist())
    if not ((a >= SMALLEST) & (a <= LARGEST)).all():
        raise validation.refuse("amounts", "numbers between 1e-60 and 1e60", a.tolist())
    gaps = y2 - y1
    if not gaps.all():
        index = int(np.argmin(np.abs(gaps)))
        raise InvalidValue(
            f"`second` must differ from `first` in every period, or its logarithm does not exist; got {y1[index]:g} "
            f"twice at amount {a[index]:g}. Noise of few values does this; fit_noise can use such outcomes."
        )
    data = Data(np.zeros(len(a), np.intp), a, gaps, per_arm=False, means=False)
    spread = data.information(0.5) / 2
    if spread < 1e-6:
        raise validation.refuse("amounts", "numbers that differ, or b is not identified", a.tolist())
    b = highest(data.log_likelihood)
    error = 1 / math.sqrt(2 * spread)
    heights = np.log(np.abs(data.y))
    return BurnInFit(
        b=b,
        b_interval=interval(data.log_likelihood, b, error, level),
        b_error=error,
        sigma=math.sqrt(data.at(1.0, b).residual[0] / data.dof / 2) * math.exp(-b * data.log_unit) * data.size,
        slope=float(data.logs @ (heights - heights.mean())) / spread,
        slope_error=math.pi / math.sqrt(8 * spread),
        level=level,
    )


def _column(name: str, values: Any) -> Floats:
    try:
        found = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise validation.refuse(name, "a list of numbers", values) from None
    if found.ndim != 1 or not np.isfinite(found).all():
        raise validation.refuse(name, "a list of finite numbers", values)
    return found
