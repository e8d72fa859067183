"""The leaderboard as a page of Markdown and pictures; every number comes from the runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from apportion.studies.leaderboard.board import Board
from apportion.studies.leaderboard.kept import read
from apportion.studies.leaderboard.plateau import Line, load_lines, plateau_picture

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MEAN_BAR, TAIL_BAR = 1.15, 1.25
OURS = "Recommended"
_MARK = "†"  # a bound for Gaussian noise, where the case has another


class Part(NamedTuple):
    """A board, with the file name of its picture and the command that made it."""

    board: Board
    name: str
    command: str


def score_picture(board: Board) -> Figure:
    """The score of every policy, of the mean and of the tail; 1 is the best policy on every case."""
    from matplotlib.figure import Figure

    from apportion.reporting.figures.scales import log_axis
    from apportion.reporting.figures.style import FAINT, LARGE, PALETTE, light

    ranking = board.ranking()
    best = ranking.index[0]
    with light():
        figure = Figure(figsize=(9.0, 0.42 * len(ranking) + 2.0), layout="constrained")
        ax = figure.subplots()
        for place, (_, row) in enumerate(ranking.iterrows()):
            ax.plot([row["mean"], row["tail"]], [place, place], color="#D0D0D0", lw=3, zorder=1)
        ax.plot(ranking["mean"], range(len(ranking)), "o", ms=9, color=PALETTE[0], label="mean regret")
        ax.plot(ranking["tail"], range(len(ranking)), "D", ms=8, color=PALETTE[1], label="99% quantile of regret")
        ax.set_yticks(range(len(ranking)), list(ranking.index))
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        log_axis(ax, "x", 0.93, float(ranking[["mean", "tail"]].to_numpy().max()) * 1.2)
        ax.axvline(1.0, color=FAINT, lw=1)
        ax.grid(axis="x", color="#E4E4E4")
        ax.set_xlabel("regret over the least regret of any policy, geometric mean over the cases")
        ax.legend(loc="lower right" if ranking["tail"].iloc[-1] < ranking["tail"].max() / 2 else "upper right")
        mean = float(ranking["mean"].iloc[0])
        figure.suptitle(
            f"{best} loses {mean:.2f} times the least, over {len(board.cases)} cases",
            fontsize=LARGE, fontweight="bold", x=0.01, ha="left",
        )  # fmt: skip
    return figure


def write_folder(folder: Path) -> Path:
    """Write the page from what is kept in the folder: `suite.json`, `fresh.json`, `plateau.json`, or some of them."""
    suite, fresh = (_part(folder / f"{name}.json") for name in ("suite", "fresh"))
    plateau = folder / "plateau.json"
    return write_page(folder, suite, fresh, load_lines(plateau) if plateau.exists() else ())


def _part(path: Path) -> Part | None:
    return Part(Board.load(path), path.stem, read(path)["command"]) if path.exists() else None


def write_page(folder: Path, suite: Part | None, fresh: Part | None = None, plateau: Sequence[Line] = ()) -> Path:
    """Write `leaderboard.md` and its pictures into a folder, from whichever parts there are."""
    from apportion.reporting import figures

    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Leaderboard",
        "",
        "Which policy loses least? Every policy is told b, σ and the horizon. The **score** of a policy is the"
        " geometric mean over the cases of its regret over the least regret of any policy there: once for the mean,"
        " once for the 99% quantile; 1 is best everywhere. `worst` is its worst case by the mean. Standard errors in"
        " brackets.",
        "",
    ]
    for part, title, told in (
        (suite, "The suite", "b from 0 to 1, 2 to 200 arms, four shapes of means, 100 to 100,000 periods, Gaussian,"
         " Rademacher and uniform noise. The constants of `Recommended` were chosen on random instances like these,"
         " among some forty variants, the last few compared on this suite too: part of its lead here is choice."),
        (fresh, "A fresh suite", "Drawn at random from a seed (`studies.leaderboard.fresh_suite`); no constant was"
         " chosen on these cases, though on others of the same kind. Many are too short for their gaps, so that no"
         " policy can do much better than another. Draw your own with `--fresh SEED`."),
    ):  # fmt: skip
        if part is not None:
            figures.save(score_picture(part.board), folder / part.name)
            lines += [f"## {title}", "", f"{len(part.board.cases)} cases. {told} Made by `{part.command}`.", ""]
            lines += [f"![scores](./{part.name}.png)", "", *_ranking(part.board), "", *_bars(part.board)]
    if plateau:
        figures.save(plateau_picture(plateau), folder / "plateau")
        lines += _plateau(plateau)
    for part, title in ((suite, "the suite"), (fresh, "the fresh suite")):
        if part is not None:
            lines += [f"## Cases of {title}", "", *_cases(part.board)]
    path = folder / "leaderboard.md"
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return path


def _ranking(board: Board) -> list[str]:
    return _markdown(["policy", "mean", "99% quantile", "worst", "cases"], (
        [
            str(row.policy), f"{row.mean:.3f} ({row.mean_error:.3f})", f"{row.tail:.3f} ({row.tail_error:.3f})",
            f"{row.worst:.2f}", str(row.cases),
        ]
        for row in board.ranking().reset_index().itertuples(index=False)
    ))  # fmt: skip


def _bars(board: Board) -> list[str]:
    """What `Recommended` is held to, and what was found."""
    if not {OURS, "Thompson"} <= set(board.scores):
        return []
    row = board.ranking().loc[OURS]
    found = [
        ["score of the mean", f"at most {MEAN_BAR}", f"{row['mean']:.3f}", _word(row["mean"] <= MEAN_BAR)],
        ["score of the 99% quantile", f"at most {TAIL_BAR}", f"{row['tail']:.3f}", _word(row["tail"] <= TAIL_BAR)],
    ]
    against = board.against_thompson()
    for bar, where in ((1.1, "b ≤ 1/2"), (0.5, "b ≥ 0.6, five arms or more, Thompson's regret above 20")):
        rows = against[against["bar"] == bar]
        if len(rows):
            over = rows[rows["ratio"] > bar]
            told = f"{len(rows) - len(over)} of {len(rows)} cases; worst {rows['ratio'].max():.2f}"
            if len(over):
                told += _out_of_reach(over, bar)
            found.append([f"mean regret over Thompson's: {where}", f"at most {bar:g}", told, _word(not len(over))])
    return [f"What `{OURS}` is held to:", "", *_markdown(["bar", "wanted", "found", "met"], found), ""]


def _out_of_reach(missed: pd.DataFrame, bar: float) -> str:
    """Of the cases missed, how many no policy reaches: none that was played, and none that there can be."""
    here = int((missed["least"] > bar).sum())
    proven = missed[missed["bound"] > bar]
    surely = int((proven["noise"] == "gaussian").sum())
    return (
        f"; of the {len(missed)} missed, {here} are reached by no policy on this board, {surely} cannot be reached by"
        f" any policy (`theory.least_regret`), and {len(proven) - surely} more could not with Gaussian noise"
    )


def _word(met: object) -> str:
    return "yes" if met else "no"


def _plateau(lines: Sequence[Line]) -> list[str]:
    last = lines[0].periods[-1]
    return [
        "## Does regret stop growing?",
        "",
        f"One good arm of five, gap 0.5, σ = 1, every period played to {last:,}. Above b = 1/2 the regret of a policy"
        " that divides is finite (proven, with constants that say little) and is seen to settle; that of a pooled one"
        " grows with log T. Made by `python -m benchmarks.leaderboard`.",
        "",
        "![regret against time](./plateau.png)",
        "",
        *_markdown(["b", "policy", f"mean regret at {last:,}", f"of it after {last // 10:,}", "in per cent"], (
            [
                f"{line.b:g}", line.policy, f"{line.mean[-1]:.4g} ({line.error[-1]:.2g})",
                f"{line.growth:.3g} ({line.growth_error:.1g})", f"{100 * line.growth / line.mean[-1]:.2g}",
            ]
            for line in lines
        )),
        "",
    ]  # fmt: skip


def _cases(board: Board) -> list[str]:
    lines = ["### Mean regret", "", *_by_case(board, "mean", "mean_error"), ""]
    lines += ["### 99% quantile of regret", "", *_by_case(board, "tail", "tail_error"), ""]
    if {OURS, "Thompson"} <= set(board.scores):
        against = board.against_thompson()
        lines += [
            "### Against pooled Thompson sampling",
            "",
            f"The mean regret of `{OURS}` over that of `Thompson`, with the bar where there is one; `least` is the"
            " same ratio for the best policy on that case. `bound`, where the bar is missed, is the same ratio for a"
            " regret that no policy can have less than, on average over the orders of the arms: a theorem"
            f" (`theory.least_regret`) for Gaussian noise. With other noise, marked {_MARK}, it is the bound of the"
            " same case with Gaussian noise, and a policy that knows the noise exactly may do better.",
            "",
        ]
        for title, rows in (("b ≤ 1/2", against[against["b"] <= 0.5]), ("b > 1/2", against[against["b"] > 0.5])):
            lines += [f"#### {title}", "", *_against(rows), ""] if len(rows) else []
    return lines


def _against(rows: pd.DataFrame) -> list[str]:
    return _markdown(["case", "Thompson's regret", "ratio", "bar", "met", "least", "bound"], (
        [
            str(case), f"{row['thompson']:.3g}", f"{row['ratio']:.3f} ({row['error']:.3f})",
            "" if row["bar"] != row["bar"] else f"{row['bar']:g}",
            "" if row["bar"] != row["bar"] else _word(row["ratio"] <= row["bar"]), f"{row['least']:.3f}",
            "" if row["bound"] != row["bound"] else f"{row['bound']:.3f}{_MARK * (row['noise'] != 'gaussian')}",
        ]
        for case, row in rows.iterrows()
    ))  # fmt: skip


def _by_case(board: Board, value: str, error: str) -> list[str]:
    names = list(board.ranking().index)
    rows = []
    for case in board.cases:
        cells = [case.label]
        for name in names:
            score = board.scores[name].get(case.label)
            cells.append("" if score is None else f"{getattr(score, value):.3g} ({getattr(score, error):.2g})")
        rows.append(cells)
    return _markdown(["case", *names], rows)


def _markdown(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    body = [f"| {' | '.join(cells)} |" for cells in rows]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *body]
