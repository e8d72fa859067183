"""Does regret stop growing above b = 1/2? Long runs on fixed instances, and how much the last decade of time adds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from apportion._common import files
from apportion.model.law import Instance
from apportion.policies import find_policy
from apportion.simulation.candidates import Informed
from apportion.simulation.families import means_of
from apportion.simulation.simulate import simulate
from apportion.studies.page import Figure

HORIZON = 10_000_000
RUNS = 12
MARKS_A_DECADE = 8
ARMS, GAP = 5, 0.5
EXPONENTS = (0.6, 0.75, 0.9)
POLICIES = ("Recommended", "Odds", "Thompson")


class RegretCurve(NamedTuple):
    """The mean regret of a policy over time, and what the last tenfold of periods added."""

    policy: str
    b: float
    periods: tuple[int, ...]
    mean: tuple[float, ...]
    error: tuple[float, ...]
    growth: float
    growth_error: float


def run_plateau(
    *,
    horizon: int = HORIZON,
    runs: int = RUNS,
    exponents: Sequence[float] = EXPONENTS,
    policies: Sequence[str] = POLICIES,
    seed: int = 1,
    workers: int | None = None,
    on_curve: Callable[[RegretCurve], None] = lambda curve: None,
) -> list[RegretCurve]:
    """Every policy at every b on one good arm of five, gap 0.5; it knows b, σ and T. Every period is played."""
    marks = np.geomspace(10, horizon, round(MARKS_A_DECADE * np.log10(horizon / 10)) + 1).round().astype(int)
    before = horizon // 10
    periods = sorted({*marks.tolist(), before, horizon})
    curves = []
    for b in exponents:
        world = Instance(means_of("one good arm", ARMS, GAP), b)
        for name in policies:
            found = simulate(
                Informed(find_policy(name)), world, horizon=horizon, replications=runs, seed=seed,
                record=("regret",), periods=periods, workers=workers, engine="dense", progress=False,
            )  # fmt: skip
            regret = found.regret.isel(policy=0, instance=0).transpose("replication", "period").values
            added = regret[:, -1] - regret[:, periods.index(before)]
            root = np.sqrt(len(regret))
            curve = RegretCurve(
                name, b, tuple(periods), _rounded(regret.mean(axis=0)), _rounded(regret.std(axis=0, ddof=1) / root),
                *_rounded([added.mean(), added.std(ddof=1) / root]),
            )  # fmt: skip
            curves.append(curve)
            on_curve(curve)
    return curves


def _rounded(values: Any) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values)


def save_curves(curves: Sequence[RegretCurve], path: Path) -> None:
    """As JSON, one line of text for each."""
    rows = (json.dumps(curve._asdict()) for curve in curves)
    files.write_text(path, "[\n" + ",\n".join(rows) + "\n]\n")


def load_curves(path: Path) -> list[RegretCurve]:
    """What `save_curves` wrote."""
    return [RegretCurve(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def plateau_picture(curves: Sequence[RegretCurve]) -> Figure:
    """Mean regret against log T, a panel for each b, with two standard errors around."""
    from apportion.reporting.figures.canvas import log_axis, new_canvas
    from apportion.reporting.figures.style import PALETTE, picture_style

    exponents = sorted({curve.b for curve in curves})
    names = list(dict.fromkeys(curve.policy for curve in curves))
    title = "Above b = 1/2 a divided budget stops losing; a pooled one never does"
    with picture_style():
        canvas = new_canvas(len(exponents), title, ["bands: two standard errors"], share=True)
        for ax, b in zip(canvas.axes, exponents, strict=True):
            for curve in (curve for curve in curves if curve.b == b):
                color = PALETTE[names.index(curve.policy)]
                mean, error = np.array(curve.mean), np.array(curve.error)
                ax.fill_between(curve.periods, mean - 2 * error, mean + 2 * error, color=color, alpha=0.18, lw=0)
                ax.plot(curve.periods, mean, color=color, lw=2, label=curve.policy)
            log_axis(ax, "x", curves[0].periods[0], curves[0].periods[-1])
            ax.set_ylim(0, 1.08 * max(curve.mean[-1] + 2 * curve.error[-1] for curve in curves))
        canvas.finish("period", "mean regret so far", [f"b = {b:g}" for b in exponents])
    return canvas.figure
