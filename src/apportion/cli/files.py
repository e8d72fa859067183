"""`apportion import`, `export`, `restore` and `report`: campaigns as files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from apportion.cli import show
from apportion.cli.campaign import Db, Json, Name, open_campaign
from apportion.cli.table_options import reading_options, with_table_options
from apportion.errors import InvalidValue


@with_table_options(before="add_arms")
def import_(
    name: Name,
    file: Annotated[Path, typer.Argument(help="A file with dates, arms, amounts, outcomes: CSV, .xlsx, Parquet.")],
    add_arms: Annotated[bool, typer.Option("--add-arms", help="Add arms that are not known.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Import it even if it was imported before, or dates and arms of it.")
    ] = False,
    db: Db = None,
    json: Json = False,
    **table: Any,
) -> None:
    """Import a history: each date becomes a split with its outcomes, in the order of the dates. All rows, or none.

    Several rows of one date and arm are summed; what else was done with the rows is said.

    Example: apportion import ads history.csv --arm-column channel --amount-column spend --outcome-column sales
    """
    from apportion._common.dates import describe_order
    from apportion._common.formatting import counted
    from apportion.inference.history import read_history

    options = reading_options(table)
    campaign = open_campaign(name, db)
    order = describe_order(line.date for line in read_history(file, **options).observations)
    done = campaign.import_history(file, add_arms=add_arms, again=again, **options)
    more = f" Added: {', '.join(done.arms_added)}." if done.arms_added else ""
    rows, dates = counted(done.rows, "row"), counted(done.tickets, options["period"] or "date")
    sentence = f"{rows} on {dates} {'was' if done.rows == 1 else 'were'} imported from {done.file}, {order}.{more}"
    show.show_result(json, {**done._asdict(), "order": order}, "\n".join((sentence, *done.notes)))


def undo_import(
    name: Name,
    event: Annotated[int | None, typer.Option(help="The event of the import (--list); the last by default.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="Only say which imports there are.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Undo an import: its splits are cancelled, and arms that only it used are removed. The log keeps all of it.

    Example: apportion undo-import ads
    """
    from apportion._common.formatting import counted, to_the_minute

    campaign = open_campaign(name, db)
    if list_:
        found = campaign.imports()
        if json:
            show.show_json(found)
            return
        columns = {"event": "right", "at (UTC)": "left", "file": "left", "rows": "right", "state": "left"}
        rows = [
            (each.event, to_the_minute(each.at), each.file, each.rows, "undone" if each.undone else "")
            for each in found
        ]
        show.grid(f"Imports of {name}", columns, rows)
        return
    done = campaign.undo_import(event)
    removed = f" Removed: {', '.join(done.arms_removed)}." if done.arms_removed else ""
    sentence = f"Undone: the import of {done.file}; {counted(done.tickets, 'split')} cancelled.{removed}"
    show.show_result(json, done, sentence)


def export(
    name: Name,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A file; printed by default.")] = None,
    kind: Annotated[
        str | None, typer.Option("--format", help="csv, json or log; by default as the file's name ends.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Write the history as csv for spreadsheets; everything as json, or as log (CSV), for `apportion restore`.

    Example: apportion export ads --out ads.csv
    """
    from apportion._common.files import replacement
    from apportion.campaigns import files

    chosen = kind or ("json" if json or (out is not None and out.suffix == ".json") else "csv")
    if chosen not in files.EXPORTS:
        raise InvalidValue(f"`--format` must be one of {', '.join(files.EXPORTS)}; got {chosen[:60]!r}.")
    if out is not None and not force and out.exists():
        raise InvalidValue(f"The file {str(out)!r} is there already; choose another name, or --force to replace it.")
    parts = files.export_parts(open_campaign(name, db), chosen)
    if out is None:
        for part in parts:
            print(part, end="")
        return
    with explained(out), replacement(out) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        file.writelines(parts)
    if not json:
        print(f"Written: {out}")


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `apportion export` wrote as json or log.")],
    name: Annotated[str | None, typer.Option(help="Another name for the campaign.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Restore an exported campaign, with identical state.

    Example: apportion restore ads.json --name "ads again"
    """
    from apportion._common.formatting import counted
    from apportion._common.tables import read_text
    from apportion.campaigns.files import restore_json, restore_log

    text = read_text(file)
    if text.lstrip()[:1] == "{":
        campaign = restore_json(text, db=db, name=name)
    else:
        campaign = restore_log(text, db=db, name=name or file.stem)
    sentence = f"Restored: {campaign.name}, {counted(campaign.version, 'event')}."
    show.show_result(json, {"campaign": campaign.name, "events": campaign.version}, sentence)


def backup(
    file: Annotated[Path, typer.Argument(help="The copy.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Copy the whole database while it is in use, and check the copy. A plain copy of the file may miss the newest.

    Example: apportion backup campaigns-monday.db
    """
    from apportion._common.formatting import counted
    from apportion.campaigns.storage.backup import backup as copy

    done = copy(file, db, force=force)
    what = f"{counted(done.campaigns, 'campaign')}, {counted(done.events, 'event')}"
    show.show_result(json, done, f"Copied and checked: {done.file}, {what}.")


def report(
    name: Name,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file; NAME.html by default.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Write a self-contained HTML page with tables and pictures.

    Example: apportion report ads --out ads.html
    """
    from apportion.campaigns.report import campaign_page

    page = campaign_page(open_campaign(name, db))
    target = Path(f"{name}.html") if out is None else out
    with explained(target):
        page.write(target)
    show.show_result(json, {"campaign": name, "file": str(target)}, f"Written: {target}")


@contextlib.contextmanager
def explained(target: Path) -> Iterator[None]:
    """One sentence where a file cannot be written."""
    try:
        yield
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", error)
        raise InvalidValue(f"The file {str(target)!r} cannot be written: {why}.") from error
