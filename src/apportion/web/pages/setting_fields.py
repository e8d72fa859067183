"""Settings as fields of forms, on the pages of a campaign and of a new one, made from their declaration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from apportion._common.formatting import readable
from apportion._common.parsing import number_or_per_arm
from apportion.allocation.noise_levels import in_order
from apportion.campaigns.settings import CHANGEABLE, SETTINGS, STATISTICS, Setting
from apportion.campaigns.status import Status
from apportion.errors import ApportionError, InvalidValue
from apportion.policies.contract import return_exponent_for
from apportion.policies.registry import POLICIES, choose_policy
from apportion.web.pages.shared import Typed, number, optional, plain_number, plain_percent, whole


class Field(NamedTuple):
    """A setting as a field of a form."""

    name: str
    label: str
    hint: str
    value: str
    placeholder: str = ""
    number: bool = True
    options: tuple[str, ...] = ()
    longest: int | None = None
    lines: bool = False
    """Whether it is a list, one per line."""

    @property
    def statistics(self) -> bool:
        """Whether it stands behind a click."""
        return self.name in STATISTICS


def new_fields(typed: Typed, policies: Iterable[str]) -> dict[str, Field]:
    """The settings that a campaign can begin with, as they were typed."""
    fields = {}
    for name, setting in SETTINGS.items():
        default = "" if setting.default is None else shown(setting, setting.default)
        first = default if setting.nullable else ""  # where nothing typed means none, the default is typed already
        fields[name] = _field(setting, typed.get(name, first), default, tuple(policies))
    return fields


def current_fields(status: Status, typed: Typed | None = None) -> list[Field]:
    """The settings that can be changed, as they are now or as they were typed."""
    own = status.settings
    sigma = in_order(own.sigma, [arm.name for arm in status.arms])
    policies = policy_names(own.b, sigma, own.policy, own.c)
    fields = []
    for name, setting in CHANGEABLE.items():
        value, placeholder = shown(setting, getattr(own, name)), ""
        learned = name == "c" and own.policy == "Auto" and own.parameters.get("c") is None
        if name in own.assumed or learned:  # to type it is to know it, even if the number is the same
            kind, held = "learned" if own.policy == "Auto" else "assumed", getattr(own, name)
            value, placeholder = "", "not known yet" if held is None else f"{kind}: {held:.3g}"
        field = _field(setting, (typed or {}).get(name, value), placeholder, policies)
        fields.append(field._replace(hint=f"{field.hint} A change counts all outcomes again.") if setting.recounts
                      else field)  # fmt: skip
    return fields


def _field(setting: Setting, value: str, placeholder: str, policies: tuple[str, ...]) -> Field:
    options = policies if setting.kind == "policy" else setting.words if setting.kind == "flag" else setting.options
    if setting.kind == "choice" and setting.nullable:
        options = ("", *options)
    hint = setting.hint or setting.help
    if setting.nullable:
        hint += f" Empty: {setting.without}."
    return Field(
        setting.name, setting.title, hint, value, placeholder, setting.kind in ("number", "whole"), options,
        setting.longest, setting.kind == "texts",
    )  # fmt: skip


def shown(setting: Setting, value: Any) -> str:
    """A value as its field shows it."""
    if setting.kind == "flag":
        return setting.words[value]
    if setting.kind == "texts":
        return "\n".join(value)
    if setting.percent:
        return "" if value is None else plain_percent(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={plain_number(item)}" for name, item in value.items())
    return plain_number(value) if setting.kind in ("number", "per_arm", "whole") else value or ""


def read(setting: Setting, typed: str) -> Any:
    """The value of what was typed into a field; None where nothing was. What it may be, the library says."""
    if setting.kind == "flag":
        return typed == setting.words[True]
    if setting.kind == "texts":
        return tuple(line.strip() for line in typed.splitlines() if line.strip())
    if setting.kind == "per_arm":
        return number_or_per_arm(typed, setting.noun) if typed else None
    if setting.kind not in ("number", "whole"):
        return typed or None
    if setting.percent:
        return None if setting.nullable and not typed else _percentage(typed, setting.noun, *setting.percent)
    if not setting.nullable:
        return number(typed, setting.noun)
    return whole(typed, setting.noun) if setting.kind == "whole" else optional(typed, setting.noun)


def in_sentence(setting: Setting, value: Any) -> str:
    """A setting and its value in a sentence: 'level 99.9%', 'half-life 12'."""
    if setting.kind == "flag":
        return f"{setting.noun} {setting.words[value]}"
    if setting.kind == "texts":
        return f"{setting.noun}: {'; '.join(value)}" if value else f"no {setting.name}"
    name = setting.name.replace("_", "-").replace("sigma", "σ")
    if setting.percent and value is not None:
        return f"{name} {plain_percent(value)}%"
    if isinstance(value, Mapping):
        return f"{name} {shown(setting, value)}"
    return f"{name} {readable(value) if isinstance(value, float) else 'none' if value is None else value}"


def _percentage(typed: str, noun: str, low: float, high: float) -> float:
    """A share from its percentage, on every page: '95' and '95 %' are 0.95.

    >>> _percentage("99,5", "the level of intervals", 50, 99.99)
    0.995
    >>> _percentage("0.95", "the level of intervals", 50, 99.99)
    Traceback (most recent call last):
    ...
    apportion.errors.InvalidValue: The level of intervals must be a percentage from 50 to 99.99; got '0.95'. Did you \
mean 95?
    """
    value = number(typed.rstrip("% "), noun)
    if not low <= value <= high:
        meant = f" Did you mean {100 * value:.10g}?" if low <= 100 * value <= high else ""
        raise InvalidValue(
            f"{noun[:1].upper()}{noun[1:]} must be a percentage from {low:g} to {high:g}; got {typed[:60]!r}.{meant}"
        )
    return float(f"{value / 100:.12g}")  # 0.999, not what is left of 99.9 / 100


def policy_names(b: float, sigma: Any, own: str, c: float = 1.0) -> tuple[str, ...]:
    """The policies that can be chosen by name alone, and the one there is."""
    found = []
    for name in POLICIES:
        try:
            return_exponent_for(choose_policy(name, b, sigma, c=c)[0], c)
        except ApportionError:
            continue
        found.append(name)
    return tuple(dict.fromkeys((own, *found)))
