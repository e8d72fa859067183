"""Lemma 2: the surface over stopping times and its exact maximum; and the example A_t = t^(−α)."""

from __future__ import annotations

import numpy as np

from apportion import theory
from apportion.reporting.html import shown
from apportion.studies.page import Block, Figure, Picture, Text, table_of
from apportion.studies.paper.section import OnStep, Section, Sizes, Values

ARMS, HORIZON, B = 3, 40, 0.75
ARM_COUNTS = (3, 10, 100)
ALPHA = 1.5


def measure(sizes: Sizes, seed: int, on_step: OnStep) -> Values:
    """The surface for three arms, the exact maximum against every whole choice; the sums of the example."""
    on_step("Lemma 2")
    times = np.linspace(0.0, HORIZON, sizes.surface_steps + 1)
    surface = [
        [theory.stopping_time_sum([low, high, HORIZON], B) if low <= high else None for low in times]
        for high in times
    ]
    choices = [(low, high) for high in range(HORIZON + 1) for low in range(high + 1)]
    whole = max((theory.stopping_time_sum([low, high, HORIZON], B), low, high) for low, high in choices)
    table = [
        {
            "arms": arms, "b": b, "printed": theory.stopping_time_printed_bound(arms, HORIZON, b),
            "exact": theory.stopping_time_maximum(arms, HORIZON, b),
        }
        for arms in ARM_COUNTS for b in (0.5, 0.75, 0.9, 1.0)
    ]  # fmt: skip
    counts = [int(10**power) for power in range(7)]
    example = [{"t": t, **theory.example_precision(t, ALPHA, B)._asdict()} for t in counts]
    return {
        "arms": ARMS, "horizon": HORIZON, "b": B, "times": times, "surface": surface,
        "whole": {"value": whole[0], "first": whole[1], "second": whole[2]},
        "maximum": theory.stopping_time_maximum(ARMS, HORIZON, B),
        "maximiser": theory.stopping_time_maximiser(ARMS, HORIZON, B),
        "printed": theory.stopping_time_printed_bound(ARMS, HORIZON, B),
        "table": table, "alpha": ALPHA, "example": example,
    }  # fmt: skip


def show(values: Values) -> list[Block]:
    """The maximum in numbers and as a surface; the example as a table."""
    first, second, _ = values["maximiser"]
    whole = values["whole"]
    return [
        Text(
            "Lemma 2 bounds a sum over the times at which Algorithm 1 drops its arms by K^(1−b)·√(T/(2−2b)), and "
            "the text says that the best times have no closed form. They have: the maximum is √(T·C(K, b)). At K = "
            f"{shown(values['arms'])}, T = {shown(values['horizon'])}, b = {shown(values['b'])} the best whole "
            f"times are {shown(whole['first'])} and {shown(whole['second'])} with {shown(whole['value'])}; the "
            f"formula gives {shown(first)} and {shown(second)} with {shown(values['maximum'])}; printed is "
            f"{shown(values['printed'])}."
        ),
        Picture("lemma-2", "The sum of Lemma 2 over two stopping times; the last is T.", lambda: draw(values)),
        table_of(
            f"Lemma 2 at T = {shown(values['horizon'])}: the printed bound is infinite at b = 1, the maximum is not.",
            values["table"],
            {"K": "arms", "b": "b", "printed": "printed", "exact maximum": "exact", "printed over exact":
             lambda row: None if row["printed"] == "∞" else row["printed"] / row["exact"]},
        ),
        Text(
            f"The example before Algorithm 2, shares A = t^(−α) with α = {shown(values['alpha'])} at b = "
            f"{shown(values['b'])}: the resource and the precision R1 of the ratio of sums stay finite, while the "
            "precision R2 of the mean of ratios grows without end. So it is right as printed; the information B "
            "grows at the same rate and is larger."
        ),
        table_of("The example A = t^(−α).", values["example"], {
            "t": "t", "resource S": "resource", "R1": "ratio_of_sums", "R2": "mean_of_ratios",
            "information B": "information",
        }),
    ]  # fmt: skip


def draw(values: Values) -> Figure:
    """Contours over the two free stopping times, with the exact maximiser and the best whole choice."""
    from apportion.reporting.figures.canvas import new_canvas
    from apportion.reporting.figures.style import picture_style

    first, second, _ = values["maximiser"]
    whole = values["whole"]
    surface = np.array([[np.nan if value is None else value for value in row] for row in values["surface"]])
    with picture_style():
        title = f"The best stopping times have a closed form: {first:.4g} and {second:.4g}"
        notes = [f"K = {values['arms']}, T = {values['horizon']}, b = {values['b']:g}"]
        canvas = new_canvas(1, title, notes)
        ax = canvas.axes[0]
        times, sums = values["times"], np.ma.masked_invalid(surface)
        shades = ax.contourf(times, times, sums, levels=20, cmap="cividis")
        canvas.figure.colorbar(shades, ax=ax, label="sum of Lemma 2", format="%.1f")
        ax.plot([first], [second], "*", color="white", mec="black", ms=17, label=f"exact: {values['maximum']:.6g}")
        label = f"best whole times: {whole['value']:.6g}"
        ax.plot([whole["first"]], [whole["second"]], "o", mfc="none", mec="#D55E00", mew=2, ms=13, label=label)
        ax.legend(loc="lower right")
        canvas.finish("first arm dropped after period", "second arm dropped after period", [""])
    return canvas.figure


SECTION = Section("lemma-2", "Lemma 2, and the example A = t^(−α)", __name__, measure, show)
