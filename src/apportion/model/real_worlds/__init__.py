"""Worlds fitted to public histories: the parameters that the package ships, with their source; not the data.

All are `Moving` worlds over the law of returns: c, b, σ per arm and a path of means, a budget of 1, returns in units
of the mean value of the best split. Those of a history were written by `FittedWorld.entry`
(docs/tools/fit_real_worlds.py); those from published figures stand here, with what they rest on.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from apportion.model.law import Instance
from apportion.model.moving import Moving
from apportion.model.response import best_value
from apportion.model.sums import Floats

FITTED: Final = Path(__file__).with_name("fitted.json")
# How many periods a quarter of a year has, by what one of them is; others have no calendar.
QUARTERS: Final = {"day": 90, "week": 13, "month": 3}
# Periods of a world whose means stand still.
STILL_PERIODS = 200


class RealWorld(NamedTuple):
    """A world with what it was made from; `periods` is how many the history had, `period` what one of them is: "day",
    "week", "month", or nothing where the rows were not in time."""

    key: str
    title: str
    about: str
    source: str
    arms: tuple[str, ...]
    periods: int
    world: Moving
    period: str = ""

    @property
    def quarter(self) -> int | None:
        """How many periods a quarter of a year has; None where the world has no calendar."""
        return QUARTERS.get(self.period)


@functools.cache
def real_worlds() -> tuple[RealWorld, ...]:
    """Every world: those fitted to histories, then those from published figures."""
    fitted = [_read(entry) for entry in json.loads(FITTED.read_text(encoding="utf-8"))]
    return (*fitted, *_from_figures())


def find_real_world(key: str) -> RealWorld | None:
    """The world with that key; None where there is none.

    >>> find_real_world("fields").world.b
    0.77
    """
    return next((each for each in real_worlds() if each.key == key), None)


def _read(entry: dict[str, Any]) -> RealWorld:
    knots, periods = np.array(entry["path"]), entry["periods"]
    path = knots
    if len(knots) > 1:  # one row: means at rest
        places = [*range(0, periods - 1, entry["every"]), periods - 1]
        path = np.column_stack([np.interp(np.arange(periods), places, means) for means in knots.T])
    base = Instance(tuple(path.mean(axis=0).tolist()), entry["b"], tuple(entry["sigma"]), entry["c"])
    key, title, about, source = (entry[name] for name in ("key", "title", "about", "source"))
    world = Moving(base, path=tuple(map(tuple, path.tolist())))
    return RealWorld(key, title, about, source, tuple(entry["arms"]), periods, world, entry["period"])


def _still(means: Floats, b: float, c: float, noise: float) -> Moving:
    """Means at rest, scaled to a best value of 1; after an even split an arm is known to `noise` of its return."""
    scaled = means / best_value(means, c, 1.0)
    even = 1.0 / len(means)
    sigma = noise * float(np.exp(np.log(scaled).mean())) * even ** (c - b)
    base = Instance(tuple(scaled.tolist()), b, sigma, c)
    return Moving(base, path=(base.means,))


def _from_figures() -> tuple[RealWorld, ...]:
    """Worlds of which one figure is published and the rest is chosen, as `about` says."""
    smith = (
        "Smith's law of heterogeneity in field plots (Smith 1938): the variance of a yield per area falls"
        " as area^(−β), so that of a total grows as area^(2−β) and b = 1 − β/2; the median over 131 uniformity trials"
        " is b = 0.77"
    )
    clicks = "within-campaign elasticity of clicks to spend in 13 public campaigns: 0.51 to 0.95, median 0.78"
    plots = "eight treatments of a field, yields from 0.6 to 1 of the best; c = 1 and a noise of 30% are chosen"
    found = [
        RealWorld(
            "fields", "Field trials", plots, smith, tuple(f"treatment {number}" for number in range(1, 9)),
            STILL_PERIODS, _still(np.geomspace(1.0, 0.6, 8), 0.77, 1.0, 0.3),
        )
    ]  # fmt: skip
    for key, words, c in (("low", "least", 0.51), ("median", "median", 0.78), ("high", "largest", 0.95)):
        about = f"five campaigns at the {words} elasticity, c = {c:g}; returns from 0.4 to 1 of the best, b = 0.79 as"
        about += " measured of ad spend to clicks, a noise of 30% is chosen"
        found.append(
            RealWorld(
                f"clicks-{key}", f"Clicks, elasticity {c:g}", about, clicks,
                tuple(f"campaign {number}" for number in range(1, 6)), STILL_PERIODS,
                _still(np.array([1.0, 0.85, 0.7, 0.55, 0.4]), min(0.79, c), c, 0.3),
            )
        )  # fmt: skip
    return tuple(found)
