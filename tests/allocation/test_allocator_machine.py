"""Random interleavings of everything one can do to an allocator, against a plain list of what happened."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import apportion as ap
from apportion.model.exact_sums import Statistics

POLICIES = (
    ap.Odds(b=0.75),
    ap.Thompson(b=0.25),
    ap.SuccessiveElimination(b=0.6, sigma=0.2, horizon=60),
    ap.EpsilonGreedy(b=0.9),
    ap.UCB(),
    ap.Matching(b=0.4, c=0.6),
    ap.Recommended(b=0.75, c=0.5),
)
NAMES = ("a", "b", "c", "d", "e", "f")
LEVELS = {name: 0.1 * 3.0**place for place, name in enumerate(NAMES)}
outcomes = st.floats(-1e6, 1e6).map(lambda value: value + 0.0)  # no negative zero: it equals zero


class Model:
    """What happened: by ticket the amount of every arm, and what was told."""

    def __init__(self, arms):
        self.state = dict.fromkeys(arms, "active")
        self.bounds = dict.fromkeys(arms, (0.0, 1.0))
        self.tickets = {}

    @property
    def active(self):
        return [arm for arm, state in self.state.items() if state == "active"]

    @property
    def open(self):
        return [
            number
            for number, (amounts, told) in self.tickets.items()
            if any(amount > 0 and arm not in told for arm, amount in amounts.items())
        ]

    @property
    def largest(self):
        """The largest amount of every arm that brought an outcome."""
        found = dict.fromkeys(self.state, 0.0)
        for amounts, told in self.tickets.values():
            for arm, outcome in told.items():
                found[arm] = found[arm] if outcome is None else max(found[arm], amounts[arm])
        return found

    def sums(self, b, half_life, c):
        """The nine sums of every arm, taken in afresh and in order."""
        past = Statistics(len(self.state), b, half_life, c)
        for number, (amounts, told) in self.tickets.items():
            past.advance()
            spent = [amounts.get(arm, 0.0) for arm in self.state]
            back = [math.nan if told.get(arm) is None else told[arm] for arm in self.state]
            past.update(spent, back, number)
        return past.sums()


class Interleavings(RuleBasedStateMachine):
    @initialize(
        policy=st.sampled_from(POLICIES),
        arms=st.integers(1, 3),
        whole=st.booleans(),
        half_life=st.sampled_from([None, None, 2.5]),
        seed=st.integers(0, 2**32),
        per_arm=st.booleans(),
        growth=st.sampled_from([None, 1.0, 2.0]),
        change=st.sampled_from([None, None, 0.1]),
    )
    def begin(self, policy, arms, whole, half_life, seed, per_arm, growth, change):
        self.whole, self.half_life = whole, half_life
        self.per_arm = per_arm and "sigma" in policy.parameters
        if self.per_arm:
            policy = dataclasses.replace(policy, sigma=tuple(LEVELS[name] for name in NAMES[:arms]))
        self.allocator = ap.Allocator(
            policy, NAMES[:arms], seed=seed, whole=whole, half_life=half_life, growth=growth, change=change
        )
        self.model = Model(NAMES[:arms])

    def refused(self, kinds, call, *arguments, **keywords):
        """The call fails as it should, and nothing has changed."""
        before = self.allocator.to_json()
        with pytest.raises(kinds) as caught:
            call(*arguments, **keywords)
        assert isinstance(caught.value, ap.ApportionError)
        assert self.allocator.to_json() == before

    def attempt(self, call, *arguments, **keywords):
        """Whether the call went through; where bounds cannot hold, nothing has changed."""
        before = self.allocator.to_json()
        try:
            call(*arguments, **keywords)
        except ap.Infeasible:
            assert self.allocator.to_json() == before
            return False
        return True

    # Ask

    @rule(budget=st.floats(0.01, 1e6), units=st.integers(1, 60))
    def ask(self, budget, units):
        budget = float(units) if self.whole else budget
        if not self.model.active:
            self.refused(ap.Conflict, self.allocator.ask, budget)
            return
        before = self.allocator.to_json()
        try:
            split = self.allocator.ask(budget)
        except ap.Infeasible:
            assert self.whole  # too few units for the minima
            assert self.allocator.to_json() == before
            return
        assert list(split.amounts) == self.model.active
        assert sum(split.amounts.values()) == math.fsum(split.amounts.values()) == budget
        for arm, amount in split.amounts.items():
            low, high = (share * budget for share in self.model.bounds[arm])
            if self.whole:
                assert amount.is_integer()
                assert math.floor(low + 1e-9) <= amount <= math.ceil(high - 1e-9)
            else:
                assert low - 1e-9 * budget <= amount <= high + 1e-9 * budget
        if self.allocator.growth is not None:
            even, largest = budget / len(self.model.active), self.model.largest
            caps = {arm: max(self.allocator.growth * largest[arm], even) for arm in self.model.active}
            most = {arm: min(cap, self.model.bounds[arm][1] * budget) for arm, cap in caps.items()}
            if math.fsum(most.values()) >= budget:
                for arm, amount in split.amounts.items():
                    cap = max(caps[arm], self.model.bounds[arm][0] * budget)
                    assert amount <= cap + (1.0 if self.whole else 1e-9 * budget)
        assert split.ticket == len(self.model.tickets) + 1
        self.model.tickets[split.ticket] = ({arm: split.amounts.get(arm, 0.0) for arm in self.model.state}, {})

    # Tell and amend

    @precondition(lambda self: self.model.tickets)
    @rule(data=st.data())
    def tell_a_part(self, data):
        number, (amounts, told) = self.some_ticket(data)
        waiting = [arm for arm in amounts if arm not in told]
        if not waiting:
            return
        part = data.draw(st.lists(st.sampled_from(waiting), min_size=1, unique=True), label="arms")
        values = {arm: data.draw(st.none() | outcomes if amounts[arm] > 0 else st.none()) for arm in part}
        repeated = {arm: told[arm] for arm in data.draw(st.sets(st.sampled_from([*told])))} if told else {}
        self.allocator.tell(number, {**repeated, **values})
        told.update(values)

    @precondition(lambda self: self.model.tickets)
    @rule(data=st.data())
    def tell_what_was_really_spent(self, data):
        number, (amounts, told) = self.some_ticket(data)
        waiting = [arm for arm in amounts if arm not in told]
        if not waiting:
            return
        arm = data.draw(st.sampled_from(waiting), label="arm")
        spent, outcome = data.draw(st.floats(0.001, 1e5)), data.draw(outcomes)
        self.allocator.tell(number, {arm: outcome}, amounts={arm: spent})
        amounts[arm], told[arm] = spent, outcome

    @precondition(lambda self: any(told for _, told in self.model.tickets.values()))
    @rule(data=st.data(), change=outcomes)
    def tell_again_or_otherwise(self, data, change):
        number, (amounts, told) = self.some_ticket(data, with_outcomes=True)
        before = self.allocator.to_json()
        self.allocator.tell(number, dict(told))
        self.allocator.tell(number, dict(told), amounts=dict(amounts))
        assert self.allocator.to_json() == before
        arm = data.draw(st.sampled_from([*told]), label="arm")
        if amounts[arm] > 0 and told[arm] != change:
            self.refused(ap.Conflict, self.allocator.tell, number, {**told, arm: change})
        self.refused(ap.ApportionError, self.allocator.tell, number, dict(told), amounts={arm: amounts[arm] + 1.0})

    @precondition(lambda self: any(told for _, told in self.model.tickets.values()))
    @rule(data=st.data())
    def amend(self, data):
        number, (amounts, told) = self.some_ticket(data, with_outcomes=True)
        arm = data.draw(st.sampled_from([*told]), label="arm")
        spent = data.draw(st.floats(0.001, 1e5) | st.just(amounts[arm]), label="spent")
        outcome = data.draw(st.none() | outcomes if spent > 0 else st.none(), label="outcome")
        self.allocator.amend(number, {arm: outcome}, amounts={arm: spent})
        amounts[arm], told[arm] = spent, outcome
        missing = [other for other in amounts if other not in told]
        if missing:
            self.refused(ap.Conflict, self.allocator.amend, number, {arm: outcome, missing[0]: None})

    def some_ticket(self, data, with_outcomes=False):
        numbers = [number for number, (_, told) in self.model.tickets.items() if told or not with_outcomes]
        number = data.draw(st.sampled_from(numbers), label="ticket")
        return number, self.model.tickets[number]

    # The arms

    @precondition(lambda self: len(self.model.state) < len(NAMES))
    @rule(minimum=st.sampled_from([0.0, 0.0, 0.1, 0.4]), maximum=st.sampled_from([1.0, 0.5]))
    def add(self, minimum, maximum):
        arm = NAMES[len(self.model.state)]
        own = {"sigma": LEVELS[arm]} if self.per_arm else {}
        if self.attempt(self.allocator.add_arm, arm, minimum, maximum, **own):
            self.model.state[arm], self.model.bounds[arm] = "active", (minimum, maximum)

    @rule(data=st.data(), verb=st.sampled_from(["pause", "resume", "remove", "add"]))
    def change(self, data, verb):
        arm = data.draw(st.sampled_from([*self.model.state]), label="arm")
        call = getattr(self.allocator, f"{verb}_arm")
        if (self.model.state[arm] == "removed") != (verb == "add"):
            self.refused(ap.Conflict, call, arm)
        elif self.attempt(call, arm):
            after = {"pause": "paused", "resume": "active", "remove": "removed", "add": "active"}
            self.model.state[arm] = after[verb]
            if verb == "add":
                self.model.bounds[arm] = (0.0, 1.0)

    @rule(data=st.data(), low=st.sampled_from([0.0, 0.0, 0.05, 0.3]), high=st.sampled_from([1.0, 0.6, 0.3]))
    def bound(self, data, low, high):
        present = [arm for arm, state in self.model.state.items() if state != "removed"]
        if present:
            arm = data.draw(st.sampled_from(present), label="arm")
            if self.attempt(self.allocator.bound_arm, arm, low, high):
                self.model.bounds[arm] = (low, high)

    # Whatever may go wrong, and a restart

    @rule(data=st.data())
    def fail(self, data):
        call = data.draw(
            st.sampled_from([
                lambda a: a.ask(math.nan),
                lambda a: a.ask(-1.0),
                lambda a: a.tell(10**6, {"a": 1.0}),
                lambda a: a.tell(1, {"nobody": 1.0}),
                lambda a: a.tell(1, {"a": math.inf}),
                lambda a: a.tell(1, {}),
                lambda a: a.amend(1, {"a": math.nan}),
                lambda a: a.add_arm(""),
                lambda a: a.pause_arm("nobody"),
                lambda a: a.bound_arm("a", -0.5),
            ])
        )  # fmt: skip
        self.refused(ap.ApportionError, call, self.allocator)

    @rule()
    def restart(self):
        state = self.allocator.to_json()
        self.allocator = ap.Allocator.from_json(state)
        assert self.allocator.to_json() == state

    # What always holds

    @invariant()
    def the_statistics_are_those_of_the_outcomes_that_stand(self):
        if not hasattr(self, "allocator"):
            return
        held = Statistics.from_dict(json.loads(self.allocator.to_json())["statistics"]).sums()
        expected = self.model.sums(self.allocator.b, self.half_life, self.allocator.c)
        for name, mine, theirs in zip(held._fields, held, expected):
            assert np.array_equal(mine, theirs), name

    @invariant()
    def the_largest_amounts_are_those_of_the_outcomes_that_stand(self):
        if hasattr(self, "allocator") and self.allocator.growth is not None:
            assert json.loads(self.allocator.to_json())["limits"]["largest"] == list(self.model.largest.values())

    @invariant()
    def the_books_agree(self):
        if not hasattr(self, "allocator"):
            return
        assert sorted(self.allocator.open_tickets) == self.model.open
        assert self.allocator.period == len(self.model.tickets)
        assert list(self.allocator.arms) == [arm for arm, state in self.model.state.items() if state != "removed"]
        if self.per_arm:  # each arm with its own, whatever came and went
            assert self.allocator.sigma == {arm: LEVELS[arm] for arm in self.model.state}
            assert self.allocator.policy.sigma == tuple(LEVELS[arm] for arm in self.model.state)
            beliefs = self.allocator.beliefs()
            assert beliefs.sigma == {arm: LEVELS[arm] for arm in self.allocator.arms}


Interleavings.TestCase.settings = settings(deadline=None, max_examples=60, stateful_step_count=40)
TestInterleavings = Interleavings.TestCase
