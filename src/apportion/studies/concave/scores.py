"""What a policy earns in a world, as a part of what knowing everything would earn, beside an even split."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from apportion._common.imports import is_ours
from apportion._common.sources import digest_of
from apportion._common.validation import whole
from apportion.errors import InvalidValue
from apportion.model.sums import Floats
from apportion.model.world import Course, World
from apportion.policies.parameters import parameters_of
from apportion.simulation.candidates import Candidate, Informed, policy_on, read_candidate
from apportion.simulation.engines.streams import restart, streams
from apportion.simulation.simulate import simulate
from apportion.simulation.user_code import code_of as code_of_user
from apportion.studies.concave.worlds import Case
from apportion.studies.finished import NOT_COUNTED, Entries, Finished, FinishedWork, read_json

HORIZONS = (100, 400, 2_000)
STUDY = "a study of concave worlds"
DIGEST_LENGTH = 12

# A policy may earn less than an even split by so much of the optimum, up to this horizon and beyond it.
SHORT, SHORT_SLACK, SLACK = 399, 0.08, 0.03
# An even split that loses more than this must be beaten.
EVEN_LOSS = 0.1
# At least so much of the optimum is to be earned in worlds at rest, from these horizons on.
OPTIMUM_BARS = {2_000: 0.94, 400: 0.90}


class Score(NamedTuple):
    """One policy in one world: parts of the optimum's value, means over runs with standard errors.

    `even` is the even split's part in the same runs, `ahead` what the policy has more than it, run by run. `regret`
    and `even_regret` are what both lose against the optimum, in units of value.
    """

    world: str
    policy: str
    horizon: int
    steady: bool
    part: float
    error: float
    even: float
    even_error: float
    ahead: float
    ahead_error: float
    regret: float
    regret_error: float
    even_regret: float

    @property
    def held_to(self) -> tuple[str, ...]:
        """The bars that apply, by their names in `BARS`."""
        gain = ("gain",) if self.even < 1.0 - EVEN_LOSS else ()
        return ("even", *gain, *(("optimum",) if self.steady and self.horizon >= min(OPTIMUM_BARS) else ()))

    @property
    def missed(self) -> tuple[str, ...]:
        """Those that it misses, as the means say."""
        slack = SHORT_SLACK if self.horizon <= SHORT else SLACK
        least = next((bar for start, bar in OPTIMUM_BARS.items() if self.horizon >= start), 0.0)
        met = {"even": self.ahead >= -slack, "gain": self.ahead > 0.0, "optimum": self.part >= least}
        return tuple(bar for bar in self.held_to if not met[bar])


BARS = {
    "even": f"no less than an even split, up to {SLACK:.0%} of the optimum ({SHORT_SLACK:.0%} at T = 100)",
    "gain": f"more than an even split where that loses over {EVEN_LOSS:.0%}",
    "optimum": ", ".join(f"at least {bar:.0%} at T ≥ {start:,}" for start, bar in OPTIMUM_BARS.items())
    + " of the optimum, in worlds at rest",
}


class ScoreName(NamedTuple):
    """Which score."""

    world: str
    policy: str
    horizon: int


class Possible(NamedTuple):
    """What is expected in each run of a world up to each period, (runs, periods): at best, and of an even split."""

    best: Floats
    even: Floats


def possible(world: World, horizon: int, runs: int, seed: int) -> Possible:
    """Played with the streams of `simulate(..., common=True)`: the means move as they do for the policies there."""
    count = 1 if not world.moves else runs
    noise = streams(["noise", world.to_dict()], seed, 0, count)
    even, found = np.full((horizon, world.arms), 1.0 / world.arms), []
    for run in range(count):
        restart(noise.generator, noise.state, noise.seeds[run])
        played = Course(world, noise.generator, common=True).play(even)
        found.append((played.best.cumsum(), played.expected.cumsum()))
    best, expected = (np.array([pair[index] for pair in found]) for index in (0, 1))
    return Possible(*(np.broadcast_to(values, (runs, horizon)) for values in (best, expected)))


def scores(
    policies: Mapping[str, Candidate] | Iterable[Candidate],
    worlds: Sequence[Case],
    runs: int = 20,
    seed: int = 1,
    horizons: Sequence[int] = HORIZONS,
    *,
    workers: int | None = None,
    path: Path | None = None,
    command: str = "scores()",
    on_case: Callable[[Case], None] = lambda case: None,
) -> list[Score]:
    """Every policy in every world for every horizon, which it knows; a budget of 1 a period.

    `policies` by name, or in a list: then their labels are their names. All of them meet the same means and noise.
    With `path` every score is stored in that file when it is known, and an interrupted run goes on from it.

    >>> import apportion as ap
    >>> world = Case("two", ap.Instance((1.0, 0.5), b=0.5))
    >>> (found,) = scores([ap.Uniform()], [world], runs=2, horizons=[10])
    >>> found.part, found.even, found.ahead, found.missed
    (0.75, 0.75, 0.0, ('gain',))
    """
    entries = dict(policies) if isinstance(policies, Mapping) else {_label(policy): policy for policy in policies}
    count = whole("runs", runs, low=2)
    work = FinishedWork[ScoreName](path, STUDY, decode, lambda found: encode(found, command))
    code = {name: code_of(entry) for name, entry in entries.items()}
    found: list[Score] = []
    for case in worlds:
        world = hashlib.sha256(json.dumps(case.world.to_dict(), sort_keys=True).encode()).hexdigest()[:DIGEST_LENGTH]
        told = {name: _told(entry, case) for name, entry in entries.items()}
        playing = [name for name, entry in told.items() if not why_not(entry, case.world)]
        made_by = {name: [seed, count, code[name], repr(told[name]), world] for name in playing}
        names = [ScoreName(case.name, policy, horizon) for horizon in horizons for policy in playing]
        if any(work.find(name, made_by[name.policy]) is None for name in names):
            values = possible(case.world, max(horizons), count, seed)
        for name in names:
            result = work.find(name, made_by[name.policy])
            if result is None:
                lost = simulate(
                    told[name.policy], case.world, horizon=name.horizon, replications=count, seed=seed,
                    record=("regret",), periods=1, common=True, workers=workers, progress=False,
                ).regret.values.ravel()  # fmt: skip
                best, even = (each[:, name.horizon - 1] for each in values)
                if not best.min() > 0.0:
                    raise InvalidValue(
                        f"`worlds` must have a best split that earns something, of which to say what part is earned; "
                        f"got {case.name}, where it earns {best.min():g} in {name.horizon} periods."
                    )
                part, part_of_even = 1.0 - lost / best, even / best
                means = map(_mean, (part, part_of_even, part - part_of_even, lost))
                numbers = [case.steady, *itertools.chain.from_iterable(means), round(float((best - even).mean()), 6)]
                result = work.add(name, made_by[name.policy], numbers)
            found.append(Score(*name, *result))
        on_case(case)
    work.save()
    return found


def load_scores(path: Path) -> tuple[list[Score], str]:
    """The scores of a file that `scores` wrote, and the command that made it."""

    def read(data: Any) -> tuple[list[Score], str]:
        return [Score(*name, *entry.result) for name, entry in decode(data).items()], str(data["command"])

    return read_json(path, STUDY, read)


def code_of(policy: Candidate) -> str:
    """A digest of the sources that the policy and its play are made of; other policies do not count."""
    cls: Any = policy if isinstance(policy, type) else policy.cls if isinstance(policy, Informed) else type(policy)
    starts = [__name__, *([cls.__module__] if is_ours(cls) else [])]
    return (
        digest_of(starts, aside=(*NOT_COUNTED, Case.__module__))[:DIGEST_LENGTH] + code_of_user(cls)[:DIGEST_LENGTH]
    )


def _told(policy: Candidate, case: Case) -> Candidate:
    """The policy; one that is told the truth of its world is told how long a quarter is too, if it asks."""
    entry = read_candidate(policy)
    if isinstance(entry, Informed) and case.quarter and "quarter" in {p.name for p in parameters_of(entry.cls)}:
        return dataclasses.replace(entry, parameters={"quarter": case.quarter, **entry.parameters})
    return policy


def why_not(policy: Candidate, world: World) -> str:
    """Why the policy cannot play in the world, as it says; empty where it can."""
    try:
        policy_on(read_candidate(policy), world)
    except InvalidValue as refusal:
        return str(refusal)
    return ""


def decode(data: Any) -> Entries[ScoreName]:
    """The scores of a file, with what they were made by."""
    return {
        ScoreName(*(entry[name] for name in ScoreName._fields)): Finished(entry["made_by"], entry["score"])
        for entry in data["scores"]
    }


def encode(entries: Entries[ScoreName], command: str) -> str:
    """The same as JSON, one score a line."""
    rows = [{**name._asdict(), "score": entry.result, "made_by": entry.depends_on} for name, entry in entries.items()]
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return f'{{\n "command": {json.dumps(command)},\n "scores": [\n{lines}\n ]\n}}\n'


def _mean(values: Floats) -> tuple[float, float]:
    """With its standard error, to six decimals."""
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return round(float(values.mean()), 6), round(error, 6)


def _label(policy: Any) -> str:
    return policy.__name__ if isinstance(policy, type) else str(policy.label)
