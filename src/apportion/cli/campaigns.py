"""`apportion campaigns`: the list of campaigns; rename, archive, unarchive, clone or delete one."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from apportion.cli import show
from apportion.cli.campaign import Db, Json, Name, open_campaign
from apportion.errors import InvalidValue

app = typer.Typer(name="campaigns")

Archived = Annotated[bool, typer.Option("--archived", help="Those that are archived, too.")]
NewName = Annotated[str, typer.Argument(help="The new name.")]


@app.callback(invoke_without_command=True)
def campaigns(context: typer.Context, archived: Archived = False, db: Db = None, json: Json = False) -> None:
    """All campaigns: list them, rename, archive, unarchive, clone or delete one.

    Example: apportion campaigns --archived
    """
    if context.invoked_subcommand is None:
        list_(archived, db, json)
    elif archived or json:
        raise InvalidValue("Options of a command go after its name, as in `apportion campaigns rename ads ads2`.")


@app.command("list")
def list_(archived: Archived = False, db: Db = None, json: Json = False) -> None:
    """All campaigns, with what was spent and came back; `apportion campaigns` alone does the same.

    Example: apportion campaigns list --archived
    """
    from apportion._common.formatting import readable
    from apportion.campaigns.campaign import Campaign
    from apportion.campaigns.storage.address import database_url, display_url, exists
    from apportion.campaigns.summary import summary_of

    found = [summary_of(Campaign.open(name, db)) for name in Campaign.names(db, archived=archived)]
    if json:
        show.show_json(found)
    elif not found and not exists(database_url(db)):
        show.say("There is no database here yet:")
        show.say(display_url(database_url(db)))
        show.say("Begin a campaign: apportion new ads --arms search,social --budget 5000")
    elif not found and Campaign.names(db, archived=True):
        show.say("All campaigns are archived. See them: apportion campaigns --archived")
    elif not found:
        show.say("No campaigns yet. Begin one: apportion new ads --arms search,social --budget 5000")
    else:
        columns = {
            "campaign": "left", "periods": "right", "leader": "left", "open tickets": "right", "budget": "right",
            "spent": "right", "came back": "right", "return so far": "right",
        }  # fmt: skip
        rows = [
            (f"{row.campaign}{' (archived)' if row.archived else ''}", (row.period or 0) - (row.cancelled or 0),
             row.leader or "–",
             row.open_tickets, f"{readable(row.budget)} {row.unit or ''}".rstrip(), readable(row.spent),
             readable(row.returned), readable(row.return_so_far))
            for row in found if row.broken is None
        ]  # fmt: skip
        show.grid("Campaigns", columns, rows)
        for row in found:
            if row.broken is not None:
                show.say(f"{row.campaign} cannot be read: {row.broken}")


@app.command()
def rename(name: Name, new_name: NewName, db: Db = None, json: Json = False) -> None:
    """Give a campaign another name.

    Example: apportion campaigns rename ads "ads 2026"
    """
    campaign = open_campaign(name, db)
    campaign.rename(new_name)
    show.show_result(json, {"campaign": new_name, "old": name}, f"Renamed: {name} is {new_name} now.")


@app.command()
def archive(name: Name, db: Db = None, json: Json = False) -> None:
    """Put a campaign away: it is in no list, and is not split, until it is taken out again.

    Example: apportion campaigns archive ads
    """
    open_campaign(name, db).archive()
    back = f"apportion campaigns unarchive {shlex.quote(name)}"
    show.show_result(json, {"campaign": name, "archived": True}, f"Archived: {name}. Take it out again: {back}")


@app.command()
def unarchive(name: Name, db: Db = None, json: Json = False) -> None:
    """Take an archived campaign out again.

    Example: apportion campaigns unarchive ads
    """
    open_campaign(name, db).unarchive()
    show.show_result(json, {"campaign": name, "archived": False}, f"In use again: {name}.")


@app.command()
def clone(
    name: Name,
    new_name: NewName,
    fresh: Annotated[bool, typer.Option("--fresh", help="Only its arms and settings, no history.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Copy a campaign, with all that happened or only its arms and settings; the copy goes its own way.

    Example: apportion campaigns clone ads "ads in spring" --fresh
    """
    made = open_campaign(name, db).clone(new_name, history=not fresh)
    content = {"campaign": made.name, "source": name, "events": made.version}
    show.show_result(json, content, f"Copied: {made.name}, {'without' if fresh else 'with'} the history of {name}.")


@app.command()
def delete(
    name: Name,
    confirm: Annotated[str | None, typer.Option(help="The campaign's name once more; asked for by default.")] = None,
    export: Annotated[Path | None, typer.Option(help="Write everything to this file first, as JSON.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Delete a campaign with everything in it, for good. Its name is asked for, and an export is offered first.

    Example: apportion campaigns delete ads --export ads.json --confirm ads
    """
    from apportion._common.files import write_text
    from apportion.cli.files import explained

    campaign = open_campaign(name, db)
    asking = sys.stdin.isatty() and not json
    if confirm is None and asking:
        if export is None and typer.confirm(f"Export everything of {name} to a file first?", default=True):
            export = Path(typer.prompt("The file", default=f"{name}.json"))
        confirm = typer.prompt(f"This cannot be undone. Type the name of the campaign ({name}) to delete it")
    if confirm is None:
        raise InvalidValue(
            f"Deleting cannot be undone: say the name once more, `--confirm {shlex.quote(name)}`, and "
            "`--export FILE` to keep a copy. `apportion campaigns archive` puts a campaign away instead."
        )
    if confirm == name and export is not None:
        if export.exists():
            raise InvalidValue(f"The file {str(export)!r} is there already; choose another name.")
        with explained(export):
            write_text(export, campaign.export())
    campaign.delete(confirm)
    kept = "" if export is None else f" Everything is in {export}: `apportion restore {export}` brings it back."
    content = {"campaign": name, "export": None if export is None else str(export)}
    show.show_result(json, content, f"Deleted: {name}.{kept}")
