"""Running the suite, and the score."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from apportion.errors import InvalidValue
from apportion.model.noise import Gaussian
from apportion.policies import find_policy
from apportion.simulation.plan import Informed, simulate
from apportion.studies.leaderboard.kept import Kept, Score, code_of, read
from apportion.studies.leaderboard.suite import SUITE, Case
from apportion.theory import least_regret

if TYPE_CHECKING:
    import pandas as pd

# Arm-periods spent on each policy and case: replications follow from it, within these limits.
WORK = 10_000_000
FEWEST, MOST = 100, 1_000  # fewer runs would not show a 99% quantile
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


class Board:
    """The scores of every policy on every case."""

    def __init__(self, cases: Sequence[Case], scores: dict[str, dict[str, Score]]) -> None:
        self.cases = tuple(cases)
        self.scores = scores

    @classmethod
    def load(cls, path: Path) -> Board:
        """The board of a file that `run_leaderboard` kept; of the cases that were played, if it was interrupted."""
        kept = read(path)
        cases = [case for case in (Case(*fields) for fields in kept["cases"]) if case.label in kept["scores"]]
        names = dict.fromkeys(name for found in kept["scores"].values() for name in found)
        scores = {
            name: {
                case.label: Score(*kept["scores"][case.label][name]["score"])
                for case in cases
                if name in kept["scores"][case.label]
            }
            for name in names
        }
        return cls(cases, scores)

    def table(self) -> pd.DataFrame:
        """One row per case and policy: mean regret and 99% quantile, with standard errors."""
        import pandas as pd

        rows = [
            {"case": case, "policy": policy, **score._asdict()}
            for policy, found in self.scores.items()
            for case, score in found.items()
        ]
        return pd.DataFrame(rows).set_index(["case", "policy"])

    def best(self, case: str) -> Score:
        """The least mean and the least tail of any policy on a case, each with its error."""
        found = [scores[case] for scores in self.scores.values() if case in scores]
        mean, tail = min(found, key=lambda score: score.mean), min(found, key=lambda score: score.tail)
        return Score(mean.mean, mean.mean_error, tail.tail, tail.tail_error)

    def ranking(self) -> pd.DataFrame:
        """One row per policy, best first: the score of the mean and of the tail with errors, and on how many cases.

        A policy that refuses some cases (EpsilonGreedy at b ≤ 1/2) is scored on the others.
        """
        import pandas as pd

        rows = []
        for policy, found in self.scores.items():
            if not found:
                continue
            best = {case: self.best(case) for case in found}
            means = [ratio(s.mean, s.mean_error, best[c].mean, best[c].mean_error) for c, s in found.items()]
            tails = [ratio(s.tail, s.tail_error, best[c].tail, best[c].tail_error) for c, s in found.items()]
            mean, mean_error = geometric_mean(means)
            tail, tail_error = geometric_mean(tails)
            rows.append({
                "policy": policy, "mean": mean, "mean_error": mean_error, "tail": tail, "tail_error": tail_error,
                "worst": max(value for value, _ in means), "cases": len(means),
            })  # fmt: skip
        return pd.DataFrame(rows).set_index("policy").sort_values("mean")

    def against_thompson(self, policy: str = "Recommended") -> pd.DataFrame:
        """The policy's mean regret over Thompson's on every case, with the bar that applies there.

        `least` is the least mean regret of any policy over Thompson's: where it misses the bar too, no policy here
        reaches it. `bound` is what no policy at all can have less than, over Thompson's, with Gaussian noise; worked
        out where the bar is missed, NaN elsewhere.
        """
        import pandas as pd

        rows = []
        for case in self.cases:
            ours, theirs = (self.scores[name].get(case.label) for name in (policy, "Thompson"))
            if ours is None or theirs is None:
                continue
            value, error = ratio(ours.mean, ours.mean_error, theirs.mean, theirs.mean_error)
            least, bar = self.best(case.label).mean / theirs.mean, thompson_bar(case, theirs.mean)
            rows.append({
                "case": case.label, "b": case.b, "noise": case.noise, "thompson": theirs.mean, "ratio": value,
                "error": error, "least": least, "bar": bar,
                "bound": below_which_none(case) / theirs.mean if value > bar else np.nan,
            })  # fmt: skip
        return pd.DataFrame(rows).set_index("case")


@functools.cache
def below_which_none(case: Case) -> float:
    """A regret that no policy can have less than on the case with Gaussian noise; it takes some seconds."""
    return least_regret(dataclasses.replace(case.instance, noise=Gaussian()), case.horizon)


def thompson_bar(case: Case, regret: float) -> float:
    """What a good policy may lose over Thompson, whose mean regret is given; NaN where there is no bar."""
    if case.b <= 0.5:
        return 1.1
    return 0.5 if case.b >= 0.6 and case.arms >= 5 and regret > 20.0 else np.nan


def ratio(value: float, error: float, other: float, other_error: float) -> tuple[float, float]:
    """A quotient of two independent estimates and its standard error; of an estimate with itself, 1 and 0."""
    found = value / other
    return found, 0.0 if value == other else found * float(np.hypot(error / value, other_error / other))


def geometric_mean(ratios: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The geometric mean of ratios and its standard error from theirs."""
    values, errors = np.array(ratios).T
    found = float(np.exp(np.log(values).mean()))
    return found, found * float(np.sqrt(((errors / values) ** 2).sum())) / len(values)


def run_leaderboard(
    *,
    cases: Sequence[Case] = SUITE,
    policies: dict[str, Informed] | None = None,
    seed: int = 1,
    quick: bool = False,
    workers: int | None = None,
    on_case: Callable[[Case], None] = lambda case: None,
    kept: Path | None = None,
    command: str = "run_leaderboard()",
) -> Board:
    """Play the suite. `quick` spends a fiftieth of the work: a look, not a verdict.

    With `kept`, a file, what is done is kept there after every case, and an interrupted run goes on from it. A score
    is taken from the file only where seed, replications and the code of the policy are the same. `command` is kept
    there too, for the page: how to make it again.
    """
    entries = contestants() if policies is None else policies
    store = Kept(kept, cases, command)
    scores: dict[str, dict[str, Score]] = {name: {} for name in entries}
    for case in cases:
        size = (WORK // QUICKLY if quick else WORK) // (case.horizon * case.arms)
        replications = int(np.clip(size, FEWEST // (5 if quick else 1), MOST))
        for name, entry in entries.items():
            try:
                policy = entry.on(case.instance)
            except InvalidValue:
                continue  # the policy says itself that this case is not for it
            made_by = [seed, replications, code_of(entry)]
            found = store.find(case.label, name, made_by)
            if found is None:
                runs = simulate(
                    policy, case.instance, horizon=case.horizon, replications=replications, seed=seed,
                    record=("regret",), periods=1, workers=workers, progress=False,
                )  # fmt: skip
                found = store.add(case.label, name, made_by, score(runs.regret.values.ravel()))
            scores[name][case.label] = found
        store.save()
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
