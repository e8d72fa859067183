"""What comes in to the API, for the OpenAPI description and for the first look at a request.

Types are checked here; ranges, names and everything with a meaning are checked by the library, so that every refusal
is the same sentence as on the command line. The bounds in the description are the library's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WrapValidator


def field(description: str, *, example: Any, default: Any = ..., **bounds: Any) -> Any:
    """A field whose bounds are described here and checked by the library; a default of None is not described."""

    def describe(schema: dict[str, Any]) -> None:
        schema.update(bounds, examples=[example])
        if schema.get("default", ...) is None:
            del schema["default"]

    return Field(default, description=description, json_schema_extra=describe)


def _as_given(value: Any, check: Callable[[Any], Any]) -> Any:
    """A number as it was sent: a refused 7 is echoed as 7, as on this machine, and not as 7.0."""
    check(value)
    return value


ArmName = Annotated[str, Field(json_schema_extra={"minLength": 1}, examples=["search"])]
Number = Annotated[float, WrapValidator(_as_given)]
MaybeNumber = Number | None
Shares = dict[str, Number] | None

# A policy comes as a name or with its parameters; the library tells one from the other, and from what is neither.
POLICY: dict[str, Any] = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {"name": {"type": "string"}, "parameters": {"type": "object"}},
            "required": ["name"],
            "additionalProperties": False,
        },
    ]
}


class Asked(BaseModel):
    """What a request brings."""

    model_config = ConfigDict(strict=True, extra="forbid")


SHARE = {"minimum": 0, "maximum": 1}


class NewCampaign(Asked):
    """A campaign to begin. Without b and sigma they are learned (Auto), or assumed; `notes` says which."""

    name: str = field("Any printable characters except / and \\.", example="ads", minLength=1, maxLength=200)
    arms: list[ArmName] = field("The arms, each once.", example=["search", "social"], minItems=1)
    budget: Number = field("The budget of a period.", example=5000, exclusiveMinimum=0)
    unit: str | None = field("What it is counted in.", example="EUR", default=None, maxLength=40)
    policy: Any = field(
        "How to decide: the name of a policy, or {name, parameters}.", example="auto", default="auto", **POLICY
    )
    b: MaybeNumber = field("How much a small share reveals: 0 nothing, 1 all.", example=0.75, default=None, **SHARE)
    sigma: MaybeNumber = field("The scale of the noise of one unit.", example=40, default=None, exclusiveMinimum=0)
    horizon: MaybeNumber = field("How many periods there will be.", example=52, default=None, minimum=1)
    minimum: Shares = field("The smallest shares, by arm.", example={"social": 0.1}, default=None)
    maximum: Shares = field("The largest shares, by arm.", example={"search": 0.8}, default=None)
    pinned: Shares = field("Fixed shares, by arm.", example=None, default=None)
    whole: bool = field("Amounts are whole units.", example=False, default=False)
    step: MaybeNumber = field("Amounts are multiples of this.", example=None, default=None, exclusiveMinimum=0)
    half_life: MaybeNumber = field(
        "Periods until an outcome counts half.", example=None, default=None, exclusiveMinimum=0
    )
    window: MaybeNumber = field("Only the last so many periods count.", example=None, default=None, minimum=1)
    robust: bool = field("Trim wild outcomes.", example=False, default=False)
    level: Number = field("Of the intervals.", example=0.95, default=0.95, exclusiveMinimum=0, exclusiveMaximum=1)
    minimise: bool = field("Outcomes are costs: less is better.", example=False, default=False)
    seed: int | None = field("The seed of everything that is drawn.", example=7, default=None, minimum=0)


class AskSplit(Asked):
    """The budget of this period, where it differs from the campaign's."""

    budget: MaybeNumber = field("The campaign's by default.", example=6000, default=None, exclusiveMinimum=0)


class Outcomes(Asked):
    """What came back, by arm; null where no data will come."""

    outcomes: dict[str, MaybeNumber] = field(
        "What each arm returned.", example={"search": 812.0, "social": 410.5}, minProperties=1
    )
    amounts: Shares = field("What was really spent, if not as advised.", example={"social": 900.0}, default=None)


class NewArm(Asked):
    """An arm to add, or one that was removed to bring back with all that was learned about it."""

    name: str = field("Its name.", example="radio", minLength=1)
    minimum: Number = field("The smallest share.", example=0.05, default=0.0, **SHARE)
    maximum: Number = field("The largest share.", example=1.0, default=1.0, **SHARE)


class ChangeArm(Asked):
    """What to do with an arm. Bounds go with `bound` only."""

    action: Literal["pause", "resume", "bound"] = Field(description="What to do.", examples=["bound"])
    minimum: MaybeNumber = field("The smallest share.", example=0.05, default=None, **SHARE)
    maximum: MaybeNumber = field("The largest share.", example=0.5, default=None, **SHARE)


class ChangeSettings(Asked):
    """The settings to change; the rest stays. Another b, half_life, window or robust counts all outcomes anew."""

    budget: Number = field("The budget of a period.", example=6000, default=None, exclusiveMinimum=0)
    unit: str | None = field("What it is counted in.", example="EUR", default=None, maxLength=40)
    policy: Any = field(
        "How to decide: the name of a policy, or {name, parameters}.",
        example={"name": "Odds", "parameters": {"b": 0.75, "floor": 0.01}}, default=None, **POLICY,
    )  # fmt: skip
    b: MaybeNumber = field("How much a small share reveals; null to learn it.", example=0.75, default=None, **SHARE)
    sigma: MaybeNumber = field(
        "The scale of the noise; null to learn it.", example=35, default=None, exclusiveMinimum=0
    )
    horizon: MaybeNumber = field("How many periods there will be.", example=52, default=None, minimum=1)
    step: MaybeNumber = field("Amounts are multiples of this.", example=10, default=None, exclusiveMinimum=0)
    half_life: MaybeNumber = field(
        "Periods until an outcome counts half.", example=26, default=None, exclusiveMinimum=0
    )
    window: MaybeNumber = field("Only the last so many periods count.", example=None, default=None, minimum=1)
    robust: bool = field("Trim wild outcomes.", example=True, default=None)
    level: Number = field("Of the intervals.", example=0.9, default=None, exclusiveMinimum=0, exclusiveMaximum=1)
