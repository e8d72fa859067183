"""Sweeps that survive: each finished task is on disk, and the same command goes on where it was stopped."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from apportion._common import files
from apportion.errors import Conflict, InvalidValue, SimulationFailed
from apportion.simulation.definition import Definition
from apportion.simulation.executors import Store, execute
from apportion.simulation.result import Result
from apportion.simulation.simulate import gather
from apportion.simulation.task import Arrays, Task

# A draft that is older than this belongs to a run that was killed.
_STALE_SECONDS = 3600.0


class FolderStore(Store):
    """Finished tasks as files, named by the digest of their definition and of the code that ran them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for draft in folder.glob(f"*{files.DRAFT_SUFFIX}"):
            with contextlib.suppress(OSError):
                if time.time() - draft.stat().st_mtime > _STALE_SECONDS:
                    draft.unlink()

    def load(self, task: Task) -> Arrays | None:
        """The arrays of a finished task; None if there is no whole file."""
        try:
            with self._path(task).open("rb") as file, np.load(file, allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
        except Exception:  # no file, or something is wrong with it: running the task mends it
            return None
        complete = set(arrays) == set(task.returns) and all(len(values) == task.runs for values in arrays.values())
        return arrays if complete else None

    def save(self, task: Task, arrays: Arrays) -> None:
        """Write the arrays, whole or not at all."""
        with files.replacement(self._path(task), durable=True) as draft, draft.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    def _path(self, task: Task) -> Path:
        return self.folder / f"{task.digest()}.npz"


def run_sweep(
    definition: Definition,
    folder: Path,
    *,
    workers: int | None = None,
    executor: Executor | Any | None = None,
    progress: bool | None = None,
) -> list[Result]:
    """Run what is not finished yet; one result per horizon, each also saved in the folder as netCDF.

    A folder that holds another sweep is refused. A task that fails is reported with its parameters after the others
    have finished: `SimulationFailed`, with what they found in `results`.
    """
    jobs = [plan.jobs() for plan in definition.plans]
    tasks = [job.task for of_plan in jobs for job in of_plan]
    try:
        claim(definition, folder)
        store = FolderStore(folder / "tasks")
        done = execute(tasks, workers=workers, executor=executor, progress=progress, store=store)
        results, start = [], 0
        for plan, of_plan in zip(definition.plans, jobs):
            arrays = done.arrays[start : start + len(of_plan)]
            start += len(of_plan)
            results.append(gather(plan, of_plan, arrays))
            path = folder / f"result-T{plan.horizon}.nc"
            if all(found is not None for found in arrays):
                results[-1].save(path)
            else:  # what an earlier version of the code left there is not the result
                path.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidValue(f"{folder} must be a folder that can be written; got {error}.") from error
    if done.failures:
        heading = f"{len(done.failures)} of {len(tasks)} tasks failed; the others are kept in {folder}"
        raise SimulationFailed(done.failures, heading, results)
    return results


def claim(definition: Definition, folder: Path) -> None:
    """Make the folder this sweep's, or refuse it if it is another's."""
    described = definition.describe()
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
    marker = folder / "sweep.json"
    if marker.exists():
        try:
            known = json.loads(marker.read_text(encoding="utf-8")).get("digest")
        except (ValueError, AttributeError):
            known = None
        if known != digest:
            raise Conflict(f"{folder} holds the results of another sweep; choose another folder (--out).")
        return
    if folder.exists() and any(entry.suffix != files.DRAFT_SUFFIX for entry in folder.iterdir()):
        raise Conflict(f"{folder} is not empty and holds no sweep; choose another folder (--out).")
    folder.mkdir(parents=True, exist_ok=True)
    files.write_text(marker, json.dumps({"digest": digest, "definition": described}, indent=1))
