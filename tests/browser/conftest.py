"""A real service and a real Chromium. A user is watched from the first request to the last."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "web"))

from running import service

from browser.install import MISSING, find_browser
from browser.seeding import seed
from browser.watching import Visit

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--force-color-profile=srgb",
    "--font-render-hinting=none",
]  # fmt: skip


@pytest.fixture(scope="session")
def folder():
    """A folder for databases, kept as long as this process."""
    with tempfile.TemporaryDirectory(prefix="ap-browser-", ignore_cleanup_errors=True) as made:
        yield Path(made)


@pytest.fixture(scope="session")
def db(folder):
    """The database of the shared service."""
    return folder / "campaigns.db"


@pytest.fixture(scope="session")
def served(db):
    """A service for many tests: on loopback, without tokens."""
    with service(db) as running:
        yield running


@pytest.fixture(scope="module")
def gallery(folder):
    """A service with campaigns to look at, of a fixed seed and fixed dates."""
    path = Path(tempfile.mkdtemp(dir=folder)) / "campaigns.db"
    seed(path)
    with service(path) as running:
        yield running


@pytest.fixture
def fresh(folder):
    """A service that nobody has used yet."""
    path = Path(tempfile.mkdtemp(dir=folder)) / "campaigns.db"
    with service(path) as running:
        running.db = path
        yield running


# For a module, not for the whole session: a running Playwright has an event loop in the thread of the tests, and
# other tests of this process need one too.
@pytest.fixture(scope="module")
def browser():
    """Chromium."""
    from playwright.sync_api import sync_playwright

    path = find_browser()
    if not path:
        pytest.fail(MISSING, pytrace=False)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser):
    """Makes users: `visit(url, phone=True)`. At the end each of them is judged."""
    visits = []

    def begin(url, **options):
        visits.append(Visit(browser, url, **options))
        return visits[-1]

    yield begin
    for one in visits:
        one.close()


@pytest.fixture
def ready(visit, served):
    """One user of the shared service."""
    return visit(served.url)


@pytest.fixture(scope="session")
def pictures(folder):
    """Where pictures go: a temporary folder, or docs/screenshots with APPORTION_SCREENSHOTS=1."""
    if not os.environ.get("APPORTION_SCREENSHOTS"):
        made = folder / "screenshots"
    else:
        made = Path(__file__).parent.parent.parent / "docs" / "screenshots"
    made.mkdir(parents=True, exist_ok=True)
    yield made
    if not os.environ.get("APPORTION_SCREENSHOTS"):
        shutil.rmtree(made)
