"""Speed of rules: a split of 200 arms under 50 groups, disjoint or overlapping, within 50 ms."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import apportion as ap
from benchmarks.table import Row

ARMS, GROUPS, BAR = 200, 50, 0.05
SPLITS = 30


def rows() -> Iterator[Row]:
    """Each kind of groups: the median over different problems, and the slowest of them."""
    options = {"any amount": {}, "cents": {"resolution": 0.01}, "whole units": {"whole": True}}
    for kind, overlap in (("disjoint groups", False), ("overlapping groups", True)):
        for form, given in options.items():
            taken = [_seconds(seed, overlap, given) for seed in range(SPLITS)]
            splits, reasons = (sorted(each) for each in zip(*taken))
            what = f"{GROUPS} {kind}, {form}"
            yield Row(f"split, {what}, median", splits[SPLITS // 2], BAR, "s")
            yield Row(f"split, {what}, slowest of {SPLITS}", splits[-1], BAR, "s")
            yield Row(f"reasons in words, {what}, median", reasons[SPLITS // 2], None, "s")
    yield Row(f"naming rules that contradict, {GROUPS} groups", _conflict_seconds(), None, "s")


def problem(seed: int, overlap: bool) -> tuple[list[str], list[str], np.random.Generator]:
    """Arms, and rules that a split drawn at random keeps: half of them largest shares, half smallest ones."""
    rng = np.random.default_rng(seed)
    arms = [f"arm {number}" for number in range(ARMS)]
    inside = rng.dirichlet(np.ones(ARMS))
    rules = []
    for group in range(GROUPS):
        chosen = rng.choice(ARMS, 12, replace=False) if overlap else np.arange(group, ARMS, GROUPS)
        share, names = 100.0 * float(inside[chosen].sum()), " + ".join(arms[arm] for arm in chosen)
        rules.append(f"{names} <= {share + 0.05:.2f}%" if group % 2 else f"{names} >= {max(share - 0.05, 0.0):.2f}%")
    return arms, rules, rng


def _seconds(seed: int, overlap: bool, options: dict[str, object]) -> tuple[float, float]:
    """CPU seconds of a split, and of its reasons (mostly the chances of being the best); the least of several."""
    arms, rules, rng = problem(seed, overlap)
    allocator = ap.Allocator(ap.Odds(b=0.75, sigma=1.0), arms, rules=rules, seed=seed, **options)  # type: ignore[arg-type]
    split = allocator.ask(100_000)
    allocator.tell(split.ticket, {arm: float(rng.random()) for arm, amount in split.amounts.items() if amount})
    taken, explained = [], []
    for _ in range(3):
        start = time.process_time()
        split = allocator.explain(allocator.decide(100_000))
        taken.append(time.process_time() - start)
        start = time.process_time()
        assert len(split.reasons) == ARMS
        explained.append(time.process_time() - start)
    return min(taken), min(explained)


def _conflict_seconds() -> float:
    """What it takes to name the smallest set of rules that contradict each other."""
    arms, rules, _ = problem(0, True)
    allocator = ap.Allocator(ap.Uniform(), arms, seed=0)
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        try:
            allocator.set_option("rules", [*rules, "arm 3 >= 40%", "arm 5 >= 40%", "arm 7 >= 40%"])
        except ap.ApportionError:
            taken.append(time.perf_counter() - start)
    return min(taken)
