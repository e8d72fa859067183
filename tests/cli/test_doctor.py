"""`apportion doctor` on real states: sound ones, and broken ones with what to do about each."""

import contextlib
import http.server
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from commands import run

import apportion as ap
from apportion.campaigns.storage.address import database_url
from apportion.campaigns.storage.database import close_engine
from apportion.campaigns.storage.tokens import Tokens
from apportion.cli import doctor

FROZEN = Path(__file__).parent.parent / "campaigns" / "storage" / "frozen"


@pytest.fixture
def cache(tmp_path_factory, monkeypatch):
    """A folder for machine code of our own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("APPORTION_CACHE_DIR", str(folder))
    return folder


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch, cache):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("APPORTION_DB", str(tmp_path / "campaigns.db"))
    monkeypatch.setenv("COLUMNS", "140")
    yield
    close_engine(database_url(None))


@pytest.fixture
def ads(tmp_path):
    """A campaign, and the path of its database, which nothing holds open."""
    path = tmp_path / "campaigns.db"
    ap.Campaign.create("ads", ("a", "b"), budget=10, b=0.75, sigma=1).split()
    close_engine(database_url(path))
    return path


@pytest.fixture
def port():
    """A port that is free."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return str(taken.getsockname()[1])


def machine(*arguments, code):
    """The findings by name; nothing on the error stream, and the exit code as it should be."""
    done = run("doctor", *arguments, "--json")
    assert (done.code, done.err) == (code, "")
    said = json.loads(done.out)
    assert said["ok"] == (code == 0)
    found = {row["what"]: row for row in said["findings"]}
    assert len(found) == len(said["findings"])
    for row in said["findings"]:
        assert row["state"] in ("ok", "note", "attention")
        assert row["advice"] or row["state"] == "ok", row
    return found


def problems(found):
    return [what for what, row in found.items() if row["state"] == "attention"]


# When all is well


def test_a_sound_installation(ads, port):
    found = machine("--port", port, code=0)
    assert found["apportion"]["value"].startswith(ap.__version__)
    assert found["Python"]["value"].startswith(sys.version.split()[0])
    for name in ("numpy", "sqlalchemy", "fast", "lab", "plot", "web", "postgres", "cluster"):
        assert found[name]["state"] == "ok", found[name]
    assert found["integrity"]["value"] == "quick_check: ok"
    assert found["journal"]["value"].startswith("WAL")
    assert found["campaigns"]["value"] == "1"
    assert found["schema"]["value"].endswith(", the newest")
    assert found["tokens"] == {
        "group": "database", "what": "tokens", "value": "none", "state": "note",
        "advice": "only this machine may use the service; for a team: apportion token create NAME",
    }  # fmt: skip
    assert found[f"port {port}"]["advice"] == f"to start the service: apportion serve --port {port}"
    Tokens(ads).create("anna")
    assert machine("--port", port, code=0)["tokens"]["value"] == "1 in use"


def test_people_get_a_table_and_what_to_do(ads, port):
    done = run("doctor", "--port", port)
    assert (done.code, done.err) == (0, "")
    said = " ".join(done.out.split())
    assert f"apportion │ {ap.__version__} in" in said
    assert "Note, tokens: only this machine may use the service" in said
    assert said.endswith("Nothing needs attention.")


def test_help_has_an_example():
    done = run("doctor", "--help")
    assert (done.code, done.err) == (0, "")
    assert "Example: apportion doctor" in done.out
    assert "--json" in done.out


def test_looking_makes_nothing(tmp_path, port):
    found = machine("--port", port, code=0)
    assert found["file"]["state"] == "note"
    assert found["file"]["value"] == f"{tmp_path / 'campaigns.db'} is not there yet"
    assert found["file"]["advice"] == "the first `apportion new` makes it."
    assert os.listdir(tmp_path) == []


def test_bad_input_is_still_bad_input():
    done = run("doctor", "--db", "mysql://somewhere/db")
    assert (done.code, done.out) == (2, "")
    assert done.err == "`db` must be a sqlite:// or postgresql:// URL; got mysql://.\n"


# Databases


def test_a_database_of_an_older_release(tmp_path, port):
    path = tmp_path / "old.db"
    shutil.copy(FROZEN / "schema-0001.sqlite", path)
    before = path.read_bytes()
    found = machine("--db", str(path), "--port", port, code=1)
    assert problems(found) == ["journal", "schema"]
    assert f"run `apportion upgrade --db {path}` once" in found["schema"]["advice"]
    assert int(found["campaigns"]["value"]) >= 1
    assert path.read_bytes() == before
    # What it advises helps.
    assert run("upgrade", "--db", str(path)).code == 0
    assert problems(machine("--db", str(path), "--port", port, code=0)) == []
    close_engine(database_url(path))


def test_a_database_of_a_newer_release(ads, port):
    with contextlib.closing(sqlite3.connect(ads)) as plain, plain:
        plain.execute("UPDATE alembic_version SET version_num = '9999'")
    found = machine("--port", port, code=1)
    assert problems(found) == ["schema"]
    assert "pip install --upgrade apportion" in found["schema"]["advice"]


def test_a_damaged_database(ads, port):
    with contextlib.closing(sqlite3.connect(ads)) as plain:
        plain.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = plain.execute("PRAGMA page_size").fetchone()[0]
    content = bytearray(ads.read_bytes())
    content[page : 6 * page] = bytes(range(256)) * (5 * page // 256)
    ads.write_bytes(content)
    found = machine("--port", port, code=1)
    assert problems(found) == ["integrity"]
    assert "restore the newest good copy" in found["integrity"]["advice"]


def test_a_file_that_is_no_database(tmp_path, port):
    (tmp_path / "notes.txt").write_text("milk, bread\n" * 100)
    found = machine("--db", "notes.txt", "--port", port, code=1)
    assert problems(found) == ["integrity"]
    assert "belongs to something else" in found["integrity"]["advice"]
    assert (tmp_path / "notes.txt").read_text() == "milk, bread\n" * 100


def test_a_database_with_another_journal(ads, port):
    with contextlib.closing(sqlite3.connect(ads)) as plain:
        plain.execute("PRAGMA journal_mode = DELETE")
    found = machine("--port", port, code=1)
    assert problems(found) == ["journal"]
    # What it advises helps, as it is written.
    command = found["journal"]["advice"].partition("once: python ")[2]
    subprocess.run(f"{sys.executable} {command}", shell=True, check=True, capture_output=True)
    assert problems(machine("--port", port, code=0)) == []


def test_a_database_that_another_program_holds(ads, port, monkeypatch):
    monkeypatch.setattr("apportion.cli.doctor_database.LOCK_TIMEOUT_SECONDS", 0.1)
    with contextlib.closing(sqlite3.connect(ads, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        found = machine("--port", port, code=1)
        other.execute("ROLLBACK")
    assert problems(found) == ["writing"]
    assert found["writing"]["value"] == "busy"


def test_a_place_where_no_database_can_be_made(tmp_path, port):
    (tmp_path / "file").write_text("")
    found = machine("--db", str(tmp_path / "file" / "campaigns.db"), "--port", port, code=1)
    assert problems(found) == ["file"]
    assert "choose another file with --db or APPORTION_DB" in found["file"]["advice"]


def test_a_postgresql_server_that_is_not_there(port):
    found = machine("--db", f"postgresql://nobody:secret@127.0.0.1:{port}/none", "--port", port, code=1)
    assert problems(found) == ["server"]
    assert "onnection refused" in found["server"]["value"]
    assert "secret" not in json.dumps(found)
    assert found["server"]["advice"].startswith("is the server running")


def test_a_postgresql_server(postgres, port):
    found = machine("--db", postgres, "--port", port, code=0)
    assert found["schema"]["state"] == "note"  # an empty database, and still empty: nothing was made
    assert machine("--db", postgres, "--port", port, code=0)["schema"]["state"] == "note"
    ap.Campaign.create("ads", ("a", "b"), budget=10, db=postgres)
    found = machine("--db", postgres, "--port", port, code=0)
    assert "PostgreSQL" in found["server"]["value"]
    assert (found["campaigns"]["value"], found["writing"]["value"]) == ("1", "possible")


# Compiled code


def test_the_cache_is_used(ads, cache, port):
    assert "saved for the next program" in machine("--port", port, code=0)["compiling"]["value"]
    found = machine("--port", port, code=0)
    assert "was found in the cache" in found["compiling"]["value"]
    assert found["cache folder"]["value"] == f"{cache}, writable"
    assert found["cache entries"]["value"].startswith("1 files, ")
    assert found["stale entries"]["state"] == "ok"
    (kept,) = cache.iterdir()
    old = time.time() - 40 * 86400
    (cache / "old-0123.bin").write_bytes(b"x" * 100)
    os.utime(cache / "old-0123.bin", (old, old))
    found = machine("--port", port, code=0)
    assert found["stale entries"]["value"] == "1 files were not used for 30 days"
    assert f"rm -r {cache}" in found["stale entries"]["advice"]
    assert kept.exists()


def unwritable_folders(tmp_path):
    """Folders that even the superuser cannot write to, and one that only others cannot."""
    (tmp_path / "file").write_text("")
    yield tmp_path / "file" / "kernels"
    if sys.platform == "linux":
        yield Path("/proc/apportion/kernels")
    if os.name == "posix" and os.geteuid() != 0:
        (tmp_path / "locked").mkdir(mode=0o500)
        yield tmp_path / "locked"


def test_a_cache_folder_that_cannot_be_written(ads, tmp_path, port, monkeypatch):
    for folder in unwritable_folders(tmp_path):
        monkeypatch.setenv("APPORTION_CACHE_DIR", str(folder))
        found = machine("--port", port, code=1)
        assert problems(found) == ["cache folder", "compiling"]
        assert str(folder) in found["cache folder"]["value"]
        assert "set APPORTION_CACHE_DIR to one that is." in found["cache folder"]["advice"]
        assert "but not saved" in found["compiling"]["value"]


# What is installed


@pytest.mark.parametrize(
    ("absent", "extra", "state", "sentence"),
    [
        ({"matplotlib"}, "plot", "note", "A picture needs matplotlib: pip install 'apportion[plot]'."),
        ({"numba"}, "fast", "note", "Compiled code needs numba: pip install 'apportion[fast]'."),
        ({"scipy", "xarray"}, "lab", "note", "The laboratory needs scipy and xarray: pip install 'apportion[lab]'."),
        ({"plotly"}, "web", "attention", "The service needs plotly: pip install 'apportion[web]'."),
    ],
)
def test_a_missing_extra(absent, extra, state, sentence, port):
    script = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Absent())
sys.argv = ["apportion", "doctor", "--json", "--port", "{port}"]
from apportion.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1 if state == "attention" else 0, "")
    found = {row["what"]: row for row in json.loads(done.stdout)["findings"]}
    assert (found[extra]["state"], found[extra]["advice"]) == (state, sentence)
    if "numba" in absent:
        assert found["compiling"]["value"].startswith("numba is not installed; plain Python does for campaigns")
        assert (found["compiling"]["state"], found["compiling"]["advice"]) == (state, sentence)


def test_a_package_that_is_too_old_or_not_there(monkeypatch):
    needed = [("numpy", "999.1"), ("rich", "13"), ("no-such-package", "2.0")]
    monkeypatch.setattr(doctor, "needed_packages", lambda: needed)
    found = {row.what: row for row in doctor.versions()}
    assert (found["numpy"].state, found["numpy"].advice) == (
        "attention",
        "pip install --upgrade 'numpy>=999.1'",
    )
    assert found["rich"].state == "ok"
    assert found["no-such-package"].advice == "pip install 'no-such-package>=2.0'"


def test_every_package_that_is_needed_is_looked_at():
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert sorted(f"{name}>={least}" for name, least in doctor.needed_packages()) == sorted(project["dependencies"])


# The service


@contextlib.contextmanager
def answering(status, content):
    """Something that listens and answers so to everything."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield str(server.server_port)
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "content", "state", "value"),
    [
        (200, b"<h1>It works</h1>", "note", "in use by another program"),
        (200, b'{"status": "ok", "version": "0.0.1"}', "attention", "the service of apportion 0.0.1 answers at"),
        (503, b'{"status": "database unavailable"}', "attention", "cannot use its database"),
    ],
)
def test_something_else_listens(status, content, state, value):
    with answering(status, content) as port:
        found = machine("--port", port, code=1 if state == "attention" else 0)[f"port {port}"]
    assert found["state"] == state
    assert value in found["value"]


def test_the_service_is_found(ads):
    process = subprocess.Popen(
        [sys.executable, "-m", "apportion", "serve", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        try:
            url = json.loads(process.stdout.readline())["url"]
            port = url.rpartition(":")[2]
            with urllib.request.urlopen(f"{url}/healthz", timeout=180) as answer:  # it listens before it can answer
                assert answer.status == 200
            found = machine("--port", port, code=0)[f"port {port}"]
        finally:
            process.terminate()
            process.communicate()
    assert found["state"] == "ok"
    assert found["value"] == f"the service of apportion {ap.__version__} answers at http://127.0.0.1:{port}"
