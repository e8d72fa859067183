"""Sentences for what the library never sees, because pydantic finds it first: values of the wrong type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion._common import validation

_OF_ARM = {"outcomes": "outcome", "amounts": "amount", "minimum": "minimum share", "maximum": "maximum share",
           "pinned": "pinned share"}  # fmt: skip
_ALLOWED = {
    "float": "a number",
    "int": "a whole number",
    "finite_number": "a number, finite",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "dict": "an object with names and values",
    "model": "an object with names and values",
}


def sentence_of(fault: Mapping[str, Any]) -> str:
    """Which thing, what is allowed, what was given: a fault that pydantic found, as the library says it.

    >>> sentence_of({"type": "float_type", "loc": ("body", "budget"), "input": "much"})
    "`budget` must be a number; got 'much'."
    """
    kind, context = str(fault["type"]), fault.get("ctx", {})
    parts = [str(part) for part in fault["loc"][1:]]
    name = ".".join(parts) or "body"
    if len(parts) >= 2 and parts[0] in _OF_ARM:
        name = f"{_OF_ARM[parts[0]]} of '{parts[1]}'"
    if kind == "missing":
        return f"`{name}` must be given."
    if kind == "extra_forbidden":
        return f"`{name}` is not known here; leave it out."
    if "expected" in context:
        allowed = f"one of {str(context['expected']).replace(' or ', ', ')}"
    elif "ge" in context:
        allowed = f"a number of at least {context['ge']}"
    elif "le" in context:
        allowed = f"a number of at most {context['le']}"
    elif kind in ("string_too_short", "string_too_long"):
        allowed = f"text of {context.get('min_length', 0)} to {context.get('max_length', 'more')} characters"
    else:
        allowed = next((words for mark, words in _ALLOWED.items() if kind.startswith(mark)), "of another kind")
    return str(validation.refuse(name, allowed, fault.get("input")))


def pointer_of(fault: Mapping[str, Any]) -> str:
    """Where the fault is: a JSON pointer into the body, or the name of a parameter."""
    where, *rest = fault["loc"]
    parts = [str(part).replace("~", "~0").replace("/", "~1") for part in rest]
    return "/" + "/".join(parts) if where == "body" else f"{where}: {'/'.join(map(str, rest))}"
