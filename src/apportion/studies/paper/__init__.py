"""The paper, measured: every table, figure, example and claim, run again and set beside what is printed.

section ─► runs ─► one module per section (measure, show) ─► run (data file, resume, report)

A section's `measure` returns plain data, which goes into the data file; its `show` reads that data and nothing else.
So every measured number of the report is in the data file.
"""

from apportion.studies.paper.run import SECTIONS, reproduce
from apportion.studies.paper.section import FULL, QUICK, Sizes

__all__ = ["FULL", "QUICK", "SECTIONS", "Sizes", "reproduce"]
