"""What violated assumptions cost: regret where one of them does not hold, over regret in the same world where all do.

`apportion study robustness` plays them all and writes the page `docs/robustness.md`.
"""

from apportion.studies.robustness.run import run_study
from apportion.studies.robustness.study import CellName, Study
from apportion.studies.robustness.violations import BY_KEY, POLICIES, VIOLATIONS, WORLDS, Violation, World

__all__ = ["BY_KEY", "POLICIES", "VIOLATIONS", "WORLDS", "CellName", "Study", "Violation", "World", "run_study"]
