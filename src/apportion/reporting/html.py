"""Reports: one self-contained HTML file, for a browser or a phone, that asks nothing of any network.

`Page` puts headings, text, tables, pictures and data together; `experiment_report` is the page of a simulation.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from apportion._common import files

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from apportion.simulation.result import Result

# The browser itself must load nothing, whatever else the page may hold.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2328; --faint: #56616b; --paper: #fff; --line: #d9dee3; --tint: #f4f6f8;
  --shade: #0004; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --faint: #a3adb7; --paper: #14181c; --line: #343c44; --tint: #1d2329; --shade: #fff4; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem 1rem 3rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 1.65rem; line-height: 1.25; margin: .6rem 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p { margin: .5rem 0; max-width: 46rem; }
.lead, figcaption, .caption { color: var(--faint); }
.caption { font-size: .92rem; margin-bottom: -.4rem; }
.scroll { overflow-x: auto; margin: .8rem 0; }
/* What goes on beyond an edge is shaded there; at the end a sheet that scrolls along covers the shade. */
.scroll, .picture { --sheet: var(--paper); background:
  linear-gradient(to right, var(--sheet) 40%, transparent) left / 2.4rem 100% no-repeat local,
  linear-gradient(to left, var(--sheet) 40%, transparent) right / 2.4rem 100% no-repeat local,
  linear-gradient(to right, var(--shade), transparent) left / .9rem calc(100% - 2px) no-repeat scroll,
  linear-gradient(to left, var(--shade), transparent) right / .9rem calc(100% - 2px) no-repeat scroll, var(--sheet); }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem .35rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; vertical-align: bottom; white-space: normal; }
.word { text-align: left; }
.long { white-space: normal; min-width: 15rem; }
figure { margin: 1.2rem 0; break-inside: avoid; }
.picture { --sheet: #fff; --shade: #0004; overflow-x: auto; border: 1px solid var(--line); border-radius: .4rem;
  padding: .4rem; }
.picture svg { display: block; width: 100%; min-width: 34rem; height: auto; mix-blend-mode: multiply; }
.picture svg * { stroke-linejoin: round; stroke-linecap: butt; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .25rem 1.2rem; margin: .8rem 0; }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
details { margin: .8rem 0; }
summary { cursor: pointer; }
pre { overflow-x: auto; background: var(--tint); border-radius: .4rem; padding: .8rem;
  font-size: .82rem; line-height: 1.45; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
"""

# A cell of more characters than this is a sentence, which may wrap; shorter ones keep their line.
LONG_CELL = 40

_COLUMNS = {"se": "standard error", "q5": "5%", "q50": "50%", "q95": "95%", "q99": "99%"}
_RUN = ("seed", "horizon", "replications", "engine")


class Page:
    """An HTML page in the making; every method adds to it and returns it. All text is escaped.

    >>> page = Page("Two <arms>").section("Result").text("Loses 17 & no more.")
    >>> "<h1>Two &lt;arms&gt;</h1>" in page.html(), "Loses 17 &amp; no more." in page.html()
    (True, True)
    """

    def __init__(self, title: str, lead: str = "") -> None:
        self.title = title
        self._parts = [f"<h1>{escape(title)}</h1>"]
        if lead:
            self._parts.append(f'<p class="lead">{escape(lead)}</p>')
        self._pictures = 0

    def section(self, heading: str) -> Self:
        """A new section."""
        return self._add(f"<h2>{escape(heading)}</h2>")

    def text(self, paragraph: str) -> Self:
        """A paragraph."""
        return self._add(f"<p>{escape(paragraph)}</p>")

    def table(self, rows: pd.DataFrame, caption: str = "", right: Collection[str] = ()) -> Self:
        """A table; its named index becomes the first columns. On a narrow screen it scrolls by itself.

        Numbers go to the right, and so do the columns that `right` names: numbers that are text already.
        """
        named = any(name is not None for name in rows.index.names)
        flat = rows.reset_index() if named else rows
        return self.grid(list(flat.columns), list(flat.itertuples(index=False)), caption, right)

    def grid(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "", right: Collection[str] = ()
    ) -> Self:
        """`table`, for rows of values below the names of their columns."""
        heads = [_COLUMNS.get(str(name), str(name)) for name in columns]
        texts = [[shown(value) for value in row] for row in rows]
        marks = []
        for index, name in enumerate(columns):
            numbers = name in right or all(isinstance(row[index], Real) for row in rows)
            long = not numbers and any(len(row[index]) > LONG_CELL for row in texts)
            marks.append("" if numbers else "word long" if long else "word")
        above = f'<p class="caption">{escape(caption)}</p>\n' if caption else ""  # outside, or it would scroll along
        head = _row("th", heads, marks, ' scope="col"')
        body = "\n".join(_row("td", row, marks) for row in texts)
        return self._add(
            f'{above}<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption or "table")}">\n'
            f"<table>\n<thead>\n{head}\n</thead>\n<tbody>\n{body}\n</tbody></table></div>"
        )

    def figure(self, figure: Figure, caption: str = "", svg: str = "") -> Self:
        """A picture of `reporting.figures`, drawn into the page; its title is read out to those who cannot see it.

        `svg` is the picture as `figures.svg` gives it, where it was asked for already.
        """
        from apportion.reporting import figures

        self._pictures += 1
        label = " ".join(figure.get_suptitle().split()).replace(r"\$", "$") or caption or f"picture {self._pictures}"
        drawing = _inline(svg or figures.svg(figure), f"p{self._pictures}-")
        below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        return self._add(
            f'<figure><div class="picture" tabindex="0" role="img" aria-label="{escape(label)}">{drawing}</div>'
            f"{below}</figure>"
        )

    def facts(self, facts: Mapping[str, Any]) -> Self:
        """Names with their values."""
        items = (f"<dt>{escape(name)}</dt><dd>{escape(shown(value))}</dd>" for name, value in facts.items())
        return self._add("<dl>\n" + "\n".join(items) + "\n</dl>")

    def data(self, label: str, value: Any) -> Self:
        """Plain data, folded away under a label."""
        return self._add(f"<details><summary>{escape(label)}</summary><pre>{escape(pretty(value))}</pre></details>")

    def html(self) -> str:
        """The whole page."""
        body = "\n".join(self._parts)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
            f"<title>{escape(self.title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
            f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; an old file stays until the new one is whole."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with files.replacement(target) as draft:
            draft.write_bytes(self.html().encode("utf-8", "replace"))
        return target

    def _add(self, part: str) -> Self:
        self._parts.append(part)
        return self


def experiment_report(
    title: str,
    results: Result | Sequence[Result],
    path: str | os.PathLike[str],
    *,
    figures: Iterable[Figure] = (),
    tables: Mapping[str, pd.DataFrame] | None = None,
    notes: Iterable[str] = (),
) -> Path:
    """Write the report of an experiment: notes, pictures, a summary of the final regret, and where it all comes from.

    `results` is one result or several, such as one per horizon; `tables` are added after the summary, by heading. The
    same input gives the same bytes.
    """
    listed = list(results) if isinstance(results, Sequence) else [results]
    page = Page(title, lead=_extent(listed[0]) if len(listed) == 1 else "")
    for note in notes:
        page.text(note)
    drawn = list(figures)
    if drawn:
        page.section("Pictures")
    for figure in drawn:
        page.figure(figure)
    if listed:
        page.section("Summary").table(*_summary(listed))
    for heading, rows in (tables or {}).items():
        page.section(heading).table(rows)
    page.section("Where the numbers come from")
    _origins(page, listed)
    return page.write(path)


def shown(value: Any) -> str:
    """A value as it stands in a table: four figures, thousands in full, a dash where there is none.

    >>> [shown(value) for value in (3527.4205, 0.123456, 12_000, float("nan"), None, True, "Odds", float("inf"))]
    ['3,527', '0.1235', '12,000', '–', '–', 'yes', 'Odds', '∞']
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, Real):
        return str(value)
    if isinstance(value, Integral):
        return f"{int(value):,}"
    number = float(value)
    if math.isnan(number):
        return "–"
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    return f"{number:,.0f}" if 1000 <= abs(number) < 1e15 else f"{number:.4g}"


def pretty(value: Any, depth: int = 0, width: int = 96) -> str:
    """JSON with what fits on a line left on it.

    >>> print(pretty({"periods": [1, 10, 100], "seed": 7}, width=30))
    {
      "periods": [1, 10, 100],
      "seed": 7
    }
    """
    flat = json.dumps(value, ensure_ascii=False, default=str)
    if len(flat) + 2 * depth <= width or not isinstance(value, (dict, list, tuple)) or not value:
        return flat
    inner = "  " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(str(k), ensure_ascii=False)}: {pretty(v, depth + 1, width)}" for k, v in value.items()]
        opening, closing = "{}"
    else:
        parts = [pretty(item, depth + 1, width) for item in value]
        opening, closing = "[]"
        if not any(isinstance(item, (dict, list, tuple)) for item in value):
            return f"[{', '.join(parts)}]"  # a long row of numbers is no better as a column
    return opening + "\n" + ",\n".join(inner + part for part in parts) + "\n" + "  " * depth + closing


def _row(tag: str, cells: list[str], marks: list[str], more: str = "") -> str:
    starts = (f'<{tag}{more} class="{mark}">' if mark else f"<{tag}{more}>" for mark in marks)
    return "<tr>" + "".join(f"{start}{escape(text)}</{tag}>" for start, text in zip(starts, cells)) + "</tr>"


def _extent(result: Result) -> str:
    sizes = result.dataset.sizes
    words = ("policy", "policies"), ("world", "worlds"), ("run each", "runs each")
    counts = (sizes[name] for name in ("policy", "instance", "replication"))
    parts = (f"{count:,} {one if count == 1 else many}" for count, (one, many) in zip(counts, words))
    return f"{', '.join(parts)}, {int(result.dataset['period'].values[-1]):,} periods."


def _summary(results: list[Result]) -> tuple[pd.DataFrame, str]:
    """The summaries below each other, and a caption; a world that all have in common is named in it."""
    import pandas as pd

    found = [result.summary().reset_index() for result in results]
    if len(found) > 1:
        for frame, result in zip(found, results):
            frame.insert(2, "horizon", int(result.dataset["period"].values[-1]))
    rows = pd.concat(found, ignore_index=True)
    worlds = rows["instance"].unique()
    where = ""
    if len(worlds) == 1:
        rows, where = rows.drop(columns="instance"), f" on {worlds[0]}"
    return rows, f"Final regret over all runs{where}: mean and quantiles."


def _origins(page: Page, results: list[Result]) -> None:
    """Versions and machine, once if they are the same; seed and sizes, as a table if there are several results."""
    import pandas as pd

    origins: list[Any] = []
    runs, definitions = [], []
    for result in results:
        origin = dict(result.provenance)
        definition = origin.pop("definition", {})
        if origin not in origins:
            origins.append(origin)
        run = {name: definition[name] for name in _RUN if name in definition}
        runs.append(run | {"seed": str(run["seed"])} if "seed" in run else run)  # to be copied, so without commas
        definitions.append(definition)
    for origin in origins:
        page.facts(origin)
    if len(runs) == 1:
        page.facts(runs[0])
    elif any(runs):
        page.table(pd.DataFrame(runs, dtype=object), "The simulations, in order.")
    for number, definition in enumerate(definitions, 1):
        page.data("The whole definition" + (f" of simulation {number}" if len(definitions) > 1 else ""), definition)


def _inline(svg: str, prefix: str) -> str:
    """An SVG document as part of a page: no prologue, no outside names, ids that cannot meet those of another."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    head, rest = svg.split(">", 1)
    head = re.sub(r'\s(xmlns(:\w+)?|width|height|version)="[^"]*"', "", head)
    svg = f'{head} aria-hidden="true">{rest}'
    return re.sub(r'(\bid="|href="#|url\(#)', lambda found: found.group(1) + prefix, svg).strip()
