"""The arms by name: which are active, paused or removed, and the bounds on their shares."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from apportion._common import validation
from apportion.allocation.feasible import project
from apportion.errors import Conflict, Infeasible, UnknownName
from apportion.model.sums import Floats

STATES = ("active", "paused", "removed")


class Arm(NamedTuple):
    """One arm. It keeps its index for ever, so that what was learned about it is never lost."""

    name: str
    state: str = "active"
    minimum: float = 0.0
    maximum: float = 1.0


def by_name(label: str, given: Any) -> Mapping[str, Any]:
    """`given` as a mapping from arm names: a mapping it is, or a pandas Series, each name once."""
    if isinstance(given, Mapping):
        return given
    if hasattr(given, "keys") and hasattr(given, "items"):
        pairs = list(given.items())
        mapping = dict(pairs)
        if len(mapping) == len(pairs):
            return mapping
    raise validation.refuse(label, "a mapping from arm names to numbers, each name once", given)


class Arms:
    """All arms there ever were, in order of arrival; immutable. One that no split could satisfy is refused."""

    def __init__(
        self,
        names: Iterable[str],
        minimum: Mapping[str, float] | None = None,
        maximum: Mapping[str, float] | None = None,
        pinned: Mapping[str, float] | None = None,
    ) -> None:
        known = validation.arm_names("arms", names)
        least, most, fixed = (
            {} if given is None else by_name(label, given)
            for label, given in (("minimum", minimum), ("maximum", maximum), ("pinned", pinned))
        )
        arms = set(known)
        for label, bounds in (("minimum", least), ("maximum", most), ("pinned", fixed)):
            for name in bounds:
                if name not in arms:
                    raise UnknownName(
                        f"`{label}` names '{name}', which is not one of the arms {', '.join(known[:20])}."
                    )
        for name in fixed:
            if name in least or name in most:
                raise validation.refuse(
                    f"pinned['{name}']", "left out where a minimum or maximum is given", fixed[name]
                )
        self._arms = _feasible([
            Arm(name, "active", fixed.get(name, least.get(name, 0.0)), fixed.get(name, most.get(name, 1.0)))
            for name in known
        ])  # fmt: skip

    @classmethod
    def _of(cls, arms: Sequence[Arm]) -> Self:
        made = cls.__new__(cls)
        made._arms = _feasible(arms)
        return made

    @property
    def all(self) -> tuple[Arm, ...]:
        """Every arm there ever was, removed ones too."""
        return self._arms

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all arms, removed ones too."""
        return tuple(arm.name for arm in self._arms)

    @functools.cached_property
    def present(self) -> tuple[str, ...]:
        """The names of the arms that were not removed."""
        return tuple(arm.name for arm in self._arms if arm.state != "removed")

    @functools.cached_property
    def active(self) -> NDArray[np.int64] | None:
        """The indices of the arms that take part in splits; None where all do."""
        return self._where("active")

    @functools.cached_property
    def remaining(self) -> NDArray[np.int64] | None:
        """The indices of the arms that were not removed; None where none was."""
        return self._where("active", "paused")

    @functools.cached_property
    def in_play(self) -> NDArray[np.bool_] | None:
        """Which of the arms that were not removed take part in splits; None where all do, or none."""
        found = np.array([arm.state == "active" for arm in self._arms if arm.state != "removed"])
        return None if found.all() or not found.any() else found

    def _where(self, *states: str) -> NDArray[np.int64] | None:
        indices = np.flatnonzero([arm.state in states for arm in self._arms])
        return None if len(indices) == len(self._arms) else indices

    @functools.cached_property
    def indices(self) -> Mapping[str, int]:
        """Where each arm stands, removed ones too, by name."""
        return {arm.name: index for index, arm in enumerate(self._arms)}

    @functools.cached_property
    def _bounds(self) -> tuple[tuple[str, ...], Floats | None, Floats | None]:
        active = [arm for arm in self._arms if arm.state == "active"]
        names = tuple(arm.name for arm in active)
        if all(arm.minimum == 0.0 and arm.maximum == 1.0 for arm in active):
            return names, None, None
        return names, np.array([arm.minimum for arm in active]), np.array([arm.maximum for arm in active])

    def bounds(self, active: NDArray[np.int64] | None) -> tuple[tuple[str, ...], Floats | None, Floats | None]:
        """Names and bounds of the arms that take part; None, None where there are no bounds."""
        if active is not None and not len(active):
            raise Conflict("No arm is active: resume or add one before asking for a split.")
        return self._bounds

    def index(self, name: str) -> int:
        """The index of an arm; an error that names those there are."""
        try:
            return self.indices[name]
        except (KeyError, TypeError):
            raise UnknownName(f"Arm {name!r} is not known; the arms are {', '.join(self.present[:20])}.") from None

    def with_arm(self, name: str, minimum: float, maximum: float) -> Self:
        """These arms with one arm more, or with a removed one back."""
        (checked,) = validation.arm_names("name", [name])
        arm = Arm(checked, "active", minimum, maximum)
        index = self.indices.get(checked)
        if index is None:
            return self._of((*self._arms, arm))
        if self._arms[index].state != "removed":
            raise Conflict(f"Arm '{name}' is there already ({self._arms[index].state}).")
        return self._with(index, arm)

    def with_change(
        self, name: str, *, state: str | None = None, minimum: float | None = None, maximum: float | None = None
    ) -> Self:
        """These arms with another state or other bounds of an arm that was not removed."""
        index = self.index(name)
        arm = self._arms[index]
        if arm.state == "removed":
            raise Conflict(f"Arm '{name}' was removed; add it again first.")
        given = {"state": state, "minimum": minimum, "maximum": maximum}
        return self._with(index, arm._replace(**{key: value for key, value in given.items() if value is not None}))  # type: ignore[arg-type]

    def _with(self, index: int, arm: Arm) -> Self:
        return self._of((*self._arms[:index], arm, *self._arms[index + 1 :]))

    def to_list(self) -> list[dict[str, Any]]:
        """Plain data for JSON."""
        return [arm._asdict() for arm in self._arms]

    @classmethod
    def from_list(cls, state: list[dict[str, Any]]) -> Self:
        """The arms that `to_list` wrote."""
        validation.arm_names("arms", [arm["name"] for arm in state])
        return cls._of([Arm(*(arm[field] for field in Arm._fields)) for arm in state])


def _checked(arm: Arm) -> Arm:
    minimum = validation.number(f"minimum share of '{arm.name}'", arm.minimum, low=0.0, high=1.0)
    maximum = validation.number(f"maximum share of '{arm.name}'", arm.maximum, low=0.0, high=1.0)
    if minimum > maximum:
        raise Infeasible(f"The minimum share of '{arm.name}' ({minimum:g}) is above its maximum ({maximum:g}).")
    return Arm(arm.name, validation.choice("state", arm.state, STATES), minimum, maximum)


def _feasible(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """The arms, checked; `Infeasible` where no split can satisfy the bounds of those that take part."""
    checked = tuple(map(_checked, arms))
    active = [arm for arm in checked if arm.state == "active"]
    low, high = np.array([arm.minimum for arm in active]), np.array([arm.maximum for arm in active])
    if low.any() or (high < 1.0).any():
        project(np.full(len(active), 1.0 / len(active)), low, high, [arm.name for arm in active])
    return checked
