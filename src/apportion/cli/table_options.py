"""How a table is read, as options of every command that reads one: the same names everywhere."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

Command = TypeVar("Command", bound=Callable[..., None])

_COLUMNS = {"date": "dates", "arm": "arms", "amount": "amounts", "outcome": "outcomes"}
_ANY_DATE = "The column of the dates; one called date by default, if there is one."

_STYLE = {
    "decimal": "Decimal mark, comma or point; found in the file by default.",
    "delimiter": "Separator of cells; found in the file by default.",
    "sheet": "The sheet of a workbook, by name or number; the first that has the columns by default.",
}
_PERIOD = "Sum the rows of each day, week or month: one of them is a period then."


def with_table_options(*, before: str, columns: bool = True, dated: bool = True) -> Callable[[Command], Command]:
    """Give a command that takes `**table` the options of a table, shown before one of its own options.

    `columns`: also which column is which, and what a period is. `dated`: dates are needed.
    """

    def decorate(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True)
        parameters = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        added: list[inspect.Parameter] = []
        if columns:
            for name, what in _COLUMNS.items():
                if name == "date" and not dated:
                    added.append(_parameter("date_column", _ANY_DATE, None))
                else:
                    added.append(_parameter(f"{name}_column", f"The column of the {what}.", name))
            added.append(_parameter("period", _PERIOD, None))
        added += [_parameter(name, says, None) for name, says in _STYLE.items()]
        place = [each.name for each in parameters].index(before)
        parameters[place:place] = added
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return decorate


def _parameter(name: str, says: str, default: str | None) -> inspect.Parameter:
    typed = str | None if default is None else str
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=default,
        annotation=Annotated[typed, typer.Option(help=says)],
    )


def reading_options(table: dict[str, Any]) -> dict[str, Any]:
    """What was given, as `read_history` takes it."""
    return {name.removesuffix("_column"): value for name, value in table.items()}


def as_typed(table: dict[str, Any]) -> str:
    """The same as it is typed, without what is so by default."""
    given = {name: value for name, value in table.items() if value not in (None, name.removesuffix("_column"))}
    return "".join(f" --{name.replace('_', '-')} {shlex.quote(value)}" for name, value in given.items())
