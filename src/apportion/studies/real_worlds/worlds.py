"""Worlds fitted to public histories: the parameters that the package ships, with their source; not the data.

All are `Moving` worlds over the law of returns: c, b, σ per arm and a path of means, a budget of 1, returns in units
of the mean value of the best split. Those of a history were written by `entry_of(fit_world(history), …)`; those from
published figures stand here, with what they rest on.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from apportion.inference.fitted_world import FittedWorld
from apportion.model.law import Instance
from apportion.model.moving import Moving
from apportion.model.response import best_value
from apportion.model.sums import Floats
from apportion.studies.concave.worlds import Case

FITTED: Final = Path(__file__).with_name("fitted.json")
# Periods of a world whose means stand still.
STILL_PERIODS = 200


class RealWorld(NamedTuple):
    """A world with what it was made from; `periods` is how many the history had."""

    key: str
    title: str
    about: str
    source: str
    arms: tuple[str, ...]
    periods: int
    world: Moving

    @property
    def case(self) -> Case:
        """The world under its title."""
        return Case(self.title, self.world)


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


def entry_of(fitted: FittedWorld, key: str, title: str, about: str, source: str, *, every: int = 1) -> dict[str, Any]:
    """A fitted world as it stands in the file: path at every so many periods, returns in units of the best value."""
    path = np.array(fitted.world.path)
    unit = float(np.mean([best_value(row, fitted.fit.c, 1.0) for row in path]))
    knots = [*range(0, len(path) - 1, every), len(path) - 1]
    sigma = [float(f"{level / unit:.4g}") for level in np.broadcast_to(fitted.world.sigma, len(fitted.arms))]
    return {
        "key": key, "title": title, "about": about, "source": source, "arms": list(fitted.arms),
        "periods": len(path), "every": every, "c": round(fitted.fit.c, 3), "b": round(fitted.fit.b, 3),
        "sigma": sigma, "smooth": fitted.smooth,
        "path": [[float(f"{mean / unit:.4g}") for mean in path[at]] for at in knots],
    }  # fmt: skip


def _read(entry: dict[str, Any]) -> RealWorld:
    knots, periods = np.array(entry["path"]), entry["periods"]
    places = [*range(0, periods - 1, entry["every"]), periods - 1]
    path = np.column_stack([np.interp(np.arange(periods), places, knots[:, arm]) for arm in range(knots.shape[1])])
    base = Instance(tuple(path.mean(axis=0).tolist()), entry["b"], tuple(entry["sigma"]), entry["c"])
    key, title, about, source = (entry[name] for name in ("key", "title", "about", "source"))
    world = Moving(base, path=tuple(map(tuple, path.tolist())))
    return RealWorld(key, title, about, source, tuple(entry["arms"]), periods, world)


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
