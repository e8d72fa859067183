"""`create_app` under servers of others, as the documentation starts it: uvicorn and gunicorn."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from tests.web.running import PATIENCE, until

import apportion as ap
from apportion.campaigns.storage.tokens import Tokens

COMMANDS = {
    "uvicorn": ["-m", "uvicorn", "--factory", "apportion.web.app:create_app", "--port"],
    "gunicorn": ["-m", "gunicorn", "apportion.web.app:create_app()", "--workers", "1",
                 "--worker-class", "uvicorn.workers.UvicornWorker", "--bind"],
}  # fmt: skip


def free_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


@pytest.mark.parametrize("server", COMMANDS)
def test_the_app_runs_under_another_server(server, sqlite):
    ap.Campaign.create("ads", ("a", "b"), budget=10, db=sqlite)
    secret = Tokens(sqlite).create("anna", scope="read")
    port = free_port()
    where = f"127.0.0.1:{port}" if server == "gunicorn" else str(port)
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", *COMMANDS[server], where],
        env={**os.environ, "APPORTION_DB": str(sqlite), "OMP_NUM_THREADS": "1"},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as process:
        try:

            def status(path, **headers):
                try:
                    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
                    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                        return answer.status
                except urllib.error.HTTPError as error:
                    return error.code
                except OSError:
                    assert process.poll() is None, "the server ended"
                    return None

            assert until(lambda: status("/healthz"), "the server") == 200
            assert status("/api/v1/campaigns/ads") == 401
            assert status("/api/v1/campaigns/ads", Authorization=f"Bearer {secret}") == 200
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
