"""The worlds of this package, and worlds as plain data."""

from collections.abc import Mapping
from typing import Any, Final

from apportion._common.imports import class_at, import_path, is_ours
from apportion._common.validation import refuse
from apportion.model.law import Instance
from apportion.model.noise import Noise
from apportion.model.world import World

WORLDS: Final[dict[str, type[World]]] = {world.__name__: world for world in (Instance,)}
"""Every world of this package by name."""


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
    name = given.pop("world", Instance.__name__)
    if not isinstance(name, str):
        raise refuse("world", "the name of a world, or an import path 'module:Class'", name)
    cls: Any = WORLDS.get(name) or class_at("world", name, World)
    if cls is Instance:
        return Instance.from_dict(given)
    fields = tuple(cls.__dataclass_fields__)
    for unknown in set(given) - set(fields):
        raise refuse(f"{name}", f"given {', '.join(fields)}", unknown)
    try:
        world: World = cls(**{key: _read(value) for key, value in given.items()})
    except TypeError as error:  # a parameter is missing
        raise refuse(f"{name}", f"given {', '.join(fields)}", sorted(given)) from error
    return world


def _plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, World):
        return value.to_dict()
    if isinstance(value, Noise):
        return value.describe()
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _read(value: Any) -> Any:
    return world_from_dict(value) if isinstance(value, Mapping) and "world" in value else value
