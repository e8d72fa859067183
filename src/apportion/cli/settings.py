"""Commands that keep a campaign in order: settings, check, upgrade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from apportion._common import validation
from apportion.campaigns.settings import CHANGEABLE
from apportion.cli import show
from apportion.cli.campaign import Db, Details, Json, Name, open_campaign
from apportion.cli.setting_options import option_name, read_options, unset_by_zero, with_settings
from apportion.errors import InvalidValue

if TYPE_CHECKING:
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.settings import Settings

# What a policy may learn, and so do without.
NOISE = ("b", "sigma")
UNSETTABLE = {option_name(name): name for name, setting in CHANGEABLE.items() if setting.nullable}


@with_settings(CHANGEABLE, before="unset", change=True)
def settings(
    name: Name,
    unset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help=f"Do without: {', '.join(UNSETTABLE)}.")
    ] = None,
    details: Details = False,
    db: Db = None,
    json: Json = False,
    **given: Any,
) -> None:
    """Show the settings, or change those that are given. With --details also those that speak of statistics.

    Example: apportion settings ads --budget 6000 --sigma 35 --unset half-life
    """
    from apportion.campaigns.tables import setting_rows

    campaign = open_campaign(name, db)
    given = read_options(given)
    changes: dict[str, Any] = {option: value for option, value in given.items() if value is not None}
    changes |= unset_by_zero(given)
    for typed in unset or ():
        option = option_name(typed)
        if option not in UNSETTABLE:
            raise validation.refuse("--unset", f"one of {', '.join(UNSETTABLE)}", typed)
        setting = UNSETTABLE[option]
        if given[setting] is not None:
            raise InvalidValue(f"`--{option}` is given a value and unset at once; choose one.")
        if setting in NOISE:
            _can_do_without(campaign.settings, given["policy"], setting)
        changes[setting] = None
    now = campaign.change(**changes) if changes else campaign.settings
    if json:
        show.show_json(now)
    else:
        show.grid(
            f"Settings of {name}",
            *setting_rows(now, None if details else list(changes)),
            _noise_note(campaign, changes, now),
        )


def _can_do_without(current: Settings, policy: str | None, option: str) -> None:
    """Refuse to take b or sigma from a policy that needs it, as it does not learn it."""
    from apportion.policies.registry import choose_policy, policy_from_plain

    chosen, _ = choose_policy(policy or policy_from_plain({"name": current.policy, "parameters": current.parameters}))
    try:
        type(chosen)(**{name: None if name == option else value for name, value in chosen.parameters.items()})
    except InvalidValue:
        raise InvalidValue(
            f"`--unset {option}` needs a policy that learns it; got {type(chosen).__name__}. Add --policy auto, "
            f"or give --{option} a value."
        ) from None


def _noise_note(campaign: Campaign, changes: dict[str, Any], now: Settings) -> str:
    """What became of b and σ, where they were unset or the new policy could learn them."""
    from apportion.campaigns.tables import cell

    values = {"b": f"b = {now.b:g}", "sigma": "σ" if now.sigma is None else f"σ = {cell(now.sigma)}"}
    unset = [option for option in NOISE if changes.get(option, ...) is None]
    learned = campaign.beliefs().learned
    if unset and learned is not None:
        return learned.sentence
    if unset:  # a policy that asks for neither
        return " ".join(
            "σ is not known: there are no intervals." if values[option] == "σ" else f"{values[option]} is assumed."
            for option in unset
        )
    given = [option for option in NOISE if now.parameters.get(option) is not None]
    if now.policy == "Auto" and "policy" in changes and given:
        options = " ".join(f"--unset {option}" for option in given)
        return f"As given: {' and '.join(values[option] for option in given)}; `{options}` has it learned."
    return ""


def check(
    name: Name,
    repair: Annotated[bool, typer.Option("--repair", help="Replace snapshots that do not agree.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Rebuild all events of a long campaign, too.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Rebuild everything from the events and compare with what is kept, bit for bit. Exit code 1 if they differ.

    Of a long campaign the last 20,000 events are rebuilt, and digests prove that nothing before them was changed.

    Example: apportion check ads
    """
    found = open_campaign(name, db).check(repair=repair, full=full)
    show.show_result(json, found, found.message)
    if not found.ok:
        raise typer.Exit(1)


def upgrade(db: Db = None, json: Json = False) -> None:
    """Bring a database of an older release to this one; a SQLite file is copied beside itself first.

    Example: apportion upgrade --db campaigns.db
    """
    from apportion.campaigns.storage.address import database_url, display_url
    from apportion.campaigns.storage.database import upgrade as bring

    name, (before, after) = display_url(database_url(db)), bring(db)
    done = f"went from schema {before or 'none'} to {after}" if before != after else f"is up to date (schema {after})"
    content = {"database": name, "before": before, "after": after}
    show.show_result(json, content, f"The database {name} {done}.")
