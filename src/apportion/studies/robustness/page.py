"""The study as a page of Markdown and a picture; every number comes from the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from apportion._common import files
from apportion.reporting.html import shown
from apportion.studies.concave.page import by_world, ranking
from apportion.studies.concave.scores import Score, load_scores
from apportion.studies.finished import read_json
from apportion.studies.page import Block, Figure, Heading, Picture, Table, Text, with_error, write_page
from apportion.studies.robustness import violations
from apportion.studies.robustness.findings import paragraphs, verdict
from apportion.studies.robustness.paper_law import FILES
from apportion.studies.robustness.run import COMPARED_PERIODS
from apportion.studies.robustness.study import LINEAR_PART, CellName, Study
from apportion.studies.robustness.violations import BY_KEY, NONE, POLICIES, VIOLATIONS, WORLDS, World

TITLE = "Robustness"
DATA = "data.json"
LEAD = (
    "What happens to regret when something is not as assumed: σ or b is wrong, the noise has heavy tails, is unequal"
    " or correlated, returns diminish, means move, outcomes come late, arms arrive late. Each figure is the mean"
    " regret in that world over the mean regret of the same policy in the same world with nothing wrong."
)

CONCAVE_WORDS = (
    "The paper's law has returns in proportion to the amount, one σ and means at rest. Here returns are power laws,"
    " saturating, logarithmic or capped, σ differs by arm, and means may move (`apportion.studies.concave`). Earned"
    " is a part of what the best split of every period would earn. `by the paper` is told b and one σ and takes"
    " returns as proportional, `told the law` also c (of a power law) and every σ, `Auto` nothing."
)

Concave = tuple[Sequence[Score], str]
"""Scores in concave worlds, and the command that made them."""


def picture(study: Study) -> Figure:
    """Regret over that with nothing wrong, per violation and policy, one panel per world."""
    from apportion.reporting.figures.canvas import log_axis, new_canvas
    from apportion.reporting.figures.style import FAINT, GRID, look, picture_style

    drawn = [violation for violation in VIOLATIONS if violation.key != NONE]
    ratios = [study.ratio(name)[0] for name in study]
    with picture_style():
        title, notes = "What each violated assumption costs", ["bars: two standard errors"]
        canvas = new_canvas(len(WORLDS), title, notes, share=True, rows=len(drawn) - 4)
        for ax, world in zip(canvas.axes, WORLDS):
            for index, policy in enumerate(POLICIES):
                points = [study.ratio(CellName(world.name, policy, violation.key)) for violation in drawn]
                values, errors = np.array(points).T
                bars = [np.minimum(2.0 * errors, 0.9 * values), 2.0 * errors]
                heights, style = np.arange(len(drawn)) + 0.16 * (index - 1.5), look(index)
                ax.errorbar(
                    values, heights, xerr=bars, fmt=style.marker, color=style.colour, ms=6, lw=1.2, label=policy
                )
            log_axis(ax, "x", min(0.5, 0.9 * min(ratios)), max(4.0, 1.3 * max(ratios)))
            ax.axvline(1.0, color=FAINT, lw=1)
            ax.grid(visible=False, axis="y")
            for index in range(1, len(drawn)):
                if drawn[index].group != drawn[index - 1].group:
                    ax.axhline(index - 0.5, color=GRID, lw=1)
            ax.set_yticks(range(len(drawn)), [violation.label for violation in drawn])
        canvas.axes[0].invert_yaxis()
        headings = [f"b = {world.b:g}: {world.name}" for world in WORLDS]
        canvas.finish("regret over that with nothing wrong", "", headings)
    return canvas.figure


def write_study(study: Study, folder: Path, command: str) -> Path:
    """Write data.json and the picture into `folder`, and the page beside it: folder.md."""
    folder.mkdir(parents=True, exist_ok=True)
    text = study.to_json()
    files.write_text(folder / DATA, text + "\n")
    written = Study.from_json(text)  # the page says what the file says
    concave = {heading: load_scores(folder / name) for name, heading in FILES.items() if (folder / name).exists()}
    blocks = _blocks(written, command, f"{folder.name}/{DATA}", concave)
    return write_page(folder.with_suffix(".md"), TITLE, LEAD, blocks, pictures=folder)


def write_folder(folder: Path) -> Path:
    """Write the page again from the data in the folder."""
    study = read_json(folder / DATA, "the study of robustness", Study.from_plain)
    page = folder.with_suffix(".md")
    written = page.read_text(encoding="utf-8") if page.exists() else ""
    return write_study(study, folder, written.partition("Made by `")[2].partition("`")[0])


def _blocks(study: Study, command: str, data: str, concave: Mapping[str, Concave]) -> Iterator[Block]:
    tuned = violations.CHOSEN_ON
    own = "the same as these" if study.seed == tuned else f"not on these, of seed {study.seed}"
    yield Text(verdict(study))
    yield Picture("robustness", "Regret over that with nothing wrong.", lambda: picture(study))
    yield Text(
        f"Two worlds with {WORLDS[0].arms} arms, one better by {WORLDS[0].gap:g}, σ = 1, T = {study.horizon:,}:"
        f" b = {WORLDS[0].b:g}, where dividing is right, and b = {WORLDS[1].b:g}, where pooling is; {study.runs} runs"
        f" of each cell ({_parameters()}), with the same means and noise for every policy and remedy. Runs are"
        f" compiled; {min(COMPARED_PERIODS, study.horizon)} periods of every cell were also played through the"
        f" `Allocator` (ask, wait, tell), and no period's regret differed by more than {study.apart:.1g}. Regret"
        f" counts as linear where the second half of the time, three standard errors down, loses more than"
        f" {LINEAR_PART:.0%} of what an even split loses there. The lengths of memory and the robust groups were"
        f" chosen on the runs of seed {tuned}, {own}. Made by `{command}`; every run is in `{data}`."
    )
    for world in WORLDS:
        yield Heading(f"Regret at b = {world.b:g}")
        yield _table("", study, world, _regret)
    for heading, text in paragraphs(study):
        yield Heading(heading)
        yield Text(" ".join(text.split()))
    for heading, (scores, made_by) in concave.items():
        yield Heading(heading)
        yield Text(f"{CONCAVE_WORDS} Made by `{made_by}`.")
        yield ranking(scores)._replace(caption="Over all worlds:")
        yield by_world(scores)._replace(caption="World by world, with the even split's part in brackets:")
    yield Heading("The tail, and the second half")
    yield Text(
        "The 99% quantile of regret, and what the second half of the time loses as a part of an even split's loss."
    )
    for world in WORLDS:
        yield _table(f"At b = {world.b:g}:", study, world, _tail)


def _parameters() -> str:
    """What a policy is given besides b and σ."""
    return "; ".join(
        f"`{policy}` with {', '.join(f'{name} {value:g}' for name, value in given.items())}"
        for policy, given in violations.PARAMETERS.items()
    )


def _table(caption: str, study: Study, world: World, cell: Callable[[Study, CellName], str]) -> Table:
    """The policies under every violation in a world."""
    rows = [
        [BY_KEY[violation].label, *(cell(study, name) for name in names)]
        for violation, names in study.rows(world).items()
    ]
    return Table(caption, ["what is wrong", *POLICIES], rows)


def _regret(study: Study, name: CellName) -> str:
    regret = with_error(study.cells[name].mean, study.cells[name].error)
    return regret if name.violation == NONE else f"{regret}, × {with_error(*study.ratio(name))}"


def _tail(study: Study, name: CellName) -> str:
    mark = " (linear)" if study.linear(name) else ""
    return f"{shown(study.cells[name].tail)}, {study.late_part(name)[0]:.0%}{mark}"
