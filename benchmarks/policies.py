"""`python -m benchmarks.policies`: the table of mean regret (99% quantile) in the README, as Markdown."""

from __future__ import annotations

import numpy as np

import apportion as ap

SETTINGS = ((5, 0.6, 0.5), (5, 0.75, 0.5), (5, 0.9, 0.5), (30, 0.75, 0.5), (30, 0.9, 0.15))


def main() -> None:
    """Run every setting and print a row for each as it is done."""
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
        print(f"| K = {arms}, b = {b:.2f}, Δ = {gap} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
