"""Settings of campaigns as options of commands, made from their declaration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import typer

from apportion._common import parsing
from apportion.campaigns.settings import SETTINGS, Setting
from apportion.cli import show

Command = TypeVar("Command", bound=Callable[..., None])

_TYPES: dict[str, Any] = {
    "number": float, "per_arm": str, "whole": int, "flag": bool, "text": str, "texts": list[str], "choice": str,
    "policy": str, "shares": list[str],
}  # fmt: skip


def option_name(name: str) -> str:
    """A setting as it is typed on the command line: half-life."""
    return name.replace("_", "-")


def read_options(given: dict[str, Any]) -> dict[str, Any]:
    """The values of the options that were given: shares and numbers by arm are typed as text."""
    read = dict(given)
    for name, value in given.items():
        setting = SETTINGS[name]
        if setting.kind == "shares":
            read[name] = show.shares(value or (), name) or None
        elif setting.kind == "texts" and value is not None:
            read[name] = tuple(text for text in value if text.strip())  # one that is empty: none
        elif setting.kind == "per_arm" and value is not None:
            read[name] = parsing.number_or_per_arm(value, setting.noun, show.number)
    return read


def unset_by_zero(given: Mapping[str, Any]) -> dict[str, None]:
    """The settings that were given as 0 to be without them."""
    return {name: None for name, value in given.items() if SETTINGS[name].zero_unsets and value == 0}


def with_settings(
    settings: Mapping[str, Setting], *, before: str, change: bool = False
) -> Callable[[Command], Command]:
    """Give a command that takes `**given` an option for each setting, shown before one of its own options.

    With `change` nothing has a default, and a flag can be switched off too.
    """

    def decorate(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True)
        parameters = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        place = [each.name for each in parameters].index(before)
        parameters[place:place] = [_parameter(setting, change) for setting in settings.values()]
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return decorate


def _parameter(setting: Setting, change: bool) -> inspect.Parameter:
    name = f"--{option_name(setting.option or setting.name)}"
    if setting.kind == "flag" and change:
        name += f"/--no-{option_name(setting.name)}"
    says = (
        f"{setting.help.rstrip('.')}: arm=5%, arm=0.05 or 'arm=250 EUR'."
        if setting.kind == "shares"
        else setting.help
    )
    if setting.zero_unsets:
        says += f" 0: {setting.without}."
    if change and setting.recounts:
        says += " Counts all outcomes again."
    typed = _TYPES[setting.kind]
    default = None if change or setting.kind == "texts" else setting.default
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=default,
        annotation=Annotated[typed | None if default is None else typed, typer.Option(name, help=says)],
    )
