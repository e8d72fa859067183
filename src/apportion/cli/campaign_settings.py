"""Commands that keep a campaign in order: settings, check, upgrade."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from apportion import checks
from apportion.cli.campaign import Db, Json, Name, open_campaign
from apportion.errors import InvalidValue

# The settings that may be without a value.
UNSETTABLE = ("unit", "horizon", "step", "half_life", "window")


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
    from apportion.cli import campaign_show as show
    from apportion.live.content import plain

    campaign = open_campaign(name, db)
    given = {"budget": budget, "unit": unit, "policy": policy, "b": b, "sigma": sigma, "horizon": horizon,
             "step": step, "half_life": half_life, "window": window, "robust": robust, "level": level}  # fmt: skip
    changes: dict[str, Any] = {option: value for option, value in given.items() if value is not None}
    if window == 0:
        changes["window"] = None
    for option in unset or ():
        place = option.replace("-", "_")
        if place not in UNSETTABLE:
            raise checks.refuse("--unset", f"one of {', '.join(_spelled(UNSETTABLE))}", option)
        if given[place] is not None:
            raise InvalidValue(f"`--{option.replace('_', '-')}` is given a value and unset at once; choose one.")
        changes[place] = None
    now = campaign.change(**changes) if changes else campaign.settings
    if json:
        show.show_json(now)
    else:
        rows = [(option.replace("_", " "), plain(value)) for option, value in now._asdict().items()]
        columns = {"setting": "left", "value": "left"}
        show.grid(f"Settings of {name}", columns, [(option, show.cell(value)) for option, value in rows])


def check(
    name: Name,
    repair: Annotated[bool, typer.Option("--repair", help="Replace snapshots that do not agree.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Rebuild everything from the events and compare with what is kept, bit for bit. Exit code 1 if they differ.

    Example: apportion check ads
    """
    from apportion.cli import campaign_show as show

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
    from apportion.cli import campaign_show as show
    from apportion.live.database import address, shown
    from apportion.live.database import upgrade as bring

    before, after = bring(db)
    if json:
        show.show_json({"database": shown(address(db)), "before": before, "after": after})
    elif before == after:
        show.say(f"The database {shown(address(db))} is up to date (schema {after}).")
    else:
        show.say(f"The database {shown(address(db))} went from schema {before or 'none'} to {after}.")
