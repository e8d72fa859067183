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


def show_theory(arms: int, horizon: float, b: float, sigma: float, as_json: bool) -> None:
    """Print what theory says, as a table or as JSON."""
    facts = gather(arms, horizon, b, sigma)
    if as_json:
        print(json.dumps(facts, indent=2, allow_nan=False))
        return
    title = f"{arms} arms, {readable(float(facts['horizon']))} periods, b = {b:g}, σ = {sigma:g}"
    table = Table("what", Column("value", justify="right"), "source", title=title)
    for fact in facts["facts"]:
        value = fact["value"]
        table.add_row(fact["what"], readable(value) if isinstance(value, float) else str(value), fact["source"])
    Console().print(table)


def gather(arms: int, horizon: float, b: float, sigma: float) -> dict[str, Any]:
    """The facts as plain data."""
    periods = validation.whole("horizon", horizon, low=1)
    b = validation.number("b", b, low=0.0, high=1.0)
    sigma = validation.number("sigma", sigma, above=0.0)
    toy = theory.toy_example(arms, b, sigma)
    rate = theory.regret_rate(b)
    facts: list[tuple[str, str | float, str]] = [
        ("pool or divide", "pool" if b < 0.5 else "divide" if b > 0.5 else "either",
         f"variance after {arms} periods: pooling {toy.pooling:.3g}, dividing {toy.dividing:.3g}"),
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
    if any(isinstance(value, float) and not math.isfinite(value) for _, value, _ in facts):
        raise validation.refuse("sigma", f"small enough for finite bounds at a horizon of {horizon:g}", sigma)
    rows = [dict(zip(("what", "value", "source"), fact)) for fact in facts]
    return {"arms": arms, "horizon": periods, "b": b, "sigma": sigma, "facts": rows}
