"""A real Dask cluster of two processes on this machine: same bits, lost workers, tasks that always fail."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import distributed
import pytest
from faulty_policies import Failing, Lazy

import apportion as ap
from apportion.cli import main
from apportion.errors import SimulationFailed
from apportion.simulation import plan
from apportion.simulation.definition import read_definition
from apportion.simulation.sweep import run_sweep

# Dask warns of a slow disk after one second, which a busy machine can take as well.
pytestmark = pytest.mark.filterwarnings("ignore:Creating scratch directories is taking:UserWarning")

WORLDS = [ap.Instance((1.0, 0.5), b=0.75), ap.Instance((1.0, 0.5, 0.2), b=0.5, noise="laplace")]


@pytest.fixture(scope="module")
def cluster():
    # Workers are processes of their own, started anew by a nanny when they die.
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", silence_logs=50
    ) as started:
        yield started


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as connected:
        connected.wait_for_workers(2, timeout=180)
        yield connected


def simulate(policies, seed=6, **options):
    return ap.simulate(policies, WORLDS, horizon=40, replications=12, seed=seed, progress=False, **options)


def test_a_killed_worker_is_made_good_to_the_last_bit(client, monkeypatch):
    monkeypatch.setattr(plan, "LARGEST_TASK", 3)
    policies = [Lazy(pid=os.getpid()), ap.UCB(), ap.Thompson(b=0.75)]
    here = simulate(policies, workers=2)
    pids = client.run(os.getpid)
    assert len(set(pids.values()) | {os.getpid()}) == 3
    victim = next(iter(pids.values()))
    killer = threading.Timer(0.35, os.kill, (victim, signal.SIGKILL))  # while it waits in `prepared`
    killer.start()
    there = simulate(policies, executor=client)
    killer.join()
    assert there.dataset.identical(here.dataset)
    deadline = time.monotonic() + 180
    while victim in client.run(os.getpid, on_error="ignore").values() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert victim not in client.run(os.getpid, on_error="ignore").values()  # it was killed, and not after the end


def test_a_task_that_always_fails_is_reported_and_the_others_finish(client):
    failing = Failing(pid=os.getpid())
    with pytest.raises(SimulationFailed) as caught:
        simulate([ap.UCB(), failing], executor=client)
    assert str(caught.value).splitlines() == [
        "2 of 4 tasks failed:",
        *(
            f"  {failing.label} on {world.label}, T = 40, replications 0 to 11: "
            "RuntimeError: this machine is not to my liking."
            for world in WORLDS
        ),
    ]
    others = caught.value.result.regret.sel(policy="UCB()")
    assert others.equals(simulate(ap.UCB()).regret.sel(policy="UCB()"))


def test_a_worker_with_other_code_is_refused(client):
    from apportion._common import sources

    def pretend(digest):
        sources.simulation_digest.cache_clear()
        from apportion.simulation import task

        task.simulation_digest = (lambda: digest) if digest else sources.simulation_digest

    client.run(pretend, "another")
    try:
        with pytest.raises(SimulationFailed, match="the worker's version of apportion, or of a user's file, is not"):
            simulate(ap.Uniform(), executor=client)
    finally:
        client.run(pretend, "")
    simulate(ap.Uniform(), executor=client)


POLICY = """\
from apportion import Policy

class Own(Policy):
    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 0.0
        shares[(period.number + 1) % len(shares)] = 1.0
"""
WORLD = """\
from typing import NamedTuple

from apportion import Noise, World
from apportion.model.noise import draw_noise

class Coin(Noise, NamedTuple("Coin", [])):
    def draw(self, amount, rng):
        return 1.0 if rng.random() < 0.5 else -1.0

class Threshold(World):
    rates: tuple[float, ...]
    noise: Noise = Coin()

    def outcome(self, number, arm, amount, state, rng):
        expected = self.rates[arm] if amount >= 0.5 else 0.0
        return expected, expected + draw_noise(self.noise, amount, rng)

    def best_value(self, number, budget, state):
        return budget * self.rates.sum() / 0.5
"""
SWEEP = """\
[sweep]
horizon = 30
replications = 3
[[instance]]
means = [1.0, 0.0]
b = 0.5
[[instance]]
world = "own_clustered_worlds:Threshold"
rates = [1.0, 0.0]
noise = "own_clustered_worlds:Coin"
[[policy]]
name = "Own"
file = "own_clustered.py"
"""


def test_the_command_line_with_a_policy_and_a_world_that_the_workers_do_not_have(
    cluster, tmp_path, monkeypatch, capsys
):
    toml, file = tmp_path / "sweep.toml", tmp_path / "own_clustered.py"
    toml.write_text(SWEEP)
    file.write_text(POLICY)
    world = tmp_path / "own_clustered_worlds.py"
    world.write_text(WORLD)
    arguments = ["simulate", str(toml), "--json", "--cluster", cluster.scheduler_address, "--out"]
    done = subprocess.run(
        [sys.executable, "-m", "apportion", *arguments, str(tmp_path / "first")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    first = ap.load_result(json.loads(done.stdout)["results"][0]["file"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert first.dataset.identical(run_sweep(read_definition(toml), tmp_path / "here", progress=False)[0].dataset)
    # Edited, on workers that have the old one; in this process and without pictures, to save time.
    file.write_text(POLICY.replace("+ 1)", "+ 0)"))
    world.write_text(WORLD.replace("else -1.0", "else -2.0"))
    monkeypatch.setattr("apportion.cli.simulate.write_pictures", lambda *_: [])
    monkeypatch.setattr(sys, "argv", ["apportion", *arguments, str(tmp_path / "second")])
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    second = ap.load_result(json.loads(capsys.readouterr().out)["results"][0]["file"])
    assert second.dataset.identical(run_sweep(read_definition(toml), tmp_path / "here", progress=False)[0].dataset)
    for index in range(2):
        assert not second.reward.isel(instance=index).equals(first.reward.isel(instance=index))
