"""Which source files numbers are made of, found by following imports through the files: nothing is imported or run.

Stored results are filed under a digest of these files, so that no number outlives the code that made it. A list
kept by hand would forget a file one day; the imports cannot.
"""

import functools
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

_PACKAGE = __name__.partition(".")[0]
_ROOT = Path(__file__).parents[1]
_IMPORT = re.compile(
    rf"^[ \t]*(?:from[ \t]+({_PACKAGE}[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)|import[ \t]+({_PACKAGE}[\w.]*))",
    re.M,
)
_FOR_TYPE_CHECKERS = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)*", re.M)


def modules_reached(starts: Iterable[str], aside: Iterable[str] = ()) -> tuple[str, ...]:
    """The modules of this package that those of `starts` are made of, themselves included, in alphabetical order.

    Every import that can run counts, also one inside a function. What is in `aside`, or in a package there, is left
    out and not followed: modules that show numbers and do not make them. The package's own `__init__` is left out
    always: it names everything and computes nothing.

    >>> "apportion.model.sums" in modules_reached(["apportion.policies.odds"])
    True
    """
    left_out = tuple(f"{name}." for name in aside)
    found: set[str] = set()
    pending = list(starts)
    while pending:
        module = pending.pop()
        if module in found or module == _PACKAGE or f"{module}.".startswith(left_out):
            continue
        found.add(module)
        pending.append(module.rpartition(".")[0])  # importing a module runs its package's `__init__` first
        pending.extend(_imported(module))
    return tuple(sorted(found))


def simulation_starts() -> tuple[str, ...]:
    """Where a simulated number comes from: the task that an engine runs, and every policy that it may run."""
    paths = sorted(path.relative_to(_ROOT).with_suffix("") for path in (_ROOT / "policies").rglob("*.py"))
    policies = (".".join(path.parts) for path in paths if path.name != "__init__")
    return ("apportion.simulation.task", *(f"apportion.{name}" for name in policies))


def digest_of(starts: Iterable[str], aside: Iterable[str] = ()) -> str:
    """A digest of the sources of all modules that those of `starts` are made of (`modules_reached`)."""
    digest = hashlib.sha256()
    for module in modules_reached(starts, aside):
        digest.update(module.encode() + b"\0" + _file(module).read_bytes() + b"\0")
    return digest.hexdigest()


@functools.cache
def simulation_digest() -> str:
    """A digest of the sources that simulated numbers depend on: a result is stored under it, and so is a sweep."""
    return digest_of(simulation_starts())


def _imported(module: str) -> list[str]:
    """The modules of this package that a module names in an import."""
    found = []
    for source, names, plain in _IMPORT.findall(
        _FOR_TYPE_CHECKERS.sub("", _file(module).read_text(encoding="utf-8"))
    ):
        if plain:
            found.append(plain)
            continue
        found.append(source)
        below = (f"{source}.{name}" for name in re.findall(r"\w+", re.sub(r"\bas[ \t]+\w+|#.*", "", names)))
        found.extend(name for name in below if _file(name).exists())
    return found


def _file(module: str) -> Path:
    """Where the source of a module is, or would be."""
    path = _ROOT.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
