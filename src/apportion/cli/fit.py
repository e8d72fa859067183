"""`apportion fit`: b and σ from a CSV file, in a table, in sentences and in a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from apportion._common import optional, validation
from apportion._common.formatting import readable
from apportion.errors import InvalidValue
from apportion.inference.fit import NoiseFit, fit_noise
from apportion.inference.fit.words import with_error

PICTURES = (".png", ".svg", ".pdf")


def show_fit(file: Path, *, plot: Path | None, as_json: bool, **options: Any) -> None:
    """Fit, draw, and print; `options` are those of `fit_noise`."""
    target = file.with_name(f"{file.stem}-fit.png") if plot is None else plot
    if target.suffix.lower() not in PICTURES:
        raise validation.refuse("--plot", f"a file that ends in {', '.join(PICTURES)}", str(target))
    fit = fit_noise(file, **options)
    problem = _draw(fit, target, wanted=plot is not None)
    if as_json:
        print(json.dumps({**fit.to_dict(), "picture": None if problem else str(target)}, indent=2, allow_nan=False))
        return
    console = Console()
    console.print(_table(fit))
    for line in fit.summary().splitlines():
        console.print(line, highlight=False, markup=False)
    console.print(f"No picture. {problem}" if problem else f"Picture: {target}", highlight=False, markup=False)


def _draw(fit: NoiseFit, target: Path, *, wanted: bool) -> str | None:
    """Write the picture, or say why there is none; that is an error only if it was asked for."""
    try:
        figure = fit.plot()
        from apportion.reporting.figures.style import picture_style

        target.parent.mkdir(parents=True, exist_ok=True)
        with picture_style():
            figure.savefig(target, dpi=150)
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
    numbers = [Column(name, justify="right") for name in ("observations", "mean per unit", "standard error", "own σ")]
    table = Table("arm", *numbers, title=f"What {fit.observations:,} observations say about each arm")
    for name, count, mean, error, sigma in zip(*fit.arms.columns().values()):
        table.add_row(name, f"{count:,}", *with_error(mean, error), readable(sigma))
    return table
