"""Scores: the regret of a policy on a case, how policies compare over all cases, and the file they are stored in."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apportion.model.noise import Gaussian
from apportion.studies.finished import Entries, Finished, read_json
from apportion.studies.leaderboard.suite import Case
from apportion.theory import least_regret

if TYPE_CHECKING:
    import pandas as pd

TAIL = 0.99
# A 99% quantile of fewer runs rests on less than ten of them beyond it; it is not scored.
TAIL_RUNS = 1_000
# How often the scores are worked out again from regrets redrawn within their errors.
REDRAWS = 1_000
# A lucky run can have no regret at all; a score needs a ratio.
LEAST_REGRET = 1e-12

# What `Recommended` may lose over Thompson: little more where pooling is right, half of it where dividing is, with
# arms enough to divide over and a regret that is worth saving.
POOLING_BAR, DIVIDING_BAR = 1.1, 0.5
DIVIDING_B, DIVIDING_ARMS, DIVIDING_REGRET = 0.6, 5, 20.0
BARS = {
    POOLING_BAR: "b ≤ 1/2",
    DIVIDING_BAR: f"b ≥ {DIVIDING_B}, {DIVIDING_ARMS} arms or more, Thompson's regret above {DIVIDING_REGRET:g}",
}


class Estimate(NamedTuple):
    """A number with its standard error."""

    value: float
    error: float


class Score(NamedTuple):
    """A policy's regret on a case: its mean and its 99% quantile, with standard errors, and of how many runs."""

    mean: float
    mean_error: float
    tail: float
    tail_error: float
    runs: int = TAIL_RUNS

    @property
    def of_mean(self) -> Estimate:
        """The mean with its error."""
        return Estimate(self.mean, self.mean_error)

    @property
    def of_tail(self) -> Estimate:
        """The 99% quantile with its error."""
        return Estimate(self.tail, self.tail_error)

    def rounded(self) -> Score:
        """To six digits, which say more than its error."""
        return Score.from_stored([float(f"{value:.6g}") for value in self.stored()], self.runs)

    def stored(self) -> tuple[float, ...]:
        """As in the file, where the number of runs stands beside it."""
        return self[:4]

    @classmethod
    def from_stored(cls, numbers: Sequence[float], runs: int) -> Score:
        """What `stored` gave, with the number of runs."""
        mean, mean_error, tail, tail_error = numbers
        return cls(mean, mean_error, tail, tail_error, runs)


class ScoreOverCases(NamedTuple):
    """The score of a policy, and over how many cases."""

    score: Estimate
    cases: int


class ScoreName(NamedTuple):
    """Which score: the label of the case and the name of the policy."""

    case: str
    policy: str


def score(regrets: Any) -> Score:
    """Mean and 99% quantile with standard errors; the quantile's from the order statistics around it."""
    values = np.sort(np.asarray(regrets, dtype=np.float64))
    count = len(values)
    spread = np.sqrt(TAIL * (1.0 - TAIL) / count)
    low, high = np.quantile(values, np.clip([TAIL - spread, TAIL + spread], 0.0, 1.0))
    mean, tail = (max(float(value), LEAST_REGRET) for value in (values.mean(), np.quantile(values, TAIL)))
    return Score(mean, float(values.std(ddof=1) / np.sqrt(count)), tail, float(high - low) / 2.0, count)


class Leaderboard(NamedTuple):
    """The scores of every policy on every case, by policy and by the label of the case."""

    cases: Sequence[Case]
    scores: Mapping[str, Mapping[str, Score]]

    @classmethod
    def load(cls, path: Path) -> Leaderboard:
        """The leaderboard of a file that `run_leaderboard` wrote; of the cases played, if it was interrupted."""
        return cls.of(read_scores(path))

    @classmethod
    def of(cls, file: ScoreFile) -> Leaderboard:
        """The leaderboard of a file that was read."""
        scores: dict[str, dict[str, Score]] = {}
        for name, entry in file.entries.items():
            found = Score.from_stored(entry.result, int(entry.depends_on[1]))
            scores.setdefault(name.policy, {})[name.case] = found
        played = {name.case for name in file.entries}
        return cls([case for case in file.cases if case.label in played], scores)

    def best(self, case: str) -> Score:
        """The least mean and the least tail of any policy on a case, each with its error."""
        found = [by_case[case] for by_case in self.scores.values() if case in by_case]
        mean, tail = min(found, key=lambda item: item.mean), min(found, key=lambda item: item.tail)
        return Score(*mean.of_mean, *tail.of_tail, runs=min(item.runs for item in found))

    def ranking(self) -> pd.DataFrame:
        """One row per policy, best first: the score of the mean and of the tail with errors, and on how many cases.

        A policy that refuses some cases (EpsilonGreedy at b ≤ 1/2) is scored on the others, and tails on those cases
        alone where every policy has `TAIL_RUNS` runs. Who is the best of a case is measured too: the errors are the
        spread of the scores where all regrets are redrawn within their errors, and the best is found anew each time.
        """
        import pandas as pd

        means = self._geometric_means("mean", 0)
        tails = self._geometric_means("tail", TAIL_RUNS)
        rows = []
        for policy, by_case in self.scores.items():
            if not by_case:
                continue
            worst = max(found.mean / self.best(case).mean for case, found in by_case.items())
            mean, tail = means[policy], tails.get(policy)
            rows.append({
                "policy": policy, "mean": mean.score.value, "mean_error": mean.score.error,
                "tail": np.nan if tail is None else tail.score.value,
                "tail_error": np.nan if tail is None else tail.score.error,
                "worst": worst, "cases": mean.cases, "tails": 0 if tail is None else tail.cases,
            })  # fmt: skip
        return pd.DataFrame(rows).set_index("policy").sort_values("mean")

    def _geometric_means(self, part: str, least_runs: int) -> dict[str, ScoreOverCases]:
        """The geometric mean over cases of each policy's `mean` or `tail` over the least of any policy there.

        Cases count where every policy has at least so many runs.
        """
        rng = np.random.default_rng(REDRAWS)
        logs: dict[str, list[Any]] = {}
        for case in self.cases:
            found = {name: by_case[case.label] for name, by_case in self.scores.items() if case.label in by_case}
            if not found or min(score.runs for score in found.values()) < least_runs:
                continue
            estimates = [getattr(score, f"of_{part}") for score in found.values()]
            values, errors = np.array(estimates).T
            # Row 0 is what was measured; in the others every regret is redrawn, by its logarithm: it stays positive.
            drawn = np.concatenate([[np.zeros(len(values))], rng.standard_normal((REDRAWS, len(values)))])
            table = np.log(values) + errors / values * drawn
            ratios = table - table.min(axis=1, keepdims=True)
            for column, name in enumerate(found):
                logs.setdefault(name, []).append(ratios[:, column])
        scores = {name: np.exp(np.mean(columns, axis=0)) for name, columns in logs.items()}
        return {
            name: ScoreOverCases(Estimate(float(found[0]), float(found[1:].std())), len(logs[name]))
            for name, found in scores.items()
        }

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
            value, error = ratio(ours.of_mean, theirs.of_mean)
            least, bar = self.best(case.label).mean / theirs.mean, thompson_bar(case, theirs.mean)
            rows.append({
                "case": case.label, "b": case.b, "noise": case.noise, "thompson": theirs.mean, "ratio": value,
                "error": error, "least": least, "bar": bar,
                "bound": least_possible_regret(case) / theirs.mean if value > bar else np.nan,
            })  # fmt: skip
        return pd.DataFrame(rows).set_index("case")


@functools.cache
def least_possible_regret(case: Case) -> float:
    """A regret that no policy can have less than on the case with Gaussian noise; it takes some seconds."""
    return least_regret(dataclasses.replace(case.instance, noise=Gaussian()), case.horizon)


def thompson_bar(case: Case, regret: float) -> float:
    """What a good policy may lose over Thompson, whose mean regret is given; NaN where there is no bar."""
    if case.b <= 0.5:
        return POOLING_BAR
    dividing = case.b >= DIVIDING_B and case.arms >= DIVIDING_ARMS and regret > DIVIDING_REGRET
    return DIVIDING_BAR if dividing else np.nan


def ratio(first: Estimate, second: Estimate) -> Estimate:
    """A quotient of two independent estimates and its standard error, to the first order."""
    found = first.value / second.value
    return Estimate(found, found * float(np.hypot(first.error / first.value, second.error / second.value)))


class ScoreFile(NamedTuple):
    """What a file of scores holds: the command that made it, the cases, and every score with what it was made by."""

    command: str
    cases: tuple[Case, ...]
    entries: Entries[ScoreName]


def read_scores(path: Path) -> ScoreFile:
    """The file that `run_leaderboard` wrote; one sentence where it is something else."""
    return read_json(path, "a leaderboard", decode)


def decode(data: Any) -> ScoreFile:
    """A file of scores from its JSON; a score was made by a seed, a number of replications and the policy's code."""
    entries = {
        ScoreName(case, policy): Finished(entry["made_by"], entry["score"])
        for case, found in data["scores"].items()
        for policy, entry in found.items()
    }
    return ScoreFile(data["command"], tuple(Case(*fields) for fields in data["cases"]), entries)


def encode(file: ScoreFile) -> str:
    """The scores of the cases as JSON, one line of text for each case."""
    scores: dict[str, dict[str, Any]] = {}
    labels = {case.label for case in file.cases}
    for name, entry in file.entries.items():
        if name.case in labels:
            row = {"score": entry.result, "made_by": entry.depends_on}
            scores.setdefault(name.case, {})[name.policy] = row
    played = ",\n".join(f"  {_text(case)}: {_text(found)}" for case, found in scores.items())
    listed = ",\n".join(f"  {_text(case)}" for case in file.cases)
    return f'{{\n "command": {_text(file.command)},\n "cases": [\n{listed}\n ],\n "scores": {{\n{played}\n }}\n}}\n'


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
