"""Policies × worlds, side by side: what is earned, with standard errors, and what a decision costs."""

from apportion.studies.comparison.run import Comparison, Cost, compare
from apportion.studies.comparison.worlds import named_policies, named_worlds

__all__ = ["Comparison", "Cost", "compare", "named_policies", "named_worlds"]
