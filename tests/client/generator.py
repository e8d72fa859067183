"""A generator of clients in an environment of its own: `python tests/client/generator.py` says where it is.

It wants other versions of packages that this project uses, so it is installed beside the environment of the tests.
"""

import subprocess
import sys
import venv
from pathlib import Path

PACKAGES = ("openapi-python-client==0.29.1", "typer==0.27.3", "ruff==0.17.5")
PLACE = Path(sys.prefix) / "generator"
FOLDER = PLACE / ("Scripts" if sys.platform == "win32" else "bin")


def generator():
    """The program, installed where it is not there yet."""
    program = FOLDER / "openapi-python-client"
    if not program.exists():
        venv.create(PLACE, with_pip=True)
        quiet = ("--quiet", "--disable-pip-version-check")
        subprocess.run([FOLDER / "python", "-m", "pip", "install", *quiet, *PACKAGES], check=True)
    return program


if __name__ == "__main__":
    sys.stdout.write(f"{generator()}\n")
