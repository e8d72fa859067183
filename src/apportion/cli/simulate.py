"""`apportion simulate`: a sweep, its pictures and its report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from apportion.errors import InvalidValue
from apportion.simulation.definition import Definition, read_definition
from apportion.simulation.result import Result
from apportion.simulation.sweep import run_sweep
from apportion.tables import readable


def run_simulation(file: Path, out: Path | None, workers: int | None, cluster: str | None, as_json: bool) -> None:
    """Run or go on with the sweep, and write everything into its folder."""
    definition = read_definition(file)
    folder = file.with_name(f"{file.stem}-results") if out is None else out
    with _executor(cluster, definition) as executor:
        results = run_sweep(definition, folder, workers=workers, executor=executor)
    pictures = write_pictures(definition, results, folder)
    if as_json:
        print(json.dumps(_summaries(results, folder, pictures), indent=2))
        return
    console = Console()
    for result in results:
        console.print(_table(result))
    console.print(f"Report: {folder / 'report.html'}")


@contextmanager
def _executor(cluster: str | None, definition: Definition) -> Iterator[Any]:
    """A Dask client for the address, with the user's policy files on every worker; None without an address."""
    if cluster is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise InvalidValue("`--cluster` needs Dask: pip install 'apportion[cluster]'.") from None
    try:
        client = Client(cluster, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise InvalidValue(f"`--cluster` must be the address of a running Dask scheduler; got {cluster}.") from error
    with client:
        for path in definition.files:
            client.upload_file(str(path))
        yield client


def write_pictures(definition: Definition, results: list[Result], folder: Path) -> list[Path]:
    """Figures as PNG and SVG, and one HTML report."""
    from apportion import figures, report

    made: dict[str, Any] = {}
    for result in results:
        horizon = int(result.regret["period"][-1])
        made[f"regret-T{horizon}"] = figures.regret_over_time(result)
        made[f"regret-log-T{horizon}"] = figures.regret_over_time(result, scale="log")
        made[f"final-regret-T{horizon}"] = figures.final_regret_distribution(result)
    for parameter in ("b", "arms", "gap"):
        if len(set(results[-1].dataset[parameter].values.tolist())) > 1:
            made[f"regret-against-{parameter}"] = figures.regret_against(results[-1], parameter)
    if len(results) > 1:
        made["regret-against-horizon"] = figures.regret_against(results, "horizon")
    paths = [path for name, figure in made.items() for path in figures.save(figure, folder / "figures" / name)]
    report.experiment_report(definition.name, results, made, folder / "report.html")
    return [*paths, folder / "report.html"]


def _table(result: Result) -> Table:
    horizon = int(result.regret["period"][-1])
    replications = result.dataset.sizes["replication"]
    table = Table(title=f"Regret after {horizon:,} periods, {replications:,} replications")
    summary = result.summary().reset_index()
    for name in summary.columns:
        table.add_column(name, justify="left" if name in ("policy", "instance") else "right")
    for row in summary.itertuples(index=False):
        table.add_row(*(value if isinstance(value, str) else readable(float(value)) for value in row))
    return table


def _summaries(results: list[Result], folder: Path, pictures: list[Path]) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "files": [str(path) for path in pictures],
        "results": [
            {
                "horizon": int(result.regret["period"][-1]),
                "summary": json.loads(result.summary().reset_index().to_json(orient="records")),
            }
            for result in results
        ],
    }
