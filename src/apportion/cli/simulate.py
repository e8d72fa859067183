"""`apportion simulate`: a sweep, its pictures and its report."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Column, Table

from apportion._common import optional
from apportion._common.formatting import readable
from apportion.errors import InvalidValue

if TYPE_CHECKING:
    from apportion.simulation.definition import Definition
    from apportion.simulation.result import Result

# Beyond these, more pictures of the same kind tell nobody anything.
_MOST_SPLITS = 6


def run_simulation(file: Path, out: Path | None, workers: int | None, cluster: str | None, as_json: bool) -> None:
    """Run or go on with the sweep, and write everything into its folder."""
    optional.require("lab", "A simulation")
    try:
        _run(file, out, workers, cluster, as_json)
    except KeyboardInterrupt:
        print("Stopped; what is finished is stored: run the same command to go on.", file=sys.stderr, flush=True)
        # Finished tasks are on disk, whole. Leaving in the usual way would wait for the threads that still compute.
        os._exit(130)


def _run(file: Path, out: Path | None, workers: int | None, cluster: str | None, as_json: bool) -> None:
    from apportion.simulation.definition import read_definition
    from apportion.simulation.sweep import run_sweep

    definition = read_definition(file)
    folder = file.with_name(f"{file.stem}-results") if out is None else out
    with _executor(cluster, definition) as executor:
        results = run_sweep(definition, folder, workers=workers, executor=executor)
    try:
        written = write_pictures(definition, results, folder)
    except OSError as error:
        raise InvalidValue(f"{folder} must be a folder that can be written; got {error}.") from error
    if as_json:
        print(json.dumps(_summaries(results, folder, written), indent=2))
        return
    console = Console()
    for result in results:
        for part in _table(result):
            console.print(part)
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True)


@contextmanager
def _executor(cluster: str | None, definition: Definition) -> Iterator[Any]:
    """A Dask client for the address, with the user's policy files on every worker; None without an address."""
    if cluster is None:
        yield None
        return
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
        from distributed.diagnostics.plugin import UploadFile
    except ImportError:
        raise InvalidValue(optional.missing_sentence("cluster", "`--cluster`")) from None
    try:
        # Dask tries for a long while, and leaves a traceback behind when it gives up: knock first.
        socket.create_connection(get_address_host_port(cluster), timeout=10.0).close()
        client = Client(cluster, timeout="10s", set_as_default=False)
    except (OSError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"`--cluster` must be the address of a running Dask scheduler, tcp://host:port; got {cluster}."
        ) from error
    with client:
        if not client.nthreads():
            waiting = f"{cluster} has no workers yet; waiting for one: dask worker {cluster}"
            print(waiting, file=sys.stderr, flush=True)
        for path in definition.files:  # also for workers that come later; the scheduler needs no policies
            client.register_plugin(UploadFile(str(path)))
        yield client


def write_pictures(definition: Definition, results: list[Result], folder: Path) -> list[Path]:
    """Figures as PNG and SVG, and one HTML report; without matplotlib, the report alone."""
    from apportion.reporting import html

    try:
        from apportion.reporting import figures
    except ImportError:
        print(f"No pictures. {optional.missing_sentence('plot')}", file=sys.stderr)
        made, paths = {}, []
    else:
        made = _pictures(results)
        paths = [path for name, figure in made.items() for path in figures.save(figure, folder / "figures" / name)]
    page = html.experiment_report(definition.name, results, folder / "report.html", figures=made.values())
    return [*paths, page]


def _pictures(results: list[Result]) -> dict[str, Any]:
    """The pictures by the name of their files."""
    from apportion.reporting import figures

    made: dict[str, Any] = {}
    for result in results:
        horizon = int(result.regret["period"][-1])
        made[f"regret-T{horizon}"] = figures.regret_over_time(result)
        made[f"regret-log-T{horizon}"] = figures.regret_over_time(result, scale="log")
        made[f"final-regret-T{horizon}"] = figures.final_regret_distribution(result)
    last = results[-1]
    for parameter in ("b", "arms", "gap"):
        if len({value for value in last.dataset[parameter].values.tolist() if value == value}) > 1:
            made[f"regret-against-{parameter}"] = figures.regret_against(last, parameter)
    if len(results) > 1:
        made["regret-against-horizon"] = figures.regret_against(results, "horizon")
    if "shares" in last.dataset:
        instance = str(last.dataset["instance"].values[0])
        for number, policy in enumerate(last.dataset["policy"].values[:_MOST_SPLITS].tolist(), start=1):
            made[f"shares-{number}"] = figures.shares_over_time(last, policy=policy, instance=instance)
    return made


def _table(result: Result) -> tuple[str, Table]:
    """The summary under a title, which has what all instances have in common."""
    horizon = int(result.regret["period"][-1])
    summary = result.summary().reset_index()
    facts = {label: label.split() for label in summary["instance"]}
    shared = [fact for fact in next(iter(facts.values())) if all(fact in others for others in facts.values())]
    title = f"Regret after {horizon:,} periods, {result.dataset.sizes['replication']:,} replications"
    labels = ["policy", "instance"] if len(facts) > 1 else ["policy"]
    table = Table(*(Column(name, overflow="fold") for name in labels))
    for name in summary.columns[2:]:
        table.add_column(name, justify="right", no_wrap=True)
    for policy, instance, *values in summary.itertuples(index=False):
        apart = [" ".join(fact for fact in facts[instance] if fact not in shared)] if len(facts) > 1 else []
        table.add_row(policy, *apart, *(readable(float(value)) for value in values))
    return f"{title}, {' '.join(shared)}" if shared else title, table


def _summaries(results: list[Result], folder: Path, written: list[Path]) -> dict[str, Any]:
    listed = [
        {
            "horizon": int(result.regret["period"][-1]),
            "file": str(folder / f"result-T{result.provenance['definition']['horizon']}.nc"),
            "summary": json.loads(result.summary().reset_index().to_json(orient="records")),
        }
        for result in results
    ]
    return {"folder": str(folder), "files": [str(path) for path in written], "results": listed}
