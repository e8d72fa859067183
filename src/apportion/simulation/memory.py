"""Whether the results of a plan fit into memory; asked before anything is computed."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apportion._common import validation
from apportion.simulation.engines.trace import VARIABLES

if TYPE_CHECKING:
    from apportion.simulation.plan import Plan

# Results may take this part of the memory.
LARGEST_PART = 0.5
BYTES_PER_VALUE = 8
# Taken for the memory of a machine that does not say: 16 GiB.
ASSUMED_BYTES = 2.0**34


def needed_bytes(plan: Plan) -> int:
    """How much memory the result of a plan takes."""
    shapes = (VARIABLES[name].shape(len(plan.checkpoints), plan.most_arms) for name in plan.variables)
    runs = plan.replications * len(plan.policies) * len(plan.instances)
    return BYTES_PER_VALUE * runs * sum(map(math.prod, shapes))


def require_memory(plans: Sequence[Plan]) -> None:
    """Refuse plans whose results would not fit."""
    needed = sum(needed_bytes(plan) for plan in plans)
    available = _available_bytes()
    if needed > LARGEST_PART * available:
        raise validation.refuse(
            "replications",
            f"few enough for memory: half of {_size(available)}; fewer `periods` or less to `record` help",
            f"{plans[0].replications:,}, which need {_size(needed)}",
        )


def _available_bytes() -> float:
    """The bytes this machine has, or this container may use."""
    if not hasattr(os, "sysconf"):
        return ASSUMED_BYTES
    machine = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(machine, float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):  # not in a container, or "max"
        return machine


def _size(count: float) -> str:
    return f"{count / 1e9:,.3g} GB" if count < 1e15 else f"{count / 1e9:.1e} GB"
