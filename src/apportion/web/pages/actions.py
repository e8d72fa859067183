"""The forms of a campaign's page: each does one thing and shows the page again, or what is wrong beside the form."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData

from apportion._common import validation
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.pasted import read_pasted
from apportion.campaigns.settings import SETTINGS
from apportion.errors import ApportionError, InvalidValue, StoreUnavailable, Unconfirmed
from apportion.web.guard.problems import public_sentence
from apportion.web.guard.users import PageRecorder, PageWriter, User
from apportion.web.pages.campaign import campaign_page, ticket_page
from apportion.web.pages.setting_fields import current_fields, in_sentence, read
from apportion.web.pages.shared import (
    Form,
    campaign_path,
    error_page,
    go,
    key_of,
    money,
    number,
    optional,
    share,
    status_of,
    text,
)
from apportion.web.shared import open_campaign

router = APIRouter(include_in_schema=False)


@router.post("/campaigns/{name}/split")
def split(request: Request, name: str, form: Form, user: PageRecorder) -> Response:
    """Ask for the next split."""
    campaign = open_campaign(request, name)
    try:
        budget = optional(text(form, "budget"), "the budget")
        given = campaign.split(budget, date=text(form, "date") or None, key=key_of(form))
    except ApportionError as error:
        return refused(request, user, campaign, form, error, "split")
    message = f"Ticket {given.ticket}: {money(given.budget, campaign.settings.unit)} split. Spend it so, then record."
    message = f"{message} {given.unspent_sentence}".strip()
    return go(request, f"{campaign_path(name)}#ticket-{given.ticket}", message)


@router.post("/campaigns/{name}/tickets/{ticket}/record")
def record(request: Request, name: str, ticket: int, form: Form, user: PageRecorder) -> Response:
    """Record outcomes."""
    campaign = open_campaign(request, name)
    alone = text(form, "back") == "ticket"
    try:
        outcomes, amounts = outcomes_of(form)
        pasted = form.get("pasted")
        if isinstance(pasted, str) and pasted.strip():
            _take_pasted(campaign, ticket, pasted, outcomes, amounts)
        if not outcomes and not amounts:
            raise InvalidValue("Type at least one outcome, or tick “no data” where none will come.")
        provisional = bool(text(form, "provisional"))
        campaign.record(
            ticket, outcomes, amounts or None, provisional=provisional, confirm=bool(text(form, "confirm")),
            key=key_of(form),
        )  # fmt: skip
    except ApportionError as error:
        if alone or ticket not in campaign.open_tickets:
            return refused(request, user, campaign, form, error, "record", ticket)
        return refused(request, user, campaign, form, error, f"ticket-{ticket}")
    if ticket in campaign.open_tickets:
        if provisional:
            done = f"Recorded as provisional. Ticket {ticket} stays open until its totals are final."
        else:
            done = f"Recorded. Ticket {ticket} stays open for the outcomes that are still to come."
        where = campaign_path(name, "tickets", ticket) if alone else f"{campaign_path(name)}#ticket-{ticket}"
        return go(request, where, done)
    return go(request, f"{campaign_path(name)}#next", f"Recorded: ticket {ticket} is complete.")


@router.post("/campaigns/{name}/tickets/{ticket}/amend")
def amend(request: Request, name: str, ticket: int, form: Form, user: PageRecorder) -> Response:
    """Correct what was recorded: only what differs from it."""
    campaign = open_campaign(request, name)
    try:
        outcomes, amounts = outcomes_of(form)
        lines = {line.arm: line for line in campaign.history(ticket, ticket)}
        for arm in (*amounts, *outcomes):
            if arm not in lines:
                raise InvalidValue(f"Arm '{arm}' has no part in this ticket; it has {', '.join(lines)}.")
        amounts = {arm: value for arm, value in amounts.items() if value != lines[arm].amount}
        changed = {
            arm: value for arm, value in outcomes.items() if value != lines[arm].outcome or arm in amounts
        }  # an amount is corrected together with the outcome it belongs to
        emptied = [arm for arm, line in lines.items() if line.outcome is not None and _emptied(form, arm)]
        if emptied:
            raise InvalidValue(f"The outcome of '{emptied[0]}' is empty; tick “no data” if there is none.")
        if not changed and not amounts:
            raise InvalidValue("Nothing was changed: type the right number in place of the wrong one.")
        campaign.amend(ticket, changed, amounts or None, confirm=bool(text(form, "confirm")), key=key_of(form))
    except ApportionError as error:
        return refused(request, user, campaign, form, error, "amend", ticket)
    names = ", ".join(dict.fromkeys((*changed, *amounts)))
    return go(request, f"{campaign_path(name)}#history", f"Ticket {ticket} was corrected for {names}.")


def _take_pasted(
    campaign: Campaign, ticket: int, pasted: str, outcomes: dict[str, float | None], amounts: dict[str, float]
) -> None:
    """Add what was pasted from a spreadsheet to what was typed; an arm that has both is refused."""
    waiting = [line.arm for line in campaign.history(ticket, ticket) if line.state in ("open", "provisional")]
    for row in read_pasted(pasted, waiting):
        if row.ticket not in (None, ticket):
            raise InvalidValue(f"What is pasted must belong to ticket {ticket}; got ticket {row.ticket}.")
        if row.arm in outcomes:
            raise InvalidValue(f"The outcome of '{row.arm}' is typed and pasted at once; leave one of them out.")
        outcomes[row.arm] = row.outcome
        if row.amount is not None:
            amounts[row.arm] = row.amount


def _emptied(form: FormData, arm: str) -> bool:
    return f"outcome:{arm}" in form and not text(form, f"outcome:{arm}") and not text(form, f"nothing:{arm}")


@router.post("/campaigns/{name}/tickets/{ticket}/close")
def close(request: Request, name: str, ticket: int, user: PageRecorder) -> Response:
    """No result will come for what is still open of a ticket."""
    campaign = open_campaign(request, name)
    campaign.close(ticket)
    return go(request, f"{campaign_path(name)}#next", f"Ticket {ticket} is closed: no more data will come for it.")


@router.post("/campaigns/{name}/arms")
def arms(request: Request, name: str, form: Form, user: PageWriter) -> Response:
    """Add, bound, pause, resume or remove an arm."""
    campaign = open_campaign(request, name)
    arm = text(form, "arm")
    try:
        message = _change_arm(campaign, text(form, "action"), arm, form)
    except ApportionError as error:
        return refused(request, user, campaign, form, error, "arms")
    return go(request, f"{campaign_path(name)}#arms", message)


_DONE = {
    "pause": "is paused: it gets nothing until you resume it.",
    "resume": "is back in the splits.",
    "remove": "was removed. Add it again to bring it back with all that was learned.",
}


def _change_arm(campaign: Campaign, action: str, arm: str, form: FormData) -> str:
    low = share(text(form, "minimum"), f"the smallest share of '{arm}'")
    high = share(text(form, "maximum"), f"the largest share of '{arm}'")
    bounds = 0.0 if low is None else low, 1.0 if high is None else high
    if action == "add":
        if not arm:
            raise InvalidValue("The new arm needs a name.")
        campaign.add_arm(arm, *bounds, sigma=optional(text(form, "sigma"), f"σ of '{arm}'"))
        return f"{arm} was added: the next split gives it a try."
    if action == "bound":
        campaign.bound_arm(arm, *bounds)
        return f"The bounds of {arm} were set: they hold from the next split on."
    validation.choice("action", action, ("add", "bound", *_DONE))
    getattr(campaign, f"{action}_arm")(arm)
    return f"{arm} {_DONE[action]}"


@router.post("/campaigns/{name}/settings")
def settings(request: Request, name: str, form: Form, user: PageWriter) -> Response:
    """Change the settings that differ from what they are."""
    campaign = open_campaign(request, name)
    try:
        changes = _changes(campaign, form)
        if not changes:
            return go(request, f"{campaign_path(name)}#settings", "Nothing was changed.")
        now = campaign.change(**changes)
    except ApportionError as error:
        return refused(request, user, campaign, form, error, "settings")
    unset = [option for option in ("b", "sigma") if changes.get(option, ...) is None and option in now.assumed]
    saved = [in_sentence(SETTINGS[option], getattr(now, option)) for option in changes if option not in unset]
    sentences = [f"Saved: {', '.join(saved)}."] if saved else ["Saved."]
    if unset:
        names = " and ".join(SETTINGS[option].noun for option in unset)
        sentences.append(f"From now on {names} {'is' if len(unset) == 1 else 'are'} learned from the outcomes.")
    return go(request, f"{campaign_path(name)}#settings", " ".join(sentences))


def _changes(campaign: Campaign, form: FormData) -> dict[str, Any]:
    """What was typed where it differs from what the field showed."""
    found: dict[str, Any] = {}
    status = campaign.status(health=False)
    policy = text(form, "policy") or status.settings.policy
    for field in current_fields(status):
        typed = text(form, field.name).replace("\r\n", "\n")  # as browsers end lines
        if field.name in form and typed != field.value:
            found[field.name] = read(SETTINGS[field.name], typed)
    emptied = [name for name in ("b", "sigma") if found.get(name, ...) is None and name in status.settings.parameters]
    if emptied and policy == status.settings.policy != "Auto":
        noun = SETTINGS[emptied[0]].noun
        raise InvalidValue(f"{noun} must be a number with the policy {policy}, as only Auto learns it; got nothing.")
    return found


def refused(
    request: Request,
    user: User,
    campaign: Campaign,
    form: FormData,
    error: ApportionError,
    part: str,
    ticket: int | None = None,
) -> Response:
    """The page again, or that of a ticket, with what is wrong beside the part it belongs to."""
    problems = {part: public_sentence(request, error)}
    if isinstance(error, Unconfirmed):
        told = str(error).partition(" If it is right")[0]
        problems = {part: f"{told} If it is right, tick “These numbers are right” and send it again."}
        problems["confirm"] = part
    shown: dict[str, Any] = {"problems": problems, "typed": typed_of(form), "status": status_of(error)}
    try:
        if ticket is None:
            return campaign_page(request, user, campaign, **shown)
        return ticket_page(request, user, campaign, ticket, **shown)
    except StoreUnavailable:  # not even the page can be shown: the form goes along, with its key
        return error_page(request, 503, problems[part], user, again=typed_of(form))


# What was typed


def typed_of(form: FormData) -> dict[str, str]:
    """All fields as they were typed, to be shown again beside what is wrong with them."""
    return {name: value for name, value in form.multi_items() if isinstance(value, str)}


def outcomes_of(form: FormData) -> tuple[dict[str, float | None], dict[str, float]]:
    """Outcomes and amounts really spent, by arm name; None for "no data"; empty fields are left out."""
    outcomes: dict[str, float | None] = {}
    amounts: dict[str, float] = {}
    for field in form:
        kind, _, arm = field.partition(":")
        typed = text(form, field)
        if not arm or not typed:
            continue
        if kind == "outcome":
            if text(form, f"nothing:{arm}"):
                raise InvalidValue(f"'{arm}' has an outcome and is ticked as “no data”; leave one of them out.")
            outcomes[arm] = number(typed, f"the outcome of '{arm}'")
        elif kind == "nothing":
            outcomes[arm] = None
        elif kind == "spent":
            amounts[arm] = number(typed, f"the amount spent on '{arm}'")
    return outcomes, amounts
