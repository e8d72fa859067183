"""Speed bars of the dense engine. The floor is the time to draw the same number of normals in compiled code."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numba
import numpy as np

import apportion as ap
from apportion.simulation.task import Task, run_task
from benchmarks.table import Row

ARMS, HORIZON = 10, 10_000
WORLD = ap.Instance((1.0, *(0.5 for _ in range(ARMS - 1))), b=0.75)
# Arms that stay in the race for long.
EVEN = ap.Instance(tuple(0.2 + 0.7 * arm / (ARMS - 1) for arm in range(ARMS)), b=0.75)
# Returns that diminish, and a noise level per arm.
LEVELS = tuple(0.5 + 0.1 * arm for arm in range(ARMS))
BENT = ap.Instance(WORLD.means, b=0.5, sigma=LEVELS, c=0.7)
REPEATS = 9


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _draw_normals(rng: np.random.Generator, count: int) -> float:
    total = 0.0
    for _ in range(count):
        total += rng.standard_normal()
    return total


class AmountTerms(NamedTuple):
    """What `OwnLaw` needs of an amount: itself, and its power."""

    amount: float
    deviation: float


class OwnLaw(ap.World):
    """The law of `Instance` at c = 1 as a user would write it."""

    means: tuple[float, ...]
    b: float
    sigma: float = 1.0

    def terms(self: Any, powers: Any) -> Any:
        return AmountTerms(powers.amount, powers.amount**self.b)

    def outcome(self: Any, number: Any, arm: Any, amount: Any, state: Any, rng: Any) -> Any:
        expected = amount.amount * self.means[arm]
        return expected, expected + amount.deviation * self.sigma * rng.standard_normal()

    def best_value(self: Any, number: Any, budget: Any, state: Any) -> Any:
        return budget * self.means.max()


def seconds(run: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    run()
    return clock() - start


def time_ratio(
    run: Callable[[], object],
    against: Callable[[], object],
    repeats: int = REPEATS,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The least time of one over the least of the other, measured in turn: the machine is the same for both."""
    run(), against()
    ours, theirs = zip(*((seconds(run, clock), seconds(against, clock)) for _ in range(repeats)))
    return min(ours) / min(theirs)


def task_of(policy: ap.Policy, world: ap.World = WORLD, horizon: int = HORIZON, count: int = 10) -> Task:
    return Task(policy, world, horizon, checkpoints=(horizon,), variables=("regret",), seed=1, first=0, last=count)


def normals(count: int) -> Callable[[], object]:
    rng = np.random.Generator(np.random.SFC64(1))
    return lambda: _draw_normals(rng, count * ARMS * HORIZON)


def rows() -> Iterator[Row]:
    """Every bar with what was measured."""
    b = WORLD.b
    for policy, bar, count in (
        (ap.Uniform(), 4.0, 10),
        (ap.SuccessiveElimination(b=b), 4.0, 10),
        (ap.EpsilonGreedy(b=b), 4.0, 10),
        (ap.Maillard(b=b), 20.0, 6),
        (ap.Odds(b=b), 30.0, 4),
        (ap.Matching(b=b), 400.0, 1),
    ):
        task = task_of(policy, count=count)
        ratio = time_ratio(lambda task=task: run_task(task), normals(count))  # type: ignore[misc]
        yield Row(f"{type(policy).__name__} over drawing the normals", ratio, bar, "×")
    for name, world in (("", WORLD), (" where arms stay long", EVEN), (" at c < 1", BENT)):
        task = task_of(ap.Auto(), world, count=1)
        ratio = time_ratio(lambda task=task: run_task(task), normals(1), clock=time.process_time)  # type: ignore[misc]
        yield Row(f"Auto{name} over drawing the normals (CPU)", ratio, 60.0, "×")
    for policy, count in ((ap.Uniform(), 10), (ap.Odds(b=b), 4)):
        own, ours = task_of(policy, OwnLaw(WORLD.means, b), count=count), task_of(policy, count=count)
        ratio = time_ratio(lambda: run_task(own), lambda: run_task(ours), clock=time.process_time)  # noqa: B023
        yield Row(f"a user's own world over the same built in, {type(policy).__name__}", ratio, 1.3, "×")
    for policy, count in ((ap.SuccessiveElimination(b=b), 10), (ap.EpsilonGreedy(b=b), 10)):
        task = task_of(policy, EVEN, count=count)
        ratio = time_ratio(lambda task=task: run_task(task), normals(count))  # type: ignore[misc]
        yield Row(f"{type(policy).__name__} where arms stay long, over the normals", ratio, 4.0, "×")
    for policy, bar in ((ap.Matching(b=0.5, sigma=LEVELS, c=0.7), 400.0), (ap.Recommended(0.5, LEVELS, 0.7), 400.0)):
        task = task_of(policy, BENT, count=1)
        ratio = time_ratio(lambda task=task: run_task(task), normals(1))  # type: ignore[misc]
        yield Row(f"{type(policy).__name__}, 32 draws at c < 1, over the normals", ratio, bar, "×")
    yield from _bent_over_straight()
    ucb = task_of(ap.UCB(), count=10)
    yield Row(
        "UCB, times faster than river", 1 / time_ratio(lambda: run_task(ucb), _river(10 * HORIZON)), 100, "×", True
    )
    yield Row("UCB, times faster than NumPy over replications", 1 / time_ratio(*_numpy_pair(ucb)), 4, "×", True)
    yield Row("two workers over one, throughput", _two_workers(), 1.6, "×", True)
    yield Row("cost per arm-period, T = 10^6 over T = 10^3", _growth(_long(), _short()), 1.5, "×")
    yield Row("cost per arm-period, K = 10^4 over K = 10", _growth(_wide(), _narrow()), 1.5, "×")
    yield Row("resident memory of 10^5 replications", _resident(), 1.0, "GB")
    slowest = max((_first_run(name), name) for name in _POLICIES)
    yield Row(f"first run in a new process, warm cache ({slowest[1]})", slowest[0], 1.0, "s")


def _bent_over_straight() -> Iterator[Row]:
    """What c < 1 and a σ per arm cost the same rule: that of policies whose rule does not change with them."""
    steep = ap.Instance(WORLD.means, b=WORLD.b, sigma=LEVELS, c=0.9)
    noisy = ap.Instance(WORLD.means, b=WORLD.b, sigma=LEVELS)
    for straight, bent, world in (
        (ap.Uniform(), ap.Uniform(), steep),
        (ap.Odds(b=0.75), ap.Odds(b=0.75, sigma=LEVELS), noisy),
        (ap.SuccessiveElimination(b=0.75), ap.SuccessiveElimination(b=0.75, sigma=LEVELS), noisy),
    ):
        one, other = task_of(bent, world, count=5), task_of(straight, count=5)
        ratio = time_ratio(lambda one=one: run_task(one), lambda other=other: run_task(other))  # type: ignore[misc]
        yield Row(f"{type(bent).__name__} with c < 1 or a σ per arm, over one σ at c = 1", ratio, 1.5, "×")


def _river(periods: int) -> Callable[[], object]:
    """river's UCB on the same arms, for as many periods, in ten runs."""
    from river.bandit import UCB

    means = np.array(WORLD.means)

    def run() -> None:
        rng = np.random.default_rng(1)
        policy = UCB(delta=1.0, seed=1)
        for _ in range(periods // 10):
            arm = policy.pull(range(ARMS))
            policy.update(arm, means[arm] + rng.standard_normal())

    def ten_times() -> None:
        for _ in range(10):
            run()

    return ten_times


def _numpy_pair(task: Task) -> tuple[Callable[[], object], Callable[[], object]]:
    """Ours and UCB1 vectorised over as many replications with NumPy, for a tenth of the periods each."""
    count = 1_000
    short = task_of(ap.UCB(), horizon=1_000, count=count)

    def vectorised() -> None:
        rng = np.random.Generator(np.random.SFC64(1))
        means, rows = np.array(WORLD.means), np.arange(count)
        pulls, sums = np.zeros((count, ARMS)), np.zeros((count, ARMS))
        for period in range(1, 1_001):
            if period <= ARMS:
                arm = np.full(count, period - 1)
            else:
                arm = (sums / pulls + np.sqrt(2 * np.log(period) / pulls)).argmax(axis=1)
            pulls[rows, arm] += 1
            sums[rows, arm] += means[arm] + rng.standard_normal(count)

    return lambda: run_task(short), vectorised


def _two_workers() -> float:
    def run(workers: int) -> None:
        ap.simulate(
            ap.UCB(), WORLD, horizon=HORIZON, replications=400, seed=1, workers=workers, periods=1, progress=False
        )

    return time_ratio(lambda: run(1), lambda: run(2), repeats=5)


class Workload(NamedTuple):
    """A task of the dense engine, and how many arm-periods it plays."""

    task: Task
    arm_periods: float


def _long() -> Workload:
    return Workload(task_of(ap.Uniform(), horizon=1_000_000, count=1), 1e6 * ARMS)


def _short() -> Workload:
    return Workload(task_of(ap.Uniform(), horizon=1_000, count=1_000), 1e6 * ARMS)


def _wide() -> Workload:
    world = ap.Instance((1.0, *(0.5 for _ in range(9_999))), b=0.75)
    return Workload(task_of(ap.Uniform(), world, horizon=1_000, count=1), 1e7)


def _narrow() -> Workload:
    return Workload(task_of(ap.Uniform(), horizon=100_000, count=10), 1e7)


def _growth(large: Workload, small: Workload) -> float:
    """The cost of an arm-period of one over that of the other."""
    ratio = time_ratio(lambda: run_task(large.task), lambda: run_task(small.task))
    return ratio * small.arm_periods / large.arm_periods


def _resident() -> float:
    """The most memory a process held that ran 10^5 replications, in GB."""
    code = textwrap.dedent("""
        import resource
        import apportion as ap
        world = ap.Instance((1.0, *(0.5 for _ in range(9))), b=0.75)
        ap.simulate(ap.UCB(), world, horizon=10_000, replications=100_000, seed=1, record=["regret"], periods=1,
                    progress=False)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
    """)
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


_POLICIES = (
    "SuccessiveElimination(b=.75)", "EpsilonGreedy(b=.75)", "UCB()", "Thompson(b=.75)", "FollowTheLeader()",
    "Hedge()", "Uniform()", "Oracle(means=(1.0, 0.5))", "Matching(b=.75)", "Odds(b=.75)", "Maillard(b=.75)",
    "AdaptiveElimination(b=.75)",
)  # fmt: skip


def _first_run(policy: str) -> float:
    """Wall seconds from asking for the first simulation to having it, imports of the engine included."""
    code = textwrap.dedent(f"""
        import time
        import apportion as ap
        policy, world = ap.{policy}, ap.Instance((1.0, 0.5), b=0.75)
        from apportion.simulation.task import Task, run_task
        start = time.perf_counter()
        run_task(Task(policy, world, 100, checkpoints=(100,), variables=("regret",), seed=1, first=0, last=1))
        print(time.perf_counter() - start)
    """)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    runs = [
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True,
                             env=environment).stdout)
        for _ in range(4)
    ]  # fmt: skip
    return min(runs[1:])
