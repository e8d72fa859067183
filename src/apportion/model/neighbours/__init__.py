"""Worlds of neighbouring models, in which others have studied how to divide a resource: each with its literature.

They are not of the law Y = μ·A^c + σ·A^b·ξ: an arm succeeds or not (`Jobs`, `Thresholds`, `SuccessCurves`), returns
along any concave curve (`Concave`; `ConcaveSlopes`, where slopes are seen), or the whole ends some day
(`Discounted`). As everywhere, an arm that gets nothing is not observed and returns nothing; regret is what the splits
fall short of the best split of their period, in expectation. Policies that were published for these models are in
`apportion.policies.published`.
"""

from apportion.model.neighbours.concave import Concave
from apportion.model.neighbours.concave_slopes import ConcaveSlopes
from apportion.model.neighbours.discounted import Discounted
from apportion.model.neighbours.jobs import Jobs
from apportion.model.neighbours.success_curves import SuccessCurves
from apportion.model.neighbours.thresholds import Thresholds

__all__ = ["Concave", "ConcaveSlopes", "Discounted", "Jobs", "SuccessCurves", "Thresholds"]
