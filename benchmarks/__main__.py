"""`make bench`: measure every speed bar. Figures are minima over repeats; exit code 1 if a bar is missed."""

import sys

from benchmarks import core
from benchmarks.table import show

if __name__ == "__main__":
    rows = show("Core: ask and tell", core.rows())
    sys.exit(0 if all(row.met for row in rows) else 1)
