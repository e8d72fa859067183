"""The fenced blocks of a page, run in order as a reader would run them.

- ```python runs; the blocks of a page share their names. A ```text block right after it is what it printed.
- ```console runs each line that begins with `$ `; what follows the line is what it printed. A command that ends in
  `&` goes on in the background. `...` in shown output stands for anything.
- A block with a title, ```csv title="spend.csv", is a file.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import apportion.cli

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)(?P<options>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$", re.M | re.S
)
TITLE = re.compile(r'title="([^"]+)"')
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

# The moment of every run, so that pages do not change with it.
MOMENT = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d")
MINUTE = re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d(?!:)")

# A reader's terminal; a page is about as wide.
TERMINAL = {
    "COLUMNS": "94", "LINES": "50", "TTY_COMPATIBLE": "1", "TERM": "xterm", "PYTHONIOENCODING": "utf-8",
    "LOGNAME": "anna",  # who the events say did it
}  # fmt: skip

# Commands of other programs that pages may show: they install, or are run on another machine.
NOT_RUN = ("pip install", "make ", "dask ", "docker ", "createdb ")


@dataclass
class Block:
    """One fenced block: where its body lies in the page, and what it is."""

    start: int
    end: int
    indent: str
    language: str
    title: str | None
    body: str


@dataclass
class Difference:
    """Output that is not as shown."""

    command: str
    shown: str
    got: str


@dataclass
class Outcome:
    """What running a page gave: the page as it should be, what differs, and how much was run."""

    text: str
    differences: list[Difference] = field(default_factory=list)
    runs: int = 0


def blocks(text):
    """The fenced blocks of a page, in order."""
    found = []
    for match in FENCE.finditer(text):
        title = TITLE.search(match["options"])
        found.append(
            Block(match.start("body"), match.end("body"), match["indent"], match["language"],
                  title and title[1], textwrap.dedent(match["body"]))
        )  # fmt: skip
    return found


def runnable(text):
    """Whether a page has anything to run."""
    return any(
        (block.language == "python" and not block.title)
        or (block.language in ("console", "sh") and re.search(r"^\$ ", block.body, re.M))
        for block in blocks(text)
    )


class Reader:
    """Somebody who follows a page in an empty folder, `stand_ins` in place of addresses of the outside."""

    def __init__(self, folder, stand_ins=None):
        self.folder, self.stand_ins = Path(folder), dict(stand_ins or {})
        self.names, self.background = {"__name__": "page"}, []

    def follow(self, text):
        """Run all of a page."""
        found, outcome, edits = blocks(text), Outcome(text), []
        for place, block in enumerate(found):
            body = block.body
            if block.title:
                (self.folder / block.title).write_text(self.really(body), encoding="utf-8")
            elif block.language == "python":
                printed = self.python(body)
                outcome.runs += 1
                after = found[place + 1] if place + 1 < len(found) else None
                if after and is_output(text, block, after) and not same(after.body, printed):
                    outcome.differences.append(Difference(body, after.body, printed))
                    edits.append((after, printed))
            elif block.language in ("console", "sh"):
                new = []
                for command, shown in commands(body):
                    got = self.command(command)
                    outcome.runs += 1
                    if not same(shown, got):
                        outcome.differences.append(Difference(command, shown, got))
                        shown = got
                    new.append(f"$ {command}\n{shown}")
                if "".join(new) != body:
                    edits.append((block, "".join(new)))
        for block, body in reversed(edits):
            outcome.text = (
                outcome.text[: block.start] + textwrap.indent(body, block.indent) + outcome.text[block.end :]
            )
        return outcome

    def python(self, source):
        """Run a block; what it printed."""
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            exec(compile(self.really(source), "page", "exec"), self.names)
        return self.as_shown(stream.getvalue())

    def command(self, line):
        """Run a line of a console; what it printed."""
        if line.startswith(NOT_RUN):
            return ""
        line = self.really(line.replace("\\\n", " "))
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            os.environ[name] = shlex.split(os.path.expandvars(value))[0]
            return ""
        words = [os.path.expandvars(word) for word in shlex.split(line)]
        if words[0] != "apportion":
            raise AssertionError(f"a page shows a command that cannot be run: {line}")
        if words[-1] == "&":
            return self.as_shown(self.start(words[1:-1]))
        stream = io.StringIO()
        kept = sys.argv, sys.stdin
        sys.argv, sys.stdin = words, io.StringIO()
        try:
            with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
                apportion.cli.main()
        except SystemExit as ending:
            if ending.code not in (0, None, 2):
                raise AssertionError(f"{line} ended with {ending.code}: {stream.getvalue()}") from None
        finally:
            sys.argv, sys.stdin = kept
        return self.as_shown(stream.getvalue())

    def start(self, arguments):
        """Start a service on a free port; what it says when it is ready."""
        process = subprocess.Popen(
            [sys.executable, "-m", "apportion", *arguments, "--port", "0"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.background.append(process)
        said = [process.stdout.readline() for _ in range(3)]
        where = re.search(r"http://[\w.\[\]:]+", said[0])
        assert where, said
        self.stand_ins["http://127.0.0.1:8000"] = where[0].rstrip(".")
        return "".join(said)

    def stop(self):
        """End what was started."""
        for process in self.background:
            process.terminate()
            process.wait(180)
            process.stdout.close()

    def really(self, text):
        """With the addresses that answer here."""
        for shown, real in self.stand_ins.items():
            text = text.replace(shown, real)
        return text

    def as_shown(self, text):
        """With the addresses and the moment of the page, and without colours and trailing blanks."""
        for shown, real in self.stand_ins.items():
            text = text.replace(real, shown)
        text = MOMENT.sub("2026-11-02T09:00:00", ANSI.sub("", text)).replace(str(self.folder) + os.sep, "")
        text = MINUTE.sub("2026-11-02 09:00", text)
        return "".join(line.rstrip() + "\n" for line in text.splitlines())


def is_output(text, block, after):
    """Whether a block is what the one before it printed: nothing is between the two."""
    return after.language == "text" and not text[block.end : after.start].split("```")[1].strip()


def commands(body):
    """(command, shown output) for each line of a console block that begins with `$ `."""
    found = []
    for line in body.splitlines(keepends=True):
        if found and found[-1][0].endswith("\\"):
            found[-1][0] += "\n" + line.rstrip("\n")
        elif line.startswith("$ "):
            found.append([line[2:].rstrip("\n"), ""])
        elif found:
            found[-1][1] += line
    return found


def same(shown, got):
    """Whether output is as shown; nothing shown says nothing about it."""
    if not shown.strip():
        return True
    return doctest.OutputChecker().check_output(
        "".join(line.rstrip() + "\n" for line in shown.splitlines()), got, doctest.ELLIPSIS
    )
