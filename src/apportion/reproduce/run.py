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

from apportion import checks
from apportion.errors import InvalidValue
from apportion.reproduce.blocks import Section, Values
from apportion.reproduce.effort import FULL, Effort

FORMAT = "apportion.reproduction/1"
DATA = "data.json"

_MODULES = (
    "table_one", "fixed_gaps", "transition", "bounds", "concentration", "lemma_two", "remark_on_b", "examples",
    "errata", "open_questions",
)  # fmt: skip
SECTIONS: tuple[Section, ...] = tuple(import_module(f"apportion.reproduce.{name}").SECTION for name in _MODULES)

# What a section's numbers do not depend on; of this package only the section's own file and its tools count.
_ASIDE = ("cli", "web", "live", "testing", "figures", "report.py", "leaderboard", "tables.py", "reproduce")
_TOOLS = ("runs.py",)


def reproduce(
    out: str | os.PathLike[str],
    *,
    effort: Effort = FULL,
    seed: int = 1,
    sections: Sequence[Section] = SECTIONS,
    step: Callable[[str], None] = lambda words: None,
) -> Path:
    """Run what is missing in `out`'s data file, then write the report beside it: HTML, Markdown, pictures.

    Every finished section is kept under its name, the effort, the seed and a digest of the code it depends on; the
    same call goes on where an earlier one stopped. `step` is told what is being done. Returns the Markdown file.
    """
    from apportion.reproduce.page import write_report

    folder = Path(out)
    checks.whole("seed", seed, low=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise checks.refuse("out", "a folder that can be written", f"{folder} ({error.strerror})") from error
    found = _kept(folder / DATA)
    for section in sections:
        key = key_of(section, effort, seed)
        entry = found.get(section.name)
        if entry is None or entry["key"] != key:
            step(section.title)
            started = time.perf_counter()
            values = plain(section.measure(effort, seed, step))
            seconds = round(time.perf_counter() - started, 1)
            found[section.name] = {"key": key, "seconds": seconds, "values": values}
            _keep(folder / DATA, found)
    step("writing the report")
    return write_report(folder, effort, seed, sections, {name: entry["values"] for name, entry in found.items()})


def key_of(section: Section, effort: Effort, seed: int) -> dict[str, Any]:
    """What a finished section is kept under."""
    from apportion.reproduce.runs import leaping

    sizes = plain(effort._asdict())
    return {"section": section.name, "effort": sizes, "seed": seed, "leaping": leaping(), "code": code_of(section)}


def code_of(section: Section) -> str:
    """A digest of the sources that the section's numbers depend on."""
    root = Path(__file__).parent.parent
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
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        text = json.dumps({"format": FORMAT, "sections": sections}, ensure_ascii=False, allow_nan=False)
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
