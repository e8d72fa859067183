"""Packages that not everyone needs: which extra brings which, and the one sentence for when they are missing.

*The service needs fastapi and uvicorn: pip install 'apportion[web]'.*
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from apportion.errors import ApportionError

# The modules that each extra of pyproject.toml installs. The first that brings a package is the one that is named:
# `fast`, which is a part of `lab`, stands before it.
EXTRAS = {
    "fast": ("numba",),
    "lab": ("numba", "scipy", "pandas", "xarray", "h5netcdf", "h5py"),
    "plot": ("matplotlib",),
    "web": ("fastapi", "uvicorn", "jinja2", "plotly", "python_multipart", "prometheus_client"),
    "client": ("httpx",),
    "postgres": ("psycopg",),
    "cluster": ("distributed",),
    "excel": ("openpyxl",),
    "parquet": ("pyarrow",),
    "process": ("sklearn",),
    "mcp": ("mcp",),
    "oidc": ("authlib", "httpx2"),
}

# What each is for, as the sentence begins.
PURPOSES = {
    "fast": "Compiled code",
    "lab": "The laboratory",
    "plot": "A picture",
    "web": "The service",
    "client": "`Client`",
    "postgres": "PostgreSQL",
    "cluster": "A Dask cluster",
    "excel": "A workbook (.xlsx)",
    "parquet": "A Parquet file",
    "process": "A Gaussian process",
    "mcp": "`apportion mcp`",
    "oidc": "Sign-in with a provider",
}


class MissingExtra(ApportionError, ImportError):
    """A package is not installed that this needs; the sentence has the command that installs it."""


def pip_command(extra: str) -> str:
    """What to type.

    >>> pip_command("plot")
    "pip install 'apportion[plot]'"
    """
    return f"pip install 'apportion[{extra}]'"


def missing(extra: str) -> tuple[str, ...]:
    """The packages of an extra that are not installed; looks for them without importing them."""
    return tuple(name for name in EXTRAS[extra] if not _found(name))


def _found(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def missing_sentence(extra: str, what: str | None = None, packages: tuple[str, ...] | None = None) -> str:
    """What is missing, and the command that brings it. `what` needs it; `packages` are all of the extra if not given.

    >>> missing_sentence("cluster", "`--cluster`")
    "`--cluster` needs distributed: pip install 'apportion[cluster]'."
    """
    names = EXTRAS[extra] if packages is None else packages
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"{what or PURPOSES[extra]} needs {listed}: {pip_command(extra)}."


def require(extra: str, what: str | None = None) -> None:
    """Raise `MissingExtra` where a package of the extra is not installed."""
    lacking = missing(extra)
    if lacking:
        raise MissingExtra(missing_sentence(extra, what, lacking), name=lacking[0])


def load(module: str, what: str | None = None) -> Any:
    """A module of a package that may be missing; `MissingExtra` names the extra that brings it.

    >>> load("math").sqrt(4.0)
    2.0
    """
    try:
        return import_module(module)
    except ImportError as error:
        missing = as_missing_extra(error, what)
        if missing is None:
            raise
        raise missing from None


def as_missing_extra(error: ImportError, what: str | None = None) -> MissingExtra | None:
    """The error as a sentence, where it is about a package that an extra brings; None where it is not."""
    if isinstance(error, MissingExtra):
        return error
    root = (error.name or "").partition(".")[0]
    for extra, names in EXTRAS.items():
        if root in names:
            return MissingExtra(missing_sentence(extra, what, packages=(root,)), name=root)
    return None
