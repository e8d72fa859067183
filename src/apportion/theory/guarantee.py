"""What a theorem promises for a policy on a world, where it covers its parameters and the noise."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from apportion.errors import InvalidValue
from apportion.theory.adaptive import adaptive_regret_bound
from apportion.theory.elimination import elimination_regret_bound
from apportion.theory.greedy import greedy_regret_bound, small_epsilon


def guaranteed_regret(
    policy: Mapping[str, Any], means: Sequence[float], *, b: float, sigma: float, horizon: int, proxy: float = 1.0
) -> float | None:
    """The largest expected regret up to the horizon that a proof allows; None where no theorem below covers the case.

    `policy` is what `Policy.to_dict` writes, or {"informed": name, "parameters": ...} for one that is given the
    truth. Regret never falls, so the value at the horizon holds for every period before. Covered are Theorem 2
    (`SuccessiveElimination` with the corrected or the anytime radius; the cycles need noise of one law), Theorem 4
    (`EpsilonGreedy`), and `AdaptiveElimination` by `adaptive_regret_bound`.

    `proxy` is that of the noise (`Noise.proxy`): the bounds hold with σ·√proxy in the place of σ, for a policy that
    needs no σ or was given that one. A policy with a b below the true one is covered, with the bounds of its own b.
    Where it fails: noise without a proxy (infinite), a σ (of any arm) that is not the true one, a b above the true
    one.

    >>> world = {"b": 0.75, "sigma": 1.0, "horizon": 10**6}
    >>> round(guaranteed_regret({"informed": "SuccessiveElimination", "parameters": {}}, [0.5, 0.0], **world))
    110352
    >>> guaranteed_regret({"informed": "Odds", "parameters": {}}, [0.5, 0.0], **world) is None
    True
    """
    given = dict(policy.get("parameters", {}))
    name, informed = policy.get("informed") or policy.get("name"), "informed" in policy
    own = given.get("b", b)
    if math.isinf(proxy) or own > b:
        return None
    b = own  # the theorems hold with every smaller b (docs/theory.md, Proposition 5)
    used = given.get("sigma", sigma if informed else 1.0)
    sigma *= math.sqrt(max(proxy, 1.0))
    levels = used if isinstance(used, (tuple, list)) else (used,)
    knows = all(math.isclose(level, sigma, rel_tol=1e-12) for level in levels)
    knows = knows and given.get("horizon") in (None, horizon)
    if name == "SuccessiveElimination":
        radius = given.get("radius", "corrected")
        plain = not given.get("pairwise") and given.get("delta") is None and radius in ("corrected", "anytime")
        if plain and knows and b >= 0.5 and horizon >= len(means):
            return elimination_regret_bound(means, horizon=horizon, b=b, sigma=sigma, form=radius)
    if name == "EpsilonGreedy" and b > 0.5:
        epsilon = small_epsilon(b) if given.get("epsilon") is None else given["epsilon"]
        form = "information" if given.get("leader") == "information" else "corrected"
        return greedy_regret_bound(means, b, epsilon, sigma, form)
    if name == "AdaptiveElimination" and knows:
        settings = {key: given[key] for key in ("scale", "floor", "split") if key in given}
        try:
            return adaptive_regret_bound(means, b=b, horizon=horizon, sigma=sigma, **settings)
        except InvalidValue:  # b, the floor or the gaps are outside of what the proof covers
            return None
    return None
