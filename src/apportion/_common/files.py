"""Files that are there whole or not at all: written beside the target under a name of their own, then renamed."""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

# How the file that is still being written ends; one that a killed process left behind is known by it.
DRAFT_SUFFIX = ".part"


@contextlib.contextmanager
def replacement(path: str | os.PathLike[str], *, durable: bool = False) -> Iterator[Path]:
    """A draft in the same folder, which takes the place of `path` when the block ends without an error.

    Until then an old file stays as it is; after an error nothing is left of the draft. The folder must be there.
    `durable`: the content is on the disk before the name is, so that not even a power cut leaves half a file.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "result.txt"
    >>> with replacement(target) as draft:
    ...     _ = draft.write_text("whole")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('whole', 1)
    """
    target = Path(path)
    draft = target.with_name(f"{target.name}.{os.getpid()}-{threading.get_native_id()}{DRAFT_SUFFIX}")
    try:
        yield draft
        if durable:
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
        os.replace(draft, target)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text, whole or not at all; lines end as they do in `text`, on every system."""
    with replacement(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="")
