"""`apportion token`: who may use the service. Create, list, revoke."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from apportion.cli import show
from apportion.cli.campaign import Db, Json

app = typer.Typer(name="token", no_args_is_help=True, help="Who may use the service: create, list and revoke tokens.")

TokenName = Annotated[str, typer.Argument(help="Who or what uses it.")]


@app.command()
def create(
    name: TokenName,
    scope: Annotated[str, typer.Option(help="read, or write (which also reads).")] = "write",
    db: Db = None,
    json: Json = False,
) -> None:
    """A new token. It is shown this once; the database keeps only a hash of it.

    Example: apportion token create anna --scope read
    """
    from apportion.campaigns.storage.tokens import Tokens

    secret = Tokens(db).create(name, scope)
    if json:
        show.show_json({"name": name, "scope": scope, "token": secret})
        return
    print(secret)  # alone on its stream, to be copied or piped
    print(f"Token '{name}' may {scope}. Copy it now: it is not shown again.", file=sys.stderr)


@app.command("list")
def list_(db: Db = None, json: Json = False) -> None:
    """All tokens, revoked ones too; never their secrets.

    Example: apportion token list
    """
    from apportion.campaigns.storage.tokens import Tokens

    found = Tokens(db).list()
    if json:
        show.show_json(found)
    elif not found:
        show.say("No tokens yet. Make one: apportion token create NAME")
    else:
        columns = {"token": "left", "scope": "left", "created": "left", "last used": "left", "state": "left"}
        rows = [
            (row.name, row.scope, row.created[:19], "never" if row.last_used is None else row.last_used[:16],
             "in use" if row.revoked is None else f"revoked {row.revoked[:19]}")
            for row in found
        ]  # fmt: skip
        show.grid("Tokens", columns, rows)


@app.command()
def revoke(name: TokenName, db: Db = None, json: Json = False) -> None:
    """End a token, and sign out every browser that came in by it, at once.

    Example: apportion token revoke anna
    """
    from apportion.campaigns.storage.tokens import Tokens

    Tokens(db).revoke(name)
    show.show_result(json, {"name": name, "revoked": True}, f"Revoked: {name}.")
