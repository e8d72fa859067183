"""Docstrings as Markdown: doctests become code, and the star of μ* is a star."""

from __future__ import annotations

import inspect
import pydoc
import re
from typing import Any

import griffe

import apportion
from apportion.campaigns.protocol import CampaignVerbs

_DOCTEST = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Fences the doctests of every docstring; elsewhere keeps μ* from beginning an emphasis.

    It also tells where policies and families of noise are defined: `apportion` finds them in their tables on first
    use, which a reader of the source alone does not see.
    """

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called once, when the whole package was read."""
        for name in set(apportion.__all__) - set(pkg.members):
            found = getattr(apportion, name)
            if isinstance(found, type):
                pkg.set_member(name, griffe.Alias(name, f"{found.__module__}.{found.__qualname__}"))

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called once for each module, class, function and attribute."""
        if obj.docstring is None and obj.parent is not None and obj.parent.is_class and not obj.name.startswith("_"):
            inherit(obj)
        if obj.docstring is None:
            return
        text = obj.docstring.value
        parts, end = [], 0
        for found in _DOCTEST.finditer(text):
            parts += [text[end : found.start()].replace("μ*", "μ\\*"), f"```pycon\n{found[0]}\n```"]
            end = found.end()
        obj.docstring.value = call(obj) + "".join([*parts, text[end:].replace("μ*", "μ\\*")])


def inherit(obj: griffe.Object) -> None:
    """The verbs of a campaign are described once, in their protocol."""
    owner = pydoc.locate(obj.parent.path) if obj.parent is not None else None
    if isinstance(owner, type) and CampaignVerbs in owner.__mro__:
        text = inspect.getdoc(getattr(owner, obj.name, None))
        obj.docstring = griffe.Docstring(text, parent=obj) if text else None


def call(obj: griffe.Object) -> str:
    """How a policy or a kind of noise is made: its parameters are fields, which have no docstrings of their own."""
    fields = obj.is_class and obj.path.startswith(("apportion.policies.", "apportion.model.noise."))
    if not fields or obj.name not in apportion.__all__ or obj.name == "Policy":
        return ""
    given = inspect.signature(getattr(apportion, obj.name)).parameters.values()
    shown = ", ".join(
        f"{each.name}" if each.default is each.empty else f"{each.name}={each.default!r}" for each in given
    )
    return f"```python\n{obj.name}({shown})\n```\n\n"
