"""Playing a campaign forward from today's beliefs, and a history again with the law fitted to it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from apportion._common import validation
from apportion.allocation.allocator import Allocator
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.files import Observation
from apportion.errors import InvalidValue
from apportion.model.exact_sums import Statistics
from apportion.model.sums import Floats
from apportion.policies.choice import choose_policy

DEFAULT_POLICIES = ("Odds", "Thompson", "Uniform")

_NOTHING_YET = "No outcome was recorded yet: record some first, as there is nothing to look ahead from."


class Prospect(NamedTuple):
    """What one policy may earn: means, and bands from 5% to 95%, over worlds drawn from the beliefs.

    For costs `earned` is what is paid. `regret` is what is lost against knowing the best arm of each world.
    """

    policy: str
    earned: float
    earned_low: float
    earned_high: float
    regret: float
    regret_low: float
    regret_high: float


class Outlook(NamedTuple):
    """The prospects of several policies, and what stands behind them."""

    periods: int
    worlds: int
    budget: float
    b: float
    sigma: float
    prospects: tuple[Prospect, ...]
    actual: float | None = None
    """What a replayed history really earned."""


def forecast(
    campaign: Campaign,
    *,
    periods: int = 50,
    worlds: int = 100,
    policies: Sequence[str] | None = None,
    seed: int = 0,
) -> Outlook:
    """Play a campaign forward: worlds drawn from its beliefs, each policy going on from today's statistics."""
    count, draws = validation.whole("periods", periods, low=1), validation.whole("worlds", worlds, low=1)
    settings, beliefs = campaign.settings, campaign.beliefs()
    active = [arm.name for arm in campaign.arms if arm.state == "active"]
    if not active:
        raise InvalidValue("No arm is active: resume or add one first.")
    places = [list(beliefs).index(name) for name in active]
    if settings.sigma is None:
        if np.isnan(beliefs.mean[places]).all():
            raise InvalidValue(_NOTHING_YET)
        raise InvalidValue("σ of this campaign is not known: record more outcomes, or give `sigma` in its settings.")
    means = _draw(beliefs.mean[places], beliefs.spread[places], draws, seed)
    # The tickets stay behind: what was learned goes along, what is open does not matter here.
    learning = json.loads(campaign.state().partition("\n")[2]) if beliefs.learned else None
    told = json.loads(campaign.state(settings.b if beliefs.learned else None).partition("\n")[2])
    told["sigma"] = settings.sigma

    def start(name: str) -> Callable[[int], Allocator]:
        goes_on = learning is not None and name.lower() == settings.policy.lower()
        state = learning if goes_on and learning is not None else told
        state["tickets"] = {"issued": state["statistics"]["period"], "open": [], "completed": []}
        if goes_on:
            return lambda world: Allocator.from_json(json.dumps(state))
        policy, _ = choose_policy(name, settings.b, settings.sigma)
        memory = policy.initial_memory(len(state["arms"])).tolist()
        plain = [value if math.isfinite(value) else str(value) for value in memory]
        own = json.dumps({**state, "policy": policy.to_dict(), "memory": plain})
        return lambda world: Allocator.from_json(own)

    names = [settings.policy, *DEFAULT_POLICIES] if policies is None else list(policies)
    starts = {name: start(name) for name in dict.fromkeys(names)}
    return _play(
        starts, active, means, [settings.budget] * count, settings.b, settings.sigma, seed, settings.minimise
    )


def replay(
    found: Sequence[Observation],
    *,
    b: float | None = None,
    sigma: float | None = None,
    worlds: int = 100,
    policies: Sequence[str] | None = None,
    minimise: bool = False,
    seed: int = 0,
) -> Outlook:
    """Play a history again: its budgets, the law fitted to it, and each policy from scratch."""
    budgets: dict[str, float] = {}
    for line in found:
        budgets[line.date] = budgets.get(line.date, 0.0) + line.amount
    told = [line for line in found if line.outcome is not None and line.amount > 0]
    if not told:
        raise InvalidValue("The history must have outcomes of amounts above 0.")
    if b is None or sigma is None:
        from apportion.inference.fit import fit_noise

        fitted = fit_noise(
            {
                "arm": [line.arm for line in told],
                "amount": [line.amount for line in told],
                "outcome": [line.outcome for line in told],
            }
        )
        b = fitted.b if b is None else b
        sigma = float(fitted.sigma) if sigma is None else sigma
    order, noise = validation.number("b", b, low=0.0, high=1.0), validation.number("sigma", sigma, above=0.0)
    names = list(dict.fromkeys(line.arm for line in found))
    past = Statistics(len(names), order)
    for line in told:
        amounts, outcomes = np.zeros(len(names)), np.full(len(names), math.nan)
        amounts[names.index(line.arm)], outcomes[names.index(line.arm)] = line.amount, line.outcome
        past.update(amounts, outcomes)
    sums = past.sums()
    with np.errstate(divide="ignore", invalid="ignore"):
        means, spread = sums.score / sums.information, noise / np.sqrt(sums.information)
    draws = _draw(means, spread, validation.whole("worlds", worlds, low=1), seed)

    def start(name: str) -> Callable[[int], Allocator]:
        policy, _ = choose_policy(name, order, noise)
        return lambda world: Allocator(
            policy, names, seed=world, b=order, sigma=noise, minimise=minimise, horizon=len(budgets)
        )

    starts = {name: start(name) for name in dict.fromkeys(policies or DEFAULT_POLICIES)}
    outlook = _play(starts, names, draws, list(budgets.values()), order, noise, seed, minimise)
    return outlook._replace(actual=math.fsum(line.outcome or 0.0 for line in told))


def _draw(means: Floats, spread: Floats, worlds: int, seed: int) -> Floats:
    """Means of the arms in so many worlds; an arm without outcomes is like the others, but less certain."""
    known = np.isfinite(spread) & ~np.isnan(means)
    if not known.any():
        raise InvalidValue(_NOTHING_YET)
    centre = np.where(known, means, means[known].mean())
    scale = np.where(known, spread, spread[known].max() + means[known].std())
    return centre + scale * np.random.default_rng([seed, 1]).standard_normal((worlds, len(means)))


def _play(
    starts: Mapping[str, Callable[[int], Allocator]],
    names: Sequence[str],
    means: Floats,
    budgets: Sequence[float],
    b: float,
    sigma: float,
    seed: int,
    minimise: bool,
) -> Outlook:
    sign = -1.0 if minimise else 1.0
    best = (sign * means).max(axis=1)
    prospects = []
    for name, start in starts.items():
        earned, regret = np.zeros(len(means)), np.zeros(len(means))
        for world, truth in enumerate(means):
            allocator = start(world)
            rng = np.random.default_rng([seed, 2, world])  # the same noise for every policy
            for budget in budgets:
                split = allocator.ask(budget)
                amounts = np.array([split.amounts[arm] for arm in names])
                outcomes = amounts * truth + np.where(amounts > 0, amounts**b, 0.0) * sigma * rng.standard_normal(
                    len(names)
                )
                given = {arm: float(y) for arm, y, x in zip(names, outcomes, amounts) if x > 0}
                allocator.tell(split.ticket, given)
                earned[world] += outcomes.sum()
                regret[world] += best[world] * budget - sign * float(amounts @ truth)
        bands = [*np.quantile(earned, (0.05, 0.95)), *np.quantile(regret, (0.05, 0.95))]
        low, high, least, most = map(float, bands)
        prospects.append(Prospect(name, float(earned.mean()), low, high, float(regret.mean()), least, most))
    total = math.fsum(budgets)
    return Outlook(len(budgets), len(means), total, b, sigma, tuple(prospects))
