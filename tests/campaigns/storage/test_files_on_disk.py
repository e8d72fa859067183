"""The file of a SQLite database: its rights, copies of it while it is in use, mounts that are read-only, forks."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.commands import run

import apportion as ap
from apportion.campaigns.storage import database
from apportion.campaigns.storage.backup import backup
from apportion.campaigns.storage.store import open_store
from apportion.campaigns.storage.tokens import Tokens


@pytest.fixture
def campaign(sqlite):
    made = ap.Campaign.create("ads", ("a", "b"), budget=100, b=0.5, sigma=1, db=sqlite)
    made.record(made.split().ticket, {"a": 1.0, "b": 2.0})
    return made


def test_a_new_file_is_for_its_user_alone(campaign, sqlite):
    for file in Path(sqlite).parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_a_copy_of_a_database_in_use_has_every_acknowledged_event(campaign, sqlite, tmp_path):
    stop, done = threading.Event(), []

    def write():
        while not stop.is_set():
            done.append(campaign.split().ticket)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        while len(done) < 5:
            pass
        copies = []
        for number in range(3):
            acknowledged = done[-1]
            copies.append((acknowledged, backup(tmp_path / f"{number}.db", sqlite)))
    finally:
        stop.set()
        thread.join()
    for acknowledged, made in copies:
        assert stat.S_IMODE(os.stat(made.file).st_mode) == 0o600
        twin = ap.Campaign.open("ads", db=made.file)
        assert twin.period >= acknowledged
        assert made.events == twin.version
        assert twin.check().ok
        twin.split()
        open_store(made.file).close()


def test_a_copy_takes_no_ones_place_and_a_damaged_one_is_not_made(campaign, sqlite, tmp_path):
    target = tmp_path / "copy.db"
    target.write_text("something else")
    with pytest.raises(ap.InvalidValue, match="is there already"):
        backup(target, sqlite)
    assert backup(target, sqlite, force=True).events == 3
    with pytest.raises(ap.InvalidValue, match="is there already"):
        backup(sqlite, sqlite, force=True)
    with closing(sqlite3.connect(sqlite)) as plain:
        plain.execute("UPDATE events SET payload = replace(payload, '2.0', '3.0') WHERE number = 3")
        plain.commit()
    with pytest.raises(ap.IncompatibleState, match="Event 3 of campaign 'ads' is not as it was written"):
        backup(tmp_path / "other.db", sqlite)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db"]
    with pytest.raises(ap.InvalidValue, match="There is no database at"):
        backup(tmp_path / "other.db", tmp_path / "none.db")


def test_a_server_is_copied_by_its_own_tool(tmp_path):
    with pytest.raises(ap.InvalidValue, match=r"pg_dump --format=custom --file=.* postgresql://me@host/x$"):
        backup(tmp_path / "copy.db", "postgresql://me:secret@host/x?password=other")


def test_a_mistyped_path_makes_no_database(tmp_path):
    missing = tmp_path / "typo.db"
    with pytest.raises(ap.UnknownName, match="There is no database at"):
        ap.Campaign.open("ads", db=missing)
    assert ap.Campaign.names(missing) == ()
    code = (
        f"import sys; sys.argv[1:] = ['status', 'ads', '--db', {str(missing)!r}]; from apportion.cli.app import main"
    )
    done = subprocess.run([sys.executable, "-c", f"{code}; main()"], capture_output=True, text=True)
    assert (done.returncode, "There is no database at" in done.stderr) == (2, True)
    for act in (lambda: database.upgrade(missing), lambda: Tokens(missing, create=False)):
        with pytest.raises(ap.UnknownName, match="There is no database at"):
            act()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    ["token grant anna ads", "token withdraw anna ads", "token rotate anna", "token revoke anna", "token list",
     "webhook list", "webhook remove ledger", "webhook create ledger https://example.org", "campaigns archive ads",
     "split ads", "arms ads", "settings ads", "import ads missing.csv", "undo-import ads", "report ads", "check ads"],
)  # fmt: skip
def test_no_command_makes_a_database_at_a_mistyped_path(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*command.split(), "--db", str(tmp_path / "typo.db"))
    assert done.code == 2
    assert "There is no database at" in " ".join(done.err.split())
    assert list(tmp_path.iterdir()) == []


READ = """
import os, sys
import apportion as ap
first = ap.Campaign.create("first", ("a", "b"), budget=1, db=sys.argv[2])
first.split(), first.check(), ap.Campaign.names(sys.argv[2])
if os.geteuid() == 0:  # all is imported now: the others may not read where it is
    os.setgid(65534), os.setuid(65534)
campaign = ap.Campaign.open("ads", db=sys.argv[1])
print(campaign.period, campaign.check().ok, ap.Campaign.names(sys.argv[1]))
try:
    campaign.split()
except ap.StoreUnavailable as error:
    print("read-only" in str(error))
"""


@pytest.mark.parametrize("log", [False, True])
def test_where_nothing_can_be_written_it_can_be_read(campaign, sqlite, log, tmp_path):
    folder = Path(tempfile.mkdtemp(prefix="ap-ro-", dir="/tmp"))
    try:
        if log:  # as it is while it is in use
            for file in Path(sqlite).parent.iterdir():
                shutil.copy(file, folder / file.name)
        else:
            backup(folder / "campaigns.db", sqlite)
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", READ, str(folder / "campaigns.db"), str(tmp_path / "first.db")],
            capture_output=True, text=True, cwd="/",
        )  # fmt: skip
        assert done.stdout.splitlines() == ["1 True ('ads',)", "True"], done.stderr
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_was_forked_while_a_thread_wrote_can_write(campaign, sqlite):
    stop, codes, children = threading.Event(), [], 50 if os.environ.get("APPORTION_SOAK") else 3

    def write():
        while not stop.is_set():
            campaign.split()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(children):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    mine = ap.Campaign.open("ads", db=sqlite)
                    mine.record(mine.split().ticket, {"a": 1.0, "b": 1.0})
                    code = 0
                finally:
                    os._exit(code)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    finally:
        stop.set()
        thread.join()
    assert codes == [0] * children
    assert campaign.check().ok


def test_the_garbage_collector_may_come_while_another_database_is_opened(tmp_path):
    """It runs finalizers at any moment, also in a thread that holds the lock of the engines: none may wait for it."""
    import gc

    from apportion.campaigns.storage import database, store

    url = store.open_store(tmp_path / "old.db").url
    with database._lock:
        store._recent.clear()
        gc.collect()
    assert url.render_as_string(hide_password=False) in database._engines
    store.open_store(tmp_path / "new.db")
    assert url.render_as_string(hide_password=False) not in database._engines
