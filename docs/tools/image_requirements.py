"""The packages of the Docker image, by version and hash: python docs/tools/image_requirements.py [FILE]

pip finds what the extras and the build ask for, at the versions of constraints.txt, and brings the wheels that the
Python of the image takes on each kind of machine. It compares every file with the hash that the index tells; the
hashes that are written are computed here, from the files that came.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
TARGET = ROOT / "requirements-image.txt"
MACHINES = ("x86_64", "aarch64")
# pip takes the wheel for the newest glibc that is not newer than its own: 2.41 in the Debian 13 of the base image.
GLIBC = range(41, 16, -1)
HEAD = f"# All that the Docker image may install, for Linux on {' and '.join(MACHINES)}. `make hashes` writes it."


def asked_for() -> list[str]:
    """What the package, all its extras and its build ask for, as pyproject.toml has it."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = declared["project"]["optional-dependencies"]
    lines = [*declared["build-system"]["requires"], *declared["project"]["dependencies"]]
    for everything in map(Requirement, extras["all"]):
        lines += [line for extra in sorted(everything.extras) for line in extras[extra]]
    return lines


def image_python() -> str:
    """The version of Python that the base image has."""
    (version,) = set(re.findall(r"^FROM python:(\d+\.\d+)-slim", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    return version


def download(machine: str, folder: Path) -> None:
    """The wheels that pip would install in the image on one kind of machine."""
    platforms = [*(f"manylinux_2_{minor}_{machine}" for minor in GLIBC), f"manylinux2014_{machine}"]
    subprocess.run(
        [
            sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--dest", folder,
            "--only-binary=:all:", "--implementation", "cp", "--python-version", image_python(),
            *(f"--platform={platform}" for platform in platforms),
            "--constraint", CONSTRAINTS, *asked_for(),
        ],
        check=True,
    )  # fmt: skip


def main(target: Path) -> None:
    """Download for every kind of machine, and write the file."""
    runs, wanted = (
        f"{sys.platform}, Python {sys.version_info[0]}.{sys.version_info[1]}",
        f"linux, Python {image_python()}",
    )
    if runs != wanted:
        # pip reads markers (`python_version < "3.13"`) as those of the Python that runs it.
        sys.exit(f"The hashes must be made where the image runs ({wanted}); got {runs}.")
    pins = {canonicalize_name(line.split("==")[0]): line for line in CONSTRAINTS.read_text().split()}
    hashes: dict[str, set[str]] = defaultdict(set)
    for machine in MACHINES:
        with tempfile.TemporaryDirectory() as folder:
            download(machine, Path(folder))
            for wheel in Path(folder).iterdir():
                name, version, *_ = parse_wheel_filename(wheel.name)
                if pins.get(name, "").partition("==")[2] != str(version):
                    sys.exit(f"constraints.txt must have every package of the image; got none for {name}=={version}.")
                hashes[pins[name]].add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    lines = [HEAD]
    for pin in sorted(hashes, key=str.lower):
        lines.append(" \\\n".join([pin, *(f"    --hash=sha256:{digest}" for digest in sorted(hashes[pin]))]))
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
