"""Forecasts: what the next periods may bring, simulated forward from what is believed today."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion._common.formatting import counted, one_of, percent, readable, side_by_side, written
from apportion.allocation.allocator import Allocator
from apportion.allocation.noise_levels import Sigma, in_order
from apportion.campaigns.calendar import BudgetPeriod, Budgets, calendar_of
from apportion.campaigns.law_draws import BelievedLaw, believed_law, matched_normals
from apportion.campaigns.plan_words import back_verb, with_unit
from apportion.errors import InvalidValue
from apportion.model.law import Instance
from apportion.model.moving import Moving
from apportion.model.sums import Floats
from apportion.model.world import World
from apportion.policies import Uniform
from apportion.policies.contract import return_exponent_for
from apportion.policies.registry import choose_policy
from apportion.simulation.live import play_through

if TYPE_CHECKING:
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.settings import Settings

BAND = (0.05, 0.95)  # the quantiles between which nine of ten simulated futures lie
DEFAULT_WORLDS = 24
YARDSTICK = "Uniform"  # an even split, which everybody can picture
NOISES = 32  # so many times the noise is drawn in every future: few futures then do for a smooth band
_LEAST_STEP = 1e-3  # a world that moves less in a period stands still
_ARMS_TOLD = 4  # so many arms have their shares in words
_LEAST_SHARE_TOLD = 0.005  # and a share below this is part of the rest
_MOST_KEPT = 5000  # the splits of a forecast are kept with it where they are at most so many numbers


class ArmForecast(NamedTuple):
    """The part of an arm in a split to come: its mean share, and the range over simulated futures."""

    arm: str
    amount: float
    share: float
    share_low: float
    share_high: float


class PeriodForecast(NamedTuple):
    """A period to come: what may come back of its budget (from the 5% to the 95% quantile), and its split."""

    date: str | None
    budget: float
    returned: float
    returned_low: float
    returned_high: float
    arms: tuple[ArmForecast, ...] = ()


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
    """What the next periods may bring, and the assumptions behind it.

    `calendar` has the periods to come with the splits of the first of the `policies`; the others are what else one
    could do, in the same simulated futures. `sentences` say it in words, `assumes` what it stands on.
    """

    periods: int
    worlds: int
    budget: float
    b: float
    sigma: Sigma
    policies: tuple[PolicyForecast, ...]
    actual: float | None = None
    """What the history of a backtest really earned."""
    c: float = 1.0
    calendar: tuple[PeriodForecast, ...] = ()
    first: int | None = None
    """The ticket that the first of the periods will have."""
    sentences: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; the policies are its `prospects`."""
        rest = {name: value for name, value in self._asdict().items() if name != "policies"}
        rest["calendar"] = [
            {**period._asdict(), "arms": [arm._asdict() for arm in period.arms]} for period in self.calendar
        ]
        return {**rest, "prospects": [policy._asdict() for policy in self.policies]}

    def to_payload(self) -> dict[str, Any]:
        """As the event of a forecast has it: splits are left out where there are very many."""
        from apportion.campaigns.plain_data import plain

        whole: dict[str, Any] = plain(self.to_dict())
        if sum(len(period.arms) for period in self.calendar) > _MOST_KEPT:
            whole["calendar"] = [{**period, "arms": []} for period in whole["calendar"]]
        return whole

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Forecast:
        """What `to_payload` wrote."""
        fields = {name: payload[name] for name in cls._fields if name in payload}
        for name in ("sentences", "assumes"):
            fields[name] = tuple(payload.get(name, ()))
        fields["policies"] = tuple(PolicyForecast(**row) for row in payload["prospects"])
        fields["calendar"] = tuple(
            PeriodForecast(**{**row, "arms": tuple(ArmForecast(**arm) for arm in row.get("arms", ()))})
            for row in payload.get("calendar", ())
        )
        return cls(**fields)


def forecast(
    campaign: Campaign,
    *,
    periods: int | None = None,
    budgets: Budgets | None = None,
    worlds: int = DEFAULT_WORLDS,
    policies: Sequence[str] | None = None,
    seed: int = 0,
) -> Forecast:
    """Simulate a campaign forward: laws drawn from what is believed, each policy going on from today's statistics.

    `periods` with the campaign's budget (12 by default), or a calendar of `budgets`. The first of the `policies`, the
    campaign's own by default, is the one whose splits are told. Futures move as the past was seen to move. Nothing is
    changed.
    """
    draws, seed = validation.whole("worlds", worlds, low=1), validation.whole("seed", seed, low=0)
    settings = campaign.settings
    calendar = calendar_of(budgets, periods, settings.budget)
    law = believed_law(campaign, "a forecast")
    if settings.sigma is None or np.isnan(law.spread[law.known]).any():
        raise InvalidValue("σ of this campaign is not known: record more outcomes, or give `sigma` in its settings.")
    names = [settings.policy, YARDSTICK] if policies is None else list(policies)
    if not names:
        raise InvalidValue("`policies` must be at least one name; got none.")
    starts = _Starts(campaign, law.c)
    chosen = {name: starts.of(name) for name in dict.fromkeys(names)}
    rng = np.random.default_rng([seed, 1])
    sign = -1.0 if settings.minimise else 1.0  # a world returns what is to be made large
    futures = futures_of(law, draws, len(calendar), sign, rng)
    found, played = simulate(chosen, law, futures, [period.budget for period in calendar], seed, sign)
    first = next(iter(chosen))
    result = Forecast(
        len(calendar), draws, math.fsum(period.budget for period in calendar), law.b, settings.sigma, found,
        c=law.c, calendar=tuple(_calendar(calendar, played[first], law)), first=campaign.period + 1,
        assumes=tuple(_assumptions(law)),
    )  # fmt: skip
    return result._replace(sentences=tuple(describe(result, settings)))


class _Starts:
    """Allocators that go on from where a campaign stands, each with a policy. What is open stays behind."""

    def __init__(self, campaign: Campaign, c: float) -> None:
        self.settings, self.c = campaign.settings, c
        learned = campaign.beliefs().learned is not None
        self.learning = self._state(campaign.state()) if learned else None
        self._campaign, self._known = campaign, None if learned else self._state(campaign.state())

    @staticmethod
    def _state(text: str) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(text.partition("\n")[2])
        state["tickets"] = {"issued": state["statistics"]["period"], "open": [], "completed": []}
        return state

    @property
    def known(self) -> dict[str, Any]:
        """The state for a policy that is told the law, as it is believed."""
        if self._known is None:
            self._known = self._state(self._campaign.state(self.settings.b, self.c))
        self._known["sigma"] = self.settings.sigma
        return self._known

    def of(self, name: str) -> Callable[[int], Allocator]:
        """Makes allocators with the policy of that name: the campaign's own learns on, others are told."""
        if self.learning is not None and name.lower() == self.settings.policy.lower():
            own = Allocator.from_json(json.dumps(self.learning))
            own.hold_law()  # as it is known today: worked out once, not in every future
            return lambda future: copy.deepcopy(own)
        if name.lower() == YARDSTICK.lower() and self.learning is not None:  # it needs to know nothing
            even = self._even(self.learning)
            return lambda future: copy.deepcopy(even)
        state = self.known
        sigma = in_order(self.settings.sigma, [arm["name"] for arm in state["arms"]])
        policy, _ = choose_policy(name, self.settings.b, sigma, c=self.c)
        return_exponent_for(policy, self.c)  # refused in its own words, if it is
        memory = policy.initial_memory(len(state["arms"])).tolist()
        plain = [value if math.isfinite(value) else str(value) for value in memory]
        told = Allocator.from_json(json.dumps({**state, "policy": policy.to_dict(), "memory": plain}))
        return lambda future: copy.deepcopy(told)

    def _even(self, state: dict[str, Any]) -> Allocator:
        """An allocator that splits evenly between the bounds of the arms of today."""
        names, own = [arm["name"] for arm in state["arms"]], self.settings
        fresh = Allocator(
            Uniform(), names, seed=0, b=own.b, c=self.c, step=own.step, resolution=state.get("resolution"),
            minimise=own.minimise, level=own.level, rules=own.rules,
        )  # fmt: skip
        return Allocator.from_json(json.dumps({**json.loads(fresh.to_json()), "arms": state["arms"]}))


def futures_of(law: BelievedLaw, count: int, periods: int, sign: float, rng: np.random.Generator) -> list[World]:
    """Worlds as they may be; their means move on as they were seen to move, from the first period to come on.

    In period t = 1, 2, … the means of a draw are multiplied by exp(W_t − t·v/2), with W a random walk whose steps
    have the variance v = own² + common². That factor has the mean 1: nobody knows which way returns will move, so of
    any fixed split as much is expected in every period, only with a range that widens. Without the second term the
    returns foreseen would grow by themselves.
    """
    laws = law.draws(count, rng)
    sigma = tuple(law.sigma.tolist())
    own, common = law.steps
    means, moves = sign * laws.means, max(own, common) > _LEAST_STEP
    if moves:
        walked = own * matched_normals(count, len(law.names), rng) + common * matched_normals(count, 1, rng)
        means = means * np.exp(walked - 0.5 * (own**2 + common**2))
    still = [Instance(tuple(row), law.b, sigma, c) for row, c in zip(means.tolist(), laws.c.tolist())]
    if not moves:
        return [*still]
    levels = tuple(np.exp(-0.5 * (own**2 + common**2) * np.arange(periods)).tolist())
    return [Moving(each, step=own, common_step=common, pattern=levels) for each in still]


class Futures(NamedTuple):
    """What a policy did in simulated futures: amounts (futures, periods, K), returns (futures × noises, periods)."""

    amounts: Floats
    returned: Floats
    regret: Floats


def simulate(
    starts: Mapping[str, Callable[[int], Allocator]],
    law: BelievedLaw,
    futures: Sequence[World],
    budgets: Sequence[float],
    seed: int,
    sign: float,
) -> tuple[tuple[PolicyForecast, ...], dict[str, Futures]]:
    """Each policy in the same futures. Returns are what was expected of its splits, with noise drawn many times."""
    forecasts, all_played = [], {}
    for name, start in starts.items():
        amounts = np.zeros((len(futures), len(budgets), len(law.names)))
        expected, regret = np.zeros(amounts.shape[:2]), np.zeros(len(futures))
        for number, future in enumerate(futures):
            rng = np.random.default_rng([seed, 2, number])
            played = play_through(start(number), future, budgets, rng, law.names, common=True)
            amounts[number], expected[number] = played.amounts, sign * played.expected
            regret[number] = played.regret.sum()
        all_played[name] = Futures(amounts, _with_noise(amounts, expected, law, seed), regret)
        earned = all_played[name].returned.sum(axis=1)
        mean = float(expected.sum(axis=1).mean())
        forecasts.append(PolicyForecast(name, mean, *mean_and_band(earned)[1:], *mean_and_band(regret)))
    return tuple(forecasts), all_played


def _with_noise(amounts: Floats, expected: Floats, law: BelievedLaw, seed: int) -> Floats:
    """Returns as they may really be: each future with noise of the standard deviation σ_i·x^b, several times."""
    powers = np.where(amounts > 0.0, amounts, 0.0) ** law.b
    scale = np.sqrt((((law.sigma * powers) ** 2) * (amounts > 0.0)).sum(axis=2))
    futures, periods = expected.shape
    noise = matched_normals(NOISES * futures, periods, np.random.default_rng([seed, 3]))
    return np.repeat(expected, NOISES, axis=0) + np.repeat(scale, NOISES, axis=0) * noise


def _calendar(calendar: Sequence[BudgetPeriod], played: Futures, law: BelievedLaw) -> list[PeriodForecast]:
    spent = played.amounts.sum(axis=2, keepdims=True)
    shares = played.amounts / np.where(spent > 0.0, spent, 1.0)
    low, high = np.quantile(shares, BAND, axis=0)
    found = []
    for index, period in enumerate(calendar):
        arms = tuple(
            ArmForecast(name, *(float(each) for each in row))
            for name, row in zip(
                law.names,
                zip(played.amounts[:, index].mean(axis=0), shares[:, index].mean(axis=0), low[index], high[index]),
            )
        )
        found.append(PeriodForecast(period.date, period.budget, *mean_and_band(played.returned[:, index]), arms))
    return found


def mean_and_band(values: Floats) -> tuple[float, float, float]:
    """The mean, and the quantiles between which nine of ten are."""
    low, high = np.quantile(values, BAND)
    return float(values.mean()), float(low), float(high)


def _assumptions(law: BelievedLaw) -> list[str]:
    moving = max(law.steps) > _LEAST_STEP
    return [
        "Returns go on to move as they did so far." if moving else "Returns stay as they are.",
        "Amounts far from those that were tried return what the curve says."
        + (" Arms were seen to level off each in its own way; here they share one curve." if law.own_curves else ""),
        "Splits are spent as advised, and every result comes in before the next split.",
    ]


# In words


def describe(found: Forecast, settings: Settings) -> list[str]:
    """The forecast in words: what comes back, how it is split, what an even split would bring."""
    first, unit = found.policies[0], settings.unit
    low, mean, high = side_by_side(first.earned_low, first.earned, first.earned_high)
    verb = back_verb(settings)
    what = f"{written(found.budget)} {unit or ''}".strip()
    said = [
        f"The next {counted(found.periods, settings.every or 'period')}, {what} in all: about "
        f"{with_unit(mean, settings.outcome_unit)} {verb} ({low} to {high}), "
        f"{readable(first.earned / found.budget)} per {one_of(unit)}."
    ]
    if found.calendar and found.calendar[0].arms:
        said.append(_on_splits(found))
    other = next((row for row in found.policies[1:] if row.policy.lower() == YARDSTICK.lower()), None)
    if other is not None:
        least, even, most = side_by_side(other.earned_low, other.earned, other.earned_high)
        said.append(f"An even split: about {with_unit(even, settings.outcome_unit)} ({least} to {most}).")
    said.append(f"In the ranges lie nine of ten; simulated were {counted(found.worlds, 'future')}.")
    return said


def largest_arms(found: Forecast, most: int) -> list[int]:
    """The places of the arms with the largest parts in the splits to come, in the order of the first split."""
    if not found.calendar or not found.calendar[0].arms:
        return []
    shares = np.array([[arm.share for arm in period.arms] for period in found.calendar])
    chosen = np.argsort(-shares.max(axis=0), kind="stable")[:most].tolist()
    return sorted(chosen, key=lambda place: -float(shares[0, place]))


def _on_splits(found: Forecast) -> str:
    begin, end = found.calendar[0].arms, found.calendar[-1].arms
    parts = []
    for place in largest_arms(found, _ARMS_TOLD):
        first, last = begin[place].share, end[place].share
        if max(first, last) < _LEAST_SHARE_TOLD:
            continue
        moved = abs(last - first) >= 0.01
        parts.append(
            f"{begin[place].arm} {f'{percent(first)}, later {percent(last)}' if moved else f'about {percent(first)}'}"
        )
    more = len(begin) - len(parts)
    rest = "" if not more else "; the other arm gets the rest" if more == 1 else f"; {more} other arms share the rest"
    return f"Expected split: {'; '.join(parts)}{rest}."
