"""One source, two ways to run it: plain Python, or compiled by Numba.

A *kernel* is a function of numbers and arrays, written as a loop, with no validation, names or files in it.
`kernel` marks one; nothing is compiled, and Numba is not even imported, until `compiled` asks for it.

A *generic* is a kernel whose body depends on the type of its first argument, a NamedTuple record:

>>> @generic
... def area(shape): ...
>>> class Square(NamedTuple):
...     side: float
>>> @implements(area, Square)
... def square_area(self):
...     return self.side * self.side
>>> area(Square(3.0))
9.0

Called plainly it looks the implementation up; inside compiled code Numba specialises it, so there is no cost
per call, and the specialisation reloads from the disk cache. (A kernel that receives a function, or closes
over one, would never be cached: this is why records carry the type and not a function.)
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

__all__ = ["NamedTuple", "compiled", "generic", "implements", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_kernels: list[Callable[..., Any]] = []
_generics: dict[Callable[..., Any], dict[type, Callable[..., Any]]] = {}
_registered: set[Any] = set()


def kernel(function: F) -> F:
    """Mark `function` as one that compiled code may call. It stays a plain Python function."""
    _kernels.append(function)
    return function


def generic(signature: F) -> F:
    """A kernel that dispatches on the type of its first argument; bodies come by `implements`."""
    table: dict[type, Callable[..., Any]] = {}

    @functools.wraps(signature)
    def dispatch(record: Any, *arguments: Any) -> Any:
        return table[type(record)](record, *arguments)

    _generics[dispatch] = table
    return dispatch  # type: ignore[return-value]


def implements(function: Callable[..., Any], record: type) -> Callable[[F], F]:
    """Make the decorated function the body of generic `function` for records of type `record`."""

    def register(body: F) -> F:
        _generics[function][record] = body
        return body

    return register


@functools.cache
def compiled(function: Callable[..., Any]) -> Any:
    """`function`, compiled on first use and kept on disk until a source it is made of changes."""
    import numba

    from apportion import _compiler

    _register()
    dispatcher = numba.njit(nogil=True, error_model="numpy")(function)
    _compiler.keep_on_disk(dispatcher, function)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        _register()  # a policy defined since the last call must be known before its first compilation
        return dispatcher(*arguments)

    call.dispatcher = dispatcher  # type: ignore[attr-defined]
    return call


def _register() -> None:
    """Tell Numba about kernels and generics that were defined since the last call."""
    from numba.extending import overload, register_jitable

    for function in _kernels:
        if function not in _registered:
            _registered.add(function)
            register_jitable(function)
    for function, table in _generics.items():
        if function not in _registered:
            _registered.add(function)
            overload(function, strict=False)(_chooser(function, table))
        for record in table:
            if record not in _registered:
                _registered.add(record)
                # Numba tells machine code of two record types apart by the bare class name; two classes
                # called `Record`, or one that was redefined in a notebook, must not be taken for each other.
                record.__name__ = f"{record.__module__}.{record.__qualname__}@{source_digest(record)[:12]}"


def _chooser(function: Callable[..., Any], table: dict[type, Callable[..., Any]]) -> Callable[..., Any]:
    """What Numba calls with argument *types*: returns the body for the record's class."""

    def choose(record: Any, *arguments: Any) -> Any:
        return table.get(getattr(record, "instance_class", type(None)))

    # Numba matches parameters by position and reads their number off the signature.
    choose.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return choose


@functools.cache
def package_digest() -> str:
    """A digest of every source file of this package that can end up in machine code."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if relative.parts[0] not in ("cli", "web", "live", "testing"):
            digest.update(str(relative).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def source_digest(record: type) -> str:
    """A digest of the files that define `record` and its bodies, or of their code where there is no file."""
    bodies = [table[record] for table in _generics.values() if record in table]
    digest = hashlib.sha256()
    for part in (record, *bodies):
        digest.update(_source_of(part) + b"\0")
    return digest.hexdigest()


def _source_of(part: Any) -> bytes:
    try:
        return Path(inspect.getfile(part)).read_bytes()
    except (TypeError, OSError):
        pass
    try:
        return inspect.getsource(part).encode()
    except (TypeError, OSError):
        code = getattr(part, "__code__", None)
        return (
            repr(sorted(vars(part))).encode()
            if code is None
            else bytes(code.co_code) + repr(code.co_consts).encode()
        )
