"""Telling webhooks of splits, outcomes and changes of health: signed, tried again, and never led astray.

Messages are signed as the Standard Webhooks specification says: `webhook-id`, `webhook-timestamp` and
`webhook-signature`, an HMAC-SHA256 of the two and the body. An address gets one message after the other, in the order
of events. One that is not taken (any answer but 2xx) is tried again, after 5 seconds and then twice as long each
time, up to an hour.

What an administrator allowed is a name, and names can be pointed elsewhere. So the name is looked up here, every
address behind it must be public (unless the webhook is `internal`), the connection is made to the very address that
was checked, and no redirect is followed.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import http.client
import ipaddress
import json
import logging
import math
import os
import socket
import ssl
import threading
import time
from typing import Any
from urllib.parse import urlsplit

from apportion._version import __version__
from apportion.campaigns.campaign import Campaign
from apportion.campaigns.events import DAMAGE, Event
from apportion.campaigns.plain_data import plain
from apportion.campaigns.storage.store import open_store
from apportion.campaigns.storage.webhooks import SECRET_PREFIX, Due, Webhooks
from apportion.errors import ApportionError

LOOK_SECONDS = 1.0  # so often it is looked whether there is anything to tell
ANSWER_SECONDS = 10.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 3600.0
MESSAGES_AT_ONCE = 50  # of one campaign, before others get their turn
TURN_SECONDS = 10.0  # and so long for one address, however slowly it takes them
LARGEST_ANSWER = 10_000  # bytes that are read of it

_TOPICS = {"split": "split", "cancelled": "split", "outcome": "record", "amended": "record"}

log = logging.getLogger("apportion.web")


class NotTaken(Exception):
    """A message that could not be delivered, and why."""


class Sender:
    """Tells the webhooks of a database, in a thread of its own; in every worker, of which one has each delivery."""

    def __init__(self, db: str | os.PathLike[str] | None) -> None:
        self._db = db
        self._webhooks = Webhooks(db)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, after the message that is under way."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(ANSWER_SECONDS)

    def _run(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            try:
                self.deliver()
            except ApportionError:  # a database that is busy now may answer the next time
                log.warning("webhooks wait for the database")
            except Exception:  # whatever it was, those who write and read go on
                log.exception("webhooks failed")

    def deliver(self) -> int:
        """Tell what is due now; how many messages were taken. An address that fails waits for the next time.

        So does the rest of what is due to one that is slow: it would keep the other addresses waiting.
        """
        taken, ends = 0, dict[int, float]()
        for due in self._webhooks.due():
            if self._stop.is_set():
                break
            end = ends.setdefault(due.webhook.id, time.monotonic() + TURN_SECONDS)
            if time.monotonic() < end and self._webhooks.claim(due, MESSAGES_AT_ONCE * ANSWER_SECONDS):
                count, all_taken = self._tell(due, end)
                taken += count
                if not all_taken:
                    ends[due.webhook.id] = -math.inf
        return taken

    def _tell(self, due: Due, end: float) -> tuple[int, bool]:
        """Tell one webhook of what happened in a campaign, until its turn ends.

        How many messages it took, and whether all that it got.
        """
        number, findings, taken, at_health = due.number, due.findings, 0, False
        try:
            # By its number: another campaign may have got its name since.
            campaign = Campaign(open_store(self._db), due.campaign_id, due.campaign)
            for event in campaign.events(due.number, MESSAGES_AT_ONCE):
                topic = _TOPICS.get(event.kind)
                if topic in due.webhook.topics:
                    if time.monotonic() >= end:
                        break
                    send(due, f"{due.campaign_id}-{event.number}", _event_message(due, event))
                    taken += 1
                number = event.number
            if "health" in due.webhook.topics and number == campaign.version:
                at_health = True
                health = campaign.status().health
                now = {} if health is None else {found.kind: found.title for found in health.findings}
                before = json.loads(findings) if findings else {}
                if set(now) != set(before):
                    message = {"type": "health", "campaign": due.campaign, "event": number,
                               "findings": now, "new": sorted(set(now) - set(before)),
                               "gone": sorted(set(before) - set(now))}  # fmt: skip
                    send(due, f"{due.campaign_id}-{number}-health", message)
                    taken += 1
                findings = json.dumps(now)
        except (NotTaken, ApportionError, *DAMAGE) as error:  # what is stored of one campaign may be damaged
            wait = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(due.tries, 20))
            log.warning("webhook not taken", extra={"fields": {"webhook": due.webhook.name, "why": str(error)}})
            # The last event is told once more with what was to be said of the health after it.
            self._webhooks.failed(due, number - 1 if at_health else number, findings, str(error), wait)
            return taken, not isinstance(error, NotTaken)
        self._webhooks.done(due, number, findings)
        return taken, True


def _event_message(due: Due, event: Event) -> dict[str, Any]:
    told = ("budget", "amounts", "outcomes", "provisional", "date")
    content = {name: value for name, value in event.payload.items() if name in told}
    return {
        "type": _TOPICS[event.kind], "campaign": due.campaign, "event": event.number,
        "kind": event.kind, "at": event.at, "ticket": event.ticket, "actor": event.actor, "request": event.request,
        **content,
    }  # fmt: skip


def signature(secret: str, identity: str, moment: int, body: bytes) -> str:
    """The signature of a message.

    >>> signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
    ...           b'{"test": 2432232314}')
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = hmac.new(key, f"{identity}.{moment}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def send(due: Due, identity: str, message: dict[str, Any]) -> None:
    """Send one message; `NotTaken` says why it was not taken."""
    body = json.dumps(plain(message), allow_nan=False, separators=(",", ":")).encode()
    moment = int(time.time())
    headers = {
        "Content-Type": "application/json", "User-Agent": f"apportion/{__version__}", "webhook-id": identity,
        "webhook-timestamp": str(moment), "webhook-signature": signature(due.secret, identity, moment, body),
    }  # fmt: skip
    parts = urlsplit(due.webhook.url)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    connection = http.client.HTTPConnection(str(parts.hostname), port, timeout=ANSWER_SECONDS)
    too_late = threading.Event()

    def cut_off() -> None:
        too_late.set()
        with contextlib.suppress(OSError, TypeError):  # not TLS's own `shutdown`, which is not for other threads
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

    # For all of it: an answer that comes byte by byte would keep within the time for each byte, for hours.
    deadline = threading.Timer(ANSWER_SECONDS, cut_off)
    with contextlib.closing(connection):
        try:
            # To the address that was checked: looked up again, the name might give another one.
            plain_socket = socket.create_connection(
                (checked_address(str(parts.hostname), port, due.webhook.internal), port), ANSWER_SECONDS
            )
            connection.sock = plain_socket
            if secure:
                connection.sock = ssl.create_default_context().wrap_socket(
                    plain_socket, server_hostname=parts.hostname, do_handshake_on_connect=False
                )
            deadline.start()
            if isinstance(connection.sock, ssl.SSLSocket):
                connection.sock.do_handshake()
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            headers["Host"] = parts.netloc
            connection.request("POST", target, body, headers)
            answer = connection.getresponse()
            answer.read(LARGEST_ANSWER)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if too_late.is_set():
                raise NotTaken(f"no whole answer came within {ANSWER_SECONDS:.0f} s") from None
            raise NotTaken(f"{type(error).__name__}: {error}"[:200]) from None
        finally:
            deadline.cancel()
    if not 200 <= answer.status < 300:
        led = ", a redirect, which is not followed" if 300 <= answer.status < 400 else ""
        raise NotTaken(f"it answered with status {answer.status}{led}")


def checked_address(host: str, port: int, internal: bool) -> str:
    """The address to connect to. Every one behind the name must be public, unless the webhook is internal."""
    found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    if not internal:
        for text in found:
            if not _is_public(ipaddress.ip_address(text.partition("%")[0])):
                raise NotTaken(f"{host} is {text}, which is no public address: only an internal webhook may go there")
    return found[0]


_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # what a network makes of IPv4 addresses for IPv6 (RFC 6052)
_UNICAST = ipaddress.IPv6Network("2000::/3")  # all that is given out of IPv6


def _is_public(number: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is out in the internet; of IPv6, also where it only leads to one of IPv4."""
    if isinstance(number, ipaddress.IPv6Address):
        within = number.ipv4_mapped or number.sixtofour
        if number in _TRANSLATED:
            within = ipaddress.IPv4Address(int(number) & 0xFFFF_FFFF)
        if within is not None:
            return _is_public(within)
        if number not in _UNICAST:
            return False
    return number.is_global and not number.is_multicast
