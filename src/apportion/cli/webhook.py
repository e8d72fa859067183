"""`apportion webhook`: which addresses the service tells of what happens. Create, list, remove."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from apportion.cli import show
from apportion.cli.campaign import Db, Json

app = typer.Typer(
    name="webhook", no_args_is_help=True, help="Which addresses the service tells of splits, outcomes and health."
)

WebhookName = Annotated[str, typer.Argument(help="What it is called.")]


@app.command()
def create(
    name: WebhookName,
    url: Annotated[str, typer.Argument(help="Where messages go, by https.")],
    campaign: Annotated[str | None, typer.Option(help="Of this campaign only; of all by default.")] = None,
    topics: Annotated[str, typer.Option(help="Of what, with commas between.")] = "split,record,health",
    internal: Annotated[
        bool, typer.Option("--internal", help="It may be an address of the own network, and plain http.")
    ] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Tell an address of what happens from now on. The secret that signs messages is shown this once.

    Example: apportion webhook create ledger https://hooks.example.org/apportion --campaign ads
    """
    from apportion.campaigns.storage.webhooks import Webhooks

    wanted = tuple(topic.strip() for topic in topics.split(",") if topic.strip())
    secret = Webhooks(db).create(name, url, campaign=campaign, topics=wanted, internal=internal)
    if json:
        show.show_json({"name": name, "url": url, "secret": secret})
        return
    print(secret)  # alone on its stream, to be copied or piped
    print(f"Webhook '{name}' is told from now on. Copy its secret now: it is not shown again.", file=sys.stderr)


@app.command("list")
def list_(db: Db = None, json: Json = False) -> None:
    """All webhooks, and those campaigns whose last message was not taken yet.

    Example: apportion webhook list
    """
    from apportion.campaigns.storage.webhooks import Webhooks

    known = Webhooks(db)
    found, waiting = known.list(), [row for row in known.deliveries() if row.tries]
    if json:
        show.show_json({"webhooks": found, "waiting": waiting})
        return
    if not found:
        show.say("No webhooks. Make one: apportion webhook create NAME URL")
        return
    columns = dict.fromkeys(("webhook", "address", "campaign", "topics"), "left")
    rows = [(row.name, row.url, row.campaign or "all", ", ".join(row.topics)) for row in found]
    show.grid("Webhooks", columns, rows)
    for row in waiting:
        what = f"event {row.number + 1} of '{row.campaign}'"
        show.say(f"'{row.webhook}' did not take {what}, {row.tries} times: {row.error}. Next try: {row.due[:19]}.")


@app.command()
def remove(name: WebhookName, db: Db = None, json: Json = False) -> None:
    """Tell an address no more.

    Example: apportion webhook remove ledger
    """
    from apportion.campaigns.storage.webhooks import Webhooks

    Webhooks(db).remove(name)
    show.show_result(json, {"name": name, "removed": True}, f"Removed: {name}.")
