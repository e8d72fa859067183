"""The laboratory: numbers that do not depend on how they were run, cancel, limits, the slider over b."""

import asyncio
import contextlib
import dataclasses
import http.client
import json
import math
import os
import re
import signal
import threading
import time
import types
from urllib.parse import urlsplit

import numpy as np
import pytest
from running import PATIENCE, service, until

import apportion as ap
from apportion.errors import InvalidValue, UnknownName
from apportion.policies import POLICIES
from apportion.studies.scenarios import SCENARIOS
from apportion.theory.guarantee import guaranteed_regret
from apportion.web.laboratory import experiments, findings, transition
from apportion.web.laboratory import run as runs_module
from apportion.web.laboratory.catalogue import describe_policies, presets, unit_scenario
from apportion.web.laboratory.experiments import Busy, Laboratory
from apportion.web.laboratory.limits import read_experiment, seconds_of
from apportion.web.pages.assets import style_ids

SMALL = {
    "instance": {"means": [1.0, 0.5, 0.25], "b": 0.75, "sigma": 1.5},
    "policies": [{"name": "Odds", "parameters": {"tilt": 1.0}}, {"name": "Thompson"}, {"name": "Uniform"}],
    "horizon": 120,
    "replications": 25,
    "seed": 7,
}
# Far more work than any test waits for: about five minutes of one core.
LONG = {
    "instance": {"family": "one good arm", "arms": 10, "gap": 0.5, "b": 0.75},
    "policies": [{"name": "Odds"}],
    "horizon": 100_000,
    "replications": 1_500,
    "seed": 1,
}


@pytest.fixture
def laboratory():
    made = Laboratory(threads=2)
    yield made
    made.close()


def play(laboratory, definition):
    """All events of an experiment."""

    async def collect():
        return [event async for event in laboratory.start(read_experiment(definition)).events()]

    return asyncio.run(collect())


def events_of(text):
    """(name, data) of server-sent events."""
    found = re.findall(r"^event: (.+)\ndata: (.+)\n\n", text, re.MULTILINE)
    return [(name, json.loads(data)) for name, data in found]


# Numbers


@pytest.mark.parametrize(
    ("threads", "chunk", "largest"), [(1, 1e-9, 1), (2, 1e-9, 1), (2, 0.002, 7), (3, 10.0, 2_000)]
)
def test_the_numbers_are_those_of_simulate_however_they_are_cut(monkeypatch, threads, chunk, largest):
    monkeypatch.setattr(runs_module, "CHUNK_SECONDS", chunk)
    monkeypatch.setattr(runs_module, "LARGEST_CHUNK", largest)
    laboratory = Laboratory(threads)
    try:
        name, found = play(laboratory, SMALL)[-1]
    finally:
        laboratory.close()
    assert name == "result"
    world = ap.Instance((1.0, 0.5, 0.25), b=0.75, sigma=1.5)
    candidates = [ap.Informed(ap.Odds, {"tilt": 1.0}), ap.Thompson, ap.Uniform]
    whole = ap.simulate(
        candidates,
        world,
        horizon=120,
        replications=25,
        seed=7,
        periods=60,
        record=("regret", "shares"),
        progress=False,
    )
    assert found["periods"] == whole.regret["period"].values.tolist()
    for place, policy in enumerate(found["policies"]):
        assert policy["mean"] == whole.regret.values[place, 0].mean(axis=0).tolist()  # to the last bit
        shares = whole.dataset["shares"].values[place, 0].mean(axis=0)
        for layer in policy["shares"]:
            np.testing.assert_allclose(layer["share"], shares[:, layer["arms"]].sum(axis=1), rtol=0, atol=1e-11)
    expected = whole.summary().reset_index().drop(columns="instance").to_dict("records")
    assert found["table"] == expected


ROUNDED = {"means": [0.4, 0.9], "b": 1.0, "sigma": 0.5}
ELIMINATION = {"name": "SuccessiveElimination", "parameters": {"radius": "anytime"}}


@pytest.mark.parametrize(
    "change",
    [
        {"instance": ROUNDED, "common": True, "policies": [{"name": "Uniform"}, {"name": "FollowTheLeader"}]},
        {"policies": [ELIMINATION, {"name": "Oracle"}], "horizon": 10**9, "replications": 4},
    ],
    ids=["dense", "leap"],
)
def test_the_python_on_the_page_gives_the_same_numbers(laboratory, capsys, change):
    found = play(laboratory, {**SMALL, **change})[-1][1]
    names = {}
    exec(found["python"].replace("seed=7,", "seed=7, progress=False,"), names)
    assert names["result"].summary()["mean"].tolist() == [row["mean"] for row in found["table"]]
    assert "q99" in capsys.readouterr().out


def test_every_policy_of_the_package_is_offered_and_runs(laboratory):
    offered = [policy["name"] for policy in describe_policies()]
    assert sorted(offered) == sorted(POLICIES)
    for names in (offered[:7], offered[7:]):
        definition = {
            **SMALL, "instance": {"means": [1.0, 0.2], "b": 1.0}, "policies": [{"name": name} for name in names],
            "horizon": 30, "replications": 3,
        }  # fmt: skip
        name, found = play(laboratory, definition)[-1]
        assert name == "result"
        assert len(found["table"]) == len(names)
        assert all(0 <= row["mean"] <= 30 * 0.8 for row in found["table"])


@pytest.mark.parametrize("policy", describe_policies(), ids=lambda policy: policy["name"])
def test_what_the_page_offers_as_a_choice_or_default_is_taken(policy):
    for parameter in policy["parameters"]:
        for value in parameter["options"] or [parameter["default"]]:
            entry = {"name": policy["name"], "parameters": {parameter["name"]: value}}
            read_experiment({**SMALL, "instance": {"means": [1.0, 0.2], "b": 1.0}, "policies": [entry]})


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.key)
def test_presets_are_worlds_that_can_be_run(preset):
    world = {"means": list(preset.means), "b": preset.b, "sigma": preset.sigma}
    plan = read_experiment({**SMALL, "instance": world, "horizon": preset.horizon, "policies": [{"name": "Odds"}]})
    assert plan.instances[0].arms == len(preset.means)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.title)
def test_a_scenario_with_its_budget_as_the_unit_is_the_same_world(scenario):
    preset = unit_scenario(scenario)
    amounts = np.full(len(scenario.arms), scenario.budget / len(scenario.arms))
    raw = ap.Instance(scenario.means, scenario.b, scenario.sigma).draw(amounts, np.random.default_rng(3))
    unit = ap.Instance(preset.means, preset.b, preset.sigma).draw(amounts / scenario.budget, np.random.default_rng(3))
    np.testing.assert_allclose(unit, raw, rtol=1e-5)


POLICIES_WITH_PROOFS = [
    {"informed": "SuccessiveElimination", "parameters": {}},
    {"informed": "SuccessiveElimination", "parameters": {"radius": "anytime"}},
    {"informed": "SuccessiveElimination", "parameters": {"radius": "anytime", "pairwise": True}},
    {"informed": "EpsilonGreedy", "parameters": {"leader": "information"}},
    {"name": "EpsilonGreedy", "parameters": {"b": 0.8, "epsilon": 0.1, "leader": "ratios"}},
    {"informed": "EpsilonGreedy", "parameters": {"b": 0.7}},
    {"informed": "EpsilonGreedy", "parameters": {"b": 0.9}},
    {"informed": "SuccessiveElimination", "parameters": {"radius": "cycles"}},
    {"informed": "Odds", "parameters": {}},
]


@pytest.mark.parametrize("kind", POLICIES_WITH_PROOFS, ids=str)
def test_a_guarantee_is_shown_where_a_theorem_covers_the_case(kind):
    given = kind["parameters"]
    # Too small a b is safe. The cycles need noise of one law, which is more than a proxy says.
    plain = "Odds" not in kind.values() and given.get("radius") != "cycles" and not given.get("pairwise")
    covered = plain and given.get("b", 0.8) <= 0.8
    setting = {"means": (1.0, 0.5, 0.5), "b": 0.8, "sigma": 2.0, "horizon": 5_000}
    found = guaranteed_regret(kind, **setting)
    assert (found is not None and found > 0.5 * 5_000 / 1e3) == covered
    assert guaranteed_regret(kind, **setting, proxy=math.inf) is None


def test_bent_returns_and_a_sigma_per_arm_are_played_without_the_bounds_of_the_paper():
    instance = {"means": [1.0, 0.5], "b": 0.5, "c": 0.75, "sigma": [0.2, 0.4]}
    plan = read_experiment(
        {"instance": instance, "policies": [{"name": "Uniform"}], "horizon": 20, "replications": 2, "seed": 1}
    )
    assert plan.instances == (ap.Instance((1.0, 0.5), 0.5, (0.2, 0.4), 0.75),)
    assert "b=0.5, sigma=(0.2, 0.4), c=0.75)" in findings.python(plan)
    assert findings.bounds(plan, np.arange(1, 21), ["Uniform()"]) == []


def test_a_guarantee_is_shown_for_noise_within_the_sigma_that_the_policy_was_given():
    def guarantees(noise):
        world = ap.Instance((1.0, 0.5, 0.5), b=0.8, sigma=2.0, noise=noise)
        kind = {"informed": "SuccessiveElimination", "parameters": {}}
        plan = types.SimpleNamespace(instances=[world], horizon=5_000, describe=lambda: {"policies": [kind]})
        return [bound["policy"] for bound in findings.bounds(plan, np.array([1, 5_000]), ["x"]) if bound["values"]]

    assert guarantees("rademacher") == [0]
    assert guarantees(ap.Batch(p=0.5)) == [0]
    assert guarantees(ap.Batch(p=0.1)) == []  # its proxy is 2: twice the variance that the radii allow for
    assert guarantees("laplace") == []


def test_bounds_lie_on_their_side_of_what_was_measured(laboratory):
    definition = {
        **SMALL, "policies": [{"name": "SuccessiveElimination"}, {"name": "AdaptiveElimination"}], "horizon": 2_000
    }  # fmt: skip
    found = play(laboratory, definition)[-1][1]
    uppers = {bound["policy"]: bound["values"][-1] for bound in found["bounds"] if bound["kind"] == "upper"}
    assert set(uppers) == {0, 1}
    for place, value in uppers.items():
        assert found["table"][place]["mean"] < value
    lower = ap.theory.minimax_lower_bound(3, 2_000, 0.75, 1.5)
    assert [bound["values"][-1] for bound in found["bounds"] if bound["kind"] == "lower"] == [lower]


# Running


def test_events_come_in_order_and_progress_only_grows(laboratory, monkeypatch):
    monkeypatch.setattr(runs_module, "EVENT_SECONDS", 0.0)
    events = play(laboratory, {**SMALL, "seed": 8})
    names = [name for name, _ in events]
    assert names[0] == "started"
    assert names[-1] == "result"
    assert set(names[1:-1]) == {"progress"}
    done = [data["done"] for name, data in events if name == "progress"]
    assert done == sorted(done)
    assert done[-1] == events[0][1]["total"] == 75
    assert laboratory.running == 0


def test_the_same_again_is_kept_and_the_oldest_makes_room(laboratory, monkeypatch):
    monkeypatch.setattr(experiments, "MOST_RESULTS", 2)
    first = play(laboratory, SMALL)[-1][1]
    again = play(laboratory, SMALL)
    assert [name for name, _ in again] == ["started", "result"]
    assert again[-1][1] == {**first, "kept": True}
    for seed in (11, 12):
        play(laboratory, {**SMALL, "seed": seed})
    assert "kept" not in play(laboratory, SMALL)[-1][1]
    monkeypatch.setattr(experiments, "RESULT_SECONDS", -1.0)
    assert "kept" not in play(laboratory, SMALL)[-1][1]


@pytest.mark.parametrize("way", ["cancel", "close"])
def test_a_cancelled_run_stops_and_frees_the_threads(laboratory, way):
    async def run():
        run = laboratory.start(read_experiment(LONG))
        events = run.events()
        async for name, data in events:
            if name == "progress" and data["done"]:
                break
        if way == "close":
            await events.aclose()
            return None
        laboratory.cancel(run.id)
        return [event async for event in events]

    rest = asyncio.run(run())
    if way == "cancel":
        name, data = rest[-1]
        assert name == "cancelled"
        assert data["done"] < data["total"]
    assert laboratory.running == 0
    # Every thread takes other work: a barrier that only opens when all of them have come.
    barrier = threading.Barrier(laboratory.threads + 1)
    waiting = [laboratory.pool.submit(barrier.wait, PATIENCE) for _ in range(laboratory.threads)]
    barrier.wait(PATIENCE)
    assert all(future.exception(PATIENCE) is None for future in waiting)


def test_a_bounded_number_runs_at_once(laboratory):
    plan = read_experiment(SMALL)
    runs = [laboratory.start(plan) for _ in range(experiments.MOST_RUNS)]
    with pytest.raises(Busy, match="runs 2 experiments at a time; got one more"):
        laboratory.start(plan)
    runs[0].close()
    laboratory.start(plan).close()
    with pytest.raises(UnknownName, match="is not running: it has ended"):
        laboratory.cancel(runs[0].id)


def test_a_failure_inside_a_run_is_a_sentence(laboratory, monkeypatch):
    def broken(chunk):
        raise ZeroDivisionError("by chance")

    monkeypatch.setattr(runs_module, "run_chunk", broken)
    name, data = play(laboratory, SMALL)[-1]
    assert name == "failed"
    assert data["detail"].startswith("The experiment stopped: ZeroDivisionError: by chance.")
    assert laboratory.running == 0


# Limits and refusals

WORLD = SMALL["instance"]
REFUSED = [
    (
        {"horizon": 10**8, "policies": [{"name": "Odds"}]},
        "`horizon` must be short enough for one run to take about 1 s",
    ),
    (
        {"horizon": 10_000, "replications": 10**6},
        "`replications` must be few enough for about 20 minutes of one core",
    ),
    ({"horizon": 1_000, "replications": 200_000, "policies": [{"name": "Uniform"}] * 3}, "few enough for 200 MB"),
    ({"policies": []}, "`policies` must be a list of 1 to 8 policies; got 0."),
    ({"policies": [{"name": "Odds"}] * 9}, "`policies` must be a list of 1 to 8 policies; got 9."),
    ({"policies": [{"name": "Greedy"}]}, "`name` must be one of"),
    ({"policies": [{"name": "Uniform", "parameters": {"b": 1}}]}, "left out: there is nothing to set"),
    ({"policies": [{"name": "Odds", "parameters": {"means": [1]}}]}, "`parameters of Odds` must be an object with b"),
    ({"policies": [{"name": "EpsilonGreedy"}], "instance": {**WORLD, "b": 0.4}}, "`b` must be above 0.5"),
    ({"instance": {**WORLD, "b": 1.3}}, "`b` must be a number in [0, 1]; got 1.3."),
    ({"instance": {**WORLD, "means": [1.0]}}, "`means` must be 2 to 200 numbers, one per arm; got '1 of them'."),
    ({"instance": {**WORLD, "means": [1.0, "x"]}}, "`means[1]` must be a number, finite; got 'x'."),
    ({"instance": {**WORLD, "noise": "cauchy"}}, "`noise`"),
    ({"instance": {**WORLD, "noise": "antigravity:Cosine"}}, "`noise` must be one of 'gaussian'"),
    ({"instance": {**WORLD, "noise": {"name": "antigravity:Cosine"}}}, "`noise` must be one of 'gaussian'"),
    ({"instance": {**WORLD, "c": 1.5}}, "`c` must be a number in (0, 1]; got 1.5."),
    ({"instance": {**WORLD, "sigma": [1.0]}}, "`sigma` must be a number, or one per arm"),
    (
        {"instance": {"family": "linear", "arms": 10**9, "gap": 1, "b": 0.5}},
        "`arms` must be a whole number in [2, 200]",
    ),
    ({"instance": None}, "`instance` must be an object with means"),
    ({"seed": -1}, "`seed` must be a whole number of at least 0; got -1."),
    ({"replications": "many"}, "`replications` must be a whole number of at least 1; got 'many'."),
    ({"colour": "red"}, "`experiment` must be an object with instance"),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSED, ids=[sentence[:40] for _, sentence in REFUSED])
def test_what_does_not_fit_is_refused_in_one_sentence(client, change, sentence):
    headers = {"Origin": "http://127.0.0.1:8000"}
    answer = client.post("/laboratory/runs", json={**SMALL, **change}, headers=headers)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert sentence in answer.json()["detail"]


def test_the_estimate_knows_dear_policies():
    plans = [read_experiment({**SMALL, "policies": [{"name": name}]}) for name in ("Uniform", "Odds", "Matching")]
    assert [seconds_of(plan)[1] for plan in plans] == sorted(seconds_of(plan)[1] for plan in plans)
    with pytest.raises(InvalidValue):
        read_experiment([])


# Over HTTP


def test_the_page_has_everything_and_nothing_inline(client):
    answer = client.get("/laboratory")
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.search(r"<script(?![^>]*(src=|application/json))", answer.text)
    assert "<style" not in answer.text
    assert not re.search(r"\sstyle=|\son\w+=", answer.text)
    offer = json.loads(re.search(r'id="lab-offer">(.*?)</script>', answer.text, re.DOTALL).group(1))
    assert {policy["name"] for policy in offer["policies"]} == set(POLICIES)
    titles = [preset["title"] for preset in offer["presets"]]
    assert titles == [
        "One good arm", "Linear", "Clustered", "Nearly tied", "Research hours", "Venture capital", "Test kits"
    ]  # fmt: skip
    assert style_ids(), "plotly.js no longer makes style sheets as this page expects: look for console errors"
    for name in style_ids():
        assert f'id="{name}"' in answer.text


def test_a_run_over_http_is_one_stream(client):
    headers = {"Origin": "http://127.0.0.1:8000"}
    answer = client.post("/laboratory/runs", json={**SMALL, "seed": 21}, headers=headers)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_of(answer.text)
    assert events[0][0] == "started"
    assert events[-1][0] == "result"
    assert len(events[-1][1]["table"]) == 3
    cancelled = client.post(f"/laboratory/runs/{events[0][1]['run']}/cancel", headers=headers)
    assert cancelled.status_code == 404
    assert "is not running: it has ended" in cancelled.json()["detail"]


def test_the_api_answers_in_one_piece_or_by_events(client):
    answer = client.post("/api/v1/laboratory/runs", json={**SMALL, "seed": 22})
    assert answer.status_code == 200
    followed = client.post(
        "/api/v1/laboratory/runs", json={**SMALL, "seed": 22}, headers={"Accept": "text/event-stream"}
    )
    assert events_of(followed.text)[-1][1]["table"] == answer.json()["table"]
    refused = client.post("/api/v1/laboratory/runs", json=LONG)
    assert refused.status_code == 422
    assert "Send `Accept: text/event-stream` to follow a longer experiment." in refused.json()["detail"]
    wrong = client.post("/api/v1/laboratory/runs", json={**SMALL, "horizon": "long"})
    assert wrong.json()["detail"] == "`horizon` must be a whole number; got 'long'."
    assert client.post("/api/v1/laboratory/runs/nobody/cancel").status_code == 404


def test_too_many_are_told_to_come_again(client):
    plan = read_experiment(SMALL)
    runs = [experiments.laboratory().start(plan) for _ in range(experiments.MOST_RUNS)]
    try:
        answer = client.post("/api/v1/laboratory/runs", json={**SMALL, "seed": 23})
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "5"
        assert "Wait until one has ended, or cancel one" in answer.json()["detail"]
    finally:
        for run in runs:
            run.close()
    assert client.post("/api/v1/laboratory/runs", json={**SMALL, "seed": 23}).status_code == 200


def test_no_page_of_another_site_runs_anything(client):
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert client.post("/laboratory/runs", json=SMALL, headers=headers).status_code == 403


def test_no_stranger_runs_anything(guarded):
    assert guarded.nobody.get("/laboratory").headers["location"] == "/login?next=%2Flaboratory"
    assert guarded.nobody.get("/laboratory/transition").status_code == 303
    assert guarded.nobody.post("/laboratory/runs", json=SMALL).status_code in (303, 403)
    assert guarded.nobody.post("/api/v1/laboratory/runs", json=SMALL).status_code == 401
    assert guarded.reader.post("/laboratory/runs", json=SMALL).status_code == 200  # it changes nothing
    assert guarded.writer.post("/api/v1/laboratory/runs", json=SMALL).status_code == 200


def test_means_of_a_family(client):
    found = client.get("/laboratory/means", params={"family": "nearly tied", "arms": 3, "gap": 0.2})
    assert found.json() == {"means": [0.7, 0.68, 0.5]}
    refused = client.get("/laboratory/means", params={"family": "linear", "arms": 1, "gap": 0.2})
    assert refused.json()["detail"] == "`arms` must be a whole number in [2, 200]; got 1."


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="reads the processor time of a process from /proc")
def test_closing_the_connection_frees_the_cores_whichever_worker_has_the_run(sqlite):
    """Two workers: the run is followed over one connection; when that goes, both processes fall idle."""

    def busy(processes):
        ticks = 0
        for number in processes:
            with contextlib.suppress(OSError), open(f"/proc/{number}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    with service(sqlite, "--workers", "2") as running:
        parts = urlsplit(running.url)
        wire = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        with contextlib.closing(wire):
            wire.request(
                "POST", "/api/v1/laboratory/runs", json.dumps(LONG),
                {"Content-Type": "application/json", "Accept": "text/event-stream"},
            )  # fmt: skip
            answer = wire.getresponse()
            assert answer.status == 200
            for line in answer:
                if line.startswith(b"data: ") and json.loads(line[6:]).get("done", 0) > 0:
                    break
            answer.close()
        processes = [running.process.pid, *running.children()]
        deadline = time.monotonic() + PATIENCE
        used = 1.0
        while used > 0.2 and time.monotonic() < deadline:
            before = busy(processes)
            time.sleep(1.0)
            used = busy(processes) - before
        assert used <= 0.2, f"the service still used {used:.2f} s of processor time in a second"


def test_whichever_worker_is_asked_cancels_the_run(sqlite):
    """The worker that has the run is held still while another one takes the request."""
    with service(sqlite, "--workers", "2") as running:
        workers = until(lambda: len(found := running.children()) == 2 and found, "two workers")
        # A worker that is held still for long is replaced: the other one must be there to take the request.
        until(lambda: running.text.count("Application startup complete") >= 2, "both to be ready")
        parts = urlsplit(running.url)
        wire = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        with contextlib.closing(wire):
            wire.request(
                "POST", "/api/v1/laboratory/runs", json.dumps(LONG),
                {"Content-Type": "application/json", "Accept": "text/event-stream"},
            )  # fmt: skip
            answer = wire.getresponse()
            lines = (line.strip() for line in answer if line.strip())
            told = ((name.decode(), json.loads(data[6:])) for name, data in zip(lines, lines))
            name = next(told)[1]["run"]
            assert next(data for _, data in told if data["done"] > 0)["done"] > 0
            owner = int(name.partition("-")[0])
            assert owner in workers
            os.kill(owner, signal.SIGSTOP)
            try:
                path = f"/api/v1/laboratory/runs/{name}/cancel"
                assert running.ask(path, "POST")[0] == 204
                assert running.ask(path, "POST")[0] == 404  # it was cancelled
                assert running.ask(path.replace(name, f"{owner}-..%5Cfigures"), "POST")[0] == 404
            finally:
                os.kill(owner, signal.SIGCONT)
            *_, (event, last) = told
            assert event == "event: cancelled"
            assert last["done"] < last["total"]

        def logged():  # a line is written once the answer is out
            found = [line for line in running.lines if line.get("path") == path]
            return len(found) == 2 and found

        asked = until(logged, "both requests in the log")
        assert {line["worker"] for line in asked} == set(workers) - {owner}, running.text


def test_a_run_needs_no_folder_to_be_cancelled_where_it_runs(laboratory, tmp_path):
    laboratory.share(tmp_path)
    one = laboratory.start(read_experiment(SMALL))
    assert [file.name for file in tmp_path.iterdir()] == [f"{one.id}.run"]
    assert not one.cancelled
    other = Laboratory(1)
    other.share(tmp_path)
    with pytest.raises(UnknownName):
        other.cancel(f"{os.getpid()}-{'0' * 12}")
    other.cancel(one.id)
    assert one.cancelled
    one.close()
    laboratory.share(tmp_path / "swept away")
    two = laboratory.start(read_experiment(SMALL))
    assert not two.cancelled
    with pytest.raises(UnknownName):
        other.cancel(two.id)
    laboratory.cancel(two.id)
    assert two.cancelled
    two.close()
    three = laboratory.start(read_experiment(SMALL))
    three.close()
    assert list(tmp_path.iterdir()) == []


# The phase transition


@pytest.fixture
def quick_transition(monkeypatch):
    monkeypatch.setattr(transition, "HORIZON", 60)
    monkeypatch.setattr(transition, "REPLICATIONS", 5)
    monkeypatch.setattr(transition, "B_VALUES", (0.0, 0.5, 1.0))


def test_the_slider_has_every_b_simulated_once(laboratory, quick_transition, monkeypatch):
    made = transition.Transition(laboratory)

    async def collect():
        return [event async for event in made.events(5)]

    events = asyncio.run(collect())
    assert [name for name, _ in events] == ["started", "point", "point", "point", "done"]
    points = {data["b"]: data for name, data in events if name == "point"}
    for b, point in points.items():
        world = ap.Instance((1.0, 0.5, 0.5, 0.5, 0.5), b=b)
        whole = ap.simulate(
            list(transition.CONTESTANTS.values()), world, horizon=60, replications=5, seed=transition.SEED,
            periods=transition.MARKS, progress=False,
        )  # fmt: skip
        measured = whole.regret.values[:, 0].mean(axis=1)
        assert [policy["regret"] for policy in point["policies"]] == measured.tolist()
        assert point["toy"] == ap.theory.toy_example(5, b)._asdict()
    assert "pool" in points[0.0]["words"]["why"]
    assert "divide" in points[1.0]["words"]["why"]
    monkeypatch.setattr(transition, "simulate_point", None)  # a second look computes nothing
    assert asyncio.run(collect()) == events


def test_the_transition_shows_at_full_size():
    """At b = 0 pooling wins, at b = 1 dividing does, by far more than chance: at least 10 standard errors."""
    for b, better, worse in (
        (0.0, transition.POOLING, transition.DIVIDING),
        (1.0, transition.DIVIDING, transition.POOLING),
    ):
        ends = [transition.simulate_point(10, b, place) for place in (better, worse)]
        gap = ends[1]["regret"][-1] - ends[0]["regret"][-1]
        assert gap > 10 * float(np.hypot(ends[0]["error"][-1], ends[1]["error"][-1]))


def test_the_stream_of_the_slider(client, quick_transition):
    answer = client.get("/laboratory/transition", params={"arms": 2})
    assert [name for name, _ in events_of(answer.text)][-1] == "done"
    for arms in ("7", "many", "1e9"):
        refused = client.get("/laboratory/transition", params={"arms": arms})
        assert refused.status_code == 422
        assert refused.json()["detail"].startswith("`arms` must be")


def test_where_dividing_becomes_better():
    def point(b, *ends):
        return {"b": b, "policies": [{"regret": [end]} for end in ends]}

    points = [point(0.0, 1, 5), point(0.5, 2, 1), point(0.75, 2, 3), point(0.9, 2, 1), point(1.0, 2, 1)]
    assert transition.better_from(points, transition.DIVIDING) == 0.9
    assert transition.better_from(points[:3], transition.DIVIDING) is None


def test_few_arms_are_all_shown_and_many_are_added_up(laboratory):
    definition = {**SMALL, "instance": {"family": "linear", "arms": 12, "gap": 0.1, "b": 0.75}, "replications": 3}
    for policy in play(laboratory, definition)[-1][1]["policies"]:
        layers = policy["shares"]
        assert sorted(arm for layer in layers for arm in layer["arms"]) == list(range(12))
        assert len(layers) == 8
        np.testing.assert_allclose(np.sum([layer["share"] for layer in layers], axis=0), 1.0, atol=1e-10)
    plan = dataclasses.replace(read_experiment(definition), replications=1)
    assert seconds_of(plan)[0] < 1.0
