"""Machine code on disk, keyed on the sources it is made of.

Numba's own cache looks at the file of the compiled function only, so an edited policy would go on running its
old machine code; and its index holds the argument types themselves, so one policy from a module that another
program lacks would break the cache for all. Here every specialisation is a file of its own, named by a digest of
the argument types, the machine, and all the byte code and constants that it is made of. This module imports Numba:
only `compiled.compiled` imports it.
"""

import contextlib
import hashlib
import os
import pickle
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numba
import platformdirs
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from apportion._common import files
from apportion._common.compiled import code_digest

# Files that are kept; the least recently used go first.
_KEPT_FILES = 400
# Reading a file runs what is in it, so nobody else may write it, whatever the user's mask allows.
_PRIVATE = 0o600


def cache_root() -> Path:
    """Where machine code is kept: `APPORTION_CACHE_DIR`, or the user's cache folder."""
    given = os.environ.get("APPORTION_CACHE_DIR")
    return Path(given) if given else platformdirs.user_cache_path("apportion", appauthor=False) / "kernels"


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
        path = self._path(sig, target_context.codegen())
        if path is None or not path.exists():
            return None
        try:
            found = CompileResult._rebuild(target_context, *pickle.loads(path.read_bytes()))
        except Exception:  # whatever is wrong with the file, compiling anew mends it
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for argument types `sig`."""
        path = self._path(sig, data.codegen)
        if path is None or data.lifted or data.library.has_dynamic_globals:
            return
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            _make_room(path.parent)
            with files.replacement(path) as draft:
                draft.touch(_PRIVATE)
                draft.write_bytes(dumps(data._reduce()))

    def _path(self, sig: Any, codegen: Any) -> Path | None:
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
