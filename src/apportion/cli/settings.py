"""Commands that keep a campaign in order: settings, check, upgrade."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apportion._common import validation
from apportion.cli.campaign import Db, Json, Name, open_campaign
from apportion.errors import InvalidValue

if TYPE_CHECKING:
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.settings import Settings

# The settings that may be without a value; b and sigma are then learned.
NOISE = ("b", "sigma")
UNSETTABLE = ("unit", *NOISE, "horizon", "step", "half_life", "window")


def _spelled(names: Iterable[str]) -> list[str]:
    """As they are typed on the command line."""
    return [name.replace("_", "-") for name in names]


def settings(
    name: Name,
    budget: Annotated[float | None, typer.Option(help="The budget of a period.")] = None,
    unit: Annotated[str | None, typer.Option(help="What it is counted in.")] = None,
    policy: Annotated[str | None, typer.Option(help="How to decide.")] = None,
    b: Annotated[float | None, typer.Option(help="How much a small share reveals.")] = None,
    sigma: Annotated[float | None, typer.Option(help="The scale of the noise.")] = None,
    horizon: Annotated[int | None, typer.Option(help="How many periods there will be.")] = None,
    step: Annotated[float | None, typer.Option(help="Amounts are multiples of this.")] = None,
    half_life: Annotated[float | None, typer.Option(help="Periods until an outcome counts half.")] = None,
    window: Annotated[int | None, typer.Option(help="Only the last so many periods count; 0: all.", min=0)] = None,
    robust: Annotated[bool | None, typer.Option("--robust/--no-robust", help="Trim wild outcomes.")] = None,
    level: Annotated[float | None, typer.Option(help="The level of the intervals.")] = None,
    unset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help=f"Do without: {', '.join(_spelled(UNSETTABLE))}.")
    ] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Show the settings, or change those that are given; another b counts the whole history anew.

    Example: apportion settings ads --budget 6000 --sigma 35 --unset half-life
    """
    from apportion.campaigns.tables import setting_rows
    from apportion.cli import show

    campaign = open_campaign(name, db)
    given = {"budget": budget, "unit": unit, "policy": policy, "b": b, "sigma": sigma, "horizon": horizon,
             "step": step, "half_life": half_life, "window": window, "robust": robust, "level": level}  # fmt: skip
    changes: dict[str, Any] = {option: value for option, value in given.items() if value is not None}
    if window == 0:
        changes["window"] = None
    for option in unset or ():
        place = option.replace("-", "_")
        if place not in UNSETTABLE:
            raise validation.refuse("--unset", f"one of {', '.join(_spelled(UNSETTABLE))}", option)
        if given[place] is not None:
            raise InvalidValue(f"`--{option.replace('_', '-')}` is given a value and unset at once; choose one.")
        if place in NOISE:
            _can_do_without(campaign.settings, policy, place)
        changes[place] = None
    now = campaign.change(**changes) if changes else campaign.settings
    if json:
        show.show_json(now)
    else:
        show.grid(f"Settings of {name}", *setting_rows(now), _noise_note(campaign, changes, now))


def _can_do_without(held: Settings, policy: str | None, option: str) -> None:
    """Refuse to take b or sigma from a policy that needs it, as it does not learn it."""
    from apportion.policies.registry import choose_policy, policy_from_plain

    told = policy or policy_from_plain({"name": held.policy, "parameters": held.parameters})
    chosen, _ = choose_policy(told)
    try:
        type(chosen)(**{name: None if name == option else value for name, value in chosen.parameters.items()})
    except InvalidValue:
        raise InvalidValue(
            f"`--unset {option}` needs a policy that learns it; got {type(chosen).__name__}. Add --policy auto, "
            f"or give --{option} a value."
        ) from None


def _noise_note(campaign: Campaign, changes: dict[str, Any], now: Settings) -> str:
    """What became of b and σ, where they were taken back or a policy came that could learn them."""
    told = {"b": f"b = {now.b:g}", "sigma": "σ" if now.sigma is None else f"σ = {now.sigma:g}"}
    gone = [option for option in NOISE if changes.get(option, ...) is None]
    learned = campaign.beliefs().learned
    if gone and learned is not None:
        return learned.sentence
    if gone:  # a policy that asks for neither
        return " ".join(
            "σ is not known: there are no intervals." if told[option] == "σ" else f"{told[option]} is assumed."
            for option in gone
        )
    kept = [option for option in NOISE if now.parameters.get(option) is not None]
    if now.policy == "Auto" and "policy" in changes and kept:
        unset = " ".join(f"--unset {option}" for option in kept)
        return f"As given: {' and '.join(told[option] for option in kept)}; `{unset}` has it learned."
    return ""


def check(
    name: Name,
    repair: Annotated[bool, typer.Option("--repair", help="Replace snapshots that do not agree.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Rebuild everything from the events and compare with what is kept, bit for bit. Exit code 1 if they differ.

    Example: apportion check ads
    """
    from apportion.cli import show

    found = open_campaign(name, db).check(repair=repair)
    if json:
        show.show_json(found)
    else:
        show.say(found.message)
    if not found.ok:
        raise typer.Exit(1)


def upgrade(db: Db = None, json: Json = False) -> None:
    """Bring a database of an older release to this one; a SQLite file is copied beside itself first.

    Example: apportion upgrade --db campaigns.db
    """
    from apportion.campaigns.storage.database import address, shown
    from apportion.campaigns.storage.database import upgrade as bring
    from apportion.cli import show

    before, after = bring(db)
    if json:
        show.show_json({"database": shown(address(db)), "before": before, "after": after})
    elif before == after:
        show.say(f"The database {shown(address(db))} is up to date (schema {after}).")
    else:
        show.say(f"The database {shown(address(db))} went from schema {before or 'none'} to {after}.")
