"""The leaderboard as a page of Markdown and pictures; every number comes from the runs."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from apportion.reporting.html import shown
from apportion.studies.concave.page import ranking
from apportion.studies.concave.scores import Score as WorldScore
from apportion.studies.concave.scores import load_scores
from apportion.studies.leaderboard.plateau import RegretCurve, load_curves, plateau_picture
from apportion.studies.leaderboard.scores import BARS, TAIL_RUNS, Leaderboard, Score, read_scores
from apportion.studies.page import Block, Figure, Heading, Picture, Table, Text, table_of, with_error, write_page

if TYPE_CHECKING:
    import pandas as pd

TITLE = "Leaderboard"
LEAD = (
    "Which policy loses least? Every policy is given b, σ and the horizon. The **score** of a policy is the geometric"
    " mean over the cases of its regret over the least regret of any policy there: once for the mean, once for the"
    " 99% quantile; 1 is best everywhere. `worst` is its worst case by the mean. Behind ± stands the standard error:"
    " the spread of the score where every regret is redrawn within its own error, and the best policy of each case is"
    " found anew each time, so that also a winner's score has one. Every policy has runs of its own on each case. A"
    f" 99% quantile is scored on those cases where every policy has at least {TAIL_RUNS:,} runs, `tails` says how"
    " many; elsewhere it stands in brackets."
)
MEAN_BAR, TAIL_BAR = 1.15, 1.25
NEAR = 2  # a case so many standard errors from its bar may be on its other side
OURS = "Recommended"
_MARK = "†"  # a bound for Gaussian noise, where the case has another

SUITE_WORDS = (
    "b from 0 to 1, 2 to 200 arms, four shapes of means, 100 to 100,000 periods, Gaussian, Rademacher and uniform"
    " noise. The constants of `Recommended` were chosen on random instances like these, among some forty variants,"
    " the last few compared on this suite too: part of its lead here is choice."
)
FRESH_WORDS = (
    "Drawn at random from a seed (`apportion.studies.leaderboard.fresh_suite`); no constant was chosen on these"
    " cases, though on others of the same kind. Many are too short for their gaps, so that no policy can do much"
    " better than another. Draw your own with `--fresh SEED`."
)

CONCAVE_FILES = {"concave.json": "Concave worlds", "concave-fresh.json": "Fresh concave worlds"}
CONCAVE_WORDS = (
    "Power laws, saturating, logarithmic and capped returns, 3 to 20 arms, a σ per arm, means at rest or moving"
    " (`apportion.studies.concave`). What is earned is a part of what the best split of every period would earn."
    " `Auto` is told nothing, the others b and every σ, and c where they know it."
)


class Part(NamedTuple):
    """A leaderboard, with the file name of its picture and the command that made it."""

    board: Leaderboard
    name: str
    command: str


def score_picture(board: Leaderboard) -> Figure:
    """The score of every policy, of the mean and of the tail; 1 is the best policy on every case."""
    from apportion.reporting.figures.canvas import log_axis, new_canvas
    from apportion.reporting.figures.style import FAINT, PALETTE, picture_style

    ranking = board.ranking()
    means, tails, heights = ranking["mean"].tolist(), ranking["tail"].tolist(), range(len(ranking))
    title = f"{ranking.index[0]} loses {means[0]:.2f} times the least, over {len(board.cases)} cases"
    shown_tails = [tail for tail in tails if not math.isnan(tail)]
    with picture_style():
        canvas = new_canvas(1, title, ["geometric mean over the cases"], rows=len(ranking) // 2)
        ax = canvas.axes[0]
        ax.hlines(heights, means, tails, color="#D0D0D0", lw=3, zorder=1)
        ax.plot(means, heights, "o", ms=9, color=PALETTE[0], label="mean regret")
        ax.plot(tails, heights, "D", ms=8, color=PALETTE[1], label="99% quantile of regret")
        ax.set_yticks(heights, list(ranking.index))
        ax.invert_yaxis()
        log_axis(ax, "x", 0.93, 1.2 * max(means + shown_tails))
        ax.axvline(1.0, color=FAINT, lw=1)
        ax.legend(loc="lower right" if max(means[-1], tails[-1]) < max(means + shown_tails) / 2 else "upper right")
        canvas.finish("regret over the least regret of any policy", "", [""])
    return canvas.figure


def write_folder(folder: Path) -> Path:
    """Write the page from the data in the folder: `suite.json`, `fresh.json`, `plateau.json`, or some of them."""
    paths = {name: folder / f"{name}.json" for name in ("suite", "fresh", "plateau")}
    files = {name: read_scores(paths[name]) for name in ("suite", "fresh") if paths[name].exists()}
    parts = {name: Part(Leaderboard.of(file), name, file.command) for name, file in files.items()}
    curves = load_curves(paths["plateau"]) if paths["plateau"].exists() else ()
    concave = {title: load_scores(folder / name) for name, title in CONCAVE_FILES.items() if (folder / name).exists()}
    return write_parts(folder, parts.get("suite"), parts.get("fresh"), curves, concave)


def write_parts(
    folder: Path,
    suite: Part | None,
    fresh: Part | None = None,
    plateau: Sequence[RegretCurve] = (),
    concave: Mapping[str, tuple[Sequence[WorldScore], str]] | None = None,
) -> Path:
    """Write `leaderboard.md` and its pictures into a folder, from whichever parts there are.

    `concave` has scores in concave worlds and the command that made them, by title.
    """
    return write_page(folder / "leaderboard.md", TITLE, LEAD, _blocks(suite, fresh, plateau, concave or {}))


def _blocks(
    suite: Part | None,
    fresh: Part | None,
    plateau: Sequence[RegretCurve],
    concave: Mapping[str, tuple[Sequence[WorldScore], str]],
) -> Iterator[Block]:
    for part, title, words in ((suite, "The suite", SUITE_WORDS), (fresh, "A fresh suite", FRESH_WORDS)):
        if part is not None:
            yield Heading(title)
            yield Text(f"{len(part.board.cases)} cases. {words} Made by `{part.command}`.")
            yield Picture(part.name, "The score of every policy.", functools.partial(score_picture, part.board))
            yield _ranking(part.board)
            yield from _bars(part.board)
    for title, (scores, command) in concave.items():
        yield Heading(title)
        yield Text(f"{CONCAVE_WORDS} Made by `{command}`.")
        yield ranking(scores)._replace(caption="")
    if plateau:
        yield from _plateau(plateau)
    for part, title in ((suite, "the suite"), (fresh, "the fresh suite")):
        if part is not None:
            yield Heading(f"Cases of {title}")
            yield from _cases(part.board)


def _ranking(board: Leaderboard) -> Table:
    return table_of("", board.ranking().reset_index().to_dict(orient="records"), {
        "policy": "policy", "mean": lambda row: with_error(row["mean"], row["mean_error"]),
        "99% quantile": lambda row: with_error(row["tail"], row["tail_error"]) if row["tails"] else "–",
        "worst": "worst", "cases": "cases", "tails": "tails",
    })  # fmt: skip


def _bars(board: Leaderboard) -> Iterator[Block]:
    """What `Recommended` is held to, and what was found."""
    if not {OURS, "Thompson"} <= set(board.scores):
        return
    ranking = board.ranking()
    rows: list[list[object]] = []
    for name, words, bar in (("mean", "mean", MEAN_BAR), ("tail", "99% quantile", TAIL_BAR)):
        value, error = (float(ranking[column].to_dict()[OURS]) for column in (name, f"{name}_error"))
        if not math.isnan(value):
            rows.append([f"score of the {words}", f"at most {bar}", with_error(value, error), value <= bar])
    against = board.against_thompson()
    for bar, where in BARS.items():
        held = against[against["bar"] == bar]
        if len(held):
            missed = held[held["ratio"] > bar]
            found = f"{len(held) - len(missed)} of {len(held)} cases; worst {shown(float(held['ratio'].max()))}"
            near = int(((held["ratio"] - bar).abs() < NEAR * held["error"]).sum())
            found += f"; {near} are within {NEAR} standard errors of the bar" if near else ""
            if len(missed):
                found += _out_of_reach(missed, bar)
            rows.append([f"mean regret over Thompson's: {where}", f"at most {bar:g}", found, not len(missed)])
    yield Table(
        f"What `{OURS}` is held to. A bar is met where the measured number is at most the bar, whatever its error:",
        ["bar", "wanted", "found", "met"], rows,
    )  # fmt: skip


def _out_of_reach(missed: pd.DataFrame, bar: float) -> str:
    """Of the cases missed, how many no policy reaches: none that was played, and none that there can be."""
    here = int((missed["least"] > bar).sum())
    proven = missed[missed["bound"] > bar]
    surely = int((proven["noise"] == "gaussian").sum())
    return (
        f"; of the {len(missed)} missed, {here} are reached by no policy on this board, {surely} cannot be reached by"
        f" any policy (`theory.least_regret`), and {len(proven) - surely} more could not with Gaussian noise"
    )


def _plateau(curves: Sequence[RegretCurve]) -> Iterator[Block]:
    last = curves[0].periods[-1]
    yield Heading("Does regret stop growing?")
    yield Text(
        f"One good arm of five, gap 0.5, σ = 1, every period played to {last:,}. Above b = 1/2 the regret of a policy"
        " that divides is finite (proven, with constants that say little) and is seen to settle; that of a pooled one"
        " grows with log T. Made by `python -m benchmarks.leaderboard`."
    )
    yield Picture("plateau", "Mean regret against time.", lambda: plateau_picture(curves))
    yield table_of("", [curve._asdict() for curve in curves], {
        "b": "b", "policy": "policy",
        f"mean regret at {last:,}": lambda row: with_error(row["mean"][-1], row["error"][-1]),
        f"of it after {last // 10:,}": lambda row: with_error(row["growth"], row["growth_error"]),
        "in per cent": lambda row: f"{100 * row['growth'] / row['mean'][-1]:.2g}",
    })  # fmt: skip


def _cases(board: Leaderboard) -> Iterator[Block]:
    for title, part in (("Mean regret", "of_mean"), ("99% quantile of regret", "of_tail")):
        yield Heading(title, 3)
        yield _by_case(board, part)
    if not {OURS, "Thompson"} <= set(board.scores):
        return
    against = board.against_thompson()
    yield Heading("Against pooled Thompson sampling", 3)
    yield Text(
        f"The mean regret of `{OURS}` over that of `Thompson`, with the bar where there is one; `least` is the"
        " same ratio for the best policy on that case. `bound`, where the bar is missed, is the same ratio for a"
        " regret that no policy can have less than, on average over the orders of the arms: a theorem"
        f" (`theory.least_regret`) for Gaussian noise. With other noise, marked {_MARK}, it is the bound of the"
        " same case with Gaussian noise, and a policy that knows the noise exactly may do better."
    )
    for title, rows in (("b ≤ 1/2", against[against["b"] <= 0.5]), ("b > 1/2", against[against["b"] > 0.5])):
        if len(rows):
            yield Heading(title, 4)
            yield _against(rows)


def _against(found: pd.DataFrame) -> Table:
    rows = []
    for case, row in found.iterrows():
        barred, bounded = not math.isnan(row["bar"]), not math.isnan(row["bound"])
        mark = _MARK if row["noise"] != "gaussian" else ""
        rows.append([
            str(case), row["thompson"], with_error(row["ratio"], row["error"]), row["bar"] if barred else "",
            bool(row["ratio"] <= row["bar"]) if barred else "", row["least"],
            f"{shown(row['bound'])}{mark}" if bounded else "",
        ])  # fmt: skip
    return Table("", ["case", "Thompson's regret", "ratio", "bar", "met", "least", "bound"], rows)


def _by_case(board: Leaderboard, part: str) -> Table:
    """Every policy on every case, `of_mean` or `of_tail`; empty where a policy refuses the case."""
    names = list(board.ranking().index)
    rows = []
    for case in board.cases:
        scores = [board.scores[name].get(case.label) for name in names]
        rows.append([case.label, *("" if score is None else _regret(score, part) for score in scores)])
    return Table("", ["case", *names], rows)


def _regret(score: Score, part: str) -> str:
    """A mean or a tail with its error; a tail of too few runs in brackets."""
    text = with_error(*getattr(score, part))
    return f"({text})" if part == "of_tail" and score.runs < TAIL_RUNS else text
