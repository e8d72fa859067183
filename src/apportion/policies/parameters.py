"""Parameters of a policy as data: what is allowed, the default, and a few words for people, declared once per field.

>>> from apportion.policies.contract import Policy
>>> class Halves(Policy):
...     '''Half to the leader.'''
...     b: float = parameter(NOISE_EXPONENT)
...     tilt: float = parameter(Number(above=0.0, help="power of the weights"), default=1.0)
...     def allocate(self, period, sums, memory, rng, shares): ...
>>> Halves(b=1.3)
Traceback (most recent call last):
...
apportion.errors.InvalidValue: `b` must be a number in [0, 1]; got 1.3.

`Policy.__post_init__` checks every field against its constraint; `apportion.policies.registry.parameters` lists them.
None is allowed where it is the default, and means that the policy finds the value itself.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, Protocol

from apportion._common import validation

_CONSTRAINT = "constraint"


class Constraint(Protocol):
    """What a parameter may be: its `kind` in one word, `help` for people, and `check`, which refuses all else."""

    kind: ClassVar[str]

    @property
    def help(self) -> str:
        """A few words for people."""

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""

    def check(self, name: str, value: Any) -> Any:
        """`value` as the type it should have; `InvalidValue` where it is not allowed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Number:
    """A finite number with low ≤ value ≤ high and above < value < below."""

    kind: ClassVar[str] = "number"
    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    help: str = ""

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        return validation.allowed_range("a number", low=self.low, high=self.high, above=self.above, below=self.below)

    def check(self, name: str, value: Any) -> float:
        """`value` as a float."""
        return validation.number(name, value, low=self.low, high=self.high, above=self.above, below=self.below)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Whole:
    """A whole number of at least `low`."""

    kind: ClassVar[str] = "number"
    low: int | None = None
    help: str = ""

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        return validation.allowed_range("a whole number", low=self.low)

    def check(self, name: str, value: Any) -> int:
        """`value` as an int."""
        return validation.whole(name, value, low=self.low)


@dataclasses.dataclass(frozen=True)
class OneOf:
    """One of the `options`."""

    kind: ClassVar[str] = "choice"
    options: tuple[str, ...]
    help: str = ""

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        return "one of " + ", ".join(map(repr, self.options))

    def check(self, name: str, value: Any) -> str:
        """`value` itself."""
        return validation.choice(name, value, self.options)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Flag:
    """True or False."""

    kind: ClassVar[str] = "flag"
    help: str = ""

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        return "True or False"

    def check(self, name: str, value: Any) -> bool:
        """`value` itself."""
        return validation.flag(name, value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NumberPerArm:
    """A list of finite numbers, one per arm."""

    kind: ClassVar[str] = "numbers"
    help: str = ""

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        return "a list of numbers, one per arm"

    def check(self, name: str, value: Any) -> tuple[float, ...]:
        """`value` as a tuple of floats."""
        try:
            given = tuple(value)
        except TypeError:
            raise validation.refuse(name, "a list of numbers, one per arm", value) from None
        if not given:
            raise validation.refuse(name, "a list of at least one number", given)
        return tuple(validation.number(name, each) for each in given)


NOISE_EXPONENT = Number(low=0.0, high=1.0, help="the b it is given; empty: the true one")
NOISE_LEVEL = Number(above=0.0, help="the σ it is given; empty: the true one")
HORIZON = Whole(low=1, help="the horizon it is given; empty: the true one")
FLOOR = Number(low=0.0, help="power α of the smallest share t^(−α)/K; 0: none; empty: its own")


def parameter(constraint: Constraint, *, default: Any = dataclasses.MISSING) -> Any:
    """A field of a policy that must obey `constraint`; without a `default` it must be given."""
    return dataclasses.field(default=default, metadata={_CONSTRAINT: constraint})


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a policy: its name, what is allowed (None: anything), and the default where there is one."""

    name: str
    constraint: Constraint | None
    default: Any = dataclasses.MISSING

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is dataclasses.MISSING

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        words = "anything" if self.constraint is None else self.constraint.allowed
        return words if self.default is not None else f"{words}, or None"

    def check(self, value: Any) -> Any:
        """`value` as the type it should have; `InvalidValue` where it is not allowed."""
        if self.constraint is None or (value is None and self.default is None):
            return value
        return self.constraint.check(self.name, value)


def parameters_of(cls: Any) -> tuple[Parameter, ...]:
    """The parameters of a policy class, in the order in which they are declared."""
    return tuple(
        Parameter(
            field.name,
            _constraint(cls, field.name),
            field.default if field.default_factory is dataclasses.MISSING else field.default_factory(),
        )
        for field in dataclasses.fields(cls)
    )


def _constraint(cls: type, name: str) -> Constraint | None:
    """The constraint on a parameter; a subclass that gives it another default keeps it."""
    for base in cls.__mro__:
        field = getattr(base, "__dataclass_fields__", {}).get(name)
        if field is not None and _CONSTRAINT in field.metadata:
            found: Constraint = field.metadata[_CONSTRAINT]
            return found
    return None
