"""Taking periods into a bank of filters: the powers of their amounts, and the noise that goes with them."""

import math
from typing import Any

import numpy as np

from apportion._common.compiled import kernel, large_kernel, when_compiled
from apportion.inference.filters import take_in
from apportion.inference.learning import B

# So many powers of amounts are worked out at once.
_MOST_POWERS = 1_000_000
_SMALLEST = 1e-300


@kernel
def run(learner: Any, filters: Any, first: int, last: int, fade: float) -> None:
    """Take periods into a bank of filters; see `take_in`."""
    arms = learner.amounts.shape[1]
    cut = max(1, _MOST_POWERS // (len(filters.c) * arms))
    counts = learner.grid.fractions.sum() == 0.0
    level = levels_of(learner, filters.b, first, last)
    for begun in range(first, last + 1, cut):
        rows = np.arange(begun, min(begun + cut, last + 1)) % len(learner.amounts)
        amounts, outcomes = learner.amounts[rows], learner.outcomes[rows]
        budgets = amounts.sum(axis=1)
        budgets[budgets <= 0.0] = 1.0
        outcomes[amounts <= 0.0] = math.nan
        amounts[np.isnan(outcomes)] = 1.0
        response, noise = powers_at(amounts, filters.c, filters.b, filters.cap, budgets, level)
        take_in(filters, response, noise, outcomes, counts, fade)


@when_compiled(run)
def _run_compiled(learner: Any, filters: Any, first: int, last: int, fade: float) -> None:
    run_by_loops(learner, filters, first, last, fade)


@large_kernel
def run_by_loops(learner: Any, filters: Any, first: int, last: int, fade: float) -> None:
    """`run`, where powers are taken once for successive periods with the same amount."""
    all_amounts, all_outcomes = learner.amounts, learner.outcomes
    rows, arms = all_amounts.shape
    cut = max(1, _MOST_POWERS // (len(filters.c) * arms))
    counts = learner.grid.fractions.sum() == 0.0
    level = levels_of(learner, filters.b, first, last)
    for begun in range(first, last + 1, cut):
        periods = min(begun + cut, last + 1) - begun
        amounts, outcomes = np.empty((periods, arms)), np.empty((periods, arms))
        budgets = np.zeros(periods)
        for index in range(periods):
            row = (begun + index) % rows
            for arm in range(arms):
                amount, outcome = all_amounts[row, arm], all_outcomes[row, arm]
                budgets[index] += amount
                outcomes[index, arm] = outcome if amount > 0.0 else math.nan
                amounts[index, arm] = 1.0 if math.isnan(outcomes[index, arm]) else amount
            budgets[index] = budgets[index] if budgets[index] > 0.0 else 1.0
        response, noise = powers_at(amounts, filters.c, filters.b, filters.cap, budgets, level)
        take_in(filters, response, noise, outcomes, counts, fade)


@kernel
def levels_of(learner: Any, b: Any, first: int, last: int) -> Any:
    """σ for each exponent of a bank, (exponents, arms); one row where they are all that of the law.

    The noise at an arm's typical amount is the same at every exponent, unless σ is given.
    """
    same = True
    for index in range(len(b)):
        same = same and b[index, 0] == learner.law[B]
    level = np.ones((1 if same else len(b), 1)) * learner.sigma
    if not same and not learner.given[0] > 0.0:
        typical = typical_amounts(learner.amounts, learner.outcomes, first, last)
        for index in range(len(b)):
            level[index] *= typical ** (learner.law[B] - b[index, 0])
    return level


@kernel
def powers_at(amounts: Any, c: Any, b: Any, cap: Any, budgets: Any, level: Any) -> Any:
    """A^c, with A at most the cap's part of the budget, and the variance (σ·A^b)²: (periods, exponents, arms).

    c, b and the caps are (exponents, 1), amounts (periods, arms), and σ is `level`, (exponents or 1, arms).
    """
    logs = np.log(amounts)[:, np.newaxis]
    new = np.ones(len(c), dtype=bool)
    new[1:] = (c[1:, 0] != c[:-1, 0]) | (cap[1:, 0] != cap[:-1, 0])
    most = np.log(budgets * cap[new]).T[:, :, np.newaxis]
    response = np.exp(c[new] * np.minimum(logs, most))
    noise = np.exp(2.0 * b[: len(level)] * logs)
    noise *= level * level
    noise += _SMALLEST
    return response if new.all() else response[:, np.cumsum(new) - 1], noise


@when_compiled(powers_at)
def _powers_by_loops(amounts: Any, c: Any, b: Any, cap: Any, budgets: Any, level: Any) -> Any:
    """`powers_at`, amount by amount; those of an amount serve for the next period too, if it is the same."""
    periods, arms = amounts.shape
    laws, noisy, capped = len(c), len(level), False
    response, noise = np.empty((periods, laws, arms)), np.empty((periods, noisy, arms))
    for law in range(laws):
        capped = capped or cap[law, 0] != 1.0
    for period in range(periods):
        for arm in range(arms):
            amount, last = amounts[period, arm], max(period - 1, 0)
            if period > 0 and amount == amounts[last, arm] and (not capped or budgets[period] == budgets[last]):
                for law in range(laws):
                    response[period, law, arm] = response[last, law, arm]
                for law in range(noisy):
                    noise[period, law, arm] = noise[last, law, arm]
            else:
                log, power, square = math.log(amount), 0.0, 0.0
                for law in range(laws):
                    if law == 0 or c[law, 0] != c[law - 1, 0] or cap[law, 0] != cap[law - 1, 0]:
                        least = min(amount, cap[law, 0] * budgets[period])
                        power = least if c[law, 0] == 1.0 else math.exp(c[law, 0] * math.log(least))
                    response[period, law, arm] = power
                for law in range(noisy):
                    if law == 0 or b[law, 0] != b[law - 1, 0]:
                        square = math.exp(2.0 * b[law, 0] * log)
                    noise[period, law, arm] = level[law, arm] * level[law, arm] * square + _SMALLEST
    return response, noise


@kernel
def typical_amounts(amounts: Any, outcomes: Any, first: int, last: int) -> Any:
    """The geometric mean of each arm's amounts over some periods; 1 where there is none."""
    rows = np.arange(first, last + 1) % len(amounts)
    amount = amounts[rows]
    seen = (amount > 0.0) & ~np.isnan(outcomes[rows])
    logs = np.log(np.where(seen, amount, 1.0)).sum(axis=0)
    return np.exp(logs / np.maximum(seen.sum(axis=0), 1.0))


@when_compiled(typical_amounts)
def _typical_amounts_by_loops(amounts: Any, outcomes: Any, first: int, last: int) -> Any:
    """`typical_amounts`, amount by amount."""
    rows, arms = amounts.shape
    logs, seen = np.zeros(arms), np.zeros(arms)
    for period in range(first, last + 1):
        row = period % rows
        for arm in range(arms):
            if amounts[row, arm] > 0.0 and not math.isnan(outcomes[row, arm]):
                logs[arm] += math.log(amounts[row, arm])
                seen[arm] += 1.0
    for arm in range(arms):
        logs[arm] = math.exp(logs[arm] / max(seen[arm], 1.0))
    return logs
