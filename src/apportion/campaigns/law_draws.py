"""What the law of a campaign may be: means and the exponent of the returns, drawn from what is believed today."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apportion._common.distributions import normal_quantile
from apportion.allocation.noise_levels import per_arm
from apportion.campaigns.events import Event, ticket_from_events
from apportion.errors import InvalidValue
from apportion.inference.learned import Learned
from apportion.model.sums import Floats

if TYPE_CHECKING:
    from apportion.campaigns.campaign import Campaign

PERIODS_READ = 1000  # the points behind a curve are those of so many of the last periods

_LEAST_C = 0.05  # a draw of c below this is this
_INTERVAL_WIDTH = 2 * 1.96  # of 95%, in standard deviations


class Point(NamedTuple):
    """What was spent on an arm in one period, and what came back."""

    amount: float
    outcome: float
    ticket: int
    date: str


class LawDraws(NamedTuple):
    """Laws that may be true: the means of the arms (draws, K), each with its exponent of the returns (draws,)."""

    means: Floats
    c: Floats


class BelievedLaw(NamedTuple):
    """The law as it is believed, of the arms that take part in splits.

    `means` are returns of one unit, `spread` their standard deviations: NaN where nothing is known. `typical` is the
    amount at which each arm is known best.
    """

    names: tuple[str, ...]
    means: Floats
    spread: Floats
    sigma: Floats
    b: float
    c: float
    typical: Floats
    points: tuple[tuple[Point, ...], ...]
    learned: Learned | None

    @property
    def own_curves(self) -> bool:
        """Whether arms are believed to level off each in its own way, which one exponent does not say."""
        return self.learned is not None and self.learned.curved > 0.5

    @property
    def steps(self) -> tuple[float, float]:
        """How far returns move from one period to the next, as parts of them: each arm alone, and all together."""
        return (0.0, 0.0) if self.learned is None else (self.learned.own, self.learned.common)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which arms have results."""
        return ~np.isnan(self.means)

    def draws(self, count: int, rng: np.random.Generator) -> LawDraws:
        """So many laws. An arm without results is like the others, but less certain.

        What an arm returns at the amount where it is known best, and how fast returns diminish from there on, are
        errors of their own: to first order the data say nothing of one by the other. So both are drawn apart, and the
        curves turn around that amount. c is 1 with the probability that it is believed to be, else normal.
        """
        known = self.known
        level = np.where(known, self.means, 0.0) * self.typical**self.c
        scale = np.where(known, self.spread, 0.0) * self.typical**self.c
        if not known.all():
            level[~known] = level[known].mean()
            scale[~known] = scale[known].max() + level[known].std()
        exponents = draw_exponents(self.c, self.learned, count, rng)
        returned = level + scale * matched_normals(count, len(level), rng)
        return LawDraws(returned * self.typical ** -exponents[:, np.newaxis], exponents)


def believed_law(campaign: Campaign, starting: str) -> BelievedLaw:
    """The law as a campaign has it; `starting` says what needs outcomes to start from."""
    beliefs, settings = campaign.beliefs(), campaign.settings
    names = tuple(arm.name for arm in campaign.arms if arm.state == "active")
    if not names:
        raise InvalidValue("No arm is active: resume or add one first.")
    indices = [list(beliefs).index(name) for name in names]
    means = beliefs.mean[indices]
    if np.isnan(means).all():
        raise InvalidValue(f"No outcome was recorded yet: record some first, {starting} starts from them.")
    found = points_of(campaign)
    points = tuple(tuple(found.get(name, ())) for name in names)
    b, c = settings.b, beliefs.c
    typical = np.array([typical_amount([point.amount for point in own], b, c) for own in points])
    every = settings.half_life is None and settings.window is None and not settings.robust
    if beliefs.learned is not None and beliefs.learned.still > 0.5 and every:
        means = _at_the_law(points, means, b, c)
    usual = typical[~np.isnan(typical)]
    typical[np.isnan(typical)] = usual.mean() if usual.size else settings.budget / len(names)
    return BelievedLaw(
        names, means, np.asarray(beliefs.spread[indices]), per_arm(beliefs.sigma, list(beliefs))[indices], b, c,
        typical, points, beliefs.learned,
    )  # fmt: skip


def _at_the_law(points: Sequence[Sequence[Point]], means: Floats, b: float, c: float) -> Floats:
    """μ* = Σ x^(c−2b)·Y ÷ Σ x^(2c−2b) of the points, for the very c and b that are believed.

    What is learned is kept on a grid of c, and read off between its values by straight lines. For a split that makes
    no difference, as all arms are off alike; the level of returns would be off by up to a tenth where amounts are
    large numbers.
    """
    found = means.copy()
    for index, own in enumerate(points):
        if len(own) > 1 and not math.isnan(means[index]):
            amounts = np.array([point.amount for point in own])
            outcomes = np.array([point.outcome for point in own])
            scaled = amounts / amounts.max()
            found[index] = np.dot(scaled ** (c - 2.0 * b), outcomes) / (
                np.sum(scaled ** (2.0 * c - 2.0 * b)) * amounts.max() ** c
            )
    return found


def points_of(campaign: Campaign, periods: int = PERIODS_READ) -> dict[str, list[Point]]:
    """What was spent and came back in the last periods, by arm."""
    transactions = campaign.transactions
    indices = transactions.read(lambda state, session: dict(state.allocator.indices))
    names, last = list(indices), campaign.period
    found: dict[str, list[Point]] = {}
    with transactions.reading() as session:
        events = session.events_of_tickets(transactions.campaign, max(1, last - periods + 1), last) if last else []
    by_ticket: dict[int, list[Event]] = {}
    for event in events:
        by_ticket.setdefault(event.ticket or 0, []).append(event)
    for number, own in by_ticket.items():
        ticket = ticket_from_events(number, own, indices)
        told = ticket.recorded & ~np.isnan(ticket.outcomes) & (ticket.amounts > 0.0)
        for index in np.flatnonzero(told).tolist():
            point = Point(float(ticket.amounts[index]), float(ticket.outcomes[index]), number, own[0].period_date)
            found.setdefault(names[index], []).append(point)
    return found


def typical_amount(amounts: Sequence[float], b: float, c: float) -> float:
    """The amount x̄ at which an arm is known best: log x̄ is the mean of log x, weighted by x^(2c−2b); NaN for none.

    There the derivatives of μ·x^c by log μ and by c are orthogonal, under noise of σ·x^b.

    >>> round(typical_amount([100.0, 400.0], b=0.5, c=0.5), 6)
    200.0
    """
    if not amounts:
        return math.nan
    logs = np.log(np.asarray(amounts, dtype=np.float64))
    weights = np.exp((2.0 * c - 2.0 * b) * (logs - logs.max()))
    return float(np.exp(np.average(logs, weights=weights)))


def draw_exponents(c: float, learned: Learned | None, count: int, rng: np.random.Generator) -> Floats:
    """Exponents of the returns that may be true, evenly over their distribution and in random order."""
    if learned is None or learned.c_low >= learned.c_high:
        return np.full(count, c)
    bent = count - round(learned.proportional * count)
    places = (np.arange(bent) + 0.5) / max(bent, 1)
    if c < 1.0:
        spread = max(learned.c_high - learned.c_low, 1e-6) / _INTERVAL_WIDTH
        found = np.clip(c + spread * normal_quantile(places), max(_LEAST_C, learned.c_low - spread), 1.0)
    else:  # what is left of doubt falls off from 1 down to the lower end of its interval
        found = learned.c_low + (1.0 - learned.c_low) * np.sqrt(places)
    return rng.permutation(np.concatenate([found, np.ones(count - bent)]))


def matched_normals(count: int, width: int, rng: np.random.Generator) -> Floats:
    """Normal numbers (count, width) in pairs of opposite sign, each column of variance 1: few of them do for many."""
    half = rng.standard_normal(((count + 1) // 2, width))
    if len(half) > 1:
        half /= np.sqrt(np.mean(half**2, axis=0))
    return np.concatenate([half, -half])[:count]


def band(values: Floats, level: float) -> tuple[Floats, Floats]:
    """Between what `level` of the draws lie, along the first axis; infinite where so many of them are."""
    tail = 0.5 * (1.0 - level)
    ordered = np.sort(values, axis=0)
    low = ordered[math.floor(tail * (len(values) - 1))]
    high = ordered[math.ceil((1.0 - tail) * (len(values) - 1))]
    return low, high
