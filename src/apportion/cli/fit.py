"""`apportion fit`: c, b and σ from a CSV file, in a table, in sentences, verdicts and pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from apportion._common import optional, validation
from apportion._common.formatting import readable
from apportion.cli.show import health_lines
from apportion.errors import InvalidValue
from apportion.inference.fit import NoiseFit, fit_noise
from apportion.inference.fit.words import with_error

PICTURES = (".png", ".svg", ".pdf")
MARKS = {True: "✓", False: "✗", None: "–"}


def show_fit(file: Path, *, plot: Path | None, as_json: bool, details: bool, **options: Any) -> None:
    """Fit, draw, and print; `options` are those of `fit_noise`."""
    target = file.with_name(f"{file.stem}-fit.png") if plot is None else plot
    if target.suffix.lower() not in PICTURES:
        raise validation.refuse("--plot", f"a file that ends in {', '.join(PICTURES)}", str(target))
    fit = fit_noise(file, **options)
    tests = target.with_name(f"{target.stem}-assumptions{target.suffix}")
    problem = _draw(fit, target, tests, wanted=plot is not None)
    if as_json:
        pictures = dict(zip(("picture", "assumptions_picture"), [None] * 2 if problem else [str(target), str(tests)]))
        print(json.dumps({**fit.to_dict(), **pictures}, indent=2, allow_nan=False))
        return
    console = Console()

    def say(line: str) -> None:
        console.print(line, highlight=False, markup=False)

    console.print(_table(fit))
    for line in fit.summary().splitlines():
        say(line)
    say("What the law takes for granted:")
    for test in fit.assumptions:
        say(f"{MARKS[test.holds]} {test.name}: {test.words}")
        if details and test.details:
            say(f"    {test.details}")
    for line in health_lines(fit.health):
        say(line)
    say(f"No picture. {problem}" if problem else f"Pictures: {target} and {tests.name}")


def _draw(fit: NoiseFit, target: Path, tests: Path, *, wanted: bool) -> str | None:
    """Write the pictures, or say why there are none; that is an error only if they were asked for."""
    try:
        figures = {target: fit.plot(), tests: fit.plot_assumptions()}
        from apportion.reporting.figures.style import picture_style

        target.parent.mkdir(parents=True, exist_ok=True)
        with picture_style():
            for path, figure in figures.items():
                figure.savefig(path, dpi=150)
    except ImportError:
        if wanted:
            raise InvalidValue(optional.missing_sentence("plot", "`--plot`")) from None
        return optional.missing_sentence("plot")
    except OSError as error:
        if wanted:
            raise validation.refuse("--plot", f"a file that can be written ({error.strerror})", str(target)) from None
        return f"{target} cannot be written ({error.strerror}): choose another file with --plot."
    return None


def _table(fit: NoiseFit) -> Table:
    """Means per unit at the typical amount of each arm, which is what people have in their spreadsheet."""
    numbers = [Column(name, justify="right") for name in ("observations", "mean per unit", "standard error", "own σ")]
    table = Table("arm", *numbers, title=f"What {fit.observations:,} observations say about each arm")
    bend = fit.typical_amounts() ** (fit.c - 1)
    for factor, (name, count, mean, error, sigma) in zip(bend.tolist(), zip(*fit.arms.columns().values())):
        table.add_row(name, f"{count:,}", *with_error(mean * factor, error * factor), readable(sigma))
    return table
