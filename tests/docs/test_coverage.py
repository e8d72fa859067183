"""Everything a user can type, send, set or import has its place in the docs; the site builds without a warning."""

import ast
import inspect
import os
import re
import shlex
import subprocess
import sys
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer
import yaml

import apportion as ap
from apportion.campaigns.settings import Settings
from apportion.cli.app import GROUPS
from apportion.cli.app import app as command_line

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "apportion"

sys.path.insert(0, str(DOCS / "tools"))
import generate  # noqa: E402


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def every_command():
    """(what one types, the command) of the whole command line."""
    root = typer.main.get_command(command_line)
    return [found for name, below in root.commands.items() for found in generate.walk(below, f"apportion {name}")]


# Commands


@pytest.mark.parametrize("name", generate.PAGES)
def test_what_is_written_from_the_program_is_up_to_date(name):
    assert page(f"reference/{name}") == generate.PAGES[name](), "run `make docs`, or python docs/tools/generate.py"


def test_every_command_and_every_option_is_on_the_page_of_commands():
    text = page("reference/commands.md")
    sections = dict(re.findall(r"^### `(.*?)`\n(.*?)(?=^##|\Z)", text, re.M | re.S))
    found = every_command()
    assert len(found) > 25
    assert [path for path, _ in found] == [path for path, _ in found if path in sections]
    for path, command in found:
        for parameter in command.params:
            if parameter.name != "help" and parameter.param_type_name == "option":
                assert all(f"`{name}`" in sections[path] for name in parameter.opts), (path, parameter.name)


def test_the_page_of_commands_has_the_groups_of_the_help():
    assert re.findall(r"^## (.*)$", page("reference/commands.md"), re.M) == list(GROUPS)


def test_every_command_can_speak_to_machines():
    silent = [
        path
        for path, command in every_command()
        if not getattr(command, "no_args_is_help", False)
        and not any("--json" in each.opts for each in command.params)
        and path != "apportion mcp"  # speaks to nothing else
    ]
    assert silent == []


@pytest.mark.parametrize("path", [path for path, _ in every_command()])
def test_the_example_of_every_command_can_be_parsed(path):
    command = dict(every_command())[path]
    text = inspect.cleandoc(command.help or "")
    if hasattr(command, "commands"):
        assert text
        return
    example = shlex.split(text.partition("Example: ")[2])
    words = path.split()
    assert example[: len(words)] == words, f"the help of `{path}` has no example"
    command.make_context(path, example[len(words) :]).close()


# HTTP


def test_every_route_is_on_the_page_of_routes(tmp_path):
    from apportion.campaigns.storage.address import database_url
    from apportion.campaigns.storage.database import close_engine
    from apportion.web.app import create_app

    text = page("reference/http.md")
    app = create_app(tmp_path / "campaigns.db")
    routes = [
        f"\n`{method.upper()} {path}`\n" for path, methods in app.openapi()["paths"].items() for method in methods
    ]
    pages = [
        f"| `{route.path}` |"
        for route in generate.routes(app)
        if "GET" in route.methods and route.path not in app.openapi()["paths"]
    ]
    close_engine(database_url(tmp_path / "campaigns.db"))
    assert len(routes) > 20
    assert len(pages) > 10
    assert [each for each in (*routes, *pages) if each not in text] == []


# Settings


def test_every_setting_is_on_the_page_of_settings():
    text = page("reference/settings.md")
    described = {name for line in re.findall(r"^(`.*`)\n:   ", text, re.M) for name in re.findall(r"`(\w+)`", line)}
    given = set(inspect.signature(ap.Campaign.create).parameters)
    options = {parameter.name for parameter in dict(every_command())["apportion new"].params}
    assert (given | set(Settings._fields)) - described == set()
    assert described - given - set(Settings._fields) == set()
    assert options - described == {"json", "help", "example"} & options


# Environment


READERS = ("os.environ.get", "os.getenv", "environ.get")


def texts(node):
    """The text, or the texts, that a plain expression stands for."""
    values = node.elts if isinstance(node, ast.Tuple) else [node]
    return {each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def variables():
    """Every environment variable that the program reads, wherever its name is written down."""
    found = set()
    for file in SOURCE.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        known = {
            target.id: texts(node.value)
            for node in nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in nodes:  # a name that runs over several
            if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.target, ast.Name):
                over = known.get(node.iter.id, set()) if isinstance(node.iter, ast.Name) else texts(node.iter)
                known.setdefault(node.target.id, over)
        keys = [node.args[0] for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) in READERS]
        keys += [
            node.slice
            for node in nodes
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("os.environ", "environ")
        ]
        keys += [node.value for node in nodes if isinstance(node, ast.keyword) and node.arg == "envvar"]
        for key in keys:
            names = known.get(key.id, set()) if isinstance(key, ast.Name) else texts(key)
            assert names, f"{file}:{key.lineno} reads a variable that has no plain name"
            found |= names
    return found


def test_every_environment_variable_is_on_its_page():
    found = variables() | {"XDG_DATA_HOME", "XDG_CACHE_HOME"}  # which platformdirs reads for us
    assert {"APPORTION_DB", "APPORTION_TOKEN", "APPORTION_CACHE_DIR"} <= found
    rows = set(re.findall(r"^\| `(\w+)` \|", page("reference/environment.md"), re.M))
    assert found - rows == set()
    assert rows - found == set()


# Python


def test_every_public_name_is_in_the_reference_once():
    shown = [
        name
        for file in sorted((DOCS / "reference").glob("*.md"))
        for name in re.findall(r"^::: apportion\.(\w+)$", file.read_text(encoding="utf-8"), re.M)
    ]
    assert sorted(shown) == sorted(set(shown))
    assert set(ap.__all__) - set(shown) == {"__version__"}
    assert set(shown) - set(ap.__all__) == set()
    assert "`apportion.__version__`" in page("reference/python.md")


# The site


class Addresses(HTMLParser):
    """What a browser would fetch to show a page, and the names that links can point to."""

    def __init__(self):
        super().__init__()
        self.fetched, self.names = [], set()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if given.get("id"):
            self.names.add(given["id"])
        if tag == "link" and given.get("rel") in ("prev", "next", "canonical"):
            return
        if tag != "a":
            self.fetched += [given[name] for name in ("src", "href", "srcset") if given.get(name)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The whole site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


def test_the_site_has_every_page_of_the_navigation(site):
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = re.findall(r"([\w/-]+)\.md$", text.partition("\nnav:")[2], re.M)
    assert len(pages) > 25
    assert [name for name in pages if not (site / f"{name}.html").is_file()] == []
    assert {str(file.relative_to(DOCS).with_suffix("")) for file in DOCS.rglob("*.md")} - set(pages) == set()
    assert yaml.safe_load(text.partition("\nplugins:")[0])["theme"]["font"] is False


def test_no_page_fetches_anything_from_another_host(site):
    checked = 0
    for file in [*site.rglob("*.html")]:
        reader = Addresses()
        reader.feed(file.read_text(encoding="utf-8"))
        for address in reader.fetched:
            parts = urllib.parse.urlsplit(address)
            assert parts.netloc == "", (file.name, address)
            assert parts.scheme in ("", "data"), (file.name, address)
            if not parts.scheme and parts.path:
                target = site / parts.path.lstrip("/") if parts.path.startswith("/") else file.parent / parts.path
                assert target.exists(), (file.name, address)
                checked += 1
    assert checked > 100
    for file in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//", file.read_text(encoding="utf-8")), file.name


def test_formulas_are_mathml_and_none_is_left_as_tex(site):
    text = (site / "theory.html").read_text(encoding="utf-8")
    assert text.count("<math ") > 200
    assert "arithmatex" not in text
    prose = re.sub(r"<(pre|code|script)\b.*?</\1>", "", text, flags=re.S)
    assert not re.search(r"\\(frac|sqrt|sum|mu|sigma)\b|\$\$", prose)


def test_public_names_can_be_found_on_the_site(site):
    reader = Addresses()
    for name in ("python", "policies", "published", "simulation", "mathematics"):
        reader.feed((site / "reference" / f"{name}.html").read_text(encoding="utf-8"))
    missing = [
        name
        for name in ap.__all__
        if name != "__version__" and not any(each == f"apportion.{name}" for each in reader.names)
    ]
    assert missing == []


# Architecture


def test_every_file_that_the_architecture_names_exists():
    text = page("architecture.md")
    paths = {name for name in re.findall(r"`([\w/.-]+)`", text) if re.search(r"/|\.(py|md|yml)$", name)}
    assert len(paths) > 40
    places = [ROOT, SOURCE, *(each for each in SOURCE.iterdir() if each.is_dir())]
    built = {"site/"}
    assert [name for name in sorted(paths - built) if not any((place / name).exists() for place in places)] == []


def test_every_room_has_its_line_in_the_architecture():
    table = page("architecture.md").partition("## Room by room")[2].partition("\n## ")[0]
    first = " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    named = {name.rstrip("/") for name in re.findall(r"`([\w/]+)`", first)}
    found = {
        each.stem
        for each in SOURCE.iterdir()
        if (each.suffix == ".py" or (each / "__init__.py").exists()) and not each.name.startswith("__")
    }
    assert found - named == {"_version"}
    assert named - found == set()
