"""Requests to the service over httpx: pooled connections, time-outs, and retries that do no harm.

Every write carries an `Idempotency-Key`, so that a request whose answer was lost can be sent again: the service does
it once.

What is sent, and what is made of the answer, is written once, as coroutines. `AsyncTransport` waits in them as a
coroutine does. `BlockingTransport` blocks where they would wait, so that they never do: `finish` runs them to their
end without an event loop.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import ssl
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Coroutine, Mapping
from numbers import Integral, Real
from socket import gaierror
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from apportion import errors
from apportion._common import optional, validation
from apportion._version import __version__

if TYPE_CHECKING:
    import httpx

Query = Mapping[str, Any]
Body = bytes | None
Headers = Mapping[bytes, bytes]
Result = TypeVar("Result")

TOKEN_VARIABLE = "APPORTION_TOKEN"

LONGEST_TIMEOUT_SECONDS = 2_000_000.0  # a socket counts milliseconds, in 32 bits
FIRST_PAUSE_SECONDS = 0.1  # before the first retry; each further one waits twice as long, and a little at random
# What a gateway answers, or a service whose database is busy: asking again may help.
TRANSIENT_STATUSES = (502, 503, 504)

MOST_IDLE_CONNECTIONS = 32
LONGEST_KEY = 200

_ERRORS: Mapping[str, type[errors.ApportionError]] = {
    name: getattr(errors, name)
    for name in (
        "ChangedSince",
        "Conflict",
        "IncompatibleState",
        "Infeasible",
        "InvalidValue",
        "Unconfirmed",
        "UnknownName",
    )
}


def finish(steps: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine that never waits, as over a `BlockingTransport`.

    >>> async def double(number):
    ...     return 2 * number
    >>> finish(double(21))
    42
    """
    try:
        steps.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    steps.close()
    raise RuntimeError("a coroutine waited where only a blocking transport is")


class Transport:
    """One service: what is the same however one waits for it."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        optional.require("client")
        _check_url(url)
        self.url = url.rstrip("/")
        self._timeout = validation.number("timeout", timeout, above=0.0, high=LONGEST_TIMEOUT_SECONDS)
        self._retries = validation.whole("retries", retries, low=0)
        self._headers = {"Accept": "application/json", "User-Agent": f"apportion/{__version__}"}
        self._own_token = bool(token)
        token = token or os.environ.get(TOKEN_VARIABLE) or None
        if token is not None:
            if not isinstance(token, str) or not token.isascii() or not token.isprintable() or " " in token:
                raise errors.InvalidValue("`token` must be what `apportion token create` printed.")
            self._headers["Authorization"] = f"Bearer {token}"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._own_token:
            raise errors.InvalidValue(
                "A client with a `token` of its own cannot be pickled or copied: the copy would hold the secret. "
                f"Set {TOKEN_VARIABLE} instead."
            )
        return type(self), (self.url, None, self._timeout, self._retries)

    async def read(self, *path: str, **query: Any) -> Any:
        """GET, as plain data; parts of the path are quoted, parameters that are None left out."""
        return _plain(await self._send("GET", path, query))

    async def read_text(self, *path: str, **query: Any) -> str:
        """GET, as text."""
        return (await self._send("GET", path, query)).content.decode("utf-8")

    async def write(
        self,
        method: str,
        *path: str,
        content: Any = None,
        key: str | None = None,
        query: Query | None = None,
        media_type: str = "application/json",
    ) -> Any:
        """A request that changes something, under a key: it is done once, however often it has to be sent."""
        headers = {b"Idempotency-Key": _header_key(uuid.uuid4().hex if key is None else key)}
        body = b""
        if content is not None:
            body = content if isinstance(content, bytes) else _json(content)
            headers[b"Content-Type"] = media_type.encode()
        response = await self._send(method, path, query or {}, body, headers)
        return _plain(response) if response.content else None

    # One request

    async def _send(
        self, method: str, path: tuple[str, ...], query: Query, body: Body = None, headers: Headers | None = None
    ) -> httpx.Response:
        import httpx

        given = {name: value for name, value in query.items() if value is not None}
        suffix = "?" + urlencode(given, doseq=True) if given else ""
        target = f"{self.url}/api/v1/{'/'.join(map(_quoted, path))}{suffix}"
        pause = FIRST_PAUSE_SECONDS
        for left in range(self._retries, -1, -1):
            try:
                response = await self._exchange(method, target, body, headers or {})
            except httpx.RequestError as error:
                if left == 0 or not _is_transient(error):
                    sentence = f"The service at {self.url} cannot be reached: {_reason(error)}."
                    raise errors.ServiceUnavailable(sentence) from error
            else:
                if response.is_success:
                    return response
                if response.status_code not in TRANSIENT_STATUSES or left == 0:
                    raise error_of(response)
            await self._pause(pause * (1.0 + 0.5 * random.random()))
            pause *= 2.0
        raise AssertionError("the last try returns or raises")

    async def _exchange(self, method: str, target: str, body: Body, headers: Headers) -> httpx.Response:
        """Send once; an idle connection that the service has closed meanwhile is replaced, which counts as no try."""
        import httpx

        while True:
            connected = False

            def trace(event: str) -> None:
                nonlocal connected
                connected = connected or event.startswith("connection.connect")

            try:
                return await self._request(method, target, body, headers, trace)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                if connected:
                    raise

    async def _request(
        self, method: str, target: str, body: Body, headers: Headers, trace: Callable[[str], None]
    ) -> httpx.Response:
        """Send once; `trace` hears of each step."""
        raise NotImplementedError

    async def _pause(self, seconds: float) -> None:
        """Wait."""
        raise NotImplementedError

    def _options(self) -> dict[str, Any]:
        """How the pool of connections is made. Without the environment: no proxy stands between, and no .netrc
        replaces the token."""
        import httpx

        return {
            "headers": self._headers,
            "timeout": self._timeout,
            "limits": httpx.Limits(max_connections=None, max_keepalive_connections=MOST_IDLE_CONNECTIONS),
            "verify": ssl.create_default_context() if self.url.startswith("https:") else False,
            "trust_env": False,
        }


class BlockingTransport(Transport):
    """One service, for all threads of a process; its coroutines never wait, and are run by `finish`."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        super().__init__(url, token, timeout, retries)
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._process = os.getpid()

    def close(self) -> None:
        """Close the connections; the next request makes new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None

    async def _request(
        self, method: str, target: str, body: Body, headers: Headers, trace: Callable[[str], None]
    ) -> httpx.Response:
        hooks = {"trace": lambda event, _: trace(event)}
        return self._open().request(method, target, content=body, headers=headers, extensions=hooks)

    async def _pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def _open(self) -> httpx.Client:
        """The pool of connections of this process."""
        import httpx

        with self._lock:
            if self._client is not None and self._process != os.getpid():
                self._client.close()  # a child must not talk over its parent's connections
                self._client = None
            if self._client is None:
                self._process = os.getpid()
                self._client = httpx.Client(**self._options())
                weakref.finalize(self, self._client.close)
            return self._client


class AsyncTransport(Transport):
    """One service, for all tasks of an event loop."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        super().__init__(url, token, timeout, retries)
        self._pool: tuple[asyncio.AbstractEventLoop, httpx.AsyncClient] | None = None

    async def aclose(self) -> None:
        """Close the connections; the next request makes new ones."""
        pool, self._pool = self._pool, None
        if pool is not None and pool[0] is asyncio.get_running_loop():
            await pool[1].aclose()

    async def _request(
        self, method: str, target: str, body: Body, headers: Headers, trace: Callable[[str], None]
    ) -> httpx.Response:
        async def hook(event: str, _: Any) -> None:
            trace(event)

        return await self._open().request(method, target, content=body, headers=headers, extensions={"trace": hook})

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def _open(self) -> httpx.AsyncClient:
        """The pool of connections of this event loop: those of another cannot be used in it."""
        import httpx

        loop = asyncio.get_running_loop()
        if self._pool is None or self._pool[0] is not loop:
            self._pool = loop, httpx.AsyncClient(**self._options())
        return self._pool[1]


def error_of(response: httpx.Response) -> errors.ApportionError:
    """The error that the service met, by its problem details: the same class and the same sentence."""
    status = response.status_code
    try:
        details = json.loads(response.content)
    except ValueError:
        details = None
    if not isinstance(details, dict) or not isinstance(details.get("detail"), str):
        if status in TRANSIENT_STATUSES:
            return errors.ServiceUnavailable(f"The service cannot be used now: it answered with status {status}.")
        return errors.IncompatibleState(f"The address answers with status {status}, and not as apportion does.")
    sentence = details["detail"]
    if status in (401, 403):
        return errors.NotAllowed(sentence)
    known = _ERRORS.get(str(details.get("error")))
    if known is not None:
        return known(sentence)
    if status == 404:
        return errors.UnknownName(sentence)
    return errors.ServiceUnavailable(sentence) if status >= 500 else errors.InvalidValue(sentence)


def _plain(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except ValueError:
        raise errors.IncompatibleState("The address answers, but not as the service of apportion does.") from None


def _check_url(url: Any) -> None:
    import httpx

    try:
        httpx.URL(url)
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.username
        if sound and not (parts.query or parts.fragment):
            return
    except (httpx.InvalidURL, ValueError, TypeError, AttributeError):
        pass
    raise validation.refuse("url", "the address of a service, such as http://127.0.0.1:8000", url)


def _header_key(key: Any) -> bytes:
    if not isinstance(key, str) or not 1 <= len(key) <= LONGEST_KEY or not key.isprintable():
        raise validation.refuse("key", f"printable text of at most {LONGEST_KEY} characters", key)
    if key != key.strip():
        raise validation.refuse("key", "text without blanks at either end", key)
    try:
        return key.encode("latin-1")
    except UnicodeError:
        raise validation.refuse("key", "text that a header can carry (Latin-1)", key) from None


def _quoted(part: str) -> str:
    """A name as part of a path; one of dots alone would otherwise lead up the path."""
    return part.replace(".", "%2E") if part in (".", "..") else quote(part, safe="")


def _json(content: Any) -> bytes:
    """JSON. NaN and infinity go along: the service refuses them with a sentence that names the thing."""
    try:
        return json.dumps(content, default=_simple).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.InvalidValue(f"The request must be made of names, numbers and text: {error}.") from None


def _simple(value: Any) -> Any:
    """Numbers and mappings that JSON does not know by itself, those of NumPy say."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"got {validation.shown(value)}")


def _root(error: BaseException) -> BaseException:
    """The error of the operating system behind one of httpx, which wraps it twice."""
    inner = error.__cause__ or error.__context__
    return error if inner is None else _root(inner)


def _is_transient(error: BaseException) -> bool:
    """Whether the same request may succeed a moment later; not for an unknown host or a certificate refused."""
    import httpx

    root = _root(error)
    lasting = isinstance(root, gaierror) or (
        isinstance(root, ssl.SSLError) and not isinstance(root, (ssl.SSLEOFError, ssl.SSLZeroReturnError))
    )
    return isinstance(error, httpx.TransportError) and not lasting


def _reason(error: BaseException) -> str:
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return "it did not answer in time"
    root = _root(error)
    text = " ".join(str(getattr(root, "strerror", None) or root).split()).rstrip(".")
    return text or type(root).__name__
