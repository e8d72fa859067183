"""What a token may do: by its scope with every campaign, and by rights with single ones. The larger counts.

| right | what it allows |
|---|---|
| read | to look at everything of the campaign, and to export it |
| record | and to split, to record, amend, close and cancel, and to keep forecasts |
| manage | and to change settings, arms and rules, to import, rename, archive and delete |

Scope `none` allows nothing by itself, `read` and `record` the same as the right of that name on every campaign, and
`write` to manage every campaign and to begin new ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from apportion.campaigns.events import now
from apportion.campaigns.storage.schema import campaigns, rights
from apportion.campaigns.storage.session import Session

SCOPES = ("none", "read", "record", "write")
RIGHTS = ("read", "record", "manage")

NO_RIGHTS: Mapping[str, str] = MappingProxyType({})

_LEVELS = {"none": 0, "read": 1, "record": 2, "manage": 3, "write": 3}


def allows(scope: str, right: str | None, wanted: str) -> bool:
    """Whether a scope, or a right on a campaign, is enough for what is wanted of it.

    >>> allows("none", "record", "read"), allows("read", None, "record"), allows("write", "read", "manage")
    (True, False, True)
    """
    return max(_LEVELS[scope], _LEVELS[right or "none"]) >= _LEVELS[wanted]


def rights_of(connection: Connection, token: int) -> Mapping[str, str]:
    """The rights of a token, by the name of the campaign."""
    return all_rights(connection, token).get(token, NO_RIGHTS)


def all_rights(connection: Connection, token: int | None = None) -> dict[int, dict[str, str]]:
    """The rights of every token, or of one, by the name of the campaign."""
    query = sa.select(rights.c.token, campaigns.c.name, rights.c.level).join_from(
        rights, campaigns, rights.c.campaign == campaigns.c.id
    )
    if token is not None:
        query = query.where(rights.c.token == token)
    found: dict[int, dict[str, str]] = {}
    for row in connection.execute(query.order_by(campaigns.c.name)):
        found.setdefault(row.token, {})[row.name] = row.level
    return found


def set_right(connection: Connection, token: int, campaign: str, level: str | None) -> None:
    """Give a token a right on a campaign in place of the one it has, or take that away."""
    identity = Session(connection).campaign_id(campaign)
    own = (rights.c.token == token) & (rights.c.campaign == identity)
    connection.execute(sa.delete(rights).where(own))
    if level is not None:
        row = {"token": token, "campaign": identity, "level": level, "granted": now()}
        connection.execute(sa.insert(rights).values(row))
