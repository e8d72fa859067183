"""Find a Chromium for the browser tests, or install one: `python tests/browser/install.py` says which it is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "The browser tests need Chromium and none was found or could be installed: install the package `chromium`, "
    "or run `python -m playwright install --with-deps chromium`, and try again."
)
APT = (("apt-get", "update"), ("apt-get", "install", "-y", "--no-install-recommends", "chromium"))


def find_browser():
    """The path of a Chromium or Chrome on this machine, or None."""
    for name in NAMES:
        found = shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/bin", "/snap/bin")))
        if found:
            return found
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


def _say(words):
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def _done(*command):
    """Whether a command could be run and ended well."""
    _say(" ".join(("+", *command)))
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


def _by_apt():
    root = () if os.geteuid() == 0 else ("sudo", "-n")
    if not shutil.which("apt-get") or (root and not shutil.which("sudo")):
        return False
    return all(_done(*root, *command) for command in APT)


def main():
    """Find one; else install one and find it; else say so in one sentence."""
    found = find_browser()
    if not found and (_by_apt() or _done(sys.executable, "-m", "playwright", "install", "chromium")):
        found = find_browser()
    if not found:
        sys.exit(MISSING)
    _say(f"Browser tests use {found}.")


if __name__ == "__main__":
    main()
