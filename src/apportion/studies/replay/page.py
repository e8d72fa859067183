"""The replay as a page, with a picture of how far P(best) can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from apportion._common import files
from apportion.studies.curves import Curve, Labels, Panel, Reference, draw_panels
from apportion.studies.finished import make_folder
from apportion.studies.page import Block, Figure, Heading, Picture, Table, Text, with_error, write_page
from apportion.studies.replay.run import AHEAD, AUTO, BEST, EVEN, ReplayStudy

TITLE = "A replay of real rates"
LEAD = (
    "A history played day by day: each policy splits whole units over the arms, and each unit succeeds with the rate"
    " that its arm had on that day. What is found beside an even split, fixed memories, and knowing each day's best."
)
DATA, PAGE, PICTURE = "replay.json", "replay.md", "reliability"
MEMORY_BAR, GAIN_BAR, COVERAGE_BAR = 0.98, 0.75, 0.90


def write_study(study: ReplayStudy, folder: Path, command: str) -> Path:
    """Write data, picture and page into the folder."""
    make_folder(folder)
    files.write_text(folder / DATA, study.to_json() + "\n")
    return write_page(folder / PAGE, TITLE, LEAD, _blocks(study, command))


def found_table(study: ReplayStudy) -> Table:
    """What every policy found."""
    rows = []
    for row in study.rows:
        gain = with_error(row.gain, row.gain_error if row.error else None)
        rows.append([row.policy, with_error(round(row.found), row.error or None), gain, row.covered])
    columns = ["policy", "found", "of the gain over an even split", "95% intervals that held"]
    return Table("What was found", columns, rows)


def bars(study: ReplayStudy) -> Table:
    """What `Auto` is held to, and what was found."""
    auto, memory = study.row(AUTO), study.best_memory
    found = (
        (f"of what the best fixed memory finds ({memory.policy})", MEMORY_BAR, auto.found / memory.found),
        ("of what is to be gained over an even split", GAIN_BAR, auto.gain),
        ("of the next day's rates inside the 95% interval", COVERAGE_BAR, auto.covered or 0.0),
    )
    rows = [[words, bar, value, value >= bar] for words, bar, value in found]
    return Table("What is asked and what was found", ["part", "at least", "found", "met"], rows)


def reliability_table(study: ReplayStudy) -> Table:
    """What P(best) said and how often it was so."""
    rows = [[_looked(each.ahead), each.said, each.happened, each.cases] for each in study.reliability]
    return Table("P(best) and what happened", ["best over", "said", "happened", "cases"], rows)


def picture(study: ReplayStudy) -> Figure:
    """How often the arm was best, against the probability that was said; on the diagonal the two agree."""
    panels = [
        Panel(
            _looked(ahead),
            [Curve(AUTO, 0, [each.said for each in bins], [each.happened for each in bins])],
            Reference([0.0, 1.0], [0.0, 1.0], "as said"),
        )
        for ahead in AHEAD
        if (bins := [each for each in study.reliability if each.ahead == ahead])
    ]
    title = "When it says that an arm is the best, how often is it?"
    notes = [f"{len(study.arms)} arms, {study.days} days, {study.runs} runs"]
    return draw_panels(
        Labels(title, notes, "probability that was said", "how often it was so"), panels, log_y=False, share=True
    )


def _looked(ahead: int) -> str:
    return "the next day" if ahead == 1 else f"the next {ahead} days"


def _blocks(study: ReplayStudy, command: str) -> Iterator[Block]:
    arms = f"{len(study.arms)} arms ({', '.join(study.arms)})"
    yield Text(
        f"{arms}, {study.days} days, {study.kits:,} units a day, {study.runs} runs; *found* is what the splits are"
        " expected to find, with its standard error. The fixed memories are those of `Matching`, told the binomial"
        f" noise; *{BEST}* is out of reach, as is a memory chosen in hindsight. `Auto` is told nothing. The gain is"
        f" what is found beyond the *{EVEN}*. Made by `{command}`; the numbers are in `{DATA}`."
    )
    for table in (bars(study), found_table(study), reliability_table(study)):
        yield Heading(table.caption)
        yield table._replace(caption="")
    if study.reliability:
        yield Picture(PICTURE, "How often the arm was best, against P(best).", lambda: picture(study))
