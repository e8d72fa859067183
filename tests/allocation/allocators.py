"""Allocators for the tests of this folder, and what holds of a call that is refused."""

import json

import numpy as np

import apportion as ap
from apportion.model import exact_sums

ARMS = ("search", "social", "video")


def make(policy=None, arms=ARMS, **settings):
    return ap.Allocator(policy or ap.Odds(b=0.75), arms, **{"seed": 7, **settings})


def played(allocator, periods=5, budget=100.0, seed=3):
    """The same allocator after some periods of noisy returns."""
    rng = np.random.default_rng(seed)
    for _ in range(periods):
        split = allocator.ask(budget)
        allocator.tell(split.ticket, {arm: amount * (1 + rng.random()) for arm, amount in split.amounts.items()})
    return allocator


def learned(allocator):
    """All eight sums of every arm, as saved."""
    return exact_sums.Statistics.from_dict(json.loads(allocator.to_json())["statistics"]).sums()


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second))


class Refused:
    """`with Refused(allocator, kind) as refusal`: the call fails with one sentence, and changes nothing."""

    def __init__(self, allocator, kind=ap.ApportionError):
        self.allocator, self.kind = allocator, kind

    def __enter__(self):
        self.before = self.allocator.to_json()
        return self

    def __exit__(self, kind, error, traceback):
        assert kind is not None, "nothing was raised"
        if not issubclass(kind, self.kind):
            return False
        self.sentence = str(error)
        assert isinstance(error, ap.ApportionError)
        assert "\n" not in self.sentence
        assert self.sentence.endswith(".")
        assert self.allocator.to_json() == self.before
        return True
