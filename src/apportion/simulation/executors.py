"""Where tasks run: threads on this machine, any `concurrent.futures` executor, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from apportion._common import validation
from apportion.simulation.task import Arrays, Task, code_version, run_elsewhere, run_packed

# How often a task is tried again when the worker that had it is lost.
RETRIES = 3
# Tasks that are submitted at a time: enough that no worker waits for the next.
TASKS_PER_WORKER = 2
USUAL_WORKERS = 32
DASK_TASKS_PER_THREAD = 4
FEWEST_DASK_TASKS = 64
LONGEST_REASON = 600


class Executed(NamedTuple):
    """The arrays of every task in order, None where it failed; and the tasks that failed, with the reason."""

    arrays: list[Arrays | None]
    failures: list[tuple[Task, str]]


class Store:
    """Where finished tasks are stored. This one stores nothing: see `apportion.simulation.sweep` for one on disk."""

    def load(self, task: Task) -> Arrays | None:
        """The arrays of a task that was finished before."""
        return None

    def save(self, task: Task, arrays: Arrays) -> None:
        """Store the arrays of a finished task."""


def execute(
    tasks: list[Task],
    *,
    workers: int | None = None,
    executor: Executor | Any | None = None,
    progress: bool | None = None,
    store: Store | None = None,
) -> Executed:
    """Run the tasks that the store does not have. A task that fails does not stop the others."""
    store = store or Store()
    arrays: list[Arrays | None] = [store.load(task) for task in tasks]
    pending = [index for index, found in enumerate(arrays) if found is None]
    failures: dict[int, str] = {}
    with progress_bar(progress, tasks, pending) as advance:
        for done in _completed(tasks, pending, workers, executor):
            task = tasks[done.task_index]
            if done.arrays is None:
                failures[done.task_index] = done.reason
            else:
                store.save(task, done.arrays)
                arrays[done.task_index] = done.arrays
            advance(task)
    return Executed(arrays, [(tasks[index], failures[index]) for index in sorted(failures)])


class Completed(NamedTuple):
    """A task that is done, by its index: its arrays, or the reason why there are none."""

    task_index: int
    arrays: Arrays | None
    reason: str = ""


def _completed(
    tasks: list[Task], pending: list[int], workers: int | None, executor: Executor | Any | None
) -> Iterator[Completed]:
    if executor is None:
        count = os.cpu_count() or 1 if workers is None else validation.whole("workers", workers, low=1)
        # Compiled runs release the interpreter lock, so threads are enough; and a fork after Numba's threads
        # have started would kill the child.
        pool = futures.ThreadPoolExecutor(max_workers=count)
        try:
            yield from _from_executor(pool, tasks, pending)
        finally:  # Ctrl-C reaches the caller at once; Python ends only after the tasks that are running
            pool.shutdown(wait=False, cancel_futures=True)
    elif isinstance(executor, Executor):
        yield from _from_executor(executor, tasks, pending)
    elif hasattr(executor, "submit") and hasattr(executor, "scheduler_info"):
        yield from _from_dask(executor, tasks, pending)
    else:
        raise validation.refuse("executor", "a concurrent.futures.Executor or a distributed.Client", executor)


def _from_executor(given: Executor, tasks: list[Task], pending: list[int]) -> Iterator[Completed]:
    """Keep a bounded number of tasks running; when it ends early, cancel what has not begun.

    A process pool that loses a worker is broken for good, and does not say which task the worker had. So the tasks
    that were running are tried again in a new pool, one at a time; one that breaks the pool on its own is given up.
    """
    pool, broken = given, False
    broken_in_a_row = 0  # pools that broke before they finished a task
    queue, suspects = deque(pending), deque[int]()
    attempts: Counter[int] = Counter()
    running: dict[Any, tuple[int, bool]] = {}
    most_running = TASKS_PER_WORKER * getattr(given, "_max_workers", USUAL_WORKERS)
    try:
        while queue or suspects or running:
            if broken and not running:
                renewed = _renewed(pool) if broken_in_a_row < RETRIES else None
                if renewed is None:
                    for index in (*suspects, *queue):
                        yield Completed(index, None, "the executor is broken: a worker of it ended all of a sudden")
                    return
                pool, broken = renewed, False
            waiting, most, alone = (suspects, 1, True) if suspects else (queue, most_running, False)
            while waiting and len(running) < most and not broken:
                try:
                    future = _submitted(pool, tasks[waiting[0]])
                except BrokenExecutor:
                    broken, broken_in_a_row = True, broken_in_a_row + 1
                else:
                    running[future] = waiting.popleft(), alone
            for future in futures.wait(running, return_when=futures.FIRST_COMPLETED).done:
                index, was_alone = running.pop(future)
                error = future.exception()
                if error is None:
                    broken_in_a_row = 0
                    yield Completed(index, future.result())
                elif isinstance(error, BrokenExecutor):
                    broken = True
                    attempts[index] += was_alone
                    if attempts[index] < RETRIES:
                        suspects.append(index)
                    else:
                        reason = f"the worker that had it ended all of a sudden, {RETRIES} times"
                        yield Completed(index, None, reason)
                else:
                    yield Completed(index, None, reason_of(error))
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


def _from_dask(client: Any, tasks: list[Task], pending: list[int]) -> Iterator[Completed]:
    """Dask's own futures: a task whose worker is lost goes to another one."""
    import cloudpickle
    from distributed import as_completed

    queue = deque(pending)
    running: dict[Any, int] = {}
    done = as_completed(loop=client.loop)
    run = uuid.uuid4().hex

    def start() -> None:
        index = queue.popleft()
        task = tasks[index]
        packed = cloudpickle.dumps(task)  # the scheduler must not look inside: it may lack the policy's module
        future = client.submit(
            run_packed, packed, code_version(task), pure=False, retries=RETRIES, key=f"apportion-{run}-{index}"
        )
        running[future] = index
        done.add(future)

    try:
        threads = sum(client.nthreads().values())
        while queue and len(running) < max(FEWEST_DASK_TASKS, DASK_TASKS_PER_THREAD * threads):
            start()
        for future in done:
            yield _completed_by_dask(running.pop(future), future)
            future.release()
            if queue and client.status == "running":
                start()
        for index in queue:
            yield Completed(index, None, "the cluster was lost")
    finally:
        if running and client.status == "running":
            client.cancel(list(running))


def _completed_by_dask(index: int, future: Any) -> Completed:
    try:
        if future.status == "error":
            return Completed(index, None, reason_of(future.exception()))
        return Completed(index, future.result())
    except (Exception, futures.CancelledError) as error:  # whatever the cluster did to it, the other tasks go on
        return Completed(index, None, reason_of(error))


def reason_of(error: BaseException | None) -> str:
    """An exception in one line of a length that can be read."""
    if error is None:
        return "it was lost"
    message = " ".join(str(error).split()).rstrip(".")
    reason = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1] + "…"


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
    ready = total - sum(_work(tasks[index]) for index in pending)
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
    """Arm-periods."""
    return task.runs * task.horizon * int(task.instance.arms)
