"""Formulas as MathML, made while the site is built: readers need no script and no network.

`pymdownx.arithmatex` finds $…$ and $$…$$ outside code; this hook of mkdocs turns what it found into MathML.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FOUND = re.compile(r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<tex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL)
_TAG = re.compile(r"\\tag\{(.*?)\}")
_THIN = '<mspace width="0.17em"/>'
_BEFORE_NAME = re.compile(r"(</(?:mn|mi|msub|msup|msubsup|msqrt|mfrac)>)(?=<mi>(?:log|exp)</mi>)")
_AFTER_NAME = re.compile(r"(<mi>(?:log|exp|sup|inf)</mi>)(?=<m(?:i|n|sub|sup|sqrt|row|frac)\b)")
_BAR = re.compile(r"<mo>(&#x0007C;|&#x02016;)</mo>")


def on_page_content(content: str, **_: Any) -> str:
    """Called by mkdocs with the HTML of each page."""
    return _FOUND.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    tex = html.unescape(found["tex"])
    number = _TAG.search(tex)
    display = found["tag"] == "div"
    formula = convert(_TAG.sub("", tex), display="block" if display else "inline")
    if "\\" in re.sub(r"<mo>&#x0005C;</mo>", "", formula):
        raise ValueError(f"This formula was not understood: {tex}")
    formula = _AFTER_NAME.sub(rf"\1{_THIN}", _BEFORE_NAME.sub(rf"\1{_THIN}", formula))
    formula = _BAR.sub(r'<mo stretchy="false" fence="true" lspace="0" rspace="0">\1</mo>', formula)
    if not display:
        return formula
    label = f'<span class="number">({number[1]})</span>' if number else ""
    return f'<div class="formula">{formula}{label}</div>'
