"""The form of a campaign's rules: one more, in words or by ticking arms, or one less."""

from __future__ import annotations

from itertools import pairwise

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData

from apportion._common import validation
from apportion.allocation.rule import quoted_name, read_rule, write_rule
from apportion.campaigns.campaign import Campaign
from apportion.errors import ApportionError, InvalidValue
from apportion.web.guard.users import PageWriter
from apportion.web.pages.actions import typed_of
from apportion.web.pages.campaign import campaign_page
from apportion.web.pages.rule_kinds import KINDS
from apportion.web.pages.shared import Form, campaign_path, go, number, plain_number, status_of, text
from apportion.web.shared import open_campaign

router = APIRouter(include_in_schema=False)


@router.post("/campaigns/{name}/rules")
def change(request: Request, name: str, form: Form, user: PageWriter) -> Response:
    """Add a rule, or drop one."""
    campaign = open_campaign(request, name)
    chosen = [str(arm) for arm in form.getlist("arm")]
    try:
        message = (
            _drop(campaign, text(form, "rule")) if text(form, "action") == "drop" else _add(campaign, form, chosen)
        )
    except ApportionError as error:
        return campaign_page(
            request, user, campaign, problems={"rules": str(error)}, typed=typed_of(form), chosen=chosen,
            status=status_of(error),
        )  # fmt: skip
    return go(request, f"{campaign_path(name)}#rules", message)


def _add(campaign: Campaign, form: FormData, chosen: list[str]) -> str:
    words = text(form, "words")
    if words and chosen:
        raise InvalidValue("Tick arms or write the rule in words, not both.")
    new = [words] if words else _from_form(form, chosen, campaign.unit)
    before = campaign.settings.rules
    now = campaign.change(rules=(*before, *new)).rules
    added = [rule for rule in now if rule not in before]
    if not added:
        return "That rule holds already."
    shown = "; ".join(read_rule(rule, [arm.name for arm in campaign.arms]).brief for rule in added)
    return f"Holds from the next split on: {shown}."


def _from_form(form: FormData, chosen: list[str], unit: str | None) -> list[str]:
    """The rules that were put together by ticking arms."""
    kind = validation.choice("kind", text(form, "kind"), tuple(KINDS))
    if not chosen:
        raise InvalidValue("Tick the arms that the rule is about, or write it in words.")
    if kind == "each":
        if len(chosen) < 2:
            raise InvalidValue("Arms that get the same amount are at least two: tick another one.")
        return [write_rule([one], "=", quoted_name(other)) for one, other in pairwise(chosen)]
    share = text(form, "of") != "amount"
    typed = text(form, "value").rstrip("% ") if share else text(form, "value")
    value = number(typed, "the number of the rule")
    if not 0.0 <= value <= (100.0 if share else value):
        allowed = "a percentage from 0 to 100" if share else "an amount of at least 0"
        raise InvalidValue(f"The number of the rule must be {allowed}; got {typed[:60]!r}.")
    word = unit if unit and unit.isalpha() and unit.lower() != "of" else "units"
    end = plain_number(value) + ("%" if share else f" {word}")
    rule = write_rule(chosen, "<=" if kind == "change" else kind, end)
    return [f"change of {rule}" if kind == "change" else rule]


def _drop(campaign: Campaign, rule: str) -> str:
    before = campaign.settings.rules
    if rule not in before:
        return "That rule does not hold any more."
    campaign.change(rules=[each for each in before if each != rule])
    return f"No longer holds: {rule}."
