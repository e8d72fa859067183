"""Signing in with a provider: OpenID Connect, the authorization code flow with PKCE, by Authlib.

The browser is led to the provider with a state, a nonce and the hash of a secret (PKCE), and comes back with a code.
The service fetches the ID token for it, and believes it where all of this holds:

- the state is the one that this browser was sent away with (a cookie that lasts ten minutes and is used once);
- the provider takes the code, with the secret of this service and the one of PKCE: a code is good once, here only;
- the ID token is signed by a key that the provider publishes, by an algorithm with a public key (never `none`, never
  a shared secret), is for this service (`aud`, `azp`), of this provider (`iss`), not expired, and has the nonce.

Who it is, is an email address that the provider has verified, or `sub:` and its own number for them: an address that
is not verified may be anybody's. What they may do is said by the administrator (`storage.tokens`), and not by the
provider.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import logging
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from apportion._common import optional, validation
from apportion.campaigns.storage.tokens import SUBJECT, person_name
from apportion.errors import InvalidValue

SECRET_VARIABLE = "APPORTION_OIDC_SECRET"

TIMEOUT_SECONDS = 10.0  # for an answer of the provider
LEEWAY_SECONDS = 60  # between its clock and ours

# Signatures with a public key: with any other, whoever knows what the service knows could sign.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")

log = logging.getLogger("apportion.web")


class Provider(NamedTuple):
    """Whom the service trusts to say who someone is."""

    issuer: str
    client_id: str
    secret: str

    @property
    def name(self) -> str:
        """What people know it by: its host."""
        return urlsplit(self.issuer).netloc


def provider_of(issuer: str | None, client_id: str | None) -> Provider | None:
    """The provider that is named, with the secret of the environment; None where none is named."""
    if issuer is None and client_id is None:
        return None
    if not issuer or not client_id:
        raise InvalidValue("Sign-in with a provider needs both: give --oidc-issuer and --oidc-client-id.")
    parts = urlsplit(issuer)
    safe = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or ""))
    if not safe or not parts.hostname or parts.query or parts.fragment or parts.username or not issuer.isprintable():
        raise validation.refuse("oidc_issuer", "the https address of a provider", issuer)
    secret = os.environ.get(SECRET_VARIABLE)
    if not secret:
        raise InvalidValue(f"Sign-in with a provider needs its secret for this service: set {SECRET_VARIABLE}.")
    return Provider(issuer, client_id, secret)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Pending(NamedTuple):
    """A sign-in under way, as the browser holds it in a cookie."""

    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    next: str

    def packed(self) -> str:
        """As the value of a cookie. Not signed: a browser that changes it spoils its own sign-in and no other."""
        return urlsafe_b64encode(json.dumps(self).encode()).decode()


def unpacked(value: str | None) -> Pending | None:
    """The sign-in of a cookie; None where there is none.

    >>> unpacked(Pending("s", "n", "v", "http://127.0.0.1/login/callback", "/").packed()).nonce
    'n'
    >>> unpacked("nonsense") is None
    True
    """
    with suppress(ValueError, TypeError, RecursionError):
        found = json.loads(urlsafe_b64decode(value or ""))
        if isinstance(found, list) and all(isinstance(part, str) and part for part in found):
            return Pending(*found)
    return None


class SignInFailed(Exception):
    """The provider did not say, or not believably, who it is; with the sentence for the page."""

    def __init__(self, sentence: str, status: int = 401) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status


START_AGAIN = "The sign-in was not completed. Please start again."
UNREACHABLE = "The sign-in provider cannot be reached now. Please try again in a moment."


class OpenID:
    """Sign-in with one provider; one per app, at `app.state.openid`. What the provider says of itself is kept."""

    def __init__(self, provider: Provider) -> None:
        optional.require("oidc")
        from authlib.integrations.starlette_client import OAuth

        self.provider = provider
        self._client: Any = OAuth().register(
            "openid",
            client_id=provider.client_id,
            client_secret=provider.secret,
            server_metadata_url=provider.issuer.rstrip("/") + "/.well-known/openid-configuration",
            client_kwargs={
                "scope": "openid email", "code_challenge_method": "S256", "timeout": TIMEOUT_SECONDS,
            },
        )  # fmt: skip

    async def begin(self, redirect_uri: str, next_: str) -> tuple[str, Pending]:
        """Where to lead the browser, and what it must bring back; `SignInFailed` where the provider is not there."""
        await self._load()
        begun = await self._client.create_authorization_url(redirect_uri)
        return begun["url"], Pending(begun["state"], begun["nonce"], begun["code_verifier"], redirect_uri, next_)

    async def finish(self, pending: Pending | None, answer: Mapping[str, str]) -> tuple[str, ...]:
        """The names by which the provider knows whoever came back with this answer; `SignInFailed` where it fails."""
        state, code = answer.get("state", ""), answer.get("code")
        if pending is None or not hmac.compare_digest(pending.state.encode(), state.encode()):
            raise SignInFailed("This sign-in was not begun in this browser, or took too long. Please start again.")
        if not code:  # such as `access_denied`
            raise SignInFailed("The provider did not sign you in. Please start again.")
        await self._load()
        claims = await self._claims(pending, code)
        return names_of(claims)

    async def _load(self) -> None:
        """Fetch what the provider says of itself, once, and hold it to it."""
        import httpx2

        known = self._client.server_metadata
        if "_loaded_at" in known:
            return
        try:
            found = dict(await self._client.load_server_metadata())
        except (httpx2.HTTPError, ValueError, TypeError) as error:
            known.clear()
            log.error("sign-in provider cannot be reached", extra={"fields": {"error": repr(error)[:500]}})
            raise SignInFailed(UNREACHABLE, 503) from error
        algorithms = found.get("id_token_signing_alg_values_supported") or ["RS256"]
        known["id_token_signing_alg_values_supported"] = [each for each in ALGORITHMS if each in algorithms]
        if found.get("issuer") != self.provider.issuer or not known["id_token_signing_alg_values_supported"]:
            known.clear()
            said = {"issuer": str(found.get("issuer"))[:500], "expected": self.provider.issuer,
                    "algorithms": str(algorithms)[:500]}  # fmt: skip
            log.error("sign-in provider is not the one that was named", extra={"fields": said})
            raise SignInFailed("The sign-in provider is not set up as expected. Ask whoever runs the service.", 503)

    async def _claims(self, pending: Pending, code: str) -> Mapping[str, Any]:
        """What the ID token says, where it is believed."""
        import httpx2

        wanted = {
            "iss": {"essential": True, "value": self.provider.issuer},
            "aud": {"essential": True, "value": self.provider.client_id},
            "sub": {"essential": True},
        }
        try:
            token = await self._client.fetch_access_token(
                redirect_uri=pending.redirect_uri, code=code, code_verifier=pending.verifier
            )
            claims = await self._client.parse_id_token(
                token, nonce=pending.nonce, claims_options=wanted, leeway=LEEWAY_SECONDS
            )
        except httpx2.TransportError as error:
            log.error("sign-in provider cannot be reached", extra={"fields": {"error": repr(error)[:500]}})
            raise SignInFailed(UNREACHABLE, 503) from error
        except Exception as error:  # whatever the provider, or someone in its place, sent: it is not believed
            log.warning("sign-in not believed", extra={"fields": {"error": repr(error)[:500]}})
            raise SignInFailed(START_AGAIN) from error
        if not claims:
            log.warning("sign-in not believed", extra={"fields": {"error": "no ID token"}})
            raise SignInFailed(START_AGAIN)
        found: Mapping[str, Any] = claims
        return found


def names_of(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """What someone may be called here, best first: the address that the provider verified, then its own number.

    >>> names_of({"sub": "17", "email": "Anna@example.org", "email_verified": True})
    ('anna@example.org', 'sub:17')
    >>> names_of({"sub": "17", "email": "anna@example.org", "email_verified": False})
    ('sub:17',)
    """
    email, subject = claims.get("email"), claims.get("sub")
    names = []
    if claims.get("email_verified") is True and isinstance(email, str) and not email.startswith(SUBJECT):
        names.append(email)
    if isinstance(subject, str):
        names.append(SUBJECT + subject)
    found = []
    for name in names:
        with suppress(InvalidValue):  # no name that anyone could be let in by
            found.append(person_name(name))
    return tuple(found)
