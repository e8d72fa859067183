"""What is simulated: a policy, or a policy class that is given the truth of each instance; and whether it can run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apportion._common import validation
from apportion._common.imports import is_ours
from apportion.errors import ApportionError, InvalidValue
from apportion.model.world import World
from apportion.policies import Policy
from apportion.simulation.engines.dense import Dense
from apportion.simulation.engines.records import empty_traces
from apportion.simulation.engines.streams import streams
from apportion.simulation.executors import reason_of
from apportion.simulation.task import require_shares

# What a policy can be given of a world that has it.
TRUTHS = ("b", "sigma", "c", "means")
# Periods of the rehearsal of a user's policy.
REHEARSAL_PERIODS = 5


@dataclass(frozen=True)
class Informed:
    """A policy class that is given the true b, σ, c and means of each instance, as far as it needs them.

    What a policy can do without (b of `Auto`, None by default) it is not given.

    >>> from apportion import Instance, Odds
    >>> Informed(Odds, {"tilt": 1.0}).on(Instance((0.9, 1.0), b=0.6, sigma=2.0))
    Odds(b=0.6, sigma=2.0, tilt=1.0)
    """

    cls: type[Policy]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def on(self, instance: World) -> Policy:
        """The policy for that instance."""
        truth = {name: value for name in TRUTHS if (value := getattr(instance, name, None)) is not None}
        if "c" not in truth:  # means say how to split only together with the power of the amount
            truth.pop("means", None)
        fields = dataclasses.fields(self.cls)  # type: ignore[arg-type]
        takes = {item.name for item in fields if item.default is not None}
        given = {**{name: value for name, value in truth.items() if name in takes}, **self.parameters}
        for item in fields:
            if item.default is item.default_factory is dataclasses.MISSING and item.name not in given:
                raise InvalidValue(
                    f"`{item.name}` of {self.cls.__name__} must be given, as in Informed({self.cls.__name__}, "
                    f"{{{item.name!r}: …}}): {type(instance).__name__} does not say it."
                )
        return self.cls(**given)

    @property
    def label(self) -> str:
        """The class with the parameters that were given."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.cls.__name__}({given})" if given else self.cls.__name__


Candidate = Policy | Informed | type[Policy]


def read_candidate(given: Any) -> Policy | Informed:
    """A candidate as people give it; a class is an `Informed` one."""
    if isinstance(given, type) and issubclass(given, Policy):
        return Informed(given)
    if isinstance(given, (Policy, Informed)):
        return given
    raise validation.refuse("policies", "a list of policies such as apportion.Odds(b=0.75)", given)


def policy_on(candidate: Policy | Informed, instance: World) -> Policy:
    """The policy that a candidate is on an instance."""
    return candidate.on(instance) if isinstance(candidate, Informed) else candidate


def require_fit(candidate: Policy | Informed, instance: World, horizon: int, rehearse: bool = True) -> None:
    """Refuse a policy that cannot run on an instance: it is made, prepared and, if it is a user's, rehearsed."""
    try:
        policy = policy_on(candidate, instance)
        policy.prepared(instance.arms, horizon)
        policy.initial_memory(instance.arms)
        if not is_ours(type(policy)):
            json.dumps(policy.to_dict())
            if rehearse:
                _rehearse(policy, instance, min(horizon, REHEARSAL_PERIODS))
    except ApportionError as error:
        raise type(error)(f"{candidate.label} cannot run on {instance.label}: {error}") from error
    except Exception as error:  # a user's policy can fail in any way
        sentence = f"{candidate.label} cannot run on {instance.label}: {reason_of(error)}."
        raise InvalidValue(sentence) from error


def _rehearse(policy: Policy, instance: World, horizon: int) -> None:
    """A few periods in plain Python, where a mistake has a name; compiled code would not notice a wrong index."""
    every_period = range(1, horizon + 1)
    traces = empty_traces(1, horizon, instance.arms)
    Dense(policy, instance, horizon, every_period, plain=True).run(streams("rehearsal", 0, 0, 1), traces)
    require_shares(policy, every_period, traces.regret)
