"""The intervals that a leaping run samples: what is known of each, and room to work in."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion.model.sums import Floats

# The two groups of arms whose shares are the same function of time: all arms that do not lead, and the leader.
OTHERS: Final = 0
LEADER: Final = 1
# What is summed for each group (columns of `Workspace.power_sums`); p is `increments.walk_exponent`.
WALK_VARIANCE: Final = 0  # Σ A^p
REWARD_VARIANCE: Final = 1  # Σ A^(2b), of the reward's noise
COVARIANCE: Final = 2  # Σ A^(p/2 + b), of the walk and the reward's noise


class Interval(NamedTuple):
    """The periods first < s ≤ last, at `row` of the stack; `powers` are those of the leader's share at its start."""

    row: int
    first: int
    last: int
    leader: int
    powers: Any


class Workspace(NamedTuple):
    """The stack of intervals that were sampled and lie in the future, the nearest last, and arrays of one per arm.

    The stack is as deep as log2 T. For each interval it has the last period (it begins where the one above it ends),
    how far the noise of each arm's walk moves in it, in units of σ, and sums of powers of the shares by group.
    """

    ends: NDArray[np.int64]
    increments: Floats
    power_sums: Floats
    shares: Floats
    proposed: Floats
    scratch: Floats
    memory: Floats


def make_workspace(horizon: int, arms: int) -> Workspace:
    """Room for a run of that many periods."""
    depth = horizon.bit_length() + 2
    per_arm = (np.zeros(arms) for _ in range(4))
    return Workspace(np.zeros(depth, np.int64), np.zeros((depth, arms)), np.zeros((depth, 2, 3)), *per_arm)
