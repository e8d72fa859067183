"""`apportion token`: who may use the service. Create, rotate, list, revoke."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from apportion.cli import show
from apportion.cli.campaign import Db, Json

if TYPE_CHECKING:
    from apportion.campaigns.storage.tokens import TokenRow

app = typer.Typer(
    name="token", no_args_is_help=True, help="Who may use the service: create, rotate, list and revoke tokens."
)

Days = Annotated[float | None, typer.Option(help="It ends after so many days; never by default.")]
TokenName = Annotated[str, typer.Argument(help="Who or what uses it.")]


@app.command()
def create(
    name: TokenName,
    scope: Annotated[str, typer.Option(help="read, or write (which also reads).")] = "write",
    days: Days = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """A new token. It is shown this once; the database keeps only a hash of it.

    Example: apportion token create anna --scope read
    """
    from apportion.campaigns.storage.tokens import Tokens

    secret = Tokens(db).create(name, scope, days)
    if json:
        show.show_json({"name": name, "scope": scope, "token": secret})
        return
    print(secret)  # alone on its stream, to be copied or piped
    print(f"Token '{name}' may {scope}. Copy it now: it is not shown again.", file=sys.stderr)


@app.command()
def rotate(name: TokenName, days: Days = None, db: Db = None, json: Json = False) -> None:
    """A new secret for a token; the old one ends at once, and every browser that came in by it is signed out.

    Example: apportion token rotate anna --days 90
    """
    from apportion.campaigns.storage.tokens import Tokens

    secret = Tokens(db).rotate(name, days)
    if json:
        show.show_json({"name": name, "token": secret})
        return
    print(secret)
    print(f"Token '{name}' has a new secret. Copy it now: it is not shown again.", file=sys.stderr)


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
             _state(row))
            for row in found
        ]  # fmt: skip
        show.grid("Tokens", columns, rows)


def _state(row: TokenRow) -> str:
    if row.revoked is not None:
        return f"revoked {row.revoked[:19]}"
    if row.expires is None:
        return "in use"
    return f"{'expired' if row.expired else 'in use until'} {row.expires[:16]}"


@app.command()
def revoke(name: TokenName, db: Db = None, json: Json = False) -> None:
    """End a token, and sign out every browser that came in by it, at once.

    Example: apportion token revoke anna
    """
    from apportion.campaigns.storage.tokens import Tokens

    Tokens(db).revoke(name)
    show.show_result(json, {"name": name, "revoked": True}, f"Revoked: {name}.")
