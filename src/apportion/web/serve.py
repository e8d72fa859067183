"""Running the service: where it listens, who may come in, how many workers, and what is logged.

It listens on loopback unless told otherwise, and on any other address only where a token exists. The socket is bound
here, once, and handed to the workers: what is printed is where it really is, and whoever asks early waits in line.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import gc
import ipaddress
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from apportion._common import optional, validation
from apportion.campaigns.storage.address import database_url, display_url
from apportion.campaigns.storage.database import close_engine
from apportion.campaigns.storage.tokens import Tokens
from apportion.errors import InvalidValue
from apportion.web.guard.openid import Provider, provider_of

if TYPE_CHECKING:
    from fastapi import FastAPI
    from uvicorn import Config

LOG_LEVELS = ("debug", "info", "warning", "error")

# A request that is not done so long after the signal to stop is cut off.
SHUTDOWN_SECONDS = 10

# So long after that the process ends, whatever a thread of it still reads: what was acknowledged is on disk.
CUT_OFF_SECONDS = 5

# A worker that does not answer its supervisor for so long is replaced. The first simulation of a process compiles.
UNRESPONSIVE_SECONDS = 60

KEEP_ALIVE_SECONDS = 30
MOST_WORKERS = 64
MOST_FILES = 65_536


class ServiceInfo(NamedTuple):
    """Where the service listens, and how it is guarded."""

    url: str
    database: str
    loopback: bool
    tokens_needed: bool
    workers: int
    provider: str | None = None
    """The host of the provider that people sign in with."""


def serve(
    db: str | os.PathLike[str] | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    log_level: str = "info",
    oidc_issuer: str | None = None,
    oidc_client_id: str | None = None,
    ready: Callable[[ServiceInfo], None] | None = None,
) -> None:
    """Run the service until SIGINT or SIGTERM; `ready` is called as soon as it can be asked.

    On a signal, requests under way are finished, event streams are ended, and nothing new is taken. With a provider
    (`guard.openid`), people sign in there, and nobody comes in without signing in.
    """
    optional.require("web")
    provider = provider_of(oidc_issuer, oidc_client_id)
    if provider is not None:
        optional.require("oidc")
    count = validation.whole("workers", workers, low=1, high=MOST_WORKERS)
    level = validation.choice("log_level", log_level, LOG_LEVELS)
    local = is_loopback(host)
    tokens = Tokens(db)
    if not local and not tokens.usable():
        raise InvalidValue(
            f"`host` must be a loopback address while there is no token; got {validation.shown(host)}, which others "
            "can reach: first make a token with `apportion token create NAME`."
        )
    from uvicorn import Config, Server

    from apportion.web.guard.protocol import ImpatientProtocol
    from apportion.web.observability.requests import log_settings

    _allow_many_connections()
    with listen(host, port) as listener, tempfile.TemporaryDirectory(prefix="apportion-") as folder:
        config = Config(
            functools.partial(application, db, local, folder, provider),
            factory=True,
            workers=count,
            log_config=log_settings(level),
            log_level=level,
            access_log=False,  # our own log knows the user, and leaves out the query
            server_header=False,
            http=ImpatientProtocol,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            timeout_worker_healthcheck=UNRESPONSIVE_SECONDS,
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            # The server hears them first and passes them on when all is done; before that there is nothing to end.
            signal.signal(number, _leave)
        if ready is not None:
            needed = not local or provider is not None or tokens.any()
            name = None if provider is None else provider.name
            shown = display_url(database_url(db))
            ready(ServiceInfo(url_of(host, listener), shown, local, needed, count, name))
        if count > 1:
            close_engine(database_url(db))  # the workers have connections of their own
            _run_workers(config, listener, folder)
        else:
            Server(config).run([listener])


def _run_workers(config: Config, listener: socket.socket, folder: str) -> None:
    """Run several workers; `folder` holds what they share: metrics, and the experiments of the laboratory."""
    from prometheus_client.multiprocess import mark_process_dead
    from uvicorn.supervisors import Multiprocess

    class Supervisor(Multiprocess):
        running: frozenset[int | None] = frozenset()

        def keep_subprocess_alive(self) -> None:
            # While this process holds the worker's end of the pipe too, a worker that dies between a question and its
            # answer would be waited for as long as one that is only busy.
            for process in self.processes:
                process.child_conn.close()
            super().keep_subprocess_alive()
            before, self.running = self.running, frozenset(process.pid for process in self.processes)
            for gone in before - self.running:
                mark_process_dead(gone, folder)  # type: ignore[no-untyped-call]

    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # for the workers, which inherit it
    Supervisor(config, [listener]).run()


def _allow_many_connections() -> None:
    """As many open files as the system lets this user have: each connection is one."""
    if os.name == "posix":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _leave(number: int, frame: Any) -> None:
    del number, frame
    raise SystemExit(0)


def application(
    db: str | os.PathLike[str] | None, local: bool, folder: str, provider: Provider | None = None
) -> FastAPI:
    """The app of one worker."""
    from apportion.web.app import create_app
    from apportion.web.guard.credentials import LOCAL_ACCESS, Access
    from apportion.web.laboratory.experiments import laboratory

    access = LOCAL_ACCESS if local else Access(tokens_needed=True, hosts=None)
    app = create_app(db, access=access, provider=provider)
    laboratory().share(folder)
    supervisor = multiprocessing.parent_process()
    if supervisor is not None:
        threading.Thread(target=_end_with, args=(supervisor,), name="supervisor", daemon=True).start()
    _limit_pauses()
    _end_in_time()
    return app


def _end_in_time() -> None:
    """Once told to stop, end: a read that takes minutes is in a thread that nothing can interrupt."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        before = signal.getsignal(number)
        if not callable(before):
            continue

        def handle(received: int, frame: Any, before: Any = before) -> None:
            timer = threading.Timer(SHUTDOWN_SECONDS + CUT_OFF_SECONDS, os._exit, (0,))
            timer.daemon = True
            timer.start()
            before(received, frame)

        signal.signal(number, handle)


def _limit_pauses() -> None:
    """Keep the slowest answers near the others: of those above 100 ms nearly all had waited for one of these two.

    What was imported stays: searching all of it for garbage, again and again, stops every thread for up to 100 ms.
    And a thread that waits for the interpreter asks for it after half a millisecond instead of five.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    sys.setswitchinterval(0.0005)


def _end_with(supervisor: Any) -> None:
    """A worker whose supervisor was killed would hold the port for ever."""
    supervisor.join()
    signal.raise_signal(signal.SIGTERM)


# Addresses


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    numbers = (str(found[4][0]).partition("%")[0] for found in _addresses(host, 0))
    return all(ipaddress.ip_address(number).is_loopback for number in numbers)


def _addresses(host: str, port: int) -> list[Any]:
    if not isinstance(host, str) or not host or not host.isprintable():
        raise validation.refuse("host", "a name or an address of this machine", host)
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise validation.refuse("host", "a name or an address of this machine", host) from None


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound and listens; port 0 takes any that is free."""
    number = validation.whole("port", port, low=0, high=65535)
    family, kind, protocol, _, socket_address = _addresses(host, number)[0]
    # With its protocol named: asyncio sends at once only on sockets that say they are TCP. Without that, the second
    # part of each answer waits for the caller's acknowledgement, 40 ms.
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(socket_address)
        listener.listen(2048)
        listener.set_inheritable(True)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise InvalidValue(
                f"`port` must be one that is free; {number} is in use on {host}: choose another with --port."
            ) from None
        if error.errno == errno.EACCES:
            raise InvalidValue(
                f"`port` must be one that this user may use; got {number}: choose one above 1023 with --port."
            ) from None
        if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            raise validation.refuse("host", "a name or an address of this machine", host) from None
        raise InvalidValue(f"{host}:{number} cannot be listened on: {error.strerror}.") from None
    return listener


def url_of(host: str, listener: socket.socket) -> str:
    """Where to point a browser."""
    name, port = host, listener.getsockname()[1]
    if host in ("0.0.0.0", "::"):
        name = socket.gethostname()
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
