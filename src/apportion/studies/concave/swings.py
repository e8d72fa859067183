"""How far the shares of successive periods are apart in worlds at rest: an operator must not see them swing."""

from __future__ import annotations

import numpy as np

from apportion.model.law import Instance
from apportion.policies import Auto
from apportion.policies.contract import Policy
from apportion.simulation.simulate import simulate
from apportion.studies.page import Table, with_error

FIRST, LAST, SIGMA, BAR = 50, 200, 0.3, 0.05
# c, b and the number of arms, whose means go evenly from 1 to 0.4.
LAWS = ((1.0, 0.2, 5), (1.0, 0.75, 10), (0.9, 0.4, 5), (0.7, 0.5, 10), (0.5, 0.2, 5), (1.0, 0.4, 10))


def mean_swing(
    c: float, b: float, arms: int, runs: int, seed: int, policy: Policy | None = None
) -> tuple[float, float]:
    """½·Σ|A_t − A_(t−1)| as a part of the budget, in the mean over periods 50 to 200 and all runs; standard error."""
    world = Instance(tuple(np.linspace(1.0, 0.4, arms)), b=b, sigma=SIGMA, c=c)
    found = simulate(
        Auto() if policy is None else policy, world, horizon=LAST, replications=runs, seed=seed, record=["shares"],
        periods=list(range(FIRST, LAST + 1)), progress=False,
    )  # fmt: skip
    shares = found.dataset.shares.isel(policy=0, instance=0).transpose("replication", "period", "arm").values
    each = 0.5 * np.abs(np.diff(shares, axis=1)).sum(axis=2).mean(axis=1)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(runs))


def swings_table(runs: int, seed: int) -> Table:
    """The swings of `Auto` in every law, beside the bar."""
    rows = []
    for c, b, arms in LAWS:
        swing, error = mean_swing(c, b, arms, runs, seed)
        rows.append([f"c={c:g}, b={b:g}, K={arms}", BAR, with_error(round(swing, 4), error), swing < BAR])
    return Table(
        f"Shares of successive periods, {FIRST} to {LAST}, in a world at rest",
        ["world", "of the budget, below", "found", "met"],
        rows,
    )
