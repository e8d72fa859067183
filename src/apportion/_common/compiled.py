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

import functools
import hashlib
import inspect
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from apportion._common import optional

__all__ = ["NamedTuple", "compiled", "generic", "implements", "kernel", "large_kernel", "lent", "when_compiled"]

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")

_kernels: list[Callable[..., Any]] = []
_large: set[Callable[..., Any]] = set()
_loops: dict[Callable[..., Any], Callable[..., Any]] = {}
_generics: dict[Callable[..., Any], dict[type, Callable[..., Any]]] = {}
_registered: set[Any] = set()
_names: Counter[str] = Counter()
# Simulations compile from several threads: none may see a record type before it has its name.
_naming = threading.RLock()


def kernel(function: F) -> F:
    """Mark `function` as one that compiled code may call. It stays a plain Python function."""
    _kernels.append(function)
    return function


def large_kernel(function: F) -> F:
    """A kernel with much to do that many callers share: compiled once, kept on disk by itself, called by its address.

    Other kernels are part of the machine code of each caller, so they are compiled again with every one of them.
    """
    _large.add(function)
    return kernel(function)


def when_compiled(function: Callable[..., Any]) -> Callable[[F], F]:
    """Make the decorated loop what compiled code runs for kernel `function`, which works on whole arrays.

    Plain Python is quick with whole arrays and slow with loops, compiled code is the other way round. The two must
    agree: a test holds them together.
    """

    def register(body: F) -> F:
        _loops[function] = body
        return body

    return register


def lent(record: R) -> R:
    """`record`, whose arrays compiled code does not count references to from here on.

    A record that is passed on is counted array by array, by atomic operations: with sixty arrays they took longer
    than all else in a simulated period. The caller keeps the record that it lends until nothing reads what was lent.
    """
    return record


def generic(signature: F) -> F:
    """A kernel that dispatches on the type of its first argument; bodies come by `implements`."""
    table: dict[type, Callable[..., Any]] = {}

    @functools.wraps(signature)
    def dispatch(record: Any, *arguments: Any) -> Any:
        body = table.get(type(record)) or _body(table, type(record))
        return body(record, *arguments)  # type: ignore[misc]

    _generics[dispatch] = table
    return dispatch  # type: ignore[return-value]


def _body(table: dict[type, Callable[..., Any]], record: type) -> Callable[..., Any] | None:
    """The body for a record type, or for the nearest of its bases that has one."""
    return next((table[base] for base in record.__mro__ if base in table), None)


def implements(function: Callable[..., Any], record: type) -> Callable[[F], F]:
    """Make the decorated function the body of generic `function` for records of type `record`."""

    def register(body: F) -> F:
        _generics[function][record] = body
        return body

    return register


@functools.cache
def compiled(function: Callable[..., Any]) -> Any:
    """`function`, compiled on first use and kept on disk until a source it is made of changes."""
    optional.require("fast")
    from apportion._common import machine_code

    with _naming:
        _register()
    dispatcher = machine_code.dispatcher_of(function)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        with _naming:
            _register()  # a policy defined since the last call must be known before its first compilation
            for record in _records_in(arguments):
                _name_apart(record)
        return dispatcher(*arguments)

    call.dispatcher = dispatcher  # type: ignore[attr-defined]
    return call


def _records_in(arguments: Iterable[Any]) -> Iterator[type]:
    """The record types among the arguments, and in the fields of those that are records themselves."""
    for argument in arguments:
        if hasattr(argument, "_fields"):
            yield type(argument)
            yield from _records_in(argument)


def _register() -> None:
    """Tell Numba about kernels and generics that were defined since the last call."""
    from numba.extending import overload, register_jitable

    from apportion._common import machine_code

    if lent not in _registered:
        _registered.add(lent)
        machine_code.count_no_references(lent)
    for function in _kernels:
        if function not in _registered:
            _registered.add(function)
            if function in _loops:
                overload(function, strict=False)(_chooser_of_loop(function))
            elif function in _large:
                machine_code.call_by_address(function)
            else:
                register_jitable(forceinline=True)(function)
    for function, table in _generics.items():
        if function not in _registered:
            _registered.add(function)
            overload(function, strict=False, jit_options={"forceinline": True})(_chooser(function, table))


def _chooser_of_loop(function: Callable[..., Any]) -> Callable[..., Any]:
    return _same_signature(lambda *_: _loops[function], function)


def _same_signature(choose: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Numba matches parameters by position and reads their number off the signature."""
    choose.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return choose


def _name_apart(record: type) -> None:
    """Give a record type a name of its own.

    Numba tells machine code of two record types apart by the bare class name; two classes called `Record`, or one
    that was redefined in a notebook, must not be taken for each other.
    """
    if record not in _registered:
        _registered.add(record)
        # Not bodies that another module gives it, nor those of other records: the name, and with it what is found on
        # disk, would depend on what else was imported. `code_digest` of what is compiled has all of them.
        own = [body for table in _generics.values() if (body := _body(table, record)) is not None
               and body.__module__ == record.__module__]  # fmt: skip
        digests = sorted(code_digest(body, [record], unknown=False) for body in own)
        digest = hashlib.sha256("".join(digests).encode()).hexdigest()
        name = f"{record.__module__}_{record.__qualname__}_{digest[:12]}"
        _names[name] += 1
        if _names[name] > 1:  # made again by the same lines of the same file, perhaps to another effect
            name += f"_{_names[name]}"
        record.__name__ = "".join(letter if letter.isalnum() else "_" for letter in name)


def _chooser(function: Callable[..., Any], table: dict[type, Callable[..., Any]]) -> Callable[..., Any]:
    """What Numba calls with argument *types*: returns the body for the record's class."""

    def choose(record: Any, *arguments: Any) -> Any:
        return _body(table, getattr(record, "instance_class", type(None)))

    return _same_signature(choose, function)


def code_digest(function: Callable[..., Any], records: Iterable[type], *, unknown: bool = True) -> str:
    """A digest of all that machine code for `function` is made of, as it is defined in this process.

    That is the byte code of the function and of every kernel it can reach, the bodies of generics for these record
    types and for those that are made inside, and the constants they read. A generic that has no body for any of them
    is called with a record of which nothing is known: then all its bodies count, unless `unknown` is False. Source
    files are not looked at: a process that began before a file was edited goes on with what it has, and must not
    store it under the name of the new.
    """
    given = list(records)
    kinds, parts = set(given), dict[Any, bytes]()
    pending: set[Any] = {function}
    while pending:
        found: set[Any] = set()
        for part in pending:
            if part in _generics:
                parts[part] = b"generic"
            else:
                reached, made, constants = _reached(part)
                parts[part] = _code_bytes(part.__code__) + constants
                found.update(reached, [_loops[part]] if part in _loops else [])
                kinds.update(made)
        tables = [_generics[part] for part in parts if part in _generics]
        bodies = [{body for kind in kinds if (body := _body(table, kind)) is not None} for table in tables]
        pending = found.union(*bodies) - parts.keys()
        if unknown and not pending:
            pending = {body for table, known in zip(tables, bodies) if not known for body in table.values()}
            pending -= parts.keys()
    named = sorted((f"{part.__module__}.{part.__qualname__}", content) for part, content in parts.items())
    shapes = sorted(f"{kind.__module__}.{kind.__qualname__}{getattr(kind, '_fields', ())}" for kind in given)
    return hashlib.sha256(repr((named, shapes)).encode()).hexdigest()


def _reached(function: FunctionType) -> tuple[list[Any], list[type], bytes]:
    """The functions that a function names, directly or in a module it names, the records it makes, its constants."""
    names = _all_names(function.__code__)
    values = [(name, function.__globals__[name]) for name in names if name in function.__globals__]
    for _, module in list(values):
        if isinstance(module, ModuleType) and module.__name__.partition(".")[0] not in ("math", "numpy", "numba"):
            values += [(name, getattr(module, name)) for name in names if hasattr(module, name)]
    functions, records, constants = [], [], []
    for name, value in values:
        inner = getattr(value, "py_func", value)  # what numba.njit wraps
        if isinstance(inner, FunctionType):
            functions.append(inner)
        elif isinstance(value, np.ndarray):
            constants.append(f"{name} {value.dtype} {value.shape} {value.tobytes().hex()}")
        elif isinstance(value, (bool, int, float, str, tuple)):
            constants.append(f"{name} {value!r}")
        elif isinstance(value, type) and hasattr(value, "_fields"):  # a record that the function makes
            records.append(value)
            constants.append(f"{name} {value._fields}")
    return functions, records, repr(sorted(constants)).encode()


def _all_names(code: CodeType) -> list[str]:
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in _all_names(constant)]
    return sorted({*code.co_names, *inner})


def _code_bytes(code: CodeType) -> bytes:
    """The instructions and constants, without file names, line numbers and docstrings' neighbours."""
    constants = [_code_bytes(item) if isinstance(item, CodeType) else repr(item).encode() for item in code.co_consts]
    return code.co_code + repr((constants, code.co_names, code.co_varnames)).encode()
