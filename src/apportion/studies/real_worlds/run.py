"""Every policy in the worlds fitted to public histories, over as many periods as these had."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from apportion._common import files
from apportion.errors import InvalidValue
from apportion.model.real_worlds import RealWorld, real_worlds
from apportion.simulation.candidates import Candidate, Informed
from apportion.simulation.executors import reason_of
from apportion.studies.comparison import page as comparison_page
from apportion.studies.comparison.run import Comparison, compare
from apportion.studies.comparison.worlds import named_policies
from apportion.studies.concave.scores import Score
from apportion.studies.concave.worlds import Case
from apportion.studies.page import Block, Heading, Table, Text, markdown_table, write_page

CONTESTANTS: Final = (
    "Auto", "Recommended", "Matching", "Thompson", "UCB", "RiverUCB", "QuarterlyRefit", "DiscretisedCUCB",
    "GradientAscent", "GaussianProcessKnapsack",
)  # fmt: skip
# Policies that are told c, b and every σ, unlike what anyone is in the real world.
TOLD: Final = ("Recommended", "Matching", "Thompson", "UCB", "DiscretisedCUCB")

TITLE = "Real worlds"
LEAD = (
    "What each policy earns, as a part of what was possible, beside an even split, in worlds fitted to public"
    " histories. The package has the fitted parameters, not the data."
)
DATA, PAGE = "real_worlds.json", "real_worlds.md"
BEGIN, END = "<!-- real worlds: begin -->", "<!-- real worlds: end -->"


def run_study(
    names: Iterable[str] = CONTESTANTS,
    *,
    worlds: Sequence[RealWorld] | None = None,
    runs: int = 20,
    seed: int = 1,
    workers: int | None = None,
    path: Path | None = None,
    command: str = "run_study()",
    on_case: Callable[[Case], None] = lambda case: None,
    timed: bool = True,
) -> Comparison:
    """Play the policies in the real worlds, each over the periods of its history; finished scores are found again."""
    chosen = real_worlds() if worlds is None else worlds
    policies: Mapping[str, Candidate] = {
        f"{name}, told" if isinstance(entry, Informed) and entry.cls.__name__ in TOLD else name: entry
        for name, entry in named_policies(names).items()
    }
    cases = [Case(each.title, each.world, each.quarter) for each in chosen]
    return compare(
        policies, cases, horizon={each.title: each.periods for each in chosen}, runs=runs,
        seed=seed, workers=workers, path=path, command=command, on_case=on_case, timed=timed,
    )  # fmt: skip


def headline(found: Sequence[Score]) -> Table:
    """One row per policy: the mean over the worlds of the part earned, and in how many it beats an even split."""
    worlds = {score.world for score in found}
    even = {score.world: score.even for score in found}
    mean = sum(even.values()) / len(even)
    rows = [[comparison_page.EVEN, f"{mean:.0%}", f"{min(even.values()):.0%}", ""]]
    for policy in comparison_page.ranked(found):
        own = [score for score in found if score.policy == policy]
        if len(own) == len(worlds):
            ahead = sum(score.ahead > 2.0 * score.ahead_error for score in own)
            parts = [score.part for score in own]
            cells = [f"{sum(parts) / len(parts):.0%}", f"{min(parts):.0%}", f"{ahead} of {len(own)}"]
            rows.append([policy, *cells])
    columns = ["policy", "mean over worlds", "in the worst world", "ahead of an even split in"]
    return Table("Part of what was possible", columns, rows)


def write_study(compared: Comparison, folder: Path, command: str, chosen: Sequence[RealWorld] | None = None) -> Path:
    """The page, with a picture and the sources of the worlds."""
    listed = real_worlds() if chosen is None else chosen
    sources = Table(
        "The worlds",
        ["world", "arms", "periods", "c", "b", "what it is", "source"],
        [[e.title, len(e.arms), e.periods, e.world.c, e.world.b, e.about, e.source] for e in listed],
    )
    words = (
        "Behind ± stands the standard error over runs. *Told* means that the policy is given c, b and every σ, which"
        " nobody has in real life; the others are told nothing. Means move as they did, smoothed; noise is Gaussian."
        " These worlds obey power laws, which is what `Auto` learns: they favour it over policies that know no shape."
        " A quarter of `QuarterlyRefit` is 90 days, 13 weeks or 3 months, and 90 rows where they are not in time:"
        " in a table of 91 days it acts once, where there are fewer rows never."
        f" Made by `{command}`; the numbers are in `{DATA}`."
    )
    first: list[Block] = [Heading("In one table"), headline(compared.scores)._replace(caption="")]
    parts = [*first, *comparison_page.blocks(compared, words), Heading(sources.caption), sources._replace(caption="")]
    return write_page(folder / PAGE, TITLE, LEAD, [Text("See [how they are made](../how-to/compare.md)."), *parts])


def around_headline(readme: Path) -> tuple[str, str]:
    """What stands before and after the headline table of a text, with its two marks; refused where it has none."""
    try:
        text = readme.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise InvalidValue(f"`readme` must be a text that can be read; got {readme}: {reason_of(error)}.") from error
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise InvalidValue(f"{readme} must have the lines {BEGIN} and {END}; got a text without them.")
    return before + begin, end + after


def write_headline(compared: Comparison, readme: Path) -> None:
    """Put the headline table between its two marks in a text such as the README."""
    before, after = around_headline(readme)
    files.write_text(readme, f"{before}\n{markdown_table(headline(compared.scores))}\n{after}")
