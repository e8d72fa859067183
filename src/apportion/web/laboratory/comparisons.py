"""Policies × worlds at the push of a button: one comparison at a time in a process, scores in a file that all share.

What is asked is all in the address of the page. Whoever looks reads the scores that are there; they are found again
by what they depend on, so a comparison that was made before is there at once. While one is made a file beside it says
how far it is: the page is answered by whichever worker is free.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from apportion._common.sources import digest_of, simulation_starts
from apportion._common.validation import choice, refuse, whole
from apportion.errors import ApportionError
from apportion.model.real_worlds import FITTED, real_worlds
from apportion.policies import POLICIES, find_policy
from apportion.policies.published import PUBLISHED
from apportion.simulation.executors import reason_of
from apportion.studies.comparison import Comparison, Cost, compare, named_policies, named_worlds
from apportion.studies.comparison.worlds import neighbours
from apportion.studies.concave.scores import Score
from apportion.web.laboratory.experiments import Busy

MOST_POLICIES, MOST_WORLDS, LONGEST, MOST_RUNS = 8, 8, 2_000, 50
# A world takes no longer; a comparison that says nothing for so many seconds has ended with its process.
_LONGEST_SILENCE = 900.0
# Told the means; or too dear for a service: on the command line they are there.
_NOT_OFFERED = ("Oracle", "GaussianProcessKnapsack", "NoisyBisection")


class Asked(NamedTuple):
    """What is to be compared."""

    policies: tuple[str, ...]
    worlds: tuple[str, ...]
    horizon: int
    runs: int
    seed: int

    @property
    def key(self) -> str:
        """A name for the file of its results, which other code or other worlds would not give again."""
        return hashlib.sha256(json.dumps([_made_of(), *self]).encode()).hexdigest()[:24]


@functools.cache
def _made_of() -> str:
    """A digest of the code and of the fitted worlds that comparisons are made of."""
    code = digest_of((*simulation_starts(), compare.__module__))
    return code + hashlib.sha256(FITTED.read_bytes()).hexdigest()


class Found(NamedTuple):
    """How far a comparison is: `done` of `total` worlds, what is known so far, and what went wrong."""

    running: bool
    done: int
    total: int
    result: Comparison | None
    problem: str = ""


def offered() -> dict[str, Any]:
    """What the page can choose from."""
    names = [name for name in (*POLICIES, *PUBLISHED) if name not in _NOT_OFFERED]
    policies = [
        {
            "name": name,
            "rule": find_policy(name).rule,
            "published": name in PUBLISHED,
            "slow": name == "Auto",
        }
        for name in names
    ]
    worlds = [{"key": key, "title": title, "about": world.label} for key, (title, world) in neighbours().items()]
    worlds += [{"key": each.key, "title": each.title, "about": each.about} for each in real_worlds()]
    return {"policies": policies, "worlds": worlds, "longest": LONGEST, "most_runs": MOST_RUNS}


def read_asked(policies: Sequence[str], worlds: Sequence[str], horizon: Any, runs: Any, seed: Any) -> Asked:
    """What is asked, checked: names only, as an import path would run what a visitor asks for."""
    offer = offered()
    for count, name, most in ((len(policies), "policies", MOST_POLICIES), (len(worlds), "worlds", MOST_WORLDS)):
        if not 1 <= count <= most:
            raise refuse(name, f"1 to {most} of those offered", count)
    known = tuple(each["name"] for each in offer["policies"]), tuple(each["key"] for each in offer["worlds"])
    return Asked(
        tuple(choice("policy", name, known[0]) for name in dict.fromkeys(policies)),
        tuple(choice("world", key, known[1]) for key in dict.fromkeys(worlds)),
        whole("horizon", horizon, low=10, high=LONGEST),
        whole("runs", runs, low=2, high=MOST_RUNS),
        whole("seed", seed, low=0, high=2**31),
    )


class Comparisons:
    """The comparisons of this process."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._running: str | None = None
        self._problems: dict[str, str] = {}

    def _file(self, asked: Asked) -> Path:
        if self._folder is None:
            self._folder = platformdirs.user_cache_path("apportion") / "comparisons"
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder / f"{asked.key}.json"

    def start(self, asked: Asked) -> None:
        """Begin, unless it is under way or done; another one at the same time is refused."""
        with self._lock:
            if self._running == asked.key or self._read(asked) is not None:
                return
            if self._running is not None:
                raise Busy("The laboratory makes one comparison at a time; got one more. Wait until it has ended.")
            self._running = asked.key
            self._problems.pop(asked.key, None)
        self._say(asked, 0)
        threading.Thread(target=self._play, args=(asked,), name="comparison", daemon=True).start()

    def look(self, asked: Asked) -> Found:
        """How far it is."""
        result = self._read(asked)
        total = len(asked.worlds)
        if result is not None:
            return Found(False, total, total, result)
        done = self._done(asked)
        return Found(done is not None, done or 0, total, None, self._problems.get(asked.key, ""))

    def _say(self, asked: Asked, done: int) -> None:
        """How far it is, for all workers; where nothing can be written, this one knows it."""
        with contextlib.suppress(OSError):
            self._file(asked).with_suffix(".running").write_text(str(done), encoding="utf-8")

    def _done(self, asked: Asked) -> int | None:
        """The worlds that are done; None where nobody makes it."""
        try:
            file = self._file(asked).with_suffix(".running")
            silent = time.time() - file.stat().st_mtime
            return int(file.read_text(encoding="utf-8")) if silent < _LONGEST_SILENCE else None
        except (OSError, ValueError):  # it ended just now, is being written, or cannot be
            return 0 if self._running == asked.key else None

    def _play(self, asked: Asked) -> None:
        done = itertools.count(1)
        try:
            found = compare(
                named_policies(asked.policies), named_worlds(asked.worlds), horizon=asked.horizon, runs=asked.runs,
                seed=asked.seed, workers=1, on_case=lambda case: self._say(asked, next(done)),
            )  # fmt: skip
            scores, costs = ([list(each) for each in part] for part in found)
            path = self._file(asked)
            path.with_suffix(".part").write_text(json.dumps({"scores": scores, "costs": costs}), encoding="utf-8")
            path.with_suffix(".part").replace(path)
        except ApportionError as error:
            self._problems[asked.key] = str(error)
        except Exception as error:  # a thread has nobody to tell: the page says it
            self._problems[asked.key] = f"The comparison failed: {reason_of(error)}."
        finally:
            with contextlib.suppress(OSError):
                self._file(asked).with_suffix(".running").unlink()
            self._running = None

    def _read(self, asked: Asked) -> Comparison | None:
        try:
            data: Mapping[str, Any] = json.loads(self._file(asked).read_text(encoding="utf-8"))
            return Comparison([Score(*each) for each in data["scores"]], [Cost(*each) for each in data["costs"]])
        except (OSError, ValueError, TypeError, KeyError):
            return None
