"""Outcomes as they are copied from a spreadsheet: a column of numbers, or names and numbers side by side."""

from collections.abc import Sequence

from apportion._common import parsing, tables
from apportion._common.faults import Faults
from apportion._common.tables import FileContent
from apportion.campaigns.outcome_files import OutcomeRow, read_outcome_rows
from apportion.errors import InvalidValue

ARMS_LISTED = 12


def read_pasted(text: str, arms: Sequence[str], *, decimal: str | None = None) -> list[OutcomeRow]:
    """The outcomes in a text: one number per line, for these arms in this order, or lines of an arm and its number.

    An empty cell is an outcome that has not come yet, "no data" one that will not come. A heading is passed over.
    With columns named arm and outcome it is read as a file of outcomes is, with amounts.

    >>> [(row.arm, row.outcome) for row in read_pasted("Revenue\\n€ 1.200,50\\n\\n77", ("search", "social", "video"))]
    [('search', 1200.5), ('video', 77.0)]
    >>> [(row.arm, row.outcome) for row in read_pasted("social\\t410.5\\nsearch\\t812", ("search", "social"))]
    [('social', 410.5), ('search', 812.0)]
    """
    parsing.decimal_name(decimal)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    if not "".join(lines).strip():
        raise InvalidValue("Nothing was pasted: copy the cells of what came back, one for each arm.")
    while len(lines) > len(arms) + 1 and not lines[-1].strip():
        lines.pop()
    if _has_header(lines[0]):
        return read_outcome_rows(FileContent("what was pasted", text.encode()), decimal=decimal)
    rows = [_cells(line, arms) for line in lines]
    if max(map(len, rows)) > 2:
        raise InvalidValue(
            "What is pasted must be one column of numbers, or arms and numbers side by side; got "
            f"{max(map(len, rows))} columns. With more, name the columns: arm, outcome, amount."
        )
    if any(len(row) == 2 for row in rows):
        return _by_name(rows, arms, decimal)
    return _in_order([row[0] for row in rows], arms, decimal)


def _has_header(line: str) -> bool:
    return any({"arm", "outcome"} <= {cell.strip().casefold() for cell in line.split(mark)} for mark in "\t;,")


def _cells(line: str, arms: Sequence[str]) -> list[str]:
    """The cells of a line: commas separate only after the name of an arm, as they may stand in numbers."""
    for mark in "\t;":
        if mark in line:
            cells = [cell.strip() for cell in line.split(mark)]
            while len(cells) > 1 and not cells[-1]:
                cells.pop()
            return cells
    name, comma, rest = (part.strip() for part in line.partition(","))
    return [name, rest] if comma and _arm(name, arms) is not None else [line.strip()]


def _arm(name: str, arms: Sequence[str]) -> str | None:
    """The arm that is meant: the one that is called so, else the only one that is but for case."""
    if name in arms:
        return name
    alike = [arm for arm in arms if arm.strip().casefold() == name.strip().casefold()]
    return alike[0] if len(alike) == 1 else None


def _in_order(cells: list[str], arms: Sequence[str], decimal: str | None) -> list[OutcomeRow]:
    first = 0
    if len(cells) == len(arms) + 1 and not tables.says_nothing(cells[0]) and not parsing.readings(cells[0]):
        first = 1  # a heading
    elif len(cells) == len(arms) + 1 and not cells[-1]:
        cells = cells[:-1]
    if len(cells) - first != len(arms):
        listed = ", ".join(arms[:ARMS_LISTED]) + (" and more" if len(arms) > ARMS_LISTED else "")
        raise InvalidValue(
            f"A pasted column must have one cell for each arm that waits, in this order: {listed}; got "
            f"{len(cells) - first} for {len(arms)}."
        )
    return _rows(list(zip(range(first + 1, len(cells) + 1), arms, cells[first:])), decimal)


def _by_name(rows: list[list[str]], arms: Sequence[str], decimal: str | None) -> list[OutcomeRow]:
    faults, found, seen = Faults(), [], set()
    for number, row in enumerate(rows, start=1):
        name, cell = (*row, "")[:2]
        arm = _arm(name, arms)
        if arm is None:
            heading = number == 1 and not parsing.readings(cell)
            if not heading and (name or cell):
                listed = ", ".join(arms[:ARMS_LISTED]) + (" and more" if len(arms) > ARMS_LISTED else "")
                faults.add(number, f"arm '{name[:60]}' does not wait for an outcome; those that do are {listed}.")
            continue
        if arm in seen:
            faults.add(number, f"arm '{arm}' is given twice.")
        seen.add(arm)
        found.append((number, arm, cell))
    faults.refuse()
    return _rows(found, decimal)


def _rows(found: list[tuple[int, str, str]], decimal: str | None) -> list[OutcomeRow]:
    mark = parsing.decimal_marks([[cell for _, _, cell in found]], decimal)[0]
    faults, rows = Faults(), []
    for number, arm, cell in found:
        if not cell:
            continue
        if tables.says_nothing(cell):
            rows.append(OutcomeRow(None, arm, None, None))
            continue
        try:
            value = parsing.cell_number(cell, mark, f"the outcome {cell[:50]!r}")
        except InvalidValue as error:
            faults.add_once("decimal", number, str(error))
            continue
        if value is None:
            faults.add(number, f"the outcome must be a number; got {cell[:50]!r}.")
        else:
            rows.append(OutcomeRow(None, arm, value, None))
    faults.refuse()
    return rows
