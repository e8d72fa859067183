"""Where tasks run: threads on this machine, any `concurrent.futures` executor, or a Dask cluster."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, NamedTuple

from apportion import checks
from apportion.simulation.task import Arrays, Task, run_task

# How often a task is tried again when the worker that had it is lost.
RETRIES = 3


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
    failures: list[tuple[Task, str]] = []
    with progress_bar(progress, tasks, pending) as advance:
        for place, found, reason in _completed(tasks, pending, workers, executor):
            if found is None:
                failures.append((tasks[place], reason))
            else:
                shelf.save(tasks[place], found)
                arrays[place] = found
            advance(tasks[place])
    return Executed(arrays, failures)


Outcome = tuple[int, Arrays | None, str]


def _completed(
    tasks: list[Task], pending: list[int], workers: int | None, executor: Executor | Any | None
) -> Iterator[Outcome]:
    if executor is None:
        count = os.cpu_count() or 1 if workers is None else checks.whole("workers", workers, low=1)
        # Compiled runs release the interpreter lock, so threads are enough; and a fork after Numba's threads
        # have started would kill the child.
        with ThreadPoolExecutor(max_workers=count) as pool:
            yield from _from_executor(pool, tasks, pending, keep_busy=4 * count)
    elif isinstance(executor, Executor):
        yield from _from_executor(executor, tasks, pending, keep_busy=64)
    elif hasattr(executor, "submit") and hasattr(executor, "scheduler_info"):
        yield from _from_dask(executor, tasks, pending)
    else:
        raise checks.refuse("executor", "a concurrent.futures.Executor or a distributed.Client", executor)


def _from_executor(pool: Executor, tasks: list[Task], pending: list[int], keep_busy: int) -> Iterator[Outcome]:
    """Keep a bounded number of tasks under way; on the way out, cancel what has not begun."""
    queue = list(reversed(pending))
    running: dict[Any, int] = {}
    try:
        while queue or running:
            while queue and len(running) < keep_busy:
                place = queue.pop()
                running[pool.submit(run_task, tasks[place])] = place
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                place = running.pop(future)
                error = future.exception()
                yield (place, future.result(), "") if error is None else (place, None, _reason(error))
    finally:
        for future in running:
            future.cancel()


def _from_dask(client: Any, tasks: list[Task], pending: list[int]) -> Iterator[Outcome]:
    """Dask's own futures: a task whose worker is lost goes to another one."""
    from distributed import as_completed  # untyped, like all of Dask

    places = {}
    for place in pending:
        future = client.submit(
            run_task, tasks[place], pure=False, retries=RETRIES, key=f"apportion-{place}-{time.time_ns()}"
        )
        places[future] = place
    done = as_completed(places, with_results=False)
    try:
        for future in done:
            place = places[future]
            if future.status == "finished":
                yield place, future.result(), ""
            else:
                yield place, None, _reason(future.exception())
            future.release()
    finally:
        client.cancel([future for future in places if not future.done()])


def _reason(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}" if error is not None else "it was lost"


@contextmanager
def progress_bar(wanted: bool | None, tasks: list[Task], pending: list[int]) -> Iterator[Callable[[Task], None]]:
    """A bar with rate and time left; silent unless on a terminal or asked for."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
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
