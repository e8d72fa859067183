"""The page that compares policies in several worlds; it works without scripts."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from apportion.errors import ApportionError
from apportion.studies.comparison.page import ranked
from apportion.studies.comparison.run import Comparison
from apportion.web.guard.users import PageReader, check_source
from apportion.web.laboratory.comparisons import Asked, Comparisons, offered, read_asked
from apportion.web.pages.shared import Form, page, status_of

router = APIRouter(include_in_schema=False)

PATH = "/laboratory/compare"
_FIRST = {
    "policy": ["Matching", "RiverUCB", "QuarterlyRefit"],
    "world": ["bent", "jobs"],
    "horizon": "200",
    "runs": "5",
}


@functools.cache
def comparisons() -> Comparisons:
    """Those of this process."""
    return Comparisons()


class Cell(NamedTuple):
    """A part of what was possible, in words and as the width of a bar in percent; None where it does not play."""

    words: str
    error: str
    width: float
    even: float


def table(found: Comparison, asked: Sequence[str]) -> dict[str, Any]:
    """Policies × worlds as the template draws them, and what a decision costs; those that play nowhere come last."""
    worlds = list(dict.fromkeys(score.world for score in found.scores))
    cells = {(score.policy, score.world): score for score in found.scores}
    even = {score.world: score.even for score in found.scores}
    rows: list[tuple[str, list[Cell | None]]] = []
    for policy in dict.fromkeys([*ranked(found.scores), *asked]):
        own = [cells.get((policy, world)) for world in worlds]
        rows.append((policy, [
            None if score is None
            else Cell(f"{score.part:.1%}", f"± {score.error:.1%}", 100 * max(score.part, 0.0), 100 * score.even)
            for score in own
        ]))  # fmt: skip
    costs = {cost.policy: f"{cost.microseconds:.3g}" for cost in found.costs}
    lengths = {score.world: score.horizon for score in found.scores}
    titles = [f"{world} ({lengths[world]:,} periods)" for world in worlds]
    return {"worlds": titles, "rows": rows, "even": [f"{even[world]:.1%}" for world in worlds], "costs": costs}


@router.get(PATH)
def show(request: Request, user: PageReader) -> Response:
    """The form, and with an answered question its answer."""
    given = request.query_params
    typed: dict[str, Any] = {
        "policy": given.getlist("policy"), "world": given.getlist("world"), "horizon": given.get("horizon", ""),
        "runs": given.get("runs", ""), "seed": given.get("seed", "1"),
    }  # fmt: skip
    if not given:
        return _page(request, user, {**_FIRST, "seed": "1"})
    try:
        asked = _asked(typed)
        found = comparisons().look(asked)
    except ApportionError as error:
        return _page(request, user, typed, problem=str(error), status=status_of(error))
    shown = None if found.result is None else table(found.result, asked.policies)
    return _page(request, user, typed, found=found, table=shown, problem=found.problem)


# Nothing is changed by a comparison, so those who may only read may make one; the check keeps other sites out.
@router.post(PATH, dependencies=[Depends(check_source)])
def start(request: Request, form: Form, user: PageReader) -> Response:
    """Begin, and go to where the answer will be."""
    typed: dict[str, Any] = {
        **{name: [str(value) for value in form.getlist(name)] for name in ("policy", "world")},
        **{name: str(form.get(name, "")) for name in ("horizon", "runs", "seed")},
    }
    try:
        asked = _asked(typed)
        comparisons().start(asked)
    except ApportionError as error:
        return _page(request, user, typed, problem=str(error), status=status_of(error))
    query = [*(("policy", name) for name in asked.policies), *(("world", key) for key in asked.worlds)]
    query += [("horizon", str(asked.horizon)), ("runs", str(asked.runs)), ("seed", str(asked.seed))]
    return RedirectResponse(f"{PATH}?{urlencode(query)}", status_code=303)


def _asked(typed: dict[str, Any]) -> Asked:
    sizes = (_number(typed[name]) for name in ("horizon", "runs", "seed"))
    return read_asked(typed["policy"], typed["world"], *sizes)


def _number(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else text


def _page(request: Request, user: Any, typed: dict[str, Any], **values: Any) -> Response:
    usual = {"found": None, "table": None, "problem": "", **values}
    return page(request, "comparison.html", user, section="laboratory", offer=offered(), typed=typed, **usual)
