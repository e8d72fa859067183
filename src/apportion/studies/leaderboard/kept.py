"""What was played, kept in a file: an interrupted leaderboard goes on from it, and the page is made from it."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from apportion._common import files
from apportion.errors import InvalidValue
from apportion.policies import shared
from apportion.simulation.plan import Informed
from apportion.studies.leaderboard.suite import Case


class Score(NamedTuple):
    """A policy's regret on a case."""

    mean: float
    mean_error: float
    tail: float
    tail_error: float


class Kept:
    """Scores in a JSON file, each with what it was made by: seed, replications and the policy's code."""

    def __init__(self, path: Path | None, cases: Sequence[Case], command: str) -> None:
        self.path, self.cases, self.command = path, tuple(cases), command
        self.scores: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            labels = {case.label for case in cases}
            self.scores = {case: found for case, found in read(path)["scores"].items() if case in labels}

    def find(self, case: str, policy: str, made_by: list[Any]) -> Score | None:
        """The score, if it was made by the same."""
        entry = self.scores.get(case, {}).get(policy)
        return Score(*entry["score"]) if entry is not None and entry["made_by"] == made_by else None

    def add(self, case: str, policy: str, made_by: list[Any], found: Score) -> Score:
        """Remember a score and return it as it will be read again; six digits say more than its error."""
        rounded = [float(f"{value:.6g}") for value in found]
        self.scores.setdefault(case, {})[policy] = {"score": rounded, "made_by": made_by}
        return Score(*rounded)

    def save(self) -> None:
        """Write everything, whole or not at all."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        played = ",\n".join(f"  {_text(case)}: {_text(found)}" for case, found in self.scores.items())
        cases = ",\n".join(f"  {_text(case)}" for case in self.cases)
        text = (
            f'{{\n "command": {_text(self.command)},\n "cases": [\n{cases}\n ],\n "scores": {{\n{played}\n }}\n}}\n'
        )
        files.write_text(self.path, text)


def read(path: Path) -> dict[str, Any]:
    """The file's content; one sentence where it is something else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict) or not {"command", "cases", "scores"} <= set(found):
        raise InvalidValue(
            f"`{path}` must be a file kept by a leaderboard; got something else. Remove it or choose another folder."
        )
    return found


def code_of(entry: Informed) -> str:
    """A digest of the policy's parameters and of the source that decides for it."""
    modules = (sys.modules[entry.cls.__module__], shared)
    parts = [repr(dict(entry.parameters)), *(inspect.getsource(module) for module in modules)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
