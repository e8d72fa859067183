"""`apportion mcp`: campaigns for assistants, over standard input and output."""

from __future__ import annotations

from typing import Annotated

import typer

from apportion.cli.campaign import Db


def mcp(
    url: Annotated[
        str | None, typer.Option(help="A service instead of a database; its token is APPORTION_TOKEN.")
    ] = None,
    db: Db = None,
) -> None:
    """Campaigns for assistants that speak MCP: they read, and draft splits and outcomes that you confirm.

    Example: apportion mcp --url https://apportion.example.org
    """
    from apportion.mcp.server import serve

    serve(db, url)
