"""The worlds of this package by name, and worlds as plain data."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from apportion._common.imports import class_at, import_path, is_ours
from apportion._common.validation import refuse
from apportion.model.noise import Noise
from apportion.model.world import World

WORLDS: Final = {
    "Instance": "apportion.model.law",
    "Saturating": "apportion.model.curves",
    "Logarithmic": "apportion.model.curves",
    "Capped": "apportion.model.curves",
    "Moving": "apportion.model.moving",
    "Jobs": "apportion.model.neighbours",
    "Thresholds": "apportion.model.neighbours",
    "Concave": "apportion.model.neighbours",
    "ConcaveSlopes": "apportion.model.neighbours",
    "SuccessCurves": "apportion.model.neighbours",
    "Discounted": "apportion.model.neighbours",
}
"""Every world of this package by name, with its module."""


def find_world(name: Any) -> Any:
    """The class of that name, or at that import path 'module:Class'.

    >>> find_world("Saturating")
    <class 'apportion.model.curves.Saturating'>
    """
    if isinstance(name, str) and name in WORLDS:
        return getattr(import_module(WORLDS[name]), name)
    if not isinstance(name, str) or ":" not in name:
        raise refuse("world", f"one of {', '.join(WORLDS)}, or an import path 'module:Class'", name)
    return class_at("world", name, World)


def described(world: World) -> dict[str, Any]:
    """A world as plain data: the name or the import path of its class under "world", then its parameters."""
    cls = type(world)
    return {"world": cls.__name__ if is_ours(cls) else import_path(cls), **_plain(world.parameters)}


def world_from_dict(values: Any) -> World:
    """The world that `to_dict` wrote down; without a "world" it is an `Instance`.

    >>> world_from_dict({"means": [0.5, 1.0], "b": 0.75})
    Instance(means=(0.5, 1.0), b=0.75, sigma=1.0, c=1.0, noise=Gaussian())
    """
    if not isinstance(values, Mapping):
        raise refuse("world", "a mapping of its parameters", values)
    given = {str(name): value for name, value in values.items()}
    return make_world(find_world(given.pop("world", "Instance")), given)


def make_world(cls: Any, given: Mapping[str, Any]) -> World:
    """A world of that class with parameters as plain data has them."""
    fields = cls.__dataclass_fields__
    for unknown in set(given) - set(fields):
        raise refuse(cls.__name__, f"given {', '.join(fields)}", unknown)
    try:
        world: World = cls(**{key: _read(value) for key, value in given.items()})
    except TypeError as error:  # a parameter is missing
        raise refuse(cls.__name__, f"given {', '.join(fields)}", sorted(given)) from error
    return world


def _plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, World):
        return {"world": "Instance", **value.to_dict()}
    if isinstance(value, Noise):
        return value.describe()
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _read(value: Any) -> Any:
    """A parameter as it is given; a world inside was written down as one."""
    return world_from_dict(value) if isinstance(value, Mapping) and "world" in value else value
