"""Policies, worlds and noise of users: their files loaded as modules, and digests of the code they are made of."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from apportion._common.compiled import code_digest
from apportion._common.imports import is_ours
from apportion.errors import InvalidValue
from apportion.model.noise import Noise
from apportion.model.world import World

# A module that was loaded from a file carries the digest of that file as it was then, under this name.
SOURCE_DIGEST = "__apportion_source__"

# What the numbers of a policy, a world or a family of noise come from.
_KERNELS = (
    "allocate", "prepared", "initial_memory", "outcome", "best_value", "advance", "terms", "shortfall", "respond",
    "value_at", "record", "initial_state", "draw",
)  # fmt: skip

_codes: dict[type, str] = {}
_sources: dict[type, str] = {}


def load_module(file: Path) -> ModuleType:
    """The module of a file as it is now, importable by its name, also in other processes of this machine.

    It is made from the source and never from byte code: Python takes byte code for current if the file's second and
    size are the same, which two quick edits can bring about.
    """
    name, source = file.stem, file.read_bytes()
    digest = hashlib.sha256(source).hexdigest()
    known = sys.modules.get(name)
    if known is not None:
        if Path(getattr(known, "__file__", None) or "").resolve() != file:
            raise InvalidValue(f"`file` must have a name that no other module has; got {file.name}.")
        if getattr(known, SOURCE_DIGEST, None) == digest:
            return known
    elif importlib.util.find_spec(name) is not None and str(file.parent) not in sys.path:
        raise InvalidValue(f"`file` must have a name that no other module has; got {file.name}.")
    code = compile(source, str(file), "exec")
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    module = ModuleType(name)
    module.__file__ = str(file)
    setattr(module, SOURCE_DIGEST, digest)
    sys.modules[name] = module
    try:
        exec(code, module.__dict__)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def classes_in(thing: Any) -> list[type]:
    """The class of a policy, a world or a family of noise, and those of the worlds and the noise in a world."""
    parts = thing.parameters.values() if isinstance(thing, World) else ()
    inner = [cls for part in parts if isinstance(part, (World, Noise)) for cls in classes_in(part)]
    return [type(thing), *inner]


def code_of(cls: type) -> str:
    """A digest of what a user's class is made of: its file, and all that its functions reach in other files.

    Empty for a class of this package. Worked out once: a file that is edited while tasks
    run must not give its new name to what the old one computed.
    """
    if is_ours(cls):
        return ""
    if cls not in _codes:
        methods = [found for name in _KERNELS if inspect.isfunction(found := getattr(cls, name, None))]
        # Bodies for records of others do not count: they depend on what else this process has loaded.
        kinds = [getattr(cls, "Record", cls)]
        parts = [source_digest(cls), *(code_digest(method, kinds, unknown=False) for method in methods)]
        _codes[cls] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return _codes[cls]


def source_digest(cls: type) -> str:
    """The digest of the file that defines a class; empty for ours, and where no other process has the file."""
    if is_ours(cls) or cls.__module__ in ("__main__", "__mp_main__"):
        return ""
    if cls not in _sources:
        loaded = getattr(sys.modules.get(cls.__module__), SOURCE_DIGEST, None)
        _sources[cls] = _file_digest(cls) if loaded is None else loaded
    return _sources[cls]


def _file_digest(cls: type) -> str:
    try:
        return hashlib.sha256(Path(inspect.getfile(cls)).read_bytes()).hexdigest()
    except (TypeError, OSError):
        return ""
