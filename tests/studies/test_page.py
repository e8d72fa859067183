"""The page writer and the store of finished work that the studies share."""

import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import apportion as ap
from apportion.studies.finished import Finished, FinishedWork, plain
from apportion.studies.leaderboard.page import _ranking
from apportion.studies.leaderboard.scores import Leaderboard
from apportion.studies.page import Heading, Picture, Table, Text, interval, markdown, with_error, write_page
from apportion.studies.paper import FULL, SECTIONS
from apportion.studies.paper.run import LEAD, TITLE, _blocks, command_of

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = [
    Heading("First"),
    Text("With `code`."),
    Table("Numbers.", ["name", "value"], [["a | b", 1234.5678], ["none", None], ["met", True]]),
    Heading("Part", 3),
    Picture("curve", "A curve.", lambda: Figure()),
]


def test_the_blocks_of_a_page_as_markdown():
    assert markdown("Title", "Lead.", BLOCKS, Path("pictures")) == (
        "# Title\n\nLead.\n\n## First\n\nWith `code`.\n\nNumbers.\n\n"
        "| name | value |\n|---|---|\n| a \\| b | 1,235 |\n| none | – |\n| met | yes |\n\n"
        "### Part\n\n![A curve.](pictures/curve.png)\n"
    )


@pytest.mark.parametrize("folder", [None, "study"])
def test_pictures_go_where_the_page_finds_them(tmp_path, folder):
    pictures = None if folder is None else tmp_path / folder
    path = write_page(tmp_path / "study.md", "Title", "Lead.", BLOCKS, pictures=pictures, html=tmp_path / "a.html")
    link = "curve.png" if folder is None else "study/curve.png"
    assert f"]({link})" in path.read_text(encoding="utf-8")
    assert (tmp_path / link).is_file()
    assert (tmp_path / link).with_suffix(".svg").is_file()
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "With code." in text
    assert text.count("<svg") == 1


def test_numbers_with_errors_and_intervals():
    assert with_error(12.3456, 0.517) == "12.35 ± 0.52"
    assert with_error(3.0, None) == "3"
    assert interval(None, None, None) == "–"
    assert interval(0.5, None, None) == "0.50"


def store(path):
    def decode(data):
        return {name: Finished(*entry) for name, entry in data["finished"].items()}

    return FinishedWork[str](path, "a test", decode, lambda entries: json.dumps({"finished": entries}))


def test_finished_work_is_found_where_it_depends_on_the_same(tmp_path):
    path = tmp_path / "deep" / "data.json"
    work = store(path)
    assert work.add("one", {"sizes": (1, 2)}, {"value": float("inf")}) == {"value": "∞"}
    again = store(path)
    assert again.find("one", {"sizes": [1, 2]}) == {"value": "∞"}
    assert again.find("one", {"sizes": [1, 3]}) is None
    assert again.find("two", {"sizes": [1, 2]}) is None
    assert store(None).add("one", 1, 2) == 2


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path):
    for text in ("", "[]", '{"finished": [1]}'):
        (tmp_path / "data.json").write_text(text)
        with pytest.raises(ap.InvalidValue, match="must be a data file of a test; got something else"):
            store(tmp_path / "data.json")
        assert (tmp_path / "data.json").read_text() == text
    with pytest.raises(ap.InvalidValue, match="`out` must be a folder that can be written"):
        store(tmp_path / "data.json" / "below.json")


def test_plain_data_holds_what_json_cannot():
    assert plain({"a": (float("inf"), float("nan"), 1)}) == {"a": ["∞", None, 1]}


def test_the_report_in_the_docs_is_what_its_data_say():
    data = json.loads((DOCS / "reproduction" / "data.json").read_text(encoding="utf-8"))["sections"]
    values = {name: entry["values"] for name, entry in data.items()}
    blocks = _blocks(command_of(FULL, 1), SECTIONS, values)
    assert markdown(TITLE, LEAD, blocks) == (DOCS / "reproduction" / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["suite", "fresh"])
def test_the_ranking_in_the_docs_is_what_its_data_say(name):
    page = (DOCS / "leaderboard" / "leaderboard.md").read_text(encoding="utf-8")
    table = _ranking(Leaderboard.load(DOCS / "leaderboard" / f"{name}.json"))
    assert markdown("", "", [table]).strip("# \n") in page
