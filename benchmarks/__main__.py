"""`make bench`: measure every speed bar and write the figures to `benchmarks/results/`.

Figures are ratios within this run, or minima over repeats. Exit code 1 if a bar is missed.
`python -m benchmarks core` runs one group only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from benchmarks import campaigns, core, leap, pages, plans, published, rules, scale, service, simulation
from benchmarks.results import write_results
from benchmarks.table import Row, show

GROUPS = {
    "core": ("Ask and tell", core.rows),
    "simulation": ("The dense engine", simulation.rows),
    "published": ("Policies of others", published.rows),
    "leap": ("The leaping engine", leap.rows),
    "rules": ("Rules over several arms", rules.rows),
    "campaigns": ("Campaigns", campaigns.rows),
    "plans": ("Plans and forecasts", plans.rows),
    "service": ("The service", service.rows),
    "pages": ("The dashboard", pages.rows),
    "scale": ("The service for a company", scale.rows),
}


def _kept(name: str, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, each written down as it comes: a run that is stopped leaves what it has measured."""
    found: list[Row] = []
    for row in rows:
        found.append(row)
        write_results(name, [{**each._asdict(), "met": each.met} for each in found])
        yield row


def main(names: list[str]) -> int:
    """Run the groups by name, all by default."""
    missed = 0
    for name in names or list(GROUPS):
        title, rows = GROUPS[name]
        missed += sum(not row.met for row in show(title, _kept(name, rows())))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
