"""The style sheets that plotly.js would write into a page, which our Content-Security-Policy does not allow.

It writes none where an element of the same id is there already: a page with charts carries empty ones.
"""

from __future__ import annotations

import functools
import re
from importlib.resources import files

_MAKES_STYLE = re.compile(r'getElementById\("([0-9a-f]{64})"\)\)\{var \w+=document\.createElement\("style"\)')


@functools.cache
def style_ids() -> tuple[str, ...]:
    """The ids of the style sheets that the installed plotly.js brings (those of its maps)."""
    script = (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    return tuple(dict.fromkeys(_MAKES_STYLE.findall(script)))
