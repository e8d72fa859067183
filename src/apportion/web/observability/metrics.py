"""`/metrics` for Prometheus and `/healthz` for load balancers.

With several workers each writes its values to a folder that they share (`PROMETHEUS_MULTIPROC_DIR`, set by `serve`),
and whoever is asked adds them up. The counts of a worker that died stay; its gauges end with it, because the process
that started it says so (`mark_process_dead`).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from apportion._version import __version__
from apportion.errors import ApportionError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from apportion.campaigns.storage.store import Store

PULSE_SECONDS = 2.0  # a database that takes longer to answer is not well
PULSE_AGAIN_SECONDS = 0.5  # so old, an answer is asked for again, beside whoever wants to know

LATENCY_BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# Otherwise a single worker would add a series with the time at which each counter began, and several would not.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """What this worker counts; `text` is the answer of all workers. `count_campaigns` is called for each answer."""

    def __init__(self, count_campaigns: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Facts(count_campaigns))
        shared = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        self._registry.register(_Processes(shared))
        registry = None if shared else self._registry
        if shared:
            MultiProcessCollector(self._registry, shared)  # type: ignore[no-untyped-call]
        self.requests = Counter(
            "apportion_requests",
            "Requests answered, by route, method and status.",
            ("route", "method", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "apportion_request_seconds",
            "How long requests took, streams left out.",
            ("route", "method"),
            buckets=LATENCY_BUCKETS_SECONDS,
            registry=registry,
        )
        self.open_streams = Gauge(
            "apportion_open_streams", "Event streams open now.", registry=registry, multiprocess_mode="livesum"
        )
        self.failed_sign_ins = Counter(
            "apportion_failed_sign_ins", "Sign-ins with a token that is not known.", registry=registry
        )
        workers = Gauge("apportion_workers", "Workers that answer.", registry=registry, multiprocess_mode="livesum")
        workers.set(1)

    def count(self, route: str, method: str, status: int, seconds: float | None) -> None:
        """One more request; `seconds` is None for streams, whose duration means nothing."""
        self.requests.labels(route, method, status).inc()
        if seconds is not None:
            self.seconds.labels(route, method).observe(seconds)

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self._registry)


class _Processes(Collector):
    """What the system says of each worker: memory, processor time, open files; by the number of its process."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        families: dict[str, Metric] = {}
        for number in self._numbers():
            found = ProcessCollector(pid=functools.partial(int, number), registry=CollectorRegistry())
            for family in found.collect():
                kept = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    kept.add_sample(sample.name, {**sample.labels, "worker": str(number)}, sample.value)
        return families.values()

    def _numbers(self) -> list[int]:
        """The processes of the workers that live: each has a file of its gauges in the folder that they share."""
        if self._folder is None:
            return [os.getpid()]
        files = Path(self._folder).glob("gauge_livesum_*.db")
        return sorted(int(file.stem.rpartition("_")[2]) for file in files)


class _Facts(Collector):
    """What no worker counts, but each can look up."""

    def __init__(self, count_campaigns: Callable[[], int]) -> None:
        self._count_campaigns = count_campaigns

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily("apportion_campaigns", "Campaigns in the database.", value=self._count_campaigns())
        build = GaugeMetricFamily("apportion_build_info", "The release that runs.", labels=("version",))
        build.add_metric((__version__,), 1)
        yield build


class Pulse:
    """Whether the database answers: asked by a thread of its own, so that nobody waits in line behind requests.

    An answer holds for `PULSE_SECONDS`, and is asked for anew meanwhile: whoever looks often never waits.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asking: asyncio.Future[bool] | None = None
        self._found, self._at = False, -math.inf  # the last answer, and when it came

    async def beats(self) -> bool:
        """The last answer, or the next one; False where there is none within `PULSE_SECONDS`."""
        loop = asyncio.get_running_loop()
        age = time.monotonic() - self._at
        asking = self._asking
        if asking is None or asking.get_loop() is not loop or (asking.done() and age > PULSE_AGAIN_SECONDS):
            asking = self._asking = loop.create_future()
            threading.Thread(target=self._ask, args=(loop, asking), name="pulse", daemon=True).start()
        if age < PULSE_SECONDS:
            return self._found
        try:
            return await asyncio.wait_for(asyncio.shield(asking), PULSE_SECONDS)
        except TimeoutError:
            return False

    def _ask(self, loop: asyncio.AbstractEventLoop, asking: asyncio.Future[bool]) -> None:
        try:
            with self._store.reading() as session:
                session.last_number(0)
            found = True
        except ApportionError:  # the log has the reason, which is not for everyone to read
            logging.getLogger("apportion").exception("the database does not answer")
            found = False

        self._found, self._at = found, time.monotonic()

        def tell() -> None:
            if not asking.done():
                asking.set_result(found)

        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(tell)


def install(app: FastAPI) -> None:
    """Add metrics, the request log, `/healthz` and `/metrics`; `app.state.store` is the database."""
    from fastapi import Depends, Response
    from fastapi.responses import JSONResponse
    from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

    from apportion.web.guard.users import reader_of_all
    from apportion.web.observability.requests import RequestObserver

    store: Store = app.state.store

    def count_campaigns() -> int:
        with store.reading() as session:
            return len(session.campaigns())

    metrics = app.state.metrics = Metrics(count_campaigns)
    app.state.credentials.failed.on_failure = metrics.failed_sign_ins.inc
    app.add_middleware(RequestObserver, metrics=metrics)

    pulse = Pulse(store)

    @app.get("/healthz", include_in_schema=False)
    async def health() -> Response:
        """Whether the service can do its work: the database answers. For load balancers; needs no token."""
        if not await pulse.beats():
            return JSONResponse({"status": "database unavailable"}, status_code=503)
        return JSONResponse({"status": "ok", "version": __version__})

    @app.get("/metrics", include_in_schema=False, dependencies=[Depends(reader_of_all)])
    def prometheus() -> Response:
        """The metrics for Prometheus."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)
