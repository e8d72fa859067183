"""The laboratory: policies against each other on a world of one's choice, and the phase transition as a slider.

An experiment is started by a POST that answers with its events; it ends when they do, or when the browser goes. So
it does not matter which worker process has it, and nothing is left running for nobody.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request
from starlette.responses import Response

from apportion._common import validation
from apportion.policies import POLICIES
from apportion.simulation.families import means_of
from apportion.web.api import laboratory as api
from apportion.web.guard.users import PageReader, check_source
from apportion.web.laboratory.experiments import laboratory
from apportion.web.laboratory.limits import MOST_ARMS, MOST_POLICIES
from apportion.web.pages.assets import style_ids
from apportion.web.pages.shared import page
from apportion.web.shared import json_response
from apportion.web.streams import EventResponse

pages = APIRouter(include_in_schema=False)


@functools.cache
def _transition() -> Any:
    from apportion.web.laboratory.transition import Transition

    return Transition(laboratory())


@functools.cache
def _offer() -> dict[str, Any]:
    """What the page can choose from; the same for everyone."""
    from apportion.web.laboratory.catalogue import (
        FAMILY_ARMS,
        FAMILY_GAP,
        describe_noises,
        describe_policies,
        presets,
    )

    return {
        "presets": [preset._asdict() for preset in presets()],
        "noises": describe_noises(),
        "policies": describe_policies(),
        "limits": {"policies": MOST_POLICIES, "arms": MOST_ARMS},
        "family": {"arms": FAMILY_ARMS, "gap": FAMILY_GAP},
    }


@pages.get("/laboratory")
def show_laboratory(request: Request, user: PageReader) -> Response:
    """The page."""
    from apportion.web.laboratory.transition import ARMS, B_VALUES, GAP, HORIZON, REPLICATIONS, USUAL_ARMS

    slider = {
        "arms": ARMS, "usual": USUAL_ARMS, "gap": GAP, "horizon": HORIZON, "replications": REPLICATIONS,
        "powers": B_VALUES,
    }  # fmt: skip
    return page(
        request, "laboratory.html", user, section="laboratory", offer=_offer(), slider=slider, count=len(POLICIES),
        style_ids=style_ids(),
    )  # fmt: skip


@pages.get("/laboratory/means")
def show_means(user: PageReader, family: str, arms: int, gap: float) -> Response:
    """The means of a family, for the form."""
    validation.whole("arms", arms, low=2, high=MOST_ARMS)
    return json_response({"means": [float(f"{mean:.12g}") for mean in means_of(family, arms, gap)]})


# Nothing is changed by an experiment, so those who may only read may run one; the check keeps other sites out.
@pages.post("/laboratory/runs", dependencies=[Depends(check_source)])
async def run_experiment(user: PageReader, definition: Annotated[Any, Body()]) -> Response:
    """Run an experiment; the answer is its events."""
    run = await api.begin(definition)
    return run if isinstance(run, Response) else EventResponse(run.events(), run.close)


@pages.post("/laboratory/runs/{name}/cancel", dependencies=[Depends(check_source)])
async def cancel_experiment(user: PageReader, name: str) -> Response:
    """Stop an experiment, whichever worker has it. Closing its stream does the same."""
    laboratory().cancel(name)
    return Response(status_code=204)


@pages.get("/laboratory/transition")
async def show_transition(user: PageReader, arms: Annotated[str, Query()] = "10") -> Response:
    """The points of the slider over b, as events; those that are not known yet are computed in between."""
    from apportion.web.laboratory.transition import check_arms

    count = check_arms(int(arms) if arms.isascii() and arms.isdigit() and len(arms) < 10 else arms)
    return EventResponse(_transition().events(count))


router = APIRouter()
"""The pages, and the same for programs."""
router.include_router(pages)
router.include_router(api.router)
