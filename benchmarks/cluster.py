"""`python -m benchmarks.cluster`: one sweep of 10^9 arm-periods over the real worlds on a Dask cluster of processes.

The sweep is stopped by Ctrl+C at a third, goes on from there, and loses a worker at two thirds; before it a tenth of
it is played by one process and by two. What was measured is written to `benchmarks/results/cluster.json` and between
the marks of `docs/how-to/dask-sweep.md`. Not part of `make bench`: it takes minutes. `--arm-periods 1e7` is a
rehearsal, which writes nothing but the machine code that the next run finds.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr
from distributed import Client, LocalCluster

from apportion.model.real_worlds import real_worlds
from apportion.simulation.definition import read_definition
from benchmarks.results import write_results

POLICIES = ("Uniform", "RiverUCB")
HORIZON = 400
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "dask-sweep.md"
BEGIN, END = "<!-- sweep of a thousand million: begin -->", "<!-- sweep of a thousand million: end -->"
_PART = 0.1
_GATHERER = """
import signal
import sys
from pathlib import Path
from distributed import Client
from apportion.simulation.definition import read_definition
from apportion.simulation.sweep import run_sweep
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell without a terminal has it ignored
with Client(sys.argv[3], set_as_default=False) as client:
    run_sweep(read_definition(Path(sys.argv[1])), Path(sys.argv[2]), executor=client, progress=True)
"""
# What a terminal shows is read in pieces of this size.
_PIECE = 65_536


class Run(NamedTuple):
    """One command: how it ended, what it took, what its terminal showed last, and the largest resident memory."""

    processes: int
    arm_periods: float
    seconds: float
    worker_seconds: float
    worker_memory: float
    gatherer_memory: float
    progress: str
    code: int


def definition_text(arm_periods: float) -> tuple[str, float]:
    """The sweep file with as many replications as give that many arm-periods, and how many they are."""
    worlds = real_worlds()
    each = sum(world.world.arms for world in worlds) * HORIZON * len(POLICIES)
    replications = max(2, -int(-arm_periods // each))
    lines = ["[sweep]", 'name = "Real worlds"', "seed = 1", f"replications = {replications}", f"horizon = {HORIZON}",
             "periods = 4"]  # fmt: skip
    lines += [line for world in worlds for line in ("", "[[instance]]", f'world = "{world.key}"')]
    lines += [line for policy in POLICIES for line in ("", "[[policy]]", f'name = "{policy}"')]
    return "\n".join(lines) + "\n", float(each * replications)


@contextmanager
def cluster_of(processes: int) -> Iterator[Client]:
    """A scheduler and workers that are processes of one thread, on the loopback address."""
    with (
        LocalCluster(
            n_workers=processes, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        client.wait_for_workers(processes, timeout=600)
        yield client


def play(
    client: Client,
    sweep: Path,
    folder: Path,
    arm_periods: float,
    on_file: Callable[[int, int], None] = lambda *_: None,
) -> Run:
    """`run_sweep` in a process of its own, on a terminal of its own; `on_file(files, pid)` sees finished tasks.

    It is what `apportion simulate --cluster` does before it draws pictures. Time is taken up to the last task.
    """
    address = str(client.scheduler.address) if client.scheduler else ""
    before = client.run(_processor_seconds)
    processes = len(client.nthreads())
    controller, terminal = pty.openpty()
    command = [sys.executable, "-c", _GATHERER, str(sweep), str(folder), address]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal, start_new_session=True) as running:
        os.close(terminal)
        shown: list[str] = []
        reader = threading.Thread(target=_read, args=(controller, shown))
        reader.start()
        workers, gatherer, seen, seconds = 0.0, 0.0, -1, 0.0
        while running.poll() is None:
            gatherer = max(gatherer, _largest_memory(running.pid))
            files = sum(1 for _ in (folder / "tasks").glob("*.npz"))
            if files != seen:
                seen, seconds = files, time.perf_counter() - start
                on_file(files, running.pid)
                found = client.run(_own_memory, on_error="ignore")
                workers = max([workers, *(value for value in found.values() if isinstance(value, float))])
            time.sleep(0.2)
        reader.join()
    after = client.run(_processor_seconds, on_error="ignore")
    spent = sum(value - before.get(worker, 0.0) for worker, value in after.items() if isinstance(value, float))
    lines = re.findall(r"simulating[^\r\n]*arm-periods/s[^\r\n]*", "".join(shown))
    progress = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", lines[-1]).strip() if lines else ""
    return Run(processes, arm_periods, seconds, spent, workers, gatherer, progress, running.returncode)


def _read(controller: int, shown: list[str]) -> None:
    """What the terminal shows, until it is closed."""
    try:
        while piece := os.read(controller, _PIECE):
            shown.append(piece.decode(errors="replace"))
    except OSError:  # the other end is gone
        pass
    finally:
        os.close(controller)


def _processor_seconds() -> float:
    return time.process_time()


def _own_memory() -> float:
    return _largest_memory(os.getpid())


def _largest_memory(pid: int) -> float:
    """The largest resident memory of a process so far, in MB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found.group(1)) / 1024 if found else 0.0


def the_same(one: Path, other: Path) -> bool:
    """Whether two folders have the same numbers, to the last bit."""
    name = f"result-T{HORIZON}.nc"
    with xr.open_dataset(one / name) as left, xr.open_dataset(other / name) as right:
        return all(bool((left[each].values == right[each].values).all()) for each in ("regret",))


def survived(client: Client, sweep: Path, folder: Path, arm_periods: float) -> tuple[list[Run], int, int]:
    """The sweep, stopped at a third, then with a worker killed at two thirds: both runs, files at the stop, tasks."""
    tasks = sum(len(plan.jobs()) for plan in read_definition(sweep).plans)
    at_stop, killed = 0, 0

    def stop(files: int, pid: int) -> None:
        nonlocal at_stop
        if files >= tasks / 3 and not at_stop:
            at_stop = files
            os.kill(pid, signal.SIGINT)

    def kill(files: int, pid: int) -> None:
        nonlocal killed
        if files >= 2 * tasks / 3 and not killed:
            killed = next(iter(client.run(os.getpid).values()))
            os.kill(killed, signal.SIGKILL)

    first = play(client, sweep, folder, arm_periods, stop)
    second = play(client, sweep, folder, arm_periods, kill)
    if second.code or not killed or not at_stop:
        raise SystemExit(f"The sweep did not survive: exit codes {first.code} and {second.code}.")
    return [first, second], at_stop, tasks


def page_text(rows: list[dict[str, Any]], words: str) -> str:
    """The table and the sentences of the page."""
    lines = [
        "| sweep | processes | wall time | processor time of the workers | arm-periods per processor second"
        " | largest worker | gathering process |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        speed = row["arm_periods"] / row["worker_seconds"] / 1e6 if row["whole"] else float("nan")
        shown = f"{speed:.1f} million" if row["whole"] else "–"
        times = f"{row['seconds']:.0f} s | {row['worker_seconds']:.0f} s | {shown}"
        memory = f"{row['worker_memory']:.0f} MB | {row['gatherer_memory']:.0f} MB"
        lines.append(f"| {row['what']} | {row['processes']} | {times} | {memory} |")
    return "\n".join([*lines, "", words])


def written_down(rows: list[dict[str, Any]], words: str) -> None:
    """The figures, and the table of the page."""
    write_results("cluster", [*rows, {"words": words}])
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{page_text(rows, words)}\n{END}{after}", encoding="utf-8")


def main() -> None:
    """Measure, and write down where it was the whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arm-periods", type=float, default=1e9)
    wanted = parser.parse_args().arm_periods
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        text, whole = definition_text(wanted)
        (folder / "sweep.toml").write_text(text, encoding="utf-8")
        with cluster_of(2) as client:
            runs, at_stop, tasks = survived(client, folder / "sweep.toml", folder / "sweep", whole)
        for what, run in zip(("the whole, stopped at a third", "resumed, a worker killed at two thirds"), runs):
            print(run, flush=True)
            rows.append({"what": what, "whole": False, **run._asdict()})
        size = sum(file.stat().st_size for file in (folder / "sweep").rglob("*")) / 1e6
        words = (
            f"{whole:.3g} arm-periods: {len(real_worlds())} real worlds × {', '.join(POLICIES)} × {HORIZON} periods,"
            f" {tasks} tasks. Ctrl+C at {at_stop} finished tasks lost none of them; the second command went on from"
            " there, lost a worker by `kill -9`, and finished. The last line of its progress:"
            f" `{runs[-1].progress}`. The folder has {size:.0f} MB. The machine has {os.cpu_count()} cores, which"
            " other work shared: read the processor times, not the wall times (up to the last task). Processor times"
            " are those of workers that lived to the end, what they compile included. Written by"
            " `python -m benchmarks.cluster`."
        )
        if wanted >= 1e9:
            written_down(rows, words)
        text, part = definition_text(_PART * wanted)
        (folder / "part.toml").write_text(text, encoding="utf-8")
        for processes in (1, 2):
            with cluster_of(processes) as client:
                run = play(client, folder / "part.toml", folder / f"part-{processes}", part)
            print(run, flush=True)
            rows.insert(processes - 1, {"what": "a tenth", "whole": True, **run._asdict()})
        same = the_same(folder / "part-1", folder / "part-2")
        words += f" One process and two give {'the same numbers to the last bit' if same else 'OTHER numbers'}."
    print(page_text(rows, words))
    if wanted >= 1e9:
        written_down(rows, words)


if __name__ == "__main__":
    main()
