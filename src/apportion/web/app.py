"""The service put together: API, pages, laboratory, metrics, and the guard around them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from weakref import WeakKeyDictionary

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.staticfiles import StaticFiles

from apportion._version import __version__
from apportion.campaigns.storage.store import open_store
from apportion.web import api, pages
from apportion.web.api.describe import describe
from apportion.web.guard import problems
from apportion.web.guard.credentials import LOCAL_ACCESS, Access, Credentials
from apportion.web.guard.middleware import GuardMiddleware
from apportion.web.guard.openid import OpenID, Provider
from apportion.web.observability import metrics
from apportion.web.pages.over_time import ChartCache
from apportion.web.shared import remembered, resolved
from apportion.web.streams import Changes
from apportion.web.webhooks import Sender

STATIC = Path(__file__).parent / "static"


@contextlib.asynccontextmanager
async def _running(app: FastAPI) -> AsyncIterator[None]:
    """While the service runs, webhooks are told of what happens."""
    sender = Sender(app.state.db)
    sender.start()
    try:
        yield
    finally:
        await run_in_threadpool(sender.stop)


def create_app(
    db: str | os.PathLike[str] | None = None, *, access: Access | None = None, provider: Provider | None = None
) -> FastAPI:
    """The service over one database; by default guarded as on loopback. With a provider, everyone signs in.

    >>> import tempfile, pathlib
    >>> app = create_app(pathlib.Path(tempfile.mkdtemp()) / "campaigns.db")
    >>> "/api/v1/campaigns" in app.openapi()["paths"]
    True
    """
    app = FastAPI(
        title="apportion", version=__version__, openapi_url=None, docs_url=None, redoc_url=None, lifespan=_running
    )
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    app.state.db = resolved(db)
    app.state.store = open_store(app.state.db)
    guard = LOCAL_ACCESS if access is None else access
    app.state.credentials = Credentials(
        app.state.db, guard if provider is None else guard._replace(tokens_needed=True)
    )
    app.state.openid = None if provider is None else OpenID(provider)
    app.state.summaries = remembered()
    app.state.known = remembered()  # which campaign had a name last
    app.state.rows = remembered()
    app.state.changes = Changes()
    app.state.heavy_reads = WeakKeyDictionary()
    app.state.write_places = WeakKeyDictionary()
    app.state.charts = ChartCache()
    problems.install(app)
    for router in (*api.ROUTERS, *pages.ROUTERS):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    # The last one added is the outermost: everything is counted, also what the guard refuses.
    app.add_middleware(GuardMiddleware, credentials=app.state.credentials)
    metrics.install(app)
    return app
