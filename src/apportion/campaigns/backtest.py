"""A backtest: what policies would have earned on a history, simulated with the law fitted to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion._common.formatting import readable, side_by_side, written
from apportion.allocation.allocator import Allocator
from apportion.allocation.noise_levels import Sigma, in_order, per_arm, sigma_by_name
from apportion.campaigns.forecast import DEFAULT_WORLDS, YARDSTICK, Forecast, PolicyForecast, mean_and_band
from apportion.campaigns.law_draws import matched_normals
from apportion.campaigns.settings import SETTINGS
from apportion.errors import InvalidValue
from apportion.inference.history import Observation
from apportion.inference.learner import Learning
from apportion.model.exact_sums import Statistics
from apportion.model.law import Instance
from apportion.model.response import optimal_split
from apportion.model.sums import Floats
from apportion.model.world import Course
from apportion.policies import Policy
from apportion.policies.contract import return_exponent_for
from apportion.policies.registry import choose_policy

DEFAULT_POLICIES = ("Auto", "Thompson", "Uniform")
AS_IT_WAS = "as it was split"
_TELLING = 8  # a band of fewer worlds tells little
_SLACK = 1e-9  # maxima that are scaled to add up to 1 do so in spite of rounding


class Law(NamedTuple):
    """The law of returns: b, σ as a number or by arm, c."""

    b: float
    sigma: Sigma
    c: float


class Setting(NamedTuple):
    """The periods of a history as a policy meets them: budgets (T,), what was spent (T, K), and per arm which
    periods it takes part in and its largest share (T, K)."""

    names: tuple[str, ...]
    dates: tuple[str, ...]
    budgets: Floats
    spent: Floats
    available: Floats
    most: Floats


def backtest(
    history: Sequence[Observation],
    *,
    b: float | None = None,
    sigma: Sigma | None = None,
    c: float | None = None,
    worlds: int = DEFAULT_WORLDS,
    policies: Sequence[str] | None = None,
    minimise: bool = False,
    growth: float | None = SETTINGS["growth"].default,
    change: float | None = None,
    reach: float | None = 1.0,
    seed: int = 0,
) -> Forecast:
    """Simulate the periods of a history: its budgets, the law fitted to it, and each policy from scratch.

    What is not given of the law is fitted: b; c, which stays 1 unless that is outside its 95% interval; σ, one per
    arm where equal ones are rejected. A policy that learns the law (Auto) is told nothing. The others are told it, or
    the paper's where they do not know such a one: c = 1 and one σ.

    An arm takes part from its first to its last period in the history, and gets at most `reach` times the most that
    it really got in a period (None: any amount): further out the law is a guess. Where that leaves a budget unspent,
    all maxima grow alike. `growth` and `change` limit each split as they do in a campaign. What is lost is lost
    against the best split within the same limits. `assumes` says all of it in words.
    """
    setting = _setting_of(history, reach)
    recorded = [line for line in history if line.outcome is not None and line.amount > 0]
    law = _law_of(recorded, setting.names, b, sigma, c)
    noise, past = per_arm(law.sigma, setting.names), Statistics(len(setting.names), law.b, c=law.c)
    for line in recorded:
        amounts, outcomes = np.zeros(len(setting.names)), np.full(len(setting.names), math.nan)
        index = setting.names.index(line.arm)
        amounts[index], outcomes[index] = line.amount, line.outcome
        past.update(amounts, outcomes)
    sums = past.sums()
    with np.errstate(divide="ignore", invalid="ignore"):
        means, spread = sums.score / sums.information, noise / np.sqrt(sums.information)
    seed = validation.whole("seed", seed, low=0)
    truths = _draw(means, spread, validation.whole("worlds", worlds, low=1), seed)
    sign = -1.0 if minimise else 1.0  # a world returns what is to be made large
    best = np.array([_best_values(setting, sign * truth, law.c) for truth in truths])
    chosen = list(dict.fromkeys(DEFAULT_POLICIES if policies is None else policies))
    if not chosen:
        raise InvalidValue("`policies` must be at least one name; got none.")
    learn, rows = [], []
    for name in chosen:
        policy, told = _told(name, law, setting.names)
        if told is None:
            learn.append(name)

        def start(number: int, policy: Policy = policy, told: Law | None = told) -> Allocator:
            known: dict[str, Any] = {} if told is None else told._asdict()
            return Allocator(
                policy, setting.names, seed=number, minimise=minimise, horizon=len(setting.budgets), growth=growth,
                change=change, **known,
            )  # fmt: skip

        rows.append(_play(name, start, setting, sign * truths, law, best, seed, sign))
    rows.append(_as_it_was(setting, sign * truths, law, best, seed, sign))
    actual = math.fsum(line.outcome or 0.0 for line in recorded)
    return Forecast(
        len(setting.budgets), len(truths), math.fsum(setting.budgets), law.b, law.sigma, tuple(rows),
        actual=actual, c=law.c,
        assumes=(*_assumptions(setting, law, reach, chosen, learn), *_held_against(rows[-1], actual, len(truths))),
    )  # fmt: skip


def _setting_of(history: Sequence[Observation], reach: float | None) -> Setting:
    if reach is not None:
        validation.number("reach", reach, above=0.0)
    if not any(line.outcome is not None and line.amount > 0 for line in history):
        raise InvalidValue("The history must have outcomes of amounts above 0.")
    names = tuple(dict.fromkeys(line.arm for line in history if line.amount > 0))
    spent_on = {line.date for line in history if line.amount > 0}
    dates = tuple(dict.fromkeys(line.date for line in history if line.date in spent_on))
    when, which = {date: row for row, date in enumerate(dates)}, {name: index for index, name in enumerate(names)}
    spent = np.zeros((len(dates), len(names)))
    for line in history:
        if line.amount > 0:
            spent[when[line.date], which[line.arm]] += line.amount
    budgets = spent.sum(axis=1)
    periods = np.arange(len(dates))[:, np.newaxis]
    used = spent > 0
    first, last = used.argmax(axis=0), len(dates) - 1 - used[::-1].argmax(axis=0)
    available = (periods >= first) & (periods <= last)
    most = np.where(available, 1.0, 0.0)
    if reach is not None:
        most = np.where(available, np.minimum(1.0, reach * spent.max(axis=0) / budgets[:, np.newaxis]), 0.0)
        for row in range(len(dates)):  # where the arms of a period cannot take its budget, all limits give way alike
            while most[row].sum() < 1.0 + _SLACK and (most[row] < available[row]).any():
                grown = most[row] * (1.0 + 2 * _SLACK) / most[row].sum()
                most[row] = np.minimum(
                    np.where(available[row], np.maximum(grown, most[row] * (1 + _SLACK)), 0.0), 1.0
                )
    return Setting(names, dates, budgets, spent, available.astype(np.float64), most)


def _play(
    name: str,
    start: Callable[[int], Allocator],
    setting: Setting,
    truths: Floats,
    law: Law,
    best: Floats,
    seed: int,
    sign: float,
) -> PolicyForecast:
    """A policy in every world: before each split the arms that are not there are paused, and maxima set."""
    earned, regret = np.zeros(len(truths)), np.zeros(len(truths))
    levels = in_order(law.sigma, setting.names)
    for number, truth in enumerate(truths):
        allocator = start(number)
        course = Course(Instance(tuple(truth.tolist()), law.b, levels, law.c), _stream(seed, number), common=True)
        for row, budget in enumerate(setting.budgets.tolist()):
            _limit(allocator, setting, row)
            decision = allocator.decide(budget)
            ticket = allocator.commit(decision)
            given = dict(zip(decision.arms, decision.amounts.tolist()))
            played = course.play([[given.get(arm, 0.0) for arm in setting.names]])
            outcomes = zip(setting.names, played.outcomes[0].tolist())
            allocator.tell(ticket, {arm: sign * value for arm, value in outcomes if value == value})
            earned[number] += sign * float(np.nansum(played.outcomes))
            regret[number] += best[number, row] - float(played.expected[0])
    return PolicyForecast(name, *mean_and_band(earned), *mean_and_band(regret))


def _as_it_was(
    setting: Setting, truths: Floats, law: Law, best: Floats, seed: int, sign: float
) -> PolicyForecast:  # fmt: skip
    """The split that was really made, in the same worlds."""
    earned, regret = np.zeros(len(truths)), np.zeros(len(truths))
    levels = in_order(law.sigma, setting.names)
    for number, truth in enumerate(truths):
        course = Course(Instance(tuple(truth.tolist()), law.b, levels, law.c), _stream(seed, number), common=True)
        played = course.play(setting.spent)
        earned[number] = sign * float(np.nansum(played.outcomes))
        regret[number] = float((best[number] - played.expected).sum())
    return PolicyForecast(AS_IT_WAS, *mean_and_band(earned), *mean_and_band(regret))


def _stream(seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, 2, number])


def _limit(allocator: Allocator, setting: Setting, row: int) -> None:
    """The arms and maxima of a period: what grows goes first, so that some split is feasible at every step."""
    arms = {arm.name: arm for arm in allocator.all_arms}
    wanted = [(arms[name], bool(setting.available[row, index]), float(setting.most[row, index]))
              for index, name in enumerate(setting.names)]  # fmt: skip
    for arm, there, most in wanted:
        if there and most > arm.maximum:
            allocator.bound_arm(arm.name, maximum=most)
        if there and arm.state != "active":
            allocator.resume_arm(arm.name)
    for arm, there, _ in wanted:
        if not there and arm.state == "active":
            allocator.pause_arm(arm.name)
    for arm, there, most in wanted:
        if there and most < arm.maximum:
            allocator.bound_arm(arm.name, maximum=most)


def _best_values(setting: Setting, truth: Floats, c: float) -> Floats:
    """What the best split of each period is expected to return, within the same limits."""
    found = np.zeros(len(setting.budgets))
    for row, budget in enumerate(setting.budgets.tolist()):
        there = setting.available[row] > 0
        most = np.maximum(setting.most[row, there] * budget, setting.spent[row, there])
        amounts = optimal_split(truth[there], budget, c, None, np.where(most >= budget, budget, most))
        found[row] = float(np.dot(truth[there], amounts**c))
    return found


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


def _told(name: str, law: Law, names: Sequence[str]) -> tuple[Policy, Law | None]:
    """The policy of that name, and what it is told: nothing where it learns, else the law, or the paper's where it
    does not know such a one."""
    policy, _ = choose_policy(name, None, None)
    if isinstance(policy.reads, Learning):
        return policy, None
    try:
        policy, _ = choose_policy(name, law.b, in_order(law.sigma, names), c=law.c)
        return_exponent_for(policy, law.c)
        return policy, law
    except InvalidValue:
        one = float(np.sqrt(np.mean(per_arm(law.sigma, names) ** 2)))
        return choose_policy(name, law.b, one)[0], Law(law.b, one, 1.0)


def _draw(means: Floats, spread: Floats, worlds: int, seed: int) -> Floats:
    """Means of the arms in each simulated world; an arm without outcomes is like the others, but less certain."""
    known = np.isfinite(spread) & ~np.isnan(means)
    centre = np.where(known, means, means[known].mean())
    scale = np.where(known, spread, spread[known].max() + means[known].std())
    return np.asarray(centre + scale * matched_normals(worlds, len(means), np.random.default_rng([seed, 1])))


def _held_against(as_it_was: PolicyForecast, actual: float, worlds: int) -> list[str]:
    """That the assumptions do not give what really came back, where they do not."""
    if worlds < _TELLING or as_it_was.earned_low <= actual <= as_it_was.earned_high:
        return []
    low, high = side_by_side(as_it_was.earned_low, as_it_was.earned_high)
    return [
        f"This does not hold well here: as it was split, {low} to {high} would have come back, and "
        f"{readable(actual)} really did; differences between the rows are rough."
    ]


def _assumptions(
    setting: Setting, law: Law, reach: float | None, policies: Sequence[str], learn: Sequence[str]
) -> list[str]:
    bent = "in proportion to the amount" if law.c == 1.0 else f"as amount^{law.c:.2g}"
    said = [
        f"Returns grow {bent} and vary as this history says, and do not move over time.",
        "Periods and budgets are those of the history; only the split differs.",
    ]
    late = []
    for name, there in zip(setting.names, setting.available.T > 0):
        if not there.all():
            first, last = int(there.argmax()), len(there) - 1 - int(there[::-1].argmax())
            until = "" if there[-1] else f" to {setting.dates[last]}"
            late.append(f"{name} from {setting.dates[first]}{until}")
    shown = "; ".join(late[:5]) + (f"; {len(late) - 5} more" if len(late) > 5 else "")
    said.append(f"Arms take part only while the history has them: {shown}." if late else
                "Every arm takes part in all periods, as in the history.")  # fmt: skip
    if reach is None:
        said.append("An arm may get any amount, also more than it ever got: there the curve is a guess.")
    else:
        most = setting.spent.max(axis=0)
        index = int(most.argmax())
        times = "" if reach == 1.0 else f"{written(reach)} times "
        said.append(
            f"No arm gets more in a period than {times}the most that it really got ({setting.names[index]}: "
            f"{readable(float(reach * most[index]))})."
        )
    others = [name for name in policies if name not in learn and name.lower() != YARDSTICK.lower()]
    if learn:
        told = f"; {' and '.join(others)} {'is' if len(others) == 1 else 'are'} told the law" if others else ""
        said.append(f"{' and '.join(learn)} {'begins' if len(learn) == 1 else 'begin'} without any knowledge{told}.")
    elif others:
        said.append(f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'} told the law.")
    return said
