"""The HTML report: well formed, safe, whole in itself, and the same for the same input."""

import os
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

import apportion as ap
from apportion.reporting import figures, html
from apportion.simulation.simulate import simulate

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Outline(HTMLParser):
    """Checks that every tag is closed in order, and keeps tags, ids and text."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.words = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href", "action", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def outline(text):
    parser = Outline()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture(scope="module")
def results():
    world = ap.Instance(means=(1.0, 0.5, 0.5), b=0.75)
    return [
        simulate([ap.Odds, ap.Uniform()], [world], horizon=horizon, replications=5, seed=2, progress=False, periods=6)
        for horizon in (50, 100)
    ]


@pytest.fixture(scope="module")
def text(results, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "deep" / "report.html"
    pictures = [figures.regret_over_time(results[1], scale="log"), figures.regret_against(results, "horizon")]
    written = html.experiment_report(
        "Two <script>alert(1)</script> policies",
        results,
        path,
        figures=pictures,
        tables={"More & more": pd.DataFrame({"arm": ["a<b", "c"], "share": [0.25, 0.75]})},
        notes=['A note with "quotes" & <b>tags</b>.'],
    )
    assert written == path
    assert os.listdir(path.parent) == ["report.html"]  # no draft is left
    return path.read_text(encoding="utf-8")


def test_is_well_formed(text):
    found = outline(text)
    assert text.startswith("<!DOCTYPE html>")
    assert found.tags.count("h1") == 1
    assert found.tags.count("svg") == 2
    assert found.tags.count("table") == 3  # the summary, the one given, and the simulations
    assert len(found.ids) == len(set(found.ids)) > 0
    assert "viewport" in text
    assert "prefers-color-scheme: dark" in text


def test_is_whole_in_itself(text):
    found = outline(text)
    assert "script" not in found.tags
    assert "img" not in found.tags
    assert all(link.startswith(("#", "data:")) for link in found.links)
    ids = set(found.ids)
    assert all(link[1:] in ids for link in found.links if link.startswith("#"))
    assert all(name in ids for name in re.findall(r"url\(#([^)]*)\)", text))
    assert not re.search(r"https?:|//www|@import|@font-face", text)
    assert "default-src 'none'" in text


def test_text_is_escaped(text):
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    words = "".join(outline(text).words)
    assert 'A note with "quotes" & <b>tags</b>.' in words
    assert "a<b" in words
    assert "More & more" in words


def test_has_the_numbers_and_their_origin(text, results):
    words = "".join(outline(text).words)
    for name in ("standard error", "horizon", "99%", results[0].provenance["code"], results[0].provenance["numpy"]):
        assert name in words
    assert html.shown(float(results[1].summary()["mean"].iloc[0])) in words
    assert '"replications": 5' in words


def test_one_world_is_named_once(text, results):
    label = str(results[0].dataset["instance"].values[0])
    assert '<th scope="col" class="word">instance</th>' not in text
    assert f'<p class="caption">Final regret over all runs on {label}: mean and quantiles.</p>' in text


def test_seeds_can_be_copied(tmp_path):
    worlds = [ap.Instance(means=(1.0, low), b=0.75) for low in (0.0, 0.5)]
    found = simulate([ap.Uniform()], worlds, horizon=5, replications=1, seed=20_240_607, progress=False)
    for given in (found, [found, found]):
        text = html.experiment_report("Seed", given, tmp_path / "seed.html").read_text(encoding="utf-8")
        assert re.search(r"<(dd|td class=\"word\")>20240607</", text)
        assert '<th scope="col" class="word">instance</th>' in text


def test_pictures_can_be_heard(text, results):
    title = figures.regret_over_time(results[1], scale="log").get_suptitle()
    assert f'aria-label="{title}"' in text


def test_same_input_same_bytes(results, tmp_path):
    paths = [
        html.experiment_report("Twice", results[0], tmp_path / name, figures=[figures.regret_over_time(results[0])])
        for name in ("first.html", "again.html")
    ]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_labels_of_users_are_escaped(results, tmp_path):
    dataset = results[0].dataset.assign_coords(policy=["<script>x</script>", 'a"b'])
    odd = type(results[0])(dataset)
    path = html.experiment_report("Odd", odd, tmp_path / "odd.html", figures=[figures.regret_over_time(odd)])
    text = path.read_text()
    assert "<script" not in text
    assert "<script>x</script>" in "".join(outline(text).words)


def test_an_old_file_stays_until_the_new_one_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def broken(source, target):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="no space"):
        html.Page("New").write(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_page_without_results(tmp_path):
    page = html.Page("Campaign", lead="Three arms.").section("Facts").facts({"budget": 5000, "b": 0.75, "arm": "<x>"})
    text = page.data("All", {"a": [1, 2]}).write(tmp_path / "page.html").read_text()
    words = "".join(outline(text).words)
    for part in ("Three arms.", "5,000", "0.75", "<x>", '{"a": [1, 2]}'):
        assert part in words


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (1234.5, "1,234"),
        (12, "12"),
        (True, "yes"),
        (float("nan"), "–"),
        (1e20, "1e+20"),
        (-2500.0, "-2,500"),
    ],
)
def test_cells(value, shown):
    assert html.shown(value) == shown


def test_pretty_data_is_json():
    import json

    value = {"list": list(range(100)), "deep": [{"name": "x" * 50, "é": None}] * 3, "empty": {}}
    assert json.loads(html.pretty(value)) == value
    assert len(html.pretty(value).splitlines()) < 12


def test_sentences_wrap_and_told_numbers_go_to_the_right():
    rows = pd.DataFrame({"arm": ["a", "b"], "amount": ["1,666.67", "3.00"], "why": ["Leads.", "word " * 20]})
    page = html.Page("Split").table(rows, right=["amount"]).html()
    assert '<th scope="col" class="word">arm</th><th scope="col">amount</th>' in page
    assert '<td class="word">b</td><td>3.00</td><td class="word long">word ' in page
    assert ".long { white-space: normal;" in page
