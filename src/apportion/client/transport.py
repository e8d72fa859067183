"""Requests to the service with the standard library: kept connections, timeouts, and tries that do no harm.

Every write carries an `Idempotency-Key`, so that a request whose answer was lost can be sent again: the service does
it once. Connections are kept and lent to one thread at a time.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import ssl
import threading
import time
import uuid
import weakref
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from apportion._common import validation
from apportion._version import __version__
from apportion.errors import (
    ApportionError,
    Conflict,
    IncompatibleState,
    Infeasible,
    InvalidValue,
    NotAllowed,
    ServiceUnavailable,
    UnknownName,
)

VARIABLE = "APPORTION_TOKEN"

# The longest wait for an answer, in seconds: a socket counts milliseconds, in 32 bits.
LONGEST_WAIT = 2_000_000.0

# Seconds before the second try; each further one waits twice as long, and a little at random.
FIRST_PAUSE = 0.1

# What a gateway or a database in trouble answers: asking again may help.
PASSING = (502, 503, 504)

# Idle connections that are kept.
KEPT = 32

_BROKEN = (ConnectionError, http.client.HTTPException, TimeoutError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
_ERRORS: Mapping[str, type[ApportionError]] = {
    error.__name__: error for error in (Conflict, IncompatibleState, Infeasible, InvalidValue, UnknownName)
}


class Answer(NamedTuple):
    """What the service said."""

    status: int
    headers: Mapping[str, str]
    """By name in small letters."""
    content: bytes

    def json(self) -> Any:
        """The content as plain data."""
        try:
            return json.loads(self.content)
        except ValueError:
            raise IncompatibleState("The address answers, but not as the service of apportion does.") from None


class Transport:
    """One service, for all threads of a process."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        parts = _parts(url)
        self.url = url.rstrip("/")
        self._host, self._port, self._secure = parts.hostname or "", parts.port, parts.scheme == "https"
        self._prefix = parts.path.rstrip("/")
        self._timeout = validation.number("timeout", timeout, above=0.0, high=LONGEST_WAIT)
        self._retries = validation.whole("retries", retries, low=0)
        self._headers = {"Accept": "application/json", "User-Agent": f"apportion/{__version__}"}
        self._own_token = bool(token)
        token = token or os.environ.get(VARIABLE) or None
        if token is not None:
            if not isinstance(token, str) or not token.isascii() or not token.isprintable() or " " in token:
                raise InvalidValue("`token` must be what `apportion token create` printed.")
            self._headers["Authorization"] = f"Bearer {token}"
        self._context = ssl.create_default_context() if self._secure else None
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._tidy = weakref.finalize(self, _close, self._idle)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._own_token:
            raise InvalidValue(
                "A client with a `token` of its own cannot be pickled or copied: the copy would hold the secret. "
                f"Set {VARIABLE} instead."
            )
        return Transport, (self.url, None, self._timeout, self._retries)

    def read(self, *path: str, **query: Any) -> Answer:
        """GET; parts of the path are quoted, parameters that are None left out."""
        return self._ask("GET", path, query, None, {})

    def write(
        self,
        method: str,
        *path: str,
        content: Any = None,
        key: str | None = None,
        query: Mapping[str, Any] | None = None,
        media_type: str = "application/json",
    ) -> Answer:
        """A request that changes something, under a key: it is done once, however often it has to be sent."""
        given = uuid.uuid4().hex if key is None else key
        if not isinstance(given, str) or not 1 <= len(given) <= 200 or not given.isprintable():
            raise validation.refuse("key", "printable text of at most 200 characters", key)
        try:
            named = given.encode("latin-1").decode("latin-1")
        except UnicodeError:
            raise validation.refuse("key", "text that a header can carry (Latin-1)", key) from None
        if named != named.strip():
            raise validation.refuse("key", "text without blanks at either end", key)
        headers = {"Idempotency-Key": named}
        body = b""
        if content is not None:
            body = content if isinstance(content, bytes) else _written(content)
            headers["Content-Type"] = media_type
        return self._ask(method, path, query or {}, body, headers)

    def close(self) -> None:
        """Close the connections; the next request makes new ones."""
        with self._lock:
            _close(self._idle)

    # One request

    def _ask(
        self,
        method: str,
        path: tuple[str, ...],
        query: Mapping[str, Any],
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> Answer:
        target = f"{self._prefix}/api/v1/" + "/".join(quote(str(part), safe="") for part in path)
        chosen = {name: value for name, value in query.items() if value is not None}
        if chosen:
            target += "?" + urlencode(chosen, doseq=True)
        every = {**self._headers, **headers}
        pause = FIRST_PAUSE
        for left in range(self._retries, -1, -1):
            try:
                answer = self._once(method, target, body, every)
            except (OSError, *_BROKEN) as error:
                if left == 0 or not isinstance(error, _BROKEN):
                    raise ServiceUnavailable(
                        f"The service at {self.url} cannot be reached: {_reason(error)}."
                    ) from error
            else:
                if 200 <= answer.status < 300:
                    return answer
                if answer.status not in PASSING or left == 0:
                    raise problem(answer)
            time.sleep(pause * (1.0 + 0.5 * random.random()))
            pause *= 2.0
        raise AssertionError("the last try returns or raises")

    def _once(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        """One exchange; a kept connection that the service has closed meanwhile is replaced without counting."""
        while True:
            connection, kept = self._take()
            try:
                connection.request(method, target, body, dict(headers))
                response = connection.getresponse()
                content = response.read()
            except BaseException as error:
                connection.close()
                if kept and isinstance(
                    error, (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)
                ):
                    continue
                raise
            if response.will_close:
                connection.close()
            else:
                self._give_back(connection)
            given = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, given, content)

    def _take(self) -> tuple[http.client.HTTPConnection, bool]:
        with self._lock:
            if self._process != os.getpid():  # a child must not talk over its parent's connections
                _close(self._idle)
                self._process = os.getpid()
            if self._idle:
                return self._idle.pop(), True
        if self._context is not None:
            return (
                http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._context),
                False,
            )
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout), False

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < KEPT and self._process == os.getpid():
                self._idle.append(connection)
                return
        connection.close()


def problem(answer: Answer) -> ApportionError:
    """The error that the service met, as its problem details tell it; the same class and the same sentence."""
    told: Any = None
    with contextlib.suppress(ValueError):
        told = json.loads(answer.content)
    if not isinstance(told, dict) or not isinstance(told.get("detail"), str):
        if answer.status in PASSING:
            return ServiceUnavailable(f"The service cannot be used now: it answered with status {answer.status}.")
        return IncompatibleState(f"The address answers with status {answer.status}, and not as apportion does.")
    sentence = told["detail"]
    if answer.status in (401, 403):
        return NotAllowed(sentence)
    known = _ERRORS.get(str(told.get("error")))
    if known is not None:
        return known(sentence)
    if answer.status == 404:
        return UnknownName(sentence)
    return ServiceUnavailable(sentence) if answer.status >= 500 else InvalidValue(sentence)


def _parts(url: str) -> Any:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.username
        if sound and not (parts.query or parts.fragment):
            return parts
    except (ValueError, TypeError, AttributeError):
        pass
    raise validation.refuse("url", "the address of a service, such as http://127.0.0.1:8000", url)


def _written(content: Any) -> bytes:
    """JSON. NaN and infinity go along: the service refuses them with a sentence that names the thing."""
    try:
        return json.dumps(content, default=_simple).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValue(f"The request must be made of names, numbers and text: {error}.") from None


def _simple(value: Any) -> Any:
    """Numbers and mappings that JSON does not know by itself, those of NumPy say."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"got {validation.shown(value)}")


def _reason(error: BaseException) -> str:
    text = " ".join(str(getattr(error, "strerror", None) or error).split()).rstrip(".")
    return "it did not answer in time" if isinstance(error, TimeoutError) else text or type(error).__name__


def _close(connections: list[http.client.HTTPConnection]) -> None:
    for connection in connections:
        with contextlib.suppress(OSError):
            connection.close()
    connections.clear()
