"""Sweeps that survive: each finished task is on disk, and the same command goes on where it was stopped."""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from apportion.errors import Conflict
from apportion.simulation.definition import Definition
from apportion.simulation.execute import Store, execute
from apportion.simulation.result import Result
from apportion.simulation.run import SimulationFailed, gather
from apportion.simulation.task import Arrays, Task


class FolderStore(Store):
    """Finished tasks as files, named by the digest of their definition and of the code that ran them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def load(self, task: Task) -> Arrays | None:
        """The arrays of a finished task; None if there is no whole file."""
        try:
            with np.load(self._path(task), allow_pickle=False) as found:
                return {name: found[name] for name in found.files}
        except (OSError, ValueError, EOFError, KeyError):
            return None

    def save(self, task: Task, arrays: Arrays) -> None:
        """Write the arrays beside, then rename: a file is there whole or not at all."""
        path = self._path(task)
        draft = path.with_suffix(f".{os.getpid()}.part")
        with draft.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)

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
    have finished.
    """
    claim(definition, folder)
    store = FolderStore(folder / "tasks")
    jobs = [plan.tasks() for plan in definition.plans]
    everything = [task for job in jobs for _, _, task in job]
    done = execute(everything, workers=workers, executor=executor, progress=progress, store=store)
    results, start = [], 0
    for plan, job in zip(definition.plans, jobs):
        arrays = done.arrays[start : start + len(job)]
        start += len(job)
        result = gather(plan, job, arrays)
        if all(found is not None for found in arrays):
            result.save(folder / f"result-T{plan.horizon}.nc")
        results.append(result)
    if done.failures:
        lines = "\n".join(f"  {task}: {reason}" for task, reason in done.failures)
        raise SimulationFailed(
            f"{len(done.failures)} of {len(everything)} tasks failed; the others are kept in {folder}:\n{lines}"
        )
    return results


def claim(definition: Definition, folder: Path) -> None:
    """Make the folder this sweep's, or refuse it if it is another's."""
    described = definition.describe()
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
    marker = folder / "sweep.json"
    if marker.exists():
        try:
            known = json.loads(marker.read_text(encoding="utf-8")).get("digest")
        except (json.JSONDecodeError, AttributeError):
            known = None
        if known != digest:
            raise Conflict(f"{folder} holds the results of another sweep; choose another folder with --out.")
        return
    if folder.exists() and any(entry.suffix != ".part" for entry in folder.iterdir()):
        raise Conflict(f"{folder} is not empty and holds no sweep; choose another folder with --out.")
    folder.mkdir(parents=True, exist_ok=True)
    draft = marker.with_suffix(".part")
    draft.write_text(json.dumps({"digest": digest, "definition": described}, indent=1), encoding="utf-8")
    os.replace(draft, marker)
