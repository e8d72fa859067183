"""`apportion study`: how a policy does in worlds that real data resemble."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="How a policy does in worlds that real data resemble.")

Runs = Annotated[int, typer.Option(help="Runs in every world.", min=2)]
Seed = Annotated[int, typer.Option(help="The seed of the random numbers.", min=0)]
Workers = Annotated[int | None, typer.Option(help="Threads on this machine; all cores by default.", min=1)]
Out = Annotated[Path | None, typer.Option(help="A folder for the page and the numbers.")]
Json = Annotated[bool, typer.Option("--json", help="For machines.")]


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
    With a folder (--out) an interrupted run goes on where it stopped.

    Example: apportion study told --runs 5
    """
    from apportion.cli.studies import show_told

    show_told(runs, seed, workers, out, json)
