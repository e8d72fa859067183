"""`apportion doctor`: what is installed, whether it works, and what to do about what does not.

Nothing is changed by looking: no database is made, none is upgraded, no cache is cleared.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from apportion._common import optional
from apportion._version import __version__
from apportion.cli.campaign import Db, Json
from apportion.cli.serve import PORT

# How well something is: a note needs nothing done, attention does.
FINE, NOTE, ATTENTION = "ok", "note", "attention"

# Machine code that nothing has used for so many days was made from sources that are no more.
STALE_DAYS = 30


class Finding(NamedTuple):
    """One thing that was looked at: `state` is ok, note or attention; `advice` says what to do."""

    group: str
    what: str
    value: str
    state: str = FINE
    advice: str = ""


def doctor(
    port: Annotated[int, typer.Option(help="Where the service would be.", min=1, max=65535)] = PORT,
    db: Db = None,
    json: Json = False,
) -> None:
    """Look at versions, threads, compiled code, the database and the service, and say what to do.

    Exit code 1 if something needs attention. Nothing is changed.

    Example: apportion doctor --db campaigns.db
    """
    from apportion.cli import show

    findings = list(examine(db, port))
    troubles = [finding for finding in findings if finding.state == ATTENTION]
    if json:
        show.show_json({"ok": not troubles, "findings": findings})
    else:
        columns = {"": "left", "what": "left", "found": "left", "state": "left"}
        groups = [finding.group for finding in findings]
        rows = [
            ("" if group == before else group, finding.what, finding.value, finding.state)
            for before, group, finding in zip([None, *groups], groups, findings)
        ]
        show.grid(f"apportion {__version__}", columns, rows)
        for finding in findings:
            if finding.advice:
                show.say(f"{finding.state.capitalize()}, {finding.what}: {finding.advice}")
        show.say(
            "Nothing needs attention."
            if not troubles
            else f"Needs attention: {', '.join(finding.what for finding in troubles)}."
        )
    if troubles:
        raise typer.Exit(1)


def examine(db: str | None, port: int) -> Iterator[Finding]:
    """Everything that is looked at, in order."""
    from apportion.cli.doctor_database import database

    yield from versions()
    yield from optional_packages()
    yield from machine()
    yield from compiled_code()
    yield from database(db)
    yield from service(port)


# What is installed


def versions() -> Iterator[Finding]:
    """This package, Python, and the packages it needs, each against the oldest that will do."""
    group = "versions"
    yield Finding(group, "apportion", f"{__version__} in {Path(optional.__file__).parent}")
    yield Finding(group, "Python", f"{platform.python_version()} ({sys.executable})")
    for name, least in needed_packages():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            advice = f"pip install '{name}>={least}'"
            yield Finding(group, name, f"not installed; {least} or newer is needed", ATTENTION, advice)
            continue
        if _older(found, least):
            advice = f"pip install --upgrade '{name}>={least}'"
            yield Finding(group, name, f"{found}; {least} or newer is needed", ATTENTION, advice)
        else:
            yield Finding(group, name, found)


def needed_packages() -> list[tuple[str, str]]:
    """(name, oldest version) of everything that this package cannot do without."""
    try:
        lines = metadata.requires("apportion") or []
    except metadata.PackageNotFoundError:  # run from a folder of sources that was never installed
        lines = []
    needed = [re.match(r"([\w-]+)>=([\d.]+)", line) for line in lines if "extra ==" not in line]
    return [(found[1], found[2]) for found in needed if found]


def _older(found: str, least: str) -> bool:
    return [int(part) for part in re.findall(r"\d+", found)][:3] < [int(part) for part in least.split(".")]


def optional_packages() -> Iterator[Finding]:
    """Each extra: its packages, or the command that brings them. None of them is no trouble; half of them is."""
    for extra, names in optional.EXTRAS.items():
        missing = optional.missing(extra)
        if not missing:
            listed = ", ".join(f"{name} {_version_of(name)}".rstrip() for name in names)
            yield Finding("extras", extra, listed)
        else:
            state = NOTE if set(missing) == set(names) else ATTENTION
            advice = optional.sentence(extra, packages=missing)
            yield Finding("extras", extra, f"not installed: {', '.join(missing)}", state, advice)


def _version_of(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


# The machine


def machine() -> Iterator[Finding]:
    """The system, the cores that may be used, and the threads that numerical libraries take."""
    yield Finding("machine", "system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    yield Finding("machine", "cores", str(cores) if usable == cores else f"{usable} usable of {cores}")
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    given = [f"{name}={os.environ[name]}" for name in names if name in os.environ]
    yield Finding("machine", "threads", f"{usable} at once; {', '.join(given) or 'none set in the environment'}")


# Compiled code


def _probe(number: float) -> float:
    """Something small to compile."""
    return number + 1.0


def compiled_code() -> Iterator[Finding]:
    """Whether kernels compile, and whether the machine code is kept for the next program."""
    from apportion._common.machine_code import _KEPT_FILES, cache_root

    group, folder = "compiled code", cache_root()
    clear = f"to clear it, remove the folder: rm -r {shlex.quote(str(folder))}"
    trouble = unwritable(folder)
    if trouble:
        advice = f"kernels are compiled anew in every program: make {folder} a folder that this user may write, or "
        yield Finding(
            group,
            "cache folder",
            f"{folder}: {trouble}",
            ATTENTION,
            f"{advice}set APPORTION_CACHE_DIR to one that is.",
        )
    else:
        yield Finding(group, "cache folder", f"{folder}, writable")
    facts = []
    for path in folder.glob("*.bin") if folder.is_dir() else ():
        with contextlib.suppress(FileNotFoundError):  # another program may be making room
            facts.append(path.stat())
    size = megabytes(sum(fact.st_size for fact in facts))
    yield Finding(group, "cache entries", f"{len(facts)} files, {size}; the {_KEPT_FILES} used last are kept")
    past = time.time() - STALE_DAYS * 86400
    stale = sum(fact.st_mtime < past for fact in facts)
    if stale:
        value = f"{stale} files were not used for {STALE_DAYS} days"
        yield Finding(group, "stale entries", value, NOTE, f"harmless, the oldest go first; {clear}")
    else:
        yield Finding(group, "stale entries", f"none; {clear}")
    yield from _numba(folder, trouble)


def _numba(folder: Path, trouble: str) -> Iterator[Finding]:
    from apportion._common.compiled import compiled

    begun = time.perf_counter()
    before = set(folder.glob("_probe-*.bin"))
    try:
        # Not the one that this process may have made already: what counts is what the next program finds.
        right = compiled.__wrapped__(_probe)(1.0) == 2.0
    except Exception as error:  # whatever it is: this is the place that tells of it
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        advice = "pip install --force-reinstall numba llvmlite"
        yield Finding("compiled code", "compiling", f"does not compile ({said})", ATTENTION, advice)
        return
    took = f"({time.perf_counter() - begun:.2f} s with the start of the compiler)"
    if not right:
        advice = "pip install --force-reinstall numba llvmlite"
        yield Finding("compiled code", "compiling", "compiles, but the result is wrong", ATTENTION, advice)
    elif before:
        yield Finding("compiled code", "compiling", f"works; machine code was found in the cache {took}")
    elif set(folder.glob("_probe-*.bin")):
        yield Finding("compiled code", "compiling", f"works; compiled and kept for the next program {took}")
    else:
        advice = "see the cache folder above" if trouble else f"the disk may be full, or {folder} not allow new files"
        yield Finding("compiled code", "compiling", f"works; compiled, but not kept {took}", ATTENTION, advice + ".")


def unwritable(folder: Path) -> str:
    """Why no file can be made in a folder, or in the first folder above it that is there; empty if one can."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return f"not writable ({error.strerror or error})"


def megabytes(size: float) -> str:
    """A size on disk, for people."""
    return f"{size / 1e6:,.1f} MB"


def free_disk(group: str, folder: Path) -> Finding:
    """How much room there is where the database is."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < 200e6:
        return Finding(group, "free disk", megabytes(free), ATTENTION, f"make room on the disk of {folder}.")
    return Finding(group, "free disk", f"{free / 1e9:,.1f} GB")


# The service


def service(port: int) -> Iterator[Finding]:
    """Whether something listens where the service would, and how it is."""
    what, place = f"port {port}", f"http://127.0.0.1:{port}"
    try:
        health = _health(port)
    except ConnectionRefusedError:
        advice = f"to start the service: {_serve(port)}"
        yield Finding("service", what, "free; nothing listens there", NOTE, advice)
        return
    status, version = health.get("status"), health.get("version")
    if status == "ok" and version == __version__:
        yield Finding("service", what, f"the service of apportion {version} answers at {place}")
    elif status == "ok":
        advice = f"it still runs the release {version}: start it again to run {__version__}."
        yield Finding("service", what, f"the service of apportion {version} answers at {place}", ATTENTION, advice)
    elif status == "database unavailable":
        advice = "its log says why; look at the database it was started with: apportion doctor --db …"
        yield Finding("service", what, f"the service at {place} cannot use its database", ATTENTION, advice)
    else:
        advice = f"start the service on another port: {_serve(port % 65535 + 1)}"
        yield Finding("service", what, "in use by another program", NOTE, advice)


def _health(port: int) -> dict[str, Any]:
    """What the service says of itself; nothing where what listens is something else."""
    import http.client
    import json

    wire = http.client.HTTPConnection("127.0.0.1", port, timeout=3.0)
    try:
        wire.request("GET", "/healthz")
        said = json.loads(wire.getresponse().read(2000))
    except ConnectionRefusedError:
        raise
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    finally:
        wire.close()
    return said if isinstance(said, dict) else {}


def _serve(port: int) -> str:
    return "apportion serve" if port == PORT else f"apportion serve --port {port}"
