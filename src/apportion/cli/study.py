"""`apportion study`: programs about the library: the paper measured, every policy ranked, real worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from apportion.cli.table_options import with_table_options
from apportion.errors import InvalidValue

app = typer.Typer(
    name="study",
    no_args_is_help=True,
    help="Studies: the paper measured, every policy ranked, what a wrong assumption costs, worlds as data are.",
)

Runs = Annotated[int, typer.Option(help="Runs in every world.", min=2)]
Seed = Annotated[int, typer.Option(help="The seed of the random numbers.", min=0)]
Workers = Annotated[int | None, typer.Option(help="Threads on this machine; all cores by default.", min=1)]
Out = Annotated[Path | None, typer.Option(help="A folder for the page and the numbers.")]
Json = Annotated[bool, typer.Option("--json", help="For machines.")]


@app.command()
def paper(
    quick: Annotated[bool, typer.Option("--quick", help="Three minutes instead of an hour: a look.")] = False,
    out: Annotated[Path, typer.Option(help="The folder of the report; a run goes on from what is in it.")] = Path(
        "reproduction"
    ),
    seed: Annotated[int, typer.Option(help="The seed of the random numbers.", min=0)] = 1,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Every table, figure, example and claim of the paper: printed, corrected and measured, in one report.

    Example: apportion study paper --quick --out reproduction
    """
    from apportion.cli.studies import show_reproduction

    show_reproduction(quick, out, seed, json)


@app.command()
def leaderboard(
    quick: Annotated[bool, typer.Option("--quick", help="A fiftieth of the work: a look, not a verdict.")] = False,
    seed: Annotated[int, typer.Option(help="The seed of the random numbers.", min=0)] = 1,
    workers: Annotated[int | None, typer.Option(help="Threads on this machine; all cores by default.", min=1)] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for the page, the pictures and the scores.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    fresh: Annotated[int | None, typer.Option(help="Play cases drawn from this seed instead.", min=0)] = None,
    concave: Annotated[bool, typer.Option("--concave", help="Play worlds with diminishing returns instead.")] = False,
) -> None:
    """Every policy on a suite of 44 cases: which loses least, in the mean and in the tail.

    With a folder (--out) an interrupted run goes on where it stopped.

    Example: apportion study leaderboard --fresh 7 --quick
    """
    from apportion.cli.studies import show_concave_leaderboard, show_leaderboard

    show = show_concave_leaderboard if concave else show_leaderboard
    show(quick, seed, workers, out, json, fresh)


@app.command()
def robustness(
    quick: Annotated[bool, typer.Option("--quick", help="A minute instead of ten: a look, not a verdict.")] = False,
    seed: Annotated[int, typer.Option(help="The seed of the random numbers.", min=0)] = 2,
    workers: Annotated[int, typer.Option(help="Threads on this machine.", min=1)] = 2,
    out: Annotated[Path | None, typer.Option(help="A folder for data and picture; the page goes beside it.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    fresh: Annotated[int | None, typer.Option(help="With --concave: worlds drawn from this seed.", min=0)] = None,
    concave: Annotated[bool, typer.Option("--concave", help="Play worlds with diminishing returns instead.")] = False,
) -> None:
    """What it costs when something is not as assumed: σ, b, heavy tails, moving means, delays, late arms.

    With a folder (--out) an interrupted run goes on where it stopped.

    Example: apportion study robustness --quick
    """
    from apportion.cli.studies import show_concave_robustness, show_robustness

    if fresh is not None and not concave:
        raise InvalidValue("`--fresh` must be given together with `--concave`; got it alone.")
    if concave:
        show_concave_robustness(quick, seed, workers, out, json, fresh)
    else:
        show_robustness(quick, seed, workers, out, json)


@app.command()
def concave(
    policy: Annotated[list[str] | None, typer.Option(help="A policy; may be given again. Default: Auto.")] = None,
    fresh: Annotated[int | None, typer.Option(help="Play worlds drawn from this seed instead.", min=0)] = None,
    worlds: Annotated[int, typer.Option(help="How many are drawn with --fresh.", min=1)] = 40,
    runs: Runs = 20,
    seed: Seed = 1,
    workers: Workers = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Diminishing returns, unequal noise, moving means: what is earned beside an even split and the optimum.

    Power laws, saturating, logarithmic and capped returns; T = 100, 400 and 2,000. A policy that must be told b, σ or
    c is told the truth. With a folder (--out) an interrupted run goes on where it stopped.

    Example: apportion study concave --fresh 7 --worlds 10 --runs 5
    """
    from apportion.cli.studies import show_concave

    show_concave(policy or ["Auto"], fresh, worlds, runs, seed, workers, out, json)


@app.command()
def told(runs: Runs = 20, seed: Seed = 1, workers: Workers = None, out: Out = None, json: Json = False) -> None:
    """What it costs not to know: the regret of Auto over that of rules told c, b, σ, and how long to remember.

    Bent power laws at rest (T = 2,000), and laws that move: drift, jumps, weekdays, a season (T = 600).
    Then how far successive shares are apart (periods 50 to 200), and whether each bar is met.
    With a folder (--out) an interrupted run goes on where it stopped.

    Example: apportion study told --runs 5
    """
    from apportion.cli.studies import show_told

    show_told(runs, seed, workers, out, json)


@app.command()
@with_table_options(before="kits")
def replay(
    file: Annotated[Path, typer.Argument(help="A file with dates, arms, amounts, outcomes: CSV, .xlsx, Parquet.")],
    arms: Annotated[str | None, typer.Option(help="Only these arms, with commas between.")] = None,
    kits: Annotated[int, typer.Option(help="Whole units a day.", min=2)] = 1_000,
    days: Annotated[int, typer.Option(help="How many days, from the first one on.", min=2)] = 300,
    mean_days: Annotated[int, typer.Option(help="A day's rate is that of so many days around it.", min=1)] = 3,
    runs: Runs = 6,
    seed: Seed = 1,
    out: Out = None,
    json: Json = False,
    **table: Any,
) -> None:
    """A history day by day with whole units: what Auto finds, beside an even split, fixed memories and the best.

    Outcomes are counts of successes, from 0 to their amount: positives of tests. Says also how often the 95% interval
    held the next day's rate, and whether the arm that was said to be best was so.

    Example: apportion study replay tests.csv --kits 1000 --days 300 --out replay
    """
    from apportion.cli.studies import show_replay

    show_replay(file, arms.split(",") if arms else None, kits, days, mean_days, runs, seed, out, json, table)


@app.command("real-worlds")
def real_worlds(
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy, 'module:Class' or 'file.py:Class'; may be given again. Default: ten of them."),
    ] = None,
    world: Annotated[list[str] | None, typer.Option(help="One of the worlds; may be given again.")] = None,
    runs: Runs = 20,
    seed: Seed = 1,
    workers: Workers = None,
    out: Out = None,
    readme: Annotated[Path | None, typer.Option(help="A text to write the headline table into.")] = None,
    json: Json = False,
) -> None:
    """Worlds fitted to public histories: what each policy earns of what was possible, beside an even split.

    US tests by state, ad placements, field trials, elasticities of clicks. The first run with Auto compiles for some
    minutes. With a folder (--out) an interrupted run goes on where it stopped.

    Example: apportion study real-worlds --policy Matching --policy QuarterlyRefit --world ads-revenue --runs 5
    """
    from apportion.cli.comparison import show_real_worlds

    show_real_worlds(policy, world, runs, seed, workers, out, readme, json)


@app.command()
def reliability(
    worlds: Annotated[int, typer.Option(help="Worlds of every kind.", min=2)] = 20,
    days: Annotated[int, typer.Option(help="Days in every world.", min=12)] = 150,
    kits: Annotated[int, typer.Option(help="Whole units a day.", min=5)] = 500,
    seed: Seed = 1,
    plot: Annotated[Path | None, typer.Option(help="A file for the picture: .png, .svg or .pdf.")] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Whether P(best) is what it says: how often the arm that Auto calls the best was so, in simulated worlds.

    Returns that stand still, drift, jump, or have a season.

    Example: apportion study reliability --worlds 5 --plot reliability.png
    """
    from apportion.cli.studies import show_reliability

    show_reliability(worlds, days, kits, seed, plot, out, json)
