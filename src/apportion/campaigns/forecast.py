"""Forecasts: a campaign simulated forward from today's beliefs, and a backtest of policies on a history."""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion.allocation.allocator import Allocator
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.history_files import Observation
from apportion.errors import InvalidValue
from apportion.model.exact_sums import Statistics
from apportion.model.sums import Floats
from apportion.policies.registry import choose_policy

BAND = (0.05, 0.95)  # the quantiles between which nine of ten simulated futures lie
DEFAULT_POLICIES = ("Odds", "Thompson", "Uniform")

_NOTHING_YET = "No outcome was recorded yet: record some first, a forecast starts from them."


class PolicyForecast(NamedTuple):
    """What one policy may earn: means, and ranges from the 5% to the 95% quantile, over simulated futures.

    For costs `earned` is what is paid. `regret` is what is lost against knowing the best arm of each future.
    """

    policy: str
    earned: float
    earned_low: float
    earned_high: float
    regret: float
    regret_low: float
    regret_high: float


class Forecast(NamedTuple):
    """What several policies may earn in the same simulated futures, and the assumptions behind it."""

    periods: int
    worlds: int
    budget: float
    b: float
    sigma: float
    policies: tuple[PolicyForecast, ...]
    actual: float | None = None
    """What the history of a backtest really earned."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; the policies are its `prospects`."""
        rest = {name: value for name, value in self._asdict().items() if name != "policies"}
        return {**rest, "prospects": [policy._asdict() for policy in self.policies]}


def forecast(
    campaign: Campaign, *, periods: int = 50, worlds: int = 100, policies: Sequence[str] | None = None, seed: int = 0
) -> Forecast:
    """Simulate a campaign forward: means drawn from its beliefs, each policy going on from today's statistics."""
    count, draws = validation.whole("periods", periods, low=1), validation.whole("worlds", worlds, low=1)
    settings, beliefs = campaign.settings, campaign.beliefs()
    active = [arm.name for arm in campaign.arms if arm.state == "active"]
    if not active:
        raise InvalidValue("No arm is active: resume or add one first.")
    indices = [list(beliefs).index(name) for name in active]
    if settings.sigma is None:
        if np.isnan(beliefs.mean[indices]).all():
            raise InvalidValue(_NOTHING_YET)
        raise InvalidValue("σ of this campaign is not known: record more outcomes, or give `sigma` in its settings.")
    means = _draw(beliefs.mean[indices], beliefs.spread[indices], draws, seed)
    # The tickets stay behind: what was learned goes along, what is open does not matter here.
    learning = json.loads(campaign.state().partition("\n")[2]) if beliefs.learned else None
    known = json.loads(campaign.state(settings.b if beliefs.learned else None).partition("\n")[2])
    known["sigma"] = settings.sigma

    def start(name: str) -> Callable[[int], Allocator]:
        continues = learning is not None and name.lower() == settings.policy.lower()
        state = learning if continues and learning is not None else known
        state["tickets"] = {"issued": state["statistics"]["period"], "open": [], "completed": []}
        if continues:
            return lambda world: Allocator.from_json(json.dumps(state))
        policy, _ = choose_policy(name, settings.b, settings.sigma)
        memory = policy.initial_memory(len(state["arms"])).tolist()
        plain = [value if math.isfinite(value) else str(value) for value in memory]
        own = json.dumps({**state, "policy": policy.to_dict(), "memory": plain})
        return lambda world: Allocator.from_json(own)

    names = [settings.policy, *DEFAULT_POLICIES] if policies is None else list(policies)
    starts = {name: start(name) for name in dict.fromkeys(names)}
    return _simulate(
        starts, active, means, [settings.budget] * count, settings.b, settings.sigma, seed, settings.minimise
    )


def backtest(
    history: Sequence[Observation],
    *,
    b: float | None = None,
    sigma: float | None = None,
    worlds: int = 100,
    policies: Sequence[str] | None = None,
    minimise: bool = False,
    seed: int = 0,
) -> Forecast:
    """Simulate the periods of a history: its budgets, the law fitted to it, and each policy from scratch."""
    budgets: dict[str, float] = defaultdict(float)
    for line in history:
        budgets[line.date] += line.amount
    recorded = [line for line in history if line.outcome is not None and line.amount > 0]
    if not recorded:
        raise InvalidValue("The history must have outcomes of amounts above 0.")
    if b is None or sigma is None:
        from apportion.inference.fit import fit_noise

        columns = ("arm", "amount", "outcome")
        rows = {column: [getattr(line, column) for line in recorded] for column in columns}
        fitted = fit_noise(rows, c=1.0, sigma="common")  # the law that is simulated here
        b = fitted.b if b is None else b
        sigma = float(fitted.sigma) if sigma is None else sigma
    exponent, noise = validation.number("b", b, low=0.0, high=1.0), validation.number("sigma", sigma, above=0.0)
    names = list(dict.fromkeys(line.arm for line in history))
    past = Statistics(len(names), exponent)
    for line in recorded:
        amounts, outcomes = np.zeros(len(names)), np.full(len(names), math.nan)
        amounts[names.index(line.arm)], outcomes[names.index(line.arm)] = line.amount, line.outcome
        past.update(amounts, outcomes)
    sums = past.sums()
    with np.errstate(divide="ignore", invalid="ignore"):
        means, spread = sums.score / sums.information, noise / np.sqrt(sums.information)
    draws = _draw(means, spread, validation.whole("worlds", worlds, low=1), seed)

    def start(name: str) -> Callable[[int], Allocator]:
        policy, _ = choose_policy(name, exponent, noise)
        return lambda world: Allocator(
            policy, names, seed=world, b=exponent, sigma=noise, minimise=minimise, horizon=len(budgets)
        )

    starts = {name: start(name) for name in dict.fromkeys(policies or DEFAULT_POLICIES)}
    result = _simulate(starts, names, draws, list(budgets.values()), exponent, noise, seed, minimise)
    return result._replace(actual=math.fsum(line.outcome or 0.0 for line in recorded))


def _draw(means: Floats, spread: Floats, worlds: int, seed: int) -> Floats:
    """Means of the arms in each simulated future; an arm without outcomes is like the others, but less certain."""
    known = np.isfinite(spread) & ~np.isnan(means)
    if not known.any():
        raise InvalidValue(_NOTHING_YET)
    centre = np.where(known, means, means[known].mean())
    scale = np.where(known, spread, spread[known].max() + means[known].std())
    return centre + scale * np.random.default_rng([seed, 1]).standard_normal((worlds, len(means)))


def _simulate(
    starts: Mapping[str, Callable[[int], Allocator]],
    names: Sequence[str],
    means: Floats,
    budgets: Sequence[float],
    b: float,
    sigma: float,
    seed: int,
    minimise: bool,
) -> Forecast:
    sign = -1.0 if minimise else 1.0
    best = (sign * means).max(axis=1)
    forecasts = []
    for name, start in starts.items():
        earned, regret = np.zeros(len(means)), np.zeros(len(means))
        for world, truth in enumerate(means):
            allocator = start(world)
            rng = np.random.default_rng([seed, 2, world])  # the same noise for every policy
            for budget in budgets:
                split = allocator.ask(budget)
                amounts = np.array([split.amounts[arm] for arm in names])
                scale = np.where(amounts > 0, amounts**b, 0.0) * sigma
                outcomes = amounts * truth + scale * rng.standard_normal(len(names))
                given = {arm: float(y) for arm, y, x in zip(names, outcomes, amounts) if x > 0}
                allocator.tell(split.ticket, given)
                earned[world] += outcomes.sum()
                regret[world] += best[world] * budget - sign * float(amounts @ truth)
        forecasts.append(PolicyForecast(name, *_mean_and_band(earned), *_mean_and_band(regret)))
    return Forecast(len(budgets), len(means), math.fsum(budgets), b, sigma, tuple(forecasts))


def _mean_and_band(values: Floats) -> tuple[float, float, float]:
    low, high = np.quantile(values, BAND)
    return float(values.mean()), float(low), float(high)
