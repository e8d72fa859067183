"""c, b and σ from what was spent and what came back: `fit_noise`."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from apportion._common import validation
from apportion.errors import InvalidValue
from apportion.inference.fit.estimate import Estimate, estimated
from apportion.inference.fit.history import History, observed_history, weeks_and_days
from apportion.inference.fit.result import Arms, NoiseFit


def fit_noise(
    history: Any,
    *,
    arm: str = "arm",
    amount: str = "amount",
    outcome: str = "outcome",
    date: str | None = None,
    c: float | None = None,
    b: float | None = None,
    sigma: str = "auto",
    level: float = 0.95,
    tails: str = "gaussian",
    apart: str | None = None,
    period: str | None = None,
    decimal: str | None = None,
    delimiter: str | None = None,
    sheet: str | int | None = None,
) -> NoiseFit:
    """How mean and noise of outcomes grow with the amount: c, b and σ of y = μ·x^c + x^b·σ·ξ, with intervals.

    `history` is a data frame, the path of a file (CSV, .xlsx, Parquet), a mapping of columns, or rows (mappings, or
    triples of arm, amount, outcome); `arm`, `amount` and `outcome` name its columns. It is read as everywhere
    (`inference.history`): several rows of one date and arm are summed, rows without spend or outcome are counted and
    left out; `notes` of the result says so.

    - `date`: the column of the dates, by default one called "date" if there is one. Dates are for the tests of drift
      and of weekdays, and for `apart`; without them the order of the rows is taken for that of time.
    - `c`, `b`: given exponents; None to estimate them. c = 1 is the law of returns in proportion.
    - `sigma`: "common" for one σ, "per-arm" for one per arm, "auto" for one per arm unless equality is not rejected
      (at 1%). c and b are common in any case. With "common" arms of different amounts are compared with each other;
      if their scales differ in truth, b answers for it. With "auto" and "per-arm" changes within an arm count.
    - `level`: of the intervals.
    - `tails`: "gaussian", or "measured" to let the residuals' own tails widen the interval of b (never narrow it).
    - `apart`: "week" or "month" for a mean of its own in each, where means drift: only what happens within counts.
    - `period`: "day", "week" or "month" to sum the rows of one into one observation.
    - `decimal`: "point" or "comma" in numbers that are text, as in a file; by default they tell it themselves.
    - `delimiter` separates the cells of a CSV file; `sheet` is that of a workbook, by name or number.

    Restricted maximum likelihood (`inference.fit.likelihood`) and its likelihood ratio, which near the ends of the
    range is compared with its own law there. Intervals at 95% were measured to cover 93–97%, for Gaussian noise and
    independent amounts; `docs/real_data.md` has the table. When the guarantee fails: noise with heavy tails (use
    `tails`), means that drift (use `apart`), noise shared between observations; `assumptions` of the result tests it.

    >>> rng = np.random.default_rng(1)
    >>> x = rng.lognormal(size=500)
    >>> fit = fit_noise({"arm": ["a"] * 500, "amount": x, "outcome": 3 * x**0.7 + x**0.6 * rng.normal(size=500)})
    >>> print(f"{fit.c:.2f} in {fit.c_interval[0]:.2f}–{fit.c_interval[1]:.2f}, sigma {fit.sigma:.2f}")
    0.70 in 0.67–0.74, sigma 1.06
    """
    validation.choice("sigma", sigma, ("auto", "common", "per-arm"))
    validation.choice("tails", tails, ("gaussian", "measured"))
    if apart is not None:
        validation.choice("apart", apart, ("week", "month"))
    level = validation.number("level", level, above=0.0, below=1.0)
    given_c = None if c is None else validation.number("c", c, above=0.0, high=1.0)
    given_b = None if b is None else validation.number("b", b, low=0.0, high=1.0)
    observed = observed_history(
        history, date=date, arm=arm, amount=amount, outcome=outcome, period=period, decimal=decimal,
        delimiter=delimiter, sheet=sheet,
    )  # fmt: skip
    found = estimated(
        observed,
        _blocks(observed, apart),
        sigma=sigma,
        c=given_c,
        b=given_b,
        level=level,
        measured=tails == "measured",
    )
    data = found.data
    in_order = np.empty(len(found.residuals))
    in_order[data.order] = found.residuals
    return NoiseFit(
        c=found.c,
        c_interval=found.c_interval,
        c_error=found.c_error,
        c_source=found.c_source,
        b=found.b,
        b_interval=found.b_interval,
        b_error=found.b_error,
        sigma=found.pooled * _scale_unit(found),
        level=level,
        scale="common" if found.one_scale else "per-arm",
        tails=tails,
        apart=apart,
        arms=_arms(observed, found),
        amounts=observed.amounts,
        residuals=in_order,
        stretch=found.stretch,
        skipped=observed.summary.without_spend,
        pending=observed.summary.without_outcome,
        notes=observed.summary.sentences(),
        _estimate=found,
        _history=observed,
    )


def _scale_unit(found: Estimate) -> float:
    """What a scale of 1 in the units of the data is at amount 1, in units of the outcome."""
    return math.exp(-found.b * found.data.log_unit) * found.data.size


def _arms(observed: History, found: Estimate) -> Arms:
    data = found.data
    at = data.at(found.c, found.b)
    information = data.arm_sums(at.information)
    rate = data.size * math.exp(-found.c * data.log_unit)
    return Arms(
        observed.names,
        tuple(data.counts.tolist()),
        tuple((data.arm_sums(at.means * at.information) / information * rate).tolist()),
        tuple((found.scales / np.sqrt(information) * rate).tolist()),
        tuple((found.own_scales * _scale_unit(found)).tolist()),
    )


def _blocks(observed: History, apart: str | None) -> npt.NDArray[np.intp] | None:
    """The week or month of each observation, numbered."""
    if apart is None:
        return None
    if observed.moments is None:
        raise InvalidValue(
            f"`history` must have a date in every row to take each {apart} apart; got rows without one."
        )
    if apart == "month":
        labels = observed.moments.astype("datetime64[M]").astype(np.int64)
    else:
        labels, _ = weeks_and_days(observed.moments)
    found: npt.NDArray[np.intp] = np.unique(labels, return_inverse=True)[1].astype(np.intp)
    return found
