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
    c = 1.0                         # below 1 returns diminish

    [[instance]]                    # or one by one: `Instance` unless `world` is another one, or a user's
    world = "my_worlds:Capped"      # an import path; or `file` and the name of the class; or the key of a real world
    rates = [0.9, 1.0]

    [[policy]]                      # gets the true b and sigma of each instance, unless given here
    name = "Odds"

    [[policy]]
    name = "SuccessiveElimination"
    radius = "anytime"

    [[policy]]                      # a user's policy, from a file beside this one
    name = "Leading"
    file = "my_policy.py"
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from apportion._common import validation
from apportion.errors import ApportionError, InvalidValue
from apportion.model.law import Instance
from apportion.model.real_worlds import find_real_world
from apportion.model.world import World
from apportion.model.worlds import world_from_dict
from apportion.policies import Policy, find_policy
from apportion.simulation.candidates import Informed, require_fit
from apportion.simulation.executors import reason_of
from apportion.simulation.families import means_of
from apportion.simulation.plan import LONGEST_HORIZON, Plan, make_plan, require_memory
from apportion.simulation.rehearsal import require_playable
from apportion.simulation.user_code import load_module

_DEFAULTS = {"replications": 100, "seed": 0}
_SWEEP = {"name", "seed", "replications", "horizon", "periods", "record", "common", "engine"}
_GRID = {"family", "b", "c", "arms", "gap", "sigma", "noise"}
_INSTANCE = {"means", "b", "c", "sigma", "noise"}
MOST_INSTANCES = 100_000


class Definition(NamedTuple):
    """What a sweep file says: a name, a plan per horizon, and the files of users' policies, worlds and noise."""

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
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"{path} is not valid TOML: {reason_of(error).partition(': ')[2]}.") from error
    return _Reader(path, text, content).read()


class _Reader:
    """Reads one file; every complaint is made with the key and its line."""

    def __init__(self, path: Path, text: str, content: dict[str, Any]) -> None:
        self.path, self.text, self.content = path, text, content
        self.files: dict[Path, None] = {}

    def read(self) -> Definition:
        self._require_known("", self.content, {"sweep", "grid", "instance", "policy"})
        sweep = self._table("sweep", _SWEEP)
        candidates = self._policies()
        instances = self._instances()
        if "horizon" not in sweep:
            raise self._complain("sweep", "horizon", "is missing: the number of periods")
        given = {key: value for key, value in sweep.items() if key != "name"}
        plans: list[Plan] = []
        for horizon in self._horizons(sweep["horizon"]):
            self._require_fit(candidates, instances, horizon)
            with self._naming_the_key("sweep", _SWEEP, "horizon"):
                plans.append(make_plan(candidates, instances, **{**_DEFAULTS, **given, "horizon": horizon}))
                require_memory(plans)
        return Definition(str(sweep.get("name", self.path.stem)), tuple(plans), tuple(self.files))

    def _horizons(self, given: Any) -> list[int]:
        listed = given if isinstance(given, list) else [given]
        with self._naming_the_key("sweep", (), "horizon"):
            horizons = [validation.whole("horizon", horizon, low=1, high=LONGEST_HORIZON) for horizon in listed]
        if not horizons or len(set(horizons)) < len(horizons):
            raise self._complain("sweep", "horizon", f"must be one number, or several different ones; got {given}")
        return horizons

    def _require_fit(self, candidates: list[Informed], instances: list[World], horizon: int) -> None:
        """Refuse a policy that cannot run on one of the instances."""
        for entry, candidate in enumerate(candidates):
            for index, instance in enumerate(instances):
                try:
                    require_fit(candidate, instance, horizon, rehearse=index == 0)
                except ApportionError as error:
                    cause = error.__cause__ or error
                    key = _named(cause, candidate.parameters, "")
                    reason = _reason(cause) if key else str(error)  # a wrong parameter is wrong on every instance
                    raise self._complain("policy", key or "name", f"is not possible: {reason}", entry) from error

    def _policies(self) -> list[Informed]:
        candidates = []
        for index, entry in enumerate(self._entries("policy")):
            parameters = {name: _frozen(value) for name, value in entry.items()}
            name, file = parameters.pop("name", None), parameters.pop("file", None)
            if not isinstance(name, str):
                raise self._complain("policy", "name", "must be the name of a policy", index)
            if file is None:
                with self._naming_the_key("policy", (), "name", index):
                    cls = find_policy(name)
            else:
                cls = self._class("policy", name, file, Policy, index)
            candidates.append(Informed(cls, parameters))
        if not candidates:
            raise InvalidValue(f"{self.path}: at least one [[policy]] must be given; got none.")
        return candidates

    def _class(self, table: str, name: str, given: Any, base: type, index: int) -> Any:
        """A user's class by its name in a file beside this one."""
        file = self.path.parent / str(given)
        if not isinstance(given, str) or file.suffix != ".py" or not file.is_file():
            raise self._complain(table, "file", f"must be a Python file; got {validation.shown(given)}", index)
        module = self._load(file, table, "file", index)
        cls = getattr(module, name, None)
        if not isinstance(cls, type) or not issubclass(cls, base):
            key, kind = ("world", "world") if base is World else ("name", "policy")
            raise self._complain(table, key, f"must be a {kind} of {file.name}; got {name!r}", index)
        return cls

    def _load(self, file: Path, table: str, key: str, index: int) -> Any:
        self.files[file.resolve()] = None
        try:
            return load_module(file.resolve())
        except (Exception, SystemExit) as error:  # the file is the user's: anything can go wrong in it
            raise self._complain(table, key, f"cannot be loaded: {_reason(error)}", index) from error

    def _load_modules(self, entry: Any, table: str, index: int) -> None:
        """Load what an entry names by an import path 'module:Class', where the module is a file beside this one."""
        for key, text in _texts(entry):
            module, colon, _ = text.partition(":")
            file = self.path.parent / f"{module}.py"
            if colon and module.isidentifier() and file.is_file():
                self._load(file, table, key, index)

    def _instances(self) -> list[World]:
        instances: list[World] = []
        for index, entry in enumerate(self._entries("instance")):
            self._load_modules(entry, "instance", index)
            instances.append(self._instance(entry, index))
            with self._naming_the_key("instance", (), "world" if "world" in entry else "noise", index):
                require_playable(instances[-1])
        if "grid" in self.content:
            instances += self._grid()
        if not instances:
            raise InvalidValue(f"{self.path}: a [grid] or at least one [[instance]] must be given; got none.")
        return instances

    def _instance(self, entry: dict[str, Any], index: int) -> World:
        if "world" in entry:
            return self._world(dict(entry), index)
        self._require_known("instance", entry, _INSTANCE, index)
        self._require_given("instance", entry, ("means", "b"), index)
        with self._naming_the_key("instance", _INSTANCE, "noise", index):
            instance = Instance(**entry)
        if instance.arms < 2:
            raise self._complain("instance", "means", "must be at least two numbers, one per arm; got one", index)
        return instance

    def _world(self, entry: dict[str, Any], index: int) -> World:
        file = entry.pop("file", None)
        if file is not None:
            cls = self._class("instance", str(entry["world"]), file, World, index)
            entry["world"] = f"{cls.__module__}:{cls.__qualname__}"
        with self._naming_the_key("instance", [key for key in entry if key != "world"], "world", index):
            real = find_real_world(entry["world"])
            for unknown in entry if real is not None else ():
                if unknown != "world":
                    raise validation.refuse(str(entry["world"]), "given nothing: it is as it was fitted", unknown)
            world = world_from_dict(entry) if real is None else real.world
            if world.arms < 2:
                raise InvalidValue(f"{world.label} must have at least two arms.")
        return world

    def _grid(self) -> list[World]:
        grid = self._table("grid", _GRID)
        self._load_modules(grid, "grid", 0)
        axes = {name: value if isinstance(value, list) else [value] for name, value in grid.items()}
        axes = {"family": ["one good arm"], "sigma": [1.0], "noise": ["gaussian"], "c": [1.0], **axes}
        self._require_given("grid", axes, ("b", "arms", "gap"))
        for name, listed in axes.items():
            if not listed:
                raise self._complain("grid", name, "must have at least one value; got none")
        if math.prod(map(len, axes.values())) > MOST_INSTANCES:
            raise self._complain("grid", "b", f"and the others must make at most {MOST_INSTANCES:,} instances")
        instances: list[World] = []
        for values in itertools.product(*axes.values()):
            point = dict(zip(axes, values))
            with self._naming_the_key("grid", axes, "noise"):
                means = means_of(point["family"], point["arms"], point["gap"])
                instances.append(Instance(means, point["b"], point["sigma"], point["c"], point["noise"]))
                if len(instances) == 1:  # the others differ in numbers
                    require_playable(instances[-1])
        return instances

    def _table(self, name: str, known: set[str]) -> dict[str, Any]:
        table = self.content.get(name, {})
        if not isinstance(table, dict):
            raise self._complain("", name, f"must be a table, [{name}]; got {validation.shown(table)}")
        self._require_known(name, table, known)
        return table

    def _entries(self, name: str) -> list[dict[str, Any]]:
        entries = self.content.get(name, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self._complain("", name, f"must be tables, each under [[{name}]]; got {validation.shown(entries)}")
        return entries

    def _require_given(self, table: str, given: dict[str, Any], needed: Iterable[str], index: int = 0) -> None:
        for key in needed:
            if key not in given:
                raise self._complain(table, key, "is missing", index)

    def _require_known(self, table: str, given: dict[str, Any], known: set[str], index: int = 0) -> None:
        for key in given:
            if key not in known:
                raise self._complain(table, key, f"is not known; known are {', '.join(sorted(known))}", index)

    @contextmanager
    def _naming_the_key(self, table: str, keys: Iterable[str], otherwise: str, index: int = 0) -> Iterator[None]:
        """An error inside becomes a complaint about the one of `keys` that its sentence names."""
        try:
            yield
        except (ApportionError, TypeError) as error:
            key = _named(error, keys, otherwise)
            raise self._complain(table, key, f"is not possible: {_reason(error)}", index) from error

    def _complain(self, table: str, key: str, what: str, index: int = 0) -> InvalidValue:
        line = self._line(table, key, index)
        where = f"{self.path}, line {line}" if line else str(self.path)
        name = f"{table}.{key}" if table else key
        return InvalidValue(f"{where}: `{name}` {what.removesuffix('.')}.")

    def _line(self, table: str, key: str, index: int) -> int | None:
        """The line of a key in a table (the one of that index where there are several), or of the table itself."""
        wanted = f"{table}.{key}".removeprefix(".")
        current, current_index, fallback = "", -1, None
        for number, line in enumerate(self.text.splitlines(), start=1):
            if opened := re.match(r"\s*\[\[?([^\[\]=]+)\]\]?\s*(?:#.*)?$", line):
                current = _bare(opened.group(1))
                current_index += current == table
                if current == wanted or (current == table and current_index == index):
                    fallback = fallback or number
                    if not table:
                        return number
            elif assigned := re.match(r"([^=#]+)=", line):
                name = f"{current}.{_bare(assigned.group(1))}".removeprefix(".")
                if name == wanted and current_index in (index, -1):
                    return number
                if name == table:  # as in sweep = {horizon = 10}
                    fallback = fallback or number
        return fallback


def _bare(key: str) -> str:
    """A key as written, without blanks and quotes."""
    return ".".join(part.strip().strip("\"'") for part in key.split("."))


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in an entry, with the key it stands under."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, (dict, list)):
        for name, item in value.items() if isinstance(value, dict) else ((key, item) for item in value):
            yield from _texts(item, key or str(name))


def _named(error: BaseException, keys: Iterable[str], otherwise: str) -> str:
    """The key that an error is about: the first that its sentence names."""
    said = str(error)
    matches = {key: re.search(rf"`{re.escape(key)}[`\[]|'{re.escape(key)}'", said) for key in keys}
    found = {match.start(): key for key, match in matches.items() if match}
    return found[min(found)] if found else otherwise


def _reason(error: BaseException) -> str:
    return str(error) if isinstance(error, ApportionError) else reason_of(error)


def _frozen(value: Any) -> Any:
    """Lists as tuples: parameters are immutable, and compiled code takes no lists."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
