"""The reliability of P(best) as a page and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from apportion._common import files
from apportion.studies.curves import Curve, Labels, Panel, Reference, draw_panels
from apportion.studies.finished import make_folder
from apportion.studies.page import Block, Figure, Heading, Picture, Table, Text, with_error, write_page
from apportion.studies.reliability.run import ReliabilityStudy
from apportion.studies.reliability.worlds import KINDS

TITLE = "How far P(best) can be trusted"
LEAD = (
    "Simulated worlds whose best arm is known: of all the days on which an arm was said to be the best with a"
    " probability of about 30%, say, was it the best on three of ten?"
)
DATA, PAGE, PICTURE = "reliability.json", "reliability.md", "reliability"


def write_study(study: ReliabilityStudy, folder: Path, command: str) -> Path:
    """Write data, picture and page into the folder."""
    make_folder(folder)
    files.write_text(folder / DATA, study.to_json() + "\n")
    return write_page(folder / PAGE, TITLE, LEAD, _blocks(study, command))


def summary_table(study: ReliabilityStudy) -> Table:
    """How far apart what was said and what happened are, by kind of world."""
    rows = []
    for kind in KINDS:
        sure = [each for each in study.of(kind) if each.said > 0.9]
        cases = sum(each.cases for each in sure)
        said = sum(each.cases * each.said for each in sure) / cases if cases else None
        happened = sum(each.cases * each.happened for each in sure) / cases if cases else None
        rows.append([kind, study.gap(kind), said, happened, cases])
    columns = ["worlds", "mean |said − happened|", "said, where above 90%", "happened then", "cases"]
    return Table("In short", columns, rows)


def reliability_table(study: ReliabilityStudy) -> Table:
    """What P(best) said and how often it was so."""
    rows = [[each.kind, each.said, with_error(each.happened, each.error), each.cases] for each in study.bins]
    return Table("What was said and what happened", ["worlds", "said", "happened", "cases"], rows)


def picture(study: ReliabilityStudy) -> Figure:
    """How often the arm was best, against the probability that was said; on the dotted line the two agree."""
    panels = []
    for kind in KINDS:
        bins = study.of(kind)
        x, y = [each.said for each in bins], [each.happened for each in bins]
        curve = Curve("Auto", 0, x, y, [2.0 * each.error for each in bins])
        panels.append(Panel(kind, [curve], Reference([0.0, 1.0], [0.0, 1.0], "as said")))
    notes = [f"{study.worlds} worlds of each kind, {study.arms} arms, {study.days} days; bars: two standard errors"]
    title = "When it says that an arm is the best, how often is it?"
    return draw_panels(
        Labels(title, notes, "probability that was said", "how often it was so"), panels, log_y=False, share=True
    )


def _blocks(study: ReliabilityStudy, command: str) -> Iterator[Block]:
    yield Text(
        f"{study.worlds} worlds of each kind, {study.arms} arms, {study.days} days, {study.kits:,} whole units a day;"
        " every unit succeeds with the rate of its arm on that day, and `Auto` splits, told nothing. *Said* is the"
        " mean of P(best) in a bin, *happened* how often the arm had the highest rate on the next day, with its"
        f" standard error over worlds. Made by `{command}`; the numbers are in `{DATA}`."
    )
    yield Picture(PICTURE, "How often the arm was best, against P(best).", lambda: picture(study))
    for table in (summary_table(study), reliability_table(study)):
        yield Heading(table.caption)
        yield table._replace(caption="")
