"""The root of the command line. Commands import what they need when they run, so `--help` stays quick."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from apportion._version import __version__
from apportion.errors import ApportionError

app = typer.Typer(
    name="apportion",
    help="Split a renewable budget over options with unknown, noisy returns, and learn from what comes back.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"apportion {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Split a renewable budget over options with unknown, noisy returns, and learn from what comes back."""


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="The seed of everything that is drawn.", min=0)] = 2023,
    repeats: Annotated[int, typer.Option(help="Seasons to average the earnings over.", min=1)] = 40,
) -> None:
    """The paper's three examples, end to end: splits, what was learned, what it earned.

    Example: apportion demo --seed 7
    """
    from apportion.cli.demo import show_demo

    show_demo(seed, repeats)


@app.command()
def theory(
    arms: Annotated[int, typer.Option(help="How many arms.", min=2)] = 10,
    horizon: Annotated[float, typer.Option(help="How many periods; 1e4 is fine.")] = 1e4,
    b: Annotated[float, typer.Option(help="How much a small share reveals: 0 nothing, 1 everything.")] = 0.75,
    sigma: Annotated[float, typer.Option(help="The scale of the noise.")] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """What theory says about a setting: rates, lower and upper bounds.

    Example: apportion theory --arms 10 --horizon 1e4 --b 0.75
    """
    from apportion.cli.theory import show_theory

    show_theory(arms, horizon, b, sigma, json)


@app.command()
def simulate(
    file: Annotated[Path, typer.Argument(help="A TOML file that describes the sweep.")],
    out: Annotated[Path | None, typer.Option(help="The folder of the results; beside the file by default.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads on this machine; all cores by default.", min=1)] = None,
    cluster: Annotated[str | None, typer.Option(help="A Dask scheduler, tcp://host:port.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Run a sweep of policies × instances × horizons, with progress; the same command goes on where it stopped.

    Example: apportion simulate examples/phase_transition.toml
    """
    from apportion.cli.simulate import run_simulation

    run_simulation(file, out, workers, cluster, json)


def main() -> None:
    """Run the command line: one clear sentence and exit code 2 on bad input, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks σ gets a question mark, not a traceback
            stream.reconfigure(errors="replace")
    try:
        app()
    except ApportionError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
