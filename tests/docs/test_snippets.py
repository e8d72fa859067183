"""Every snippet of every page runs, in order, and prints what the page shows.

`APPORTION_DOCS_WRITE=1 pytest tests/docs/test_snippets.py` writes what was printed into the pages: read the changes.
"""

import os
import sys
from pathlib import Path

import pytest
from snippets import TERMINAL, Reader, blocks, commands, runnable, same

from apportion.campaigns.actor import _machine_user

# Dask warns of a slow disk after one second, which a busy machine can take as well.
pytestmark = pytest.mark.filterwarnings("ignore:Creating scratch directories is taking:UserWarning")

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if runnable(page.read_text(encoding="utf-8"))]
WRITTEN_FROM_DATA = ("beyond-the-paper.md",)  # held by `test_beyond`
WRITING = bool(os.environ.get("APPORTION_DOCS_WRITE"))

POSTGRES = "postgresql://apportion@db.example.org/campaigns"
SCHEDULER = "tcp://scheduler.example.org:8786"


@pytest.fixture
def cluster():
    """The address of a Dask scheduler with one worker, in threads of this process."""
    import distributed

    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address=None,
        silence_logs=50,
    ) as started:  # fmt: skip
        yield started.scheduler_address


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_can_be_followed(page, tmp_path, monkeypatch, request):
    text = page.read_text(encoding="utf-8")
    stand_ins = {}
    if POSTGRES in text:
        from apportion.campaigns.storage.address import database_url, display_url

        stand_ins[POSTGRES] = request.getfixturevalue("postgres")
        stand_ins[display_url(database_url(POSTGRES))] = display_url(database_url(stand_ins[POSTGRES]))
    if SCHEDULER in text:
        stand_ins[SCHEDULER] = request.getfixturevalue("cluster")
    for name, value in {**TERMINAL, "APPORTION_DB": str(tmp_path / "campaigns.db"), "APPORTION_TOKEN": ""}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    _machine_user.cache_clear()
    request.addfinalizer(_machine_user.cache_clear)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    reader = Reader(tmp_path, stand_ins)
    try:
        outcome = reader.follow(text)
    finally:
        reader.stop()
        # A module that the page wrote would hide one of the same name that another test writes.
        mine = [name for name, module in sys.modules.items() if within(module, tmp_path)]
        for name in mine:
            del sys.modules[name]
        from apportion.campaigns.storage.address import database_url
        from apportion.campaigns.storage.database import close_engine

        close_engine(database_url(str(tmp_path / "campaigns.db")))
    assert outcome.runs
    if WRITING and outcome.differences:
        page.write_text(outcome.text, encoding="utf-8")
    told = "\n".join(f"$ {each.command}\nshown:\n{each.shown}\ngot:\n{each.got}" for each in outcome.differences)
    assert WRITING or not told, told


def within(module, folder):
    """Whether a module was read from a file in a folder."""
    return str(getattr(module, "__file__", None) or "").startswith(f"{folder}{os.sep}")


def test_pages_of_every_kind_have_something_to_run():
    for folder in ("tutorial", "how-to", "explanation"):
        pages = [page for page in (DOCS / folder).glob("*.md") if page.name != "index.md"]
        assert pages
        assert [page.name for page in pages if page not in PAGES and page.name not in WRITTEN_FROM_DATA] == []


def test_blocks_are_found_with_their_titles_and_indents():
    found = blocks(
        'x\n```csv title="a.csv"\n1,2\n```\n\n    ```console\n    $ apportion --version\n    ok\n    ```\n'
    )
    assert [(block.language, block.title, block.body) for block in found] == [
        ("csv", "a.csv", "1,2\n"),
        ("console", None, "$ apportion --version\nok\n"),
    ]


def test_commands_go_over_several_lines_and_keep_what_they_print():
    assert commands("$ apportion new a \\\n    --budget 5\none\ntwo\n$ apportion split a\n") == [
        ["apportion new a \\\n    --budget 5", "one\ntwo\n"],
        ["apportion split a", ""],
    ]


def test_output_that_differs_is_found_and_written(tmp_path, monkeypatch):
    monkeypatch.setenv("APPORTION_DB", str(tmp_path / "campaigns.db"))
    text = (
        "```console\n$ apportion --version\nsomething else\n```\n\n```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    )
    outcome = Reader(tmp_path).follow(text)
    assert [each.shown for each in outcome.differences] == ["something else\n", "3\n"]
    again = Reader(tmp_path).follow(outcome.text)
    assert not again.differences
    assert again.text == outcome.text != text


def test_shown_output_may_leave_things_out():
    assert same("", "anything\n")
    assert same("a ... c\n", "a b c\n")
    assert not same("a ... c\n", "a b\n")


def test_a_command_that_cannot_be_run_is_refused(tmp_path):
    with pytest.raises(AssertionError, match="cannot be run"):
        Reader(tmp_path).follow("```console\n$ rm -r x\n```\n")
