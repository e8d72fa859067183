"""The titles: one sentence that says what the numbers of a picture say."""

import math

import numpy as np

from apportion.reporting.figures.data import Curve, FinalRegret, Floats, World, fitted_exponent
from apportion.reporting.figures.phrases import PARAMETER_NAMES, display_name, number, signed, thousands


def ranking_title(panels: list[list[FinalRegret]], when: str) -> str:
    """Who loses how much, in one sentence."""
    ranked = [panel for panel in map(_ranked, panels) if panel]
    if not ranked:
        return f"No run came to an end {when}"
    if len(ranked) > 1:
        return _winner([_clear(panel) for panel in ranked], f"loses least {when}", "worlds")
    best, *others = ranked[0]
    if not others:
        return f"{best.name} loses {number(best.mean)} {when}"
    second, last = others[0], others[-1]
    if _clear(ranked[0]) is None:
        pair = f"{best.name} and {second.name} lose {number(best.mean)} and {number(second.mean)}"
        more = f"; {last.name} loses {number(last.mean)}" if len(others) > 1 else ""
        return f"{pair} {when}, too close to call{more}"
    pair = f"{best.name} loses {number(best.mean)} {when}, {second.name} {number(second.mean)}"
    if len(others) == 1:
        return pair
    if len(others) == 2:
        return f"{pair}, {last.name} {number(last.mean)}"
    return f"{pair}; {last.name} loses most, {number(last.mean)}"


def scaling_title(panels: list[list[Curve]], parameter: str, fits: bool) -> str:
    """How regret moves with the parameter, in one sentence."""
    name = PARAMETER_NAMES[parameter].split(" in ")[0]
    if len(panels) > 1 or not panels[0]:
        spots = [
            [
                FinalRegret(line.label, float(at[0]), float(at[1]), 1)
                for line in panel
                for v, *at in zip(line.x, line.mean, line.error)
                if v == x
            ]
            for panel in panels
            for x in sorted({value for line in panel for value in line.x})
        ]
        return _winner([_clear(_ranked(spot)) for spot in spots], "loses least", f"settings as the {name} varies")
    lines = [line for line in panels[0] if len(line.x) > 1 and (line.mean > 0).all()]
    if fits and lines:
        powers = sorted((fitted_exponent(line.x, line.mean)[0], line.name) for line in lines)
        if len(powers) == 1:
            return f"The regret of {powers[0][1]} scales with the {name} to the power {signed(powers[0][0])}"
        (low, first), (high, last) = powers[0], powers[-1]
        return f"Regret scales with the {name} to the power {signed(low)} for {first}, {signed(high)} for {last}"
    lines = [line for line in lines if not line.label.startswith("Oracle")] or panels[0]
    best = min(lines, key=lambda line: float(line.mean.mean()))
    start, end = float(best.mean[0]), float(best.mean[-1])
    moves = "falls" if end < start else "rises"
    at = f"From {parameter} = {best.x[0]:g} to {best.x[-1]:g}"
    return f"{at}, the regret of {best.name} {moves} from {number(start)} to {number(end)}"


def split_title(policy: str, last: Floats, world: World) -> str:
    """How much of the resource the best arm has at the end, in one sentence."""
    if world.means is not None:
        best = [arm for arm, value in enumerate(world.means) if value == max(world.means)]
        whom, share = ("the best arm" if len(best) == 1 else "the best arms"), float(last[best].sum())
    else:
        whom, share = f"arm {int(last.argmax()) + 1}", float(last.max())
    percent = f"{100 * share:.3g}%" if share < 0.9995 or share == 1.0 else "over 99.9%"
    return f"{display_name(policy)} gives {whom} {percent} of the resource in period {thousands(world.horizon)}"


def tail_title(names: list[str], panels: list[list[Floats]], horizon: int) -> str:
    """What the unlucky runs lose, in one sentence."""
    tails = [
        _ranked([FinalRegret(n, float(np.quantile(v, 0.99)), 0.0, len(v)) for v, n in zip(panel, names) if len(v)])
        for panel in panels
    ]
    tails = [panel for panel in tails if panel]
    if not tails:
        return "No run came to an end"
    if len(tails) > 1:
        return _winner([panel[0].label for panel in tails], "has the smallest 99% quantile of regret", "worlds")
    first, last = tails[0][0], tails[0][-1]
    title = f"99% of the runs of {first.name} lose at most {number(first.mean)} in {thousands(horizon)} periods"
    return title if len(tails[0]) == 1 else f"{title}, of {last.name} {number(last.mean)}"


def _ranked(finals: list[FinalRegret]) -> list[FinalRegret]:
    """Those with runs, the least regret first; the oracle, which knows the answer, competes with itself only."""
    there = [final for final in finals if final.runs]
    contend = [final for final in there if not final.label.startswith("Oracle")] or there
    return sorted(contend, key=lambda final: final.mean)


def _clear(ranked: list[FinalRegret]) -> str | None:
    """Who loses least, if that is beyond twice the standard error of the difference to the next."""
    best, *others = ranked
    if others and others[0].mean - best.mean <= 2 * math.hypot(best.error, others[0].error):
        return None
    return best.label


def _winner(firsts: list[str | None], does: str, where: str) -> str:
    won = [label for label in firsts if label is not None]
    if not won:
        return f"The best are too close to call in all {len(firsts)} {where}"
    best = max(dict.fromkeys(won), key=won.count)
    times = "all" if won.count(best) == len(firsts) else f"{won.count(best)} of"
    close = len(firsts) - len(won)
    return f"{display_name(best)} {does} in {times} {len(firsts)} {where}" + (
        f", {close} too close to call" if close else ""
    )
