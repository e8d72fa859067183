"""A user's own world and noise: played, stored, shown; refused in a sentence where they cannot be."""

import json
import pickle
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import own_worlds
import pytest
from own_worlds import Capped, Cosine, Threshold

import apportion as ap
from apportion.errors import IncompatibleState, InvalidValue
from apportion.model.noise import noise_family
from apportion.model.worlds import world_from_dict
from apportion.simulation.definition import read_definition
from apportion.simulation.engines.dense import Dense
from apportion.simulation.engines.records import empty_traces
from apportion.simulation.engines.streams import streams
from apportion.simulation.sweep import run_sweep
from apportion.simulation.task import Task, run_packed
from apportion.testing import WORLD_CHECKS, ContractBroken, check_world

OWN = Path(own_worlds.__file__)
RATES = (0.9, 1.0, 0.2)
WORLDS = {
    "capped": Capped(RATES),
    "own noise": Capped(RATES, cap=0.3, noise=Cosine(1.0)),
    "threshold": Threshold(RATES),
    "own response": own_worlds.Root(RATES),
    "own response that moves": ap.Moving(own_worlds.Root(RATES, noise="uniform"), step=0.1),
    "law with own noise": ap.Instance(RATES, b=0.75, noise=Cosine(1.0)),
    "moving with own noise": ap.Moving(ap.Instance(RATES, b=0.75, noise=Cosine(1.0)), step=0.1),
    "instance": ap.Instance(RATES, b=0.5, sigma=(0.2, 1.0, 0.4), c=0.6),
    "saturating": ap.Saturating(RATES, 0.3, b=0.5),
    "logarithmic": ap.Logarithmic(RATES, (0.1, 2.0, 0.3), b=0.75, noise="student"),
    "moving": ap.Moving(ap.Logarithmic(RATES, 0.5, b=0.75), step=0.05, season=0.5, season_length=9, jump_every=4),
}


@pytest.fixture(autouse=True)
def _forget_modules(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@pytest.mark.parametrize("check", WORLD_CHECKS)
def test_the_contract_of_worlds(world, check):
    check(world)


@pytest.mark.parametrize("world", [WORLDS["capped"], WORLDS["own noise"], WORLDS["threshold"]])
def test_it_is_played_stored_and_shown(world, tmp_path):
    policies = [ap.Informed(ap.Odds, {"b": 0.5}), ap.Uniform()]
    options = {"horizon": 60, "replications": 3, "seed": 1, "progress": False, "record": ("regret", "shares")}
    found = ap.simulate(policies, [world, ap.Instance(RATES, b=0.5)], **options)
    assert (np.diff(found.regret.values, axis=-1) > -1e-12).all()
    found.save(tmp_path / "result.nc")
    loaded = ap.load_result(tmp_path / "result.nc")
    assert loaded.worlds == (world, ap.Instance(RATES, b=0.5))
    assert loaded.dataset["world"].values.tolist() == [type(world).__name__, "Instance"]
    assert next(iter(loaded.provenance["own worlds"])) == type(world).__name__
    assert loaded.summary().shape == (4, 6)
    loaded.plot()
    ap.figures.final_regret_distribution(loaded)
    ap.figures.shares_over_time(loaded, policy="Odds(b=0.5)", instance=world.label)
    ap.report.experiment_report("mine", [loaded], tmp_path / "report.html")


def test_other_processes_play_it_to_the_last_bit():
    worlds = [WORLDS["own noise"], WORLDS["threshold"], WORLDS["moving with own noise"]]
    options = {"horizon": 40, "replications": 2, "seed": 1, "progress": False}
    here = ap.simulate(ap.Uniform(), worlds, **options)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        there = ap.simulate(ap.Uniform(), worlds, executor=pool, **options)
    np.testing.assert_array_equal(here.regret.values, there.regret.values)


def test_what_a_notebook_defines_is_refused_on_a_cluster(monkeypatch):
    class Notebook(Capped):
        """A world that no worker can import."""

    for cls in (Notebook, Notebook.Record):
        monkeypatch.setattr(cls, "__module__", "__main__")
    task = Task(ap.Uniform(), Notebook(RATES), 5, (5,), ("regret",), 1, 0, 1)
    packed = pytest.importorskip("cloudpickle").dumps(task)
    with pytest.raises(IncompatibleState, match="Notebook must be in a file that the workers can import, not in"):
        run_packed(packed, "")


def test_noise_of_ones_own_survives():
    noise = Cosine(0.5)
    assert noise.name == "cosine"
    assert noise.describe() == {"name": "own_worlds:Cosine", "size": 0.5}
    world = ap.Instance(RATES, b=0.5, noise=noise)
    assert noise_family(json.loads(json.dumps(noise.describe()))) == noise
    assert world_from_dict(json.loads(json.dumps(world.to_dict()))) == world
    assert pickle.loads(pickle.dumps(world)) == world
    assert ap.Instance(RATES, 0.5, noise={"name": "own_worlds:Cosine", "size": 0.5}) == world
    with pytest.raises(InvalidValue, match=r"`noise` must be 'own_worlds:Cosine' with 'size'; got \[\]"):
        noise_family("own_worlds:Cosine")
    with pytest.raises(InvalidValue, match="subclass of Noise"):
        noise_family("own_worlds:Capped")
    with pytest.raises(InvalidValue, match="must be a record"):
        type("Bare", (ap.Noise,), {})


def sweep(tmp_path, instance, policy='name = "Uniform"', copy=True):
    if copy:
        shutil.copy(OWN, tmp_path / "my_worlds.py")
    file = tmp_path / "sweep.toml"
    file.write_text(
        f"[sweep]\nhorizon = 30\nreplications = 2\n\n{instance}\n\n[[policy]]\n{policy}\n", encoding="utf-8"
    )
    return file


@pytest.mark.parametrize(
    ("instance", "label"),
    [
        ('[[instance]]\nworld = "my_worlds:Capped"\nrates = [0.9, 1.0]\ncap = 0.25', "Capped K=2"),
        (
            '[[instance]]\nfile = "my_worlds.py"\nworld = "Capped"\nrates = [0.9, 1.0]\nnoise = "laplace"',
            "Capped K=2",
        ),
        (
            '[[instance]]\nmeans = [1.0, 0.5]\nb = 0.5\nnoise = {name = "my_worlds:Cosine", size = 1.0}',
            "K=2 b=0.5 σ=1 Δmin=0.5 cosine",
        ),
        (
            '[[instance]]\nworld = "Moving"\nstep = 0.03\n[instance.base]\nmeans = [1.0, 0.5]\nb = 0.5\nc = 0.8',
            "K=2 b=0.5 c=0.8 σ=1 Δmin=0.5 step=0.03",
        ),
        (
            '[[instance]]\nworld = "Saturating"\nmeans = [1.0, 0.5]\nscale = [0.1, 1.0]\nb = 0.5',
            "Saturating K=2 b=0.5 h=0.1–1 σ=1",
        ),
        (
            "[grid]\nb = 0.5\narms = 3\ngap = 0.5\nc = 0.7\nsigma = [[1.0, 0.5, 2.0]]",
            "K=3 b=0.5 c=0.7 σ=0.5–2 Δmin=0.5",
        ),
    ],
)
def test_a_sweep_names_it(tmp_path, instance, label):
    definition = read_definition(sweep(tmp_path, instance))
    assert [world.label for world in definition.plans[0].instances] == [label]
    assert [path.name for path in definition.files] == (["my_worlds.py"] if "my_worlds" in instance else [])
    (found,) = run_sweep(definition, tmp_path / "results", progress=False)
    assert np.isfinite(found.regret.values).all()
    assert found.worlds == definition.plans[0].instances


def test_an_edited_world_is_simulated_anew(tmp_path):
    noise = '{name = "my_worlds:Cosine", size = 1.0}'
    instance = f'[[instance]]\nworld = "my_worlds:Capped"\nrates = [0.9, 1.0]\nnoise = {noise}'
    first = read_definition(sweep(tmp_path, instance)).plans[0].jobs()[0].task.digest()
    mine = tmp_path / "my_worlds.py"
    mine.write_text(
        mine.read_text(encoding="utf-8").replace("0.1 * draw_noise", "0.2 * draw_noise"), encoding="utf-8"
    )
    second = read_definition(sweep(tmp_path, instance, copy=False)).plans[0].jobs()[0].task.digest()
    assert first != second


@pytest.mark.parametrize(
    ("instance", "sentence"),
    [
        (
            '[[instance]]\nworld = "Nowhere"',
            "line 6: `instance.world` is not possible: `world` must be one of Instance,",
        ),
        (
            '[[instance]]\nworld = "my_worlds:Capped"\nrates = [0.9, 1.0]\ncup = 1',
            "line 8: `instance.cup` is not possible: `Capped` must be given rates, cap, noise; got 'cup'.",
        ),
        (
            '[[instance]]\nworld = "my_worlds:Lost"',
            "line 6: `instance.world` is not possible: `world` 'my_w",
        ),
        (
            '[[instance]]\nfile = "my_worlds.py"\nworld = "Cosine"',
            "line 7: `instance.world` must be a world of my_worlds.py; got 'Cosine'.",
        ),
        (
            '[[instance]]\nworld = "my_worlds:TooLow"\nrates = [0.9, 1.0]',
            "line 6: `instance.world` is not possible: TooLow cannot be played: `best_value` must be at least what "
            "any split is expected to earn; got 0.5 in period 1, where the even split earns 0.95.",
        ),
        ("[[instance]]\nmeans = [1.0, 0.5]\nb = 0.5\nc = 1.5", "`instance.c` is not possible"),
    ],
)
def test_a_mistake_in_a_sweep_is_named_with_its_line(tmp_path, instance, sentence):
    with pytest.raises(InvalidValue) as error:
        read_definition(sweep(tmp_path, instance))
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: own_worlds.OneNumber(RATES),
            "OneNumber cannot be played: `outcome` must return two numbers",
        ),
        (
            lambda: own_worlds.NotANumber(RATES),
            "NotANumber cannot be played: `outcome` must give finite",
        ),
        (lambda: own_worlds.WrongIndex(RATES), "WrongIndex cannot be played: IndexError"),
        (lambda: own_worlds.TooLow(RATES), "TooLow cannot be played: `best_value` must be at least"),
        (lambda: own_worlds.Greedy(RATES), "`Greedy` must have a function `best_value`, without which it cannot"),
        (lambda: own_worlds.Capped("x"), "at least two arms|one number per arm"),
    ],
)
def test_what_cannot_be_played_is_refused(make, sentence):
    import re

    with pytest.raises(InvalidValue) as error:
        ap.simulate(ap.Uniform(), make(), horizon=10, replications=1, seed=1, progress=False)
    assert re.search(sentence, str(error.value)), error.value


def test_policies_and_engines_that_need_more_say_so():
    options = {"horizon": 10, "replications": 1, "seed": 1, "progress": False}
    for policy, missing in ((ap.Recommended, "b"), (ap.Oracle, "means")):
        with pytest.raises(
            InvalidValue, match=f"`{missing}` of {policy.__name__} must be given.*Capped does not say it"
        ):
            ap.simulate(policy, Capped(RATES), **options)
    with pytest.raises(InvalidValue, match=r"`means` of Oracle must be given.*Saturating does not say it"):
        ap.simulate(ap.Oracle, WORLDS["saturating"], **options)
    for world in (Capped(RATES), WORLDS["moving"], WORLDS["threshold"]):
        with pytest.raises(InvalidValue, match="which is not the law of `Instance`"):
            ap.simulate(ap.Uniform(), world, engine="leap", **options)


def test_nothing_is_asked_about_an_amount_of_nothing():
    traces = empty_traces(1, 20, 3)
    world = own_worlds.Strict(RATES)
    for policy in (ap.UCB(), ap.SuccessiveElimination(b=0.5), ap.FollowTheLeader(b=0.5)):
        Dense(policy, world, 20, range(1, 21), plain=True).run(streams("check", 3, 0, 1), traces)
        Dense(policy, world, 20, range(1, 21), plain=True).run(
            streams("check", 3, 0, 1), traces, streams("noise", 3, 0, 1)
        )
    assert np.isnan(world.draw([0.0, 1.0, 0.0], np.random.default_rng(1))).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("world", "sentence"),
    [
        (own_worlds.Biased(RATES), "what comes back must be what is expected on average; on arm 0 it is off by 0.0"),
        (own_worlds.TooLow(RATES), "`best_value` must be at least what any split"),
    ],
)
def test_the_checker_finds_what_is_wrong(world, sentence):
    with pytest.raises(ContractBroken) as error:
        check_world(world)
    assert sentence in str(error.value)


def test_the_digest_of_a_world_does_not_depend_on_what_else_is_loaded():
    from typing import NamedTuple

    from apportion.model.noise import draw_noise
    from apportion.simulation import user_code

    class Noisy(ap.World):
        rates: tuple[float, ...]
        noise: ap.Noise = ap.Gaussian()

        def outcome(self, number, arm, amount, state, rng):
            return 0.0, draw_noise(self.noise, amount, rng)

        def best_value(self, number, budget, state):
            return 0.0

    before = user_code.code_of(Noisy)

    class Another(ap.Noise, NamedTuple("Another", [])):
        name = "another"
        proxy = 1.0

        def draw(self, amount, rng):
            return rng.random() - 0.5

    assert draw_noise(Another(), 1.0, np.random.default_rng(1)) < 0.5
    user_code._codes.pop(Noisy)
    assert user_code.code_of(Noisy) == before
