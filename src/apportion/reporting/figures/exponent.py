"""The power of a power law, fitted to points."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from apportion._common import validation


def fitted_exponent(x: npt.ArrayLike, y: npt.ArrayLike, errors: npt.ArrayLike | None = None) -> tuple[float, float]:
    """The power p of y ∝ x^p by least squares on the logarithms, and its standard error.

    The error comes from the residuals (NaN for two points). Given the standard `errors` of y, it is at least what
    these propagate to. It describes the scatter around a power law; whether it is one, the picture must show.

    >>> slope, error = fitted_exponent([1, 10, 100], [3, 30, 300])
    >>> round(slope, 9), round(error, 9)
    (1.0, 0.0)
    """
    across, up = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if across.ndim != 1 or across.shape != up.shape or len(np.unique(across)) < 2:
        raise validation.refuse("x", "a list with at least two different numbers, as many as `y`", x)
    for name, values in (("x", across), ("y", up)):
        if not (np.isfinite(values) & (values > 0)).all():
            raise validation.refuse(name, "positive finite numbers", values.tolist())
    log_x, log_y = np.log(across), np.log(up)
    centred = log_x - log_x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ log_y) / spread
    residuals = log_y - log_y.mean() - slope * centred
    freedom = len(across) - 2
    error = math.sqrt(float(residuals @ residuals) / freedom / spread) if freedom else math.nan
    if errors is not None:
        relative = np.asarray(errors, np.float64) / up
        error = float(np.fmax(error, math.sqrt(float(np.square(centred) @ np.square(relative))) / spread))
    return slope, error
