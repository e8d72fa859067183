"""`apportion serve`: the HTTP API and the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from apportion.cli.campaign import Db, Json

PORT = 8000  # the port of the service by default

if TYPE_CHECKING:
    from apportion.web.serve import ServiceInfo


def serve(
    host: Annotated[
        str, typer.Option(help="The address to listen on; any but loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes any that is free.")] = PORT,
    workers: Annotated[int, typer.Option(help="How many processes answer requests.")] = 1,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error; JSON lines on stderr.")] = "info",
    oidc_issuer: Annotated[
        str | None,
        typer.Option(
            help="People sign in with this provider of OpenID Connect; its secret is APPORTION_OIDC_SECRET."
        ),
    ] = None,
    oidc_client_id: Annotated[str | None, typer.Option(help="What the provider calls this service.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """The HTTP API and the dashboard, for a team. Ctrl+C stops it.

    Example: apportion serve --db postgresql://user@host/campaigns --workers 4
    """
    from apportion.web.serve import serve as run

    run(
        db, host=host, port=port, workers=workers, log_level=log_level, oidc_issuer=oidc_issuer,
        oidc_client_id=oidc_client_id, ready=_show_json if json else _show,
    )  # fmt: skip


def _show(service: ServiceInfo) -> None:
    print(f"apportion is at {service.url} with the campaigns of {service.database}.")
    if service.provider is not None:
        print(
            f"Sign in with {service.provider} or a token; `apportion token create EMAIL --person` lets somebody in."
        )
    elif service.tokens_needed:
        print("Sign in with a token; `apportion token create NAME` makes one.")
    else:
        print("Everyone on this machine may use it; after `apportion token create NAME` only who has a token.")
    print("Ctrl+C stops it.", flush=True)


def _show_json(service: ServiceInfo) -> None:
    import json

    print(json.dumps(service._asdict()), flush=True)
