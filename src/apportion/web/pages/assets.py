"""plotly.js, served from the installed wheel: no request ever leaves the machine.

It would write style sheets into a page, which our Content-Security-Policy does not allow. It writes none where an
element of the same id is there already: a page with charts carries empty ones.
"""

from __future__ import annotations

import functools
import gzip
import re
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.responses import Response

router = APIRouter(include_in_schema=False)

PLOTLY_URL = f"/static/plotly.min.js?v={version('plotly')}"
_MAKES_STYLE = re.compile(r'getElementById\("([0-9a-f]{64})"\)\)\{var \w+=document\.createElement\("style"\)')
_FOREVER = "public, max-age=31536000, immutable"
_SCRIPT = files("plotly") / "package_data" / "plotly.min.js"


@functools.cache
def _plotly() -> tuple[bytes, str]:
    """The script, packed once, and its entity tag."""
    content = _SCRIPT.read_bytes()
    return gzip.compress(content, compresslevel=6, mtime=0), f'"{sha256(content).hexdigest()[:32]}"'


@router.get("/static/plotly.min.js")
def plotly(request: Request) -> Response:
    """The charting library."""
    packed, tag = _plotly()
    headers = {"ETag": tag, "Cache-Control": _FOREVER, "Vary": "Accept-Encoding"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
    else:
        packed = gzip.decompress(packed)
    return Response(packed, media_type="text/javascript; charset=utf-8", headers=headers)


@functools.cache
def style_ids() -> tuple[str, ...]:
    """The ids of the style sheets that the installed plotly.js brings (those of its maps)."""
    return tuple(dict.fromkeys(_MAKES_STYLE.findall(_SCRIPT.read_text(encoding="utf-8"))))
