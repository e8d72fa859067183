"""The study of concave worlds as a page: what is met, and every world with what it earned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from apportion.studies.concave import told
from apportion.studies.concave.scores import BARS, Score
from apportion.studies.page import Block, Heading, Table, Text, write_page

TITLE = "Concave worlds"
LEAD = (
    "What a policy earns where returns diminish, noise differs by arm and means may move: as a part of what knowing"
    " everything would earn, with the even split's part in brackets. Behind ± stands the standard error."
)
DATA, PAGE = "concave.json", "concave.md"

TOLD_TITLE = "What it costs not to know"
TOLD_LEAD = (
    "The regret of `Auto`, which is told nothing, beside that of rules that are told c, b and every σ, and of such"
    " rules with a fixed memory; behind ± stands the standard error."
)
TOLD_DATA, TOLD_PAGE = "told.json", "told.md"


def verdicts(found: Sequence[Score]) -> Table:
    """For each policy, horizon and bar: in how many worlds it is met, and the least that is earned in any of them."""
    rows = []
    for policy, horizon in dict.fromkeys((score.policy, score.horizon) for score in found):
        own = [score for score in found if (score.policy, score.horizon) == (policy, horizon)]
        for bar, words in BARS.items():
            held = [score for score in own if bar in score.held_to]
            if held:
                met = sum(bar not in score.missed for score in held)
                least = min(score.part for score in held)
                rows.append([policy, horizon, words, f"{met} of {len(held)}", f"{least:.3f}"])
    return Table("What is met", ["policy", "T", "bar", "met in worlds", "least part"], rows)


def ranking(found: Sequence[Score]) -> Table:
    """Every policy over all its worlds, the one that earns most first: the mean and the least part of the optimum."""
    horizons = sorted({score.horizon for score in found})
    rows = []
    for policy in dict.fromkeys(score.policy for score in found):
        own = [score for score in found if score.policy == policy]
        parts = {horizon: [score.part for score in own if score.horizon == horizon] for horizon in horizons}
        means = [sum(values) / len(values) for values in parts.values()]
        behind = sum(score.ahead < 0.0 and score.horizon == horizons[-1] for score in own)
        cells = (f"{mean:.3f}, {min(values):.3f}" for mean, values in zip(means, parts.values()))
        rows.append((sum(means), [policy, *cells, f"{behind} of {len(parts[horizons[-1]])}"]))
    columns = [f"T = {horizon:,}: mean, least" for horizon in horizons]
    listed = [row for _, row in sorted(rows, key=lambda pair: -pair[0])]
    return Table(
        "Part of the optimum's value", ["policy", *columns, f"behind an even split at T = {horizons[-1]:,}"], listed
    )


def by_world(found: Sequence[Score]) -> Table:
    """What every policy earns in every world, horizon beside horizon."""
    horizons = list(dict.fromkeys(score.horizon for score in found))
    cells = {(score.policy, score.world, score.horizon): shown_score(score) for score in found}
    names = dict.fromkeys((score.policy, score.world) for score in found)
    rows = [[*name, *(cells[*name, horizon] for horizon in horizons)] for name in names]
    return Table("World by world", ["policy", "world", *(f"T = {horizon:,}" for horizon in horizons)], rows)


def write_study(found: Sequence[Score], folder: Path, command: str) -> Path:
    """Write the page into the folder."""
    words = (
        "`noise` is the standard deviation of what an even share returns over its mean (the geometric mean over"
        " arms), `means ×` the largest mean over the smallest, `σ ×` the same of the noise levels, `bend` the middle"
        " of the scales or caps in even shares. Each T is a run of its own, which knows its T."
        f" Made by `{command}`; the numbers are in `{DATA}`."
    )
    return write_page(folder / PAGE, TITLE, LEAD, _blocks(words, verdicts(found), by_world(found)))


def write_told(grid: Sequence[Score], moving: Sequence[Score], swings: Table, folder: Path, command: str) -> Path:
    """Write the page of what it costs not to know into the folder."""
    words = (
        f"Means 1, 0.85, 0.7, 0.6, 0.4 (with ten arms evenly from 1 to 0.4), a budget of 1; T = {told.GRID_HORIZON:,}"
        f" at rest, {told.MOVING_HORIZON} where means move, there with σ from 0.15 to 0.6. A fixed memory is that of"
        f" `Matching` with sums that fade. Made by `{command}`; the numbers are in `{TOLD_DATA}`."
    )
    tables = told.bars(grid, moving), swings, told.grid_table(grid), told.moving_table(moving)
    return write_page(folder / TOLD_PAGE, TOLD_TITLE, TOLD_LEAD, _blocks(words, *tables))


def _blocks(words: str, *tables: Table) -> Iterator[Block]:
    yield Text(words)
    for table in tables:
        yield Heading(table.caption)
        yield table._replace(caption="")


def shown_score(score: Score) -> str:
    """The part of the optimum with its error, the even split's, and the bars that are missed."""
    missed = f"; misses {', '.join(score.missed)}" if score.missed else ""
    return f"{score.part:.3f} ± {score.error:.3f} ({score.even:.3f}){missed}"
