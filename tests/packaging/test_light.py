"""The light install: what `pip install apportion` brings is small, and enough for a live campaign, to the last bit.

The environment is made of the wheel, and of copies of the packages that its metadata ask for, and those in turn,
without any extra. Nothing asks a network.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest
from closure import closure

from apportion._common import optional

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 300
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "110", "PYTHONIOENCODING": "utf-8"}
# The bar for what a live campaign needs, apportion and all byte code among it.
MOST_MEGABYTES, MOST_PACKAGES = 150, 20

# A campaign by the default policy: a dozen periods of amounts that differ, one outcome late, one corrected.
CAMPAIGN = """
import json, sys
import numpy as np
import apportion as ap
from apportion.campaigns.plain_data import plain, split_content

rng = np.random.default_rng(11)
campaign = ap.Campaign.create("ads", ("search", "social", "video", "radio"), budget=1000, seed=5, db="campaigns.db")
said, late = [], None
for period in range(12):
    split = campaign.split(1000 + 100 * (period % 3), date=f"2026-{period + 1:02}-01")
    outcomes = {
        arm: mean * amount**0.8 + 3.0 * rng.standard_normal() * amount**0.5 if amount > 0 else 0.0
        for (arm, amount), mean in zip(split.amounts.items(), (4.0, 3.0, 2.0, 1.5))
    }
    if period == 4:
        late = split.ticket, outcomes.pop("radio")
    campaign.record(split.ticket, outcomes)
    said.append(plain(split_content("ads", None, split)))
campaign.record(late[0], {"radio": late[1]})
campaign.amend(late[0], {"video": 77.5})
said.append(plain(split_content("ads", None, campaign.split(date="2027-01-01"))))
status = campaign.status()
said += [status.details, status.plain_notes, status.expected_regret, status.health and str(status.health)]
said += [str(campaign.plan(1200)), str(campaign.forecast(periods=2, worlds=4, seed=3, keep=False))]
assert campaign.check().ok
packages = sorted({name.partition(".")[0] for name in sys.modules} & set(json.loads(sys.argv[1])))
print(json.dumps([said, packages]))
"""


def ran(*command, **options):
    """What a command prints; an error with all it said where it fails."""
    options["env"] = {**os.environ, **QUIET, **options.get("env", {})}
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=PATIENCE, check=False, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this tree."""
    out = tmp_path_factory.mktemp("wheel")
    ran(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out, cwd=ROOT)
    (found,) = out.iterdir()
    return found


@pytest.fixture(scope="module")
def needs(wheel):
    """What the metadata of the wheel ask for, as they are written."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        return re.findall(r"^Requires-Dist: (.+)$", archive.read(name).decode(), re.MULTILINE)


def environment(folder, wheel, distributions):
    """A new environment with the wheel and copies of the distributions, and its Python."""
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    ran(
        sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet",
        "--no-deps", "--no-index", wheel,
    )  # fmt: skip
    site = Path(ran(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    for distribution in distributions:
        for file in distribution.files:
            source, target = Path(distribution.locate_file(file)), site / file
            if source.is_file() and target.resolve().is_relative_to(site.resolve()):  # not the programs beside it
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)  # of the same age, so that its byte code holds
    return python, site


@pytest.fixture(scope="module")
def light(wheel, needs, tmp_path_factory):
    """The environment of `pip install apportion`: its Python, and where its packages are."""
    return environment(tmp_path_factory.mktemp("light"), wheel, closure(needs).values())


@pytest.fixture
def away(tmp_path, monkeypatch):
    """A folder of our own that is not the tree, with its own database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("APPORTION_DB", str(tmp_path / "campaigns.db"))
    return tmp_path


def test_it_is_small(light):
    python, site = light
    installed = json.loads(
        ran(python, "-c", "import json; from importlib.metadata import distributions; "
            "print(json.dumps([each.name for each in distributions()]))")
    )  # fmt: skip
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) / 1e6
    assert "apportion" in installed
    assert len(installed) < MOST_PACKAGES, sorted(installed)
    assert size < MOST_MEGABYTES, f"{size:.1f} MB"
    assert size > 50  # it was all copied


def test_extras_bring_what_is_told_of_them(needs):
    base = set(closure(needs))
    assert not base & {"numba", "scipy", "pandas", "xarray", "h5py", "h5netcdf", "fastapi", "plotly", "matplotlib"}
    assert set(closure(needs, ("fast",))) - base == {"numba", "llvmlite"}
    assert {"numba", "scipy", "pandas", "xarray", "h5py", "h5netcdf"} <= set(closure(needs, ("lab",)))
    web = set(closure(needs, ("web",)))
    assert {"fastapi", "uvicorn", "plotly"} <= web
    assert not web & {"numba", "scipy", "pandas", "xarray", "h5py", "matplotlib"}


def test_a_campaign_runs_on_it_to_the_last_bit(light, away):
    heavy = json.dumps([name for names in optional.EXTRAS.values() for name in names])
    said = []
    for name, program in (("light", light[0]), ("full", Path(sys.executable))):
        (away / name).mkdir()
        said.append(json.loads(ran(program, "-c", CAMPAIGN, heavy, cwd=away / name)))
    assert said[0][0] == said[1][0]
    assert len(said[0][0]) == 12 + 1 + 4 + 2
    assert said[0][1] == []  # nor does a full install load more than that for it


def test_the_commands_of_a_campaign_work(light, away):
    python, _ = light

    def apportion(*arguments):
        return ran(python, "-m", "apportion", *arguments)

    apportion("new", "ads", "--arms", "search,social", "--budget", "100")
    rows = [f"2026-01-{day:02},{arm},{10 + day},{4 * day}" for day in range(1, 5) for arm in ("search", "social")]
    (away / "past.csv").write_text("date,arm,amount,outcome\n" + "\n".join(rows) + "\n")
    apportion("import", "ads", "past.csv")
    ticket = json.loads(apportion("split", "ads", "--json"))["ticket"]
    apportion("record", "ads", "search=51", "social=20", "--ticket", str(ticket))
    status = json.loads(apportion("status", "ads", "--json"))
    assert status["period"] == 5
    apportion("settings", "ads", "--rule", "social <= 3%")  # limits on growth give way to it
    assert json.loads(apportion("split", "ads", "--json"))["arms"][1]["share"] <= 0.03 + 1e-9
    apportion("plan", "ads", "--budget", "150")
    apportion("forecast", "ads", "--worlds", "4")
    apportion("export", "ads", "--out", "ads.csv")
    apportion("report", "ads")
    assert json.loads(apportion("check", "ads", "--json"))["ok"]
    found = {row["what"]: row for row in json.loads(apportion("doctor", "--json"))["findings"]}
    for extra in optional.EXTRAS:
        assert (found[extra]["state"], "pip install" in found[extra]["advice"]) == ("note", True), extra
    refused = subprocess.run([python, "-m", "apportion", "serve"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "pip install 'apportion[web]'" in refused.stderr


def test_the_service_needs_web_and_nothing_else(light, needs, away):
    """`pip install 'apportion[web]'`: the pages of a campaign, with no package of the laboratory."""
    python, site = light
    more = away / "web"
    for distribution in set(closure(needs, ("web",)).values()):
        for file in distribution.files:
            source, target = Path(distribution.locate_file(file)), more / file
            if source.is_file() and not (site / file).exists() and target.resolve().is_relative_to(more.resolve()):
                target.parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileExistsError):
                    target.symlink_to(source)
    env = {**os.environ, **QUIET, "PYTHONPATH": str(more)}
    ran(python, "-m", "apportion", "new", "ads", "--arms", "search,social", "--budget", "100")
    ran(python, "-m", "apportion", "split", "ads")
    ran(python, "-m", "apportion", "record", "ads", "search=51", "social=20")
    command = [python, "-m", "apportion", "serve", "--port", "0", "--json"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env) as process,
        contextlib.ExitStack() as last,
    ):
        last.callback(process.terminate)
        url = json.loads(process.stdout.readline())["url"]
        for path in ("/", "/campaigns/ads", "/campaigns/ads/report", "/laboratory", "/api/v1/campaigns/ads/plan"):
            with urllib.request.urlopen(url + path, timeout=PATIENCE) as answer:
                assert answer.status == 200, path
                assert answer.read(), path
