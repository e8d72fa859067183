"""Playing the suite: every policy on every case, each score stored when it is known."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from apportion.errors import InvalidValue
from apportion.policies import Auto, Matching, find_policy, shared
from apportion.simulation.candidates import Candidate, Informed
from apportion.simulation.simulate import simulate
from apportion.studies.finished import FinishedWork
from apportion.studies.leaderboard.scores import (
    TAIL_RUNS,
    Leaderboard,
    Score,
    ScoreFile,
    ScoreName,
    decode,
    encode,
    score,
)
from apportion.studies.leaderboard.suite import SUITE, Case
from apportion.studies.seeds import seed_of


class Sizes(NamedTuple):
    """Arm-periods spent on each policy and case; replications follow from it, within these limits.

    `min_runs` of the full board are what a 99% quantile needs.
    """

    arm_periods: int
    min_runs: int
    max_runs: int = 1_000


FULL = Sizes(10_000_000, TAIL_RUNS)
QUICK = Sizes(200_000, 20)

DIGEST_LENGTH = 12

# Of the others, those that stand for their kind: rules of one arm at a time do not divide, as concave worlds ask for.
CONCAVE = ("Recommended", "Odds", "Thompson", "UCB1", "Elimination, anytime", "Uniform")
CONCAVE_RUNS, QUICK_CONCAVE_RUNS = 20, 4


def contestants() -> dict[str, Informed]:
    """The policies that take part; each is given the true b, σ and horizon."""
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
        "AdaptiveElimination, leader": ("AdaptiveElimination", {"split": "leader"}),
        "Uniform": ("Uniform", {}),
    }
    return {name: Informed(find_policy(policy), parameters) for name, (policy, parameters) in entries.items()}


def concave_contestants() -> dict[str, Candidate]:
    """Who takes part where returns diminish: told b, σ_i and c as far as they know it; and `Auto`, told nothing."""
    told = {name: entry for name, entry in contestants().items() if name in CONCAVE}
    return {"Auto": Auto(), "Matching": Informed(Matching), **told}


def run_leaderboard(
    *,
    cases: Sequence[Case] = SUITE,
    policies: Mapping[str, Informed] | None = None,
    seed: int = 1,
    quick: bool = False,
    workers: int | None = None,
    on_case: Callable[[Case], None] = lambda case: None,
    path: Path | None = None,
    command: str = "run_leaderboard()",
) -> Leaderboard:
    """Play the suite. `quick` spends a fiftieth of the work: a look, not a verdict.

    With `path`, every score is stored in that file when it is known, and an interrupted run goes on from it. A score
    is taken from the file only where seed, replications and the code of the policy are the same. `command` is stored
    there too, for the page: how to make it again.
    """
    entries = contestants() if policies is None else policies
    sizes = QUICK if quick else FULL
    work = FinishedWork[ScoreName](
        path, "a leaderboard", lambda data: decode(data).entries,
        lambda finished: encode(ScoreFile(command, tuple(cases), finished)),
    )  # fmt: skip
    scores: dict[str, dict[str, Score]] = {name: {} for name in entries}
    for case in cases:
        wanted = sizes.arm_periods // (case.horizon * case.arms)
        replications = int(np.clip(wanted, sizes.min_runs, sizes.max_runs))
        for name, entry in entries.items():
            try:
                policy = entry.on(case.instance)
            except InvalidValue:
                continue  # the policy says itself that this case is not for it
            made_by = [seed, replications, code_of(entry)]
            found = work.find(ScoreName(case.label, name), made_by)
            if found is None:
                runs = simulate(
                    policy, case.instance, horizon=case.horizon, replications=replications,
                    seed=seed_of(seed, case.label, name), record=("regret",), periods=1, workers=workers,
                    progress=False,
                )  # fmt: skip
                measured = score(runs.regret.values.ravel())
                found = work.add(ScoreName(case.label, name), made_by, measured.rounded().stored())
            scores[name][case.label] = Score.from_stored(found, replications)
        on_case(case)
    work.save()
    return Leaderboard(cases, scores)


def code_of(entry: Informed) -> str:
    """A digest of the policy's parameters and of the source that decides for it."""
    sources = [inspect.getsource(module) for module in (sys.modules[entry.cls.__module__], shared)]
    return hashlib.sha256("\n".join([repr(dict(entry.parameters)), *sources]).encode()).hexdigest()[:DIGEST_LENGTH]
