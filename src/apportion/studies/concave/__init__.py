"""What a policy earns where returns diminish and means move: beside an even split, and the optimum.

The worlds are of four shapes, named ones and random ones (`worlds`). `scores` plays any policies in them.
"""

from apportion.studies.concave.scores import Score, scores
from apportion.studies.concave.worlds import NAMED, Case, drawn_cases

__all__ = ["NAMED", "Case", "Score", "drawn_cases", "scores"]
