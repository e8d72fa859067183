"""Databases of other releases: an old one is upgraded, a newer one refused with what to do."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import apportion as ap
from apportion.campaigns.storage import address, database, schema
from apportion.campaigns.storage.store import open_store

FROZEN = sorted((Path(__file__).parent / "frozen").glob("*.sqlite"))

NEXT = '''
"""A column more, in a later release."""
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "9000", "{head}", None, None


def upgrade():
    op.add_column("campaigns", sa.Column("colour", sa.String(20)))
'''


def test_the_tables_are_those_that_the_migrations_make(db):
    store = open_store(db)
    with database.engine_for(store.url).connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.metadata) == []


def test_the_revision_is_the_newest():
    assert ScriptDirectory.from_config(database._alembic_config()).get_current_head() == schema.REVISION


def test_a_file_keeps_its_log_and_is_durable(sqlite):
    store = open_store(sqlite)
    with database.engine_for(store.url).connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


@pytest.mark.parametrize("frozen", FROZEN, ids=lambda path: path.stem)
def test_a_frozen_database_of_each_release_upgrades_and_goes_on(frozen, sqlite):
    shutil.copy(frozen, sqlite)
    database.upgrade(sqlite)
    for name in ap.Campaign.names(sqlite):
        campaign = ap.Campaign.open(name, db=sqlite)
        assert campaign.check().ok
        split = campaign.split()
        campaign.record(split.ticket, dict.fromkeys(split.amounts, 1.0), confirm=True)
        campaign.amend(split.ticket, dict.fromkeys(split.amounts, 0.5), confirm=True)
        assert campaign.explain(1).reasons
        assert campaign.check().ok


def test_there_is_a_frozen_database_of_this_schema():
    assert f"schema-{schema.REVISION}" in {path.stem for path in FROZEN}


def later_release(monkeypatch, tmp_path):
    """This program, one schema ahead."""
    folder = tmp_path / "migrations"
    shutil.copytree(database.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "9000_next.py").write_text(NEXT.format(head=schema.REVISION))
    monkeypatch.setattr(database, "MIGRATIONS", folder)
    monkeypatch.setattr(database, "REVISION", "9000")


def test_a_newer_program_refuses_an_old_database_and_upgrades_it(db, tmp_path, monkeypatch):
    ap.Campaign.create("ads", ("a", "b"), budget=1, db=db).split()
    open_store(db).close()
    with monkeypatch.context() as patch:
        later_release(patch, tmp_path)
        with pytest.raises(ap.IncompatibleState, match=r"made by an older release .* run `apportion upgrade --db"):
            ap.Campaign.open("ads", db=db)
        assert database.upgrade(db) == (schema.REVISION, "9000")
        assert database.upgrade(db) == ("9000", "9000")
        campaign = ap.Campaign.open("ads", db=db)
        assert (campaign.period, campaign.split().ticket) == (1, 2)
        open_store(db).close()
    # And the older program on the database that was upgraded:
    with pytest.raises(ap.IncompatibleState, match=r"made by a newer release .* `pip install --upgrade apportion`"):
        ap.Campaign.open("ads", db=db)
    with pytest.raises(ap.IncompatibleState, match="made by a newer release"):
        database.upgrade(db)
    with pytest.raises(ap.IncompatibleState, match="made by a newer release"):
        open_store(db)
    if "://" not in db:
        (copy,) = Path(db).parent.glob("*.before-9000")
        with closing(sqlite3.connect(copy)) as kept:
            assert kept.execute("SELECT version_num FROM alembic_version").fetchone() == (schema.REVISION,)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("mysql://host/name", "must be a sqlite:// or postgresql:// URL; got mysql://"),
        ("sqlite://", "must name a file"),
        ("sqlite:///:memory:", "must name a file"),
        ("://", "must be a URL"),
        ("postgresql://host:port/x", "must be a URL"),
    ],
)
def test_addresses_that_cannot_be(given, sentence):
    with pytest.raises(ap.InvalidValue, match=sentence):
        address.database_url(given)


def test_the_default_is_in_the_users_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("APPORTION_DB", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert address.database_url().database == str(tmp_path / "apportion" / "campaigns.db")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert address.database_url().database == str(tmp_path / ".local" / "share" / "apportion" / "campaigns.db")
    monkeypatch.setenv("APPORTION_DB", "postgresql://me:secret@host/x")
    assert address.display_url(address.database_url()) == "postgresql://me:***@host/x"


def test_a_mac_keeps_the_database_that_it_has(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(address.sys, "platform", "darwin")
    file = tmp_path / "Library" / "Application Support" / "apportion" / "campaigns.db"
    assert address.default_file() != file
    file.parent.mkdir(parents=True)
    file.touch()
    assert address.default_file() == file


def test_the_database_is_imported_only_where_it_is_needed():
    code = "import sys, apportion, apportion.cli, apportion.testing; print('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_what_is_no_database_gets_a_sentence(tmp_path):
    (tmp_path / "note.db").write_text("this is a note, and it is long enough not to be an empty database " * 20)
    with pytest.raises(ap.ApportionError, match=r"is not a database of apportion\. Nothing was changed\."):
        ap.Campaign.names(tmp_path / "note.db")
    with pytest.raises(ap.ApportionError, match="Nothing was changed"):
        ap.Campaign.create("ads", ("a", "b"), budget=1, db=tmp_path / "note.db" / "below.db")


def test_a_server_that_is_not_there_gets_a_sentence():
    with pytest.raises(ap.ApportionError, match="The database postgresql"):
        ap.Campaign.names("postgresql://nobody@127.0.0.1:1/none")
