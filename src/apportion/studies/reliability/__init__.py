"""Whether P(best) is what it says: simulated worlds, at rest and moving, and how often the arm was the best one."""

from apportion.studies.reliability.run import ReliabilityStudy, reliability

__all__ = ["ReliabilityStudy", "reliability"]
