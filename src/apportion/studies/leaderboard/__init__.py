"""Which policy loses least: a suite of instances, every policy on each, and one score.

The score of a policy is the geometric mean over the instances of its regret over the least regret of any policy
there: once for the mean regret, once for its 99% quantile. 1 is best everywhere.
"""

from apportion.studies.leaderboard.run import run_leaderboard
from apportion.studies.leaderboard.scores import Leaderboard
from apportion.studies.leaderboard.suite import SUITE, Case, fresh_suite

__all__ = ["SUITE", "Case", "Leaderboard", "fresh_suite", "run_leaderboard"]
