"""The leaderboard as a page of Markdown and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion.leaderboard.board import Board

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def score_picture(board: Board) -> Figure:
    """The score of every policy, of the mean and of the tail; 1 is the best policy on every case."""
    from matplotlib.figure import Figure

    from apportion.figures.scales import log_axis
    from apportion.figures.style import FAINT, LARGE, PALETTE, light

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
        ax.legend(loc="lower right")
        mean = float(ranking["mean"].iloc[0])
        figure.suptitle(
            f"{best} loses {mean:.2f} times the least, over {len(board.cases)} cases",
            fontsize=LARGE, fontweight="bold", x=0.01, ha="left",
        )  # fmt: skip
    return figure


def write_page(board: Board, folder: Path, command: str) -> Path:
    """Write `leaderboard.md` and its picture into a folder; every number comes from the run."""
    from apportion import figures

    folder.mkdir(parents=True, exist_ok=True)
    figures.save(score_picture(board), folder / "leaderboard")
    ranking = board.ranking().reset_index()
    lines = [
        "# Leaderboard",
        "",
        f"Regret on {len(board.cases)} cases: b from 0 to 1, 2 to 200 arms, four shapes of means, 100 to 100,000"
        " periods, Gaussian, Rademacher and uniform noise; every policy is told b, σ and the horizon. The score is"
        " the geometric mean over the cases of a policy's regret over the least regret of any policy there."
        f" `worst` is its worst case by the mean. Made by `{command}`.",
        "",
        "![scores](leaderboard.png)",
        "",
        *_markdown(["policy", "mean", "99% quantile", "worst", "cases"], (
            [row.policy, f"{row.mean:.3f}", f"{row.tail:.3f}", f"{row.worst:.2f}", str(row.cases)]
            for row in ranking.itertuples(index=False)
        )),
        "",
        "## Mean regret by case (standard error)",
        "",
        *_by_case(board, "mean", "mean_error"),
        "",
        "## 99% quantile of regret by case (standard error)",
        "",
        *_by_case(board, "tail", "tail_error"),
        "",
        "## Against pooled Thompson sampling",
        "",
        "The mean regret of `Recommended` over that of `Thompson`, with the bar where there is one: 1.1 at b ≤ 1/2,"
        " and 0.5 at b ≥ 0.6 with five arms or more where Thompson's regret exceeds 20.",
        "",
        *_markdown(["case", "ratio", "bar"], (
            [str(case), f"{row['ratio']:.3f}", "" if row["bar"] != row["bar"] else f"{row['bar']:g}"]
            for case, row in board.against_thompson().iterrows()
        )),
        "",
    ]  # fmt: skip
    path = folder / "leaderboard.md"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


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


def _markdown(head: list[str], rows: Any) -> list[str]:
    body = [f"| {' | '.join(cells)} |" for cells in rows]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *body]
