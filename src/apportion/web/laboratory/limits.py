"""From the definition of an experiment to a checked plan, within what a service can run beside its campaigns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from apportion._common import validation
from apportion.errors import InvalidValue
from apportion.model.law import Instance
from apportion.model.noise import FAMILIES, Gaussian
from apportion.policies import POLICIES, find_policy
from apportion.simulation.candidates import Informed
from apportion.simulation.families import means_of
from apportion.simulation.plan import Plan, make_plan

# Periods at which curves are drawn.
MARKS = 60
MOST_POLICIES = 8
MOST_ARMS = 200
MOST_BYTES = 200_000_000
# Seconds of one core, as estimated. One replication cannot be interrupted.
LONGEST_REPLICATION_SECONDS = 1.0
LONGEST_EXPERIMENT_SECONDS = 1_200.0
# Nanoseconds for an arm and a period, measured on one core; and seconds for a leap over all periods of a run.
NANOSECONDS = {"Recommended": 200.0, "Odds": 200.0, "Maillard": 100.0, "Matching": 1_500.0}
USUAL_NANOSECONDS = 30.0
LEAP_SECONDS = 0.005


def read_experiment(given: Any) -> Plan:
    """The plan that a definition asks for, checked, within the limits of the laboratory.

    >>> plan = read_experiment({"instance": {"family": "linear", "arms": 3, "gap": 0.2, "b": 0.75},
    ...     "policies": [{"name": "Odds"}], "horizon": 100, "replications": 10, "seed": 1})
    >>> plan.instances[0].label, plan.policies[0].label
    ('K=3 b=0.75 σ=1 Δmin=0.2', 'Odds')
    """
    definition = _mapping("experiment", given, ("instance", "policies", "horizon", "replications", "seed", "common"))
    world = _instance(definition.get("instance"))
    listed = definition.get("policies")
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_POLICIES:
        count = len(listed) if isinstance(listed, list) else listed
        raise validation.refuse("policies", f"a list of 1 to {MOST_POLICIES} policies", count)
    candidates = [_policy(entry) for entry in listed]
    plan = make_plan(
        candidates,
        [world],
        horizon=definition.get("horizon", 1_000),
        replications=definition.get("replications", 100),
        seed=definition.get("seed", 1),
        record=("regret", "shares"),
        periods=MARKS,
        common=definition.get("common", False),
    )
    require_moderate(plan)
    return plan


def _mapping(name: str, given: Any, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise validation.refuse(name, f"an object with {', '.join(known)}", given)
    for key in given:
        if key not in known:
            raise validation.refuse(name, f"an object with {', '.join(known)}", key)
    return given


def _instance(given: Any) -> Instance:
    """A world by its means, or by a family with the number of arms and a gap."""
    entry = dict(_mapping("instance", given, ("means", "family", "arms", "gap", "b", "c", "sigma", "noise")))
    if "family" in entry:
        entry["arms"] = validation.whole("arms", entry.get("arms"), low=2, high=MOST_ARMS)
        entry["means"] = means_of(entry.pop("family"), entry.pop("arms"), entry.pop("gap", None))
    noise = entry.get("noise", Gaussian.name)  # by name only: an import path would run what a visitor asks for
    validation.choice("noise", noise.get("name") if isinstance(noise, Mapping) else noise, tuple(FAMILIES))
    means = entry.get("means")
    if isinstance(means, list) and not 2 <= len(means) <= MOST_ARMS:
        raise validation.refuse("means", f"2 to {MOST_ARMS} numbers, one per arm", f"{len(means)} of them")
    return Instance.from_dict(entry)


def _policy(given: Any) -> Informed:
    entry = _mapping("policies", given, ("name", "parameters"))
    cls = find_policy(validation.choice("name", entry.get("name"), tuple(POLICIES)))
    takes = tuple(field.name for field in dataclasses.fields(cls) if field.name != "means")  # type: ignore[arg-type]
    parameters = entry.get("parameters") or {}
    if not isinstance(parameters, Mapping) or any(name not in takes for name in parameters):
        allowed = f"an object with {', '.join(takes)}" if takes else "left out: there is nothing to set"
        raise validation.refuse(f"parameters of {cls.__name__}", allowed, parameters)
    return Informed(cls, {name: value for name, value in parameters.items() if value is not None})


def seconds_of(plan: Plan) -> tuple[float, float]:
    """An estimate of the work, in seconds of one core: the longest replication, and all of them."""
    world = plan.instances[0]
    longest = total = 0.0
    for index in range(len(plan.policies)):
        policy = plan.policy(index, world)
        if plan.engine_for(policy, world) == "leap":
            each = LEAP_SECONDS
        else:
            each = 1e-9 * NANOSECONDS.get(type(policy).__name__, USUAL_NANOSECONDS) * plan.horizon * world.arms
        longest, total = max(longest, each), total + each * plan.replications
    return longest, total


def require_moderate(plan: Plan) -> None:
    """Refuse what would not end, not stop when asked to, or not fit."""
    longest, total = seconds_of(plan)
    elsewhere = "`apportion simulate` runs larger ones"
    if longest > LONGEST_REPLICATION_SECONDS:
        raise InvalidValue(
            f"`horizon` must be short enough for one run to take about {LONGEST_REPLICATION_SECONDS:g} s, so that "
            f"cancel works at once; got {plan.horizon:,} periods of {plan.instances[0].arms} arms, about "
            f"{longest:,.0f} s a run. Take fewer periods or arms, or policies that leap over periods; {elsewhere}."
        )
    if total > LONGEST_EXPERIMENT_SECONDS:
        raise InvalidValue(
            f"`replications` must be few enough for about {LONGEST_EXPERIMENT_SECONDS / 60:.0f} minutes of one core; "
            f"got {plan.replications:,}, about {total / 60:,.0f} minutes. Take fewer replications, periods, arms or "
            f"policies; {elsewhere}."
        )
    needed = 8 * len(plan.checkpoints) * plan.replications * len(plan.policies)
    if needed > MOST_BYTES:
        raise InvalidValue(
            f"`replications` must be few enough for {MOST_BYTES / 1e6:.0f} MB; got {plan.replications:,}, which need "
            f"{needed / 1e6:,.0f} MB. Take fewer replications or policies; {elsewhere}."
        )
