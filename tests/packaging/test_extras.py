"""Without an extra: everything else works, and what needs it says which packages and the pip command."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import apportion as ap
from apportion._common import optional

ROOT = Path(__file__).parent.parent.parent
ALL = [name for names in optional.EXTRAS.values() for name in names]

# As if they were not installed: an import of one of them fails, and so does a search for it.
BLOCK = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("APPORTION_DB", str(tmp_path / "campaigns.db"))
    monkeypatch.setenv("COLUMNS", "110")
    rows = [f"{arm},{amount},{amount * 0.4 + amount % 7}" for arm in "ab" for amount in range(10, 90, 3)]
    (tmp_path / "history.csv").write_text("arm,amount,outcome\n" + "\n".join(rows) + "\n")
    (tmp_path / "history.xlsx").write_bytes(b"PK\x03\x04")
    (tmp_path / "history.parquet").write_bytes(b"PAR1")


def without(names, code):
    """Run Python where these packages are missing."""
    return subprocess.run(
        [sys.executable, "-c", BLOCK.format(names=set(names)) + code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
        check=False,
    )


def command(names, *arguments):
    """Run `apportion …` where these packages are missing."""
    argv = ["apportion", *arguments]
    return without(names, f"sys.argv = {argv!r}\nfrom apportion.cli import main\nmain()\n")


@pytest.mark.parametrize(
    ("package", "arguments", "sentence"),
    [
        *(
            (name, ("serve", "--port", "0"), f"The service needs {name}: pip install 'apportion[web]'.")
            for name in optional.EXTRAS["web"]
        ),
        (
            "matplotlib",
            ("fit", "history.csv", "--plot", "x.png"),
            "`--plot` needs matplotlib: pip install 'apportion[plot]'.",
        ),
        (
            "matplotlib",
            ("study", "leaderboard", "--quick", "--out", "board"),
            "`--out` needs matplotlib: pip install 'apportion[plot]'.",
        ),
        (
            "matplotlib",
            ("study", "robustness", "--quick", "--out", "trouble"),
            "`--out` needs matplotlib: pip install 'apportion[plot]'.",
        ),
        (
            "openpyxl",
            ("fit", "history.xlsx"),
            "The workbook 'history.xlsx' needs openpyxl: pip install 'apportion[excel]'.",
        ),
        (
            "pyarrow",
            ("backtest", "history.parquet"),
            "The Parquet file 'history.parquet' needs pyarrow: pip install 'apportion[parquet]'.",
        ),
        ("matplotlib", ("study", "paper", "--quick"), "A picture needs matplotlib: pip install 'apportion[plot]'."),
        (
            "psycopg",
            ("campaigns", "--db", "postgresql://nobody@localhost/none"),
            "PostgreSQL needs psycopg: pip install 'apportion[postgres]'.",
        ),
        (
            "distributed",
            ("simulate", str(ROOT / "examples" / "phase_transition.toml"), "--out", "x", "--cluster", "tcp://x:1"),
            "`--cluster` needs distributed: pip install 'apportion[cluster]'.",
        ),
    ],
)
def test_what_is_missing_is_named_with_the_command(package, arguments, sentence):
    done = command([package], *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence + "\n")


def test_several_missing_packages_are_named_together():
    done = command(["uvicorn", "jinja2", "plotly"], "serve")
    assert done.stderr == "The service needs uvicorn, jinja2 and plotly: pip install 'apportion[web]'.\n"


def test_a_report_says_what_its_pictures_need():
    campaign = ap.Campaign.create("ads", ("a", "b"), budget=10, b=0.75, sigma=1)
    campaign.record(campaign.split().ticket, {"a": 4.0, "b": 2.0})
    done = command(["matplotlib"], "report", "ads")
    assert (done.returncode, done.stderr) == (2, "A picture needs matplotlib: pip install 'apportion[plot]'.\n")


def test_a_fit_without_matplotlib_does_all_but_the_picture():
    done = command(["matplotlib"], "fit", "history.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert "No picture. A picture needs matplotlib: pip install 'apportion[plot]'." in " ".join(done.stdout.split())
    assert json.loads(command(["matplotlib"], "fit", "history.csv", "--json").stdout)["picture"] is None


@pytest.mark.parametrize(
    "code",
    [
        "import apportion as ap; ap.figures",
        "import apportion as ap; ap.fit_noise('history.csv').plot()",
        "import apportion as ap; world = ap.Instance((1, 0), 0.75); "
        "ap.simulate(ap.Uniform(), world, horizon=5, replications=3, seed=1).plot()",
    ],
)
def test_python_gets_the_sentence_as_an_import_error(code):
    script = f"""
try:
    {code}
except ImportError as error:
    from apportion.errors import ApportionError
    print(isinstance(error, ApportionError), error)
"""
    done = without(["matplotlib"], script)
    assert done.stdout == "True A picture needs matplotlib: pip install 'apportion[plot]'.\n", done.stderr


def test_a_client_says_what_it_needs():
    script = """
import apportion as ap
try:
    ap.Client("http://127.0.0.1:8000")
except ap.ApportionError as error:
    print(error)
"""
    done = without(["httpx"], script)
    assert done.stdout == "`Client` needs httpx: pip install 'apportion[client]'.\n", done.stderr


def test_the_service_does_not_need_the_client():
    """With the extra `web` alone the app is put together and answers."""
    script = """
import asyncio
from apportion.web.app import create_app

async def ask(path):
    sent = []
    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}
    async def send(message):
        sent.append(message)
    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
             "headers": [(b"host", b"localhost")], "scheme": "http", "server": ("localhost", 80), "root_path": "",
             "client": ("127.0.0.1", 50000)}
    await create_app("campaigns.db")(scope, receive, send)
    print(sent[0]["status"])

asyncio.run(ask("/api/v1/campaigns"))
"""
    done = without(["httpx", "httpcore"], script)
    assert done.stdout == "200\n", done.stderr


def test_without_any_extra_the_rest_works():
    demo = command(ALL, "demo", "--repeats", "1")
    assert (demo.returncode, demo.stderr) == (0, "")
    for arguments in (
        ("theory",),
        ("new", "ads", "--arms", "a,b", "--budget", "10"),
        ("split", "ads"),
        ("record", "ads", "a=4", "b=2"),
        ("check", "ads"),
    ):
        done = command(ALL, *arguments)
        assert (done.returncode, done.stderr) == (0, ""), arguments


def test_other_missing_modules_are_not_explained_away():
    assert optional.as_missing_extra(ModuleNotFoundError("No module named 'spam'", name="spam")) is None
    error = ModuleNotFoundError("No module named 'matplotlib.lines'", name="matplotlib.lines")
    found = optional.as_missing_extra(error)
    assert str(found) == "A picture needs matplotlib: pip install 'apportion[plot]'."


def test_the_extras_are_those_of_the_package():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, names in optional.EXTRAS.items():
        brought = {re.split(r"[\[<>=]", line)[0].replace("-", "_") for line in declared[extra]}
        brought = {"sklearn" if name == "scikit_learn" else name for name in brought}  # as it is imported
        assert brought - {"httptools", "uvloop"} == set(names), extra  # these two only make the service quicker
    assert set(optional.PURPOSES) == set(optional.EXTRAS) <= set(declared)
