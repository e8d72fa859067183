"""The past that an allocator keeps: sums as the policy reads them, or all that `Auto` learns from."""

from collections.abc import Sequence
from typing import Any, Self

from apportion._common import validation
from apportion.inference.knowledge import Knowledge
from apportion.inference.learner import FIT, KEPT_PERIODS, LONGEST_INTERVAL, Learning
from apportion.inference.past import LearnedPast
from apportion.model import trimmed_mean
from apportion.policies import Policy
from apportion.policies.contract import noise_exponent_for, return_exponent_for

Past = trimmed_mean.Past | LearnedPast


class HeldLaw(LearnedPast):
    """A past whose law (c, b, σ_i, how fast returns move) stays as it was last fitted; returns are still followed.

    For what is played in a simulation from today on: a fit takes as long as some hundred periods, and learns from
    simulated outcomes what the simulation was given.
    """

    @classmethod
    def of(cls, past: LearnedPast) -> Self:
        """The same past, held from now on; the other one must not be used any more."""
        past.sums()  # so that there is a fit
        held = cls.__new__(cls)
        vars(held).update(vars(past))
        return held

    def _learn(self) -> Knowledge:
        clock = self._learner.clock
        if clock[FIT] > 0 and (due := self._fitted_after(self._last())):
            clock[FIT] = due  # as if it had been made
        return super()._learn()


def past_for(
    policy: Policy,
    arms: int,
    *,
    b: float | None = None,
    c: float | None = None,
    half_life: float | None = None,
    window: int | None = None,
    robust: bool = False,
) -> Past:
    """Nothing yet, of so many arms. A memory that is given takes the place of one that is learned.

    Where outliers are trimmed, returns are taken as proportional unless c is given.
    """
    if policy.laboratory:
        raise validation.refuse("policy", "one for live use", f"{policy.label}, which is for simulations")
    kind = policy.reads
    if not isinstance(kind, Learning):
        exponent, bend = noise_exponent_for(policy, b), return_exponent_for(policy, c)
        return trimmed_mean.new_past(arms, exponent, half_life, window, robust, bend)
    for name, value in (("b", b), ("c", c)):
        if value is not None and value != getattr(policy, name):
            shown = validation.shown(value)
            raise validation.refuse(name, f"given to the policy, as {type(policy).__name__}({name}={shown})", value)
    if half_life is None and window is None and not validation.flag("robust", robust):
        return LearnedPast(arms, kind)
    # Groups that are trimmed have a centre for every b, not for every c besides.
    grid = kind.grid._replace(c=kind.grid.c[-1:]) if robust else kind.grid
    return trimmed_mean.new_past(arms, grid, half_life, window, robust)


def past_from_dict(state: dict[str, Any]) -> Past:
    """What `to_dict` of any of them wrote."""
    return LearnedPast.from_dict(state) if "learned" in state else trimmed_mean.past_from_dict(state)


def is_outdated(state: dict[str, Any]) -> bool:
    """Whether these were written for a policy that learned less: they say too little by now.

    Of b and one σ, at c = 1, or of fewer of the last periods; or it learned anew in other periods.
    """
    one = state["groups"][0] if state.get("groups") else state
    if "learned" in one:
        return (one.get("kept"), one.get("longest")) != (KEPT_PERIODS, LONGEST_INTERVAL)
    return isinstance(one.get("b"), list) and "c" not in one


def exponents_of(past: Past) -> tuple[float | None, float | None]:
    """b and c that sums are taken at; None where there are several, to be learned."""
    return _one(past.b), _one(past.c)


def _one(exponents: float | Sequence[float]) -> float | None:
    if isinstance(exponents, Sequence):
        return float(exponents[0]) if len(exponents) == 1 else None
    return float(exponents)
