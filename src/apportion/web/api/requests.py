"""Models of requests, for the OpenAPI description and the first check of a request.

Types are checked here; ranges, names and everything with a meaning are checked by the library, so that every refusal
is the same sentence as on the command line. The bounds in the description are the library's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, WrapValidator, create_model

from apportion.campaigns.settings import CHANGEABLE, SETTINGS, Setting


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
Whole = Annotated[float, WrapValidator(_as_given), WithJsonSchema({"type": "integer"})]
Amounts = dict[str, Number] | None
# A share, or a text such as "5%" or "250 EUR"; the library tells one from the other, and from what is neither.
Bound = Number | str
# A number or one by arm; the library tells one from the other, and from what is neither.
PerArm = Annotated[
    Any,
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "object", "additionalProperties": {"type": "number"}}]}),
]

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


class RequestModel(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(strict=True, extra="forbid")


SHARE = {"minimum": 0, "maximum": 1}

_TYPES: dict[str, Any] = {
    "number": Number, "per_arm": PerArm, "whole": Whole, "flag": bool, "text": str, "texts": list[str], "choice": str,
    "policy": Any, "shares": dict[str, Bound],
}  # fmt: skip
_BOUNDS = {"low": "minimum", "high": "maximum", "above": "exclusiveMinimum", "below": "exclusiveMaximum"}


def _setting(setting: Setting, change: bool) -> Any:
    """A setting as the type and field of a model; one that is to be changed is not there by default."""
    says = setting.help
    if setting.kind == "policy":
        says = f"{says.rstrip('.')}, or {{name, parameters}}."
    if setting.nullable:
        says += f" Null: {setting.without}."
    if change and setting.recounts:
        says += " Counts all outcomes again."
    schema: dict[str, Any] = {_BOUNDS[name]: bound for name, bound in setting.bounds.items()}
    if setting.kind == "policy":
        schema |= POLICY
    if setting.options:
        schema["enum"] = [*setting.options, *([None] if setting.nullable else [])]
    if setting.longest is not None:
        schema["maxLength"] = setting.longest
    default: Any = None if change else ... if setting.required else setting.default
    typed = _TYPES[setting.kind]
    if setting.kind == "texts" and default is not None:
        default = list(default)
    return typed | None if setting.nullable else typed, field(
        says, example=setting.example, default=default, **schema
    )


def _model(title: str, says: str, settings: Mapping[str, Setting], change: bool, **own: Any) -> Any:
    fields = {option: _setting(setting, change) for option, setting in settings.items()}
    return create_model(title, __base__=RequestModel, __doc__=says, __module__=__name__, **own, **fields)


if TYPE_CHECKING:  # made below, setting by setting
    NewCampaign = RequestModel
    ChangeSettings = RequestModel
else:
    NewCampaign = _model(
        "NewCampaign",
        "A campaign to begin. Without b and sigma they are learned (Auto), or assumed; `notes` says which.",
        SETTINGS,
        change=False,
        name=(str, field("Any printable characters except / and \\.", example="ads", minLength=1, maxLength=200)),
        arms=(list[ArmName], field("The arms, each once.", example=["search", "social"], minItems=1)),
    )
    ChangeSettings = _model("ChangeSettings", "The settings to change; the rest stays.", CHANGEABLE, change=True)


class AskSplit(RequestModel):
    """The budget of this period, where it differs from the campaign's, and its date."""

    budget: MaybeNumber = field("The campaign's by default.", example=6000, default=None, exclusiveMinimum=0)
    date: str | None = field(
        'Of the period, or its name ("week 3"); the present moment by default.', example="2026-11-16", default=None
    )


class BudgetPeriod(RequestModel):
    """A period to come."""

    date: str | None = field("Its date, or its name.", example="2026-12-01", default=None)
    budget: Number = field("What there is to spend.", example=5000, exclusiveMinimum=0)


class AskForecast(RequestModel):
    """A forecast: so many periods with the campaign's budget, or a calendar of budgets."""

    periods: Whole | None = field("How many; 12 by default.", example=12, default=None, minimum=1, maximum=1000)
    budgets: list[BudgetPeriod] | None = field(
        "A calendar, in place of `periods`.", example=[{"date": "2026-12-01", "budget": 5000}], default=None
    )
    worlds: Whole = field("How many futures to simulate.", example=24, default=24, minimum=1, maximum=1000)
    policies: list[str] | None = field(
        "The first is the one whose splits are told; the campaign's own by default.",
        example=["auto", "uniform"],
        default=None,
    )
    seed: Whole = field("The seed of the random numbers.", example=0, default=0, minimum=0)


class Outcomes(RequestModel):
    """What came back, by arm; null where no data will come."""

    outcomes: dict[str, MaybeNumber] = field(
        "What each arm returned.", example={"search": 812.0, "social": 410.5}, minProperties=1
    )
    amounts: Amounts = field("What was really spent, if not as advised.", example={"social": 900.0}, default=None)
    confirm: bool = field("Take it even where it is ten times off all that was seen.", example=False, default=False)


class RecordedOutcomes(Outcomes):
    """What came back, by arm; null where no data will come."""

    provisional: bool = field(
        "These are totals so far: they count, and what is recorded next replaces them, until it is final.",
        example=False, default=False,
    )  # fmt: skip


class Rename(RequestModel):
    """Another name for a campaign."""

    name: str = field("The new name.", example="ads 2026", minLength=1, maxLength=200)


class Clone(RequestModel):
    """A copy of a campaign."""

    name: str = field("The name of the copy.", example="ads copy", minLength=1, maxLength=200)
    history: bool = field("With all that happened; or only arms and settings.", example=True, default=True)


class NewArm(RequestModel):
    """An arm to add, or one that was removed to bring back with all that was learned about it."""

    name: str = field("Its name.", example="radio", minLength=1)
    minimum: Bound = field('The smallest share; or "5%", "250 EUR".', example=0.05, default=0.0, **SHARE)
    maximum: Bound = field('The largest share; or "50%", "2500 EUR".', example=1.0, default=1.0, **SHARE)
    sigma: MaybeNumber = field(
        "Its noise scale, where every arm has its own.", example=40, default=None, exclusiveMinimum=0
    )


class ChangeArm(RequestModel):
    """What to do with an arm. Bounds go with `bound` only."""

    action: Literal["pause", "resume", "bound"] = Field(description="What to do.", examples=["bound"])
    minimum: Bound | None = field('The smallest share; or "5%", "250 EUR".', example="5%", default=None, **SHARE)
    maximum: Bound | None = field('The largest share; or "50%", "2500 EUR".', example=0.5, default=None, **SHARE)
