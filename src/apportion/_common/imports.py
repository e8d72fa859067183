"""Classes by where they are: those of users travel through files and other processes under an import path."""

import importlib
from typing import Any

from apportion._common.validation import refuse
from apportion.errors import ApportionError, InvalidValue


def home(cls: type) -> str:
    """Where a class is defined: its module, and its name in there."""
    return f"{cls.__module__}.{cls.__qualname__}"


def is_ours(cls: type) -> bool:
    """Whether a class is part of this package."""
    return cls.__module__.startswith("apportion.")


def import_path(cls: type) -> str:
    """'module:Class', which `class_at` finds again.

    >>> from fractions import Fraction
    >>> import_path(Fraction)
    'fractions:Fraction'
    """
    return f"{cls.__module__}:{cls.__qualname__}"


def object_at(name: str, path: str) -> Any:
    """What is at an import path 'module:Class'; refused where there is nothing."""
    module, colon, qualified = path.partition(":")
    if not (module and colon and qualified):
        raise refuse(name, "an import path 'module:Class'", path)
    try:
        found: Any = importlib.import_module(module)
        for part in qualified.split("."):
            found = getattr(found, part)
    except ApportionError:
        raise
    except Exception as error:  # the module is the user's: anything can go wrong in it
        raise InvalidValue(f"`{name}` {path!r} cannot be imported: {type(error).__name__}: {error}.") from error
    return found


def class_at(name: str, path: str, base: type) -> Any:
    """The class at an import path 'module:Class'; refused where there is none, or it is not a `base`.

    >>> from fractions import Fraction
    >>> from numbers import Number
    >>> class_at("world", "fractions:Fraction", Number)
    <class 'fractions.Fraction'>
    """
    found = object_at(name, path)
    if not isinstance(found, type) or not issubclass(found, base):
        raise refuse(name, f"the import path of a subclass of {base.__name__}", path)
    return found
