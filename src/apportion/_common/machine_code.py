"""Machine code on disk, keyed on the sources it is made of.

Numba's own cache looks at the file of the compiled function only, so an edited policy would go on running its
old machine code; and its index holds the argument types themselves, so one policy from a module that another
program lacks would break the cache for all. Here every specialisation is a file of its own, named by a digest of
the argument types, the machine, and all the byte code and constants that it is made of.

A large kernel is compiled by itself, and machine code that calls it has only its symbol: such a file says which
kernels it needs, and they are loaded first. This module imports Numba: only `compiled` imports it.
"""

import contextlib
import functools
import hashlib
import importlib
import inspect
import os
import pickle
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import platformdirs
from numba.core import cgutils, types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.imputils import impl_ret_new_ref
from numba.core.serialize import dumps
from numba.core.typing.templates import Signature, infer, infer_global, make_intrinsic_template

from apportion._common import files
from apportion._common.compiled import code_digest

# Files that are kept; the least recently used go first.
_KEPT_FILES = 2000
# Reading a file runs what is in it, so nobody else may write it, whatever the user's mask allows.
_PRIVATE, _PRIVATE_FOLDER = 0o600, 0o700
# What the symbols of large kernels begin with.
_PREFIX = "apportion."
# The large kernels that have an address in this process, by symbol: the function and its argument types.
_addressed: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}


@functools.cache
def dispatcher_of(function: Callable[..., Any]) -> Any:
    """Numba's compiler of one function, with files for what it makes."""
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy")(function)
    dispatcher._cache = SourceKeyedCache(function)
    return dispatcher


def call_by_address(function: Callable[..., Any]) -> None:
    """Tell Numba that compiled code calls this function, a large kernel, by its address."""

    def choose(context: Any, *arguments: Any) -> Any:
        made, symbol = give_address(function, arguments)

        def generate(target: Any, builder: Any, sig: Any, values: Any) -> Any:
            made_of = made.fndesc
            kind = target.call_conv.get_function_type(made_of.restype, made_of.argtypes)
            callee = cgutils.get_or_insert_function(builder.module, kind, symbol)
            target.call_conv.decorate_function(callee, made_of.args, made_of.argtypes, noalias=made_of.noalias)
            status, result = target.call_conv.call_function(builder, callee, sig.return_type, sig.args, values)
            with cgutils.if_unlikely(builder, status.is_error):
                target.call_conv.return_status_propagate(builder, status)
            return impl_ret_new_ref(target, builder, sig.return_type, result)

        return Signature(made.signature.return_type, arguments, None), generate

    parameters = inspect.signature(function).parameters.values()
    first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    choose.__signature__ = inspect.Signature([first, *parameters])  # type: ignore[attr-defined]
    template = make_intrinsic_template(function, choose, function.__name__, prefer_literal=False, kwargs={})
    infer(template)
    infer_global(function, types.Function(template))


def count_no_references(function: Callable[..., Any]) -> None:
    """Tell Numba that this function returns the record it is given, with arrays that seem to have no owner."""

    def strip(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, value)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            return array._getvalue()
        if isinstance(kind, types.BaseTuple):
            for index, part in enumerate(list(kind)):  # type: ignore[call-overload]
                inner = strip(context, builder, part, builder.extract_value(value, index))
                value = builder.insert_value(value, inner, index)
        return value

    def choose(context: Any, record: Any) -> Any:
        def generate(target: Any, builder: Any, sig: Any, values: Any) -> Any:
            return strip(target, builder, sig.args[0], values[0])

        return Signature(record, (record,), None), generate

    template = make_intrinsic_template(function, choose, function.__name__, prefer_literal=False, kwargs={})
    infer(template)
    infer_global(function, types.Function(template))


def give_address(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, str]:
    """Compile or load a large kernel for these argument types; what was made, and its symbol."""
    dispatcher = dispatcher_of(function)
    if arguments not in dispatcher.overloads:
        dispatcher.compile(arguments)
    made = dispatcher.overloads[arguments]
    path = dispatcher._cache.path_of(arguments, made.library.codegen)
    # Where a record type exists in this process only, so does the symbol.
    symbol = _PREFIX + (path.stem if path else f"here.{made.fndesc.llvm_func_name}")
    if symbol not in _addressed:
        address = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
        llvmlite.binding.add_symbol(symbol, address)
        _addressed[symbol] = (function, arguments)
    return made, symbol


def _called_by_address(library: Any) -> list[tuple[str, str, str, tuple[Any, ...]]] | None:
    """The large kernels that code calls: symbol, module, name, types; None if one exists in this process only."""
    called = []
    for each in library._final_module.functions:
        if each.is_declaration and each.name.startswith(_PREFIX):
            if each.name.startswith(f"{_PREFIX}here."):
                return None
            function, arguments = _addressed[each.name]
            called.append((each.name, function.__module__, function.__qualname__, arguments))
    return called


def cache_root() -> Path:
    """Where machine code is kept: `APPORTION_CACHE_DIR`, or the user's cache folder."""
    given = os.environ.get("APPORTION_CACHE_DIR")
    return Path(given) if given else platformdirs.user_cache_path("apportion", appauthor=False) / "kernels"


def is_private(path: Path) -> bool:
    """Whether a file or folder belongs to this user, and nobody else may write it: what is in it can be trusted."""
    if os.name != "posix":
        return True
    found = path.lstat()
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022 and not stat.S_ISLNK(found.st_mode)


class SourceKeyedCache(_Cache):
    """One file per specialisation. A file that cannot be read or written is only a compilation more."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._folder = cache_root()
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder of all machine code."""
        return str(self._folder)

    def enable(self) -> None:
        """Use the files."""
        self._enabled = True

    def disable(self) -> None:
        """Leave the files alone."""
        self._enabled = False

    def flush(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for argument types `sig`, or None."""
        target_context.refresh()
        path = self.path_of(sig, target_context.codegen())
        if path is None or not path.exists() or not (is_private(path.parent) and is_private(path)):
            return None
        try:
            called, content = pickle.loads(path.read_bytes())
            for symbol, module, name, arguments in called:
                # Code that called a symbol which is not there would end the process.
                if give_address(getattr(importlib.import_module(module), name), arguments)[1] != symbol:
                    return None
            found = CompileResult._rebuild(target_context, *pickle.loads(content))
        except Exception:  # whatever is wrong with the file, compiling anew mends it
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for argument types `sig`."""
        path = self.path_of(sig, data.codegen)
        if path is None or data.lifted or data.library.has_dynamic_globals:
            return
        if (called := _called_by_address(data.library)) is None:
            return
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)
            if not is_private(path.parent):
                return
            _make_room(path.parent)
            with files.replacement(path) as draft:
                draft.touch(_PRIVATE)
                draft.write_bytes(dumps((called, dumps(data._reduce()))))

    def path_of(self, sig: Any, codegen: Any) -> Path | None:
        """The file of a specialisation; None where a record type exists in this process only."""
        records = {f"{cls.__module__}.{cls.__qualname__}": cls for cls in _record_classes(sig)}
        if not self._enabled or any(
            cls.__module__ == "__main__" or "<locals>" in cls.__qualname__ for cls in records.values()
        ):
            return None
        key = (
            f"{self._function.__module__}.{self._function.__qualname__}",
            str(sig),
            codegen.magic_tuple(),
            (sys.version_info[:3], numba.__version__),
            code_digest(self._function, records.values()),
        )
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return self._folder / f"{self._function.__name__}-{digest[:24]}.bin"


def _record_classes(kinds: Iterable[Any]) -> Iterator[type]:
    for kind in kinds:
        if (cls := getattr(kind, "instance_class", None)) is not None:
            yield cls
        yield from _record_classes(getattr(kind, "types", ()))


def _make_room(folder: Path) -> None:
    files = sorted(folder.glob("*.bin"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[_KEPT_FILES:]:
        path.unlink(missing_ok=True)
