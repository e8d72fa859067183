"""A world played through asking and telling, as its owner would: period by period, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from apportion.allocation.allocator import Allocator
from apportion.model.world import Course, Played, World


def play_through(
    allocator: Allocator,
    world: World,
    budgets: Iterable[float],
    rng: np.random.Generator,
    names: Sequence[str] | None = None,
    *,
    common: bool = False,
) -> Played:
    """Ask for each budget, let the world answer, and tell; regret is against the best split of what was spent.

    `names`: the arms of the world by their names in the allocator, all of them in order unless given. An allocator
    that minimises is told costs: what the world returns with the sign changed, so its means are below 0. `common`:
    noise that runs of several policies share (`Course`).

    >>> from apportion import Instance, Uniform
    >>> allocator = Allocator(Uniform(), ("search", "social"), b=0.5)
    >>> play_through(allocator, Instance((1.0, 0.5), b=0.5), [1.0, 2.0], np.random.default_rng(1)).regret.tolist()
    [0.25, 0.5]
    """
    arms = allocator.arms if names is None else names
    course = Course(world, rng, common)
    sign = -1.0 if allocator.minimise else 1.0
    return ask_and_tell(_unexplained(allocator), allocator.tell, course, budgets, arms, sign)


class Asked(NamedTuple):
    """A split without words: what a simulation needs of it."""

    ticket: int
    amounts: dict[str, float]


def _unexplained(allocator: Allocator) -> Callable[[float], Asked]:
    """`ask` without beliefs and reasons, which nobody reads in a simulation and which take half of its time."""

    def ask(budget: float) -> Asked:
        decision = allocator.decide(budget)
        return Asked(allocator.commit(decision), dict(zip(decision.arms, decision.amounts.tolist())))

    return ask


def ask_and_tell(
    ask: Callable[[float], Any],
    tell: Callable[[Any, dict[str, float]], object],
    course: Course,
    budgets: Iterable[float],
    names: Sequence[str],
    sign: float = 1.0,
) -> Played:
    """The same for whoever gives a split (with `amounts` and a `ticket`) when asked and takes outcomes by ticket."""
    played = []
    for budget in budgets:
        split = ask(budget)
        played.append(course.play([[split.amounts.get(name, 0.0) for name in names]]))
        outcomes = zip(names, played[-1].outcomes[0].tolist())
        tell(split.ticket, {name: sign * value for name, value in outcomes if value == value})
    if not played:
        return course.play(np.zeros((0, len(names))))
    return Played(*(np.concatenate(parts) for parts in zip(*played)))
