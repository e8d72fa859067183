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
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from apportion._common import optional
from apportion._version import __version__
from apportion.cli import show
from apportion.cli.campaign import Db, Json
from apportion.cli.serve import PORT

# The state of what was checked: a note needs nothing done, attention does.
FINE, NOTE, ATTENTION = "ok", "note", "attention"

STALE_DAYS = 30  # machine code that nothing has used for so long was made from sources that are no more
LARGEST_PORT = 65_535
SECONDS_PER_DAY = 86_400
LEAST_FREE_BYTES = 200e6
HEALTH_TIMEOUT_SECONDS = 3.0
HEALTH_BYTES = 2000  # no more is read of an answer of something that may be another program


class Finding(NamedTuple):
    """One thing that was checked: `state` is ok, note or attention; `advice` says what to do."""

    group: str
    what: str
    value: str
    state: str = FINE
    advice: str = ""


def doctor(
    port: Annotated[int, typer.Option(help="The port of the service.", min=1, max=LARGEST_PORT)] = PORT,
    db: Db = None,
    json: Json = False,
) -> None:
    """Check versions, threads, compiled code, the database and the service, and say what to do.

    Exit code 1 if something needs attention. Nothing is changed.

    Example: apportion doctor --db campaigns.db
    """
    findings = list(examine(db, port))
    problems = [finding for finding in findings if finding.state == ATTENTION]
    if json:
        show.show_json({"ok": not problems, "findings": findings})
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
        named = ", ".join(finding.what for finding in problems)
        show.say(f"Needs attention: {named}." if problems else "Nothing needs attention.")
    if problems:
        raise typer.Exit(1)


def examine(db: str | None, port: int) -> Iterator[Finding]:
    """Everything that is checked, in order."""
    from apportion.cli.doctor_database import database

    return chain(versions(), optional_packages(), machine(), compiled_code(), database(db), service(port))


def versions() -> Iterator[Finding]:
    """This package, Python, and the packages it needs, each against the oldest that will do."""
    group = "versions"
    yield Finding(group, "apportion", f"{__version__} in {Path(optional.__file__).parent}")
    yield Finding(group, "Python", f"{platform.python_version()} ({sys.executable})")
    for name, least in needed_packages():
        found = _version_of(name)
        if found and not _older(found, least):
            yield Finding(group, name, found)
        else:
            advice = f"pip install {'--upgrade ' if found else ''}'{name}>={least}'"
            yield Finding(group, name, f"{found or 'not installed'}; {least} or newer is needed", ATTENTION, advice)


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
    """Each extra: its packages, or the command that installs them. All missing is fine; some missing is not.

    But of `lab`, whose packages also come alone: with `fast`, or with other programs of the same environment.
    """
    for extra, names in optional.EXTRAS.items():
        missing = optional.missing(extra)
        if not missing:
            yield Finding("extras", extra, ", ".join(f"{name} {_version_of(name)}".rstrip() for name in names))
        else:
            state = NOTE if extra == "lab" or set(missing) == set(names) else ATTENTION
            advice = optional.missing_sentence(extra, packages=missing)
            yield Finding("extras", extra, f"not installed: {', '.join(missing)}", state, advice)


def _version_of(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def machine() -> Iterator[Finding]:
    """The system, the cores that may be used, and the threads that numerical libraries take."""
    yield Finding("machine", "system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    yield Finding("machine", "cores", str(cores) if usable == cores else f"{usable} usable of {cores}")
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    given = [f"{name}={os.environ[name]}" for name in names if name in os.environ]
    yield Finding("machine", "threads", f"{usable} at once; {', '.join(given) or 'none set in the environment'}")


def _probe(number: float) -> float:
    """Something small to compile."""
    return number + 1.0


def compiled_code() -> Iterator[Finding]:
    """Whether kernels compile, and whether the machine code is kept for the next program."""
    if optional.missing("fast"):
        from apportion.model.sums import MANY_ARMS

        value = f"numba is not installed; plain Python does for campaigns of fewer than {MANY_ARMS} arms"
        yield Finding("compiled code", "compiling", value, NOTE, optional.missing_sentence("fast"))
        return
    from apportion._common.machine_code import _KEPT_FILES, cache_root

    group, folder = "compiled code", cache_root()
    clear = f"to clear it, remove the folder: rm -r {shlex.quote(str(folder))}"
    reason = unwritable(folder)
    if reason:
        writable = f"make {folder} a folder that this user may write, or set APPORTION_CACHE_DIR to one that is."
        advice = f"kernels are compiled anew in every program: {writable}"
        yield Finding(group, "cache folder", f"{folder}: {reason}", ATTENTION, advice)
    else:
        yield Finding(group, "cache folder", f"{folder}, writable")
    facts = []
    for path in folder.glob("*.bin") if folder.is_dir() else ():
        with contextlib.suppress(FileNotFoundError):  # another program may be making room
            facts.append(path.stat())
    size = megabytes(sum(fact.st_size for fact in facts))
    yield Finding(group, "cache entries", f"{len(facts)} files, {size}; the {_KEPT_FILES} used last are kept")
    past = time.time() - STALE_DAYS * SECONDS_PER_DAY
    stale = sum(fact.st_mtime < past for fact in facts)
    if stale:
        value = f"{stale} files were not used for {STALE_DAYS} days"
        yield Finding(group, "stale entries", value, NOTE, f"harmless, the oldest go first; {clear}")
    else:
        yield Finding(group, "stale entries", f"none; {clear}")
    yield from _numba(folder, reason)


def _numba(folder: Path, unwritable_reason: str) -> Iterator[Finding]:
    from apportion._common.machine_code import dispatcher_of

    begun = time.perf_counter()
    before = set(folder.glob("_probe-*.bin"))
    try:
        # Not the one that this process may have made already: what counts is what the next program finds.
        fault = "" if dispatcher_of.__wrapped__(_probe)(1.0) == 2.0 else "compiles, but the result is wrong"
    except Exception as error:  # whatever it is: it is reported here
        fault = f"does not compile ({type(error).__name__}: {' '.join(str(error).split())[:200]})"
    took = f"({time.perf_counter() - begun:.2f} s with the start of the compiler)"
    if fault:
        advice = "pip install --force-reinstall numba llvmlite"
        yield Finding("compiled code", "compiling", fault, ATTENTION, advice)
    elif before:
        yield Finding("compiled code", "compiling", f"works; machine code was found in the cache {took}")
    elif set(folder.glob("_probe-*.bin")):
        yield Finding("compiled code", "compiling", f"works; compiled and saved for the next program {took}")
    else:
        full = f"the disk may be full, or {folder} not allow new files."
        advice = "see the cache folder above." if unwritable_reason else full
        yield Finding("compiled code", "compiling", f"works; compiled, but not saved {took}", ATTENTION, advice)


def unwritable(folder: Path) -> str:
    """Why no file can be made in a folder, or in the first folder above it that is there; empty if one can."""
    try:
        with tempfile.TemporaryFile(dir=_nearest(folder)):
            return ""
    except OSError as error:
        return f"not writable ({error.strerror or error})"


def _nearest(folder: Path) -> Path:
    """The folder, or the first above it that is there."""
    return next((each for each in (folder, *folder.parents) if each.exists()), folder)


def megabytes(size: float) -> str:
    """A size on disk, for people."""
    return f"{size / 1e6:,.1f} MB"


def free_disk(group: str, folder: Path) -> Finding:
    """How much disk space is left where the database is."""
    nearest = _nearest(folder)
    free = shutil.disk_usage(nearest).free
    if free < LEAST_FREE_BYTES:
        return Finding(group, "free disk", megabytes(free), ATTENTION, f"free disk space where {nearest} is.")
    return Finding(group, "free disk", f"{free / 1e9:,.1f} GB")


def service(port: int) -> Iterator[Finding]:
    """Whether something listens where the service would, and how it is."""
    what, url = f"port {port}", f"http://127.0.0.1:{port}"
    try:
        health = _health(port)
    except ConnectionRefusedError:
        advice = f"to start the service: {_serve(port)}"
        yield Finding("service", what, "free; nothing listens there", NOTE, advice)
        return
    status, version = health.get("status"), health.get("version")
    if status == "ok":
        finding = Finding("service", what, f"the service of apportion {version} answers at {url}")
        advice = f"it still runs the release {version}: start it again to run {__version__}."
        yield finding if version == __version__ else finding._replace(state=ATTENTION, advice=advice)
    elif status == "database unavailable":
        advice = "its log says why; look at the database it was started with: apportion doctor --db …"
        yield Finding("service", what, f"the service at {url} cannot use its database", ATTENTION, advice)
    else:
        advice = f"start the service on another port: {_serve(port % LARGEST_PORT + 1)}"
        yield Finding("service", what, "in use by another program", NOTE, advice)


def _health(port: int) -> dict[str, Any]:
    """What the service answers at /healthz; nothing where another program listens."""
    import http.client
    import json

    wire = http.client.HTTPConnection("127.0.0.1", port, timeout=HEALTH_TIMEOUT_SECONDS)
    try:
        wire.request("GET", "/healthz")
        content = json.loads(wire.getresponse().read(HEALTH_BYTES))
    except ConnectionRefusedError:
        raise
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    finally:
        wire.close()
    return content if isinstance(content, dict) else {}


def _serve(port: int) -> str:
    return "apportion serve" if port == PORT else f"apportion serve --port {port}"
