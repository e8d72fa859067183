"""The contract of policies: one check for each thing that every policy guarantees."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from apportion._common.compiled import compiled
from apportion.allocation.allocator import Allocator
from apportion.errors import ApportionError
from apportion.model.law import Instance
from apportion.model.sums import Floats, Sums, no_sums, observe, powers_of
from apportion.policies import Policy, policy_from_dict
from apportion.policies.contract import Period, decide, decide_now
from apportion.policies.parameters import parameters_of
from apportion.simulation.engines.dense import Dense
from apportion.simulation.engines.records import empty_traces
from apportion.simulation.engines.streams import streams

# A policy, or a function from the number of arms to one.
PolicyMaker = Policy | Callable[[int], Policy]

# Shares may miss 1 by rounding only.
_SUM_TOLERANCE = 1e-9
# Plain and compiled code may differ in the last places where a library function does.
_COMPILED_TOLERANCE = 1e-12


class ContractBroken(ApportionError, AssertionError):
    """A policy, a world or a store violates its contract; the message says which check failed, and where."""


def _for_arms(policy_maker: PolicyMaker, arms: int) -> Policy:
    """A policy for that many arms: the policy itself, unless it must know the number."""
    return policy_maker if isinstance(policy_maker, Policy) else policy_maker(arms)


def _b_of(policy: Policy) -> float:
    """The b of the worlds to try it in: its own, or 1/2 where it takes none or learns it."""
    b = getattr(policy, "b", None)
    return 0.5 if b is None else float(b)


def _c_of(policy: Policy) -> float:
    """The c of the worlds to try it in: its own, or 1 where it takes none."""
    c = getattr(policy, "c", None)
    return 1.0 if c is None else float(c)


def _levelled(policy: Policy, arms: int) -> Policy:
    """The policy with a σ for every arm, where it can be given one; else as it is."""
    per_arm = {parameter.name for parameter in parameters_of(type(policy)) if parameter.per_arm}
    if "sigma" not in per_arm:
        return policy
    return dataclasses.replace(policy, sigma=tuple(0.5 + 0.25 * arm for arm in range(arms)))  # type: ignore[type-var]


def _no_sums(policy: Policy, arms: int) -> Any:
    """The sums that the policy reads in live use, or in simulations where it has no other, before any outcome."""
    return no_sums(policy.reads if policy.laboratory or hasattr(policy.reads, "new") else Sums, arms)


def _world(policy: Policy, arms: int, seed: int, scale: float = 1.0, centre: float = 0.5) -> Instance:
    means = centre + scale * np.random.default_rng(seed).random(arms)
    return Instance(tuple(means), b=_b_of(policy), sigma=scale, c=_c_of(policy))


def rollout(policy: Policy, world: Instance, periods: int, seed: int, shock: int | None = None) -> Floats:
    """The shares of a plain run, (periods, arms). `shock`: a period whose outcomes are shifted by 1000·σ."""
    rng, noise = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    record, memory = policy.prepared(world.arms, periods), policy.initial_memory(world.arms)
    sums = _no_sums(policy, world.arms)
    history = np.empty((periods, world.arms))
    for number in range(1, periods + 1):
        shares = decide_now(record, Period(number, periods, 1.0), sums, memory, rng)
        history[number - 1] = shares
        outcomes = world.draw(np.clip(np.nan_to_num(shares), 0.0, 1.0), noise)  # `check_shares` reports others
        for arm in np.flatnonzero(shares > 0.0).tolist():
            shift = 1e3 * world.sigmas[arm] if number == shock else 0.0
            with np.errstate(all="ignore"):
                amount = shares[arm]
                observe(sums, arm, outcomes[arm] + shift, powers_of(amount, world.b, world.c))
    return history


def _require(condition: bool, sentence: str, policy: Policy) -> None:
    if not condition:
        raise ContractBroken(f"{policy.label}: {sentence}")


def _require_shares(shares: Floats, where: str, policy: Policy) -> None:
    _require(bool(np.isfinite(shares).all()), f"shares must be finite {where}; got {shares}", policy)
    _require(bool((shares >= 0.0).all()), f"shares must not be negative {where}; got {float(shares.min())!r}", policy)
    total = float(shares.sum())
    _require(abs(total - 1.0) <= _SUM_TOLERANCE, f"shares must add up to 1 {where}; got {total!r}", policy)


def check_shares(policy_maker: PolicyMaker) -> None:
    """Shares are finite, non-negative and add up to 1, in every period of runs with few and many arms."""
    for arms in (1, 2, 3, 17):
        policy = _for_arms(policy_maker, arms)
        for number, shares in enumerate(rollout(policy, _world(policy, arms, arms), 40, seed=arms), start=1):
            _require_shares(shares, f"in period {number} with {arms} arms", policy)


def check_causality(policy_maker: PolicyMaker) -> None:
    """The decision of period t does not depend on the outcomes of period t."""
    policy = _for_arms(policy_maker, 3)
    world = _world(policy, 3, 5)
    for shock in (1, 2, 7):
        unchanged, shifted = (rollout(policy, world, 12, 3, shock=at) for at in (None, shock))
        same = np.array_equal(unchanged[:shock], shifted[:shock])
        _require(same, f"the shares of period {shock} must not depend on its outcomes", policy)


def check_permutation(policy_maker: PolicyMaker) -> None:
    """Permuting the arms, each with its σ, permutes the shares; in law, for a policy that draws."""
    arms = 5
    policy = _levelled(_for_arms(policy_maker, arms), arms)
    rng = np.random.default_rng(11)
    sums, memory = _random_past(policy, arms, rng)
    order = rng.permutation(arms)
    as_they_are = np.arange(arms)
    records = {tuple(take): policy.restricted(take.tolist()).prepared(arms, 1000) for take in (as_they_are, order)}
    period = Period(25, 1000, 1.0)

    def decided(take: Any, seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        return decide_now(records[tuple(take)], period, sums.take(take), memory[take].copy(), rng)

    if not policy.randomised:
        straight, permuted = decided(as_they_are, 1), decided(order, 1)
        close = np.allclose(straight[order], permuted, rtol=1e-9, atol=1e-12)
        _require(close, f"permuting arms must permute shares; got {straight[order]} and {permuted}", policy)
        return
    # Error budget: five comparisons of two means at five standard errors, below 3e-6 in all; fixed seeds.
    draws = 3000
    straight = np.array([decided(as_they_are, seed)[order] for seed in range(draws)])
    permuted = np.array([decided(order, draws + seed) for seed in range(draws)])
    error = np.sqrt((straight.var(axis=0) + permuted.var(axis=0)) / draws) + 1e-9
    difference = np.abs(straight.mean(axis=0) - permuted.mean(axis=0)) / error
    _require(
        bool((difference < 5.0).all()),
        f"permuting arms must permute shares in law; {difference} standard errors",
        policy,
    )


def check_scale(policy_maker: PolicyMaker) -> None:
    """Outcomes in another unit, and every σ with them, leave the shares as they are."""
    arms, unit = 5, 8.0  # a power of 2 changes no digit
    policy = _levelled(_for_arms(policy_maker, arms), arms)
    if "sigma" not in policy.parameters or policy.parameters["sigma"] is None:
        return
    sigma = policy.parameters["sigma"]
    sigma = tuple(unit * level for level in sigma) if isinstance(sigma, tuple) else unit * sigma
    larger = dataclasses.replace(policy, sigma=sigma)  # type: ignore[type-var]
    found = []
    for each, scale in ((policy, 1.0), (larger, unit)):
        sums, memory = _random_past(each, arms, np.random.default_rng(11), scale)
        record, rng = each.prepared(arms, 1000), np.random.default_rng(1)
        found.append(decide_now(record, Period(25, 1000, 1.0), sums, memory, rng))
    close = np.allclose(found[0], found[1], rtol=1e-9, atol=1e-12)
    _require(close, f"the unit of outcomes must not change shares; got {found[0]} and {found[1]}", policy)


def _random_past(policy: Policy, arms: int, rng: np.random.Generator, scale: float = 1.0) -> tuple[Any, Floats]:
    """A past without ties, close enough that every arm still has a chance; outcomes are multiplied by `scale`."""
    sums, memory = _no_sums(policy, arms), policy.initial_memory(arms)
    b, c = _b_of(policy), _c_of(policy)
    for _ in range(24):
        for arm, amount in enumerate(rng.dirichlet(np.ones(arms))):
            returned = scale * (amount**c * (0.5 + 0.1 * arm) + amount**b * rng.standard_normal())
            observe(sums, arm, returned, powers_of(amount, b, c))
    return sums, memory


def check_seed(policy_maker: PolicyMaker) -> None:
    """The same seed gives the same run."""
    policy = _for_arms(policy_maker, 4)
    world = _world(policy, 4, 2)
    first, second = (rollout(policy, world, 30, seed=9) for _ in range(2))
    _require(np.array_equal(first, second), "the same seed must give the same run", policy)


def check_compiled(policy_maker: PolicyMaker) -> None:
    """Plain and compiled code decide alike, over a whole simulated run."""
    policy = _for_arms(policy_maker, 4)
    world = _world(policy, 4, 21)
    results = []
    for plain in (True, False):
        traces = empty_traces(2, 60, 4)
        memory = Dense(policy, world, 60, range(1, 61), plain=plain).run(streams("check", 3, 0, 2), traces)
        results.append((traces.regret, traces.reward, memory))
    for plain, fast in zip(*results):
        close = np.allclose(plain, fast, rtol=_COMPILED_TOLERANCE, atol=_COMPILED_TOLERANCE)
        _require(close, f"plain and compiled runs must agree; got {plain} and {fast}", policy)


def check_json(policy_maker: PolicyMaker) -> None:
    """A policy, and an allocator in the middle of a run, survive JSON and go on as before."""
    policy = _for_arms(policy_maker, 3)
    copy = policy_from_dict(json.loads(json.dumps(policy.to_state())))
    _require(copy == policy, f"JSON must bring back the same policy; got {copy.label}", policy)
    allocator = Allocator(policy, ("a", "b", "c"), seed=4, horizon=50)
    noise = np.random.default_rng(8)
    for step in range(12):
        if step == 6:
            allocator = _restored(allocator, policy)
        split = allocator.ask(10.0 + step)
        allocator.tell(split.ticket, {arm: amount * noise.random() for arm, amount in split.amounts.items()})


def _restored(allocator: Allocator, policy: Policy) -> Allocator:
    """The restored allocator, after checking that it decides as the original does."""
    state = allocator.to_json()
    restored = Allocator.from_json(state)
    ours, theirs = allocator.ask(7.0), restored.ask(7.0)
    _require(ours.amounts == theirs.amounts, "a restored allocator must go on as the original", policy)
    _require(allocator.to_json() == restored.to_json(), "a restored allocator must end in the same state", policy)
    return Allocator.from_json(state)


def check_extremes(policy_maker: PolicyMaker) -> None:
    """Shares stay finite: σ from 1e-9 to 1e9, means to ±1e6, equal means, one period."""
    for sigma in (1e-9, 1.0, 1e9):
        for centre in (-1e6, 0.0, 1e6):
            policy = _for_arms(policy_maker, 3)
            if "sigma" in policy.parameters:
                policy = dataclasses.replace(policy, sigma=sigma)  # type: ignore[type-var]
            for means in ((centre, centre, centre), (centre, centre + 1.0, centre - 1.0)):
                world = Instance(means, b=_b_of(policy), sigma=sigma, c=_c_of(policy))
                for shares in rollout(policy, world, 12, seed=1):
                    _require_shares(shares, f"at σ = {sigma:g}, means near {centre:g}", policy)
    policy = _for_arms(policy_maker, 2)
    _require_shares(rollout(policy, _world(policy, 2, 1), 1, seed=1)[0], "where T = 1", policy)


def check_many_arms(policy_maker: PolicyMaker) -> None:
    """100,000 arms: shares stay finite, before and after the first outcomes."""
    arms = 100_000
    policy = _for_arms(policy_maker, arms)
    rng = np.random.default_rng(13)
    record, memory, sums = policy.prepared(arms, 100), policy.initial_memory(arms), _no_sums(policy, arms)
    b, c = _b_of(policy), _c_of(policy)
    for number in (1, 2, 3):
        shares = np.zeros(arms)
        compiled(decide)(record, Period(number, 100, 1.0), sums, memory, rng, shares)
        _require_shares(shares, f"in period {number} with {arms} arms", policy)
        amounts = np.full(arms, 1.0 / arms)
        outcomes = amounts**c * rng.random(arms) + amounts**b * rng.standard_normal(arms)
        for arm in range(arms) if number == 1 else range(0):
            observe(sums, arm, outcomes[arm], powers_of(amounts[arm], b, c))


# Every check above, in order: one more needs only its name.
POLICY_CHECKS: tuple[Callable[[PolicyMaker], None], ...] = tuple(
    check for name, check in globals().items() if name.startswith("check_")
)


def check_policy(policy_maker: PolicyMaker) -> None:
    """Run every check; `policy_maker` is a policy, or a function from the number of arms to one."""
    for check in POLICY_CHECKS:
        check(policy_maker)
