"""`python -m benchmarks.auto`: the regret of `Auto`, told nothing, over that of `Recommended`, told b and σ.

Every case of the leaderboard's suite at T = 10,000; the bar is a geometric mean of at most 1.5.
`python -m benchmarks.auto 4` plays four times as many runs.
"""

from __future__ import annotations

import sys

import apportion as ap
from apportion.leaderboard.board import geometric_mean, ratio, score
from apportion.leaderboard.kept import Score
from apportion.leaderboard.suite import SUITE, Case
from benchmarks.results import keep

HORIZON = 10_000
BAR = 1.5


def compare(case: Case, runs: int, horizon: int = HORIZON, seed: int = 1) -> tuple[Score, Score]:
    """Regret of `Recommended`, told b and σ, and of `Auto`, told nothing; they share the seed but not the noise."""

    def play(policy: ap.Policy) -> Score:
        found = ap.simulate(
            policy, case.instance, horizon=horizon, replications=runs, seed=seed, record=["regret"], periods=1,
            progress=False,
        )  # fmt: skip
        return score(found.regret.values.ravel())

    return play(ap.Recommended(b=case.b, sigma=case.sigma)), play(ap.Auto())


def main(effort: float = 1.0) -> int:
    """Print a row per case as it is done, and the geometric mean; exit code 1 if the bar is missed."""
    rows, ratios = [], []
    print("| case, at T = 10,000 | Recommended, told b and σ | Auto, told nothing | ratio |\n|---|---|---|---|")
    for case in SUITE:
        runs = int(effort * max(20, min(200, 400 // case.arms)))
        told, auto = compare(case, runs)
        ratios.append(ratio(auto.mean, auto.mean_error, told.mean, told.mean_error))
        label = case._replace(horizon=HORIZON).label.replace(f", T={HORIZON:,}", "")
        print(
            f"| {label} | {told.mean:.1f} | {auto.mean:.1f} | {ratios[-1][0]:.2f} ± {ratios[-1][1]:.2f} |", flush=True
        )
        rows.append({"case": label, "runs": runs, "told": told.mean, "auto": auto.mean,
                     "ratio": ratios[-1][0], "error": ratios[-1][1]})  # fmt: skip
    mean, error = geometric_mean(ratios)
    print(f"\nGeometric mean of the ratios: {mean:.3f} ± {error:.3f}; the bar is {BAR}.")
    keep("auto", [*rows, {"case": "geometric mean", "ratio": mean, "error": error, "bar": BAR}])
    return int(mean > BAR)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0))
