"""A campaign in a service, for programs that wait for each answer: the verbs of `AsyncCampaign`, run to their end."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from apportion.campaigns.protocol import CampaignVerbs
from apportion.client.remote import AsyncCampaign, Calls, describe
from apportion.client.transport import finish

Given = ParamSpec("Given")
Result = TypeVar("Result")


def blocking(
    verb: Callable[Concatenate[AsyncCampaign, Given], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Any, Given], Result]:
    """A verb that waits for its result."""

    @functools.wraps(verb)
    def wait(self: Any, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        return finish(verb(self, *args, **kwargs))

    return wait


def _property(name: str) -> Any:
    return property(blocking(vars(AsyncCampaign)[name].fget))


class RemoteCampaign(Calls, CampaignVerbs):
    """A campaign in a service: the verbs of `Campaign`, the same answers and the same errors.

    Every write is sent under a key, yours or one made for it: where the connection breaks, it is sent again and done
    once. What needs the database at hand is not here: `together` (several verbs as one write), `replay` and `state`.
    """

    def __repr__(self) -> str:
        return f"Client({self._transport.url!r}).campaign({self.name!r})"

    split = blocking(AsyncCampaign.split)
    record = blocking(AsyncCampaign.record)
    amend = blocking(AsyncCampaign.amend)
    cancel = blocking(AsyncCampaign.cancel)
    close = blocking(AsyncCampaign.close)
    _change_arm = blocking(AsyncCampaign._change_arm)
    change = blocking(AsyncCampaign.change)
    import_history = blocking(AsyncCampaign.import_history)  # type: ignore[arg-type]  # its columns may be any names
    imports = blocking(AsyncCampaign.imports)
    undo_import = blocking(AsyncCampaign.undo_import)
    rename = blocking(AsyncCampaign.rename)
    archive = blocking(AsyncCampaign.archive)
    unarchive = blocking(AsyncCampaign.unarchive)
    clone = blocking(AsyncCampaign.clone)  # type: ignore[assignment]  # one of its own kind
    delete = blocking(AsyncCampaign.delete)
    export = blocking(AsyncCampaign.export)
    plan = blocking(AsyncCampaign.plan)
    forecast = blocking(AsyncCampaign.forecast)
    forecasts = blocking(AsyncCampaign.forecasts)
    settings = _property("settings")
    arms = _property("arms")
    beliefs = blocking(AsyncCampaign.beliefs)
    beliefs_over_time = blocking(AsyncCampaign.beliefs_over_time)
    explain = blocking(AsyncCampaign.explain)
    status = blocking(AsyncCampaign.status)
    history = blocking(AsyncCampaign.history)
    events = blocking(AsyncCampaign.events)
    check = blocking(AsyncCampaign.check)


describe(RemoteCampaign)
