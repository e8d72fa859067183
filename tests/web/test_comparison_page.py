"""The page that compares policies in several worlds: form, progress, table, refusals."""

import re
import time

import pytest
from fastapi.testclient import TestClient

from apportion.studies.comparison import Comparison
from apportion.studies.concave.scores import Score
from apportion.web.app import create_app
from apportion.web.laboratory import comparisons
from apportion.web.laboratory.comparisons import Comparisons, offered, read_asked
from apportion.web.pages import comparison

ASKED = {"policy": ["Uniform", "MARA"], "world": ["jobs"], "horizon": "20", "runs": "2", "seed": "1"}


@pytest.fixture
def client(tmp_path, monkeypatch):
    held = Comparisons(tmp_path / "comparisons")
    monkeypatch.setattr(comparison, "comparisons", lambda: held)
    app = create_app(tmp_path / "campaigns.db")
    with TestClient(app, base_url="http://127.0.0.1", headers={"accept": "text/html"}) as found:
        yield found


def post(client, **fields):
    return client.post(comparison.PATH, data=fields, headers={"Origin": "http://127.0.0.1"})


def test_the_form_offers_every_policy_and_world_and_the_laboratory_links_to_it(client):
    page = client.get(comparison.PATH).text
    assert all(f'value="{each["name"]}"' in page for each in offered()["policies"])
    assert all(f'value="{each["key"]}"' in page for each in offered()["worlds"])
    assert 'href="/laboratory/compare"' in client.get("/laboratory").text


def test_a_comparison_is_made_once_and_shown_as_a_table(client):
    page = post(client, **ASKED)
    address = str(page.url)
    for _ in range(600):
        page = client.get(address)
        if "compare-table" in page.text:
            break
        assert 'http-equiv="refresh"' in page.text
        assert "Under way" in page.text
        time.sleep(0.2)
    table = page.text[page.text.index("compare-table") :]
    assert re.search(r"MARA.*?\d+\.\d% <small>± \d+\.\d%", table, re.S)
    assert "an even split" in table
    assert f"({ASKED['horizon']} periods)" in table
    assert "compare-table" in post(client, **ASKED).text  # found again, at once


def test_another_worker_sees_how_far_it_is_and_what_came_of_it(tmp_path, monkeypatch):
    """The page looks again by itself, and whichever worker is free answers."""
    folder, asked = tmp_path / "comparisons", read_asked(["Uniform"], ["jobs", "bent"], 10, 2, 1)
    one, other = Comparisons(folder), Comparisons(folder)
    seen = []
    real = comparisons.compare

    def watched(*given, on_case, **options):
        def tell(case):
            on_case(case)
            seen.append(other.look(asked)[:3])

        return real(*given, on_case=tell, **options)

    monkeypatch.setattr(comparisons, "compare", watched)
    assert other.look(asked)[:3] == (False, 0, 2)
    one.start(asked)
    assert other.look(asked).running or other.look(asked).result is not None
    for _ in range(600):
        if other.look(asked).result is not None:
            break
        time.sleep(0.2)
    assert seen == [(True, 1, 2), (True, 2, 2)]
    assert {each.world for each in other.look(asked).result.scores} == {"Jobs with caps", "Diminishing returns"}
    assert [file.suffix for file in folder.iterdir()] == [".json"]


def test_a_comparison_that_cannot_be_kept_says_so(tmp_path):
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    held, asked = Comparisons(tmp_path / "file" / "comparisons"), read_asked(["Uniform"], ["jobs"], 10, 2, 1)
    held.start(asked)
    for _ in range(600):
        if not held.look(asked).running:
            break
        time.sleep(0.1)
    assert held.look(asked).problem.startswith("The comparison failed: ")


def test_a_policy_that_plays_nowhere_is_in_the_table():
    score = Score("jobs", "MARA", 10, True, 0.5, 0.0, 0.5, 0.0, 0.1, 0.0, 1.0, 0.0, 1.0)
    found = comparison.table(Comparison([score], []), ("Odds", "MARA"))
    assert [policy for policy, _ in found["rows"]] == ["MARA", "Odds"]
    assert found["rows"][1][1] == [None]


def test_what_cannot_be_compared_is_said_beside_the_form(client):
    for change, words in (
        ({"horizon": "1000000"}, "`horizon` must be a whole number in [10, 2000]"),
        ({"policy": ["os:system"]}, "`policy` must be one of"),
        ({"world": []}, "`worlds` must be 1 to 8 of those offered; got 0"),
    ):
        page = post(client, **{**ASKED, **change})
        assert page.status_code == 422
        assert words in page.text.replace("&#39;", "'")
    assert "Not made yet" in client.get(f"{comparison.PATH}?policy=Uniform&world=jobs&horizon=20&runs=2").text


def test_another_site_cannot_start_one(client):
    refused = client.post(comparison.PATH, data=ASKED, headers={"Origin": "http://elsewhere.example"})
    assert refused.status_code == 403
