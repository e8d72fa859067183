"""A history as people have it (what was spent on each arm at each date, and what came back): the one reader of it.

columns (from files, data frames, rows) ─► reader (rules, faults, sums) ─► observations and a summary in words
"""

from apportion.inference.history.reader import Observation, Reading, read_history
from apportion.inference.history.summary import Summary

__all__ = ["Observation", "Reading", "Summary", "read_history"]
