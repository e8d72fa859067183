"""The study as a page of Markdown and a picture; every number comes from the data."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apportion.studies.robustness.run import BOTH_WAYS, LINEAR, Key, Study, cells_of
from apportion.studies.robustness.troubles import BY_KEY, CHOSEN_ON, PARAMETERS, POLICIES, TROUBLES, WORLDS, World
from apportion.studies.robustness.words import paragraphs, verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(study: Study) -> Figure:
    """Regret over that of the clean case, per trouble and policy, one panel per world."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullLocator

    from apportion.reporting.figures.style import FAINT, GRID, LARGE, light, look

    shown = [trouble for trouble in TROUBLES if trouble.key != "clean"]
    ratios = [study.ratio(key)[0] for key in study]
    with light():
        figure = Figure(figsize=(11.2, 0.42 * len(shown) + 2.4), layout="constrained", facecolor="white")
        axes = figure.subplots(1, len(WORLDS), sharey=True)
        for ax, world in zip(np.atleast_1d(axes), WORLDS):
            for place, policy in enumerate(POLICIES):
                style = look(place)
                points = [study.ratio(Key(world.name, policy, trouble.key)) for trouble in shown]
                values, errors = np.array(points).T
                ax.errorbar(
                    values, np.arange(len(shown)) + 0.16 * (place - 1.5),
                    xerr=[np.minimum(2.0 * errors, 0.9 * values), 2.0 * errors], fmt=style.marker,
                    color=style.colour, ms=6, lw=1.2, label=policy,
                )  # fmt: skip
            low, high = min(0.5, 0.9 * min(ratios)), max(4.0, 1.3 * max(ratios))
            ax.set_xscale("log")
            ax.set_xlim(low, high)
            marks = [mark for mark in (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64) if low <= mark <= high]
            ax.xaxis.set_major_locator(FixedLocator(marks))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set_xticklabels([f"{mark:g}" for mark in marks])
            ax.axvline(1.0, color=FAINT, lw=1)
            ax.grid(axis="x", color=GRID)
            for place in range(1, len(shown)):
                if shown[place].group != shown[place - 1].group:
                    ax.axhline(place - 0.5, color=GRID, lw=1)
            ax.set_yticks(range(len(shown)), [trouble.label for trouble in shown])
            ax.tick_params(axis="y", length=0)
            ax.set_title(f"b = {world.b:g}: {world.name}", loc="left")
            ax.set_xlabel("regret over that of the clean case (bars: 2 standard errors)")
        np.atleast_1d(axes)[0].invert_yaxis()
        figure.legend(
            *np.atleast_1d(axes)[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(POLICIES)
        )
        figure.suptitle("What each trouble costs", fontsize=LARGE, fontweight="bold", x=0.01, ha="left")
    return figure


def write_page(study: Study, folder: Path, command: str) -> Path:
    """Write data.json and the picture into `folder`, and the page beside it: folder.md."""
    from apportion.reporting import figures

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.json").write_text(study.to_json() + "\n", encoding="utf-8")
    study = Study.from_json(study.to_json())  # the page says what the file says
    figures.save(picture(study), folder / "robustness")
    lines = [
        "# Robustness",
        "",
        "What happens to regret when something is not as assumed: σ or b is told wrongly, the noise has heavy tails,"
        " means move, outcomes come late, arms arrive late. Each figure is the mean regret in the troubled world over"
        " that of the same policy in the same world without the trouble.",
        "",
        verdict(study),
        "",
        f"![Regret over that of the clean case]({folder.name}/robustness.png)",
        "",
        f"Two worlds with {WORLDS[0].arms} arms, one better by {WORLDS[0].gap:g}, σ = 1, T = {study.horizon:,}:"
        f" b = {WORLDS[0].b:g}, where dividing is right, and b = {WORLDS[1].b:g}, where pooling is; {study.runs} runs"
        f" of each cell ({_given()}), with the same means and noise for every policy and remedy. Runs are compiled;"
        f" {min(BOTH_WAYS, study.horizon)} periods of every cell were also played through the `Allocator` (ask, wait,"
        f" tell), and no period's regret differed by more than {study.apart:.1g}. Regret counts as linear where the"
        f" second half of the time, three standard errors down, loses more than {LINEAR:.0%} of what an even split"
        f" loses there. {_chosen(study)} Made by `{command}`; every run is in `{folder.name}/data.json`.",
        "",
    ]
    for world in WORLDS:
        lines += [f"## Regret at b = {world.b:g}", "", *_regret_table(study, world), ""]
    for heading, text in paragraphs(study):
        lines += [f"## {heading}", "", " ".join(text.split()), ""]
    lines += [
        "## The tail, and the second half",
        "",
        "The 99% quantile of regret, and what the second half of the time loses as a part of an even split's loss.",
        "",
    ]
    for world in WORLDS:
        lines += [f"At b = {world.b:g}:", "", *_tail_table(study, world), ""]
    page = folder.with_suffix(".md")
    page.write_text("\n".join(lines), encoding="utf-8")
    return page


def _chosen(study: Study) -> str:
    """Whether these runs are others than those that the remedies were tuned on."""
    own = "the same as these" if study.seed == CHOSEN_ON else f"not on these, of seed {study.seed}"
    return f"The lengths of memory and the robust groups were chosen on the runs of seed {CHOSEN_ON}, {own}."


def _given() -> str:
    """What a policy is given besides b and σ."""
    return "; ".join(
        f"`{policy}` with {', '.join(f'{name} {value:g}' for name, value in given.items())}"
        for policy, given in PARAMETERS.items()
    )


def _regret_table(study: Study, world: World) -> list[str]:
    rows = []
    for trouble, keys in cells_of(study, world).items():
        cells = []
        for key in keys:
            ratio, error = study.ratio(key)
            times = "" if trouble == "clean" else f", × {ratio:.2f} ± {error:.2f}"
            cells.append(f"{_figure(study.cells[key].mean)} ± {study.cells[key].error:.2g}{times}")
        rows.append([BY_KEY[trouble].label, *cells])
    return _markdown(["trouble", *POLICIES], rows)


def _tail_table(study: Study, world: World) -> list[str]:
    rows = []
    for trouble, keys in cells_of(study, world).items():
        cells = []
        for key in keys:
            mark = " (linear)" if study.linear(key) else ""
            cells.append(f"{_figure(study.cells[key].tail)}, {study.late_part(key)[0]:.0%}{mark}")
        rows.append([BY_KEY[trouble].label, *cells])
    return _markdown(["trouble", *POLICIES], rows)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def _markdown(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]
