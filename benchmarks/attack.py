"""A hostile reader in a process of its own: `python -m benchmarks.attack URL CAMPAIGN THREADS`.

Each thread asks for one of the heaviest reads, again and again, also where it is refused. The secret of its token is
the first line of its input; it ends with its input.
"""

from __future__ import annotations

import contextlib
import http.client
import sys
import threading
import time
from urllib.parse import quote, urlsplit

HEAVIEST = ("/check", "/beliefs/over-time", "/export?format=json", "/export?format=csv", "/plan")
AGAIN_SECONDS = 0.2


def ask(url: str, path: str, secret: str = "", method: str = "GET", body: str | None = None) -> int:
    """The status of one request, on a connection of its own."""
    parts = urlsplit(url)
    wire = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=300)
    try:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        wire.request(method, path, body, {**headers, "Content-Type": "application/json"})
        answer = wire.getresponse()
        answer.read()
        return answer.status
    finally:
        wire.close()


def main(url: str, campaign: str, threads: int) -> None:
    """Ask until the input ends."""
    secret = sys.stdin.readline().strip()

    def attack(number: int) -> None:
        path = f"/api/v1/campaigns/{quote(campaign)}{HEAVIEST[number % len(HEAVIEST)]}"
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):  # at the end the service goes away
                if ask(url, path, secret) == 200:
                    continue
            time.sleep(AGAIN_SECONDS)

    for number in range(threads):
        threading.Thread(target=attack, args=(number,), daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
