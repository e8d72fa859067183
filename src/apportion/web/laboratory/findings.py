"""What an experiment found, as plain data for the page: curves with bands, shares, bounds of theory, a table."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from apportion import theory
from apportion._common.formatting import readable
from apportion.model.law import Instance
from apportion.model.sums import Floats
from apportion.simulation.plan import Job, Plan
from apportion.simulation.simulate import gather
from apportion.theory.guarantee import guaranteed_regret
from apportion.web.laboratory.limits import MARKS
from apportion.web.laboratory.run import Part

# Beyond so many arms, the smallest shares are added up.
SHOWN_ARMS = 7
PROOFS = {
    "SuccessiveElimination": "Theorem 2, corrected",
    "EpsilonGreedy": "Theorem 4, corrected",
    "AdaptiveElimination": "our own proof, see the documentation",
}


def findings(plan: Plan, parts: list[Part]) -> dict[str, Any]:
    """All that the page shows, from the finished parts of an experiment."""
    world = plan.instances[0]
    only_regret = dataclasses.replace(plan, variables=("regret",))
    jobs = [
        Job(index, 0, dataclasses.replace(part.task, variables=("regret",), last=part.total, engine="dense"))
        for index, part in enumerate(parts)
    ]
    result = gather(only_regret, jobs, [{"regret": part.regret} for part in parts])
    summary = result.summary().reset_index()
    rows = [{str(name): value for name, value in row.items()} for row in summary.to_dict("records")]
    periods = np.array(plan.checkpoints)
    return {
        "definition": plan.describe(),
        "code": result.provenance["code"],
        "version": result.provenance["apportion"],
        "instance": {"label": world.label, "best": world.best, "means": list(world.means)},
        "periods": list(plan.checkpoints),
        "policies": [
            {"label": row["policy"], **curves(part.regret), "shares": layers(part.shares, world)}
            for row, part in zip(rows, parts)
        ],
        "bounds": bounds(plan, periods, [row["policy"] for row in rows]),
        "table": [{name: value for name, value in row.items() if name != "instance"} for row in rows],
        "finding": finding(rows, plan.horizon),
        "python": python(plan),
    }


def python(plan: Plan) -> str:
    """The lines that give the same numbers anywhere."""
    world = plan.instances[0]
    sigma = "" if world.sigma == 1.0 else f", sigma={world.sigma!r}"
    bent = "" if world.c == 1.0 else f", c={world.c!r}"
    noise = "" if world.noise.name == "gaussian" else f", noise={world.noise.describe()!r}"
    listed = []
    for entry in plan.describe()["policies"]:
        given = entry["parameters"]
        listed.append(f"ap.Informed(ap.{entry['informed']}, {given!r})" if given else f"ap.{entry['informed']}")
    policies = "".join(f"    {entry},\n" for entry in listed)
    common = ", common=True" if plan.common else ""
    return (
        f"import apportion as ap\n\nworld = ap.Instance(means={world.means!r}, b={world.b!r}{sigma}{bent}{noise})\n"
        f"policies = [\n{policies}]\n"
        f"result = ap.simulate(\n    policies, world, horizon={plan.horizon}, replications={plan.replications}, "
        f"seed={plan.seed},\n    periods={MARKS}, record={plan.variables!r}{common},\n)\nprint(result.summary())\n"
    )


def curves(regret: Floats) -> dict[str, Any]:
    """Mean regret at the marks with its standard error, and where the middle nine tenths of the runs lie."""
    runs = len(regret)
    error = regret.std(axis=0, ddof=1) / math.sqrt(runs) if runs > 1 else np.full(regret.shape[1], math.nan)
    low, high = np.quantile(regret, (0.05, 0.95), axis=0)
    return {"mean": regret.mean(axis=0).tolist(), "error": error.tolist(), "low": low.tolist(), "high": high.tolist()}


def layers(shares: Floats, world: Instance) -> list[dict[str, Any]]:
    """Mean shares by arm, the best arm first; beyond `SHOWN_ARMS` the smallest are added up."""
    order = sorted(range(world.arms), key=lambda arm: -world.means[arm])
    main = order
    if len(order) > SHOWN_ARMS + 1:
        mass = shares.mean(axis=0)
        largest = {order[0], *sorted(order[1:], key=lambda arm: -float(mass[arm]))[: SHOWN_ARMS - 1]}
        main = [arm for arm in order if arm in largest]
    found: list[dict[str, Any]] = [{"arms": [arm], "share": shares[:, arm].tolist()} for arm in main]
    rest = [arm for arm in order if arm not in main]
    if rest:
        found.append({"arms": rest, "share": shares[:, rest].sum(axis=1).tolist()})
    return found


def bounds(plan: Plan, periods: Any, labels: list[str]) -> list[dict[str, Any]]:
    """The curves of theory that cover this world: lower bounds for everyone, guarantees of single policies."""
    world = plan.instances[0]
    setting: dict[str, Any] = {"b": world.b, "sigma": world.sigma}
    found: list[dict[str, Any]] = []
    if world.c < 1.0 or isinstance(world.sigma, tuple):  # the theorems are about the law of the paper
        return found
    if world.noise.name == "gaussian":
        lower = [
            theory.minimax_lower_bound(world.arms, int(t), **setting) if t >= world.arms else math.nan
            for t in periods
        ]
        found.append({
            "kind": "lower", "policy": None, "values": lower, "label": "lower bound, worst world (Theorem 1)",
            "words": "On some world with this K and b every policy loses at least this much (Theorem 1).",
        })  # fmt: skip
        if world.b <= 0.5 and any(gap > 0 for gap in world.gaps):
            slope = theory.asymptotic_lower_bound(world.means, **setting)
            found.append({
                "kind": "lower", "policy": None, "label": f"{readable(slope)} log t (Theorem 3)",
                "values": np.where(periods >= 3, slope * np.log(periods), math.nan).tolist(),
                "words": "For b up to 1/2 no consistent policy grows more slowly in the long run (Theorem 3).",
            })  # fmt: skip
    for index, kind in enumerate(plan.describe()["policies"]):
        value = guaranteed_regret(kind, world.means, horizon=plan.horizon, proxy=world.noise.proxy, **setting)
        if value is not None:
            number = PROOFS[kind["informed"]]
            found.append({
                "kind": "upper", "policy": index, "label": f"guarantee of {labels[index]}",
                "values": [value] * len(periods),
                "words": f"Its expected regret up to the horizon is at most {readable(value)} ({number}).",
            })  # fmt: skip
    return found


def finding(rows: list[dict[str, Any]], horizon: int) -> str:
    """What the table says, in one sentence; a lead within two standard errors is called none."""
    ranked = sorted((row for row in rows if not row["policy"].startswith("Oracle")), key=lambda row: row["mean"])
    if not ranked:
        return "Oracle knows the best arm and loses nothing."
    first = ranked[0]
    best = f"After {horizon:,} periods {first['policy']} has lost the least: {readable(first['mean'])} on average"
    if len(ranked) == 1:
        return f"{best}."
    second = ranked[1]
    doubt = 2.0 * math.hypot(first["se"], second["se"])
    if math.isnan(doubt):
        return f"{best}; one run says nothing about chance."
    if second["mean"] - first["mean"] <= doubt:
        return f"{best}, too close to {second['policy']} ({readable(second['mean'])}) to tell them apart."
    return f"{best}; next is {second['policy']} with {readable(second['mean'])}."
