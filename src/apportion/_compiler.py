"""Machine code on disk, keyed on the sources it is made of.

Numba's own cache looks at the file of the compiled function only, so an edited policy would go on running its
old machine code. Here the key also holds a digest of the package's kernels and of the files that define the
record types in the call, wherever they are. This module imports Numba: only `kernels.compiled` imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core.caching import FunctionCache

from apportion.kernels import package_digest, source_digest


class SourceKeyedCache(FunctionCache):
    """Numba's function cache with the sources of every record type in the key."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        records = sorted({f"{cls.__module__}.{cls.__qualname__}": cls for cls in _record_classes(sig)}.items())
        digests = tuple((name, source_digest(cls)) for name, cls in records)
        return (*super()._index_key(sig, codegen), package_digest(), digests)


def _record_classes(sig: Any) -> list[type]:
    found: list[type] = []
    pending = list(sig)
    while pending:
        kind = pending.pop()
        cls = getattr(kind, "instance_class", None)
        if cls is not None:
            found.append(cls)
        pending.extend(getattr(kind, "types", ()))
    return found


def keep_on_disk(dispatcher: Any, function: Callable[..., Any]) -> None:
    """Give `dispatcher` the cache; where no folder can be written, it stays in memory."""
    try:
        dispatcher._cache = SourceKeyedCache(function)
    except RuntimeError:
        # A read-only installation without a home folder: compile once per process.
        return
