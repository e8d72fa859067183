"""`apportion study`: the studies, run into a folder or printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table

from apportion._common import optional, validation
from apportion.cli.table_options import as_typed, reading_options
from apportion.policies import find_policy
from apportion.reporting.html import shown
from apportion.simulation.candidates import Candidate, Informed
from apportion.studies import page
from apportion.studies.concave import NAMED, Score, drawn_cases, scores
from apportion.studies.concave.scores import HORIZONS
from apportion.studies.leaderboard import SUITE, fresh_suite, run_leaderboard
from apportion.studies.page import with_error
from apportion.studies.robustness import BY_KEY, POLICIES, WORLDS, Study, run_study
from apportion.studies.robustness.findings import verdict
from apportion.studies.robustness.run import QUICK_HORIZON, QUICK_RUNS

PICTURES = (".png", ".svg", ".pdf")


def show_reproduction(quick: bool, out: Path, seed: int, as_json: bool) -> None:
    """Run what is missing, write the report, and say where it is and what each section cost."""
    from apportion.studies.paper import FULL, QUICK, SECTIONS, reproduce
    from apportion.studies.paper.run import DATA, HTML

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
               TextColumn("left"), TimeRemainingColumn())  # fmt: skip
    # The cost of a step is known roughly, so the time left is an estimate over the last ten minutes.
    with progress_bar(*columns, speed_estimate_period=600) as bar:
        task = bar.add_task("starting", total=1.0)
        path = reproduce(
            out, sizes=QUICK if quick else FULL, seed=seed,
            on_step=lambda words, done: bar.update(task, description=words, completed=done),
        )  # fmt: skip
    sections = json.loads((out / DATA).read_text(encoding="utf-8"))["sections"]
    seconds = {section.name: sections[section.name]["seconds"] for section in SECTIONS}
    files = {"markdown": str(path), "html": str(out / HTML), "data": str(out / DATA)}
    if as_json:
        print(json.dumps({**files, "seconds": seconds}, indent=2))
        return
    table = Table("section", Column("seconds", justify="right"), title="The paper, measured")
    for section in SECTIONS:
        table.add_row(section.title, f"{seconds[section.name]:.1f}")
    Console().print(table)
    print(f"Read {files['html']} or {files['markdown']}; the numbers are in {files['data']}.")


def show_leaderboard(
    quick: bool, seed: int, workers: int | None, out: Path | None, as_json: bool, fresh: int | None = None
) -> None:
    """Run the suite, or a random one from the seed `fresh`, and print the ranking; `out` gets the page and pictures.

    The scores are stored in that folder too: a run that was interrupted goes on where it stopped.
    """
    if out is not None:
        optional.require("plot", "`--out`")  # before the work, not after it
    cases = SUITE if fresh is None else fresh_suite(fresh)
    asked = _asked(quick, fresh, seed)
    path = None if out is None else out / ("suite.json" if fresh is None else "fresh.json")
    with progress_bar() as bar:
        task = bar.add_task("cases", total=len(cases))
        board = run_leaderboard(
            cases=cases, quick=quick, seed=seed, workers=workers, path=path,
            command=f"apportion study leaderboard{asked} --out {out}", on_case=lambda case: bar.advance(task),
        )  # fmt: skip
    if out is not None:
        from apportion.studies.leaderboard.page import write_folder

        write_folder(out)
    ranking = board.ranking().reset_index()
    if as_json:
        print(json.dumps(json.loads(ranking.to_json(orient="records")), indent=2))
        return
    title = f"Regret over the least regret of any policy, geometric mean over {len(board.cases)} cases"
    numbers = ("mean", "99% quantile", "worst case", "cases")
    table = Table("policy", *(Column(name, justify="right") for name in numbers), title=title)
    for row in ranking.to_dict(orient="records"):
        cells = (with_error(row["mean"], row["mean_error"]), with_error(row["tail"], row["tail_error"]))
        table.add_row(str(row["policy"]), *cells, shown(row["worst"]), str(row["cases"]))
    Console().print(table)


def show_concave_leaderboard(
    quick: bool, seed: int, workers: int | None, out: Path | None, as_json: bool, fresh: int | None = None
) -> None:
    """The policies in concave worlds, named ones or random ones; `out` gets the scores, and the page with them."""
    from apportion.studies.leaderboard import run
    from apportion.studies.leaderboard.page import write_folder

    command = f"apportion study leaderboard --concave{_asked(quick, fresh, seed)} --out {out}"
    runs = run.QUICK_CONCAVE_RUNS if quick else run.CONCAVE_RUNS
    found = _in_concave_worlds(run.concave_contestants(), fresh, runs, seed, HORIZONS, workers, out, command)
    if out is not None:
        write_folder(out)
    _show_ranking(found, as_json)


def show_concave_robustness(
    quick: bool, seed: int, workers: int | None, out: Path | None, as_json: bool, fresh: int | None = None
) -> None:
    """The paper's law taken for granted in concave worlds; `out` gets the scores, and the page where there is one."""
    from apportion.studies.robustness import paper_law
    from apportion.studies.robustness.page import DATA, write_folder

    command = f"apportion study robustness --concave{_asked(quick, fresh, seed)} --out {out}"
    runs = paper_law.QUICK_RUNS if quick else paper_law.RUNS
    found = _in_concave_worlds(paper_law.believers(), fresh, runs, seed, paper_law.HORIZONS, workers, out, command)
    if out is not None and (out / DATA).exists():
        write_folder(out)
    _show_ranking(found, as_json)


def _asked(quick: bool, fresh: int | None, seed: int) -> str:
    return f"{' --quick' if quick else ''}{'' if fresh is None else f' --fresh {fresh}'} --seed {seed}"


def _in_concave_worlds(
    policies: Mapping[str, Candidate], fresh: int | None, runs: int, seed: int, horizons: Sequence[int],
    workers: int | None, out: Path | None, command: str,
) -> list[Score]:  # fmt: skip
    """The scores in the named worlds, or in those drawn from the seed `fresh`."""
    if out is not None:
        optional.require("plot", "`--out`")  # before the work, not after it
    cases, name = (NAMED, "concave.json") if fresh is None else (drawn_cases(fresh), "concave-fresh.json")
    with progress_bar() as bar:
        task = bar.add_task("worlds", total=len(cases))
        return scores(
            policies, cases, runs, seed, horizons, workers=workers, path=None if out is None else out / name,
            command=command, on_case=lambda case: bar.advance(task),
        )  # fmt: skip


def _show_ranking(found: list[Score], as_json: bool) -> None:
    from apportion.studies.concave.page import ranking

    if as_json:
        print(json.dumps([score._asdict() for score in found], indent=2))
        return
    print_block(ranking(found))


def show_robustness(quick: bool, seed: int, workers: int, out: Path | None, as_json: bool) -> None:
    """Play every violation and print the table; with `out` write the data, the page and the picture too."""
    path = None
    if out is not None:
        optional.require("plot", "`--out`")  # before the work, not after it
        from apportion.studies.robustness.page import DATA, write_study

        path = out / DATA
    size: dict[str, Any] = {"horizon": QUICK_HORIZON, "runs": QUICK_RUNS} if quick else {}
    with progress_bar() as bar:
        task = bar.add_task("policies under violated assumptions", total=None)
        study = run_study(
            seed=seed, workers=workers, path=path, **size,
            on_cell=lambda done, total: bar.update(task, completed=done, total=total),
        )  # fmt: skip
    if out is not None:
        write_study(study, out, f"apportion study robustness{' --quick' if quick else ''} --seed {seed} --out {out}")
    if as_json:
        print(json.dumps(_rows(study), indent=2))
        return
    console = Console()
    for world in WORLDS:
        title = f"Regret over that with nothing wrong: b = {world.b:g}, T = {study.horizon:,}"
        table = Table("what is wrong", *(Column(policy, justify="right") for policy in POLICIES), title=title)
        for violation, names in study.rows(world).items():
            table.add_row(BY_KEY[violation].label, *(with_error(*study.ratio(name)) for name in names))
        console.print(table)
    console.print(verdict(study), highlight=False)


def show_concave(
    names: list[str], fresh: int | None, worlds: int, runs: int, seed: int, workers: int | None, out: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Play the policies in the named worlds, or in random ones from the seed `fresh`; `out` gets scores and page."""
    from apportion.studies.concave.page import DATA, by_world, verdicts, write_study

    cases = NAMED if fresh is None else drawn_cases(fresh, worlds)
    policies = {name: Informed(find_policy(name)) for name in names}
    drawn = "" if fresh is None else f" --fresh {fresh} --worlds {worlds}"
    asked = "".join(f" --policy {name}" for name in names) + f"{drawn} --runs {runs} --seed {seed}"
    command = f"apportion study concave{asked} --out {out}"
    with progress_bar() as bar:
        task = bar.add_task("worlds", total=len(cases))
        found = scores(
            policies, cases, runs, seed, workers=workers, path=None if out is None else out / DATA, command=command,
            on_case=lambda case: bar.advance(task),
        )  # fmt: skip
    if out is not None:
        write_study(found, out, command)
    if as_json:
        print(json.dumps([{**score._asdict(), "missed": score.missed} for score in found], indent=2))
        return
    for block in (by_world(found), verdicts(found)):
        print_block(block)


def show_told(runs: int, seed: int, workers: int | None, out: Path | None, as_json: bool) -> None:
    """Play `Auto` beside rules that are told the truth; `out` gets the regrets and the page."""
    from apportion.studies.concave import told
    from apportion.studies.concave.page import TOLD_DATA, write_told
    from apportion.studies.concave.swings import swings_table

    command = f"apportion study told --runs {runs} --seed {seed} --out {out}"
    path = None if out is None else out / TOLD_DATA
    at_rest, moving = told.grid_cases(), told.moving_cases()
    with progress_bar() as bar:
        task = bar.add_task("worlds", total=len(at_rest) + len(moving))
        found = [
            scores(
                policies, cases, runs, seed, [horizon], workers=workers, path=path, command=command,
                on_case=lambda case: bar.advance(task),
            )
            for policies, cases, horizon in (
                (told.grid_policies(), at_rest, told.GRID_HORIZON),
                (told.moving_policies(), moving, told.MOVING_HORIZON),
            )
        ]  # fmt: skip
    swings = swings_table(runs, seed)
    if out is not None:
        write_told(found[0], found[1], swings, out, command)
    if as_json:
        print(json.dumps([score._asdict() for part in found for score in part], indent=2))
        return
    for block in (told.grid_table(found[0]), told.moving_table(found[1]), told.bars(found[0], found[1]), swings):
        print_block(block)


def show_replay(
    file: Path, arms: list[str] | None, kits: int, days: int, mean_days: int, runs: int, seed: int, out: Path | None,
    as_json: bool, table: dict[str, Any],
) -> None:  # fmt: skip
    """Play a history day by day; `out` gets data, page and picture, `table` says how the file is read."""
    from apportion.studies.replay import read_rates, replay
    from apportion.studies.replay.page import bars, found_table, reliability_table, write_study
    from apportion.studies.replay.run import contestants

    if out is not None:
        optional.require("plot", "`--out`")  # before the work, not after it
    rates = read_rates(file, arms=arms, days=days, mean_days=mean_days, **reading_options(table))
    with progress_bar() as bar:
        task = bar.add_task("runs", total=runs * len(contestants(rates.rates)))
        study = replay(rates, kits=kits, runs=runs, seed=seed, on_run=lambda: bar.advance(task))
    if out is not None:
        chosen = ("" if arms is None else f" --arms {','.join(arms)}") + as_typed(table)
        size = f"--kits {kits} --days {days} --mean-days {mean_days} --runs {runs} --seed {seed}"
        write_study(study, out, f"apportion study replay {file.name}{chosen} {size} --out {out}")
    if as_json:
        print(study.to_json())
        return
    for block in (found_table(study), reliability_table(study), bars(study)):
        print_block(block)


def show_reliability(
    worlds: int, days: int, kits: int, seed: int, plot: Path | None, out: Path | None, as_json: bool
) -> None:
    """Play the drawn worlds; `plot` gets the picture, `out` data, page and picture."""
    from apportion.studies.reliability import reliability
    from apportion.studies.reliability.page import picture, reliability_table, summary_table, write_study
    from apportion.studies.reliability.worlds import KINDS

    if plot is not None or out is not None:
        optional.require("plot", "`--out`" if plot is None else "`--plot`")  # before the work, not after it
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise validation.refuse("plot", f"a file that ends with {', '.join(PICTURES)}", plot.name)
    with progress_bar() as bar:
        task = bar.add_task("worlds", total=worlds * len(KINDS))
        study = reliability(worlds=worlds, days=days, kits=kits, seed=seed, on_world=lambda: bar.advance(task))
    if out is not None:
        size = f"--worlds {worlds} --days {days} --kits {kits} --seed {seed}"
        write_study(study, out, f"apportion study reliability {size} --out {out}")
    if plot is not None:
        from apportion.reporting.figures.style import picture_style

        with picture_style():
            picture(study).savefig(plot, dpi=150)
    if as_json:
        print(study.to_json())
        return
    for block in (summary_table(study), reliability_table(study)):
        print_block(block)


def _rows(study: Study) -> list[dict[str, Any]]:
    rows = []
    for name in study:
        cell, (ratio, error) = study.cells[name], study.ratio(name)
        rows.append({
            **name.plain(), "runs": len(cell.total), "regret": cell.mean, "error": cell.error, "ratio": ratio,
            "ratio_error": error, "quantile_99": cell.tail, "late_part": study.late_part(name)[0],
            "linear": study.linear(name), "apart_from_allocator": cell.apart,
        })  # fmt: skip
    return rows


def print_block(block: page.Table) -> None:
    """A table of a page on the terminal."""
    table = Table(*block.columns, title=block.caption)
    for row in block.rows:
        table.add_row(*map(shown, row))
    Console().print(table)


def progress_bar(*columns: Any, **options: Any) -> Progress:
    """A bar on the terminal, if the errors go to one."""
    return Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), **options)
