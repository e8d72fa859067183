"""`apportion arms`: add, pause, resume, remove or bound an arm of a campaign."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from apportion.cli import show
from apportion.cli.campaign import Db, Json, Name, open_campaign
from apportion.errors import InvalidValue

ACTIONS = ("add", "pause", "resume", "remove", "bound")


def arms(
    name: Name,
    action: Annotated[str | None, typer.Argument(help="add, pause, resume, remove or bound.")] = None,
    arm: Annotated[str | None, typer.Argument(help="The arm's name.")] = None,
    minimum: Annotated[
        str | None, typer.Option("--min", help="The smallest share: 5%, 0.05 or '250 EUR' (add, bound).")
    ] = None,
    maximum: Annotated[
        str | None,
        typer.Option("--max", help="The largest share (add, bound). Same minimum and maximum fixes the share."),
    ] = None,
    sigma: Annotated[float | None, typer.Option(help="Its noise scale, where every arm has its own (add).")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """List the arms, or change one; what was learned stays.

    Example: apportion arms ads add radio --min 5%
    """
    from apportion._common.formatting import percent

    campaign = open_campaign(name, db)
    if action is not None:
        if action not in ACTIONS:
            raise InvalidValue(f"`action` must be one of {', '.join(ACTIONS)}; got {action[:60]!r}.")
        if arm is None:
            raise InvalidValue(f"Which arm? apportion arms {name} {action} ARM")
        bounds = {"minimum": minimum, "maximum": maximum}
        given: dict[str, Any] = {name: show.bound(value) for name, value in bounds.items() if value is not None}
        if given and action not in ("add", "bound"):
            raise InvalidValue(f"`--min` and `--max` go with add and bound, not with {action}.")
        if sigma is not None:
            if action != "add":
                raise InvalidValue(f"`--sigma` goes with add, not with {action}; see `apportion settings --help`.")
            given["sigma"] = sigma
        getattr(campaign, f"{action}_arm")(arm, **given)
    if json:
        show.show_json([arm._asdict() for arm in campaign.arms])
        return
    columns = {"arm": "left", "state": "left", "minimum": "right", "maximum": "right"}
    rows = [(arm.name, arm.state, percent(arm.minimum), percent(arm.maximum)) for arm in campaign.arms]
    show.grid(f"Arms of {name}", columns, rows)
