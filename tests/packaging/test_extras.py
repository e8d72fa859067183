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
from apportion.model.sums import MANY_ARMS

ROOT = Path(__file__).parent.parent.parent
NUMBA, PANDAS, SCIPY = (
    f"needs {name}: pip install 'apportion[{extra}]'."
    for name, extra in (("numba", "fast"), ("pandas", "lab"), ("scipy", "lab"))
)
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
            "numba",
            ("new", "many", "--arms", ",".join(f"arm {n}" for n in range(MANY_ARMS)), "--budget", "10"),
            f"A split over {MANY_ARMS} arms or more ({MANY_ARMS} are given) {NUMBA}",
        ),
        (
            "xarray",
            ("simulate", str(ROOT / "examples" / "phase_transition.toml"), "--out", "x"),
            "A simulation needs xarray: pip install 'apportion[lab]'.",
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


def test_a_report_without_matplotlib_has_all_but_the_pictures():
    campaign = ap.Campaign.create("ads", ("a", "b"), budget=10, b=0.75, sigma=1)
    campaign.record(campaign.split().ticket, {"a": 4.0, "b": 2.0})
    done = command(["matplotlib"], "report", "ads")
    assert (done.returncode, done.stderr) == (0, "")
    page = Path("ads.html").read_text(encoding="utf-8")
    assert "No pictures. A picture needs matplotlib: pip install &#x27;apportion[plot]&#x27;." in page
    assert "<svg" not in page
    assert page.count("<table>") == 4


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


LAB = "numba, scipy, pandas, xarray, h5netcdf and h5py: pip install 'apportion[lab]'."


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("ap.simulate(ap.Uniform(), WORLD, horizon=5, replications=3, seed=1)", f"A simulation needs {LAB}"),
        ("ap.load_result('run.nc')", f"A stored result needs {LAB}"),
        ("ap.theory.least_regret(WORLD, 10)", f"`least_regret` needs {LAB}"),
        ("ap.Allocator(ap.Uniform(), ('a', 'b')).beliefs().to_pandas()", f"`to_pandas` {PANDAS}"),
        ("ap.Allocator(ap.Uniform(), NAMES)", f"A split over {MANY_ARMS} arms or more (600 are given) {NUMBA}"),
        ("ap.response.optimal_split([1.0] * 600, 0.5)", f"Compiled code {NUMBA}"),
        (
            "ap.theory.printed_elimination_regret([1, 0], 0.75, 10)",
            f"The exact regret of the printed algorithm {SCIPY}",
        ),
    ],
)
def test_python_names_the_extra_of_the_laboratory(code, sentence):
    script = f"""
import apportion as ap
WORLD, NAMES = ap.Instance((1, 0), 0.75), [f"arm {{n}}" for n in range(600)]
try:
    {code}
except ap.ApportionError as error:
    print(error)
"""
    done = without(optional.EXTRAS["lab"], script)
    assert done.stdout == sentence + "\n", done.stderr


def test_an_arm_too_many_for_plain_python_changes_nothing():
    script = f"""
import apportion as ap
allocator = ap.Allocator(ap.Odds(b=0.75), [f"arm {{n}}" for n in range({MANY_ARMS} - 1)], seed=1)
before = allocator.to_json()
try:
    allocator.add_arm("one more")
except ap.ApportionError as error:
    print(error)
print(allocator.to_json() == before, round(sum(allocator.ask(10.0).amounts.values()), 9))
"""
    done = without(optional.EXTRAS["fast"], script)
    sentence = f"A split over {MANY_ARMS} arms or more ({MANY_ARMS} are given) {NUMBA}"
    assert done.stdout == f"{sentence}\nTrue 10.0\n", done.stderr


def test_packages_of_the_laboratory_are_imported_where_they_are_used():
    """No module imports one of them by being imported, but the one that makes machine code."""
    script = """
import importlib, pkgutil
import apportion
found = []
for module in pkgutil.walk_packages(apportion.__path__, "apportion."):
    if not module.name.endswith("__main__") and ".migrations." not in module.name:
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            found.append(module.name)
print(found)
"""
    done = without((*optional.EXTRAS["lab"], "llvmlite"), script)
    assert done.stdout == "['apportion._common.machine_code']\n", done.stderr


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
    """All in one process, each command with nothing before it but what the ones before imported."""
    lines = [
        ("demo", "--repeats", "1"),
        ("theory",),
        ("new", "ads", "--arms", "a,b", "--budget", "10"),
        ("split", "ads"),
        ("record", "ads", "a=4", "b=2"),
        ("status", "ads"),
        ("plan", "ads"),
        ("forecast", "ads", "--worlds", "4"),
        ("report", "ads"),
        ("fit", "history.csv"),
        ("check", "ads"),
        ("doctor",),
    ]
    script = f"""
from apportion.cli import main
for line in {lines!r}:
    sys.argv = ["apportion", *line]
    try:
        main()
    except SystemExit as ending:
        if ending.code:
            sys.exit(f"{{line}} ended with {{ending.code}}")
"""
    done = without(ALL, script)
    assert (done.returncode, done.stderr) == (0, "")


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


def test_the_page_about_installing_names_every_extra():
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])} == {*optional.EXTRAS, "all"}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (everything,) = declared["all"]
    assert set(re.split(r"[\[\],]", everything)[1:-1]) == set(optional.EXTRAS) - {"fast"}  # which is in `lab`
