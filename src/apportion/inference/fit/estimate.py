"""The estimates of the law: c, b and the scales, and whether the arms have one scale or each its own."""

import math
from copy import copy
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from apportion._common.distributions import chi_squared_above, chi_squared_quantile
from apportion._common.formatting import readable
from apportion.errors import InvalidValue
from apportion.inference.fit.diagnostics import own_scales, quiet_arms, standardised, tail_stretch
from apportion.inference.fit.history import History
from apportion.inference.fit.intervals import interval
from apportion.inference.fit.likelihood import Data, Floats
from apportion.inference.fit.surface import Axis, Surface

LOWEST_C = 0.05  # below it the mean hardly knows the amount

# Equal scales are given up where they would come out like this by chance less often than so.
UNEQUAL = 0.01
# A likelihood with a scale per arm is not used for equal scales if it tells less than this part about b.
_TELLS = 0.25
# A standard error of b beyond this says that the amounts hardly vary.
_HOPELESS = 1e3
# With fewer observations than this, beyond the means, c is not estimated.
_ENOUGH_FOR_C = 8

Interval = tuple[float, float]


class EqualNoise(NamedTuple):
    """The likelihood ratio of a scale per arm against one for all, with Bartlett's correction; NaN if untestable."""

    statistic: float
    freedom: int
    p_value: float


class Estimate(NamedTuple):
    """What was estimated, in the scaled units of `data`.

    `c_source`: "estimated", "given", or "assumed" to be 1 where the data cannot tell. `scales` is σ by arm, the same
    for all with `one_scale`; `own_scales` is what each arm alone says, `pooled` their root mean square. `equal_noise`
    is None where it was not needed.
    """

    data: Data
    surface: Surface
    c: float
    c_interval: Interval
    c_error: float
    c_source: str
    b: float
    b_interval: Interval
    b_error: float
    one_scale: bool
    pooled: float
    scales: Floats
    own_scales: Floats
    residuals: Floats
    stretch: float
    equal_noise: EqualNoise | None


def estimated(
    observed: History,
    blocks: npt.NDArray[np.intp] | None,
    *,
    sigma: str,
    c: float | None,
    b: float | None,
    level: float,
    measured: bool,
) -> Estimate:
    """The law of a history; refuses one that cannot tell b. `measured`: heavy tails widen the interval of b.

    With sigma="auto" σ is one for all arms where equality is not rejected. The exponents come from the likelihood
    with a scale per arm all the same: it is right in both cases, where the other one is wrong (86% of 95% at scales
    that differ by 1.3, too little to be seen in 300 observations). It is left only where it tells much less, because
    the amounts differ between arms rather than within them.
    """
    data = _data(observed, sigma == "per-arm", c, blocks)
    estimable = c is None and data.dof >= _ENOUGH_FOR_C
    c_axis = Axis(LOWEST_C, 1.0) if estimable else Axis(*[1.0 if c is None else c] * 2)
    b_axis = Axis(0.0, 1.0) if b is None else Axis(b, b)
    equal: EqualNoise | None = None
    surfaces: dict[bool, Surface] = {}
    one_scale = sigma == "common"
    if sigma == "auto":
        equal, surfaces = equal_noise(data, c_axis, b_axis)
        unequal = equal.p_value < UNEQUAL
        one_scale = not unequal
        own, common = (_with_scale(data, per_arm) for per_arm in (True, False))
        tells = own.information(0.5) > _TELLS * common.information(0.5)
        data = own if unequal or (not math.isnan(equal.p_value) and tells) else common
    surface = surfaces.get(data.per_arm) or Surface(data, c_axis, b_axis, per_arm=data.per_arm)
    found = _assumed_or_estimated(data, surface, one_scale, level, measured)
    if c is None and c_axis.given:
        found = _assumed(found)
    return found._replace(equal_noise=equal)


def estimated_quickly(
    observed: History, blocks: npt.NDArray[np.intp] | None = None
) -> tuple[Estimate, EqualNoise] | None:
    """`estimated` with a scale per arm at a third of its cost, for any history; None where there is nothing to tell.

    Equal noise is tested at the estimated c. Amounts that do not vary are no refusal: c = 1 and b = 1/2 are assumed.
    """
    count, arms = len(observed.amounts), len(observed.names)
    if count - arms < _ENOUGH_FOR_C or not observed.outcomes.any():
        return None
    data = Data(observed.codes, observed.amounts, observed.outcomes, per_arm=True, blocks=blocks)
    data.quiet = quiet_arms(data, 1.0)
    if not data.own_scale.any():
        return None
    varied = data.information(0.5) > _HOPELESS**-2
    c_axis, b_axis = (Axis(LOWEST_C, 1.0), Axis(0.0, 1.0)) if varied else (Axis(1.0, 1.0), Axis(0.5, 0.5))
    found = _assumed_or_estimated(data, Surface(data, c_axis, b_axis, per_arm=True), False, 0.95, False)
    found = found if varied else _assumed(found)
    return found, equal_noise(data, Axis(found.c, found.c), b_axis)[0]


def _assumed_or_estimated(data: Data, surface: Surface, one_scale: bool, level: float, measured: bool) -> Estimate:
    """The estimate with c in the range of the surface; with c = 1 where the data do not tell."""
    c_axis, b_axis = surface.c_range, surface.b_range
    found = _described(data, surface, c_axis, b_axis, one_scale, level, measured)
    if c_axis.given or found.c_interval != c_axis:
        return found
    given = Axis(1.0, 1.0)
    surface = Surface(data, given, b_axis, per_arm=data.per_arm)
    return _assumed(_described(data, surface, given, b_axis, one_scale, level, measured))


def _assumed(found: Estimate) -> Estimate:
    return found._replace(c_source="assumed", c_interval=(LOWEST_C, 1.0), c_error=math.inf)


def _described(
    data: Data, surface: Surface, c_axis: Axis, b_axis: Axis, one_scale: bool, level: float, measured: bool
) -> Estimate:
    c, b = surface.c, surface.b
    at = data.at(c, b)
    own = own_scales(data, at.residual)
    used = data.own_scale if data.per_arm else data.free > 0
    pooled = np.full(len(own), math.sqrt(at.residual[used].sum() / data.free[used].sum()))
    residuals = standardised(data, c, b, own if data.per_arm else pooled)
    stretch = tail_stretch(data, residuals)
    widen = stretch**2 if measured else 1.0
    deep = 0.75 * float(chi_squared_quantile(1, 1 - level)) * widen + 4.0
    if deep > surface.deep:
        surface = Surface(data, c_axis, b_axis, per_arm=data.per_arm, deep=deep)
    c_error, b_error = 0.0, 0.0
    c_interval, b_interval = (c, c), (b, b)
    if not c_axis.given:
        # The score of c is linear in the noise: heavy tails leave its variance as it is.
        c_error, correction = error_of_c(data, c, b, own if data.per_arm else pooled)
        c_interval = interval(surface.profile_c, c, c_error, level, correction, ends=c_axis, within=surface.c_axis)
    if not b_axis.given:
        b_error = _error(data.information(b, c)) * math.sqrt(widen)
        b_interval = interval(surface.profile_b, b, b_error / math.sqrt(widen), level, widen, within=surface.b_axis)
    return Estimate(
        data, surface, c, c_interval, c_error, "given" if c_axis.given else "estimated", b, b_interval, b_error,
        one_scale, float(pooled[0]), pooled if one_scale else own, own, residuals, stretch, None,
    )  # fmt: skip


def error_of_c(data: Data, c: float, b: float, scales: Floats) -> tuple[float, float]:
    """The standard error of c, and by how much the mean of its likelihood ratio exceeds 1.

    Arms weigh by what they tell, w_i, with scales that are estimates themselves: the variance of such a mean exceeds
    what it seems to be by 4·Σ w_i·(1 − w_i)/ν_i (Meier 1953); one unknown scale adds 1.5/ν to the ratio.
    """
    signal = data.mean_information(c, b, scales)
    total = float(signal.sum())
    if not total > 0:
        return _HOPELESS, 1.0
    weights = signal / total
    if data.per_arm:
        excess = float((weights * (4 * (1 - weights) + 1.5) / np.maximum(data.free, 1)).sum())
    else:
        excess = 1.5 / data.dof
    return _error(total), 1 + excess


def _error(information: float) -> float:
    return 1 / math.sqrt(information) if information > _HOPELESS**-2 else _HOPELESS


def _with_scale(data: Data, per_arm: bool) -> Data:
    found = copy(data)
    found.per_arm = per_arm
    return found


def equal_noise(data: Data, c: Axis, b: Axis) -> tuple[EqualNoise, dict[bool, Surface]]:
    """The test, and the surfaces by "a scale per arm" that serve the estimates too."""
    used = data.own_scale
    count = int(used.sum())
    if count < 2 or (not b.given and _with_scale(data, True).information(0.5) < _HOPELESS**-2):
        return EqualNoise(math.nan, max(count - 1, 0), math.nan), {}
    tested = data if used.all() else data.part(used)
    surfaces = {per_arm: Surface(tested, c, b, per_arm=per_arm) for per_arm in (False, True)}
    free = tested.free.astype(np.float64)
    correction = 1 + (float((1 / free).sum()) - 1 / float(free.sum())) / (3 * (count - 1))
    statistic = max(0.0, 2 * (surfaces[True].top - surfaces[False].top)) / correction
    found = EqualNoise(statistic, count - 1, float(chi_squared_above(count - 1, statistic)))
    return found, surfaces if used.all() else {}


def _data(observed: History, per_arm: bool, c: float | None, blocks: npt.NDArray[np.intp] | None) -> Data:
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
    data = Data(observed.codes, observed.amounts, observed.outcomes, per_arm=per_arm, blocks=blocks)
    if data.dof < 2 or data.information(0.5) < _HOPELESS**-2:
        where = "within an arm" if per_arm else "between rows"
        typical = readable(float(np.median(observed.amounts)))
        raise InvalidValue(
            f"`history` must have amounts that differ {where}, or b is not identified: give the same arm sometimes a "
            f"half, sometimes double; got {count} rows with amounts near {typical}."
        )
    quiet = quiet_arms(data, 1.0 if c is None else c)
    if quiet.all():
        raise InvalidValue("`history` must have noise in the outcomes; got outcomes in proportion to the amounts.")
    quiet = quiet_arms(data, c)
    if quiet.all():
        raise InvalidValue("`history` must have noise in the outcomes; got a power of the amounts exactly.")
    data.quiet = quiet
    if per_arm and quiet[data.free > 1].any():
        name = observed.names[int(np.argmax(quiet & (data.free > 1)))]
        raise InvalidValue(
            "`history` must have noise in the outcomes of every arm (leave the arm out, or set sigma to common); "
            f"got outcomes in proportion to the amounts for {name!r}."
        )
    return data
