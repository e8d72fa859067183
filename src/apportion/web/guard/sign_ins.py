"""A limit on failed sign-ins: whoever brings one unknown token after another is not listened to for a while.

A token cannot be guessed (256 random bits). The limit keeps those who try from keeping the database busy, and makes
them visible: in the log and in the metrics. It counts by the address that asks, in each worker; of IPv6 by the
network of 64 bits, which is one customer's. A token that was good a moment ago goes on being let in from the
same address, so that one colleague's old script locks out nobody else behind the same gateway.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable

MOST_FAILURES = 10  # from one address
WITHIN_SECONDS = 60.0  # within so long; and so long it takes until the oldest is forgotten
MOST_ADDRESSES = 10_000  # that are kept in mind

log = logging.getLogger("apportion.web")


class FailedSignIns:
    """The failed sign-ins of a worker, by address.

    >>> failed = FailedSignIns(clock=lambda: 100.0)
    >>> for _ in range(MOST_FAILURES):
    ...     failed.add("192.0.2.1")
    >>> failed.wait("192.0.2.1"), failed.wait("192.0.2.2")
    (60, 0)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._moments: dict[str, deque[float]] = {}
        self._lock = threading.Lock()
        self.on_failure: Callable[[], None] = lambda: None
        """Called for each: the metrics count them."""

    def add(self, address: str | None) -> None:
        """One more, from an address."""
        network = network_of(address)
        with self._lock:
            moments = self._moments.pop(network, None) or deque(maxlen=MOST_FAILURES)
            moments.append(self._clock())
            self._moments[network] = moments  # the last one that failed is the last to be forgotten
            while len(self._moments) > MOST_ADDRESSES:
                del self._moments[next(iter(self._moments))]
            full = len(moments) == MOST_FAILURES
        self.on_failure()
        log.warning("failed sign-in", extra={"fields": {"client": address, "refused_from_now_on": full}})

    def wait(self, address: str | None) -> int:
        """After how many seconds an address may try again; 0 at once."""
        network = network_of(address)
        with self._lock:
            moments = self._moments.get(network)
            if moments is None:
                return 0
            now = self._clock()
            while moments and moments[0] <= now - WITHIN_SECONDS:
                moments.popleft()
            if not moments:
                del self._moments[network]
            return math.ceil(moments[0] + WITHIN_SECONDS - now) if len(moments) == MOST_FAILURES else 0


def network_of(address: str | None) -> str:
    """What is counted as one: an address, and of IPv6 its network of 64 bits.

    >>> network_of("2001:db8::17"), network_of("192.0.2.1"), network_of(None)
    ('2001:db8::/64', '192.0.2.1', '')
    """
    try:
        found = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return address or ""
    if found.version == 6 and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(getattr(found, "ipv4_mapped", None) or found)
