"""`apportion leaderboard`: every policy on the suite, and the score."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from apportion._common import optional
from apportion.reporting.html import shown
from apportion.studies.leaderboard import SUITE, Case, Leaderboard, fresh_suite, run_leaderboard
from apportion.studies.leaderboard.page import write_folder
from apportion.studies.page import with_error


def show_leaderboard(
    quick: bool, seed: int, workers: int | None, out: Path | None, as_json: bool, fresh: int | None = None
) -> None:
    """Run the suite, or a random one from the seed `fresh`, and print the ranking; `out` gets the page and pictures.

    The scores are stored in that folder too: a run that was interrupted goes on where it stopped.
    """
    if out is not None:
        optional.require("plot", "`--out`")  # before the work, not after it
    cases = SUITE if fresh is None else fresh_suite(fresh)
    asked = f"{' --quick' if quick else ''}{'' if fresh is None else f' --fresh {fresh}'} --seed {seed}"
    path = None if out is None else out / ("suite.json" if fresh is None else "fresh.json")
    board = _run(cases, quick=quick, seed=seed, workers=workers, path=path,
                 command=f"apportion leaderboard{asked} --out {out}")  # fmt: skip
    if out is not None:
        write_folder(out)
    ranking = board.ranking().reset_index()
    if as_json:
        print(json.dumps(json.loads(ranking.to_json(orient="records")), indent=2))
        return
    table = Table(title=f"Regret over the least regret of any policy, geometric mean over {len(board.cases)} cases")
    for name in ("policy", "mean", "99% quantile", "worst case", "cases"):
        table.add_column(name, justify="left" if name == "policy" else "right")
    for row in ranking.to_dict(orient="records"):
        cells = (with_error(row["mean"], row["mean_error"]), with_error(row["tail"], row["tail_error"]))
        table.add_row(str(row["policy"]), *cells, shown(row["worst"]), str(row["cases"]))
    Console().print(table)


def _run(cases: tuple[Case, ...], **options: Any) -> Leaderboard:
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("cases", total=len(cases))
        return run_leaderboard(cases=cases, on_case=lambda case: bar.advance(task), **options)
