"""Programs beside the package (benchmarks, examples, tools of the docs) import nothing from it that is not there."""

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path.relative_to(ROOT)
    for folder in ("benchmarks", "examples", "docs/tools")
    for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_what_a_program_imports_of_the_package_is_there(program):
    imports = [node for node in ast.walk(ast.parse((ROOT / program).read_text())) if isinstance(node, ast.ImportFrom)]
    missing = [
        f"{node.module}.{name.name}"
        for node in imports
        if node.module and node.module.split(".")[0] == "apportion"
        for name in node.names
        if not (hasattr(importlib.import_module(node.module), name.name) or _is_module(f"{node.module}.{name.name}"))
    ]
    assert missing == []


def _is_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None
