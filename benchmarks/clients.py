"""Clients of a service in a process of their own: `python -m benchmarks.clients URL THREADS ROUNDS CAMPAIGN…`.

Each thread asks for splits and records their outcomes as fast as it is answered, over one connection that stays open
and under keys, as `ap.Client` does, but without making the answers into our types: the service is what is measured.
Prints as JSON what the service acknowledged and how long each round trip took. Waits for a line on its input first.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
import uuid
from typing import Any
from urllib.parse import quote, urlsplit

RETURN_PER_UNIT = 2.0  # of every arm, so that totals do not depend on who came first


def main(url: str, threads: int, rounds: int, names: list[str]) -> None:
    """Run the threads, each with a campaign of the list in turn."""
    reports: list[Any] = []
    start = threading.Event()

    def work(number: int) -> None:
        try:
            reports.append(run_client(url, names[number % len(names)], rounds, start))
        except Exception as error:
            reports.append({"error": f"{type(error).__name__}: {error}"})

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in workers:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    start.set()
    for thread in workers:
        thread.join()
    print(json.dumps(reports), flush=True)


def run_client(url: str, name: str, rounds: int, start: threading.Event) -> dict[str, Any]:
    """One client: its tickets, and when each of its round trips began and how long it took."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    splits = f"/api/v1/campaigns/{quote(name, safe='')}/splits"

    def post(path: str, content: dict[str, Any]) -> Any:
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
        connection.request("POST", path, json.dumps(content), headers)
        response = connection.getresponse()
        body = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{path} answered {response.status}: {body[:200]!r}")
        return json.loads(body)

    connection.connect()
    start.wait()
    tickets, began, seconds = [], [], []
    for _ in range(rounds):
        began.append(time.time())
        clock = time.perf_counter()
        split = post(splits, {})
        outcomes = {arm["arm"]: RETURN_PER_UNIT * arm["amount"] for arm in split["arms"] if arm["amount"] > 0}
        post(f"{splits}/{split['ticket']}/outcomes", {"outcomes": outcomes})
        seconds.append(time.perf_counter() - clock)
        tickets.append(split["ticket"])
    connection.close()
    return {"campaign": name, "tickets": tickets, "began": began, "seconds": seconds}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
