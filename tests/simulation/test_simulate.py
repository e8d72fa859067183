"""`ap.simulate`: what it takes, what it refuses, and where it can run."""

import multiprocessing
import os
import re
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from faulty_policies import Deadly, Failing

import apportion as ap
from apportion.errors import SimulationFailed
from apportion.simulation import executors, plan

WORLD = ap.Instance((1.0, 0.5), b=0.75)
GOOD = {"policies": ap.Uniform(), "instances": WORLD, "horizon": 10, "replications": 2, "seed": 0, "progress": False}


def simulate(**options):
    return ap.simulate(**{**GOOD, **options})


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"horizon": 0}, "`horizon` must be a whole number in [1, 1e+15]; got 0."),
        ({"horizon": 2.5}, "`horizon` must be a whole number in [1, 1e+15]; got 2.5."),
        ({"horizon": 10**300}, "`horizon` must be a whole number in [1, 1e+15]; got"),
        ({"policies": []}, "`policies` must be a list with at least one entry; got []."),
        ({"policies": 3}, "`policies` must be a list; got 3."),
        ({"policies": "Odds"}, "`policies` must be a list; got 'Odds'."),
        ({"policies": ["Odds"]}, "`policies` must be a list of policies such as apportion.Odds(b=0.75); got 'Odds'."),
        (
            {"policies": [int]},
            "`policies` must be a list of policies such as apportion.Odds(b=0.75); got <class 'int'>.",
        ),
        ({"instances": []}, "`instances` must be a list with at least one entry; got []."),
        ({"instances": [3]}, "`instances` must be a list of worlds such as apportion.Instance; got 3."),
        ({"instances": ap.Instance((1.0,), b=0.5)}, "`instances` must be worlds with at least two arms; got 'K=1"),
        ({"replications": 0}, "`replications` must be a whole number of at least 1; got 0."),
        ({"replications": True}, "`replications` must be a whole number of at least 1; got True."),
        ({"replications": 10**14}, "`replications` must be few enough for memory: half of"),
        ({"seed": -1}, "`seed` must be a whole number of at least 0; got -1."),
        ({"seed": None}, "`seed` must be a whole number of at least 0; got None."),
        ({"record": ["regrets"]}, "`record` must be one of 'regret', 'reward',"),
        ({"record": 5}, "`record` must be a list of names; got 5."),
        ({"periods": 0}, "`periods` must be a whole number in [1, 1e+06]; got 0."),
        ({"periods": True}, "`periods` must be a whole number in [1, 1e+06]; got True."),
        ({"periods": "ten"}, "`periods` must be a whole number in [1, 1e+06]; got 'ten'."),
        ({"periods": [11]}, "`periods` must be a whole number in [1, 10]; got 11."),
        ({"periods": []}, "`periods` must be a number, or periods up to the horizon; got []."),
        ({"engine": "fast"}, "`engine` must be one of"),
        ({"common": 1}, "`common` must be True or False; got 1."),
        ({"workers": 0}, "`workers` must be a whole number of at least 1; got 0."),
        ({"executor": 7}, "`executor` must be a concurrent.futures.Executor or a distributed.Client; got 7."),
        (
            {"policies": ap.Oracle(means=(1.0, 2.0, 3.0))},
            "Oracle(means=(1.0, 2.0, 3.0)) cannot run on K=2 b=0.75 σ=1 Δmin=0.5: `means` must be one number",
        ),
        (
            {"policies": ap.EpsilonGreedy, "instances": ap.Instance((1.0, 0.5), b=0.25)},
            "EpsilonGreedy cannot run on K=2 b=0.25 σ=1 Δmin=0.5: `b` must be",
        ),
    ],
)
def test_bad_input_gets_a_clear_sentence(changed, sentence):
    with pytest.raises(ap.InvalidValue) as caught:
        simulate(**changed)
    assert str(caught.value).startswith(sentence)
    assert str(caught.value).endswith(".")


def test_sigma_0_is_refused_by_the_instance():
    with pytest.raises(ap.InvalidValue, match=re.escape("`sigma` must be a number above 0; got 0.0.")):
        ap.Instance((1.0, 0.5), b=0.75, sigma=0.0)


def test_numbers_may_be_whole_floats_and_regret_is_recorded_always():
    found = simulate(horizon=1e1, replications=2.0, periods=3.0, record="leader")
    assert set(found.dataset.data_vars) == {"regret", "leader"}
    assert found.dataset.sizes["period"] == 3


def test_a_class_gets_the_truth_of_each_instance():
    worlds = [ap.Instance((1.0, 0.5), b=b, sigma=2.0) for b in (0.6, 0.9)]
    informed = simulate(policies=[ap.Odds, ap.Informed(ap.Odds, {"tilt": 1.0})], instances=worlds)
    assert informed.regret["policy"].values.tolist() == ["Odds", "Odds(tilt=1.0)"]
    for index, b in enumerate((0.6, 0.9)):
        by_hand = simulate(policies=ap.Odds(b=b, sigma=2.0), instances=worlds[index])
        np.testing.assert_array_equal(informed.regret.values[0, index], by_hand.regret.values[0, 0])


def test_policies_and_instances_of_the_same_name_get_numbers():
    found = simulate(policies=[ap.Uniform(), ap.Uniform()], instances=[WORLD, ap.Instance((2.0, 1.5), b=0.75)])
    assert found.regret["policy"].values.tolist() == ["Uniform()", "Uniform() #2"]
    assert found.regret["instance"].values.tolist() == [WORLD.label, f"{WORLD.label} #2"]
    assert len(found.summary()) == 4


def test_instances_of_different_size_leave_gaps():
    worlds = [WORLD, ap.Instance((1.0, 0.5, 0.0), b=0.75)]
    found = simulate(instances=worlds, record=("shares", "active", "eliminated"))
    shares = found.dataset["shares"].isel(policy=0, instance=0)
    assert np.isnan(shares.sel(arm=2)).all()
    assert (shares.sel(arm=[0, 1]) == 0.5).all()
    assert not found.dataset["active"].isel(instance=0, arm=2).any()


class Halved(ap.Policy):
    """Spends half."""

    late: int = 1

    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 1.0 / len(shares)
        if period.number >= self.late:
            shares[0] = 0.0


class Astray(ap.Policy):
    """Writes where nothing is."""

    def allocate(self, period, sums, memory, rng, shares):
        shares[len(shares)] = 1.0


class Listed(ap.Policy):
    """Has a parameter that is not plain data."""

    numbers: object

    def allocate(self, period, sums, memory, rng, shares):
        shares[0] = 1.0


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (Halved(), "shares of Halved() must be of at least 0 and add up to 1; in period 1 they do not."),
        (Astray(), "Astray() cannot run on K=2 b=0.75 σ=1 Δmin=0.5: IndexError: index 2 is out of bounds"),
        (Listed({1, 2}), "TypeError: Object of type set is not JSON serializable."),
    ],
)
def test_mistakes_in_a_policy_are_found_before_anything_is_compiled(policy, sentence):
    with pytest.raises(ap.InvalidValue, match=re.escape(sentence)):
        simulate(policies=policy)


def test_shares_that_go_wrong_later_are_found_at_the_next_mark():
    with pytest.raises(SimulationFailed) as caught:
        simulate(policies=[Halved(late=40), ap.Uniform()], horizon=100)
    assert str(caught.value).startswith("1 of 2 tasks failed:\n  Halved(late=40) on K=2 b=0.75")
    assert re.search(r"in period 4\d they do not", str(caught.value))
    assert np.isnan(caught.value.result.regret.isel(policy=0)).all()
    assert (caught.value.result.regret.isel(policy=1, period=-1) == 25.0).all()


def small_tasks(monkeypatch, size=3):
    monkeypatch.setattr(plan, "LARGEST_TASK", size)


def spawning():
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


def test_every_executor_gives_the_same_bits_and_a_lost_process_is_made_good(monkeypatch, tmp_path):
    small_tasks(monkeypatch)
    deadly = Deadly(pid=os.getpid(), marker=str(tmp_path / "died"))
    options = {"policies": [ap.UCB(), deadly], "instances": WORLD, "replications": 8}
    here = simulate(**options, workers=1)
    with ThreadPoolExecutor(2) as threads:
        assert simulate(**options, executor=threads).dataset.identical(here.dataset)
    assert not (tmp_path / "died").exists()
    with spawning() as processes:
        assert simulate(**options, executor=processes).dataset.identical(here.dataset)
    assert (tmp_path / "died").exists()


def test_a_task_that_ends_its_process_every_time_is_named_and_the_others_finish(monkeypatch):
    monkeypatch.setattr(executors, "RETRIES", 2)
    deadly = Deadly(pid=os.getpid())
    with spawning() as processes, pytest.raises(SimulationFailed) as caught:
        simulate(policies=[ap.Uniform(), deadly, Failing(pid=os.getpid())], executor=processes)
    where = "on K=2 b=0.75 σ=1 Δmin=0.5, T = 10, replications 0 to 1"
    assert str(caught.value).splitlines() == [
        "2 of 3 tasks failed:",
        f"  Deadly(pid={os.getpid()}) {where}: the worker that had it ended all of a sudden, 2 times.",
        f"  Failing(pid={os.getpid()}) {where}: RuntimeError: this machine is not to my liking.",
    ]
    missing = np.isnan(caught.value.result.regret.values).all(axis=(1, 2, 3))
    assert missing.tolist() == [False, True, True]


def test_an_executor_that_was_shut_down_is_refused():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(ap.InvalidValue, match="`executor` must be an executor that takes tasks"):
        simulate(executor=pool)


def test_a_bar_only_where_it_is_wanted(capsys):
    simulate(progress=None)
    assert capsys.readouterr() == ("", "")
    simulate(progress=True, replications=3)
    out, bar = capsys.readouterr()
    assert out == ""
    assert "simulating" in bar
    assert "100%" in bar
    assert "arm-periods/s" in bar


def test_ctrl_c_in_a_simulation_comes_through_and_leaves_nothing_waiting(monkeypatch):
    small_tasks(monkeypatch)

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(executors.futures, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        simulate(replications=100, workers=1)
