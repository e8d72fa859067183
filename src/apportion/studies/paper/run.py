"""The run: sections one after the other into a data file, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from apportion._common import files, validation
from apportion.errors import InvalidValue
from apportion.studies.paper.blocks import Section, Values
from apportion.studies.paper.effort import FULL, Effort

FORMAT = "apportion.reproduction/1"
DATA = "data.json"

_MODULES = (
    "table_one", "fixed_gaps", "transition", "bounds", "concentration", "lemma_two", "remark_on_b", "examples",
    "errata", "open_questions",
)  # fmt: skip
SECTIONS: tuple[Section, ...] = tuple(import_module(f"apportion.studies.paper.{name}").SECTION for name in _MODULES)

# What a section's numbers do not depend on; of this package only the section's own file and its tools count.
_ASIDE = ("cli", "web", "campaigns", "client", "testing", "reporting", "studies")
_TOOLS = ("runs.py",)


def reproduce(
    out: str | os.PathLike[str],
    *,
    effort: Effort = FULL,
    seed: int = 1,
    sections: Sequence[Section] = SECTIONS,
    step: Callable[[str, float], None] = lambda words, done: None,
) -> Path:
    """Run what is missing in `out`'s data file, then write the report beside it: HTML, Markdown, pictures.

    Every finished section is kept under its name, the effort, the seed and a digest of the code it depends on; the
    same call goes on where an earlier one stopped. `step` is told what is being done, and how much of the work is
    behind, from 0 to 1. Returns the Markdown file.
    """
    from apportion.studies.paper.page import write_report

    folder = Path(out)
    validation.whole("seed", seed, low=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise validation.refuse("out", "a folder that can be written", f"{folder} ({error.strerror})") from error
    found = _kept(folder / DATA)
    keys = {section.name: key_of(section, effort, seed) for section in sections}
    missing = [section for section in sections if found.get(section.name, {}).get("key") != keys[section.name]]
    way = Way(missing, step)
    for section in missing:
        way.enter(section)
        started = time.perf_counter()
        values = plain(section.measure(effort, seed, way.step))
        seconds = round(time.perf_counter() - started, 1)
        found[section.name] = {"key": keys[section.name], "seconds": seconds, "values": values}
        _keep(folder / DATA, found)
    step("writing the report", 1.0)
    return write_report(folder, effort, seed, sections, {name: entry["values"] for name, entry in found.items()})


# What a section of the full run costs, in seconds on two busy cores, and in how many steps.
COSTS = {
    "table-1": (1942.0, 31), "fixed-gaps": (80.0, 33), "phase-transition": (61.0, 64), "bounds": (13.0, 20),
    "proposition-1": (2.0, 4), "lemma-2": (0.1, 1), "remark-on-b": (29.0, 9), "examples": (24.0, 15),
    "errata": (1.0, 1), "open-questions": (8.0, 8),
}  # fmt: skip


class Way:
    """How far the run is: each section weighs what it costs in the full run, each of its steps alike."""

    def __init__(self, sections: Sequence[Section], tell: Callable[[str, float], None]) -> None:
        self._tell = tell
        self._all = sum(COSTS.get(section.name, (1.0, 1))[0] for section in sections)
        self._behind = self._cost = self._taken = 0.0
        self._steps = 1

    def enter(self, section: Section) -> None:
        """A section begins, and the one before is done."""
        self._behind += self._cost
        self._cost, self._steps = COSTS.get(section.name, (1.0, 1))
        self._taken = -1.0
        self.step(section.title)

    def step(self, words: str) -> None:
        """A step begins, the first of them together with its section."""
        part = min(max(self._taken, 0.0) / self._steps, 1.0)
        self._taken += 1.0
        self._tell(words, (self._behind + part * self._cost) / self._all)


def key_of(section: Section, effort: Effort, seed: int) -> dict[str, Any]:
    """What a finished section is kept under."""
    from apportion.studies.paper.runs import leaping

    sizes = plain(effort._asdict())
    return {"section": section.name, "effort": sizes, "seed": seed, "leaping": leaping(), "code": code_of(section)}


def code_of(section: Section) -> str:
    """A digest of the sources that the section's numbers depend on."""
    root = Path(__file__).parents[2]
    own = Path(import_module(section.module).__file__ or "")
    wanted = [path for path in sorted(root.rglob("*.py")) if path.relative_to(root).parts[0] not in _ASIDE]
    digest = hashlib.sha256()
    for path in [*wanted, own, *(Path(__file__).parent / name for name in _TOOLS)]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def plain(value: Any) -> Any:
    """Data that JSON can hold: infinity as a sign, None where there is no number."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return None if math.isnan(number) else ("∞" if number > 0 else "−∞") if math.isinf(number) else number
    return value


def _kept(path: Path) -> dict[str, Values]:
    """The sections of an earlier run; a file that is something else is not overwritten."""
    if not path.exists():
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise KeyError("format")
        sections: dict[str, Values] = data["sections"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidValue(
            f"{path} is not the data file of a reproduction; move it away or choose another folder."
        ) from error
    return sections


def _keep(path: Path, sections: dict[str, Values]) -> None:
    """Write the data file; the old one stays until the new one is whole."""
    text = json.dumps({"format": FORMAT, "sections": sections}, ensure_ascii=False, allow_nan=False)
    files.write_text(path, text)
