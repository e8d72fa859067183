"""`python -m benchmarks.leaderboard`: the suite, a fresh suite and the long runs, all of `docs/leaderboard`.

About 15 minutes on two quiet cores. The two suites go on from what is stored there, where the code is the same; the
same as `apportion study leaderboard --out docs/leaderboard`, then with `--fresh 2027 --seed 2`, and the long runs.
"""

from __future__ import annotations

from pathlib import Path

from apportion.cli.studies import show_concave_leaderboard, show_leaderboard
from apportion.studies.leaderboard.page import write_folder
from apportion.studies.leaderboard.plateau import run_plateau, save_curves

FOLDER = Path("docs/leaderboard")
FRESH_SEED = 2027


def main() -> None:
    """Make the data, the pictures and the page."""
    show_leaderboard(False, 1, None, FOLDER, False)
    show_leaderboard(False, 2, None, FOLDER, False, FRESH_SEED)
    show_concave_leaderboard(False, 1, None, FOLDER, False)
    show_concave_leaderboard(False, 2, None, FOLDER, False, FRESH_SEED)
    curves = run_plateau(
        on_curve=lambda curve: print(
            f"b = {curve.b:g}, {curve.policy}: {curve.mean[-1]:.4g}, of it {curve.growth:.3g} in the last tenfold",
            flush=True,
        )
    )
    save_curves(curves, FOLDER / "plateau.json")
    write_folder(FOLDER)


if __name__ == "__main__":
    main()
