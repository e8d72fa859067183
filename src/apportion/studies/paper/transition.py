"""The phase transition at b = 1/2: regret against b for pooling and for dividing, and the toy example exactly."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from apportion import theory
from apportion.model.law import Instance
from apportion.policies import Odds, Policy, SuccessiveElimination, Thompson
from apportion.reporting.html import shown
from apportion.studies.curves import Curve, Labels, Panel, Reference, draw_panels
from apportion.studies.page import Block, Figure, Picture, Text, table_of, with_error
from apportion.studies.paper.runs import Mean, final_regret, world
from apportion.studies.paper.section import OnStep, Section, Sizes, Values
from apportion.studies.seeds import seed_of

GAP = 0.5
POOLING, DIVIDING, ODDS = "pooling (Thompson)", "dividing (elimination)", "Odds"
TOY_B_VALUES = (0.0, 0.25, 0.5, 0.75, 1.0)
# How often the crossing is worked out again from means that are redrawn within their errors.
REDRAWS = 400


def contestants(b: float) -> dict[str, Policy]:
    """One that always puts all on one arm, one that always divides evenly over what is left, and `Odds`."""
    return {
        POOLING: Thompson(b=b),
        DIVIDING: SuccessiveElimination(b=b, radius="anytime", pairwise=True),
        ODDS: Odds(b=b),
    }


def crossing(powers: list[float], pooling: list[float], dividing: list[float]) -> float | None:
    """The b from which on dividing loses less, interpolated in the log of the ratio; None if it never does.

    >>> crossing([0.0, 0.5, 1.0], [1.0, 1.0, 1.0], [4.0, 2.0, 0.5])
    0.75
    """
    ratios = [math.log(d / p) for p, d in zip(pooling, dividing)]
    if ratios[-1] >= 0:
        return None
    for index in range(len(powers) - 2, -1, -1):
        if ratios[index] >= 0:
            share = ratios[index] / (ratios[index] - ratios[index + 1])
            return powers[index] + share * (powers[index + 1] - powers[index])
    return powers[0]


def _error_of_crossing(powers: list[float], pooling: list[Mean], dividing: list[Mean], seed: int) -> float | None:
    """The standard deviation of the crossing where every mean is redrawn within its error; None if it may not be."""
    rng = np.random.default_rng([seed, len(powers)])
    means, errors = (np.array([[getattr(m, name) for m in curve] for curve in (pooling, dividing)])
                     for name in ("mean", "error"))  # fmt: skip
    found = [
        crossing(powers, *np.maximum(means + errors * rng.standard_normal(means.shape), 1e-9).tolist())
        for _ in range(REDRAWS)
    ]
    there = [at for at in found if at is not None]
    return float(np.std(there)) if len(there) == len(found) else None


def measure(sizes: Sizes, seed: int, on_step: OnStep) -> Values:
    """Regret by b and K; variances of the toy example, in formula and drawn."""
    curves: list[dict[str, Any]] = []
    crossings = []
    for arms in sizes.transition_arms:
        found: dict[str, list[Any]] = {}
        for b in sizes.b_values:
            on_step(f"phase transition, K = {arms}, b = {b:g}")
            for name, policy in contestants(b).items():
                case, own_seed = world(arms, b, GAP), seed_of(seed, arms, b)
                found.setdefault(name, []).append(
                    final_regret(policy, case, sizes.transition_horizon, sizes, own_seed)
                )
        for name, regrets in found.items():
            regret = {"means": [mean.mean for mean in regrets], "errors": [mean.error for mean in regrets]}
            curves.append({"arms": arms, "policy": name, "b": list(sizes.b_values), **regret})
        pooling, dividing, odds = ([mean.mean for mean in found[name]] for name in (POOLING, DIVIDING, ODDS))
        ratios = {"dividing": pooling[-1] / dividing[-1], "odds": pooling[-1] / odds[-1]}
        error = _error_of_crossing(list(sizes.b_values), found[POOLING], found[DIVIDING], seed)
        at = crossing(list(sizes.b_values), pooling, dividing)
        crossings.append({"arms": arms, "at": at, "error": error, **ratios})
    on_step("the toy example")
    toy = [_toy(arms, b, sizes.draws, seed) for arms in sizes.transition_arms[:2] for b in TOY_B_VALUES]
    return {"gap": GAP, "horizon": sizes.transition_horizon, "curves": curves, "crossings": crossings, "toy": toy}


def _toy(arms: int, b: float, draws: int, seed: int) -> dict[str, Any]:
    """K arms, K periods: the variance of one arm's estimate, by formula and over draws of the law."""
    exact = theory.toy_example(arms, b)
    case = Instance((1.0,) * arms, b=b)
    rng = np.random.default_rng([seed, arms, round(100 * b)])
    drawn = []
    for amounts in (np.eye(arms), np.full((arms, arms), 1 / arms)):
        outcomes = case.draw_block(np.tile(amounts, (draws, 1)), rng).reshape(draws, arms, arms)
        drawn.append(float(np.var(np.nansum(outcomes, axis=1)[:, 0])))  # every arm gets one unit in all
    return {
        "arms": arms, "b": b, "pooling": exact.pooling, "pooling drawn": drawn[0], "dividing": exact.dividing,
        "dividing drawn": drawn[1],
    }  # fmt: skip


def _regret_at(index: int, curve: Values) -> str:
    return with_error(curve["means"][index], curve["errors"][index])


def show(values: Values) -> list[Block]:
    """The figure, where the curves cross, and the toy example."""
    b_values = values["curves"][0]["b"]
    regrets: dict[str, Any] = {"K": "arms", "policy": "policy"}
    for index in (0, len(b_values) // 2, -1):
        regrets[f"b = {shown(float(b_values[index]))}"] = partial(_regret_at, index)
    return [
        Text(
            "The paper's main finding: small shares tell enough to divide when b > 1/2, and too little when b < "
            f"1/2. Regret after {shown(values['horizon'])} periods, one arm better by {shown(values['gap'])}. "
            "Pooling cannot see b: the whole unit goes to one arm. Dividing evenly pays from some b on, and that b "
            "falls towards 1/2 as arms become many; `Odds` draws one arm below b = 1/2, so it follows whichever side "
            "is better. Every b has runs of its own; the error of the b at which the curves cross is that of "
            "redrawing all means within theirs."
        ),
        Picture("phase-transition", "Mean regret against b; the dotted line is b = 1/2.", lambda: draw(values)),
        table_of("Mean regret with standard error.", values["curves"], regrets),
        table_of(
            "From which b on dividing evenly loses less than pooling, and how much more pooling loses at the last b.",
            values["crossings"],
            {"K": "arms", "dividing better from b":
             lambda row: "never here" if row["at"] is None else with_error(row["at"], row["error"]),
             "pooling over dividing": "dividing", "pooling over Odds": "odds"},
        ),
        Text(
            "The toy example is right as printed: over K periods on K arms pooling has variance σ² and dividing "
            "σ²·K^(1−2b), equal at b = 1/2. Beside each formula the variance of simulated estimates."
        ),
        table_of("The toy example: variance of an arm's estimate.", values["toy"], {
            "K": "arms", "b": "b", "pooling": "pooling", "drawn": "pooling drawn", "dividing": "dividing",
            "drawn ": "dividing drawn", "better": lambda row:
            "equal" if row["b"] == 0.5 else "divide" if row["dividing"] < row["pooling"] else "pool",
        }),
    ]  # fmt: skip


def draw(values: Values) -> Figure:
    """Regret against b, a panel for each K."""
    best = max(c["odds"] for c in values["crossings"])
    title = f"Above b = 1/2 dividing wins: with full feedback pooling loses up to {best:,.0f} times as much"
    notes = [f"{values['horizon']:,} periods", f"gap {values['gap']:g}", "bars: standard errors"]
    panels = []
    for arms in dict.fromkeys(curve["arms"] for curve in values["curves"]):
        rows = [row for row in values["curves"] if row["arms"] == arms]
        curves = [Curve(row["policy"], n, row["b"], row["means"], row["errors"]) for n, row in enumerate(rows)]
        means = [mean for curve in curves for mean in curve.y]
        panels.append(Panel(f"K = {arms}", curves, Reference([0.5, 0.5], [min(means), max(means)])))
    return draw_panels(Labels(title, notes, "b", "mean regret"), panels, share=True)


SECTION = Section("phase-transition", "The phase transition at b = 1/2", __name__, measure, show)
