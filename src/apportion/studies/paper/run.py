"""The run: sections one after the other into a data file, and the report from that file: HTML, Markdown, pictures.

An interrupted run goes on where it stopped.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from apportion._common import optional, validation
from apportion.errors import IncompatibleState
from apportion.studies.finished import Entries, Finished, FinishedWork, digest_of_numbers
from apportion.studies.page import Block, Heading, Text, write_page
from apportion.studies.paper.section import FULL, Section, Sizes, Values

FORMAT = "apportion.reproduction/1"
DATA = "data.json"
TITLE = "The paper, measured"
LEAD = (
    "The tables, examples and claims of Chen and Li, Allocating Divisible Resources on Arms with Unknown and "
    "Random Rewards: what is printed, what is right, and what was measured, side by side."
)
MARKDOWN, HTML = "report.md", "report.html"

_MODULES = (
    "table_one", "fixed_gaps", "transition", "bounds", "concentration", "lemma_two", "remark_on_b", "examples",
    "errata", "open_questions", "diminishing",
)  # fmt: skip
SECTIONS: tuple[Section, ...] = tuple(import_module(f"apportion.studies.paper.{name}").SECTION for name in _MODULES)


def reproduce(
    out: str | os.PathLike[str],
    *,
    sizes: Sizes = FULL,
    seed: int = 1,
    sections: Sequence[Section] = SECTIONS,
    on_step: Callable[[str, float], None] = lambda words, done: None,
) -> Path:
    """Run what is missing in `out`'s data file, then write the report beside it: HTML, Markdown, pictures.

    Every finished section is stored with what it depends on: its name, the sizes, the seed and a digest of the code;
    the same call goes on where an earlier one stopped. `on_step` is called with what is being done, and how much of
    the work is done, from 0 to 1. Returns the Markdown file.
    """
    optional.require("plot")  # before the work, not after it
    folder = Path(out)
    validation.whole("seed", seed, low=0)
    work = FinishedWork[str](folder / DATA, "the paper, measured", _decode, _encode)
    keys = {section.name: key_of(section, sizes, seed) for section in sections}
    missing = [section for section in sections if work.find(section.name, keys[section.name]) is None]
    costs = [COSTS.get(section.name, Cost()) for section in missing]
    total = sum(cost.seconds for cost in costs)
    for number, section in enumerate(missing):
        step = _steps(costs[number], sum(cost.seconds for cost in costs[:number]), total, on_step)
        step(section.title)
        started = time.perf_counter()
        values = section.measure(sizes, seed, step)
        seconds = round(time.perf_counter() - started, 1)
        work.add(section.name, keys[section.name], {"seconds": seconds, "values": values})
    on_step("writing the report", 1.0)
    values_by_name = {name: entry.result["values"] for name, entry in work.entries.items()}
    blocks = _blocks(command_of(sizes, seed), sections, values_by_name)
    return write_page(folder / MARKDOWN, TITLE, LEAD, blocks, html=folder / HTML)


class Cost(NamedTuple):
    """What a section of the full run costs, in seconds on two busy cores, and in how many steps."""

    seconds: float = 1.0
    steps: int = 1


COSTS = {
    "table-1": Cost(1600.0, 31), "fixed-gaps": Cost(80.0, 33), "phase-transition": Cost(61.0, 64),
    "bounds": Cost(13.0, 20), "proposition-1": Cost(2.0, 4), "lemma-2": Cost(0.1, 1), "remark-on-b": Cost(29.0, 9),
    "examples": Cost(24.0, 15), "errata": Cost(1.0, 1), "open-questions": Cost(8.0, 8),
    "diminishing": Cost(200.0, 48),
}  # fmt: skip


def _steps(cost: Cost, before: float, total: float, on_step: Callable[[str, float], None]) -> Callable[[str], None]:
    """How far the run is at each step of a section: it weighs what it costs in the full run, its steps alike.

    The first of the steps begins together with the section.
    """
    begun = itertools.chain([0], itertools.count())
    return lambda words: on_step(words, (before + min(next(begun) / cost.steps, 1.0) * cost.seconds) / total)


def key_of(section: Section, sizes: Sizes, seed: int) -> dict[str, Any]:
    """What the numbers of a section depend on."""
    code = digest_of_numbers(section.module, aside=(__name__,))
    return {"section": section.name, "effort": sizes._asdict(), "seed": seed, "code": code}


def _decode(data: Any) -> Entries[str]:
    """The sections of an earlier run."""
    if data["format"] != FORMAT:
        raise IncompatibleState(f"`format` must be {FORMAT!r}; got {data['format']!r}.")
    return {
        name: Finished(entry["key"], {"seconds": entry["seconds"], "values": entry["values"]})
        for name, entry in data["sections"].items()
    }


def _encode(entries: Entries[str]) -> str:
    sections = {name: {"key": entry.depends_on, **entry.result} for name, entry in entries.items()}
    return json.dumps({"format": FORMAT, "sections": sections}, ensure_ascii=False, allow_nan=False)


def _blocks(command: str, sections: Sequence[Section], values: Mapping[str, Values]) -> Iterator[Block]:
    yield Text(f"Made by `{command}`. Every measured number is in data.json beside this page, and comes from there.")
    for number, section in enumerate(sections, start=1):
        yield Heading(f"{number}. {section.title}")
        yield from section.show(dict(values[section.name]))


def command_of(sizes: Sizes, seed: int) -> str:
    """The command that makes this report."""
    return f"apportion study paper{' --quick' if sizes.name == 'quick' else ''} --seed {seed}"
