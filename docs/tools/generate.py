"""Writes the reference pages that say what the program itself says: commands, HTTP routes and policies.

python docs/tools/generate.py            writes the pages
python docs/tools/generate.py --check    exit code 1 where a page is not what would be written
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parent.parent / "reference"
NOTE = "<!-- Written by docs/tools/generate.py from the program itself: change it there. -->\n\n"


# Commands

COMMANDS_HEAD = """# Commands

Every command says this itself: `apportion COMMAND --help`. What holds for all of them:

- `--json` prints one JSON document for programs, instead of a table for people.
- `--db`, or the variable `APPORTION_DB`, says where campaigns are kept: a file, or a URL. By default it is a SQLite
  file in your data folder.
- Exit code 0: done. 2: refused, with one sentence on the error stream; nothing was changed. 1: `check` found a
  difference. 130: stopped with Ctrl+C.
- A long command shows a progress bar on a terminal, and none in a pipe.
- `apportion --install-completion` makes your shell complete commands and names of campaigns.
- `apportion --version` prints the version.
"""


def commands_page() -> str:
    """Every command with its help, arguments and options."""
    import typer

    from apportion.cli.app import GROUPS, app

    root: Any = typer.main.get_command(app)
    parts = [NOTE + COMMANDS_HEAD]
    for title in GROUPS:
        parts.append(f"## {title}\n")
        for name in root.list_commands(None):
            if root.commands[name].rich_help_panel == title:
                for path, command in walk(root.commands[name], f"apportion {name}"):
                    parts.append(command_section(path, command))
    return "\n".join(parts).rstrip() + "\n"


def walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """A command and the commands below it, with what one types."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, f"{path} {name}")


def command_section(path: str, command: Any) -> str:
    """One command: what it does, an example, how it is called, what it takes."""
    text = inspect.cleandoc(command.help or "")
    says, _, example = text.partition("Example: ")
    lines = [f"### `{path}`", "", says.strip(), ""]
    if example:
        lines += ["```sh", example.strip(), "```", ""]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and each.name != "help"]
    rows = [(f"`{argument_name(each)}`", "", each.help or "") for each in arguments]
    for each in options:
        names = ", ".join(f"`{name}`" for name in (*each.opts, *each.secondary_opts))
        default = "" if each.default in (None, False, ()) or callable(each.default) else f"`{each.default}`"
        rows.append((names, default, each.help or ""))
    if rows:
        lines += ["| argument or option | default | |", "|---|---|---|"]
        lines += [f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def argument_name(argument: Any) -> str:
    """As the help shows it: NAME, [NAME] where it may be left out, NAME... where there may be several."""
    name = str(argument.name).upper()
    shown = name if argument.required else f"[{name}]"
    return f"{shown}..." if argument.nargs == -1 else shown


# Settings

SETTINGS_HEAD = r"""# Campaign settings

What a campaign is run by. The same names are used everywhere: `apportion new --half-life 30`, `half_life=30` in
`apportion.Campaign.create`, `"half_life": 30` over HTTP. `apportion settings NAME` shows them, with
`--details` those that speak of statistics, too.

*Can be changed*: with `apportion settings NAME --…`, `Campaign.change`, or `PATCH …/settings`, at any time. *And
unset*: with `--unset NAME`, `None` or `null`. The past is kept; some changes count all outcomes again.

```console
$ apportion new ads --arms search,social,video --budget 5000 --unit EUR \
    --pin video=0.1 --step 0.01 --seed 7
$ apportion settings ads --budget 6000 --half-life 26
Settings of ads
┏━━━━━━━━━━━━━━┳━━━━━━━┓
┃ setting      ┃ value ┃
┡━━━━━━━━━━━━━━╇━━━━━━━┩
│ budget       │ 6,000 │
│ unit         │ EUR   │
│ outcome unit │ –     │
│ every        │ –     │
│ step         │ 0.01  │
│ minimise     │ no    │
│ policy       │ Auto  │
│ growth       │ 2     │
│ change       │ –     │
│ rules        │ –     │
│ half life    │ 26    │
└──────────────┴───────┘
```
"""

# What stands on the page beside the settings themselves: at the end of a group, or under a heading of its own.
SETTINGS_BESIDE = {
    "The arms": {
        "arms": "The names of the arms, each once, of at most 200 characters. Needed. Later `apportion arms NAME "
                "add`, `pause`, `resume`, `remove`: nothing that was learned is lost.",
    },
    "How it is decided": {
        "parameters": "The parameters of the policy. Shown; set by `b`, `sigma` and `horizon`, or in Python by the "
                      "policy itself.",
        "assumed": "Shown: which of `b` and `sigma` nobody gave.",
    },
    "About the write": {
        "name": "The campaign's name: printable, at most 200 characters, without / and \\\\.",
        "db": "Where it is kept: a file, or a URL ([Environment variables](environment.md)).",
        "key": "A name for this write: sent again with the same key, it is done once. Over HTTP it is the header "
               "`Idempotency-Key`.",
    },
}  # fmt: skip


def settings_page() -> str:
    """Every setting of a campaign, from its declaration."""
    from apportion.campaigns.settings import GROUPS, SETTINGS
    from apportion.web.api.requests import NewCampaign

    schema = NewCampaign.model_json_schema()["properties"]
    groups: dict[str, dict[str, str]] = {title: {} for title in (*GROUPS.values(), *SETTINGS_BESIDE)}
    for name, setting in SETTINGS.items():
        groups[GROUPS[setting.group]][name] = setting_text(setting, schema[name])
    parts = [NOTE + SETTINGS_HEAD]
    for title, texts in groups.items():
        parts.append(f"## {title}\n")
        for name, text in {**texts, **SETTINGS_BESIDE.get(title, {})}.items():
            lines = textwrap.wrap(text, 116, break_long_words=False, break_on_hyphens=False)
            parts.append(f"`{name}`\n:   " + "\n    ".join(lines) + "\n")
    return "\n".join(parts).rstrip() + "\n"


def setting_text(setting: Any, schema: dict[str, Any]) -> str:
    """A setting in sentences: what it does, what it may be, its default, what can become of it later."""
    says = [setting.help]
    if setting.kind in ("number", "per_arm", "whole"):
        known = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
        says.append(f"A {kind({**known, 'type': 'whole number' if setting.kind == 'whole' else 'number'})}.")
    if setting.options:
        says.append(f"One of {', '.join(f'`{option}`' for option in setting.options)}.")
    says.append(setting.details)
    if setting.required:
        says.append("Needed.")
    elif setting.nullable and setting.default is None:
        says.append(f"Left out: {setting.without}.")
    else:
        default = {False: "no", True: "yes"}.get(setting.default, f"`{setting.default}`")
        says.append(f"Default: {default}; unset: {setting.without}." if setting.nullable else f"Default: {default}.")
    if setting.changeable:
        later = "Can be changed and unset" if setting.nullable else "Can be changed"
        says.append(f"{later}: all outcomes are counted again." if setting.recounts else f"{later}.")
    return " ".join(each for each in says if each)


# HTTP routes


def http_page() -> str:
    """Every route of the API, from its own description, and the pages of the dashboard."""
    from apportion.web.app import create_app

    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Path(folder) / "campaigns.db")
        described = app.openapi()
        parts = [
            NOTE + "# HTTP routes\n",
            described["info"]["description"].strip() + "\n",
            "`apportion serve` answers these. The same description is at `/api/v1/openapi.json` for programs, at\n"
            "`/api/reference` for people, with examples of all answers. `apportion.Client` speaks it for you.\n",
        ]
        for tag in described["tags"]:
            parts.append(f"## {tag['name'].capitalize()}\n\n{tag['description']}\n")
            for path, operations in described["paths"].items():
                for method, operation in operations.items():
                    if operation["tags"][0] == tag["name"]:
                        parts.append(route_section(method.upper(), path, operation, described))
        parts.append(pages_section(app, described))
        from apportion.campaigns.storage.address import database_url
        from apportion.campaigns.storage.database import close_engine

        close_engine(database_url(Path(folder) / "campaigns.db"))
    return "\n".join(parts).rstrip() + "\n"


def route_section(method: str, path: str, operation: dict[str, Any], described: dict[str, Any]) -> str:
    """One route: what it does, what it takes, what it answers."""
    lines = [f"### {operation['summary']}", "", f"`{method} {path}`", "", operation.get("description", ""), ""]
    rows = [
        (f"`{each['name']}`", each["in"], kind(each["schema"]), each.get("description", ""))
        for each in operation.get("parameters", [])
        if each["name"] not in ("If-None-Match", "Idempotency-Key")
    ]
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = resolve(content.get("schema", {}), described)
        if not schema.get("properties"):
            rows.append(("", f"body, {media}", "", schema.get("description", "")))
        for name, field in schema.get("properties", {}).items():
            needed = " (needed)" if name in schema.get("required", ()) else ""
            rows.append((f"`{name}`{needed}", "body", kind(field), field.get("description", "")))
    if rows:
        lines += ["| name | in | kind | |", "|---|---|---|---|"]
        lines += [f"| {' | '.join(one_line(cell) for cell in row)} |" for row in rows]
        lines.append("")
    twice = any(each["name"] == "Idempotency-Key" for each in operation.get("parameters", []))
    fresh = any(each["name"] == "If-None-Match" for each in operation.get("parameters", []))
    answers = [
        f"{code}: {answer['description'].rstrip('.')}."
        for code, answer in operation["responses"].items()
        if code[0] == "2"
    ]
    refusals = sorted(code for code in operation["responses"] if code[0] in "45")
    lines.append(f"Answers {' '.join(answers)} Refuses with {', '.join(refusals)}.")
    if twice:
        lines.append("Takes an `Idempotency-Key`.")
    if fresh:
        lines.append("Has an `ETag`.")
    lines.append("")
    return "\n".join(lines)


def resolve(schema: dict[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    """What a reference points to; of alternatives the first that is an object."""
    if "$ref" in schema:
        return resolve(described["components"]["schemas"][schema["$ref"].rpartition("/")[2]], described)
    for each in schema.get("anyOf", ()):
        found = resolve(each, described)
        if found.get("properties"):
            return found
    return schema


def kind(schema: dict[str, Any]) -> str:
    """A schema in a few words: integer from 1 to 1000, or null."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    name = str(schema.get("type", "anything"))
    if name == "array":
        return f"list of {kind(schema.get('items', {}))}"
    if name == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"by name: {kind(schema['additionalProperties'])}"
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    limits = [
        text
        for text, value in (("from", low), ("above", above), ("to", high), ("below", below))
        if value is not None
        for text in (f"{text} {value:g}",)
    ]
    default = schema.get("default")
    words = " ".join([name, *limits])
    return words if default in (None, "") else f"{words}; default `{default}`"


def pages_section(app: Any, described: dict[str, Any]) -> str:
    """What a browser opens: everything that is not the API."""
    rows = []
    for route in routes(app):
        if route.path in described["paths"] or "GET" not in (route.methods or ()):
            continue
        says = inspect.cleandoc(route.endpoint.__doc__ or "").split("\n")[0]
        rows.append(f"| `{route.path}` | {one_line(says)} |")
    head = "## The dashboard and the service's own pages\n\n| address | |\n|---|---|\n"
    return head + "\n".join(sorted(rows)) + "\n"


def routes(app: Any) -> Iterator[Any]:
    """Every route with an endpoint of its own, also inside routers that were included whole."""
    for route in getattr(app, "routes", ()):
        if hasattr(route, "endpoint") and hasattr(route, "methods"):
            yield route
        elif hasattr(route, "original_router"):
            yield from routes(route.original_router)


# Policies

POLICY_GROUPS = {
    "Ours": ("Auto", "Recommended", "Odds", "Maillard", "Matching", "AdaptiveElimination"),
    "The paper's": ("SuccessiveElimination", "EpsilonGreedy"),
    "The classical bandit's": ("Thompson", "UCB"),
    "Full feedback": ("FollowTheLeader", "Hedge"),
    "To compare with": ("Uniform", "Oracle"),
}

POLICIES_HEAD = """# Policies

[The policies compared](../explanation/policies.md) says which to use.
[Write a policy of your own](../how-to/own-policy.md) says how.

## The contract

::: apportion.Policy

::: apportion.IndexPolicy

::: apportion.kernel
"""

POLICIES_FOOT = """## Checks for your own

::: apportion.testing
    options:
      show_root_heading: true
      members: [check_policy, check_world, check_store, ContractBroken]
"""


def policies_page() -> str:
    """Every policy of the registry, in groups; what is in no group comes after them."""
    from apportion.policies import POLICIES

    placed = {name for names in POLICY_GROUPS.values() for name in names}
    groups = {**POLICY_GROUPS, "More": tuple(name for name in POLICIES if name not in placed)}
    sections = [
        f"## {title}\n\n" + "\n\n".join(f"::: apportion.{name}\n\n{parameter_table(name)}" for name in names) + "\n"
        for title, names in groups.items()
        if names
    ]
    return NOTE + "\n".join([POLICIES_HEAD, *sections, POLICIES_FOOT])


def parameter_table(policy: str) -> str:
    """What may be set: each parameter with what is allowed and its default."""
    from apportion.policies.registry import parameters

    rows = [
        f"| `{each.name}` | {each.allowed} | {'' if each.required else f'`{each.default!r}`'} |"
        for each in parameters(policy)
    ]
    return "\n".join(["| parameter | allowed | default |", "|---|---|---|", *rows]) if rows else "No parameters."


def one_line(text: str) -> str:
    """Text for a cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "&#124;")


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "http.md": http_page,
    "policies.md": policies_page,
    "settings.md": settings_page,
}


def main() -> int:
    """Write, or check."""
    stale = []
    for name, write in PAGES.items():
        page = REFERENCE / name
        text = write()
        if "--check" in sys.argv:
            if not page.exists() or page.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            page.write_text(text, encoding="utf-8")
    if stale:
        sys.stderr.write(f"Not up to date: {', '.join(stale)}. Run: python docs/tools/generate.py\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
