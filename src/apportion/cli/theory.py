"""`apportion theory`: bounds and rates for a setting."""

from __future__ import annotations

import json
import math
from typing import Any

from rich.console import Console
from rich.table import Table

from apportion import theory
from apportion._common import validation
from apportion._common.formatting import readable


def show_theory(arms: int, horizon: float, b: float, sigma: float, as_json: bool) -> None:
    """Print what theory says, as a table or as JSON."""
    facts = gather(arms, horizon, b, sigma)
    if as_json:
        print(json.dumps(facts, indent=2, allow_nan=False))
        return
    table = Table(title=f"{arms} arms, {readable(float(facts['horizon']))} periods, b = {b:g}, σ = {sigma:g}")
    table.add_column("what")
    table.add_column("value", justify="right")
    table.add_column("source")
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
    facts: list[dict[str, Any]] = [
        {
            "what": "pool or divide",
            "value": "pool" if b < 0.5 else "divide" if b > 0.5 else "either",
            "source": f"variance after {arms} periods: pooling {toy.pooling:.3g}, dividing {toy.dividing:.3g}",
        },
        {"what": "worst-case regret grows as", "value": rate.gap_independent, "source": "Table 1"},
        {"what": "regret for fixed gaps grows as", "value": rate.gap_dependent, "source": "Table 1"},
        {
            "what": "no policy's worst case is below",
            "value": theory.minimax_lower_bound(arms, periods, b, sigma, constant="sharp"),
            "source": "Theorem 1, constant e^(-1/2)/16",
        },
        {"what": "learning nothing, gaps of σ", "value": sigma * periods * (1 - 1 / arms), "source": "even split"},
    ]
    if b >= 0.5 and periods >= arms:
        for form, source in (("corrected", "Theorem 2, corrected"), ("anytime", "Theorem 2, anytime radius")):
            bound = theory.elimination_regret_bound(
                horizon=periods, b=b, sigma=sigma, form=form, arms=arms, max_gap=sigma
            )
            facts.append({"what": f"SuccessiveElimination ({form}) stays below", "value": bound, "source": source})
    for fact in facts:
        if isinstance(fact["value"], float) and not math.isfinite(fact["value"]):
            raise validation.refuse("sigma", f"small enough for finite bounds at a horizon of {horizon:g}", sigma)
    return {"arms": arms, "horizon": periods, "b": b, "sigma": sigma, "facts": facts}
