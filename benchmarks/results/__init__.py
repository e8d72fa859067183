"""What was measured, with the machine and the versions it was measured on: a file of JSON for each group.

The README quotes these files, and `tests/docs/test_paper_page.py` holds it to them.
"""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def write_results(name: str, rows: list[dict[str, Any]]) -> None:
    """Write a group's figures."""
    packages = ("apportion", "numpy", "scipy", "numba", "llvmlite", "pandas", "xarray")
    content = {
        "measured": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system()},
        "versions": {"python": platform.python_version(), **{package: version(package) for package in packages}},
        "rows": rows,
    }
    (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_results(name: str) -> list[dict[str, Any]]:
    """The rows of a group that was measured before."""
    found: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["rows"]
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
