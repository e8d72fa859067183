"""What the first periods of a campaign may look like: the campaign played in simulated futures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from apportion._common import validation
from apportion._common.formatting import percent, readable
from apportion.allocation.allocator import Allocator
from apportion.allocation.noise_levels import Sigma, in_order, sigma_by_name
from apportion.campaigns.settings import SETTINGS
from apportion.campaigns.state import ALLOCATOR_SETTINGS, resolution_of
from apportion.model.law import Instance
from apportion.model.sums import Floats
from apportion.policies import Uniform
from apportion.policies.contract import return_exponent_for
from apportion.policies.registry import DEFAULT_B, choose_policy
from apportion.simulation.live import play_through
from apportion.web.pages.shared import money

PERIODS = 50
WORLDS = 30
# With many arms fewer worlds are played: a preview should be there at once.
ARM_WORLDS = 240
FEWEST_WORLDS = 6
# Where nobody says how far an outcome swings: so much of what it is, up and down. Arms differ by as much too.
USUAL_SWING = 0.3
# Less than this part of what knowing the best arm would bring is called little.
HARDLY_ANY = 0.02


class Preview(NamedTuple):
    """The first periods in so many worlds; gains are against an even split, cumulative, without the luck.

    `shares` are those of one world, the middle one by gain; there `best` is the best arm. `found` is the share that
    the best arm of a world gets in the last period, on average, and `optimum` what the best split gives it: all, but
    where returns diminish. `swing` is the standard deviation of an outcome of `part`, an even part of the budget;
    `guessed` says that nobody gave it.
    """

    periods: int
    worlds: int
    shares: dict[str, list[float]]
    best: str
    gain: list[float]
    gain_low: list[float]
    gain_high: list[float]
    ceiling: list[float]
    earned: float
    even: float
    found: float
    optimum: float
    part: float
    swing: float
    guessed: bool


def preview(
    options: Mapping[str, Any],
    *,
    centre: float,
    spread: float,
    sigma: Sigma | None = None,
    seed: int = 1,
) -> Preview:
    """Play the first periods of a campaign with these options of `Campaign.create`.

    In each world the arms' means are drawn around `centre` with the standard deviation `spread`: what a unit returns
    where the budget is split evenly. The law has the campaign's own b, σ and c; where it is to learn them, the b that
    is taken where nobody says and `sigma`, or where that is not known either a σ by `USUAL_SWING`.
    """
    names = list(options["arms"])
    budget = validation.number("budget", options["budget"], above=0.0)
    scale = in_order(sigma_by_name(options.get("sigma"), names), names)
    policy, _ = choose_policy(options.get("policy") or "auto", options.get("b"), scale, c=options.get("c"))
    c = return_exponent_for(policy, options.get("c"))
    given = [options.get("b"), getattr(policy, "b", None), DEFAULT_B]
    exponent = float(next(value for value in given if value is not None))
    worlds = max(FEWEST_WORLDS, min(WORLDS, ARM_WORLDS // max(1, len(names))))
    middle = np.full(len(names), centre)
    part = budget / len(names)
    known = scale or in_order(sigma_by_name(sigma, names), names)
    usual = USUAL_SWING * part * (abs(float(middle.mean())) or 1.0)
    levels = known or usual / part**exponent
    swing = float(np.mean(levels)) * part**exponent if known else usual
    truth = middle + spread * np.random.default_rng([seed, 1]).standard_normal((worlds, len(names)))
    sign = -1.0 if options.get("minimise") else 1.0  # a world returns what is to be made large
    futures = [Instance(tuple(sign * row * part ** (1.0 - c)), exponent, levels, c) for row in truth]
    held = ALLOCATOR_SETTINGS - {"b", "c", "sigma", "seed"}
    own = {name: options.get(name, SETTINGS[name].default) for name in held}
    even_shares = _even(names, budget, own)
    shares = np.zeros((worlds, PERIODS, len(names)))
    expected, even, top = np.zeros((worlds, PERIODS)), np.zeros(worlds), np.zeros(worlds)
    for number, future in enumerate(futures):
        allocator = Allocator(
            policy,
            names,
            seed=number,
            b=options.get("b"),
            sigma=options.get("sigma"),
            c=options.get("c"),
            resolution=resolution_of(options.get("unit")),
            **own,
        )  # it knows what the campaign will know
        rng = np.random.default_rng([seed, 2, number])
        played = play_through(allocator, future, [budget] * PERIODS, rng, names, common=True)
        shares[number], expected[number], top[number] = played.amounts / budget, played.expected, played.best[0]
        even[number] = np.array(future.means) @ (even_shares * budget) ** c
    best = (sign * truth).argmax(axis=1)
    gains = np.cumsum(expected - even[:, np.newaxis], axis=1)
    limit = (top - even).mean() * np.arange(1, PERIODS + 1)
    low, high = np.quantile(gains, (0.05, 0.95), axis=0)
    shown = int(np.argsort(gains[:, -1])[worlds // 2])
    return Preview(
        periods=PERIODS,
        worlds=worlds,
        shares={name: shares[shown, :, index].tolist() for index, name in enumerate(names)},
        best=names[int(best[shown])],
        gain=gains.mean(axis=0).tolist(),
        gain_low=low.tolist(),
        gain_high=high.tolist(),
        ceiling=limit.tolist(),
        earned=float(sign * expected.sum(axis=1).mean()),
        even=float(sign * even.mean() * PERIODS),
        found=float(shares[np.arange(worlds), -1, best].mean()),
        optimum=float(np.mean([future.best_split[arm] for future, arm in zip(futures, best)])),
        part=part,
        swing=float(swing),
        guessed=not known,
    )


def _even(names: list[str], budget: float, own: Mapping[str, Any]) -> Floats:
    """The shares of an even split, as far as the bounds let it: what one would do who never learns."""
    bounds = {name: own[name] for name in ("minimum", "maximum")}
    even: Floats = np.array(list(Allocator(Uniform(), names, seed=0, **bounds).ask(budget).shares.values()))
    return even


def in_words(found: Preview, options: Mapping[str, Any]) -> list[str]:
    """What the preview says, in sentences; and what was taken for granted where nobody said it."""
    minimise, unit = options.get("minimise"), options.get("unit")
    gain, low, high = found.gain[-1], found.gain_low[-1], found.gain_high[-1]
    more = "save" if minimise else "bring"
    rest = "" if minimise else " more"
    even = abs(found.even)
    part = f" ({percent(abs(gain) / even)})" if even > 0 and math.isfinite(gain / even) else ""
    sentences = [
        f"In {found.worlds} simulated futures, {found.periods} periods of this campaign {more} {_rough(gain)}"
        f"{part}{rest} against splitting evenly for ever, {_rough(low)} to {_rough(high)} in nine of ten.",
        f"In period {found.periods} the truly best arm gets {percent(found.found)} of the budget on average"
        + (
            f"; the best split gives it {percent(found.optimum)}, as returns diminish."
            if found.optimum < 1.0
            else "."
        ),
    ]
    if gain < HARDLY_ANY * found.ceiling[-1]:
        sentences.append(
            "That is little: with so much luck in the results 50 periods hardly tell the arms apart. A larger "
            "budget, fewer arms or more periods would."
        )
    if found.guessed:
        part = money(float(f"{found.part:.4g}"), unit)
        sentences.append(
            f"How far results vary was not given: that of {part}, an even part of the budget, varies by "
            f"{_rough(found.swing)} here, which is a guess. The more luck, the less to gain: type your own "
            "above."
        )
    return sentences


def _rough(value: float) -> str:
    """Three digits: that many worlds do not tell more."""
    return readable(float(f"{value:.3g}"))
