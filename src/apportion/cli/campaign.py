"""Commands that run a campaign: split, record, amend, close, cancel, status, history."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from apportion.cli import show
from apportion.cli.table_options import with_table_options
from apportion.errors import ApportionError, InvalidValue, Unconfirmed


def complete_campaigns(incomplete: str) -> list[str]:
    """Names of campaigns, for the shell's completion."""
    from apportion.campaigns.campaign import Campaign

    try:
        return [name for name in Campaign.names() if name.startswith(incomplete)]
    except ApportionError:
        return []


Name = Annotated[str, typer.Argument(help="The campaign's name.", autocompletion=complete_campaigns)]
Db = Annotated[
    str | None,
    typer.Option("--db", help="A file or URL (SQLite, PostgreSQL); a file in your data folder by default.",
                 envvar="APPORTION_DB", show_envvar=True),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="For machines.")]
TicketOption = Annotated[
    int | None, typer.Option("--ticket", help="Which split; its number may stand right after the name as well.")
]
TicketFirst = Annotated[int | None, typer.Argument(help="Which split; the only open one by default.")]
Details = Annotated[bool, typer.Option("--details", help="With the statistics.")]
Yes = Annotated[bool, typer.Option("--yes", help="Take it even where it is ten times off all that was seen.")]
Key = Annotated[str | None, typer.Option(help="A name for this write: sent again with it, it is done once.")]


def split(
    name: Name,
    budget: Annotated[float | None, typer.Option(help="The budget of this period, where it differs.")] = None,
    date: Annotated[
        str | None, typer.Option(help="The date of the period, or its name; the present moment by default.")
    ] = None,
    key: Key = None,
    ticket: Annotated[
        int | None, typer.Option(help="Show the split of this ticket once more; nothing is asked for.")
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="With likely ranges, and reasons with all their figures.")
    ] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """The next split, with a ticket to record by and a reason for each arm.

    Example: apportion split ads --budget 6000
    """
    campaign = open_campaign(name, db)
    if ticket is None:
        found = campaign.split(budget, date=date, key=key)
    elif budget is None and date is None and key is None:
        found = campaign.explain(ticket)
    else:
        raise InvalidValue("`--ticket` shows an earlier split: `--budget`, `--date` and `--key` are for a new one.")
    show.show_split(campaign, found, json, details)


@with_table_options(before="key", columns=False)
def record(
    name: Name,
    outcomes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="{ticket} {arm=number}",
            help="arm=number, or arm=none where no data will come; before them the ticket, if not the only open one.",
        ),
    ] = None,
    ticket: TicketOption = None,
    spent: Annotated[list[str] | None, typer.Option(help="arm=amount really spent, if not as advised.")] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            "--file",
            help="A file (CSV, .xlsx, Parquet) of arm, outcome, maybe amount, ticket; or only a column of numbers, "
            "in the order of the arms. - reads what is pasted.",
        ),
    ] = None,
    provisional: Annotated[
        bool,
        typer.Option("--provisional", help="Totals so far: they count, and the next record of an arm replaces them."),
    ] = False,
    yes: Yes = False,
    key: Key = None,
    db: Db = None,
    json: Json = False,
    **table: Any,
) -> None:
    """Record what came back, for some arms or all; the same again is harmless.

    Example: apportion record ads search=812 social=410.5 --spent social=900
    """
    campaign = open_campaign(name, db)
    ticket, outcomes = _ticket_first(outcomes or [], ticket)
    if csv is not None:
        if outcomes or spent:
            raise InvalidValue("`record` takes outcomes from the command line or from `--csv`, not from both.")
        rows = _rows_of(campaign, csv, ticket, table)
        numbers = [_ticket(campaign, ticket if row.ticket is None else row.ticket) for row in rows]

        def record_rows(sure: bool) -> None:
            with campaign.together():
                for number, row in zip(numbers, rows):
                    amounts = None if row.amount is None else {row.arm: row.amount}
                    campaign.record(number, {row.arm: row.outcome}, amounts, provisional=provisional, confirm=sure)

        _confirmed(record_rows, yes, json)
        tickets = sorted(set(numbers))
    else:
        if not outcomes:
            example = f"{campaign.arms[0].name}=812"
            raise InvalidValue(f"Say what came back, for example {shlex.quote(example)}; got no outcome.")
        number = _ticket(campaign, ticket)
        amounts = show.numbers(spent, "amount") if spent else None
        told = show.pairs(outcomes)
        options: dict[str, Any] = {"provisional": provisional, "key": key}
        _confirmed(lambda sure: campaign.record(number, told, amounts, confirm=sure, **options), yes, json)
        tickets = [number]
    _show_recorded(campaign, tickets, json, "Recorded as provisional" if provisional else "Recorded")


def _rows_of(campaign: Any, path: Path, ticket: int | None, table: dict[str, Any]) -> list[Any]:
    """The outcomes in a file, or in what is pasted: with named columns, or as they stand in a spreadsheet."""
    from apportion._common import tables, workbooks
    from apportion.campaigns.outcome_files import read_outcome_rows
    from apportion.campaigns.pasted import read_pasted

    if str(path) == "-":
        file = tables.FileContent("standard input", sys.stdin.read().encode())
    else:
        file = tables.read_content(path)
    named = workbooks.is_workbook(file) or workbooks.is_parquet(file) or table["delimiter"] is not None
    if not named:
        text, _ = tables.decoded(file)
        first = text.lstrip().partition("\n")[0].casefold()
        named = "outcome" in first or "arm" in first.replace(";", ",").replace("\t", ",").split(",")
    if named:
        return read_outcome_rows(file, **table)
    number = _ticket(campaign, ticket)
    waiting = [line.arm for line in campaign.history(number, number) if line.state in ("open", "provisional")]
    return read_pasted(text, waiting, decimal=table["decimal"])


def amend(
    name: Name,
    outcomes: Annotated[
        list[str],
        typer.Argument(metavar="{ticket} {arm=number}", help="Which split, and arm=number as it should have been."),
    ],
    ticket: TicketOption = None,
    spent: Annotated[list[str] | None, typer.Option(help="arm=amount really spent.")] = None,
    yes: Yes = False,
    key: Key = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Correct an outcome; the old value stays in the history.

    Example: apportion amend ads 12 search=790
    """
    campaign = open_campaign(name, db)
    number, outcomes = _ticket_first(outcomes, ticket)
    if number is None:
        raise InvalidValue("`amend` needs the ticket, right after the name or as --ticket; got none.")
    if not outcomes:
        example = f"{campaign.arms[0].name}=812"
        raise InvalidValue(f"Say what should stand there, for example {shlex.quote(example)}; got no outcome.")
    told, amounts = show.pairs(outcomes), show.numbers(spent, "amount") if spent else None
    _confirmed(lambda sure: campaign.amend(number, told, amounts, confirm=sure, key=key), yes, json)
    _show_recorded(campaign, [number], json, "Amended")


def close(
    name: Name, ticket: TicketFirst = None, by_option: TicketOption = None, db: Db = None, json: Json = False
) -> None:
    """Close a ticket: no result will come for what is still open of it.

    Example: apportion close ads 12
    """
    campaign = open_campaign(name, db)
    number = _ticket(campaign, _one_ticket(ticket, by_option))
    campaign.close(number)
    _show_recorded(campaign, [number], json, "Closed")


def cancel(
    name: Name,
    ticket: TicketFirst = None,
    by_option: TicketOption = None,
    key: Key = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Cancel a split that was not spent; it stays in the log.

    Example: apportion cancel ads 12
    """
    campaign = open_campaign(name, db)
    number = _ticket(campaign, _one_ticket(ticket, by_option))
    campaign.cancel(number, key=key)
    _show_recorded(campaign, [number], json, "Cancelled")


def status(name: Name, details: Details = False, db: Db = None, json: Json = False) -> None:
    """Where a campaign stands: what was spent and came back, what is believed of each arm, what is open.

    Example: apportion status ads
    """
    show.show_status(open_campaign(name, db).status(), json, details)


def history(
    name: Name,
    last: Annotated[int, typer.Option(help="How many tickets, the newest.", min=1)] = 20,
    log: Annotated[bool, typer.Option("--log", help="Every event instead: also arms and settings.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """What was advised, spent and earned, ticket by ticket, with corrections.

    Example: apportion history ads --last 5
    """
    from apportion._common.formatting import to_the_minute
    from apportion.campaigns.tables import history_rows

    campaign = open_campaign(name, db)
    if log:
        events = campaign.events(max(0, campaign.version - last))
        if json:
            show.show_json(events)
            return
        columns = {"event": "right", "at (UTC)": "left", "kind": "left", "ticket": "right", "what": "left",
                   "by": "left"}  # fmt: skip
        rows = [
            (
                event.number,
                to_the_minute(event.at),
                event.kind,
                event.ticket or "",
                _summary(event),
                event.actor or "",
            )
            for event in events
        ]
        show.grid(f"Log of {name}", columns, rows, unbroken=("at (UTC)", "kind"))
        return
    period = campaign.period
    lines = list(campaign.history(max(1, period - last + 1))) if period else []
    if json:
        show.show_json(lines)
    else:
        show.grid(f"History of {name}", *history_rows(lines), unbroken=("date (UTC)", "state"))


def open_campaign(name: str, db: str | None) -> Any:
    """The campaign that a command is about."""
    from apportion.campaigns.campaign import Campaign

    return Campaign.open(name, db)


def _confirmed(write: Callable[[bool], None], yes: bool, json: bool) -> None:
    """Do a write; where it looks like a slip ask on a terminal, and refuse elsewhere."""
    try:
        write(yes)
    except Unconfirmed as refusal:
        question = str(refusal).partition(" Nothing was changed.")[0]
        if json or not sys.stdin.isatty() or not typer.confirm(f"{question} Is that right?", default=False):
            raise
        write(True)


def _ticket_first(words: list[str], ticket: int | None) -> tuple[int | None, list[str]]:
    """The ticket that is named first or by --ticket, and the other words."""
    first = words[0].strip() if words else ""
    if not (first.isascii() and first.isdigit()):
        return ticket, words
    return _one_ticket(int(first), ticket), words[1:]


def _one_ticket(first: int | None, by_option: int | None) -> int | None:
    """The ticket that is named by its place, by --ticket, or by both alike."""
    if first is not None and by_option is not None and first != by_option:
        raise InvalidValue(f"The ticket must be named once; got {first} and `--ticket {by_option}`.")
    return by_option if first is None else first


def _ticket(campaign: Any, given: int | None) -> int:
    """The ticket that is meant: the only open one where none was named."""
    if given is not None:
        return given
    waiting = campaign.open_tickets
    if len(waiting) == 1:
        return int(waiting[0])
    if not waiting:
        raise InvalidValue(
            f"No ticket of '{campaign.name}' is open; ask for a split first, or name one, such as --ticket 3."
        )
    shown = ", ".join(map(str, waiting[-10:]))
    raise InvalidValue(f"{len(waiting)} tickets are open ({shown}); say which by --ticket.")


def _show_recorded(campaign: Any, tickets: list[int], json: bool, verb: str) -> None:
    waiting = campaign.open_tickets
    names = ", ".join(map(str, tickets[:20]))
    still = [ticket for ticket in tickets if ticket in waiting]
    rest = f" Still open: {', '.join(map(str, still[:20]))}." if still else ""
    content = {"campaign": campaign.name, "tickets": tickets, "open_tickets": list(waiting)}
    show.show_result(json, content, f"{verb}: ticket{'s' if len(tickets) > 1 else ''} {names}.{rest}")


def _summary(event: Any) -> str:
    from apportion._common.formatting import counted
    from apportion.campaigns.tables import cell

    payload = event.payload
    if event.kind == "split":
        return ", ".join(f"{name} {cell(amount)}" for name, amount in list(payload["amounts"].items())[:8])
    if event.kind in ("outcome", "amended"):
        old = payload.get("old", {}).get("outcomes", {})
        told = ", ".join(
            f"{name} {cell(value)}" + (f" (was {cell(old[name])})" if name in old else "")
            for name, value in list(payload["outcomes"].items())[:8]
        )
        return f"so far {told}" if payload.get("provisional") else told
    if event.kind == "arm":
        return f"{payload['action']} {payload['arm']}"
    if event.kind == "setting":
        return ", ".join(f"{name}: {cell(value)}" for name, value in payload["changes"].items())
    if event.kind in ("renamed", "undone", "cloned"):
        words = {"renamed": "from {old} to {name}", "undone": "import of {file}", "cloned": "from {source}"}
        return words[event.kind].format(**payload)
    if event.kind == "imported":
        return f"{payload['file']}, {counted(payload['rows'], 'row')}"
    return ""
