"""A history that is uploaded to a page: the file, how it is read, and its first rows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from starlette.datastructures import FormData, UploadFile

from apportion._common.dates import describe_order
from apportion._common.formatting import counted, readable
from apportion._common.tables import FileContent, column_index
from apportion.errors import ApportionError
from apportion.inference.history import read_history
from apportion.inference.history.preview import USUAL, Preview, look_at

ARMS_LISTED = 12
MOST_ARMS = 500

CHOOSE_AGAIN = (
    "The history is to be taken in, but its file is no longer chosen: choose it again in step 1, or untick "
    "“Start with this history”."
)


class Look(NamedTuple):
    """What is shown of a file before it is taken in."""

    preview: Preview | None
    chosen: Mapping[str, str] = MappingProxyType({})
    """Which column is which: as chosen, else as guessed."""
    facts: tuple[str, ...] = ()
    """What would be taken in."""
    notes: tuple[str, ...] = ()
    """What is done with the rows."""
    arms: tuple[str, ...] = ()
    problem: str = ""


def uploaded(form: FormData) -> FileContent | None:
    """The file that was chosen, under its own name, if there is one."""
    file = form.get("history")
    if not isinstance(file, UploadFile) or not file.filename:
        return None
    last = file.filename.replace("\\", "/").rpartition("/")[2]
    name = "".join(mark for mark in last if mark.isprintable())[-100:].lstrip(".") or "history.csv"
    file.file.seek(0)
    return FileContent(name, file.file.read())


def reading_options(typed: dict[str, str]) -> dict[str, Any]:
    """How the file is to be read, as `read_history` takes it."""
    names = {name: typed.get(f"column_{name}", "").strip() or name for name in USUAL}
    return {**names, **{name: typed.get(name, "").strip() or None for name in ("period", "decimal", "sheet")}}


def looked_at(file: FileContent | None, typed: dict[str, str]) -> Look | None:
    """The first rows of the file, which column is which, and what would be taken in; None without a file."""
    if file is None:
        return None
    try:
        preview = look_at(file)
        if typed.get("sheet") in preview.sheets:  # it may be of another file
            preview = look_at(file, sheet=typed["sheet"])
    except ApportionError as error:
        return Look(None, problem=str(error))
    chosen = {}
    for label in USUAL:
        index = column_index(preview.header, typed.get(f"column_{label}", ""))
        chosen[label] = preview.guess.get(label, "") if index is None else preview.header[index]
    missing = [label for label, name in chosen.items() if not name]
    if missing:
        return Look(preview, chosen, problem=f"Choose the column of the {' and of the '.join(missing)}.")
    options = reading_options({**typed, "sheet": preview.sheet})
    try:
        reading = read_history(file, **{**options, **chosen})
    except ApportionError as error:
        return Look(preview, chosen, problem=str(error))
    lines, summary = reading.observations, reading.summary
    if not lines:
        return Look(preview, chosen, problem="No row has an amount above 0.")
    arms = tuple(dict.fromkeys(line.arm for line in sorted(lines)))
    spent = sum(line.amount for line in lines)
    listed = ", ".join(arms[:ARMS_LISTED]) + (
        f" and {len(arms) - ARMS_LISTED} more" if len(arms) > ARMS_LISTED else ""
    )
    unit = summary.period or "date"
    facts = (
        f"{counted(summary.rows, 'row')}, {counted(summary.periods, unit)} "
        f"{describe_order(line.date for line in lines)}.",
        f"{counted(len(arms), 'arm')}: {listed}. In all {readable(spent)} was spent, "
        f"{readable(spent / summary.periods)} per {unit}.",
    )
    return Look(preview, chosen, facts, summary.sentences(), arms[:MOST_ARMS])
