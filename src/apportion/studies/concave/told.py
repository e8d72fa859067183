"""What it costs not to know: `Auto` against rules that are told c, b and σ_i, and how long to remember.

Two grids, both with the means 1, 0.85, 0.7, 0.6, 0.4 (ten arms: evenly from 1 to 0.4) and a budget of 1: bent power
laws at rest, and laws that move. The rules that remember for a while are `Matching` with sums that fade.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from apportion.model.law import Instance
from apportion.model.moving import Moving
from apportion.model.sums import InformationSums
from apportion.model.world import World
from apportion.policies import Auto, Matching, Recommended
from apportion.policies.contract import Policy, allocate
from apportion.policies.parameters import NOISE_EXPONENT, NOISE_LEVEL, RETURN_EXPONENT, Number, parameter
from apportion.simulation.candidates import Candidate, Informed
from apportion.studies.concave.scores import Score
from apportion.studies.concave.worlds import MOTIONS, STEADY, Case
from apportion.studies.page import Table, with_error

MEANS = {5: (1.0, 0.85, 0.7, 0.6, 0.4), 10: tuple(np.linspace(1.0, 0.4, 10).tolist())}
GRID_HORIZON, MOVING_HORIZON = 2_000, 600
_GRID_LAWS = ((0.5, 0.5), (0.7, 0.3), (0.7, 0.5), (0.7, 0.75), (0.85, 0.5), (1.0, 0.5), (1.0, 0.75))
_MOVING_LAWS = ((1.0, 0.5), (1.0, 0.75), (0.75, 0.5), (0.75, 0.75))

HALF_LIVES = (100.0, 30.0, 10.0)
COMMON = ("weekday", "season", "random")
OWN = ("drift", "jumps", "season + drift")


class Fading(Policy):
    """`Matching`, told b, σ and c, with sums of which each period leaves the part 2^(−1/`half_life`).

    For simulations only: it fades the sums themselves, which in live use is the Allocator's to do.
    """

    half_life: float = parameter(Number(above=0.0))
    b: float = parameter(NOISE_EXPONENT)
    sigma: float | tuple[float, ...] = parameter(NOISE_LEVEL, default=1.0)
    c: float = parameter(RETURN_EXPONENT, default=1.0)

    class Record(NamedTuple):
        """What a period leaves of the sums, and the record of the rule."""

        left: float
        rule: Any

    @property
    def reads(self) -> Any:
        """Those of the rule."""
        return InformationSums

    @property
    def randomised(self) -> bool:
        """As the rule is."""
        return True

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """The rule does not know the horizon: the world goes on moving to its end."""
        rule = Matching(b=self.b, sigma=self.sigma, c=self.c).prepared(arms, None)
        return self.Record(0.5 ** (1.0 / self.half_life), rule)

    def allocate(self: Any, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """Decide, then fade: what comes back next counts whole when it is first looked at."""
        allocate(self.rule, period, sums, memory, rng, shares)
        for arm in range(len(shares)):
            sums.count[arm] *= self.left
            sums.information[arm] *= self.left
            sums.score[arm] *= self.left


def _law(c: float, b: float, arms: int, sigma: float | tuple[float, ...]) -> Instance:
    return Instance(MEANS[arms], b=b, sigma=sigma, c=c)


def _spaced(low: float, high: float, arms: int) -> tuple[float, ...]:
    return tuple(np.geomspace(low, high, arms).tolist())


def grid_cases() -> tuple[Case, ...]:
    """Power laws at rest, 5 and 10 arms, σ = 0.5 for all or from 0.15 to 1.2."""
    found = []
    for arms in MEANS:
        for words, sigma in (("0.5", 0.5), ("0.15 to 1.2", _spaced(0.15, 1.2, arms))):
            for c, b in _GRID_LAWS:
                found.append(Case(f"c={c:g}, b={b:g}, K={arms}, σ {words}", _law(c, b, arms, sigma)))
    return tuple(found)


def moving_cases() -> tuple[Case, ...]:
    """Power laws with σ from 0.15 to 0.6, at rest and moving in every way of `MOTIONS`."""
    found = []
    for c, b in _MOVING_LAWS:
        for motion, how in MOTIONS.items():
            base = _law(c, b, 5, _spaced(0.15, 0.6, 5))
            world: World = base if motion == STEADY else Moving(base, **how)
            found.append(Case(moving_name(c, b, motion), world))
    return tuple(found)


def moving_name(c: float, b: float, motion: str) -> str:
    """The name of a case of `moving_cases`."""
    return f"c={c:g}, b={b:g}, {motion}"


def grid_policies() -> dict[str, Candidate]:
    """`Auto`, told nothing, or that nothing moves; and two that are told the truth."""
    told = {"Recommended": Informed(Recommended), "Matching": Informed(Matching)}
    return {"Auto": Auto(), FORGETS_NOTHING: Auto(moving=False), **told}


def moving_policies() -> dict[str, Candidate]:
    """The same, and those with a fixed memory."""
    return {**grid_policies(), **{_memory(each): Informed(Fading, {"half_life": each}) for each in HALF_LIVES}}


def _memory(half_life: float) -> str:
    return f"half-life {half_life:g}"


TOLD = "Recommended"
FORGETS_NOTHING = "Auto(moving=False)"
MEMORIES = ("Recommended", "Matching", *map(_memory, HALF_LIVES))
"""Every memory that can be chosen in hindsight: all, or a half-life."""


def grid_table(found: Sequence[Score], policy: str = "Auto") -> Table:
    """Regret in every cell of the grid, and that of `policy` over that of `Recommended`, told the truth."""
    by_name = _by_name(found)
    rows = [
        [world, *(_regret(scores[name]) for name in (policy, TOLD, "Matching")), _short(scores[policy].even_regret),
         scores[policy].regret / scores[TOLD].regret]
        for world, scores in by_name.items()
    ]  # fmt: skip
    columns = ["world", policy, f"{TOLD}, told", "Matching, told", "even split", f"{policy} over {TOLD}"]
    return Table("Bent power laws", columns, rows)


def moving_table(found: Sequence[Score], policy: str = "Auto") -> Table:
    """Regret in every moving world, and that of `policy` over that of the best fixed memory there."""
    by_name = _by_name(found)
    rows = []
    for world, scores in by_name.items():
        best = min((scores[name] for name in MEMORIES), key=lambda score: score.regret)
        told = min((scores[name] for name in (TOLD, "Matching")), key=lambda score: score.regret)
        memories = (_short(scores[_memory(each)].regret) for each in HALF_LIVES)
        ratio = scores[policy].regret / best.regret
        rows.append([world, _regret(scores[policy]), _regret(told), *memories, _short(told.even_regret), ratio])
    columns = ["world", policy, "told, remembers all", *map(_memory, HALF_LIVES), "even split"]
    return Table("Means that move", [*columns, f"{policy} over the best memory"], rows)


def bars(grid: Sequence[Score], moving: Sequence[Score], policy: str = "Auto") -> Table:
    """What is asked of `policy`, and what was found: geometric means of ratios of regret, and the largest of them."""
    cells = [scores[policy].regret / scores[TOLD].regret for scores in _by_name(grid).values()]
    still = [scores[policy].regret / scores[FORGETS_NOTHING].regret for scores in _by_name(grid).values()]
    worlds = _by_name(moving)

    def ratios(motions: Iterable[str], over: Iterable[str]) -> list[float]:
        """Over the least regret of these policies in the same world; of none: over its own in the world at rest."""
        found = []
        for c, b in _MOVING_LAWS:
            at_rest = worlds[moving_name(c, b, STEADY)][policy].regret
            for motion in motions:
                scores = worlds[moving_name(c, b, motion)]
                found.append(scores[policy].regret / min((scores[name].regret for name in over), default=at_rest))
        return found

    rows: list[list[Any]] = [
        ["bent power laws, over Recommended told the truth", 1.5, _geometric_mean(cells), 2.5, max(cells)],
        *(
            [words, bar, _geometric_mean(values), None, max(values)]
            for words, bar, values in (
                ("at rest, over the same policy told that nothing moves", 1.1,
                 still + ratios([STEADY], [FORGETS_NOTHING])),
                ("drift and jumps, over the best fixed memory", 1.25, ratios(OWN, MEMORIES)),
                ("a common factor, over the same world without it", 2.0, ratios(COMMON, ())),
            )
        ),
    ]  # fmt: skip
    return Table(
        "What is asked and what was found",
        ["regret", "geometric mean at most", "found", "none above", "largest", "met"],
        [[*row, row[2] <= row[1] and (row[3] is None or row[4] <= row[3])] for row in rows],
    )


def _by_name(found: Sequence[Score]) -> dict[str, dict[str, Score]]:
    worlds: dict[str, dict[str, Score]] = {}
    for score in found:
        worlds.setdefault(score.world, {})[score.policy] = score
    return worlds


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def _regret(score: Score) -> str:
    return with_error(_short(score.regret), score.regret_error)
