"""`apportion robustness`: what each trouble costs each policy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from apportion._common import optional
from apportion.studies.robustness import BY_KEY, POLICIES, WORLDS, Study, run_study
from apportion.studies.robustness.page import write_page
from apportion.studies.robustness.run import QUICK_HORIZON, QUICK_RUNS, cells_of
from apportion.studies.robustness.words import verdict


def show_robustness(quick: bool, seed: int, workers: int, out: Path | None, as_json: bool) -> None:
    """Play every trouble and print the table; with `out` write the data, the page and the picture too."""
    if out is not None:
        optional.require("plot", "`--out`")  # before the work, not after it
    size = {"horizon": QUICK_HORIZON, "runs": QUICK_RUNS} if quick else {}
    study = _run(seed=seed, workers=workers, **size)
    if out is not None:
        write_page(study, out, f"apportion robustness{' --quick' if quick else ''} --seed {seed} --out {out}")
    if as_json:
        print(json.dumps(_rows(study), indent=2))
        return
    console = Console()
    for world in WORLDS:
        table = Table(title=f"Regret over that of the clean case: b = {world.b:g}, T = {study.horizon:,}")
        table.add_column("trouble")
        for policy in POLICIES:
            table.add_column(policy, justify="right")
        for trouble, keys in cells_of(study, world).items():
            ratios = [study.ratio(key) for key in keys]
            table.add_row(BY_KEY[trouble].label, *(f"{ratio:.2f} ± {error:.2f}" for ratio, error in ratios))
        console.print(table)
    console.print(verdict(study), highlight=False)


def _rows(study: Study) -> list[dict[str, Any]]:
    rows = []
    for key in study:
        cell, (ratio, error) = study.cells[key], study.ratio(key)
        rows.append({
            **key._asdict(), "runs": len(cell.total), "regret": cell.mean, "error": cell.error, "ratio": ratio,
            "ratio_error": error, "quantile_99": cell.tail, "late_part": study.late_part(key)[0],
            "linear": study.linear(key), "apart_from_allocator": cell.apart,
        })  # fmt: skip
    return rows


def _run(**options: Any) -> Study:
    if not sys.stderr.isatty():
        return run_study(**options)
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        line = bar.add_task("policies in trouble", total=None)
        return run_study(**options, on_cell=lambda done, total: bar.update(line, completed=done, total=total))
