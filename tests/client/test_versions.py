"""A client and a service of different releases: what one adds the other ignores; it does without what is lacking.

The responses are the examples of the API's description, which are held to its schemas elsewhere.
"""

import copy
import math
from functools import partial

import pytest

from apportion.allocation.arms import Arm
from apportion.campaigns.check import Check
from apportion.campaigns.events import Event
from apportion.campaigns.history import Line
from apportion.campaigns.importing import Imported
from apportion.client import rebuild
from apportion.web.api import examples

# Without these a response says nothing: which campaign, ticket, arm; what is believed; how much each arm gets.
NEEDED = {"campaign", "ticket", "budget", "arm", "arms", "name", "state", "number", "kind", "settings", "events",
          "share", "amount", "mean"}  # fmt: skip
# Objects whose names are the user's own, or a policy's: nothing is added to them.
FREE = {"parameters", "payload", "corrections"}

STATUS = {**examples.STATUS, "learned": examples.LEARNED}
RESPONSES = {
    "split": (rebuild.RemoteSplit, examples.SPLIT),
    "status": (rebuild.status, STATUS),
    "settings": (rebuild.settings, examples.SETTINGS),
    "arm": (partial(rebuild.record, Arm), examples.ARM),
    "beliefs": (rebuild.RemoteBeliefs, examples.BELIEFS),
    "line": (partial(rebuild.record, Line), examples.LINE),
    "event": (partial(rebuild.record, Event), examples.EVENT),
    "check": (partial(rebuild.record, Check), examples.CHECK),
    "forecast": (rebuild.forecast, examples.FORECAST),
    "plan": (rebuild.plan, examples.PLAN),
    "past forecasts": (rebuild.past_forecasts, examples.PAST_FORECASTS),
    "imported": (partial(rebuild.record, Imported), examples.IMPORTED),
}


def objects(content, within=""):
    """Every object of a response that is ours, with its path."""
    if isinstance(content, dict):
        yield within, content
        for name, value in content.items():
            if name not in FREE:
                yield from objects(value, f"{within}/{name}")
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield from objects(value, f"{within}/{index}")


def seen(rebuilt):
    """All that a user sees of it, for comparison."""
    return (
        repr(rebuilt),
        str(rebuilt),
        repr(getattr(rebuilt, "reasons", None)),
        repr(getattr(rebuilt, "learned", None)),
    )


@pytest.mark.parametrize("kind", RESPONSES)
def test_an_older_client_ignores_what_a_newer_service_adds(kind):
    build, content = RESPONSES[kind]
    newer = copy.deepcopy(content)
    for _, found in list(objects(newer)):
        found["invented_later"] = {"much": [1, 2, 3]}
    assert seen(build(newer)) == seen(build(content))


@pytest.mark.parametrize("kind", RESPONSES)
def test_a_newer_client_does_without_what_an_older_service_lacks(kind):
    build, content = RESPONSES[kind]
    tried = 0
    for path, found in objects(content):
        for name in found:
            if name in NEEDED:
                continue
            older = copy.deepcopy(content)
            del dict(objects(older))[path][name]
            assert isinstance(build(older), type(build(content))), f"{path}/{name}"
            tried += 1
    assert tried or kind == "arm"


def test_what_was_not_sent_is_not_known():
    status = rebuild.status({**{name: STATUS[name] for name in NEEDED & set(STATUS)}, "settings": {"budget": 5.0}})
    assert (status.period, status.open_tickets, status.leader, status.notes) == (0, (), None, ())
    assert math.isnan(status.expected_regret)
    assert (status.settings.unit, status.settings.level, status.settings.robust) == (None, 0.95, False)
    line = rebuild.record(Line, {"ticket": 3, "arm": "a"})
    assert math.isnan(line.amount)
    assert (line.outcome, line.corrections) == (None, ())
