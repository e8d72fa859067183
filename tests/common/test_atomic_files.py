"""A file is there whole or not at all."""

import os
import stat
import threading

import pytest

from apportion._common import files


def test_an_old_file_stays_until_the_new_one_is_whole(tmp_path):
    target = tmp_path / "data.txt"
    target.write_text("old")

    def write_half():
        with files.replacement(target) as draft:
            draft.write_text("half")
            assert target.read_text() == "old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with files.replacement(target, durable=True) as draft:
        draft.write_text("new")
        assert draft.parent == tmp_path
        assert draft.suffix == files.DRAFT_SUFFIX
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_text_is_written_as_it_is(tmp_path):
    files.write_text(tmp_path / "a.csv", "σ\r\nb\n")
    assert (tmp_path / "a.csv").read_bytes() == "σ\r\nb\n".encode()
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o666 & ~mask


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path):
    with pytest.raises(OSError):
        files.write_text(tmp_path / "nowhere" / "a.csv", "text")
    with pytest.raises(UnicodeEncodeError):
        files.write_text(tmp_path / "a.csv", "\ud800")
    assert list(tmp_path.iterdir()) == []


def test_threads_that_write_the_same_file_do_not_meet(tmp_path):
    target = tmp_path / "data.txt"
    texts = [letter * 100_000 for letter in "abcd"]
    threads = [threading.Thread(target=files.write_text, args=(target, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_text() in texts
    assert list(tmp_path.iterdir()) == [target]
