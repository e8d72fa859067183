"""The two directions of the paper's conclusion: a unified estimator, and another proof of concentration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from apportion._common.compiled import compiled
from apportion.model.confidence import (
    cone_closed_form,
    cone_quantile,
    cone_supremum,
    cycles_quantile,
    harmonic,
    printed_quantile,
)
from apportion.model.estimators import information_weighted, mean_of_ratios, ratio_of_sums
from apportion.model.exact_sums import Statistics
from apportion.model.law import Instance
from apportion.model.noise import bernoulli_proxy
from apportion.model.sums import Sums
from apportion.policies import EpsilonGreedy, Policy, SuccessiveElimination
from apportion.reporting.html import shown
from apportion.simulation.engines.dense import play
from apportion.simulation.engines.records import Generators, empty_traces, environment_of, make_schedule, trace_of
from apportion.studies.curves import Curve, Labels, Panel, draw_panels
from apportion.studies.page import Block, Figure, Picture, Table, Text, mean_of, table_of, with_error
from apportion.studies.paper.runs import final_regret, world
from apportion.studies.paper.section import OnStep, Section, Sizes, Values

B = 0.75
BIAS_PERIODS = 300
GROWTH = tuple(10**power for power in range(1, 13))
LEVEL = 0.001
NOISE_COUNT, NOISE_LEVEL = 10, 0.01
SKEWED = 0.1
WORTH_ARMS, WORTH_GAP = 10, 1.0
PRECISION_CASES, PRECISION_PERIODS, LEAST_LOG_SHARE = 200, 20, -6.0


def measure(sizes: Sizes, seed: int, on_step: OnStep) -> Values:
    """Precision and bias of μ*, the growth of the cone law, its tail for other noise, and what both are worth."""
    on_step("the unified estimator")
    values: Values = {"b": B, "precision": _precision(seed), "bias": _bias(sizes, seed), "periods": BIAS_PERIODS}
    on_step("the growth of the cone law")
    values["level"] = LEVEL
    values["growth"] = [
        {
            "t": t, "exact": cone_quantile(LEVEL, t), "closed": cone_closed_form(LEVEL, t),
            "cycles": cycles_quantile(LEVEL, t), "printed": printed_quantile(LEVEL, t),
            "root": math.sqrt(harmonic(t) / 2),
        }
        for t in GROWTH
    ]  # fmt: skip
    values["noise"] = _other_noise(sizes, seed)
    horizon = sizes.horizons[-1]
    policies: dict[str, Policy] = {
        "Algorithm 2, μ2 leads": EpsilonGreedy(b=B),
        "Algorithm 2, μ* leads": EpsilonGreedy(b=B, leader="information"),
        "Algorithm 1, corrected": SuccessiveElimination(b=B, delta=1 / (10 * horizon**3)),
        "Algorithm 1, cycles": SuccessiveElimination(b=B, radius="cycles", delta=1 / (10 * horizon**2)),
        "Algorithm 1, cone": SuccessiveElimination(b=B, radius="cone", delta=1 / (10 * horizon**2)),
        "Algorithm 1, anytime around μ*": SuccessiveElimination(b=B, radius="anytime"),
        "Algorithm 1, anytime pairwise": SuccessiveElimination(b=B, radius="anytime", pairwise=True),
    }
    values["worth"] = {"arms": WORTH_ARMS, "gap": WORTH_GAP, "horizon": horizon, "rows": []}
    for name, policy in policies.items():
        on_step(f"what it is worth: {name}")
        mean = final_regret(policy, world(WORTH_ARMS, B, WORTH_GAP), horizon, sizes, seed)
        values["worth"]["rows"].append({"policy": name, **mean._asdict()})
    return values


def _precision(seed: int) -> dict[str, Any]:
    """The least ratio of B to the better of R1 and R2 over random fixed shares, and the largest."""
    rng = np.random.default_rng([seed, 8])
    ratios = []
    for _ in range(PRECISION_CASES):
        past = Statistics(1, B)
        for share in np.exp(rng.uniform(LEAST_LOG_SHARE, 0.0, size=PRECISION_PERIODS)):
            past.update([share], [0.0])
        sums = past.sums()
        rival = max(float(ratio_of_sums(sums).precision[0]), float(mean_of_ratios(sums).precision[0]))
        ratios.append(float(information_weighted(sums).precision[0]) / rival)
    return {"cases": len(ratios), "least": min(ratios), "largest": max(ratios)}


def _bias(sizes: Sizes, seed: int) -> list[dict[str, Any]]:
    """Means of both estimators minus the truth under Algorithm 2, over all arms."""
    case = Instance((0.6, 0.5, 0.5), b=B)
    sums = final_sums(EpsilonGreedy(b=B, epsilon=0.25), case, BIAS_PERIODS, sizes.draws, seed)
    rows = []
    for name, estimator in (("μ2", mean_of_ratios), ("μ*", information_weighted)):
        off = estimator(sums).mean - np.array(case.means)
        for arm in range(case.arms):
            error = float(off[:, arm].std(ddof=1) / math.sqrt(len(off)))
            rows.append({"estimator": name, "arm": arm + 1, "bias": float(off[:, arm].mean()), "error": error})
    return rows


def final_sums(policy: Policy, case: Instance, horizon: int, runs: int, seed: int) -> Sums:
    """The statistics of every run after its last period, (runs, arms) each."""
    arms, instance, schedule = case.arms, environment_of(case, policy), make_schedule(horizon, [horizon])
    table = np.zeros((runs, len(Sums._fields), arms))
    trace = trace_of(empty_traces(1, 1, arms, ("regret",)), 0)
    prepared, loop = policy.prepared(arms, horizon), compiled(play)
    for run in range(runs):
        rng = np.random.Generator(np.random.SFC64([seed, run]))
        sums, generators = Sums(*table[run]), Generators(rng, rng, False)
        loop(prepared, sums, policy.initial_memory(arms), instance, schedule, generators, trace)
    return Sums(*table.transpose(1, 0, 2))


def _other_noise(sizes: Sizes, seed: int) -> list[dict[str, Any]]:
    """How often noise exceeds the Gaussian threshold, which need not bound it, and the cycle law's, which does."""
    rng = np.random.default_rng([seed, 9])
    shape = (sizes.draws, NOISE_COUNT)
    samples = {
        "Gaussian": rng.standard_normal(shape),
        "Rademacher": rng.choice([-1.0, 1.0], size=shape),
        "uniform": rng.uniform(-math.sqrt(3.0), math.sqrt(3.0), size=shape),
        f"Bernoulli({SKEWED:g}), centred": ((rng.random(shape) < SKEWED) - SKEWED)
        / math.sqrt(bernoulli_proxy(SKEWED)),
    }
    threshold, bound = cone_quantile(NOISE_LEVEL, NOISE_COUNT), cycles_quantile(NOISE_LEVEL, NOISE_COUNT)
    rows = []
    for name, sample in samples.items():
        suprema = np.array([cone_supremum(row) for row in sample])
        row = {"noise": name, "t": NOISE_COUNT, "level": NOISE_LEVEL, "threshold": threshold, "cycles": bound}
        share, beyond = float(np.mean(suprema >= threshold)), float(np.mean(suprema >= bound))
        errors = [math.sqrt(max(p * (1 - p), 1 / sizes.draws) / sizes.draws) for p in (share, beyond)]
        rows.append({**row, "share": share, "error": errors[0], "beyond": beyond, "beyond_error": errors[1]})
    return rows


def show(values: Values) -> list[Block]:
    """What is proven, what is only measured, and the numbers."""
    precision, worth = values["precision"], values["worth"]
    claims = [
        ["μ* is at least as precise as μ1, μ2 and μ3 for fixed shares", "proven (Cauchy–Schwarz)",
         f"least ratio {shown(precision['least'])} in {shown(precision['cases'])} cases"],
        ["anytime interval around μ*, any predictable shares, sub-Gaussian noise", "proven",
         "within its level in every test"],
        ["bound of Theorem 4 with μ* leading", "proven", "see Theorem 4 above"],
        ["μ* is unbiased when shares react to outcomes", "false", "see its bias below"],
        ["μ* leading loses less than μ2 leading", "measured only", "see regret below"],
        ["the cone law, and growth as √log t, for Gaussian noise", "proven (intrinsic volumes of a cone)",
         "agrees with draws, Proposition 1 above"],
        ["corrected tail for sub-Gaussian noise, growth as log t", "proven", "not sharp"],
        ["growth as √log t for all i.i.d. sub-Gaussian noise", "proven (cycles of a random permutation)",
         "within its level for four noises below"],
        ["finite regret of Odds and Recommended for b > 1/2", "proven, with a huge constant",
         "see the plateaus above"],
    ]  # fmt: skip
    return [
        Text(
            "The conclusion asks for one estimator that serves all b, and for another way, by chaining, to the "
            "concentration of Proposition 1. The information-weighted mean μ* = ΣA^(1−2b)Y/ΣA^(2−2b) is a candidate "
            "for the first. For the second there are two other ways, not by chaining, and both give a growth of "
            "√log t where log t is printed: the cone law, exact for Gaussian noise, and the cycle law, a bound for "
            "all independent sub-Gaussian noise of one law."
        ),
        Table("What is proven, and what is only measured.", ["statement", "status", "measured here"], claims),
        table_of(
            f"Bias under Algorithm 2 after {shown(values['periods'])} periods, b = {shown(values['b'])}: μ2 has "
            "none, μ* does.", values["bias"],
            {"estimator": "estimator", "arm": "arm", "bias": lambda row: with_error(row["bias"], row["error"])},
        ),
        table_of(
            f"What the estimator and the laws are worth: regret at K = {shown(worth['arms'])}, b = "
            f"{shown(values['b'])}, gap {shown(worth['gap'])}, T = {shown(worth['horizon'])}; every Algorithm 1 "
            "fails with probability at most 1/T.", worth["rows"], {"policy": "policy", "regret": mean_of},
        ),
        table_of(
            f"Thresholds at level {shown(values['level'])} as t grows: exact and closed form with √(H_t/2) for "
            "Gaussian noise, the cycle law for all, printed with log t.", values["growth"],
            {"t": "t", "exact": "exact", "closed form": "closed", "cycles": "cycles", "printed": "printed",
             "√(H_t/2)": "root"},
        ),
        table_of(
            "How often noise exceeds the exact Gaussian threshold, which binds Gaussian noise alone, and that of the "
            "cycle law, which binds all four.", values["noise"],
            {"noise": "noise", "t": "t", "level": "level", "Gaussian threshold": "threshold",
             "measured": lambda row: with_error(row["share"], row["error"]), "cycles": "cycles",
             "measured beyond": lambda row: with_error(row["beyond"], row["beyond_error"])},
        ),
        Picture("cone-growth", "Thresholds against t.", lambda: draw(values)),
    ]  # fmt: skip


def draw(values: Values) -> Figure:
    """Thresholds against t."""
    growth, last = values["growth"], values["growth"][-1]
    title = f"The exact threshold grows as √log t: {last['exact']:.3g} where {last['printed']:.3g} is printed"
    labels = Labels(title, [f"level {values['level']:g}", "exact: Gaussian noise"], "t", "threshold, in units of σ")
    names = {
        "printed": "printed", "closed": "closed form", "exact": "exact", "root": "√(H_t/2)",
        "cycles": "all noise: cycles",
    }  # fmt: skip
    curves = [
        Curve(label, number, [row["t"] for row in growth], [row[name] for row in growth])
        for number, (name, label) in enumerate(names.items())
    ]
    return draw_panels(labels, [Panel("", curves)], log_x=True)


SECTION = Section("open-questions", "Open questions", __name__, measure, show)
