"""The command line inside this process: quick, and as strict as a process of its own."""

import contextlib
import io
import sys
from typing import NamedTuple

import typer

from apportion.cli import app as root
from apportion.cli import main

# Typer builds all commands anew for each call, which takes longer than most of them; once will do.
COMMAND = typer.main.get_command(root.app)


class Done(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


def run(*arguments):
    """Run `apportion …`; an exception that is not an exit is a traceback for the user, and so it is here."""
    out, err, before = io.StringIO(), io.StringIO(), (sys.argv, root.app)
    sys.argv, root.app = ["apportion", *arguments], COMMAND
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    finally:
        sys.argv, root.app = before
    return Done(code, out.getvalue(), err.getvalue())
