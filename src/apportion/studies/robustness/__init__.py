"""What goes wrong when the assumptions do: regret in troubled worlds, over the regret in the same world without.

`apportion robustness` plays them all and writes the page `docs/robustness.md`.
"""

from apportion.studies.robustness.run import Key, Study, run_study
from apportion.studies.robustness.troubles import BY_KEY, POLICIES, TROUBLES, WORLDS, Trouble, World

__all__ = ["BY_KEY", "POLICIES", "TROUBLES", "WORLDS", "Key", "Study", "Trouble", "World", "run_study"]
