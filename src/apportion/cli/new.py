"""`apportion new`: begin a campaign, or a worked example; on a terminal by asking."""

from __future__ import annotations

import functools
import shlex
import sys
from typing import Annotated, Any

import typer

from apportion.campaigns.settings import SETTINGS
from apportion.cli import show
from apportion.cli.campaign import Db, Json
from apportion.cli.setting_options import read_options, unset_by_zero, with_settings
from apportion.errors import InvalidValue


@with_settings(SETTINGS, before="db")
def new(
    name: Annotated[str | None, typer.Argument(help="The campaign's name.")] = None,
    arms: Annotated[str | None, typer.Option(help="The arms' names, separated by commas.")] = None,
    example: Annotated[
        str | None, typer.Option(help="Start from a worked example with a past: marketing, kits or hours.")
    ] = None,
    db: Db = None,
    json: Json = False,
    **given: Any,
) -> None:
    """Begin a campaign, or one of three worked examples with a past. On a terminal, what is missing is asked for.

    Example: apportion new ads --arms search,social,video --budget 5000 --unit EUR --outcome-unit orders --every week
    """
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.examples import begin_example, find_example

    asking = sys.stdin.isatty() and not json
    if asking and None in (name, arms, given["budget"]):
        example = example or _ask_for_example()
        if example is None:
            name, arms = _ask(name, arms, given)
        else:
            name = name or typer.prompt("Name of the campaign", default=example)
    found = None if example is None else find_example(example)
    if found is not None and name is None:
        name = found.key
    if found is None and None in (name, arms, given["budget"]):
        lacking = {"NAME": name, "--arms": arms, "--budget": given["budget"]}
        missing = [option for option, value in lacking.items() if value is None]
        raise InvalidValue(f"`apportion new` needs {' and '.join(missing)}; see `apportion new --help`.")
    for setting in SETTINGS.values():
        if setting.kind in ("text", "choice"):
            given[setting.name] = given[setting.name] or None
        elif setting.kind == "texts":
            given[setting.name] = given[setting.name] or ()
    options = read_options(given) | unset_by_zero(given)
    create = functools.partial(Campaign.create, db=db)
    listed = None if arms is None else [arm.strip() for arm in arms.split(",")]
    if found is not None:
        changed = {option: value for option, value in options.items() if value != SETTINGS[option].default}
        campaign = begin_example(found, create, str(name), changed if listed is None else {**changed, "arms": listed})
    else:
        campaign = create(str(name), listed or [], **options)
    show.show_status(campaign.status(), json)
    if not json:
        show.say(f"Next: apportion split {shlex.quote(str(name))}")


def _ask_for_example() -> str | None:
    """Which example to start from; None for a campaign of one's own."""
    from apportion.campaigns.examples import EXAMPLES

    for example in EXAMPLES.values():
        show.say(f"{example.key}: {example.title}. {example.story}")
    question = f"Start from an example ({', '.join(EXAMPLES)}; empty: a campaign of your own)"
    chosen = typer.prompt(question, default="", show_default=False, value_proc=_example)
    return chosen or None


def _example(typed: str) -> str:
    """What was typed at the prompt, which asks again where it is no example."""
    from apportion.campaigns.examples import find_example

    key = typed.strip().lower()
    try:
        return find_example(key).key if key else ""
    except InvalidValue as error:
        raise typer.BadParameter(str(error)) from None


def _ask(name: str | None, arms: str | None, given: dict[str, Any]) -> tuple[str, str]:
    """What is missing to begin with: what is split, how often, and what comes back. Never how it varies."""
    name = name or typer.prompt("Name of the campaign")
    arms = arms or typer.prompt("Arms, separated by commas")
    if given["budget"] is None:
        given["budget"] = typer.prompt("Budget of a period", value_proc=_budget)
    questions = {
        "unit": "Counted in (EUR, hours, kits; may be empty)",
        "every": "Split every (day, week, month; may be empty)",
        "outcome_unit": "What comes back is measured in (orders, EUR, positive tests; may be empty)",
    }
    for option, question in questions.items():
        if not given[option]:
            read = functools.partial(_setting, option)
            given[option] = typer.prompt(question, default="", show_default=False, value_proc=read)
    if not given["whole"] and given["step"] is None:
        given["whole"] = typer.confirm("Whole units only?", default=False)
    return str(name), str(arms)


def _setting(option: str, typed: str) -> str:
    """What was typed at the prompt, which asks again where it cannot be."""
    try:
        return str(SETTINGS[option].check(typed.strip() or None) or "")
    except InvalidValue as error:
        raise typer.BadParameter(str(error)) from None


def _budget(typed: str) -> float:
    """What was typed at the prompt, which asks again where it is no number."""

    try:
        return show.number(typed, "the budget")
    except InvalidValue as error:
        raise typer.BadParameter(str(error)) from None
