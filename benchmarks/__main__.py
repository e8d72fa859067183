"""`make bench`: measure every speed bar and write the figures to `benchmarks/results/`.

Figures are ratios within this run, or minima over repeats. Exit code 1 if a bar is missed.
`python -m benchmarks core` runs one group only.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks import core, leap, live, service, simulation
from benchmarks.table import Row, show

GROUPS = {
    "core": ("Ask and tell", core.rows),
    "simulation": ("The dense engine", simulation.rows),
    "leap": ("The leaping engine", leap.rows),
    "live": ("Live campaigns", live.rows),
    "service": ("The service", service.rows),
}
RESULTS = Path(__file__).parent / "results"


def main(names: list[str]) -> int:
    """Run the groups by name, all by default."""
    missed = 0
    for name in names or list(GROUPS):
        title, rows = GROUPS[name]
        found = show(title, rows())
        missed += sum(not row.met for row in found)
        keep(name, found)
    return 1 if missed else 0


def keep(name: str, rows: list[Row]) -> None:
    """Write a group's figures with the machine and the versions they were measured on."""
    RESULTS.mkdir(exist_ok=True)
    packages = ("apportion", "numpy", "scipy", "numba", "llvmlite", "pandas", "xarray")
    content = {
        "measured": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system()},
        "versions": {"python": platform.python_version(), **{package: version(package) for package in packages}},
        "rows": [{**row._asdict(), "met": row.met} for row in rows],
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
