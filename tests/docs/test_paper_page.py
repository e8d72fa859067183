"""The pages under docs/ name tests and code that exist."""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))

TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
NAME = re.compile(r"`(apportion(?:\.\w+)+)`")


def resolve(name):
    """Import the longest part of a dotted name that is a module, and look the rest up in it."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page):
    missing = []
    for file, name in TEST.findall(page.read_text()):
        source = ROOT / file
        if not source.is_file() or not re.search(rf"^def {name}\(", source.read_text(), re.MULTILINE):
            missing.append(f"{file}::{name}")
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_that_a_page_uses_resolves(page):
    missing = []
    for name in NAME.findall(page.read_text()):
        try:
            resolve(name)
        except AttributeError:
            missing.append(name)
    assert not missing


def test_the_paper_page_names_every_statistical_test_of_the_paper():
    page = (ROOT / "docs" / "paper.md").read_text()
    source = (ROOT / "tests" / "statistical" / "test_paper.py").read_text()
    unnamed = [name for name in re.findall(r"^def (test_\w+)\(", source, re.MULTILINE) if f"::{name}`" not in page]
    assert not unnamed


def test_what_the_pages_say_of_the_report_is_in_its_data():
    """The powers of T that were measured of Algorithm 2 over all gaps, and the bound's beside them."""
    file = ROOT / "docs" / "reproduction" / "data.json"
    rows = json.loads(file.read_text(encoding="utf-8"))["sections"]["table-1"]["values"]["rows"]
    found = [f"{row['power']:.2f}" for row in rows if (row["policy"], row["axis"]) == ("Algorithm 2", "T")]
    assert len(found) == 4
    paper, theory = ((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("paper.md", "theory.md"))
    assert f"measured {', '.join(found[:3])} and {found[3]} between" in paper
    assert ", ".join(f"$T^{{{power}}}$" for power in found) in theory


# What the README says was measured


README = (ROOT / "README.md").read_text(encoding="utf-8")


def measured(group):
    """The rows of a group of benchmarks, as they were measured."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{group}.json").read_text(encoding="utf-8"))["rows"]


def figure(group, what):
    """One measured figure; `what` is the beginning of its name."""
    (found,) = [row["measured"] for row in measured(group) if row["what"].startswith(what)]
    return found


def quoted(pattern):
    """The numbers that the README has in one place."""
    (found,) = re.findall(pattern, README)
    return tuple(map(float, (found,) if isinstance(found, str) else found))


def test_the_readmes_table_of_policies_is_what_was_measured():
    rows = [row["markdown"] for row in measured("policies")]
    assert len(rows) == 5
    assert [row for row in rows if row not in README] == []


def test_the_readmes_figure_for_auto_is_what_was_measured():
    mean = measured("auto")[-1]
    assert mean["case"] == "geometric mean"
    assert quoted(r"(\d\.\d+) \(± (\d\.\d+)\) times the regret") == (round(mean["ratio"], 2), round(mean["error"], 2))


def test_the_readmes_speeds_are_what_was_measured():
    assert quoted(r"river: (\d+) times as long") == (round(figure("simulation", "UCB, times faster than river")),)
    numpy = figure("simulation", "UCB, times faster than NumPy")
    assert quoted(r"(\d\.\d) times as long") == (round(numpy, 1),)
    low, high = quoted(r"(\d+) to (\d+) times as many a second")
    assert low - 0.5 <= figure("campaigns", "split + record, 5 arms, SQLite, against Optuna") <= high + 0.5
    slowest = [row["measured"] for row in measured("service") if row["what"].startswith("  p99")][:2]
    assert max(slowest) <= quoted(r"99% within (\d+) ms")[0] / 1000
    assert quoted(r"about (\d+) a second") == (round(figure("service", "round trips, SQLite, 1 campaign"), -1),)


def test_the_speed_of_the_service_on_its_page_is_what_was_measured():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    (told,) = re.findall(
        r"about (\d+) round trips a second; half of them take (\d+) ms, 99% less than (\d+) ms", page
    )
    rate, half, slow = map(float, told)
    assert rate == round(figure("service", "round trips, SQLite, 1 campaign"), -1)
    slowest = next(row for row in measured("service") if row["what"].startswith("  p99"))
    assert half == pytest.approx(float(re.search(r"p50 ([\d.]+) ms", slowest["what"])[1]), abs=0.6)
    assert slowest["measured"] < slow / 1000


def test_what_the_theory_page_says_of_auto_was_measured():
    rows, page = measured("auto_long"), (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    told = page.partition("- **`Auto`**")[2].partition("- **")[0]
    assert len(rows) == 24
    for noisy in (False, True):
        for above in (False, True):
            growth = max(row["growth"] for row in rows if ("σ=5" in row["world"], row["b"] > 0.5) == (noisy, above))
            assert f"T^{{{growth:.2f}}}" in told
    assert f"run had {max(row['run_growth'] for row in rows):.2f}" in " ".join(told.split())


def test_the_speed_of_the_dashboard_on_its_page_is_what_was_measured():
    page = " ".join((ROOT / "docs" / "performance.md").read_text(encoding="utf-8").split())
    same, results, first, chart, many, size = (
        figure("pages", what) for what in ("  nothing", "  after a split and", "page of 1,000", "  its chart, first",
                                           "page of 10,000", "  its size")
    )  # fmt: skip
    assert f"takes {same:.2f} s while nothing changes, {results:.2f} s after new results and {first:.2f} s" in page
    assert f"its chart takes {chart:.1f} s the first time" in page
    assert f"takes {many:.2f} s and has {size:.2f} MB" in page


def test_what_policies_of_others_cost_is_what_was_measured():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    rows = measured("published")
    assert len(rows) == 10
    for row in rows:
        told = re.search(rf"\| `{row['what'].split()[0]}` \|[^|]*\| ([\d.,]+) \|", page)[1]
        assert float(told.replace(",", "")) == pytest.approx(row["measured"], rel=0.05)


def test_the_sweep_on_its_page_is_what_was_measured():
    page = (ROOT / "docs" / "how-to" / "dask-sweep.md").read_text(encoding="utf-8")
    if not (ROOT / "benchmarks" / "results" / "cluster.json").exists():
        assert "Not measured at this size yet" in page
        return
    *rows, last = measured("cluster")
    assert last["words"] in page
    for row in rows:
        times = f"{row['seconds']:.0f} s | {row['worker_seconds']:.0f} s"
        assert f"| {row['what']} | {row['processes']} | {times} |" in page
    assert max(row["arm_periods"] for row in rows) >= 1e9
    assert rows[-1]["code"] == 0
