"""The root of the command line. Commands import what they need when they run, so `--help` stays quick."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from apportion._version import __version__
from apportion.cli import (
    arms,
    campaign,
    campaigns,
    doctor,
    files,
    forecast,
    mcp,
    new,
    plan,
    serve,
    settings,
    study,
    token,
    webhook,
)
from apportion.cli.refusals import Commands
from apportion.cli.table_options import reading_options, with_table_options

app = typer.Typer(
    name="apportion",
    cls=Commands,
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


def demo(
    seed: Annotated[int, typer.Option(help="The seed of the random numbers.", min=0)] = 2023,
    repeats: Annotated[int, typer.Option(help="Seasons to average the earnings over.", min=1)] = 40,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """The paper's three examples and one as data are, end to end: splits, what was learned, what it earned.

    Example: apportion demo --seed 7
    """
    from apportion.cli.demo import show_demo

    show_demo(seed, repeats, json)


def theory(
    arms: Annotated[int, typer.Option(help="How many arms, where their means are not given.", min=2)] = 10,
    horizon: Annotated[float, typer.Option(help="How many periods; 1e4 is fine.")] = 1e4,
    b: Annotated[float, typer.Option(help="Noise exponent: the standard deviation grows as amount^b.")] = 0.75,
    sigma: Annotated[float, typer.Option(help="Noise scale σ: the standard deviation at an amount of 1.")] = 1.0,
    c: Annotated[float, typer.Option(help="Return exponent: the mean return grows as amount^c.")] = 1.0,
    means: Annotated[
        str | None, typer.Option(help="The arms' mean returns of one unit, separated by commas.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """What theory says about a setting: rates, lower and upper bounds; with the means also the optimal split.

    Example: apportion theory --means 1,0.5,0.5 --horizon 1e4 --b 0.5 --c 0.7
    """
    from apportion.cli.theory import show_theory

    show_theory(arms, horizon, b, sigma, c, means, json)


@with_table_options(before="c", dated=False)
def fit(
    file: Annotated[Path, typer.Argument(help="A file of amounts and what came back: CSV, .xlsx, Parquet.")],
    c: Annotated[
        float | None, typer.Option(help="Exponent of the mean, if it is known: 1 for returns in proportion.")
    ] = None,
    b: Annotated[float | None, typer.Option(help="Noise exponent, if it is known.")] = None,
    sigma: Annotated[
        str, typer.Option(help="The scale of the noise: common to all arms, per-arm, or auto (as the data say).")
    ] = "auto",
    level: Annotated[float, typer.Option(help="The level of the intervals.")] = 0.95,
    tails: Annotated[
        str, typer.Option(help="gaussian, or measured: heavy tails widen the interval of b.")
    ] = "gaussian",
    apart: Annotated[
        str | None, typer.Option(help="week or month: a mean of its own for each, where returns move over time.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="The picture (.png, .svg or .pdf); beside the file by default.")
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="With the statistics of the tests.")] = False,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    **table: Any,
) -> None:
    """How returns and noise grow with the amount: c, b and σ of a history, with intervals, tests and pictures.

    Example: apportion fit history.csv --arm-column channel --amount-column spend --outcome-column clicks
    """
    from apportion.cli.fit import show_fit

    show_fit(
        file, plot=plot, as_json=json, details=details, c=c, b=b, sigma=sigma, level=level, tails=tails, apart=apart,
        **reading_options(table),
    )  # fmt: skip


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


@with_table_options(before="horizon", dated=False)
def compare(
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy by name, 'module:Class' or 'file.py:Class'; may be given again."),
    ] = None,
    world: Annotated[
        list[str] | None,
        typer.Option(help="A world by name, 'module:Class' or 'file.py:Class'; may be given again."),
    ] = None,
    history: Annotated[
        Path | None, typer.Option(help="A file with amounts and outcomes: a world fitted to it is played too.")
    ] = None,
    residuals: Annotated[
        bool, typer.Option("--residuals", help="With the residuals' own noise in the world of --history.")
    ] = False,
    horizon: Annotated[
        int,
        typer.Option(
            help="Periods of each run; at most those of the history where a world follows one.", min=2, max=1_000_000
        ),
    ] = 1_000,
    runs: Annotated[int, typer.Option(help="Runs in every world.", min=2)] = 20,
    seed: Annotated[int, typer.Option(help="The seed of the random numbers.", min=0)] = 1,
    workers: Annotated[int | None, typer.Option(help="Threads on this machine; all cores by default.", min=1)] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for the page, the picture and the scores.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    **table: Any,
) -> None:
    """Policies × worlds in one table: what is earned of what was possible, with standard errors, and the cost.

    Ours, those published for neighbouring models, and your own. A policy that must be told b, σ or c is told the
    truth. With a folder (--out) an interrupted run goes on where it stopped.

    Example: apportion compare --policy Matching --policy RiverUCB --world bent --world jobs --horizon 200 --runs 5
    """
    from apportion.cli.comparison import show_comparison

    size = {"horizon": horizon, "runs": runs, "seed": seed}
    show_comparison(policy, world, history, residuals, size, workers, out, json, table)


GROUPS: dict[str, tuple[Any, ...]] = {
    "Campaigns": (
        new.new, campaign.split, campaign.record, campaign.amend, campaign.close, campaign.cancel,
        campaign.status, campaign.history, plan.plan, forecast.forecast, settings.settings, arms.arms, campaigns.app,
    ),
    "Files": (
        files.import_, files.undo_import, files.export, files.restore, files.report, files.backup, settings.check,
        settings.upgrade,
    ),
    "Understand": (fit, forecast.backtest, theory),
    "Laboratory": (simulate, compare, study.app),
    "Service": (serve.serve, mcp.mcp, token.app, webhook.app, doctor.doctor, demo),
}  # fmt: skip
"""The commands as `apportion --help` shows them; one with others below it is an app of its own, with its name."""

for title, listed in GROUPS.items():
    for command in listed:
        if isinstance(command, typer.Typer):
            app.add_typer(command, rich_help_panel=title)
            Commands.order.append(str(command.info.name))
        else:
            Commands.order.append(command.__name__.rstrip("_").replace("_", "-"))
            app.command(Commands.order[-1], rich_help_panel=title)(command)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without σ prints a question mark, not a traceback
            stream.reconfigure(errors="replace")
    app()
