"""`apportion token`: who may use the service, and what they may do. Create, rotate, grant, list, revoke."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from apportion.cli import show
from apportion.cli.campaign import Db, Json

if TYPE_CHECKING:
    from apportion.campaigns.storage.tokens import TokenRow

app = typer.Typer(
    name="token",
    no_args_is_help=True,
    help="Who may use the service, and with which campaigns: tokens and their rights.",
)

Days = Annotated[float | None, typer.Option(help="It ends after so many days; never by default.")]
TokenName = Annotated[str, typer.Argument(help="Who or what uses it.")]


@app.command()
def create(
    name: TokenName,
    scope: Annotated[
        str,
        typer.Option(help="With every campaign: none, read, record (and split), or write (change and begin them)."),
    ] = "write",
    days: Days = None,
    person: Annotated[
        bool,
        typer.Option(
            "--person", help="NAME is the email address of someone who signs in with `serve --oidc-issuer`."
        ),
    ] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """A new token. It is shown this once; the database keeps only a hash of it. Or, with --person, someone let in.

    Example: apportion token create anna --scope read
    """
    from apportion.campaigns.storage.tokens import Tokens

    may = f"may {scope}" if scope != "none" else "may do nothing until `apportion token grant` says what"
    if person:
        title = Tokens(db).create_person(name, scope, days)
        said = f"'{title}' {may}, after signing in with the provider of the service."
        show.show_result(json, {"name": title, "scope": scope, "person": True}, said)
        return
    secret = Tokens(db).create(name, scope, days)
    if json:
        show.show_json({"name": name, "scope": scope, "token": secret})
        return
    print(secret)  # alone on its stream, to be copied or piped
    print(f"Token '{name}' {may}. Copy it now: it is not shown again.", file=sys.stderr)


@app.command()
def rotate(name: TokenName, days: Days = None, db: Db = None, json: Json = False) -> None:
    """A new secret for a token; the old one ends at once, and every browser that came in by it is signed out.

    Example: apportion token rotate anna --days 90
    """
    from apportion.campaigns.storage.tokens import Tokens

    secret = Tokens(db, create=False).rotate(name, days)
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

    found = Tokens(db, create=False).list()
    if json:
        show.show_json(found)
    elif not found:
        show.say("No tokens yet. Make one: apportion token create NAME")
    else:
        names = ("token", "scope", *(("rights",) if any(row.rights for row in found) else ()))
        columns = dict.fromkeys((*names, "created", "last used", "state"), "left")
        rows = [
            (row.name, row.scope, *((_rights(row),) if "rights" in columns else ()), row.created[:19],
             "never" if row.last_used is None else row.last_used[:16], _state(row))
            for row in found
        ]  # fmt: skip
        show.grid("Tokens", columns, rows)


def _rights(row: TokenRow) -> str:
    return ", ".join(f"{campaign}: {right}" for campaign, right in row.rights.items())


def _state(row: TokenRow) -> str:
    if row.revoked is not None:
        return f"revoked {row.revoked[:19]}"
    if row.expires is None:
        return "in use"
    return f"{'expired' if row.expired else 'in use until'} {row.expires[:16]}"


@app.command()
def grant(
    name: TokenName,
    campaign: Annotated[str, typer.Argument(help="The campaign.")],
    right: Annotated[
        str,
        typer.Option(help="read, record (and split), or manage (settings, arms, imports, deletion)."),
    ] = "read",
    db: Db = None,
    json: Json = False,
) -> None:
    """Let a token do something with one campaign, beyond its scope. It holds within a second.

    Example: apportion token grant anna ads --right record
    """
    from apportion.campaigns.storage.tokens import Tokens

    Tokens(db, create=False).grant(name, campaign, right)
    said = f"Token '{name}' may {right} campaign '{campaign}'."
    show.show_result(json, {"name": name, "campaign": campaign, "right": right}, said)


@app.command()
def withdraw(
    name: TokenName,
    campaign: Annotated[str, typer.Argument(help="The campaign.")],
    db: Db = None,
    json: Json = False,
) -> None:
    """Take a token's right on a campaign away; what its scope allows stays.

    Example: apportion token withdraw anna ads
    """
    from apportion.campaigns.storage.tokens import Tokens

    Tokens(db, create=False).withdraw(name, campaign)
    said = f"Token '{name}' has no right of its own on campaign '{campaign}' any more."
    show.show_result(json, {"name": name, "campaign": campaign, "right": None}, said)


@app.command()
def revoke(name: TokenName, db: Db = None, json: Json = False) -> None:
    """End a token, and sign out every browser that came in by it, at once.

    Example: apportion token revoke anna
    """
    from apportion.campaigns.storage.tokens import Tokens

    Tokens(db, create=False).revoke(name)
    show.show_result(json, {"name": name, "revoked": True}, f"Revoked: {name}.")
