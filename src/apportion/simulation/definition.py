"""A sweep as a TOML file: policies × instances × horizons. Errors name the key and the line.

.. code-block:: toml

    [sweep]
    seed = 1
    replications = 200
    horizon = [1000, 10000]         # one number, or several

    [grid]                          # every combination becomes an instance
    family = "one good arm"
    b = [0.5, 0.75, 0.9]
    arms = [5, 30]
    gap = 0.5

    [[policy]]                      # told the b and sigma of each instance, unless given here
    name = "Odds"

    [[policy]]
    name = "SuccessiveElimination"
    radius = "anytime"
"""

from __future__ import annotations

import importlib
import itertools
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from apportion.errors import ApportionError, InvalidValue
from apportion.law import Instance
from apportion.policies import find_policy
from apportion.simulation.families import means_of
from apportion.simulation.run import Informed, Plan, make_plan

_SWEEP = {"name", "seed", "replications", "horizon", "periods", "record", "common", "engine"}
_GRID = {"family", "b", "arms", "gap", "sigma", "noise"}
_INSTANCE = {"means", "b", "sigma", "noise"}


class Definition(NamedTuple):
    """What a sweep file says: a name, a plan per horizon, and the files that define the user's own policies."""

    name: str
    plans: tuple[Plan, ...]
    files: tuple[Path, ...]

    def describe(self) -> dict[str, Any]:
        """Plain data that says what the sweep is."""
        return {"name": self.name, "plans": [plan.describe() for plan in self.plans]}


def read_definition(path: Path) -> Definition:
    """Read and check a sweep file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidValue(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{path} must be a text file in UTF-8; got byte {error.start} that is not.") from error
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidValue(f"{path} is not valid TOML: {error}.") from error
    return _Reader(path, text, content).read()


class _Reader:
    """Reads one file; every complaint is made with the key and its line."""

    def __init__(self, path: Path, text: str, content: dict[str, Any]) -> None:
        self.path, self.text, self.content = path, text, content

    def read(self) -> Definition:
        self._known("", self.content, {"sweep", "grid", "instance", "policy"})
        sweep = self._table("sweep")
        self._known("sweep", sweep, _SWEEP)
        candidates, files = self._policies()
        instances = self._instances()
        horizons = sweep.get("horizon")
        if horizons is None:
            raise self._complain("sweep", "horizon", "is missing: the number of periods")
        plans = []
        for horizon in horizons if isinstance(horizons, list) else [horizons]:
            try:
                plan = make_plan(
                    candidates, instances, horizon, sweep.get("replications", 100), sweep.get("seed", 0),
                    sweep.get("record", ["regret", "reward"]), sweep.get("periods"), sweep.get("common", False),
                    sweep.get("engine", "auto"),
                )  # fmt: skip
            except ApportionError as error:
                key = next((name for name in _SWEEP if f"`{name}`" in str(error)), "horizon")
                raise self._complain("sweep", key, f"is not possible: {error}") from error
            plans.append(plan)
        return Definition(str(sweep.get("name", self.path.stem)), tuple(plans), tuple(files))

    def _policies(self) -> tuple[list[Informed], list[Path]]:
        entries = self.content.get("policy", [])
        if not isinstance(entries, list) or not entries:
            raise InvalidValue(f"{self.path}: at least one [[policy]] must be given; got none.")
        candidates, files = [], []
        for place, entry in enumerate(entries):
            parameters = dict(entry)
            name, file = parameters.pop("name", None), parameters.pop("file", None)
            if not isinstance(name, str):
                raise self._complain("policy", "name", "must be the name of a policy", place)
            if file is not None:
                files.append((self.path.parent / str(file)).resolve())
                self._import(files[-1], place)
            try:
                cls = find_policy(name)
                candidate = Informed(cls, parameters)
                candidate.on(Instance((1.0, 0.5), b=parameters.get("b", 0.75)))
            except (ApportionError, TypeError) as error:
                key = next((given for given in parameters if given in str(error)), "name")
                raise self._complain("policy", key, f"is not possible: {error}", place) from error
            candidates.append(candidate)
        return candidates, files

    def _import(self, file: Path, place: int) -> None:
        if not file.is_file() or file.suffix != ".py":
            raise self._complain(
                "policy", "file", f"must be a Python file beside the sweep; got {file.name!r}", place
            )
        if str(file.parent) not in sys.path:
            sys.path.insert(0, str(file.parent))
        importlib.invalidate_caches()
        importlib.import_module(file.stem)

    def _instances(self) -> list[Instance]:
        instances = [self._instance(entry, place) for place, entry in enumerate(self.content.get("instance", []))]
        if "grid" in self.content:
            instances += self._grid()
        if not instances:
            raise InvalidValue(f"{self.path}: a [grid] or at least one [[instance]] must be given; got none.")
        return instances

    def _instance(self, entry: dict[str, Any], place: int) -> Instance:
        self._known("instance", entry, _INSTANCE, place)
        try:
            return Instance(**entry)
        except (ApportionError, TypeError) as error:
            key = next((name for name in _INSTANCE if f"`{name}" in str(error)), "means")
            raise self._complain("instance", key, f"is not possible: {error}", place) from error

    def _grid(self) -> list[Instance]:
        grid = self._table("grid")
        self._known("grid", grid, _GRID)
        axes = {name: value if isinstance(value, list) else [value] for name, value in grid.items()}
        axes = {"family": ["one good arm"], "sigma": [1.0], "noise": ["gaussian"], **axes}
        for name in ("b", "arms", "gap"):
            if name not in axes:
                raise self._complain("grid", name, "is missing")
        instances = []
        for values in itertools.product(*axes.values()):
            point = dict(zip(axes, values))
            try:
                means = means_of(point["family"], point["arms"], point["gap"])
                instances.append(Instance(means, point["b"], point["sigma"], point["noise"]))
            except ApportionError as error:
                key = next((name for name in axes if f"`{name}`" in str(error)), "b")
                raise self._complain("grid", key, f"is not possible: {error}") from error
        return instances

    def _table(self, name: str) -> dict[str, Any]:
        table = self.content.get(name, {})
        if not isinstance(table, dict):
            raise InvalidValue(f"{self.path}: [{name}] must be a table; got {table!r}.")
        return table

    def _known(self, table: str, given: dict[str, Any], known: set[str], place: int = 0) -> None:
        for key in given:
            if key not in known:
                raise self._complain(table, key, f"is not known; known are {', '.join(sorted(known))}", place)

    def _complain(self, table: str, key: str, what: str, place: int = 0) -> InvalidValue:
        line = self._line(table, key, place)
        where = f"{self.path}, line {line}" if line else str(self.path)
        return InvalidValue(f"{where}: `{table}.{key}` {what}.".replace("`.", "`").replace("..", "."))

    def _line(self, table: str, key: str, place: int) -> int | None:
        """The line of a key in a table (the `place`-th of an array of tables); the header's where it is missing."""
        current, seen, header = "", -1, None
        for number, line in enumerate(self.text.splitlines(), start=1):
            opened = re.match(r"\s*\[\[?\s*([\w.\- ]+?)\s*\]?\]", line)
            if opened:
                current = opened.group(1)
                seen += current == table
                if current == table and seen == place:
                    header = number
                if not table and current == key:
                    return number
            found = re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line)
            if found and current == table and seen in (place, -1):
                return number
        return header
