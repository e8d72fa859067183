"""The picture of how a policy splits the resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from apportion._common import validation
from apportion.reporting.figures.canvas import log_axis, new_canvas, plain_axis
from apportion.reporting.figures.data import Floats, World, policies_of, worlds_of
from apportion.reporting.figures.phrases import as_text, compare_facts, runs_text
from apportion.reporting.figures.style import HATCHES, OTHERS, PALETTE, picture_style
from apportion.reporting.figures.titles import split_title

if TYPE_CHECKING:
    from apportion.simulation.result import Result


@picture_style()
def shares_over_time(
    result: Result, *, policy: str, instance: str | None = None, replication: int | None = None, scale: str = "log"
) -> Figure:
    """How a policy splits the resource, as stacked areas: the mean over the runs, or one `replication` (from 0).

    Needs a result of `simulate(..., record=("regret", "shares"))`. A share is drawn as constant around each recorded
    period. Arms stand in the order of their means, the best at the bottom; beyond eight, the smallest are added up.
    `scale` is that of time, "log" or "linear".
    """
    log = validation.choice("scale", scale, ("log", "linear")) == "log"
    if "shares" not in result.dataset:
        recorded = ", ".join(str(name) for name in result.dataset.data_vars)
        raise validation.refuse("result", "simulated with record=('regret', 'shares')", f"one with {recorded}")
    names = policies_of(result)
    number = names.index(validation.choice("policy", policy, names))
    worlds = worlds_of(result, instance)
    if len(worlds) > 1:
        options = ", ".join(repr(world.label) for world in worlds)
        raise validation.refuse("instance", f"given, one of {options}", instance)
    world = worlds[0]
    runs = result.dataset["shares"].values[number, world.number][..., : world.arms]
    if replication is not None:
        run = validation.whole("replication", replication, low=0, high=len(runs) - 1)
        runs = runs[run : run + 1]
    runs = runs[~np.isnan(runs).any(axis=(1, 2))]
    if not len(runs):
        raise validation.refuse("policy", "one with finished runs on this instance", policy)
    shares = runs.mean(axis=0)
    periods = result.dataset["period"].values.astype(np.float64)
    order = _arm_order(shares, world.means)
    main = order if len(order) <= len(HATCHES) else _largest(shares, order, len(HATCHES) - 1)
    layers = [(shares[:, arm], _arm_label(arm, world)) for arm in main]
    if len(main) < len(order):
        rest = [arm for arm in order if arm not in main]
        layers.append((shares[:, rest].sum(axis=1), f"{len(rest)} other arms"))
    which = f"mean of {runs_text(len(runs))}" if replication is None else f"run {replication}"
    note = [compare_facts([world.facts], but="horizon")[0], which]
    canvas = new_canvas(1, split_title(policy, shares[-1], world), note)
    ax = canvas.axes[0]
    edges = _edges(periods, log)
    base = np.zeros(len(periods))
    for index, (height, label) in enumerate(layers):
        colour = PALETTE[index] if index < len(PALETTE) else OTHERS
        ax.stairs(
            base + height, edges, baseline=base, fill=True, facecolor=colour,
            edgecolor="white", hatch=HATCHES[index % len(HATCHES)], lw=0, label=as_text(label),
            alpha=1.0 if index == 0 else 0.75,
        )  # fmt: skip
        base = base + height
        if index + 1 < len(layers):
            ax.stairs(base, edges, color="white", lw=1.2, baseline=None)
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}%"))
    if log and edges[0] > 0:
        log_axis(ax, "x", edges[0], edges[-1])
    else:
        ax.set_xlim(edges[0], edges[-1])
        plain_axis(ax, "x")
    ax.grid(visible=False)
    handles, labels = ax.get_legend_handles_labels()
    canvas.figure.legend(
        handles[::-1], labels[::-1], loc="outside right center", handlelength=1.6, handleheight=1.4, labelspacing=0.7
    )
    canvas.finish("time in periods", "share of the resource", [""])
    return canvas.figure


def _arm_label(arm: int, world: World) -> str:
    if world.means is None:
        return f"arm {arm + 1}"
    best = " (best)" if world.means[arm] == max(world.means) else ""
    return f"arm {arm + 1}, mean {world.means[arm]:.3g}{best}"


def _arm_order(shares: Floats, means: tuple[float, ...] | None) -> list[int]:
    """Best mean first; without means the largest last share first."""
    worth = shares[-1] if means is None else np.array(means)
    return [int(arm) for arm in np.argsort(-worth, kind="stable")]


def _largest(shares: Floats, order: list[int], count: int) -> list[int]:
    """The best arm and those with most resource, in the given order."""
    mass = shares.mean(axis=0)
    kept = {order[0], *sorted(order[1:], key=lambda arm: -float(mass[arm]))[: count - 1]}
    return [arm for arm in order if arm in kept]


def _edges(periods: Floats, log: bool) -> Floats:
    """Where the step of one recorded period ends and the next begins."""
    if len(periods) == 1:
        return np.array([periods[0] - 0.5, periods[0] + 0.5])
    between = np.sqrt(periods[1:] * periods[:-1]) if log else (periods[1:] + periods[:-1]) / 2
    return np.concatenate([periods[:1], between, periods[-1:]])
