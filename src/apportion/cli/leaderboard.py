"""`apportion leaderboard`: every policy on the suite, and the score."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from apportion.leaderboard import SUITE, Board, run_leaderboard
from apportion.leaderboard.page import write_page


def show_leaderboard(quick: bool, seed: int, workers: int | None, out: Path | None, as_json: bool) -> None:
    """Run the suite and print the ranking; with `out` write the page and the picture too."""
    board = _run(quick, seed, workers)
    if out is not None:
        command = f"apportion leaderboard{' --quick' if quick else ''} --seed {seed} --out {out}"
        write_page(board, out, command)
    ranking = board.ranking().reset_index()
    if as_json:
        print(json.dumps(json.loads(ranking.to_json(orient="records")), indent=2))
        return
    table = Table(title=f"Regret over the least regret of any policy, geometric mean over {len(board.cases)} cases")
    for name in ("policy", "mean", "99% quantile", "worst case", "cases"):
        table.add_column(name, justify="left" if name == "policy" else "right")
    for row in ranking.to_dict(orient="records"):
        cells = (f"{row['mean']:.3f}", f"{row['tail']:.3f}", f"{row['worst']:.2f}", str(row["cases"]))
        table.add_row(str(row["policy"]), *cells)
    Console().print(table)


def _run(quick: bool, seed: int, workers: int | None) -> Board:
    if not sys.stderr.isatty():
        return run_leaderboard(quick=quick, seed=seed, workers=workers)
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        line = bar.add_task("cases", total=len(SUITE))
        return run_leaderboard(quick=quick, seed=seed, workers=workers, on_case=lambda case: bar.advance(line))
