"""`make bench`: measure every speed bar and write the figures to `benchmarks/results/`.

Figures are ratios within this run, or minima over repeats. Exit code 1 if a bar is missed.
`python -m benchmarks core` runs one group only.
"""

from __future__ import annotations

import sys

from benchmarks import campaigns, core, leap, pages, plans, rules, service, simulation
from benchmarks.results import write_results
from benchmarks.table import show

GROUPS = {
    "core": ("Ask and tell", core.rows),
    "simulation": ("The dense engine", simulation.rows),
    "leap": ("The leaping engine", leap.rows),
    "rules": ("Rules over several arms", rules.rows),
    "campaigns": ("Campaigns", campaigns.rows),
    "plans": ("Plans and forecasts", plans.rows),
    "service": ("The service", service.rows),
    "pages": ("The dashboard", pages.rows),
}


def main(names: list[str]) -> int:
    """Run the groups by name, all by default."""
    missed = 0
    for name in names or list(GROUPS):
        title, rows = GROUPS[name]
        found = show(title, rows())
        missed += sum(not row.met for row in found)
        write_results(name, [{**row._asdict(), "met": row.met} for row in found])
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
