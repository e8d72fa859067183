"""Where a write comes from: a page of this service, a page of another site, or no page at all.

Cross-site request forgery is held off by what browsers say in headers that no page can forge, and no token in forms:

- `Origin` names the page that sends a write. Every browser since 2020 sends it with each form and each script's
  write. It must be the host that is asked, port included; `null` (sandboxed frames, redirects over others) is not.
- `Sec-Fetch-Site` says the same from the browser's own view, over HTTPS and on loopback. A sub-domain is `same-site`
  there, and refused like any other site.
- The session cookie is `SameSite=Strict`: a page of another site that got past both would still be nobody.

A write by cookie, or by a form, needs proof that it comes from our own page: with neither header it is refused, so
that a browser too old to send them cannot be used either. A token in the form would add nothing: whoever could forge
these headers could read the token off the page. It would also cost a second cookie, which a sub-domain can plant.

A program sends a bearer token, which no browser sends by itself; on loopback without tokens it shows no sign of a
browser. Names that point to loopback (DNS rebinding) are refused by their `Host` before this.
"""

from __future__ import annotations

import ipaddress
from enum import Enum
from urllib.parse import urlsplit

from starlette.requests import Request

# Headers that say that a request was passed on, and how those begin that proxies and clouds add.
_SIGNS_OF_A_PROXY = frozenset(("forwarded", "via", "x-real-ip", "client-ip", "true-client-ip", "remote-addr"))
_BEGINNINGS_OF_A_PROXY = (
    "x-forwarded-", "x-original-", "x-client-", "x-cluster-client-", "x-remote-", "x-envoy-", "x-amzn-", "x-azure-",
    "x-appengine-", "x-cloud-", "x-arr-", "x-proxy", "cf-", "fly-", "fastly-", "akamai-", "incap-", "x-vercel-",
)  # fmt: skip

# Headers that browsers send by themselves and programs do not.
_SIGNS_OF_A_BROWSER = ("origin", "referer", "sec-fetch-site", "cookie")


class Source(Enum):
    """What sent a request, as its headers prove it."""

    OWN_PAGE = "own page"
    OTHER_SITE = "other site"
    UNKNOWN = "unknown"
    """No browser, or one that is too old to say."""


def source_of(request: Request) -> Source:
    """What sent a request that writes."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    if site not in (None, "same-origin", "none"):
        return Source.OTHER_SITE
    if origin is not None:
        return Source.OWN_PAGE if _is_own(origin, request) else Source.OTHER_SITE
    return Source.OWN_PAGE if site == "same-origin" else Source.UNKNOWN


def is_local(request: Request) -> bool:
    """Whether a request comes from this machine itself: from loopback, and not passed on by a proxy.

    nginx as it is installed adds no header and sends its own Host, but speaks HTTP/1.0, as no browser does.
    """
    if (
        request.client is None
        or request.scope.get("http_version") == "1.0"
        or any(name in _SIGNS_OF_A_PROXY or name.startswith(_BEGINNINGS_OF_A_PROXY) for name in request.headers)
    ):
        return False
    try:
        return ipaddress.ip_address(request.client.host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def is_program(request: Request) -> bool:
    """Whether nothing in the headers is a browser's."""
    return not any(name in request.headers for name in _SIGNS_OF_A_BROWSER)


def _is_own(origin: str, request: Request) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    # A proxy that speaks HTTPS in front of the service makes the page's scheme `https` and ours `http`; never the
    # other way about, which would be someone between the browser and the service.
    downgraded = request.url.scheme == "https" and parts.scheme != "https"
    return parts.netloc.lower() == request.headers.get("host", "").lower() != "" and not downgraded
