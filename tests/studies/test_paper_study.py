"""The reproduction: whole, from its data file alone, resumed where it stopped, and readable without a network."""

import ast
import dataclasses
import functools
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import apportion
from apportion.cli.app import app
from apportion.errors import InvalidValue
from apportion.reporting.html import shown
from apportion.studies.finished import plain
from apportion.studies.page import Picture, Table
from apportion.studies.paper import FULL, QUICK, SECTIONS, reproduce
from apportion.studies.paper.diminishing import PART_OF_RUNS
from apportion.studies.paper.run import DATA, key_of

TINY = QUICK._replace(
    name="quick", horizons=(50, 100, 200), long_horizons=(100, 1000, 10_000), arms=(3, 6), arms_horizon=100,
    gap_ratio=8.0, arm_periods=1_000, min_runs=3, max_runs=5, leaping_runs=3, transition_arms=(2, 4),
    transition_horizon=60, b_values=(0.0, 0.5, 1.0), draws=200, seasons=2, surface_steps=8,
)  # fmt: skip
# `make soak` runs what the command runs. A report is drawn for seconds, so only the first is one of all sections.
SOAK = bool(os.environ.get("APPORTION_SOAK"))
SIZES = QUICK if SOAK else TINY
DRAWN_AGAIN = [section for section in SECTIONS if SOAK or section.name in ("proposition-1", "lemma-2", "errata")]
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
# What the paper itself prints with a decimal point.
PRINTED = {"μ2 = 6, μ1 = 6.5"}
PARTS = ("confidence", "close")
SOURCES = sorted((Path(apportion.__file__).parent / "studies" / "paper").glob("*.py"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("reproduction")
    parts = []
    assert reproduce(out, sizes=SIZES, seed=1, on_step=lambda words, done: parts.append(done)) == out / "report.md"
    assert parts == sorted(parts), "the bar never goes back"
    assert (parts[0], parts[-1]) == (0.0, 1.0)
    assert max(np.diff(parts)) < 0.1, "no step is so long that the time left cannot be estimated"
    return out


@pytest.fixture(scope="module")
def data(folder):
    return json.loads((folder / DATA).read_text(encoding="utf-8"))["sections"]


def strings(path):
    """The words that are written into a module, without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = {ast.get_docstring(node, clean=False) for node in ast.walk(tree)
                  if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)}  # fmt: skip
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in documented
    ]


def leaves(value):
    """Every number and word in plain data."""
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def written(values):
    """Every way in which the report may write the numbers of the data, or of what is shown from them."""
    found = set()
    for value in values:
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, str):
            found.update(NUMBER.findall(value))
        else:
            number = abs(float(value))
            forms = [shown(value), shown(number), f"{number:.2f}", shown(float(f"{number:.2g}"))]
            found.update(token for form in forms for token in NUMBER.findall(form))
    return found


def test_every_section_is_stored_with_what_it_depends_on(data):
    assert list(data) == [section.name for section in SECTIONS]
    for section in SECTIONS:
        assert data[section.name]["key"] == plain(key_of(section, SIZES, 1))
        assert data[section.name]["values"]


def test_the_markdown_has_every_section_and_picture(folder, data):
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [f"{n}. {s.title}" for n, s in enumerate(SECTIONS, 1)]
    pictures = re.findall(r"!\[[^]]+\]\(([\w-]+\.png)\)", text)
    assert len(pictures) == len(set(pictures)) >= 9
    assert {path.name for path in folder.glob("*.png")} == set(pictures)
    for section in SECTIONS:
        for block in section.show(data[section.name]["values"]):
            if isinstance(block, Table):
                assert block.rows
                assert all(len(row) == len(block.columns) for row in block.rows)
                assert len(set(block.columns)) == len(block.columns)
            elif isinstance(block, Picture):
                assert (folder / f"{block.name}.png").stat().st_size > 5_000


def test_every_number_of_the_markdown_is_in_the_data_file(folder, data):
    """Ratios of two numbers of the data are shown too; what is typed in are names such as Theorem 1 and formulas."""
    values = [leaf for entry in data.values() for leaf in leaves(entry["values"])]
    ratios = [row["power"] / row["bound"] for row in data["fixed-gaps"]["values"]["slopes"]]
    ratios += [row["printed"] / row["exact"] for row in data["lemma-2"]["values"]["table"] if row["printed"] != "∞"]
    # Parts in per cent, how many rows a table has, and how many runs the dearer policies have.
    ratios += [100 * entry["values"][name] for entry in data.values() for name in PARTS if name in entry["values"]]
    ratios += [len(found) for entry in data.values() for found in entry["values"].values() if isinstance(found, list)]
    bent = data["diminishing"]["values"]
    ratios += [bent["runs"] // PART_OF_RUNS, len(bent["diagram"]["dots"])]
    typed = [word for path in SOURCES for word in strings(path)]
    known = written(
        [*values, *ratios, *typed, *(section.title for section in SECTIONS), *range(1, len(SECTIONS) + 1)]
    )
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert [token for token in NUMBER.findall(text) if token.rstrip(",") not in known] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_measured_number_is_typed_in(path):
    assert [text for text in strings(path) if re.search(r"\d\.\d", text) and text not in PRINTED] == []


def test_the_html_is_whole_in_itself(folder):
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r"https?:|//www|@import|@font-face|<script|<img|<link rel=\"stylesheet", text)
    assert text.count("<svg") == len(list(folder.glob("*.png")))
    for section in SECTIONS:
        assert section.title in text


def test_an_interrupted_run_goes_on_where_it_stopped(folder, data, tmp_path):
    """One section is taken out: only it is run again, and its numbers are the same to the last bit."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    report = reproduce(tmp_path, sizes=SIZES, seed=1, sections=DRAWN_AGAIN).read_text()
    stored = json.loads((tmp_path / DATA).read_text(encoding="utf-8"))
    del stored["sections"]["proposition-1"]
    (tmp_path / DATA).write_text(json.dumps(stored), encoding="utf-8")
    ran = []

    def counted(section):
        def measure(sizes, seed, on_step):
            ran.append(section.name)
            return section.measure(sizes, seed, on_step)

        return dataclasses.replace(section, measure=measure)

    sections = [counted(section) for section in DRAWN_AGAIN]
    reproduce(tmp_path, sizes=SIZES, seed=1, sections=sections)
    assert ran == ["proposition-1"]
    again = json.loads((tmp_path / DATA).read_text(encoding="utf-8"))["sections"]
    assert {name: entry["values"] for name, entry in again.items()} == {
        name: entry["values"] for name, entry in data.items()
    }
    assert (tmp_path / "report.md").read_text() == report
    # Another seed is another run.
    cheap = [section for section in sections if section.name == "lemma-2"]
    reproduce(tmp_path, sizes=TINY, seed=2, sections=cheap)
    assert ran == ["proposition-1", "lemma-2"]


def test_what_stopped_in_the_middle_keeps_what_was_finished(tmp_path):
    def fails(sizes, seed, on_step):
        raise KeyboardInterrupt

    first = next(section for section in SECTIONS if section.name == "lemma-2")
    second = dataclasses.replace(SECTIONS[0], measure=fails)
    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path, sizes=TINY, seed=1, sections=[first, second])
    assert list(json.loads((tmp_path / DATA).read_text(encoding="utf-8"))["sections"]) == ["lemma-2"]


def test_a_file_of_something_else_is_left_alone(tmp_path):
    (tmp_path / DATA).write_text("{}", encoding="utf-8")
    with pytest.raises(InvalidValue, match="must be a data file of the paper, measured; got something else"):
        reproduce(tmp_path, sizes=TINY)
    assert (tmp_path / DATA).read_text() == "{}"


def test_the_key_follows_the_code_that_counts():
    digests = [key_of(section, TINY, 1)["code"] for section in SECTIONS]
    assert len(set(digests)) == len(SECTIONS)
    assert FULL != QUICK


def test_the_command_writes_the_report_and_says_where(folder, tmp_path, monkeypatch):
    shutil.copy(folder / DATA, tmp_path)
    monkeypatch.setattr("apportion.studies.paper.QUICK", SIZES)
    monkeypatch.setattr("apportion.studies.paper.SECTIONS", DRAWN_AGAIN)
    monkeypatch.setattr("apportion.studies.paper.reproduce", functools.partial(reproduce, sections=DRAWN_AGAIN))
    found = CliRunner().invoke(app, ["study", "paper", "--quick", "--out", str(tmp_path), "--json"])
    assert found.exit_code == 0
    files = json.loads(found.stdout)
    assert Path(files["markdown"]).is_file()
    assert Path(files["html"]).is_file()
    assert set(files["seconds"]) == {section.name for section in DRAWN_AGAIN}
    for_people = CliRunner().invoke(app, ["study", "paper", "--quick", "--out", str(tmp_path)])
    assert "report.html" in for_people.stdout.replace("\n", "")


def test_the_claims_that_need_no_luck_hold(data):
    """Exact numbers of the paper page, at any size."""
    errata = data["errata"]["values"]["numbers"]
    assert errata["worked"] == pytest.approx([6.0, 6.5])
    assert errata["partitions"] == [8, 4]
    assert errata["one"] == pytest.approx([1.1774], abs=1e-4)
    assert errata["two"] == pytest.approx([3.1039], abs=1e-4)
    lemma = data["lemma-2"]["values"]
    assert lemma["whole"]["value"] == pytest.approx(8.87519, abs=1e-5)
    assert lemma["maximum"] == pytest.approx(8.87528, abs=1e-5)
    assert errata["power"] == [-3.0, -1.0]
    assert errata["event"][1] == 0
    bent = data["diminishing"]["values"]
    assert [row["limit"] for row in bent["interior"]] == [-0.5, 0.0, 0.5]
    assert [row["bound"] > 0 for row in bent["losing"]] == [row["floor"] is None for row in bent["losing"]]
    assert [row["dividing"] < row["pooling"] for row in bent["exploring"]] == [False, False, False, True, True]
    broken = data["bounds"]["values"]["violation"]
    assert broken["regret"] > broken["bound"]
