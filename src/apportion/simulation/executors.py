"""Where tasks run: threads on this machine, any `concurrent.futures` executor, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from typing import Any, NamedTuple

from apportion._common import validation
from apportion.simulation.task import Arrays, Task, code_version, run_elsewhere, run_packed

# How often a task is tried again when the worker that had it is lost.
RETRIES = 3
LONGEST_REASON = 600


class Executed(NamedTuple):
    """The arrays of every task in order, None where it failed; and the tasks that failed, with the reason."""

    arrays: list[Arrays | None]
    failures: list[tuple[Task, str]]


class Store:
    """Where finished tasks are kept. This one keeps nothing: see `apportion.simulation.sweep` for one on disk."""

    def load(self, task: Task) -> Arrays | None:
        """The arrays of a task that was finished before."""
        return None

    def save(self, task: Task, arrays: Arrays) -> None:
        """Keep the arrays of a finished task."""


def execute(
    tasks: list[Task],
    *,
    workers: int | None = None,
    executor: Executor | Any | None = None,
    progress: bool | None = None,
    store: Store | None = None,
) -> Executed:
    """Run the tasks that the store does not have. A task that fails does not stop the others."""
    shelf = store or Store()
    arrays: list[Arrays | None] = [shelf.load(task) for task in tasks]
    pending = [place for place, found in enumerate(arrays) if found is None]
    failures: dict[int, str] = {}
    with progress_bar(progress, tasks, pending) as advance:
        for place, found, reason in _completed(tasks, pending, workers, executor):
            if found is None:
                failures[place] = reason
            else:
                shelf.save(tasks[place], found)
                arrays[place] = found
            advance(tasks[place])
    return Executed(arrays, [(tasks[place], failures[place]) for place in sorted(failures)])


Outcome = tuple[int, Arrays | None, str]


def _completed(
    tasks: list[Task], pending: list[int], workers: int | None, executor: Executor | Any | None
) -> Iterator[Outcome]:
    if executor is None:
        count = os.cpu_count() or 1 if workers is None else validation.whole("workers", workers, low=1)
        # Compiled runs release the interpreter lock, so threads are enough; and a fork after Numba's threads
        # have started would kill the child.
        pool = ThreadPoolExecutor(max_workers=count)
        try:
            yield from _from_executor(pool, tasks, pending)
        finally:  # Ctrl-C is told to the caller at once; Python ends only after the tasks that are under way
            pool.shutdown(wait=False, cancel_futures=True)
    elif isinstance(executor, Executor):
        yield from _from_executor(executor, tasks, pending)
    elif hasattr(executor, "submit") and hasattr(executor, "scheduler_info"):
        yield from _from_dask(executor, tasks, pending)
    else:
        raise validation.refuse("executor", "a concurrent.futures.Executor or a distributed.Client", executor)


def _from_executor(given: Executor, tasks: list[Task], pending: list[int]) -> Iterator[Outcome]:
    """Keep a bounded number of tasks under way; on the way out, cancel what has not begun.

    A process pool that loses a worker is broken for good, and does not say which task the worker had. So the tasks
    under way are tried again in a new pool, one at a time; one that breaks the pool on its own is given up.
    """
    pool, broken, barren = given, False, 0
    queue, suspects = deque(pending), deque[int]()
    attempts: Counter[int] = Counter()
    running: dict[Any, tuple[int, bool]] = {}
    keep_busy = 2 * getattr(given, "_max_workers", 32)
    try:
        while queue or suspects or running:
            if broken and not running:
                renewed = _renewed(pool) if barren < RETRIES else None
                if renewed is None:
                    for place in (*suspects, *queue):
                        yield place, None, "the executor is broken: a worker of it ended all of a sudden"
                    return
                pool, broken = renewed, False
            waiting, most, alone = (suspects, 1, True) if suspects else (queue, keep_busy, False)
            while waiting and len(running) < most and not broken:
                try:
                    future = _submitted(pool, tasks[waiting[0]])
                except BrokenExecutor:
                    broken, barren = True, barren + 1
                else:
                    running[future] = waiting.popleft(), alone
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                place, was_alone = running.pop(future)
                error = future.exception()
                if error is None:
                    barren = 0
                    yield place, future.result(), ""
                elif isinstance(error, BrokenExecutor):
                    broken = True
                    attempts[place] += was_alone
                    if attempts[place] < RETRIES:
                        suspects.append(place)
                    else:
                        yield place, None, f"the worker that had it ended all of a sudden, {RETRIES} times"
                else:
                    yield place, None, reason_of(error)
    finally:
        for future in running:
            future.cancel()
        if pool is not given:
            pool.shutdown(wait=False, cancel_futures=True)


def _submitted(pool: Executor, task: Task) -> Any:
    try:
        return pool.submit(run_elsewhere, task, code_version(task))
    except BrokenExecutor:
        raise
    except RuntimeError as error:  # it was shut down
        raise validation.refuse("executor", "an executor that takes tasks", f"one that says: {error}") from error


def _renewed(pool: Executor) -> Executor | None:
    """A pool like the one that broke; None where it cannot be made. Never by fork: threads are running."""
    if not isinstance(pool, ProcessPoolExecutor):
        return None
    settings = vars(pool)
    context = settings["_mp_context"]
    if context.get_start_method() == "fork":
        context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        settings["_max_workers"], context, initializer=settings["_initializer"], initargs=settings["_initargs"]
    )


def _from_dask(client: Any, tasks: list[Task], pending: list[int]) -> Iterator[Outcome]:
    """Dask's own futures: a task whose worker is lost goes to another one."""
    import cloudpickle
    from distributed import as_completed

    queue = deque(pending)
    places: dict[Any, int] = {}
    done = as_completed(loop=client.loop)
    run = uuid.uuid4().hex

    def start() -> None:
        place = queue.popleft()
        task = tasks[place]
        packed = cloudpickle.dumps(task)  # the scheduler must not look inside: it may lack the policy's module
        future = client.submit(
            run_packed, packed, code_version(task), pure=False, retries=RETRIES, key=f"apportion-{run}-{place}"
        )
        places[future] = place
        done.add(future)

    try:
        threads = sum(client.nthreads().values())
        while queue and len(places) < max(64, 4 * threads):
            start()
        for future in done:
            place = places.pop(future)
            yield _dask_outcome(place, future)
            future.release()
            if queue and client.status == "running":
                start()
        for place in queue:
            yield place, None, "the cluster was lost"
    finally:
        if places and client.status == "running":
            client.cancel(list(places))


def _dask_outcome(place: int, future: Any) -> Outcome:
    try:
        if future.status == "error":
            return place, None, reason_of(future.exception())
        return place, future.result(), ""
    except (Exception, CancelledError) as error:  # whatever the cluster did to it, the other tasks go on
        return place, None, reason_of(error)


def reason_of(error: BaseException | None) -> str:
    """An exception in one line of a length that can be read."""
    if error is None:
        return "it was lost"
    said = " ".join(str(error).split()).rstrip(".")
    told = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return told if len(told) <= LONGEST_REASON else told[: LONGEST_REASON - 1] + "…"


@contextmanager
def progress_bar(wanted: bool | None, tasks: list[Task], pending: list[int]) -> Iterator[Callable[[Task], None]]:
    """A bar with rate and time left; silent unless on a terminal or asked for."""
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    if not (on_terminal if wanted is None else wanted):
        yield lambda task: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    total = sum(_work(task) for task in tasks)
    ready = total - sum(_work(tasks[place]) for place in pending)
    with Progress(*columns, console=Console(stderr=True)) as bar:
        line = bar.add_task("simulating", total=total, completed=ready, rate="")
        start, done = time.perf_counter(), 0

        def advance(task: Task) -> None:
            nonlocal done
            done += _work(task)
            rate = done / max(time.perf_counter() - start, 1e-9)
            bar.update(line, advance=_work(task), rate=f"{rate / 1e6:,.1f} M arm-periods/s")

        yield advance


def _work(task: Task) -> int:
    return (task.last - task.first) * task.horizon * task.instance.arms
