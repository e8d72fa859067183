"""Parameters of a policy as data: what is allowed, the default, and a few words for people, declared once per field.

>>> from apportion.policies.contract import Policy
>>> class Halves(Policy):
...     '''Half to the leader.'''
...     b: float = parameter(NOISE_EXPONENT)
...     tilt: float = parameter(Number(above=0.0, hint="power of the weights"), default=1.0)
...     def allocate(self, period, sums, memory, rng, shares): ...
>>> Halves(b=1.3)
Traceback (most recent call last):
...
apportion.errors.InvalidValue: `b` must be a number in [0, 1]; got 1.3.

`Policy.__post_init__` checks every field against its constraint; `apportion.policies.registry.parameters` lists them.
None is allowed where it is the default, and means that the policy finds the value itself.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from apportion._common import validation

_CONSTRAINT = "constraint"


@dataclasses.dataclass(frozen=True)
class Constraint:
    """What a parameter may be, and a few words for people. See `Number`, `Whole`, `OneOf`, `Flag`."""

    kind: str
    """In one word: number, whole, choice, flag, numbers, fixed."""
    hint: str
    bounds: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Those of `validation.number` or `validation.whole`; the `options` of a choice."""
    per_arm: bool = False
    """Whether it belongs to an arm: a list of numbers, or a number that may also be given once per arm."""

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        if self.kind in _NOUNS:
            words = validation.allowed_range(_NOUNS[self.kind], **self.bounds)
            return f"{words}, or one per arm" if self.per_arm else words
        if self.kind == "fixed":
            return self.bounds["words"]  # type: ignore[no-any-return]
        if self.kind == "choice":
            return "one of " + ", ".join(map(repr, self.bounds["options"]))
        return "True or False" if self.kind == "flag" else "a list of numbers, one per arm"

    def check(self, name: str, value: Any) -> Any:
        """`value` as the type it should have; `InvalidValue` where it is not allowed."""
        if self.kind == "number" and self.per_arm:
            return validation.number_or_each(name, value, **self.bounds)
        return _CHECKS[self.kind](name, value, **self.bounds)


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    try:
        given = tuple(value)
    except TypeError:
        raise validation.refuse(name, "a list of numbers, one per arm", value) from None
    if not given:
        raise validation.refuse(name, "a list of at least one number", given)
    return tuple(validation.number(name, each) for each in given)


def _fixed(name: str, value: Any, only: float, words: str) -> float:
    if validation.number(name, value) != only:
        raise validation.refuse(name, words, value)
    return only


_NOUNS = {"number": "a number", "whole": "a whole number"}
_CHECKS: dict[str, Callable[..., Any]] = {
    "number": validation.number, "whole": validation.whole, "choice": validation.choice, "flag": validation.flag,
    "numbers": _numbers, "fixed": _fixed,
}  # fmt: skip


def Number(hint: str = "", **bounds: float) -> Constraint:
    """A finite number with low ≤ value ≤ high and above < value < below."""
    return Constraint("number", hint, bounds)


def Whole(hint: str = "", **bounds: int) -> Constraint:
    """A whole number with low ≤ value ≤ high."""
    return Constraint("whole", hint, bounds)


def OneOf(options: tuple[str, ...], hint: str = "") -> Constraint:
    """One of the `options`."""
    return Constraint("choice", hint, {"options": options})


def Flag(hint: str = "") -> Constraint:
    """True or False."""
    return Constraint("flag", hint)


def NumberPerArm(hint: str = "") -> Constraint:
    """A list of finite numbers, one per arm."""
    return Constraint("numbers", hint, per_arm=True)


def NumberOrPerArm(hint: str = "", **bounds: float) -> Constraint:
    """A number within the bounds of `Number`, or a list of such, one per arm."""
    return Constraint("number", hint, bounds, per_arm=True)


def Fixed(only: float, words: str) -> Constraint:
    """One number and no other; `words` say which, and why."""
    return Constraint("fixed", "", {"only": only, "words": words})


NOISE_EXPONENT = Number(low=0.0, high=1.0, hint="the b it is given; empty: the true one")
NOISE_LEVEL = NumberOrPerArm(above=0.0, hint="the σ it is given; empty: the true one")
RETURN_EXPONENT = Number(above=0.0, high=1.0, hint="the c it is given; empty: the true one")
PROPORTIONAL = Fixed(
    1.0, "1, as it knows returns in proportion to the amount only (Recommended, Matching and Thompson know others)"
)
ONE_SIGMA = "one number, as σ is taken as equal for all arms (Recommended takes one for each)"
HORIZON = Whole(low=1, hint="the horizon it is given; empty: the true one")
FLOOR = Number(low=0.0, hint="power α of the smallest share t^(−α)/K; 0: none; empty: its own")


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

    @property
    def per_arm(self) -> bool:
        """Whether it belongs to an arm: given once per arm, or as one number for all."""
        return self.constraint is not None and self.constraint.per_arm

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
