"""Sweeps on disk: interrupted in every way, they end in the result of one that was not."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import apportion as ap
from apportion.cli import main
from apportion.errors import SimulationFailed
from apportion.simulation import executors
from apportion.simulation.definition import read_definition
from apportion.simulation.sweep import run_sweep

SMALL = """\
[sweep]
seed = 3
replications = 4
horizon = [20, 50]
[grid]
b = [0.5, 0.75]
arms = 3
gap = 0.5
[[policy]]
name = "UCB"
[[policy]]
name = "Uniform"
"""

# 32 tasks of some 50 ms: long enough to be killed in between.
LARGE = """\
[sweep]
seed = 4
replications = 500
horizon = 20000
periods = 6
[grid]
b = [0.5, 0.75]
arms = 10
gap = 0.5
[[policy]]
name = "UCB"
[[policy]]
name = "FollowTheLeader"
"""


def write(folder, text):
    path = folder / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    return path


def sweep(path, folder, **options):
    return run_sweep(read_definition(path), folder, progress=False, **options)


def identical(ours, theirs):
    return len(ours) == len(theirs) and all(a.dataset.identical(b.dataset) for a, b in zip(ours, theirs))


def command(path, folder, *more):
    arguments = [sys.executable, "-m", "apportion", "simulate", str(path), "--out", str(folder), *more]
    # A shell's background job ignores Ctrl-C and hands that down; the command here must be able to hear it.
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def wait_for_tasks(process, folder, count):
    """Until the process has finished so many tasks more than there were."""
    before = len(list(folder.glob("tasks/*.npz")))
    while len(list(folder.glob("tasks/*.npz"))) < before + count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def test_killed_and_interrupted_sweeps_end_in_the_result_of_an_uninterrupted_one(tmp_path):
    path, folder = write(tmp_path, LARGE), tmp_path / "out"
    chance = random.Random(8)
    for kind in (signal.SIGKILL, signal.SIGKILL, signal.SIGINT):
        process = command(path, folder)
        wait_for_tasks(process, folder, chance.randint(1, 7))
        time.sleep(0.1 * chance.random())
        process.send_signal(kind)
        out, err = process.communicate(timeout=180)
        assert out == ""
        if kind == signal.SIGKILL:
            assert process.returncode == -signal.SIGKILL
        else:
            assert process.returncode == 130
            assert err == "Stopped; what is finished is stored: run the same command to go on.\n"
        assert not list(folder.glob("*.nc"))
    finished = {file: file.stat().st_mtime_ns for file in folder.glob("tasks/*.npz")}
    assert 3 <= len(finished) < 80

    process = command(path, folder, "--json")
    out, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (0, "")
    assert all(file.stat().st_mtime_ns == when for file, when in finished.items())  # nothing was done twice
    answer = json.loads(out)
    assert [entry["horizon"] for entry in answer["results"]] == [20000]
    assert {row["policy"] for row in answer["results"][0]["summary"]} == {"UCB", "FollowTheLeader"}
    assert {os.path.basename(file) for file in answer["files"]} >= {
        "report.html",
        "regret-T20000.png",
        "regret-T20000.svg",
    }
    assert all(os.path.getsize(file) > 1000 for file in answer["files"])

    uninterrupted = sweep(path, tmp_path / "other", workers=1)
    assert ap.load_result(folder / "result-T20000.nc").dataset.identical(uninterrupted[0].dataset)
    assert ap.load_result(answer["results"][0]["file"]).dataset.identical(uninterrupted[0].dataset)


def test_a_sweep_is_the_same_as_simulating_by_hand(tmp_path):
    results = sweep(write(tmp_path, SMALL), tmp_path / "out")
    worlds = [ap.Instance((1.0, 0.5, 0.5), b=b) for b in (0.5, 0.75)]
    for result, horizon in zip(results, (20, 50), strict=True):
        by_hand = ap.simulate([ap.UCB, ap.Uniform], worlds, horizon=horizon, replications=4, seed=3, progress=False)
        assert result.dataset.identical(by_hand.dataset)
        assert ap.load_result(tmp_path / "out" / f"result-T{horizon}.nc").dataset.identical(by_hand.dataset)


def test_what_is_finished_is_not_run_again(tmp_path, monkeypatch):
    path = write(tmp_path, SMALL)
    first = sweep(path, tmp_path / "out")

    def never(*arguments):
        raise AssertionError("nothing is left to run")

    monkeypatch.setattr(executors, "run_elsewhere", never)
    assert identical(sweep(path, tmp_path / "out"), first)


def damage_nothing(file):
    file.write_bytes(b"")


def damage_half(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def damage_byte(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def damage_text(file):
    file.write_text("not an archive")


def damage_other(file):
    np.savez(file, other=np.zeros(3))


def damage_short(file):
    np.savez(file, regret=np.zeros((1, 1)), reward=np.zeros((1, 1)))


@pytest.mark.parametrize(
    "damage", [damage_nothing, damage_half, damage_byte, damage_text, damage_other, damage_short, os.remove]
)
def test_a_damaged_task_is_run_again_and_no_other(tmp_path, monkeypatch, damage):
    path = write(tmp_path, SMALL)
    first = sweep(path, tmp_path / "out")
    file = sorted(tmp_path.glob("out/tasks/*.npz"))[2]
    whole = file.read_bytes()
    damage(file)
    ran = []
    run = executors.run_elsewhere
    monkeypatch.setattr(executors, "run_elsewhere", lambda task, code: ran.append(task) or run(task, code))
    assert identical(sweep(path, tmp_path / "out"), first)
    assert [task.digest() for task in ran] == [file.stem]
    with np.load(file) as mended:
        assert set(mended.files) == {"regret", "reward"}
    assert len(file.read_bytes()) == len(whole)


def test_the_folder_of_another_sweep_is_refused(tmp_path):
    path = write(tmp_path, SMALL)
    sweep(path, tmp_path / "out")
    for other in (
        SMALL.replace("seed = 3", "seed = 4"),
        SMALL.replace("0.75", "0.76"),
        SMALL.replace("UCB", "Odds"),
    ):
        with pytest.raises(ap.Conflict, match="holds the results of another sweep"):
            sweep(write(tmp_path, other), tmp_path / "out")
    write(tmp_path, SMALL.replace("[sweep]", "# a comment changes nothing\n[sweep]"))
    sweep(path, tmp_path / "out")
    (tmp_path / "out" / "sweep.json").write_text("{")
    with pytest.raises(ap.Conflict, match="holds the results of another sweep"):
        sweep(path, tmp_path / "out")


def test_folders_that_cannot_be_used(tmp_path):
    path = write(tmp_path, SMALL)
    with pytest.raises(ap.Conflict, match="is not empty and holds no sweep"):
        sweep(path, tmp_path)
    with pytest.raises(ap.InvalidValue, match="must be a folder that can be written"):
        sweep(path, path)
    with pytest.raises(ap.InvalidValue, match="must be a folder that can be written"):
        sweep(path, path / "below")


def test_drafts_of_a_killed_run_are_cleared_once_they_are_old(tmp_path):
    path = write(tmp_path, SMALL)
    sweep(path, tmp_path / "out")
    old, new = (tmp_path / "out" / "tasks" / name for name in ("old.1.part", "new.2.part"))
    for draft in (old, new):
        draft.write_bytes(b"half")
    os.utime(old, (1e9, 1e9))
    sweep(path, tmp_path / "out")
    assert not old.exists()
    assert new.exists()


BROKEN = """\
from apportion import Policy

class Late(Policy):
    def allocate(self, period, sums, memory, rng, shares):
        for arm in range(len(shares)):
            shares[arm] = 1.0 / len(shares)
        if period.number > 30:
            shares[0] = 0.0
"""


def test_a_task_that_fails_is_reported_and_the_others_are_kept(tmp_path):
    (tmp_path / "late_policy.py").write_text(BROKEN)
    text = SMALL.replace('name = "Uniform"', 'name = "Late"\nfile = "late_policy.py"')
    path = write(tmp_path, text)
    with pytest.raises(SimulationFailed) as caught:
        sweep(path, tmp_path / "out")
    lines = str(caught.value).splitlines()
    assert lines[0] == f"2 of 8 tasks failed; the others are kept in {tmp_path / 'out'}:"
    assert lines[1].startswith(
        "  Late() on K=3 b=0.5 σ=1 Δmin=0.5, T = 50, replications 0 to 3: InvalidValue: The shares"
    )
    assert lines[2].startswith("  Late() on K=3 b=0.75 σ=1 Δmin=0.5, T = 50, replications 0 to 3: InvalidValue: The")
    assert [file.name for file in (tmp_path / "out").glob("*.nc")] == ["result-T20.nc"]
    assert len(list(tmp_path.glob("out/tasks/*.npz"))) == 6
    assert np.isnan(caught.value.results[1].regret.sel(policy="Late")).all()
    # Mended, only what the file made is run again.
    (tmp_path / "late_policy.py").write_text(BROKEN.replace("> 30", "> 99"))
    mended = sweep(path, tmp_path / "out")
    assert len(list(tmp_path.glob("out/tasks/*.npz"))) == 6 + 4
    assert (mended[1].regret.sel(policy="Late").isel(period=-1).round(9) == round(50 / 3, 9)).all()


def run_main(monkeypatch, capsys, *arguments):
    """(exit code, output, errors) of the command line, in this process."""
    monkeypatch.setattr(sys, "argv", ["apportion", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        main()
    code = caught.value.code
    return (0 if code is None else code, *capsys.readouterr())


def test_exit_codes(tmp_path, monkeypatch, capsys):
    path = write(tmp_path, SMALL.replace("seed = 3", "seed = -3"))
    code, out, err = run_main(monkeypatch, capsys, "simulate", path)
    assert (code, out) == (2, "")
    assert err.startswith(f"{path}, line 2: `sweep.seed` is not possible")
    assert run_main(monkeypatch, capsys, "simulate", tmp_path / "missing.toml")[0] == 2
    assert run_main(monkeypatch, capsys, "simulate", write(tmp_path, SMALL), "--workers", "0")[0] == 2
    code, _, err = run_main(monkeypatch, capsys, "simulate", path, "--out", tmp_path)
    assert code == 2
    assert err == f"{tmp_path} is not empty and holds no sweep; choose another folder (--out).\n"


@pytest.mark.parametrize(
    "address", ["nonsense", "tcp://", "http://127.0.0.1:1", "tcp://127.0.0.1:1", "tcp://127.0.0.1:99999"]
)
def test_a_cluster_that_is_none_is_refused(tmp_path, monkeypatch, capsys, address):
    code, _, err = run_main(monkeypatch, capsys, "simulate", write(tmp_path, SMALL), "--cluster", address)
    assert code == 2
    assert err == f"`--cluster` must be the address of a running Dask scheduler, tcp://host:port; got {address}.\n"


def test_a_table_for_people_beside_the_pictures(tmp_path, monkeypatch, capsys):
    one = SMALL.replace("[20, 50]", "20").replace("[0.5, 0.75]", "0.75").replace("seed", 'record = ["shares"]\nseed')
    code, out, err = run_main(monkeypatch, capsys, "simulate", write(tmp_path, one))
    assert (code, err) == (0, "")
    assert "Regret after 20 periods, 4 replications, K=3 b=0.75 σ=1 Δmin=0.5" in out
    assert "Uniform" in out
    folder = tmp_path / "sweep-results"
    assert str(folder / "report.html") in out.replace("\n", "")
    made = {file.name for file in folder.glob("figures/*.svg")}
    assert made == {"regret-T20.svg", "regret-log-T20.svg", "final-regret-T20.svg", "shares-1.svg", "shares-2.svg"}


def test_without_matplotlib_there_is_a_report_and_a_word_about_it(tmp_path, monkeypatch, capsys):
    from apportion.cli.simulate import write_pictures

    monkeypatch.delattr("apportion.reporting.figures", raising=False)
    monkeypatch.setitem(sys.modules, "apportion.reporting.figures", None)
    path = write(tmp_path, SMALL)
    written = write_pictures(read_definition(path), sweep(path, tmp_path / "out"), tmp_path / "out")
    assert [file.name for file in written] == ["report.html"]
    assert "pip install 'apportion[plot]'" in capsys.readouterr().err
