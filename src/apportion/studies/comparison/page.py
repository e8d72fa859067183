"""A comparison as tables, a picture and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from apportion.studies.comparison.run import Comparison, Cost
from apportion.studies.concave.scores import Score
from apportion.studies.page import Block, Figure, Heading, Picture, Table, Text, write_page

TITLE = "Policies compared"
LEAD = (
    "What each policy earns in each world, as a part of what knowing everything would earn, with its standard error;"
    " an even split is the yardstick. Where a cell is empty the policy asks for what the world does not have."
)
DATA, PAGE, PICTURE = "comparison.json", "comparison.md", "comparison"
EVEN = "an even split"
# So many panels fit side by side.
_ACROSS = 3


def earned_table(found: Sequence[Score], caption: str = "What is earned, of what was possible") -> Table:
    """Policies × worlds: the part of the optimum ± its standard error, the best policy of all worlds first."""
    worlds = list(dict.fromkeys(score.world for score in found))
    cells = {(score.policy, score.world): score for score in found}
    even = {score.world: score.even for score in found}
    rows = [[EVEN, *(f"{even[world]:.3f}" for world in worlds)]]
    for policy in ranked(found):
        rows.append([policy, *(_cell(cells.get((policy, world))) for world in worlds)])
    lengths = {score.world: score.horizon for score in found}
    return Table(caption, ["policy", *(f"{world} (T = {lengths[world]:,})" for world in worlds)], rows)


def regret_table(found: Sequence[Score]) -> Table:
    """The same as regret."""
    worlds = list(dict.fromkeys(score.world for score in found))
    cells = {(score.policy, score.world): score for score in found}
    even = {score.world: score.even_regret for score in found}
    rows = [[EVEN, *(f"{even[world]:.3g}" for world in worlds)]]
    for policy in ranked(found):
        own = (cells.get((policy, world)) for world in worlds)
        rows.append([policy, *("" if s is None else f"{s.regret:.3g} ± {s.regret_error:.2g}" for s in own)])
    return Table("Regret", ["policy", *worlds], rows)


def cost_table(costs: Sequence[Cost]) -> Table:
    """What a decision costs."""
    rows = [[each.policy, each.world, float(f"{each.microseconds:.3g}")] for each in costs]
    return Table("Cost of a decision", ["policy", "in", "microseconds a period"], rows)


def ranked(found: Sequence[Score]) -> list[str]:
    """The policies, those that play in most worlds first, among them the one furthest ahead of an even split."""
    names = dict.fromkeys(score.policy for score in found)

    def place(name: str) -> tuple[int, float]:
        own = [score.ahead for score in found if score.policy == name]
        return -len(own), -sum(own) / len(own)

    return sorted(names, key=place)


def write_comparison(compared: Comparison, folder: Path, command: str) -> Path:
    """The page with its picture, into the folder."""
    return write_page(folder / PAGE, TITLE, LEAD, blocks(compared, f"Made by `{command}`; numbers in `{DATA}`."))


def blocks(compared: Comparison, words: str) -> Iterator[Block]:
    """Words, tables and the picture."""
    yield Text(words)
    for table in (earned_table(compared.scores), regret_table(compared.scores), cost_table(compared.costs)):
        if table.rows:
            yield Heading(table.caption)
            yield table._replace(caption="")
    yield Picture(PICTURE, "What is earned in each world.", lambda: picture(compared.scores))


def picture(found: Sequence[Score]) -> Figure:
    """A panel per world: a bar per policy with its standard error, and a line at the even split's part."""
    from matplotlib.figure import Figure as NewFigure

    from apportion.reporting.figures.style import FAINT, INK, look, picture_style

    worlds = list(dict.fromkeys(score.world for score in found))
    policies = ranked(found)
    down = -(-len(worlds) // _ACROSS)
    with picture_style():
        figure = NewFigure(figsize=(10.0, down * (1.0 + 0.24 * len(policies))), layout="constrained")
        axes = figure.subplots(down, min(_ACROSS, len(worlds)), squeeze=False, sharey=True)
        for index, ax in enumerate(axes.ravel()):
            if index >= len(worlds):
                ax.set_axis_off()
                continue
            own = {score.policy: score for score in found if score.world == worlds[index]}
            for row, policy in enumerate(reversed(policies)):
                if policy in own:
                    score = own[policy]
                    ax.barh(row, max(score.part, 0.0), xerr=score.error, height=0.7, color=look(0).colour)
            ax.axvline(next(iter(own.values())).even, color=FAINT, ls="--", lw=1.4)
            ax.set_yticks(range(len(policies)), list(reversed(policies)), fontsize=8)
            ax.set_xlim(0.0, 1.02)
            ax.set_title(worlds[index], fontsize=9, color=INK, loc="left")
        figure.supxlabel("part of what was possible; dashed: an even split", fontsize=9)
    return figure


def _cell(score: Score | None) -> str:
    return "" if score is None else f"{score.part:.3f} ± {score.error:.3f}"
