"""`apportion robustness`: what each violated assumption costs each policy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from apportion._common import optional
from apportion.studies.page import with_error
from apportion.studies.robustness import BY_KEY, POLICIES, WORLDS, Study, run_study
from apportion.studies.robustness.findings import verdict
from apportion.studies.robustness.page import DATA, write_study
from apportion.studies.robustness.run import QUICK_HORIZON, QUICK_RUNS


def show_robustness(quick: bool, seed: int, workers: int, out: Path | None, as_json: bool) -> None:
    """Play every violation and print the table; with `out` write the data, the page and the picture too."""
    if out is not None:
        optional.require("plot", "`--out`")  # before the work, not after it
    size = {"horizon": QUICK_HORIZON, "runs": QUICK_RUNS} if quick else {}
    study = _run(seed=seed, workers=workers, path=None if out is None else out / DATA, **size)
    if out is not None:
        write_study(study, out, f"apportion robustness{' --quick' if quick else ''} --seed {seed} --out {out}")
    if as_json:
        print(json.dumps(_rows(study), indent=2))
        return
    console = Console()
    for world in WORLDS:
        table = Table(title=f"Regret over that with nothing wrong: b = {world.b:g}, T = {study.horizon:,}")
        table.add_column("what is wrong")
        for policy in POLICIES:
            table.add_column(policy, justify="right")
        for violation, names in study.rows(world).items():
            table.add_row(BY_KEY[violation].label, *(with_error(*study.ratio(name)) for name in names))
        console.print(table)
    console.print(verdict(study), highlight=False)


def _rows(study: Study) -> list[dict[str, Any]]:
    rows = []
    for name in study:
        cell, (ratio, error) = study.cells[name], study.ratio(name)
        rows.append({
            **name.plain(), "runs": len(cell.total), "regret": cell.mean, "error": cell.error, "ratio": ratio,
            "ratio_error": error, "quantile_99": cell.tail, "late_part": study.late_part(name)[0],
            "linear": study.linear(name), "apart_from_allocator": cell.apart,
        })  # fmt: skip
    return rows


def _run(**options: Any) -> Study:
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("policies under violated assumptions", total=None)
        return run_study(**options, on_cell=lambda done, total: bar.update(task, completed=done, total=total))
