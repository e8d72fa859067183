"""`apportion reproduce`: the paper measured, into a folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from apportion.studies.paper import FULL, QUICK, SECTIONS, reproduce
from apportion.studies.paper.run import DATA, HTML


def show_reproduction(quick: bool, out: Path, seed: int, as_json: bool) -> None:
    """Run what is missing, write the report, and say where it is and what each section cost."""
    sizes = QUICK if quick else FULL
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
               TextColumn("left"), TimeRemainingColumn())  # fmt: skip
    console, quiet = Console(stderr=True), not sys.stderr.isatty()
    # The cost of a step is known roughly, so the time left is an estimate over the last ten minutes.
    with Progress(*columns, console=console, speed_estimate_period=600, disable=quiet) as bar:
        task = bar.add_task("starting", total=1.0)
        path = reproduce(
            out, sizes=sizes, seed=seed,
            on_step=lambda words, done: bar.update(task, description=words, completed=done),
        )  # fmt: skip
    sections = json.loads((out / DATA).read_text(encoding="utf-8"))["sections"]
    seconds = {section.name: sections[section.name]["seconds"] for section in SECTIONS}
    files = {"markdown": str(path), "html": str(out / HTML), "data": str(out / DATA)}
    if as_json:
        print(json.dumps({**files, "seconds": seconds}, indent=2))
        return
    table = Table(title="The paper, measured")
    table.add_column("section")
    table.add_column("seconds", justify="right")
    for section in SECTIONS:
        table.add_row(section.title, f"{seconds[section.name]:.1f}")
    Console().print(table)
    print(f"Read {files['html']} or {files['markdown']}; the numbers are in {files['data']}.")
