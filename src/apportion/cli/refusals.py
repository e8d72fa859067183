"""What is refused: one sentence and exit code 2, however the commands are called; numbers that cannot be read too."""

from __future__ import annotations

import shlex
import sys
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from apportion._common import optional, parsing
from apportion._common.validation import shown
from apportion.errors import ApportionError, InvalidValue


class Commands(TyperGroup):
    """All commands; a number that cannot be read is refused in our own sentence, below the usage of the command."""

    order: ClassVar[list[str]] = []
    """The names in the order in which help shows them; as they were added, where it is empty."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names: group by group, as the groups list them, and not those with others below them last."""
        return sorted(self.commands, key=self.order.index) if self.order else list(self.commands)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named: a refusal ends it with its sentence and exit code 2, never a traceback."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            sentence = _sentence(error)
            if sentence is None:
                raise
            raise _Refused(sentence, ctx=error.ctx, param=error.param) from None
        except ApportionError as error:
            print(error, file=sys.stderr)
            if columns := getattr(error, "columns", None):
                options = (f"--{label}-column {shlex.quote(name)}" for label, name in columns.items())
                print(f"Type: {' '.join(options)}", file=sys.stderr)
            raise typer.Exit(2) from error
        except ImportError as error:
            missing = optional.as_missing_extra(error)
            if missing is None:
                raise
            print(missing, file=sys.stderr)
            raise typer.Exit(2) from error
        except KeyboardInterrupt:
            print("Stopped.", file=sys.stderr)
            raise typer.Exit(130) from None


class _Refused(typer.BadParameter):
    def format_message(self) -> str:
        return self.message


def _sentence(error: typer.BadParameter) -> str | None:
    """None where what the parser says will do: an older one names what was given by itself."""
    errors = getattr(error.__cause__, "errors", None)
    if errors is None or error.param is None:
        return None
    fault = errors()[0]
    kind, given, name = str(fault["type"]), fault["input"], f"`{max(error.param.opts, key=len)}`"
    if kind.startswith("int_"):
        return f"{name} must be a whole number; got {shown(given)}."
    if kind == "float_parsing":
        percentages = parsing.readings(str(given).rstrip("% "))
        if len(percentages) == 1 and "%" in str(given):
            return f"{name} must be a number, such as {percentages[0] / 100:g}; got {shown(given)}."
        try:
            value = parsing.number(str(given), name)
        except InvalidValue as refusal:
            return str(refusal)
        return f"{name} must be a number in the form {value!r}; got {shown(given)}."
    for bound, words in (("ge", "of at least"), ("le", "of at most")):
        if bound in fault.get("ctx", {}):
            return f"{name} must be a number {words} {fault['ctx'][bound]}; got {shown(given)}."
    return None
