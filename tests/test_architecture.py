"""The tree is the diagram: imports follow the flow of the package and never run back."""

import ast
import importlib
from pathlib import Path

import pytest

import apportion
from apportion.campaigns.protocol import CampaignVerbs

ROOT = Path(apportion.__file__).parent

# Each line may import from itself and from the lines above it. A new package needs a place here.
FLOW = (
    ("_version", "errors", "_common"),
    ("model",),
    ("theory",),
    ("reporting",),
    ("inference",),
    ("policies",),
    ("allocation",),
    ("simulation", "campaigns"),
    ("studies", "client", "testing"),
    ("web", "mcp"),
    ("cli", "__main__"),
)
LEVEL = {name: level for level, names in enumerate(FLOW) for name in names}

VERBS = [name for name in dir(CampaignVerbs) if not name.startswith("_")]

MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def place(module):
    """The name that stands for a dotted module below `apportion` in the flow."""
    return module.split(".")[0]


def imports(path):
    """(line, module below `apportion`) of every import that runs: those for type checkers do not."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            pending.extend(node.orelse)
            continue
        pending.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively; the flow is easier to read in full"
            whole = node.module == "apportion"
            names = [f"apportion.{alias.name}" for alias in node.names] if whole else [node.module]
        else:
            continue
        yield from ((node.lineno, name.removeprefix("apportion.")) for name in names if name.startswith("apportion."))


def backward(path, found):
    """A sentence for every import that runs back."""
    here = place(path.with_suffix("").parts[0])
    return [
        f"{path}:{line} imports {module}, which comes after {here} in the flow"
        for line, module in found
        if LEVEL[place(module)] > LEVEL[here]
    ]


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_follow_the_flow(path):
    if path.parts == ("__init__.py",):  # its names are imported on first use
        assert {module for _, module in imports(path)} == {"_version"}
        return
    assert path.with_suffix("").parts[0] in LEVEL, f"{path} has no place in FLOW"
    assert backward(path, imports(path)) == []


def test_an_import_that_runs_back_is_found_and_named():
    found = backward(Path("model/sums.py"), [(3, "errors"), (4, "policies.odds")])
    assert found == ["model/sums.py:4 imports policies.odds, which comes after model in the flow"]
    assert backward(Path("web/app.py"), [(1, "cli.show")])  # the command line starts the service, not the reverse
    assert not backward(Path("cli/serve.py"), [(1, "web.serve")])


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_every_module_says_what_it_is(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{path} has no docstring"


@pytest.mark.parametrize("name", sorted(apportion.__all__))
def test_every_public_name_is_there_and_documented(name):
    value = getattr(apportion, name)
    assert name in dir(apportion)
    if not name.startswith("__"):
        assert value.__doc__, f"{name} has no docstring"
        if isinstance(value, type):  # a dataclass without a docstring of its own gets its signature
            assert not value.__doc__.startswith(f"{name}("), f"{name} has no docstring"


def test_public_names_are_listed_once():
    assert len(set(apportion.__all__)) == len(apportion.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'apportion' has no attribute 'Nothing'"):
        apportion.Nothing


def test_public_functions_and_methods_are_documented():
    """The verbs of a campaign are described once, in their protocol."""
    undocumented = []
    for path in MODULES:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        scopes = [("", tree)] + [(f"{node.name}.", node) for node in tree.body if isinstance(node, ast.ClassDef)]
        for prefix, scope in scopes:
            bases = [ast.unparse(base) for base in getattr(scope, "bases", ())]
            undocumented += [
                f"{path}: {prefix}{node.name}"
                for node in scope.body
                if isinstance(node, ast.FunctionDef | ast.ClassDef)
                and not node.name.startswith("_")
                and not prefix.startswith("_")
                and "overload" not in map(ast.unparse, node.decorator_list)
                and not ast.get_docstring(node)
                and not ("CampaignVerbs" in bases and node.name in VERBS)
            ]
    assert undocumented == []


def test_the_policies_registry_names_files_that_define_them():
    policies = importlib.import_module("apportion.policies")
    for name, file in policies.POLICIES.items():
        assert getattr(policies, name).__module__ == f"apportion.policies.{file}"
