"""`apportion theory`: bounds and rates for a setting."""

from __future__ import annotations

import json
import math
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from apportion import theory
from apportion._common import validation
from apportion._common.formatting import readable
from apportion.model import response

Fact = tuple[str, str | float, str]


def show_theory(
    arms: int, horizon: float, b: float, sigma: float, c: float, means: str | None, as_json: bool
) -> None:
    """Print what theory says, as a table or as JSON."""
    facts = gather(arms, horizon, b, sigma, c, None if means is None else _numbers(means))
    if as_json:
        print(json.dumps(facts, indent=2, allow_nan=False))
        return
    title = f"{facts['arms']} arms, {readable(float(facts['horizon']))} periods, b = {b:g}, σ = {sigma:g}"
    title += "" if c == 1.0 else f", c = {c:g}"
    table = Table("what", Column("value", justify="right"), "source", title=title)
    for fact in facts["facts"]:
        value = fact["value"]
        table.add_row(fact["what"], readable(value) if isinstance(value, float) else str(value), fact["source"])
    Console().print(table)


def gather(
    arms: int, horizon: float, b: float, sigma: float, c: float = 1.0, means: list[float] | None = None
) -> dict[str, Any]:
    """The facts as plain data."""
    arms = arms if means is None else validation.whole("number of means", len(means), low=2)
    periods = validation.whole("horizon", horizon, low=1)
    b = validation.number("b", b, low=0.0, high=1.0)
    sigma = validation.number("sigma", sigma, above=0.0)
    c = validation.number("c", c, above=0.0, high=1.0)
    toy = theory.toy_example(arms, b, sigma, c)
    learning = round(c - b, 12)  # 0.7 − 0.2 is a half
    facts: list[Fact] = [
        ("pool or divide", "pool" if learning > 0.5 else "divide" if learning < 0.5 else "either",
         f"variance after {arms} periods: pooling {toy.pooling:.3g}, dividing {toy.dividing:.3g}")
    ]  # fmt: skip
    if c == 1.0:
        facts += _proportional_returns(arms, periods, b, sigma)
    if means is not None:
        facts += _given_means(means, periods, b, sigma, c)
    if any(isinstance(value, float) and not math.isfinite(value) for _, value, _ in facts):
        raise validation.refuse("sigma", f"small enough for finite bounds at a horizon of {horizon:g}", sigma)
    rows = [dict(zip(("what", "value", "source"), fact)) for fact in facts]
    return {"arms": arms, "horizon": periods, "b": b, "sigma": sigma, "c": c, "means": means, "facts": rows}


def _proportional_returns(arms: int, periods: int, b: float, sigma: float) -> list[Fact]:
    """What the paper says, of the worst means there are."""
    rate = theory.regret_rate(b)
    facts: list[Fact] = [
        ("worst-case regret grows as", rate.gap_independent, "Table 1"),
        ("regret for fixed gaps grows as", rate.gap_dependent, "Table 1"),
        ("no policy's worst case is below",
         theory.minimax_lower_bound(arms, periods, b, sigma, constant="sharp"), "Theorem 1, constant e^(-1/2)/16"),
        ("learning nothing, gaps of σ", sigma * periods * (1 - 1 / arms), "even split"),
    ]  # fmt: skip
    if b >= 0.5 and periods >= arms:
        setting: dict[str, Any] = {"horizon": periods, "b": b, "sigma": sigma, "arms": arms, "max_gap": sigma}
        for form, source in (("corrected", "Theorem 2, corrected"), ("anytime", "Theorem 2, anytime radius")):
            bound = theory.elimination_regret_bound(form=form, **setting)
            facts.append((f"SuccessiveElimination ({form}) stays below", bound, source))
    return facts


def _given_means(means: list[float], periods: int, b: float, sigma: float, c: float) -> list[Fact]:
    """What depends on the means: the optimum, and what is lost for not knowing it."""
    split, value = response.optimal_split(means, c=c), response.value(means, c=c)
    even = math.fsum(mean * len(means) ** -c for mean in means)
    facts: list[Fact] = [
        ("optimal split", ", ".join(f"{share:.1%}" for share in split), "means as given"),
        ("its return in a period", value, "one unit a period"),
        ("learning nothing, these means", periods * (value - even), "even split"),
    ]
    if c == 1.0 and b <= 0.5:
        facts.append(("regret ÷ log T is at least", theory.asymptotic_lower_bound(means, b, sigma), "Theorem 3"))
    if b <= c < 1.0 and min(means) > 0.0:
        facts.append(("regret ÷ log T of the best policies", theory.bent_constant(means, b, sigma, c), "C*"))
    return facts


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise validation.refuse("means", "numbers separated by commas", text) from None
