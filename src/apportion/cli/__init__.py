"""The command line: each command parses, calls one library function, and formats. One file per noun."""

from apportion.cli.app import main

__all__ = ["main"]
