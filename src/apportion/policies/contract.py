"""What a policy is: an immutable record of parameters, and one function from statistics to shares.

A policy of one's own takes about ten lines. The same `allocate` runs plainly in live use and compiled in
simulation, so it is written like a kernel: loops over arrays, `math`, no other objects.

>>> class Squares(Policy):
...     '''Shares in proportion to the squared estimates.'''
...     b: float
...     def allocate(self, period, sums, memory, rng, shares):
...         total = 0.0
...         for arm in range(len(shares)):
...             shares[arm] = 1.0
...             if period.number > 1:
...                 shares[arm] = 1e-9 + (sums.reward[arm] / sums.resource[arm]) ** 2
...             total += shares[arm]
...         for arm in range(len(shares)):
...             shares[arm] /= total
>>> Squares(b=0.75)
Squares(b=0.75)

`apportion.testing.check_policy(Squares(b=0.75))` then says whether it keeps the contract.
"""

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self, dataclass_transform

import numpy as np

from apportion._common import validation
from apportion._common.compiled import compiled, generic, implements, kernel
from apportion._common.imports import home, is_ours
from apportion.model.sums import MANY_ARMS, Floats, Sums
from apportion.policies.parameters import PROPORTIONAL, parameter, parameters_of


class Period(NamedTuple):
    """The period being decided: its `number` from 1 on, the `horizon` (0: unknown), the `unit` of amounts.

    `unit` is the budget of the first period: what one whole unit of resource is, in raw amounts. It is fixed
    before any outcome is seen, so a policy may scale a confidence radius by it.
    """

    number: int
    horizon: int
    unit: float


@generic
def allocate(
    policy: Any, period: Period, sums: Sums, memory: Floats, rng: np.random.Generator, shares: Floats
) -> None:
    """Write the shares of `period` into `shares`: non-negative, adding up to 1.

    `policy` is a policy's record, `sums` the sums of what is known, `memory` one number per arm that belongs
    to the policy (all that it keeps besides the sums), `rng` the only source of chance. Outcomes of the
    present period are not in `sums`: the decision cannot depend on them.
    """


@kernel
def decide(policy: Any, period: Period, sums: Sums, memory: Floats, rng: np.random.Generator, shares: Floats) -> None:
    """`allocate` as an entry point: a generic is chosen inside compiled code, not called from outside."""
    allocate(policy, period, sums, memory, rng, shares)


def decide_now(policy: Any, period: Period, sums: Sums, memory: Floats, rng: np.random.Generator) -> Floats:
    """The shares of one period, decided plainly, or compiled where there are many arms."""
    shares = np.zeros(len(memory))
    if len(shares) >= MANY_ARMS:
        compiled(decide)(policy, period, sums, memory, rng, shares)
    else:
        with np.errstate(all="ignore"):
            allocate(policy, period, sums, memory, rng, shares)
    return shares


@dataclass_transform(frozen_default=True, field_specifiers=(parameter,))
class Policy:
    """The base of every policy. Subclasses declare parameters like a dataclass, and `allocate`.

    A subclass may also have

    - constraints on its parameters (`apportion.policies.parameters`), which are checked here, and a `__post_init__`
      of its own for what relates two of them (`apportion._common.validation` has the sentence pattern);
    - `Record` and `prepared`, where the numbers the kernel needs are not just the parameters;
    - `initial_memory`, for what is kept per arm; `why`, to explain an arm's share in its own words.
    """

    rule: ClassVar[str] = ""
    """What the policy does, in one plain sentence for the people whose budget it is."""
    bent_rule: ClassVar[str] = ""
    """What it does where returns diminish (c < 1); empty where it is the same."""
    needs: ClassVar[str] = ""
    """Where the policy cannot run, in a sentence; empty where it runs everywhere."""
    laboratory: ClassVar[bool] = False
    """Whether it is for simulations only, as it keeps statistics that live use does not."""
    compiles: ClassVar[bool] = True
    """Whether `allocate` can be compiled; a simulation runs plainly, and much slower, where it cannot."""
    Record: ClassVar[type]
    """The NamedTuple that compiled code sees; made from the parameters unless the subclass has its own."""

    _registry: ClassVar[dict[str, dict[str, type["Policy"]]]] = {}
    """By name and then by home: two modules may each have a class of one name."""

    def __init_subclass__(cls, abstract: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclasses.dataclass(frozen=True, repr=False)(cls)
        if abstract or cls.allocate is Policy.allocate:
            return
        if "Record" not in cls.__dict__:
            cls.Record = _record_type(cls)
        implements(allocate, cls.Record)(cls.allocate)
        Policy._registry.setdefault(cls.__name__, {})[home(cls)] = cls

    def __post_init__(self) -> None:
        """Check every parameter against its constraint; a number of NumPy becomes a plain one."""
        for declared in parameters_of(type(self)):
            object.__setattr__(self, declared.name, declared.check(getattr(self, declared.name)))

    def allocate(self, period: Any, sums: Any, memory: Any, rng: Any, shares: Any) -> None:
        """The decision; see `apportion.policies.contract.allocate`. `self` is the record, not the policy."""
        raise NotImplementedError(f"{type(self).__name__} has no `allocate`")

    def prepared(self, arms: int, horizon: int | None) -> Any:
        """The record for a run with that many arms and periods (None: unknown)."""
        del horizon
        values = ((each, getattr(self, each.name)) for each in parameters_of(type(self)))
        return self.Record(*(self.each_arm(p.name, arms) if p.per_arm else value for p, value in values))

    def each_arm(self, name: str, arms: int) -> Floats:
        """A parameter that is a number or one per arm, as an array; a wrong number of them is refused."""
        value = getattr(self, name)
        validation.require_one_per_arm(name, value, arms)
        return np.full(arms, value)

    def restricted(self, arms: Sequence[int]) -> Self:
        """The policy for some of the arms, in that order: what is given once per arm is given for them alone.

        >>> from apportion import Odds
        >>> Odds(b=0.75, sigma=(1.0, 0.5, 2.0)).restricted([2, 0])
        Odds(b=0.75, sigma=(2.0, 1.0))
        """
        each = {p.name: getattr(self, p.name) for p in parameters_of(type(self)) if p.per_arm}
        changed = {
            name: tuple(value[arm] for arm in arms) for name, value in each.items() if isinstance(value, tuple)
        }
        return dataclasses.replace(self, **changed) if changed else self  # type: ignore[type-var]

    def initial_memory(self, arms: int) -> Floats:
        """What the policy keeps per arm before the first period."""
        return np.zeros(arms)

    def why(self, memory: float) -> str | None:
        """A reason for the share of an arm in the policy's own terms, or None to leave it to the beliefs."""
        del memory
        return None

    @property
    def reads(self) -> Any:
        """Which sums `allocate` looks at: all of `Sums`, or one of the smaller records of `apportion.model.sums`,
        which a simulation keeps up to date faster."""
        return Sums

    @property
    def randomised(self) -> bool:
        """Whether `allocate` draws from `rng` other than to break ties."""
        return False

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name."""
        return {field.name: getattr(self, field.name) for field in _parameters(type(self))}

    def __repr__(self) -> str:
        changed = (
            f"{field.name}={getattr(self, field.name)!r}"
            for field in _parameters(type(self))
            if field.default is dataclasses.MISSING or getattr(self, field.name) != field.default
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    @property
    def label(self) -> str:
        """A name that tells this policy from others of its kind; used in results and pictures."""
        return repr(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `policy_from_dict` restores it."""
        # Without c = 1, as before policies had it: saved state, and the streams of simulations, stay as they were.
        usual = {p.name: p.default for p in parameters_of(type(self))}
        silent = usual.get("c") == 1.0 == self.parameters.get("c")
        plain = {name: _plain(value) for name, value in self.parameters.items() if not (silent and name == "c")}
        return {"name": type(self).__name__, "parameters": plain}

    def to_state(self) -> dict[str, Any]:
        """`to_dict` for saved state: with the home of a class that is not ours, as two may have one name."""
        cls = type(self)
        return self.to_dict() if is_ours(cls) else {**self.to_dict(), "home": home(cls)}


def _plain(value: Any) -> Any:
    """A number that JSON does not know by itself, of NumPy or a fraction, as one that it does."""
    if isinstance(value, np.generic):
        return value.item()
    return float(value) if isinstance(value, Fraction) else value


def _parameters(cls: Any) -> tuple[dataclasses.Field[Any], ...]:
    """The fields of a policy class; typed `Any`, as mypy does not see that each subclass is a dataclass."""
    return dataclasses.fields(cls)


def _record_type(cls: type[Policy]) -> type:
    """A NamedTuple of the parameters, reachable as `cls.Record` so that it can be pickled by name.

    A subclass of a policy that prepares a record of its own gets that record under a type of its own.
    """
    inherited = getattr(cls, "Record", None)
    if inherited is not None and cls.prepared is not Policy.prepared:
        record = type(f"{cls.__name__}Record", (inherited,), {"__slots__": ()})
    else:
        fields = [(field.name, Any) for field in _parameters(cls)]
        record = NamedTuple(f"{cls.__name__}Record", fields)  # type: ignore[misc, no-redef]
    record.__module__ = cls.__module__
    record.__qualname__ = f"{cls.__qualname__}.Record"
    return record


def return_exponent_for(policy: Policy, c: float | None) -> float:
    """The exponent c of the mean that sums are taken at: as given, or the policy's own, or 1.

    >>> from apportion import Odds
    >>> return_exponent_for(Odds(b=0.75), 0.7)
    Traceback (most recent call last):
    apportion.errors.InvalidValue: `c` must be 1, as it knows returns in proportion to the amount only (Recommended, \
Matching and Thompson know others); got 0.7.
    """
    own = getattr(policy, "c", None)
    given = 1.0 if c is None and own is None else validation.number("c", own if c is None else c, above=0.0, high=1.0)
    if own is not None and given != own:
        if "c" not in policy.parameters:
            PROPORTIONAL.check("c", given)
        dataclasses.replace(policy, c=given)  # type: ignore[type-var]  # one that knows c = 1 only says so
        raise validation.refuse("c", f"given to the policy, as {type(policy).__name__}(c={validation.shown(c)})", c)
    return given


def noise_exponent_for(policy: Policy, b: float | None) -> float:
    """The exponent b of the noise that sums are taken at: as given, or the policy's own, or 1/2."""
    own = getattr(policy, "b", None)
    return validation.number("b", b if b is not None else 0.5 if own is None else own, low=0.0, high=1.0)
