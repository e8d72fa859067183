"""Experiments over HTTP: a definition goes in, what was found comes out, at once or as events while it runs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from apportion.errors import InvalidValue
from apportion.web.api.describe import Responses, example_response, refusal
from apportion.web.api.requests import RequestModel, field
from apportion.web.guard.problems import problem
from apportion.web.guard.users import SlowWriter
from apportion.web.laboratory.experiments import Busy, laboratory
from apportion.web.laboratory.limits import read_experiment, seconds_of
from apportion.web.laboratory.run import Run
from apportion.web.shared import json_response
from apportion.web.streams import EventResponse

router = APIRouter(prefix="/api/v1/laboratory", tags=["service"])

# Without events nobody sees that something happens: longer experiments must be followed. Of one core.
LONGEST_SILENT_SECONDS = 10.0


class World(RequestModel):
    """A world: its means, or a family with the number of arms and the gap."""

    means: list[float] | None = field("The true means, one per arm.", example=[1.0, 0.5, 0.5], default=None)
    family: str | None = field("Or: one good arm, linear, clustered, nearly tied.", example=None, default=None)
    arms: int | None = field("With a family: how many arms.", example=None, default=None)
    gap: float | None = field("With a family: the gap.", example=None, default=None)
    b: float = field("How the noise grows with the share.", example=0.75, minimum=0, maximum=1)
    c: float = field("How returns grow with the share: below 1 they diminish.", example=1.0, default=1.0)
    sigma: float | list[float] = field("The scale of the noise: a number, or one per arm.", example=1.0, default=1.0)
    noise: str | dict[str, Any] = field(
        "gaussian, uniform, rademacher, bernoulli, batch, laplace or student; or an object with name and parameters.",
        example="gaussian", default="gaussian",
    )  # fmt: skip


class Contestant(RequestModel):
    """A policy; parameters that are not given are those of the true world."""

    name: str = field("The name of a policy of the package.", example="Recommended")
    parameters: dict[str, Any] = field("Its parameters.", example={}, default={})


class Experiment(RequestModel):
    """What to simulate. The same definition gives the same numbers to the last bit."""

    instance: World
    policies: list[Contestant] = field("At most eight.", example=[{"name": "Recommended"}, {"name": "Thompson"}])
    horizon: int = field("How many periods.", example=200, default=1_000, minimum=1)
    replications: int = field("How many runs of each policy.", example=20, default=100, minimum=1)
    seed: int = field("Where chance begins.", example=1, default=1, minimum=0)
    common: bool = field("The same noise for every policy.", example=False, default=False)


EXAMPLE = {
    "instance": {"means": [1.0, 0.5, 0.5], "b": 0.75},
    "policies": [{"name": "Recommended"}, {"name": "Thompson"}],
    "horizon": 200,
    "replications": 20,
    "seed": 1,
}
FOUND = {
    "experiment": "8d2f0c1ab3e94d77",
    "periods": [1, 200],
    "policies": [{"label": "Recommended", "mean": [0.33, 6.1], "error": [0.0, 0.6], "low": [0.33, 2.0],
                  "high": [0.33, 12.0], "shares": [{"arms": [0], "share": [0.33, 0.97]}]}],
    "table": [{"policy": "Recommended", "mean": 6.1, "se": 0.6, "q5": 2.0, "q50": 5.2, "q95": 12.0, "q99": 14.0}],
    "finding": "After 200 periods Recommended has lost the least: 6.1 on average; next is Thompson with 21.4.",
}  # fmt: skip
_FOUND_WORDS = "What was found; or, with `Accept: text/event-stream`, events: started, progress, result."
_RESPONSES: Responses = {
    **example_response(FOUND, _FOUND_WORDS),
    429: refusal(
        "As many experiments run as may.", "about:blank", 429,
        "The laboratory runs 2 experiments at a time; got one more. Wait until one has ended, or cancel one, and run "
        "again.",
    ),
}  # fmt: skip


async def begin(definition: Any, longest: float | None = None) -> Run | Response:
    """Start an experiment; a problem where there is no room for it now."""
    plan = await run_in_threadpool(read_experiment, definition)
    seconds = seconds_of(plan)[1]
    if longest is not None and seconds > longest:
        raise InvalidValue(
            f"`replications` must be few enough for about {longest:g} s of one core; got {plan.replications:,}, "
            f"about {seconds:,.0f} s. Send `Accept: text/event-stream` to follow a longer experiment."
        )
    try:
        return laboratory().start(plan)
    except Busy as error:
        return problem(429, str(error), headers={"Retry-After": "5"})


@router.post("/runs", responses=_RESPONSES, summary="Run an experiment")
async def run_experiment(
    request: Request,
    user: SlowWriter,
    body: Annotated[Experiment, Body(openapi_examples={"small": {"value": EXAMPLE}})],
) -> Response:
    """Simulate policies on a world. Closing the connection stops it. No campaign is touched."""
    definition = body.model_dump(exclude_none=True)
    follow = "text/event-stream" in request.headers.get("accept", "")
    run = await begin(definition, None if follow else LONGEST_SILENT_SECONDS)
    if isinstance(run, Response):
        return run
    if follow:
        return EventResponse(run.events(), run.close)
    async for name, data in run.events():
        if name == "result":
            return json_response(data)
        if name == "failed":
            return problem("internal-error", data["detail"])
        if await request.is_disconnected():
            run.cancel()
    return problem(409, "The experiment was cancelled.")


@router.post("/runs/{name}/cancel", status_code=204, summary="Cancel an experiment")
async def cancel_experiment(
    user: SlowWriter, name: Annotated[str, Path(description="The name in its first event.")]
) -> Response:
    """Stop an experiment, whichever worker has it. Closing its connection does the same."""
    laboratory().cancel(name)
    return Response(status_code=204)
