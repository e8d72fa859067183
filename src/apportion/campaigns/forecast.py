"""Forecasts: a campaign simulated forward from today's beliefs, and a backtest of policies on a history."""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion.allocation.allocator import Allocator
from apportion.allocation.noise_levels import Sigma, in_order, per_arm, sigma_by_name
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.settings import SETTINGS
from apportion.errors import InvalidValue
from apportion.inference.history import Observation
from apportion.model.exact_sums import Statistics
from apportion.model.law import Instance
from apportion.model.sums import Floats
from apportion.policies import Policy
from apportion.policies.contract import return_exponent_for
from apportion.policies.registry import choose_policy
from apportion.simulation.live import play_through

BAND = (0.05, 0.95)  # the quantiles between which nine of ten simulated futures lie
DEFAULT_POLICIES = ("Odds", "Thompson", "Uniform")
DIMINISHING_POLICIES = ("Recommended", "Thompson", "Uniform")  # Odds knows returns in proportion only

_NOTHING_YET = "No outcome was recorded yet: record some first, a forecast starts from them."


class Law(NamedTuple):
    """The law of returns as a campaign has it: b, σ as a number or by arm, c."""

    b: float
    sigma: Sigma
    c: float


class PolicyForecast(NamedTuple):
    """What one policy may earn: means, and ranges from the 5% to the 95% quantile, over simulated futures.

    For costs `earned` is what is paid. `regret` is what is lost against knowing the best split of each future.
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
    sigma: Sigma
    policies: tuple[PolicyForecast, ...]
    actual: float | None = None
    """What the history of a backtest really earned."""
    c: float = 1.0

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
        sigma = in_order(settings.sigma, [arm["name"] for arm in state["arms"]])
        policy, _ = choose_policy(name, settings.b, sigma, c=settings.c)
        return_exponent_for(policy, settings.c)  # refused in its own words, if it is
        memory = policy.initial_memory(len(state["arms"])).tolist()
        plain = [value if math.isfinite(value) else str(value) for value in memory]
        own = json.dumps({**state, "policy": policy.to_dict(), "memory": plain})
        return lambda world: Allocator.from_json(own)

    usual = DEFAULT_POLICIES if settings.c == 1.0 else DIMINISHING_POLICIES
    names = [settings.policy, *usual] if policies is None else list(policies)
    starts = {name: start(name) for name in dict.fromkeys(names)}
    law = Law(settings.b, settings.sigma, settings.c)
    return _simulate(starts, active, means, [settings.budget] * count, law, seed, settings.minimise)


def backtest(
    history: Sequence[Observation],
    *,
    b: float | None = None,
    sigma: Sigma | None = None,
    c: float | None = None,
    worlds: int = 100,
    policies: Sequence[str] | None = None,
    minimise: bool = False,
    growth: float | None = SETTINGS["growth"].default,
    change: float | None = None,
    seed: int = 0,
) -> Forecast:
    """Simulate the periods of a history: its budgets, the law fitted to it, and each policy from scratch.

    What is not given of the law is fitted: b; c, which stays 1 unless that is outside its 95% interval; σ, one per
    arm where equal ones are rejected. A policy is told the law, or, where it does not know such a one, the paper's:
    c = 1 and one σ. `growth` and `change` limit each split as they do in a campaign.
    """
    budgets: dict[str, float] = defaultdict(float)
    for line in history:
        budgets[line.date] += line.amount
    recorded = [line for line in history if line.outcome is not None and line.amount > 0]
    if not recorded:
        raise InvalidValue("The history must have outcomes of amounts above 0.")
    names = list(dict.fromkeys(line.arm for line in history))
    law = _law_of(recorded, names, b, sigma, c)
    noise, past = per_arm(law.sigma, names), Statistics(len(names), law.b, c=law.c)
    for line in recorded:
        amounts, outcomes = np.zeros(len(names)), np.full(len(names), math.nan)
        amounts[names.index(line.arm)], outcomes[names.index(line.arm)] = line.amount, line.outcome
        past.update(amounts, outcomes)
    sums = past.sums()
    with np.errstate(divide="ignore", invalid="ignore"):
        means, spread = sums.score / sums.information, noise / np.sqrt(sums.information)
    draws = _draw(means, spread, validation.whole("worlds", worlds, low=1), seed)

    def start(name: str) -> Callable[[int], Allocator]:
        policy, told = _told(name, law, names)
        return lambda world: Allocator(
            policy, names, seed=world, b=told.b, sigma=told.sigma, c=told.c, minimise=minimise, horizon=len(budgets),
            growth=growth, change=change,
        )  # fmt: skip

    usual = DEFAULT_POLICIES if law.c == 1.0 else DIMINISHING_POLICIES
    starts = {name: start(name) for name in dict.fromkeys(policies or usual)}
    result = _simulate(starts, names, draws, list(budgets.values()), law, seed, minimise)
    return result._replace(actual=math.fsum(line.outcome or 0.0 for line in recorded))


def _law_of(
    recorded: Sequence[Observation], names: Sequence[str], b: float | None, sigma: Sigma | None, c: float | None
) -> Law:
    """The law as given, and fitted where it was not."""
    c = None if c is None else validation.number("c", c, above=0.0, high=1.0)
    b = None if b is None else validation.number("b", b, low=0.0, high=1.0)
    levels = sigma_by_name(sigma, names)
    if c is None or b is None or levels is None:
        from apportion.inference.fit import fit_noise

        columns = ("arm", "amount", "outcome")
        rows = {column: [getattr(line, column) for line in recorded] for column in columns}
        fitted = fit_noise(rows, c=c, b=b)
        if c is None and fitted.c_interval[1] >= 1.0:  # the paper's law stays until the data reject it
            fitted = fit_noise(rows, c=1.0, b=b)
        c, b = fitted.c, fitted.b
        if levels is None:
            largest = max(fitted.sigmas.values())
            own = {name: float(fitted.sigmas.get(name, largest)) for name in names}
            levels = float(fitted.sigma) if fitted.scale == "common" else own
    return Law(b, levels, c)


def _told(name: str, law: Law, names: Sequence[str]) -> tuple[Policy, Law]:
    """The policy of that name, and what it is told: the law, or the paper's where it does not know such a one."""
    try:
        policy, _ = choose_policy(name, law.b, in_order(law.sigma, names), c=law.c)
        return_exponent_for(policy, law.c)
        return policy, law
    except InvalidValue:
        one = float(np.sqrt(np.mean(per_arm(law.sigma, names) ** 2)))
        return choose_policy(name, law.b, one)[0], Law(law.b, one, 1.0)


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
    law: Law,
    seed: int,
    minimise: bool,
) -> Forecast:
    sign = -1.0 if minimise else 1.0  # a world returns what is to be made large
    levels = in_order(law.sigma, names)
    futures = [Instance(tuple(sign * truth), law.b, levels, law.c) for truth in means]
    forecasts = []
    for name, start in starts.items():
        earned, regret = np.zeros(len(means)), np.zeros(len(means))
        for number, future in enumerate(futures):
            rng = np.random.default_rng([seed, 2, number])
            played = play_through(start(number), future, budgets, rng, names, common=True)
            earned[number], regret[number] = sign * np.nansum(played.outcomes), played.regret.sum()
        forecasts.append(PolicyForecast(name, *_mean_and_band(earned), *_mean_and_band(regret)))
    return Forecast(len(budgets), len(means), math.fsum(budgets), law.b, law.sigma, tuple(forecasts), c=law.c)


def _mean_and_band(values: Floats) -> tuple[float, float, float]:
    low, high = np.quantile(values, BAND)
    return float(values.mean()), float(low), float(high)
