"""Beyond the paper, returns that diminish: C* predicted and measured, three transitions, and the phase diagram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from apportion import theory
from apportion.model.law import Instance
from apportion.policies import Matching, Policy, Recommended, Thompson
from apportion.reporting.html import shown
from apportion.studies.intervals import (
    CONFIDENCE,
    Estimate,
    Interval,
    against,
    interval_of,
    mean_and_error,
    slope_through,
    within,
)
from apportion.studies.page import Block, Picture, Text, interval, power_of, table_of, with_error
from apportion.studies.paper.bent_policies import SplitOfEstimates
from apportion.studies.paper.phase_diagram import draw, measure_diagram
from apportion.studies.paper.runs import growth_in_log
from apportion.studies.paper.section import OnStep, Section, Sizes, Values
from apportion.studies.seeds import seed_of


class Setting(NamedTuple):
    """A world of diminishing returns, all means positive."""

    means: tuple[float, ...]
    sigma: float | tuple[float, ...]
    b: float
    c: float

    @property
    def world(self) -> Instance:
        """As an instance."""
        return Instance(self.means, b=self.b, sigma=self.sigma, c=self.c)


SETTINGS = (
    Setting((1.0, 0.5, 0.5, 0.5, 0.5), 1.0, 0.5, 0.5),
    Setting((1.0, 0.8, 0.6), (0.1, 0.2, 0.3), 0.4, 0.7),
    Setting((1.0, 0.7, 0.5), 0.2, 0.25, 0.6),
    Setting((1.0, 0.85, 0.7, 0.6), (0.15, 0.3, 0.6, 1.2), 0.75, 0.75),
)
# A ratio is as predicted where all of its interval is this close to 1.
CLOSE = 0.15
# The window of time over which a slope in log T is taken ends at the last horizon but one and spans this factor.
FACTOR = 10
# So many times the least number of runs for a slope, and a part of it for the policies that split for 32 draws.
RUNS_A_SLOPE, PART_OF_RUNS = 5, 4

SMALL_SHARES = (0.2, 0.1, 0.05, 0.025)
INTERIOR_B, INTERIOR_C, INTERIOR_SIGMA = (0.25, 0.5, 0.75), 0.8, 0.05
LOSING_MEANS, LOSING_C, LOSING_SIGMA = (1.0, -0.5), 0.6, 0.5
LOSING_B = (0.0, 0.15, 0.3, 0.4, 0.5, 0.6)
TOY_ARMS, TOY_C, TOY_B = 10, 0.8, (0.0, 0.15, 0.3, 0.45, 0.6)
ESTIMATES, DRAWS, ONE_DRAW, OURS = "estimates, floor", "Matching", "one draw (Thompson)", "Recommended"


def interior_floor(b: float, c: float) -> float:
    """An α with α·(2c − 2b) < 1, as Theorem E (2) asks for; 3/2 where there is room."""
    information = 2 * c - 2 * b
    return min(1.5, 0.9 / information) if information > 0 else 1.5


def losing_floor(b: float, c: float) -> float | None:
    """An α with 1/c < α < 1/(2c − 2b), which Theorem E (3) asks for; None at b ≤ c/2, where there is none.

    >>> losing_floor(0.3, 0.6) is None
    True
    """
    information = 2 * c - 2 * b
    if b <= theory.transitions(c).losing_arms:
        return None
    return 2.0 / c if information <= 0 else min(2.0 / c, math.sqrt(1 / (c * information)))


def measure(sizes: Sizes, seed: int, on_step: OnStep) -> Values:
    """Slopes against C*, the three transitions, and the grid of the phase diagram."""
    horizon, runs = sizes.horizons[-2], max(sizes.min_runs * RUNS_A_SLOPE, 2 * PART_OF_RUNS)
    return {
        "horizon": horizon, "start": horizon // FACTOR, "runs": runs, "confidence": CONFIDENCE, "close": CLOSE,
        "transitions": {
            "interior c": INTERIOR_C, "shares": SMALL_SHARES, "means": LOSING_MEANS, "losing c": LOSING_C,
            "losing arms": theory.transitions(LOSING_C).losing_arms, "arms": TOY_ARMS, "exploring c": TOY_C,
            "exploring": theory.transitions(TOY_C).exploring,
        },
        "constants": _constants(horizon, runs, seed, on_step),
        "interior": _interior(horizon, runs, seed, on_step),
        "losing": _losing(horizon, runs, seed, on_step),
        "exploring": _exploring(sizes.draws, seed, on_step),
        "diagram": measure_diagram(horizon, max(runs // 4, 2), seed, on_step),
    }  # fmt: skip


def contenders(setting: Setting) -> list[tuple[str, Policy, float | None]]:
    """The policies, each with the multiple of C* that is predicted for its slope; None where nothing is proven."""
    sigma, b, c = setting.sigma, setting.b, setting.c
    floor, told = interior_floor(b, c), abs(b - 0.25)
    found: list[tuple[str, Policy, float | None]] = [
        (ESTIMATES, SplitOfEstimates(b=b, c=c, floor=floor), 1.0),
        (f"{ESTIMATES}, b wrong by a quarter", SplitOfEstimates(b=told, c=c, floor=interior_floor(told, c)), 1.0),
    ]
    for believed in (c - 0.1, c + 0.1):
        factor = theory.wrong_exponent_factor(c, believed)
        found.append(
            (f"{ESTIMATES}, c believed {believed:.2g}", SplitOfEstimates(b=b, c=believed, floor=floor), factor)
        )
    return [
        *found,
        (DRAWS, Matching(b=b, sigma=sigma, c=c), 1.0),
        (ONE_DRAW, Thompson(b=b, sigma=sigma, c=c), 2.0),
        (OURS, Recommended(b=b, sigma=sigma, c=c), None),
    ]


def _constants(horizon: int, runs: int, seed: int, on_step: OnStep) -> list[dict[str, Any]]:
    """The slope in log T of every policy in every setting, over what is predicted for it."""
    rows: list[dict[str, Any]] = []
    for number, setting in enumerate(SETTINGS):
        constant = theory.bent_constant(setting.means, setting.b, setting.sigma, setting.c)
        for name, policy, factor in contenders(setting):
            on_step(f"C* at b = {setting.b:g}, c = {setting.c:g}: {name}")
            count = runs // PART_OF_RUNS if name in (DRAWS, OURS) else runs
            own = growth_in_log(policy, setting.world, horizon, count, seed_of(seed, "C*", number, name), FACTOR)
            slope = mean_and_error(own)
            predicted = None if factor is None else factor * constant
            rows.append({
                "b": setting.b, "c": setting.c, "arms": len(setting.means), "policy": name, "constant": constant,
                "predicted": predicted, "slope": slope.value, "error": slope.error, "freedom": slope.freedom,
                "over": slope.value / constant,
            })  # fmt: skip
    judged = sum(row["predicted"] is not None for row in rows)
    for row in rows:
        scale = row["predicted"] or row["constant"]
        found = Estimate(row["slope"] / scale, row["error"] / scale, row["freedom"])
        row |= {"ratio": found.value, **interval_of(found, judged)._asdict()}
        row["verdict"] = "nothing predicted" if row["predicted"] is None else verdict(_interval(row))
    return rows


def verdict(ratio: Interval, close: float = CLOSE) -> str:
    """Whether a measured slope is the predicted one: their ratio is close to 1, can be 1, or is not.

    >>> verdict(Interval(0.95, 1.1)), verdict(Interval(0.7, 1.3)), verdict(Interval(1.2, 1.3))
    ('as predicted', 'not told apart', 'more than predicted')
    """
    if within(ratio, 1 - close, 1 + close):
        return "as predicted"
    words = {"above": "more than predicted", "below": "less than predicted"}
    return words.get(against(ratio, 1.0), "not told apart")


def _interval(row: dict[str, Any]) -> Interval:
    return Interval(row["low"], row["high"])


def _interior(horizon: int, runs: int, seed: int, on_step: OnStep) -> list[dict[str, Any]]:
    """Two arms, the smaller with a share a: the power of a in what they cost together, in C* and as measured."""
    rows = []
    for b in INTERIOR_B:
        on_step(f"transition of the interior, b = {b:g}")
        constants, slopes = [], []
        for share in SMALL_SHARES:
            means = ((1 - share) ** (1 - INTERIOR_C), share ** (1 - INTERIOR_C))
            setting = Setting(means, INTERIOR_SIGMA, b, INTERIOR_C)
            policy = SplitOfEstimates(b=b, c=INTERIOR_C, floor=interior_floor(b, INTERIOR_C))
            own = growth_in_log(policy, setting.world, horizon, runs, seed_of(seed, "interior", b, share), FACTOR)
            constants.append(theory.bent_constant(means, b, INTERIOR_SIGMA, INTERIOR_C))
            slopes.append(mean_and_error(own))
        logs, counts = np.log(SMALL_SHARES), [runs] * len(SMALL_SHARES)
        exact = slope_through(logs, constants, [0.0] * len(constants), counts, logarithm=True)
        means_, errors = ([getattr(slope, name) for slope in slopes] for name in ("value", "error"))
        power = slope_through(logs, means_, errors, counts, logarithm=True)
        rows.append({
            "b": b, "shares": list(SMALL_SHARES), "constants": constants, "slopes": means_, "errors": errors,
            "limit": min(2 * b - 1, 1.0), "exact": round(exact.value, 12) + 0.0, "power": power.value,
            **interval_of(power, len(INTERIOR_B))._asdict(),
        })  # fmt: skip
    return rows


def _losing(horizon: int, runs: int, seed: int, on_step: OnStep) -> list[dict[str, Any]]:
    """One arm that earns and one that loses: the slope in log T on both sides of b = c/2."""
    rows: list[dict[str, Any]] = []
    for b in LOSING_B:
        on_step(f"transition of losing arms, b = {b:g}")
        world = Instance(LOSING_MEANS, b=b, sigma=LOSING_SIGMA, c=LOSING_C)
        floor = losing_floor(b, LOSING_C)
        bound = 0.0 if floor is not None else theory.losing_arms_constant(LOSING_MEANS, b, LOSING_SIGMA, LOSING_C)
        policies: dict[str, Policy] = {ONE_DRAW: Thompson(b=b, sigma=LOSING_SIGMA, c=LOSING_C)}
        if floor is not None:
            policies = {ESTIMATES: SplitOfEstimates(b=b, c=LOSING_C, floor=floor), **policies}
        for name, policy in policies.items():
            own = growth_in_log(policy, world, horizon, runs, seed_of(seed, "losing", b, name), FACTOR)
            slope = mean_and_error(own)
            rows.append({"b": b, "policy": name, "floor": floor, "bound": bound, "slope": slope.value,
                         "error": slope.error, "freedom": slope.freedom})  # fmt: skip
    for row in rows:
        row |= interval_of(Estimate(row["slope"], row["error"], row["freedom"]), len(rows))._asdict()
    return rows


def _exploring(draws: int, seed: int, on_step: OnStep) -> list[dict[str, Any]]:
    """K arms in K periods: the variance of an estimate from taking turns and from dividing, in formula and drawn."""
    rows = []
    for b in TOY_B:
        on_step(f"transition of exploring, b = {b:g}")
        toy = theory.toy_example(TOY_ARMS, b, c=TOY_C)
        world = Instance((1.0,) * TOY_ARMS, b=b, c=TOY_C)
        rng = np.random.default_rng([seed, 11, round(100 * b)])
        count = max(draws // TOY_ARMS, 2)
        drawn = []
        for periods in (1, TOY_ARMS):  # an arm's one turn with the whole unit, or its part of every period
            share = 1 / periods
            amounts = np.full((count * periods, TOY_ARMS), share)
            outcomes = world.draw_block(amounts, rng).reshape(count, periods, TOY_ARMS)
            estimates = outcomes.mean(axis=1) / share**TOY_C  # all amounts are the same, and so are the weights
            drawn.append(float(np.var(estimates)))
        rows.append({"b": b, "pooling": toy.pooling, "pooling drawn": drawn[0], "dividing": toy.dividing,
                     "dividing drawn": drawn[1]})  # fmt: skip
    return rows


def show(values: Values) -> list[Block]:
    """The constant, the three transitions, the diagram."""
    window = f"between T = {shown(values['start'])} and {shown(values['horizon'])}"
    used = values["transitions"]
    return [
        Text(
            "The paper takes returns in proportion to the amount. Where they diminish, Y = μ·A^c + σ·A^b·ξ with c < "
            "1, the best split gives something to every arm with a positive mean, and regret is against that split. "
            "Proven (docs/theory.md, Theorems E and F): playing the best split of the estimates, with a floor, has "
            "regret C*·log T, C* = c/(2(1−c)V)·Σσ²(1−a)a^(2b−1), and near an instance no policy has less."
        ),
        Text(
            f"Measured is the slope of regret in log T {window}, run by run over {shown(values['runs'])} runs "
            f"({shown(values['runs'] // PART_OF_RUNS)} for {DRAWS} and {OURS}), so that both ends of a slope share "
            "their noise as they do. Predicted is C* for the best split of the estimates, also with a wrong b "
            "(Theorem E; with a wrong b for projected estimates), u²/(2u−1) times "
            "that with a wrong c believed for ever (Theorem G, a local statement), C* for the mean of draws and "
            "twice C* for one draw (its corollary, with projection or a floor). Intervals are Student's, with "
            "the level shared by all ratios that are judged, so that they hold together with "
            f"{shown(100 * values['confidence'])}%. *As predicted*: all of the interval of measured over predicted "
            f"is within {shown(round(100 * values['close']))}% of 1. *Not told apart*: 1 is in it. Theorems are "
            "about the limit; what a finite window has more or less is not of the first order."
        ),
        table_of("C*, predicted and measured.", values["constants"], {
            "b": "b", "c": "c", "K": "arms", "policy": "policy", "C*": "constant",
            "predicted": lambda row: "–" if row["predicted"] is None else row["predicted"],
            "measured slope": lambda row: with_error(row["slope"], row["error"]),
            "measured over predicted": lambda row: "–" if row["predicted"] is None else
            interval(row["ratio"], row["low"], row["high"]),
            "verdict": "verdict",
        }),
        Text(
            "One transition becomes three, at b = 1/2, b = c/2 and b = c − 1/2, which meet at c = 1 "
            "(`theory.transitions`). The level is again shared by the rows of a table."
        ),
        table_of(
            f"b = 1/2, the interior. Two arms at c = {shown(used['interior c'])}, the smaller with a share a from "
            f"{shown(used['shares'][0])} down to {shown(used['shares'][-1])}: the power of a in their slope. "
            "Negative: a small arm costs more the smaller it is. Limit is that of C* as a falls to 0.",
            values["interior"],
            {"b": "b", "limit": "limit", "in C* over these shares": "exact", "measured": power_of,
             "verdict": _beside_constant},
        ),
        table_of(
            f"b = c/2, losing arms. Means {shown(used['means'][0])} and {shown(used['means'][1])}, c = "
            f"{shown(used['losing c'])}, so c/2 = {shown(used['losing arms'])}: the slope in log T. At and below, no "
            "consistent policy has less than the bound in the limit (Theorem I); above, a floor makes the losing "
            "arm cost O(1), a slope of 0 (Theorem E).", values["losing"],
            {"b": "b", "policy": "policy", "floor α": lambda row: "–" if row["floor"] is None else row["floor"],
             "least possible in the limit": "bound", "measured slope": lambda row:
             interval(row["slope"], row["low"], row["high"])},
        ),
        table_of(
            f"b = c − 1/2, exploring. {shown(used['arms'])} arms in as many periods at c = "
            f"{shown(used['exploring c'])}, so c − 1/2 = {shown(used['exploring'])}: the variance of an arm's "
            "estimate where arms take turns and where every period is divided.", values["exploring"],
            {"b": "b", "taking turns": "pooling", "drawn": "pooling drawn", "dividing": "dividing",
             "drawn ": "dividing drawn", "better": _better},
        ),
        *_diagram(values["diagram"]),
    ]  # fmt: skip


def _beside_constant(row: dict[str, Any]) -> str:
    side = against(_interval(row), row["exact"])
    return side if side == "not told apart" else f"{side} that of C*"


def _better(row: dict[str, Any]) -> str:
    if math.isclose(row["pooling"], row["dividing"], rel_tol=1e-9):
        return "equal"
    return "divide" if row["dividing"] < row["pooling"] else "take turns"


def _diagram(diagram: Values) -> Sequence[Block]:
    means = ", ".join(shown(mean) for mean in diagram["means"])
    return [
        Text(
            f"The phase diagram. Every point is a law (b, c); its colour is C*, for arms with means {means} and in "
            "units of σ². Dots are measured, in the same colours: where a dot cannot be told from what surrounds "
            "it, the measured slope is the predicted one. Measured over predicted is "
            f"{shown(diagram['median'])} in the median of {shown(len(diagram['dots']))} dots, from "
            f"{shown(diagram['least'])} to {shown(diagram['largest'])}; a slope has a standard error of "
            f"{shown(diagram['relative error'])} of itself in the median. Below the line b = c a tiny amount tells "
            "without limit: regret is bounded for a known horizon, and only then (Proposition 3). At c = 1, the "
            "upper edge, is the paper."
        ),
        Picture(
            "phase-diagram", "The constant of regret over (b, c), predicted and measured.", lambda: draw(diagram)
        ),
    ]


SECTION = Section("diminishing", "Beyond the paper: returns that diminish", __name__, measure, show)
