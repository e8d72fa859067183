"""Finished work in a file: found again where all that it depends on is the same, so that a stopped run goes on.

Each study says how its entries stand in its data file, which is also what its page is made from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from apportion._common import files, validation
from apportion._common.sources import digest_of, simulation_starts
from apportion.errors import ApportionError, InvalidValue

Name = TypeVar("Name")
Content = TypeVar("Content")


class Finished(NamedTuple):
    """The result of a piece of work, and what it depends on: both as JSON gives them back."""

    depends_on: Any
    result: Any


NOT_COUNTED = ("apportion.reporting", "apportion.studies.page", __name__)
"""What stores and shows numbers, and does not make them."""

Entries = dict[Name, Finished]
Decode = Callable[[Any], dict[Name, Finished]]
Encode = Callable[[dict[Name, Finished]], str]


class FinishedWork(Generic[Name]):
    """The finished pieces of a study by name, in the file `path`, or in memory alone.

    `decode` reads the entries out of the JSON of the file, `encode` writes them; a file that `decode` cannot read is
    something else's, and is refused, not overwritten.
    """

    def __init__(self, path: Path | None, study: str, decode: Decode[Name], encode: Encode[Name]) -> None:
        self._path, self._encode = path, encode
        self.entries: Entries[Name] = {} if path is None or not path.exists() else read_json(path, study, decode)
        if path is not None:
            make_folder(path.parent)

    def find(self, name: Name, depends_on: Any) -> Any | None:
        """The result, if it was made from the same; else None."""
        entry = self.entries.get(name)
        return None if entry is None or entry.depends_on != plain(depends_on) else entry.result

    def add(self, name: Name, depends_on: Any, result: Any) -> Any:
        """Store a result in the file; returns it as `find` will."""
        self.entries[name] = Finished(plain(depends_on), plain(result))
        self.save()
        return self.entries[name].result

    def save(self) -> None:
        """Write the file, whole or not at all."""
        if self._path is not None:
            files.write_text(self._path, self._encode(self.entries))


def read_json(path: Path, study: str, decode: Callable[[Any], Content]) -> Content:
    """What `decode` makes of a data file of the study; one sentence where it is something else."""
    try:
        return decode(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ApportionError) as error:
        raise InvalidValue(
            f"{path} must be a data file of {study}; got something else. Move it away or choose another folder."
        ) from error


def make_folder(folder: Path) -> None:
    """Make the folder of the results, or refuse it in one sentence."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise validation.refuse("out", "a folder that can be written", f"{folder} ({error.strerror})") from error


def digest_of_numbers(module: str, aside: Iterable[str] = ()) -> str:
    """A digest of the sources that the numbers of a study's module are made of, every policy included.

    What stores and shows numbers does not count, nor do the modules `aside`.
    """
    return digest_of([module, *simulation_starts()], aside=(*NOT_COUNTED, *aside))


def plain(value: Any) -> Any:
    """Data that JSON can hold: infinity as a sign, None where there is no number."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return None if math.isnan(number) else ("∞" if number > 0 else "−∞") if math.isinf(number) else number
    return value
