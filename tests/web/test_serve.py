"""`apportion serve` as an operator meets it: real processes, real signals, two workers over a real PostgreSQL."""

import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from prometheus_client.multiprocess import mark_process_dead
from running import PATIENCE, service, until
from tests.cli.commands import run

import apportion as ap
from apportion._common import optional
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.store import open_store
from apportion.campaigns.storage.tokens import Tokens
from apportion.web import serve
from apportion.web.observability.metrics import LATENCY_BUCKETS_SECONDS, Metrics


def streamed(url, path, **headers):
    """An open event stream, its first event read."""
    parts = urlsplit(url)
    wire = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
    wire.request("GET", path, headers=headers)
    answer = wire.getresponse()
    assert answer.status == 200
    assert answer.getheader("content-type").startswith("text/event-stream")
    assert answer.readline()
    return wire, answer


def figure(text, name):
    """The sum of a metric over all labels."""
    found = re.findall(rf"^apportion_{name}(?:\{{.*\}})? ([\d.]+)$", text, re.MULTILINE)
    assert found, name
    return sum(map(float, found))


# Addresses


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_loopback_is_known(host):
    assert serve.is_loopback(host)


def test_others_are_not_loopback():
    assert not serve.is_loopback("0.0.0.0")
    assert not serve.is_loopback("192.0.2.1")
    assert not serve.is_loopback("::")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--host", "0.0.0.0"),
            "`host` must be a loopback address while there is no token; got '0.0.0.0', which others can reach: first "
            "make a token with `apportion token create NAME`.",
        ),
        (("--host", "no.such.host.invalid"), "`host` must be a name or an address of this machine; got "),
        (("--host", ""), "`host` must be a name or an address of this machine; got ''."),
        (("--port", "70000"), "`port` must be a whole number in [0, 65535]; got 70000."),
        (("--workers", "0"), "`workers` must be a whole number in [1, 64]; got 0."),
        (("--log-level", "loud"), "`log_level` must be one of 'debug', 'info', 'warning', 'error'; got 'loud'."),
        (("--db", "mysql://x/y"), "`db` must be a sqlite:// or postgresql:// URL; got mysql://."),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(sqlite, arguments, sentence):
    done = run("serve", "--db", sqlite, *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(sentence)
    assert done.err.count("\n") == 1


def test_an_address_of_another_machine_is_refused(sqlite):
    Tokens(sqlite).create("anna")
    done = run("serve", "--db", sqlite, "--host", "192.0.2.1")
    assert done.err == "`host` must be a name or an address of this machine; got '192.0.2.1'.\n"


def test_a_revoked_token_does_not_open_other_addresses(sqlite):
    Tokens(sqlite).create("anna")
    Tokens(sqlite).revoke("anna")
    done = run("serve", "--db", sqlite, "--host", "0.0.0.0")
    assert done.code == 2
    assert "while there is no token" in done.err


def test_answers_are_sent_at_once():
    """asyncio turns Nagle's delay off only where the socket names its protocol; with it each answer takes 40 ms."""
    with closing(serve.listen("127.0.0.1", 0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_a_port_in_use_gets_one_sentence(sqlite):
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--db", sqlite, "--port", str(port))
    assert (done.code, done.out) == (2, "")
    assert (
        done.err == f"`port` must be one that is free; {port} is in use on 127.0.0.1: choose another with --port.\n"
    )


def test_without_the_extra_it_says_what_to_install(sqlite, monkeypatch):
    monkeypatch.setattr(optional, "find_spec", lambda name: None if name == "uvicorn" else object())
    done = run("serve", "--db", sqlite)
    assert (done.code, done.err) == (2, "The service needs uvicorn: pip install 'apportion[web]'.\n")


def test_help_has_an_example():
    done = run("serve", "--help")
    assert "Example: apportion serve" in done.out
    assert "--json" in done.out


# A running service


def test_it_says_where_it_is_answers_and_stops(sqlite):
    process = subprocess.Popen(
        [sys.executable, "-m", "apportion", "serve", "--db", sqlite, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    first, second, third = (process.stdout.readline() for _ in range(3))
    found = re.match(r"apportion is at (http://127\.0\.0\.1:\d+) with the campaigns of (.*)\.$", first)
    assert found, first
    assert found[2] == sqlite
    process.send_signal(signal.SIGINT)  # maybe before it has begun: it stops all the same
    assert second.startswith("Everyone on this machine may use it")
    assert third == "Ctrl+C stops it.\n"
    with process.stdout:
        assert process.stdout.read() == ""
    assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_streams_and_requests_cleanly(sqlite, number):
    ap.Campaign.create("ads", ("a", "b"), budget=100, db=sqlite)
    with service(sqlite) as running:
        wire, answer = streamed(running.url, "/api/v1/campaigns/ads/stream")
        with closing(wire):
            text = running.ask("/metrics")[2].decode()
            assert figure(text, "open_streams") == 1
            assert running.stop(number) == 0
            answer.read()  # to the last chunk: a connection that was cut would raise IncompleteRead
        assert not [line for line in running.lines if line["level"] in ("error", "critical")]
        done = [line for line in running.lines if line.get("path", "").endswith("/stream")]
        assert [line["status"] for line in done] == [200]
        with pytest.raises(ConnectionRefusedError):
            running.ask("/healthz")


def test_the_log_is_lines_of_json_without_secrets(sqlite):
    ap.Campaign.create("ads", ("a", "b"), budget=100, db=sqlite)
    secret = Tokens(sqlite).create("anna")
    with service(sqlite) as running:
        assert running.place["tokens_needed"]
        assert running.ask("/api/v1/campaigns/ads")[0] == 401
        assert running.ask("/api/v1/campaigns/ads?token=hidden", Authorization=f"Bearer {secret}")[0] == 200
        assert running.ask("/api/v1/campaigns/ads", Authorization="Bearer apt_wrong")[0] == 401
        assert running.ask("/api/v1/campaigns/ads", Cookie="apportion_session=crumbs")[0] == 401
        assert running.ask("/metrics")[0] == 401
        assert running.ask("/metrics", Authorization=f"Bearer {secret}")[0] == 200
        assert running.ask("/healthz")[0] == 200
        running.stop()
        requests = [line for line in running.lines if line["event"] == "request"]
        for line in requests:
            assert set(line) == {"at", "level", "event", "method", "path", "status", "ms", "visitor", "client",
                                 "request", "worker"}  # fmt: skip
        assert [(line["path"], line["status"], line["visitor"]) for line in requests] == [
            ("/api/v1/campaigns/ads", 401, None),
            ("/api/v1/campaigns/ads", 200, "anna"),
            ("/api/v1/campaigns/ads", 401, None),
            ("/api/v1/campaigns/ads", 401, None),
            ("/metrics", 401, None),
            ("/metrics", 200, "anna"),
            ("/healthz", 200, None),
        ]
        for hidden in (secret, secret[4:], "apt_", "hidden", "crumbs", "Bearer"):
            assert hidden not in running.text


def test_a_database_that_goes_away_is_told_by_healthz(postgres, postgres_server):
    ap.Campaign.create("ads", ("a", "b"), budget=100, db=postgres)
    name = database_url(postgres).database
    with service(postgres) as running:
        status, _, content = running.ask("/healthz")
        assert (status, json.loads(content)["status"]) == (200, "ok")
        open_store(postgres).close()
        postgres_server.psql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false;")
        ended = "pg_terminate_backend(pid, 60000)"  # with a time it waits for the end of each connection
        postgres_server.psql(f"SELECT {ended} FROM pg_stat_activity WHERE datname = '{name}';")
        until(lambda: running.ask("/healthz")[0] == 503, "it to be noticed")
        assert json.loads(running.ask("/healthz")[2]) == {"status": "database unavailable"}
        postgres_server.psql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true;")
        until(lambda: running.ask("/healthz")[0] == 200, "it to be noticed")


def test_other_addresses_open_with_a_token(sqlite):
    secret = Tokens(sqlite).create("anna", scope="read")
    with service(sqlite, "--host", "0.0.0.0") as running:
        assert not running.place["loopback"]
        running.url = f"http://127.0.0.1:{urlsplit(running.url).port}"
        assert running.ask("/api/v1/version")[0] == 401
        assert running.ask("/api/v1/version", Authorization=f"Bearer {secret}", Host="service.example")[0] == 200
        Tokens(sqlite).revoke("anna")
        until(
            lambda: running.ask("/api/v1/version", Authorization=f"Bearer {secret}")[0] == 401, "the end of a token"
        )


# Several workers


def test_two_workers_over_postgresql_lose_nothing_and_survive_a_kill(postgres):
    ap.Campaign.create("ads", ("a", "b"), budget=100, b=0.75, sigma=1, db=postgres)
    clients, rounds = 4, 60 if os.environ.get("APPORTION_SOAK") else 12
    done, failed = [], []
    with service(postgres, "--workers", "2") as running:
        until(lambda: len(running.children()) == 2, "two workers")
        until(lambda: running.text.count("Application startup complete") >= 2, "both to be ready")

        def work():
            with ap.Client(running.url, retries=8) as client:
                campaign = client.campaign("ads")
                for _ in range(rounds):
                    try:
                        split = campaign.split()
                        campaign.record(split.ticket, {name: 1.0 for name, x in split.amounts.items() if x > 0})
                        done.append(split.ticket)
                    except Exception as error:
                        failed.append(error)
                        return

        threads = [threading.Thread(target=work) for _ in range(clients)]
        for thread in threads:
            thread.start()
        until(lambda: len(done) >= clients * rounds // 4 or failed, "a quarter of the work")
        # One that has clients: all of them may be with one worker, and nobody would miss the other.
        victim = next(line["worker"] for line in running.lines if line["event"] == "request")
        os.kill(victim, signal.SIGKILL)
        for thread in threads:
            thread.join()
        assert not failed
        assert sorted(done) == sorted(set(done))
        assert len(done) == clients * rounds
        until(lambda: len(running.children()) == 2 and victim not in running.children(), "a new worker")
        until(lambda: running.text.count("Application startup complete") >= 3, "it to be ready")

        def counted():
            text = running.ask("/metrics")[2].decode()
            return text if figure(text, "workers") == 2 else None

        text = until(counted, "both workers to be counted")
        # Each worker answered some, and the figures are of both: at least what the one that lives was asked.
        splits = re.findall(r'method="POST",route="/api/v1/campaigns/\{name\}/splits",status="201"\} ([\d.]+)', text)
        assert 0 < sum(map(float, splits)) <= clients * rounds + clients
        answered = {line["worker"] for line in running.lines if line["event"] == "request"}
        assert len(answered) >= 2
        assert running.stop() == 0
    campaign = ap.Campaign.open("ads", db=postgres)
    assert campaign.period == len(done)  # not one more: what was sent again was done once
    assert campaign.open_tickets == ()
    assert campaign.check().ok


def test_workers_end_when_their_supervisor_is_killed(sqlite):
    """Or they would hold the port, and answer for a service that nobody can stop."""
    with service(sqlite, "--workers", "2") as running:
        workers = until(lambda: len(found := running.children()) == 2 and found, "two workers")
        until(lambda: running.ask("/healthz")[0] == 200, "an answer")
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait(PATIENCE)
        until(lambda: not any(alive(worker) for worker in workers), "the end of the workers")


def alive(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# A worker of its own: counts what it is asked to, says what `/metrics` answers, and ends when its input does.
WORKER = """
import sys
from apportion.web.observability.metrics import Metrics
metrics = Metrics(lambda: 7)
for line in sys.stdin:
    exec(line)
    print(metrics.text().decode(), flush=True)
    print("done", flush=True)
"""


class Worker:
    """A process that shares its metrics in a folder."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def does(self, code):
        """The answer of `/metrics` after running a line of code."""
        self.process.stdin.write(code + "\n")
        self.process.stdin.flush()
        return "".join(iter(self.process.stdout.readline, "done\n"))

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def lasting(text):
    """The lines that stand until something is done: not memory, processor time and open files."""
    return [line for line in text.splitlines() if not line.startswith("process_")]


def test_metrics_of_several_workers_are_added_up(tmp_path):
    one, other = Worker(tmp_path), Worker(tmp_path)
    one.does('metrics.count("/x", "GET", 200, 0.02); metrics.count("/x", "GET", 200, 30.0)')
    one.does("metrics.open_streams.set(3)")
    text = other.does('metrics.count("/x", "GET", 200, 0.02); metrics.count("/x", "POST", 500, None)')
    assert 'apportion_requests_total{method="GET",route="/x",status="200"} 3.0' in text
    assert 'apportion_requests_total{method="POST",route="/x",status="500"} 1.0' in text
    assert 'apportion_request_seconds_bucket{le="0.01",method="GET",route="/x"} 0.0' in text
    assert 'apportion_request_seconds_bucket{le="0.025",method="GET",route="/x"} 2.0' in text
    assert 'apportion_request_seconds_bucket{le="+Inf",method="GET",route="/x"} 3.0' in text
    assert 'apportion_request_seconds_count{method="GET",route="/x"} 3.0' in text
    assert figure(text, "request_seconds_sum") == pytest.approx(30.04)
    assert figure(text, "open_streams") == 3
    assert figure(text, "workers") == 2
    assert figure(text, "campaigns") == 7
    assert lasting(text) == lasting(one.does("pass"))  # at once, whoever is asked
    # A worker that died keeps its counts, and holds no stream any more.
    one.kill()
    mark_process_dead(one.process.pid, tmp_path)
    text = other.does("pass")
    other.kill()
    assert 'apportion_requests_total{method="GET",route="/x",status="200"} 3.0' in text
    assert figure(text, "open_streams") == 0
    assert figure(text, "workers") == 1


def test_the_metrics_are_in_prometheus_format():
    metrics = Metrics(lambda: 0)
    metrics.count('/a"\\\n', "GET", 200, 0.0)
    text = metrics.text().decode()
    for line in text.splitlines():
        assert re.fullmatch(
            r"# (HELP|TYPE) (apportion|process)_\w+ .+|"
            r'(apportion|process)_\w+(\{(\w+="([^"\\\n]|\\.)*",?)*\})? [\d.e+]+',
            line,
        )
    assert len(re.findall("le=", text)) == len(LATENCY_BUCKETS_SECONDS) + 1
    names = set(re.findall(r"# TYPE (\w+) (\w+)", text))
    assert names == {
        ("apportion_requests_total", "counter"),
        ("apportion_request_seconds", "histogram"),
        ("apportion_open_streams", "gauge"),
        ("apportion_workers", "gauge"),
        ("apportion_campaigns", "gauge"),
        ("apportion_build_info", "gauge"),
        ("apportion_failed_sign_ins_total", "counter"),
        ("process_virtual_memory_bytes", "gauge"),
        ("process_resident_memory_bytes", "gauge"),
        ("process_start_time_seconds", "gauge"),
        ("process_cpu_seconds_total", "counter"),
        ("process_open_fds", "gauge"),
        ("process_max_fds", "gauge"),
    }
    assert f'process_resident_memory_bytes{{worker="{os.getpid()}"}}' in text


SLOW = """
import sys, time
from apportion.campaigns.campaign import Campaign
from apportion.web import serve
serve.SHUTDOWN_SECONDS = serve.CUT_OFF_SECONDS = 1

def check(self, **how):
    print("begun", flush=True)
    ends = time.monotonic() + 600
    while time.monotonic() < ends:
        pass

Campaign.check = check
serve.serve(sys.argv[1], port=0, ready=lambda place: print(place.url, flush=True))
"""


def test_a_read_that_takes_long_does_not_keep_the_service_from_ending(sqlite):
    ap.Campaign.create("ads", ("a", "b"), budget=1, db=sqlite)
    command = [sys.executable, "-c", SLOW, sqlite]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            url = urlsplit(process.stdout.readline().strip())
            wire = http.client.HTTPConnection(url.hostname, url.port, timeout=PATIENCE)
            wire.request("GET", "/api/v1/campaigns/ads/check")
            assert select.select([process.stdout], [], [], PATIENCE)[0], "it has not begun"
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
            wire.close()
        finally:
            process.kill()
