"""Numbers, labels and facts in words."""

import math
import textwrap
from typing import Any

PARAMETER_NAMES = {"b": "noise exponent b", "arms": "number of arms", "gap": "gap", "horizon": "horizon in periods"}


def _phrase(name: str, value: Any) -> str:
    if value is None or (name == "c" and value == 1.0):
        return ""
    match name:
        case "world":
            return str(value)
        case "arms":
            return f"{value} arms"
        case "gap":
            return f"gap {value:.4g}"
        case "noise":
            return "" if value in ("gaussian", "") else f"{value} noise"
        case "horizon":
            return f"{thousands(value)} periods"
        case _:
            return f"{'σ' if name == 'sigma' else name} = {value:.4g}"


def compare_facts(facts: list[dict[str, Any]], but: str = "") -> tuple[str, list[str]]:
    """What all have in common, and what sets each apart, in words."""
    names = [name for name in facts[0] if name != but]
    alike = [name for name in names if all(each.get(name) == facts[0][name] for each in facts)]
    common = ", ".join(filter(None, (_phrase(name, facts[0][name]) for name in alike)))
    rest = [name for name in names if name not in alike]
    apart = [", ".join(filter(None, (_phrase(name, each[name]) for name in rest if name in each))) for each in facts]
    if len(facts) > 1:
        usual = "gaussian noise" if "noise" in rest else "c = 1" if "c" in rest else "the paper's law"
        apart = [text or usual for text in apart]
        apart = [f"{text} ({n})" if apart.count(text) > 1 else text for n, text in enumerate(apart, 1)]
    return common, apart


def number(value: float) -> str:
    """A number as one would say it: three figures at most, but thousands in full."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 9.95:
        return f"{value:,.0f}" if abs(value) < 1e7 else f"{value:.2g}"
    return f"{value:.1f}" if abs(value) >= 0.95 else f"{value:.2g}"


def thousands(value: float) -> str:
    """A whole number with its thousands marked."""
    return f"{int(value):,}"


def runs_text(runs: int) -> str:
    """So many runs."""
    return f"{thousands(runs)} run{'' if runs == 1 else 's'}"


def signed(value: float) -> str:
    """Two decimals with a true minus sign, and no minus before zero."""
    text = f"{value:.2f}"
    return ("0.00" if text == "-0.00" else text).replace("-", "−")


def display_name(label: str) -> str:
    """A policy's label without empty brackets."""
    return label.removesuffix("()")


def wrapped(label: str, width: int = 26) -> str:
    """A label broken into at most three lines."""
    text = display_name(label)
    lines = textwrap.wrap(text if len(text) <= width else text.replace("(", " (", 1), width)
    return "\n".join(lines if len(lines) <= 3 else [*lines[:2], lines[2][: width - 1] + "…"])


def balanced(text: str, width: int) -> list[str]:
    """Lines of at most `width` letters, as few as possible, and then of about the same length."""
    fewest = textwrap.wrap(text, width)
    narrower = (textwrap.wrap(text, size) for size in range(max(1, len(text) // max(1, len(fewest))), width))
    return next((lines for lines in narrower if len(lines) <= len(fewest)), fewest)


def as_text(label: str) -> str:
    """A label that matplotlib takes for text: dollars are not mathematics, a first underscore hides nothing."""
    text = display_name(label).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
