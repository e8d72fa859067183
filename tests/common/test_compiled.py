"""One source, two ways to run it; and machine code on disk that follows the sources it was made of."""

import json
import os
import subprocess
import sys
import textwrap
from typing import NamedTuple

import numpy as np
import pytest

import apportion as ap
from apportion._common.compiled import compiled, generic, implements, kernel, large_kernel, lent
from apportion.model.sums import MANY_ARMS

# --- in one process -----------------------------------------------------------------------------------------


@generic
def area(shape):
    """The area of a shape."""


class Square(NamedTuple):
    side: float


class Disc(NamedTuple):
    radius: float


@implements(area, Square)
def square_area(self):
    return self.side * self.side


@implements(area, Disc)
def disc_area(self):
    return 3.0 * half(self.radius) * 2.0 * self.radius


@kernel
def half(value):
    return value / 2.0


@kernel
def total_area(shape, copies):
    total = 0.0
    for _ in range(copies):
        total += area(shape)
    return total


def test_a_generic_chooses_by_the_type_of_the_record():
    assert area(Square(3.0)) == 9.0
    assert area(Disc(2.0)) == 12.0


@pytest.mark.parametrize("shape", [Square(1.7), Disc(0.3)])
def test_compiled_equals_plain(shape):
    assert compiled(total_area)(shape, 5) == total_area(shape, 5)


def test_a_kernel_stays_a_plain_function_and_is_compiled_once():
    assert half(3.0) == 1.5
    assert compiled(half) is compiled(half)
    assert compiled(half)(3.0) == 1.5
    assert compiled(half).__name__ == "half"


class Inner(NamedTuple):
    values: np.ndarray


class Outer(NamedTuple):
    inner: Inner
    offset: float


@kernel
def add_many_times(record, times):
    borrowed = lent(record)
    for _ in range(times):
        borrowed.inner.values[:] += borrowed.offset


def test_what_is_lent_is_the_same_memory_and_stays_the_owner_s():
    record = Outer(Inner(np.zeros(3)), 0.5)
    owned = sys.getrefcount(record.inner.values)
    assert lent(record) is record
    compiled(add_many_times)(record, 4)
    add_many_times(record, 2)
    assert record.inner.values.tolist() == [3.0, 3.0, 3.0]
    still = sys.getrefcount(record.inner.values)
    assert still == owned


def favouring(favourite):
    """A policy class that is made anew at every call, always with the same name and the same file."""
    if favourite == 0:

        class Favourite(ap.Policy):
            def allocate(self, period, sums, memory, rng, shares):
                for arm in range(len(shares)):
                    shares[arm] = 1.0 if arm == 0 else 0.0

    else:

        class Favourite(ap.Policy):
            def allocate(self, period, sums, memory, rng, shares):
                for arm in range(len(shares)):
                    shares[arm] = 1.0 if arm == 1 else 0.0

    return Favourite


def winner(policy, arms):
    """The place of the arm that gets all: plainly decided with few arms, compiled with many."""
    names = [f"arm {place}" for place in range(arms)]
    amounts = list(ap.Allocator(policy, names, seed=0).ask().amounts.values())
    return int(np.argmax(amounts))


@pytest.mark.parametrize("arms", [3, MANY_ARMS])
def test_a_class_that_is_defined_again_runs_its_new_body(arms):
    for favourite in (0, 1, 0, 1):
        assert winner(favouring(favourite)(), arms) == favourite


@large_kernel
def heights(shape, rows):
    """An array and a number: what is made inside must reach the caller whole."""
    found = np.empty(rows)
    for row in range(rows):
        found[row] = row * area(shape)
    return found, found.sum()


@kernel
def tallest(shape, rows):
    found, total = heights(shape, rows)
    return found.max() + total


def test_a_large_kernel_is_called_by_address_and_compiled_once_for_all_its_callers():
    @kernel
    def smallest(shape, rows):
        found, _ = heights(shape, rows)
        return found.min()

    for shape in (Square(1.7), Disc(0.3)):
        for _ in range(100):
            assert compiled(tallest)(shape, 50) == tallest(shape, 50)
            assert compiled(smallest)(shape, 50) == 0.0
    from apportion._common.machine_code import dispatcher_of

    assert len(dispatcher_of(heights).overloads) == 2


def test_the_machine_code_of_a_caller_names_a_large_kernel_and_does_not_contain_it(tmp_path, monkeypatch):
    monkeypatch.setenv("APPORTION_CACHE_DIR", str(tmp_path))  # code that was on disk cannot be looked at

    @kernel
    def lowest(shape, rows):
        found, _ = heights(shape, rows)
        return found.min()

    assert compiled(lowest)(Square(1.7), 50) == 0.0
    (code,) = compiled(lowest).dispatcher.inspect_llvm().values()
    assert "apportion.heights-" in code


# --- across processes ---------------------------------------------------------------------------------------

POLICY = """
import apportion as ap

class Mine(ap.Policy):
    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 1.0 if arm == {favourite} else 0.0
"""

ASK = """
import importlib, json, sys
import apportion as ap
from apportion._common.compiled import compiled
from apportion.policies.contract import decide
from apportion.model.sums import MANY_ARMS

def ask(module):
    policy = importlib.import_module(module).Mine()
    amounts = list(ap.Allocator(policy, [f"arm {n}" for n in range(MANY_ARMS)]).ask().amounts.values())
    return amounts.index(1.0)

winners = [ask(module) for module in sys.argv[1:]]
stats = compiled(decide).dispatcher.stats
print(json.dumps([winners, sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""


@pytest.fixture
def run(tmp_path):
    """Write modules into a folder, then ask their policies in a fresh process: winners, cache hits and misses."""
    folder = tmp_path / "modules"
    folder.mkdir()
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "APPORTION_CACHE_DIR", "LOCALAPPDATA")}
    environment = {**os.environ, **home, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}

    def fresh_process(*modules, **sources):
        for name, source in sources.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(source))
        done = subprocess.run(
            [sys.executable, "-c", ASK, *modules], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return fresh_process


def test_an_edited_policy_runs_as_edited_and_an_unchanged_one_from_the_disk(run):
    assert run("mine", mine=POLICY.format(favourite=0)) == [[0], 0, 1]
    assert run("mine") == [[0], 1, 0]
    assert run("mine", mine=POLICY.format(favourite=7)) == [[7], 0, 1]
    assert run("mine", mine=POLICY.format(favourite=0))[0] == [0]


def test_classes_of_one_name_in_two_modules_are_not_mixed_up(run):
    sources = {"first": POLICY.format(favourite=1), "second": POLICY.format(favourite=2)}
    assert run("first", "second", **sources)[0] == [1, 2]
    assert run("second", "first") == [[2, 1], 2, 0]


def test_an_edited_helper_in_another_file_of_the_users_counts_too(run):
    helper = """
    import apportion as ap

    @ap.kernel
    def favourite():
        return {favourite}
    """
    policy = POLICY.format(favourite="favourite()").replace("import", "from helper import favourite\nimport", 1)
    assert run("mine", helper=helper.format(favourite=3), mine=policy)[0] == [3]
    assert run("mine", helper=helper.format(favourite=4))[0] == [4]


def test_an_edited_constant_in_another_file_of_the_users_counts_too(run):
    policy = POLICY.format(favourite="FAVOURITE").replace("import", "from settings import FAVOURITE\nimport", 1)
    assert run("mine", settings="FAVOURITE = 5", mine=policy)[0] == [5]
    assert run("mine", settings="FAVOURITE = 6")[0] == [6]


def test_what_else_was_imported_makes_no_other_machine_code(run):
    """Such as bodies for records of the package that another of its modules, or the user's, brings along."""
    more = """
    from apportion._common.compiled import generic, implements
    from apportion.model.sums import Sums

    @generic
    def size(record): ...

    @implements(size, Sums)
    def arms(self):
        return len(self.count)
    """
    policy = POLICY.format(favourite=0)
    assert run("mine", mine=policy) == [[0], 0, 1]
    assert run("other", "mine", other=textwrap.dedent(more) + policy) == [[0, 0], 1, 1]


def test_an_edited_body_for_a_record_that_is_made_inside_counts_too(run):
    policy = """
    from typing import NamedTuple
    import apportion as ap
    from apportion._common.compiled import generic, implements

    class Inside(NamedTuple):
        scale: int

    @generic
    def favourite(record): ...

    @implements(favourite, Inside)
    def scaled(self):
        return {favourite} * self.scale
    """
    policy += textwrap.indent(POLICY.format(favourite="favourite(Inside(1))"), "    ")
    policy += """
    @implements(favourite, Mine.Record)
    def first(self):
        return 0
    """
    assert run("mine", mine=policy.format(favourite=3))[0] == [3]
    assert run("mine", mine=policy.format(favourite=4))[0] == [4]


LARGE = """
import apportion as ap
from apportion._common.compiled import large_kernel

@large_kernel
def favourite(arms):
    return min({favourite}, arms)
"""


def test_machine_code_that_calls_a_large_kernel_finds_it_again_and_follows_its_edits(run):
    policy = POLICY.format(favourite="favourite(len(shares))")
    policy = policy.replace("import", "from large import favourite\nimport", 1)
    assert run("mine", large=LARGE.format(favourite=3), mine=policy) == [[3], 0, 1]
    assert run("mine") == [[3], 1, 0]
    assert run("other", "mine", other=policy)[0] == [3, 3]
    assert run("mine", large=LARGE.format(favourite=4)) == [[4], 0, 1]


@pytest.mark.skipif(os.name != "posix", reason="files have no owner")
def test_machine_code_of_others_is_not_run(tmp_path):
    from apportion._common.machine_code import is_private

    folder, file = tmp_path / "kernels", tmp_path / "kernels" / "one.bin"
    folder.mkdir(mode=0o700)
    file.touch(0o600)
    assert is_private(folder)
    assert is_private(file)
    folder.chmod(0o777)
    assert not is_private(folder)
    folder.chmod(0o775)
    assert not is_private(folder)
    (tmp_path / "link").symlink_to(file)
    assert not is_private(tmp_path / "link")
    if os.geteuid() == 0:
        os.chown(file, 65534, 65534)
        assert not is_private(file)
