"""Table 1, gap-dependent: the slope in log T for b ≤ 1/2 against Theorem 3, and the plateau above."""

from __future__ import annotations

from typing import Any

import numpy as np

from apportion import theory
from apportion.policies import UCB, EpsilonGreedy, Odds, Policy, Recommended, SuccessiveElimination, Thompson
from apportion.reporting.html import shown
from apportion.studies.curves import Curve, Labels, Panel, Reference, draw_panels
from apportion.studies.intervals import CONFIDENCE, Estimate, Interval, against, interval_of, slope_through
from apportion.studies.page import Block, Figure, Picture, Text, power_of, span_of, table_of, with_error
from apportion.studies.paper.runs import can_leap, final_regret, world
from apportion.studies.paper.section import OnStep, Section, Sizes, Values
from apportion.studies.seeds import seed_of

ARMS = 3
POOLING_GAP, DIVIDING_GAP = 0.5, 1.0
POOLING, DIVIDING = (0.0, 0.25, 0.5), (0.6, 0.75, 0.9, 1.0)
# Regret is called flat where its power of T is below this: tenfold the time, at most 12% more.
FLAT = 0.05
# A lucky policy may lose nothing in a short run; a logarithm needs a number.
LEAST = 1e-12
SECOND, SECOND_INFORMED = "Algorithm 2, leader by μ2", "Algorithm 2, leader by μ*"
NAMES = ("UCB1", "Thompson", "Odds", "Recommended", "Algorithm 1", SECOND, SECOND_INFORMED)


def contestants(b: float) -> dict[str, Policy]:
    """The policies that apply at this b, in the order of `NAMES`."""
    found: dict[str, Policy] = {"UCB1": UCB(), "Thompson": Thompson(b=b)} if b <= 0.5 else {}
    found |= {"Odds": Odds(b=b), "Recommended": Recommended(b=b)}
    if b >= 0.5:
        found["Algorithm 1"] = SuccessiveElimination(b=b)
    if b > 0.5:
        found |= {SECOND: EpsilonGreedy(b=b), SECOND_INFORMED: EpsilonGreedy(b=b, leader="information")}
    return found


def _along(policy: Policy, b: float, gap: float, sizes: Sizes, seed: int) -> dict[str, Any]:
    """Mean regret at each horizon, every one in runs of its own: a policy may know its horizon."""
    case = world(ARMS, b, gap)
    leaps = can_leap(policy, case, sizes.long_horizons[-1])
    horizons = sizes.long_horizons if leaps else sizes.horizons
    found = [final_regret(policy, case, T, sizes.times(5), seed_of(seed, b, gap, T)) for T in horizons]
    means = [max(f.mean, LEAST) for f in found]
    return {"x": list(horizons), "means": means, "errors": [f.error for f in found], "runs": [f.runs for f in found]}


def _slope(along: dict[str, Any], logarithm: bool) -> dict[str, Any]:
    """The slope in log T of regret, or of its logarithm."""
    x, *points = (along[name] for name in ("x", "means", "errors", "runs"))
    found = slope_through(np.log(x), *points, logarithm=logarithm)
    return {"power": found.value, "error": found.error, "freedom": found.freedom}


def _together(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a table with intervals that hold all together."""
    return [
        {**row, **interval_of(Estimate(row["power"], row["error"], row["freedom"]), len(rows))._asdict()}
        for row in rows
    ]


def measure(sizes: Sizes, seed: int, on_step: OnStep) -> Values:
    """Slopes for b ≤ 1/2, growth for b > 1/2."""
    slopes, plateaus = [], []
    for b in POOLING:
        constant = theory.asymptotic_lower_bound(world(ARMS, b, POOLING_GAP).means, b)
        for name, policy in contestants(b).items():
            on_step(f"slope in log T, b = {b:g}: {name}")
            along = _along(policy, b, POOLING_GAP, sizes, seed)
            slopes.append({"policy": name, "b": b, **along, **_slope(along, False), "bound": constant})
    for b in DIVIDING:
        for name, policy in contestants(b).items():
            on_step(f"plateau, b = {b:g}: {name}")
            along = _along(policy, b, DIVIDING_GAP, sizes, seed)
            plateaus.append({"policy": name, "b": b, **along, **_slope(along, True)})
    return {
        "arms": ARMS, "gaps": [POOLING_GAP, DIVIDING_GAP], "confidence": CONFIDENCE, "flat": FLAT,
        "slopes": _together(slopes), "plateaus": _together(plateaus),
    }  # fmt: skip


def verdict_on_slope(row: Values) -> str:
    """Where the interval of a slope is.

    >>> verdict_on_slope({"low": 7.0, "high": 9.0, "bound": 8.0})
    'not told apart from it'
    """
    words = {"above": "above the bound", "below": "below it: not yet its asymptote"}
    return words.get(against(Interval(row["low"], row["high"]), row["bound"]), "not told apart from it")


def verdict_on_growth(row: Values, flat: float) -> str:
    """Whether regret has stopped growing, as far as the interval of its power says.

    >>> [verdict_on_growth({"low": low, "high": 0.09}, 0.05) for low in (0.06, 0.0)]
    ['growing', 'not told apart']
    """
    words = {"above": "growing", "below": "flat"}
    return words.get(against(Interval(row["low"], row["high"]), flat), "not told apart")


def show(values: Values) -> list[Block]:
    """Two tables and a picture."""
    pooling, dividing = (shown(gap) for gap in values["gaps"])
    return [
        Text(
            f"One of {shown(values['arms'])} arms is better, by {pooling} for b ≤ 1/2 and by {dividing} above. For b "
            "≤ 1/2 Theorem 3 says that regret grows at least as Σ 2σ²/Δ times log T, in the limit of long "
            "horizons; a policy can be below that slope at any horizon that can be run. For b > 1/2 Table 1 prints "
            "O(1)."
        ),
        Text(
            "How it is judged. Every horizon has runs of its own. An interval is that of the "
            "least-squares slope "
            "through the true means at these horizons, with Student's t and the level shared by the rows of its "
            f"table ({shown(len(values['slopes']))} and {shown(len(values['plateaus']))}), so that a table holds "
            f"together with {shown(100 * values['confidence'])}%. A slope is *above* or *below* the bound where its "
            "whole interval is. Regret is *flat* where the whole interval of its power of T is below "
            f"{shown(values['flat'])}, which is an eighth more for tenfold the time, *growing* where it is above, "
            "and else not told apart: a finite limit may be approached for long."
        ),
        table_of("The slope of regret in log T for b ≤ 1/2, against Theorem 3.", values["slopes"], {
            "b": "b", "policy": "policy", "Theorem 3": "bound", "measured slope": power_of,
            "measured over bound": lambda row: row["power"] / row["bound"], "T": span_of, "verdict": verdict_on_slope,
        }),
        table_of(
            "Regret for b > 1/2: at the first and at the last horizon, and the power of T between them (printed: 0).",
            values["plateaus"],
            {"b": "b", "policy": "policy",
             "regret at first T": lambda row: with_error(row["means"][0], row["errors"][0]),
             "regret at last T": lambda row: with_error(row["means"][-1], row["errors"][-1]),
             "T": span_of, "power of T": power_of,
             "verdict": lambda row: verdict_on_growth(row, values["flat"])},
        ),
        Text(
            "Algorithm 1 knows the horizon, and its radius grows with it: its regret at fixed gaps grows as log T "
            "times h(T). Table 1 claims the plateau for Algorithm 2 only."
        ),
        Picture("table-1-gaps", "Mean regret against T; dotted: the slope of Theorem 3.", lambda: draw(values)),
    ]  # fmt: skip


def draw(values: Values) -> Figure:
    """Regret against T: two panels where it grows as log T, two where it stops."""
    others = [row for row in values["plateaus"] if row["policy"] != "Algorithm 1"]
    stopped = sum(verdict_on_growth(row, values["flat"]) == "flat" for row in others)
    flat = f"{stopped} of {len(others)} settings of Algorithm 2, Odds and Recommended"
    notes = [f"{shown(values['arms'])} arms", "bars: standard errors"]
    panels = []
    for kind, b in (("slopes", 0.0), ("slopes", 0.5), ("plateaus", 0.75), ("plateaus", 1.0)):
        rows = [row for row in values[kind] if row["b"] == b]
        curves = [Curve(r["policy"], NAMES.index(r["policy"]), r["x"], r["means"], r["errors"]) for r in rows]
        slope, x = rows[0].get("bound"), rows[0]["x"]
        line = None if slope is None else Reference(x, slope * np.log(x), "Theorem 3's slope × log T")
        panels.append(Panel(f"b = {shown(b)}", curves, line))
    labels = Labels(f"Above b = 1/2 regret stops growing: {flat}", notes, "T", "mean regret")
    return draw_panels(labels, panels, log_x=True)


SECTION = Section("fixed-gaps", "Table 1: fixed gaps, and Theorem 3", __name__, measure, show)
