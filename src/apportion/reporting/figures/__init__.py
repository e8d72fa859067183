"""Pictures of simulated results, made to be read in grey, by colour-blind people, and without the text around them.

Every function returns a `matplotlib.figure.Figure`; nothing is shown, and nothing global is changed. A policy has
the same look (colour, dashes, marker: by its number in the result) in every picture, and the title is a sentence that
says what the numbers say. `save` writes PNG and SVG.
"""

from apportion._common import optional

optional.require("plot")  # before the modules below import matplotlib

from apportion.reporting.figures.data import fitted_exponent  # noqa: E402
from apportion.reporting.figures.regret import final_regret_distribution, regret_against, regret_over_time  # noqa: E402
from apportion.reporting.figures.shares import shares_over_time  # noqa: E402
from apportion.reporting.figures.style import DASHES, HATCHES, MARKERS, PALETTE, Look, look, save, svg  # noqa: E402

__all__ = [
    "DASHES",
    "HATCHES",
    "MARKERS",
    "PALETTE",
    "Look",
    "final_regret_distribution",
    "fitted_exponent",
    "look",
    "regret_against",
    "regret_over_time",
    "save",
    "shares_over_time",
    "svg",
]
