"""The remark on b: the burn-in estimator as printed and corrected, and running with a lower bound on b."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from apportion.inference.fit import burn_in_design, fit_burn_in
from apportion.model.law import Instance
from apportion.policies import EpsilonGreedy, Odds, Policy, SuccessiveElimination
from apportion.reporting.html import shown
from apportion.studies.curves import Curve, Labels, Panel, draw_panels
from apportion.studies.page import Block, Figure, Picture, Table, Text, mean_of, table_of
from apportion.studies.paper.runs import final_regret, world
from apportion.studies.paper.section import OnStep, Section, Sizes, Values

BURN_IN = (40, 160)
TRUE_B = (0.25, 0.75)
ASSUMED = (0.55, 0.6, 0.7, 0.8, 0.9)
TRUTH, ARMS, GAP = 0.9, 5, 0.5
# A burn-in is repeated this many times less often than a draw, as its fits take the time, and at least this often.
DRAWS_A_REPEAT, MIN_REPEATS = 20, 20


def measure(sizes: Sizes, seed: int, on_step: OnStep) -> Values:
    """Scatter of both estimators of b; regret when a smaller b is assumed than is true."""
    burn = []
    for periods in BURN_IN:
        for b in TRUE_B:
            on_step(f"burn-in of {periods} periods, b = {b:g}")
            burn.append(_burn_in(periods, b, max(MIN_REPEATS, sizes.draws // DRAWS_A_REPEAT), seed))
    lower = []
    for assumed in ASSUMED:
        on_step(f"assumed b = {assumed:g}")
        policies: dict[str, Policy] = {
            "Algorithm 1, anytime": SuccessiveElimination(b=assumed, radius="anytime"),
            "Algorithm 2, leader by μ*": EpsilonGreedy(b=assumed, leader="information"),
            "Odds": Odds(b=assumed),
        }
        for name, policy in policies.items():
            mean = final_regret(policy, world(ARMS, TRUTH, GAP), sizes.horizons[-1], sizes.times(5), seed)
            lower.append({"assumed": assumed, "policy": name, **mean._asdict()})
    return {
        "burn": burn, "lower": lower, "truth": TRUTH, "arms": ARMS, "gap": GAP, "horizon": sizes.horizons[-1],
    }  # fmt: skip


def _burn_in(periods: int, b: float, repeats: int, seed: int) -> dict[str, Any]:
    """Mean and variance of the regression's and of the likelihood's b; how often log D does not exist."""
    amounts = burn_in_design(1.0, periods)
    logs = np.log(amounts)
    spread = float(np.sum(np.square(logs - logs.mean())))
    case = Instance((1.0,), b=b)
    rng = np.random.default_rng([seed, periods, round(100 * b)])
    slopes, likely, negative = [], [], 0
    for _ in range(repeats):
        first, second = (case.draw_block(amounts[:, None], rng)[:, 0] for _ in range(2))
        found = fit_burn_in(amounts, first, second)
        slopes.append(found.slope)
        likely.append(found.b)
        negative += int(np.sum(second < first))
    return {
        "periods": periods, "b": b, "repeats": repeats, "negative": negative / (repeats * len(amounts)),
        "slope": float(np.mean(slopes)), "slope error": float(np.std(slopes)),
        "slope theory": math.pi / math.sqrt(8 * spread),
        "likely": float(np.mean(likely)), "likely error": float(np.std(likely)),
        "likely theory": math.sqrt(0.5 / spread),
    }  # fmt: skip


def show(values: Values) -> list[Block]:
    """The two estimators against their theory, then the cost of a b that is too small."""
    names = list(dict.fromkeys(row["policy"] for row in values["lower"]))
    found = {(row["policy"], row["assumed"]): row for row in values["lower"]}
    assumed = list(dict.fromkeys(row["assumed"] for row in values["lower"]))
    lower = [[b, *(mean_of(found[name, b]) for name in names)] for b in assumed]
    return [
        Text(
            "Printed: play amounts a twice and regress log D on log a, where D is the difference of the two "
            f"outcomes. D was negative in {shown(values['burn'][0]['negative'])} of the periods of the first row, "
            "and its logarithm does not exist there: it must be log |D|. For Gaussian noise the slope then has "
            "variance (π²/8)/S, and the likelihood of the same differences ½/S, S the spread of log a. (Its b is "
            "held within 0 and 1.)"
        ),
        table_of(
            "The burn-in: mean and standard deviation of both estimates over repeats, against theory.",
            values["burn"],
            {"periods": "periods", "b": "b", "share D < 0": "negative",
             "regression": "slope", "its s.d.": "slope error", "theory ": "slope theory",
             "likelihood": "likely", "its s.d. ": "likely error", "theory": "likely theory"},
        ),
        Text(
            "With only a lower bound b₀ ≤ b known, the remark says to run with b₀. Here b = "
            f"{shown(values['truth'])}, K = {shown(values['arms'])}, gap {shown(values['gap'])}, T = "
            f"{shown(values['horizon'])}: it is safe, and it costs what wider radii and slower learning cost."
        ),
        Table("Mean regret with standard error, by the b that the policy was given.", ["given b", *names], lower),
        Picture("lower-b", "Mean regret against the b that the policy was given.", lambda: draw(values)),
    ]  # fmt: skip


def draw(values: Values) -> Figure:
    """Regret against the assumed b."""
    curves = []
    for number, name in enumerate(dict.fromkeys(row["policy"] for row in values["lower"])):
        rows = [row for row in values["lower"] if row["policy"] == name]
        b, means, errors = ([row[field] for row in rows] for field in ("assumed", "mean", "error"))
        curves.append(Curve(name, number, b, means, errors))
    odds = next(curve for curve in curves if curve.name == "Odds")
    title = f"A b that is too small costs Odds at most {max(odds.y) / odds.y[-1]:.2g} times the regret"
    arms, gap, horizon = f"{values['arms']} arms", f"gap {values['gap']:g}", f"{values['horizon']:,} periods"
    notes = [f"true b {values['truth']:g}, {arms}, {gap}, {horizon}"]
    return draw_panels(Labels(title, notes, "b that the policy was given", "mean regret"), [Panel("", curves)])


SECTION = Section("remark-on-b", "The remark on b: burn-in, and a lower bound", __name__, measure, show)
