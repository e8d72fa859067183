"""A history that is uploaded to the page of a new campaign: b and σ measured from it, its columns, the file."""

from __future__ import annotations

import json
from typing import Any

from starlette.datastructures import FormData, UploadFile

from apportion._common.tables import FileContent
from apportion.errors import InvalidValue


def uploaded(form: FormData) -> UploadFile | None:
    """The file that was chosen, if there is one."""
    file = form.get("history")
    return file if isinstance(file, UploadFile) and file.filename else None


def content_of(file: UploadFile) -> FileContent:
    """The uploaded file, under its own name."""
    last = (file.filename or "").replace("\\", "/").rpartition("/")[2]
    name = "".join(mark for mark in last if mark.isprintable())[-100:].lstrip(".") or "history.csv"
    file.file.seek(0)
    return FileContent(name, file.file.read())


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
    history = content_of(file)
    fit = fit_noise(history, **columns_of(typed), c=1.0, sigma="common")  # the law that a campaign is created with
    content = {
        "b": round(fit.b, 4), "sigma": float(f"{fit.sigma:.6g}"), "means": fit.means,
        "sentences": fit.summary().splitlines(), "file": history.name,
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
