"""The state of an allocator as text: what is restored goes on as before, and what is damaged is refused."""

import copy
import json
import math

import numpy as np
import pytest
from allocators import ARMS, make, played

import apportion as ap


@pytest.mark.parametrize(
    "policy",
    [
        ap.Thompson(b=0.25),
        ap.Odds(b=0.75),
        ap.SuccessiveElimination(b=0.75, horizon=99),
        ap.Oracle(means=(1, 2, 3)),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_a_restored_allocator_goes_on_exactly_as_the_original_would(policy):
    allocator = make(policy, whole=True, half_life=4.0, level=0.8)
    first = allocator.ask(31)
    allocator.tell(1, first.amounts)
    played(allocator, budget=31)
    allocator.ask(12)
    allocator.tell(7, {"search": None})
    allocator.pause_arm("social")
    restored = ap.Allocator.from_json(allocator.to_json())
    assert restored.to_json() == allocator.to_json()
    for allocator_ in (allocator, restored):
        allocator_.amend(1, {arm: 3.0 for arm, amount in first.amounts.items() if amount > 0})
        allocator_.resume_arm("social")
        played(allocator_, budget=17)
    assert restored.to_json() == allocator.to_json()
    assert str(restored.beliefs()) == str(allocator.beliefs())


def test_the_state_survives_readers_that_keep_53_bits():
    """JavaScript reads every number as a double and writes 1.0 as 1."""
    allocator = played(make())
    state = json.loads(allocator.to_json(), parse_int=lambda text: int(float(text)))
    assert played(ap.Allocator.from_json(json.dumps(state))).to_json() == played(allocator).to_json()


def test_a_policy_may_remember_infinity():
    class Remembers(ap.Policy):
        def initial_memory(self, arms):
            return np.full(arms, math.inf)

        def allocate(self, period, sums, memory, rng, shares):
            for arm in range(len(shares)):
                shares[arm] = 1.0 / len(shares) if memory[arm] == math.inf else 0.0

    restored = ap.Allocator.from_json(make(Remembers()).to_json())
    assert restored.ask(3).amounts == dict.fromkeys(ARMS, 1.0)


def test_numpy_parameters_of_ones_own_policy_are_saved():
    class Counts(ap.Policy):
        count: int = 3

        def allocate(self, period, sums, memory, rng, shares):
            shares[:] = 1.0 / len(shares)

    restored = ap.Allocator.from_json(make(Counts(np.int64(5))).to_json())
    assert restored.policy == Counts(5)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The saved state is damaged: Expecting value: line 1 column 1 (char 0)."),
        ("[1, 2]", "This is not the saved state of an Allocator."),
        ('{"format": "something else"}', "This is not the saved state of an Allocator."),
        ('{"format": "apportion.allocator", "version": 1}', "The saved state is damaged: 'arms' is missing."),
        (
            '{"format": "apportion.allocator", "version": 2}',
            "`version` of the saved state must be 1; got 2. Load it with the release of apportion that wrote it.",
        ),
    ],
)
def test_state_that_is_none_of_ours(text, sentence):
    with pytest.raises(ap.IncompatibleState) as caught:
        ap.Allocator.from_json(text)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("text", [None, 5, b"\xff", "[" * 100_000, '{"format": NaN}'])
def test_what_is_not_even_json(text):
    with pytest.raises(ap.IncompatibleState):
        ap.Allocator.from_json(text)


def test_a_policy_that_is_not_there_says_how_to_bring_it():
    state = json.loads(make().to_json())
    state["policy"]["name"] = "Homemade"
    with pytest.raises(ap.IncompatibleState, match="import the module that defines it first"):
        ap.Allocator.from_json(json.dumps(state))


def places_in(value, path=()):
    """Every place in the state, down to the first entries of its lists."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places_in(inner, (*path, key))


def saved_with_everything():
    allocator = played(make(whole=True, half_life=5.0, horizon=40, minimum={"video": 0.1}), budget=20, periods=3)
    allocator.ask(20)
    allocator.tell(4, {"search": None})
    return json.loads(allocator.to_json())


STATE = saved_with_everything()
JUNK = (None, True, -1, 0, 2.5, 10**400, math.inf, math.nan, "", "x", "9", [], {}, [[]], [None] * 3, {"x": 1})


def altered(path, change):
    state = copy.deepcopy(STATE)
    *way, last = path
    inner = state
    for key in way:
        inner = inner[key]
    change(inner, last)
    return json.dumps(state)


@pytest.mark.parametrize("path", list(places_in(STATE)), ids=lambda path: ".".join(map(str, path)))
def test_damaged_state_is_refused_or_harmless(path):
    """No other exception than ours at any time: what loads must also work."""
    # Older releases did not write c.
    optional = path == ("statistics", "c") or (path[:2] == ("policy", "parameters") and path[-1] != "b")
    if isinstance(path[-1], str) and not optional:
        with pytest.raises(ap.IncompatibleState):
            ap.Allocator.from_json(altered(path, lambda inner, key: inner.pop(key)))
    for junk in JUNK:

        def spoil(inner, key, junk=junk):
            inner[key] = junk

        try:
            allocator = ap.Allocator.from_json(altered(path, spoil))
        except ap.IncompatibleState:
            continue
        try:
            allocator.tell(4, {"social": 1.0})
            split = allocator.ask(20)
            str(split), str(allocator.beliefs())
            json.loads(allocator.to_json())
        except ap.ApportionError:
            pass


@pytest.mark.parametrize("missing", ["kept", "longest"])
def test_a_state_of_another_schedule_is_counted_again_from_its_tickets(missing):
    """It kept fewer periods, or learned anew in others."""
    allocator = played(make(ap.Auto(), b=None), periods=60)
    state = json.loads(allocator.to_json())
    state["statistics"]["rows"] = state["statistics"]["rows"][-1:]
    del state["statistics"][missing]
    assert ap.Allocator.from_json(json.dumps(state)).to_json() == allocator.to_json()
