"""What the study found: the regret of every run of every policy under every violation, and its data file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from apportion._version import __version__
from apportion.errors import IncompatibleState
from apportion.model.sums import Floats
from apportion.studies.robustness.violations import NONE, POLICIES, VIOLATIONS, World

FORMAT = "apportion.robustness"

TAIL = 0.99
# Regret counts as linear where, this many standard errors down, the second half of the time still loses more than
# this part of what an even split loses there.
LINEAR_ERRORS, LINEAR_PART = 3.0, 0.5


class Cell(NamedTuple):
    """One policy under one violation: the regret of every run, all of it and that of the second half.

    `apart` is the largest difference, in any period, between the compiled loop and the Allocator.
    """

    total: Floats
    late: Floats
    apart: float = 0.0

    @classmethod
    def of_runs(cls, lost: Floats, apart: float = 0.0) -> Cell:
        """From the regret of each period, (runs, periods)."""
        return cls(lost.sum(axis=1), lost[:, lost.shape[1] // 2 :].sum(axis=1), apart)

    @classmethod
    def from_plain(cls, entry: Mapping[str, Any]) -> Cell:
        """From the lists of the data file."""
        total, late = (np.array(entry[name], dtype=np.float64) for name in ("total", "late"))
        return cls(total, late, float(entry.get("apart", 0.0)))

    def regrets(self) -> dict[str, Any]:
        """As in the data file: lists, to four digits."""
        return {name: [float(f"{value:.4g}") for value in getattr(self, name).tolist()] for name in ("total", "late")}

    def plain(self) -> dict[str, Any]:
        """As in the data file."""
        return {"apart": self.apart, **self.regrets()}

    @property
    def mean(self) -> float:
        """The mean regret."""
        return float(self.total.mean())

    @property
    def error(self) -> float:
        """Its standard error."""
        return standard_error(self.total)

    @property
    def tail(self) -> float:
        """The 99% quantile of regret."""
        return float(np.quantile(self.total, TAIL))


class CellName(NamedTuple):
    """Which cell, by names; in the data file a violation is called a trouble."""

    world: str
    policy: str
    violation: str

    @classmethod
    def from_plain(cls, entry: Mapping[str, Any]) -> CellName:
        """From an entry of the data file."""
        return cls(entry["world"], entry["policy"], entry["trouble"])

    def plain(self) -> dict[str, str]:
        """As it stands in the data file and in the output for machines."""
        return {"world": self.world, "policy": self.policy, "trouble": self.violation}


@dataclass(frozen=True)
class Study:
    """Every policy under every violation in every world; `even` is what an even split loses, by (world, violation).

    `made_by` is what the cells depend on, None where that is not known.
    """

    horizon: int
    seed: int
    cells: Mapping[CellName, Cell]
    even: Mapping[tuple[str, str], Cell]
    made_by: Any = None

    @property
    def runs(self) -> int:
        """How many runs every cell has."""
        return len(next(iter(self.cells.values())).total)

    @property
    def apart(self) -> float:
        """The largest difference between the compiled loop and the Allocator."""
        return max(cell.apart for cell in self.cells.values())

    def __iter__(self) -> Iterator[CellName]:
        return iter(self.cells)

    def ratio(self, name: CellName, over: str = NONE) -> tuple[float, float]:
        """Mean regret over that under another violation, run by run paired, with its standard error."""
        cell, base = self.cells[name], self.cells[name._replace(violation=over)]
        ratio = cell.mean / base.mean
        return ratio, standard_error(cell.total - ratio * base.total) / base.mean

    def late_part(self, name: CellName) -> tuple[float, float]:
        """What the second half loses as a part of what an even split loses there, with its standard error."""
        even = float(self.even[name.world, name.violation].late.mean())
        return float(self.cells[name].late.mean()) / even, standard_error(self.cells[name].late) / even

    def linear(self, name: CellName) -> bool:
        """Whether regret still grows in proportion to time."""
        part, error = self.late_part(name)
        return part - LINEAR_ERRORS * error > LINEAR_PART

    def rows(self, world: World) -> dict[str, list[CellName]]:
        """The cells of a world by violation, in the order of the policies; only those that all played."""
        listed = {each.key: [CellName(world.name, policy, each.key) for policy in POLICIES] for each in VIOLATIONS}
        return {key: names for key, names in listed.items() if all(name in self.cells for name in names)}

    def to_json(self) -> str:
        """Every run of every cell, to four digits; `from_json` reads it back."""
        cells = [{**name.plain(), **cell.plain()} for name, cell in self.cells.items()]
        even = [
            {"world": world, "trouble": violation, **cell.regrets()} for (world, violation), cell in self.even.items()
        ]
        head = {"format": FORMAT, "program": __version__, "horizon": self.horizon, "seed": self.seed}
        if self.made_by is not None:
            head["made_by"] = self.made_by
        return json.dumps({**head, "cells": cells, "even": even}, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Study:
        """The study that `to_json` wrote."""
        try:
            return cls.from_plain(json.loads(text))
        except (ValueError, KeyError, TypeError) as error:
            raise IncompatibleState("The study is damaged, or was written by something else.") from error

    @classmethod
    def from_plain(cls, state: Any) -> Study:
        """From the JSON of the data file."""
        if state["format"] != FORMAT:
            raise IncompatibleState("This is not a study of robustness.")
        cells = {CellName.from_plain(entry): Cell.from_plain(entry) for entry in state["cells"]}
        even = {(entry["world"], entry["trouble"]): Cell.from_plain(entry) for entry in state["even"]}
        return cls(state["horizon"], state["seed"], cells, even, state.get("made_by"))


def standard_error(values: Floats) -> float:
    """The standard error of the mean of independent values."""
    return float(values.std(ddof=1) / math.sqrt(len(values)))
