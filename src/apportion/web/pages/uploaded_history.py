"""A history that is uploaded to the page of a new campaign: b and σ measured from it, its columns, the file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, UploadFile

from apportion.errors import InvalidValue


def uploaded(form: FormData) -> UploadFile | None:
    """The file that was chosen, if there is one."""
    file = form.get("history")
    return file if isinstance(file, UploadFile) and file.filename else None


@contextmanager
def saved(file: UploadFile) -> Iterator[Path]:
    """The uploaded file under its own name, for as long as it is looked at."""
    last = (file.filename or "").replace("\\", "/").rpartition("/")[2]
    name = "".join(mark for mark in last if mark.isprintable())[-100:].lstrip(".") or "history.csv"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        file.file.seek(0)
        path.write_bytes(file.file.read())
        yield path


def columns_of(typed: dict[str, str]) -> dict[str, Any]:
    """The names of the columns and the decimal mark, as they were typed."""
    names = {name: typed.get(f"column_{name}", "").strip() or name for name in ("arm", "amount", "outcome")}
    return {**names, "decimal": typed.get("decimal") or None}


def measured(
    form: FormData, typed: dict[str, str], rows: list[dict[str, str]]
) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Measure b and σ; the result goes along in the form. Arms of the file are taken where none was written."""
    from apportion.inference.fit import fit_noise

    file = uploaded(form)
    if file is None:
        raise InvalidValue("Choose a CSV file with columns arm, amount and outcome first.")
    with saved(file) as path:
        fit = fit_noise(path, **columns_of(typed))
    content = {
        "b": round(fit.b, 4), "sigma": float(f"{fit.sigma:.6g}"), "means": fit.means,
        "sentences": fit.summary().splitlines(), "file": path.name,
    }  # fmt: skip
    known = {**typed, "fitted": json.dumps(content), "choice": "history"}
    if not any(row["arm"] for row in rows):
        rows = [{"arm": name, "minimum": "", "maximum": ""} for name in fit.means]
    return known, rows


def fit_in_form(typed: dict[str, str]) -> dict[str, Any] | None:
    """The fit that goes along in the form, if there is one that makes sense."""
    try:
        fitted = json.loads(typed.get("fitted") or "null")
        if fitted is None:
            return None
        return {
            "b": min(max(float(fitted["b"]), 0.0), 1.0),
            "sigma": float(fitted["sigma"]),
            "means": {str(arm): float(mean) for arm, mean in dict(fitted["means"]).items()},
            "sentences": [str(line) for line in list(fitted["sentences"])[:12]],
            "file": str(fitted["file"]),
        }
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
