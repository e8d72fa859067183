"""`python -m benchmarks.policies`: mean regret and its 99% quantile after 10^4 periods, as the README shows them."""

from __future__ import annotations

import numpy as np

import apportion as ap
from benchmarks.results import write_results

SETTINGS = ((5, 0.6, 0.5), (5, 0.75, 0.5), (5, 0.9, 0.5), (30, 0.75, 0.5), (30, 0.9, 0.15))


def main() -> None:
    """Run every setting, print a row for each as it is done, and keep them all."""
    rows = []
    for arms, b, gap in SETTINGS:
        world = ap.Instance((0.5 + gap, *(0.5 for _ in range(arms - 1))), b=b)
        many = 300 if arms == 5 else 100
        entries: tuple[tuple[ap.Policy, int], ...] = (
            (ap.SuccessiveElimination(b=b), 60),
            (ap.EpsilonGreedy(b=b, epsilon=(2 * b - 1) / 2), 100),
            (ap.Thompson(b=b), 100),
            (ap.Odds(b=b), many),
            (ap.Recommended(b=b), many),
        )
        cells = []
        for policy, runs in entries:
            found = ap.simulate(
                policy, world, horizon=10_000, replications=runs, seed=1, record=["regret"], periods=1, progress=False
            )
            regret = found.regret.values.ravel()
            cells.append(f"{regret.mean():.0f} ({np.quantile(regret, 0.99):.0f})")
        line = f"| K = {arms}, b = {b:.2f}, Δ = {gap} | {' | '.join(cells)} |"
        print(line, flush=True)
        rows.append({"arms": arms, "b": b, "gap": gap, "markdown": line})
    write_results("policies", rows)


if __name__ == "__main__":
    main()
