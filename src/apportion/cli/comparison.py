"""`apportion compare` and `apportion study real-worlds`: policies × worlds."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from apportion._common import optional
from apportion._common.validation import refuse
from apportion.cli.studies import print_block, progress_bar
from apportion.cli.table_options import as_typed, reading_options
from apportion.studies.comparison import Comparison, compare, named_policies, named_worlds
from apportion.studies.comparison.page import cost_table, earned_table, regret_table
from apportion.studies.comparison.worlds import USUAL_POLICIES, USUAL_WORLDS
from apportion.studies.concave.worlds import Case


def show_comparison(
    policies: list[str] | None, worlds: list[str] | None, history: Path | None, residuals: bool,
    size: dict[str, int], workers: int | None, out: Path | None, as_json: bool, table: dict[str, Any],
) -> None:  # fmt: skip
    """Play and print; `out` gets the scores, the page and the picture; `table` says how the history is read."""
    from apportion.studies.comparison.page import DATA, write_comparison

    if out is not None:
        optional.require("plot", "`--out`")  # before the work, not after it
    if residuals and history is None:
        raise refuse("--residuals", "given with --history, whose residuals they are", True)
    chosen = named_policies(policies or USUAL_POLICIES)
    cases = named_worlds(worlds or ([] if history is not None else USUAL_WORLDS))
    if history is not None:
        cases.append(_fitted(history, residuals, reading_options(table)))
    asked = _asked(policies, worlds)
    if history is not None:
        asked += f" --history {shlex.quote(history.name)}{' --residuals' if residuals else ''}{as_typed(table)}"
    command = f"apportion compare{asked}{''.join(f' --{name} {value}' for name, value in size.items())} --out {out}"
    with progress_bar() as bar:
        task = bar.add_task("worlds", total=len(cases))
        found = compare(
            chosen, cases, horizon=size["horizon"], runs=size["runs"], seed=size["seed"], workers=workers,
            path=None if out is None else out / DATA, command=command,
            on_case=lambda case: bar.advance(task),
        )  # fmt: skip
    if out is not None:
        write_comparison(found, out, command)
    _show(found, as_json)
    played = {score.policy for score in found.scores}
    absent = [name for name in chosen if name not in played]
    if absent and not as_json:
        print(f"Not played, as they ask for what none of these worlds has (b, σ, c): {', '.join(absent)}.")


def show_real_worlds(
    policies: list[str] | None, worlds: list[str] | None, runs: int, seed: int, workers: int | None,
    out: Path | None, readme: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Play the real worlds and print; `out` gets the scores, the page and the picture, `readme` the headline."""
    from apportion.model.real_worlds import real_worlds
    from apportion.studies.real_worlds.run import (
        CONTESTANTS,
        DATA,
        around_headline,
        headline,
        run_study,
        write_headline,
        write_study,
    )

    if out is not None:
        optional.require("plot", "`--out`")
    if readme is not None:
        around_headline(readme)  # before the work, not after it
    by_key = {each.key: each for each in real_worlds()}
    for key in worlds or ():
        if key not in by_key:
            raise refuse("world", f"one of {', '.join(by_key)}", key)
    chosen = [by_key[key] for key in worlds] if worlds else list(by_key.values())
    command = f"apportion study real-worlds{_asked(policies, worlds)} --runs {runs} --seed {seed} --out {out}"
    with progress_bar() as bar:
        task = bar.add_task("worlds", total=len(chosen))
        found = run_study(
            policies or CONTESTANTS, worlds=chosen, runs=runs, seed=seed, workers=workers,
            path=None if out is None else out / DATA, command=command, on_case=lambda case: bar.advance(task),
        )  # fmt: skip
    if out is not None:
        write_study(found, out, command, chosen)
    if readme is not None:
        write_headline(found, readme)
    if not as_json:
        print_block(headline(found.scores))
    _show(found, as_json)


def _asked(policies: list[str] | None, worlds: list[str] | None) -> str:
    named = (("policy", policies), ("world", worlds))
    return "".join(f" --{kind} {shlex.quote(name)}" for kind, names in named for name in names or ())


def _fitted(file: Path, residuals: bool, reading: dict[str, Any]) -> Case:
    from apportion.inference.fitted_world import fit_world
    from apportion.model.real_worlds import QUARTERS

    found = fit_world(file, noise="residuals" if residuals else "gaussian", **reading)
    name = f"{file.name}: c={found.c:.2f} b={found.b:.2f}"
    return Case(name, found.world, QUARTERS.get(reading["period"]))


def _show(found: Comparison, as_json: bool) -> None:
    if as_json:
        scores = [score._asdict() for score in found.scores]
        print(json.dumps({"scores": scores, "costs": [cost._asdict() for cost in found.costs]}, indent=2))
        return
    for block in (earned_table(found.scores), regret_table(found.scores)):
        # Worlds one below the other: a terminal is not as wide as a page.
        names = [str(row[0]) for row in block.rows]
        table = Table("world", *names, title=block.caption) if len(names) <= 4 else _long(block)
        if len(names) <= 4:
            for index, world in enumerate(block.columns[1:], start=1):
                table.add_row(world, *(str(row[index]) for row in block.rows))
        Console().print(table)
    print_block(cost_table(found.costs))


def _long(block: Any) -> Table:
    """A line for every policy and world."""
    table = Table("world", "policy", block.caption.lower(), title=block.caption)
    for index, world in enumerate(block.columns[1:], start=1):
        for row in block.rows:
            if row[index]:
                table.add_row(world, str(row[0]), str(row[index]))
        table.add_section()
    return table
