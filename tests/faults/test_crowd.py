"""Clients that are killed, many at once, and a full disk: nothing acknowledged is lost, nothing is done twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = os.environ.get("APPORTION_SOAK") == "1"
SCRIPT = Path(__file__).with_name("crowd.py")


def run(task, url, *numbers):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), task, url, *map(str, numbers)], capture_output=True, text=True, check=False,
        timeout=1200,  # in soak the longest takes minutes; one that stands still shall fail and not hold up the rest
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_kill_9_at_random_moments_loses_nothing_that_was_acknowledged(db):
    count = 200 if SOAK else 10
    seen = run("kills", db, count)
    assert seen["acknowledged"] > count
    assert (seen["lost"], seen["doubled"], seen["broken"]) == (0, 0, 0)


def test_eight_processes_share_a_campaign(db):
    # In soak 57,600 writes on each database, six in a round: more than 105,000 acknowledged ones in all.
    processes, rounds = 8, 1_200 if SOAK else 12
    seen = run("crowd", db, processes, rounds)
    assert seen["errors"] == []
    assert set(seen["codes"]) == {0}
    # Each ticket was given to one client.
    assert seen["given"] == seen["tickets"] == list(range(1, processes * rounds + 1))
    # Each outcome was taken in once, and the sums hold all of them.
    assert seen["recorded"] == seen["kept"]
    assert seen["doubled"] == 0
    assert seen["reward"] == seen["sums"]
    assert seen["open"] == 0
    assert seen["check"]
    # The reader went on all the time.
    assert seen["looks"] > 1


def test_many_may_make_the_database_at_once(db):
    processes = 8 if SOAK else 4
    seen = run("births", db, processes)
    assert seen["errors"] == []
    assert seen["names"] == [f"born {number}" for number in range(processes)]


def test_a_full_disk_gets_a_sentence_and_leaves_nothing_half_written(sqlite):
    seen = run("full", sqlite, 5000)
    assert "disk" in seen["sentence"]
    assert seen["sentence"].endswith("Nothing was changed.")
    assert seen["after"] == seen["done"] + 1
    assert seen["check"]


READER = """
import os, sys, json, tempfile
import apportion as ap
with tempfile.TemporaryDirectory() as folder:  # everything is imported while we still may
    warm = ap.Campaign.create("warm", ("a", "b"), budget=1, db=folder + "/warm.db")
    warm.split()
    try:
        warm.split(-1)
    except ap.ApportionError:
        pass
    warm._store.close()
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
said = {}
for verb in ("split", "beliefs"):
    try:
        campaign = ap.Campaign.open("ads", db=sys.argv[1])
        said[verb] = str(getattr(campaign, verb)() and "")
    except ap.ApportionError as error:
        said[verb] = str(error)
print(json.dumps(said))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="rights of files are others there")
def test_a_read_only_file_gets_a_sentence(sqlite):
    import apportion as ap
    from apportion.campaigns.storage.store import open_store

    campaign = ap.Campaign.create("ads", ("a", "b"), budget=1, db=sqlite)
    campaign.split()
    state = campaign.state()
    open_store(sqlite).close()
    folder = os.path.dirname(sqlite)
    os.chmod(sqlite, 0o444)
    os.chmod(folder, 0o555)
    try:
        done = subprocess.run([sys.executable, "-c", READER, sqlite], capture_output=True, text=True, check=False)
    finally:
        os.chmod(folder, 0o755)
        os.chmod(sqlite, 0o644)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["split"].endswith("Nothing was changed.")
    assert "read-only" in said["split"] or "cannot be opened" in said["split"]
    assert ap.Campaign.open("ads", db=sqlite).state() == state


def test_ctrl_c_at_random_moments_loses_nothing_and_blocks_nobody(db):
    seen = run("interrupts", db, 1000 if SOAK else 50)
    assert seen["acknowledged"] > 0
    assert seen["beside"] > 0
    assert (seen["lost"], seen["doubled"]) == (0, 0)
    assert seen["tickets"] == list(range(1, len(seen["tickets"]) + 1))
    assert seen["check"]
    assert seen["alike"]
    # A file goes on as if nothing had been. A connection to a server may be lost with it, and that is said.
    assert [error for error in seen["errors"] if "://" not in db or "StoreUnavailable" not in error] == []
