"""Running the suite, and the score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apportion.errors import InvalidValue
from apportion.leaderboard.suite import SUITE, Case
from apportion.policies import find_policy
from apportion.simulation.run import Informed, simulate

if TYPE_CHECKING:
    import pandas as pd

# Arm-periods spent on each policy and case: replications follow from it, within these limits.
WORK = 20_000_000
FEWEST, MOST = 60, 1_000
QUICKLY = 50


def contestants() -> dict[str, Informed]:
    """The policies that take part, each told the truth about b, σ and the horizon."""
    entries: dict[str, tuple[str, dict[str, Any]]] = {
        "Recommended": ("Recommended", {}),
        "Odds": ("Odds", {}),
        "Maillard": ("Maillard", {}),
        "Thompson": ("Thompson", {}),
        "UCB1": ("UCB", {}),
        "MOSS": ("UCB", {"index": "moss"}),
        "Elimination, corrected": ("SuccessiveElimination", {}),
        "Elimination, anytime": ("SuccessiveElimination", {"radius": "anytime", "pairwise": True}),
        "EpsilonGreedy": ("EpsilonGreedy", {}),
        "EpsilonGreedy, μ*": ("EpsilonGreedy", {"leader": "information"}),
        "AdaptiveElimination, 0.5": ("AdaptiveElimination", {"scale": 0.5}),
        "Uniform": ("Uniform", {}),
    }
    return {name: Informed(find_policy(policy), parameters) for name, (policy, parameters) in entries.items()}


class Score(NamedTuple):
    """A policy's regret on a case."""

    mean: float
    mean_error: float
    tail: float
    tail_error: float


class Board:
    """The scores of every policy on every case."""

    def __init__(self, cases: Sequence[Case], scores: dict[str, dict[str, Score]]) -> None:
        self.cases = tuple(cases)
        self.scores = scores

    def table(self) -> pd.DataFrame:
        """One row per case and policy: mean regret and 99% quantile, with standard errors."""
        import pandas as pd

        rows = [
            {"case": case, "policy": policy, **score._asdict()}
            for policy, found in self.scores.items()
            for case, score in found.items()
        ]
        return pd.DataFrame(rows).set_index(["case", "policy"])

    def ranking(self) -> pd.DataFrame:
        """One row per policy, best first: the score of the mean and of the tail, and on how many cases.

        A policy that refuses some cases (EpsilonGreedy at b ≤ 1/2) is scored on the others.
        """
        import pandas as pd

        best = {
            case.label: (
                min(found[case.label].mean for found in self.scores.values() if case.label in found),
                min(found[case.label].tail for found in self.scores.values() if case.label in found),
            )
            for case in self.cases
        }
        rows = []
        for policy, found in self.scores.items():
            means = [score.mean / best[case][0] for case, score in found.items()]
            tails = [score.tail / best[case][1] for case, score in found.items()]
            row = {"mean": np.exp(np.mean(np.log(means))), "tail": np.exp(np.mean(np.log(tails)))}
            rows.append({"policy": policy, **row, "worst": max(means), "cases": len(means)})
        return pd.DataFrame(rows).set_index("policy").sort_values("mean")

    def against_thompson(self, policy: str = "Recommended") -> pd.DataFrame:
        """The policy's mean regret over Thompson's on every case, with the bar that applies there."""
        import pandas as pd

        rows = []
        for case in self.cases:
            ours, theirs = (self.scores[name].get(case.label) for name in (policy, "Thompson"))
            if ours is None or theirs is None:
                continue
            bar = 1.1 if case.b <= 0.5 else 0.5 if case.b >= 0.6 and case.arms >= 5 and theirs.mean > 20 else np.nan
            rows.append({"case": case.label, "ratio": ours.mean / theirs.mean, "bar": bar})
        return pd.DataFrame(rows).set_index("case")


def run_leaderboard(
    *,
    cases: Sequence[Case] = SUITE,
    policies: dict[str, Informed] | None = None,
    seed: int = 1,
    quick: bool = False,
    workers: int | None = None,
    on_case: Callable[[Case], None] = lambda case: None,
) -> Board:
    """Play the suite. `quick` spends a fiftieth of the work: a look, not a verdict."""
    entries = contestants() if policies is None else policies
    scores: dict[str, dict[str, Score]] = {name: {} for name in entries}
    for case in cases:
        size = (WORK // QUICKLY if quick else WORK) // (case.horizon * case.arms)
        replications = int(np.clip(size, FEWEST // (3 if quick else 1), MOST))
        for name, entry in entries.items():
            try:
                policy = entry.on(case.instance)
            except InvalidValue:
                continue  # the policy says itself that this case is not for it
            found = simulate(
                policy, case.instance, horizon=case.horizon, replications=replications, seed=seed,
                record=("regret",), periods=1, workers=workers, progress=False,
            )  # fmt: skip
            scores[name][case.label] = score(found.regret.values.ravel())
        on_case(case)
    return Board(cases, scores)


def score(regrets: Any) -> Score:
    """Mean and 99% quantile with standard errors; the quantile's from the order statistics around it."""
    values = np.sort(np.asarray(regrets, dtype=np.float64))
    count = len(values)
    spread = np.sqrt(0.99 * 0.01 / count)
    low, high = np.quantile(values, np.clip([0.99 - spread, 0.99 + spread], 0.0, 1.0))
    tail = float(np.quantile(values, 0.99))
    # A lucky run can have no regret at all; a score needs a ratio.
    mean = max(float(values.mean()), 1e-12)
    return Score(mean, float(values.std(ddof=1) / np.sqrt(count)), max(tail, 1e-12), float(high - low) / 2.0)
