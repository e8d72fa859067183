"""A provider of OpenID Connect on loopback, by Authlib's own grants: registered clients with a secret, codes that are
good once, PKCE, nonces, signed ID tokens. `claims` says who signs in; `spoil` makes of a good ID token what an
attacker would send in its place."""

import contextlib
import socket
import threading
import time
from types import SimpleNamespace

import uvicorn
from authlib.common.security import generate_token
from authlib.oauth2 import AuthorizationServer, OAuth2Request
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import OpenIDCode
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

CLIENT_ID = "apportion"
SECRET = "the secret of the service"


class Client(ClientMixin):
    """The service, as it is registered with the provider."""

    def __init__(self):
        self.redirect_uris = set()

    def get_client_id(self):
        return CLIENT_ID

    def get_allowed_scope(self, scope):
        return scope

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri in self.redirect_uris

    def check_client_secret(self, client_secret):
        return client_secret == SECRET

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "client_secret_basic"

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return grant_type == "authorization_code"


class Code(AuthorizationCodeMixin, SimpleNamespace):
    """A code that was given out, and what it is for."""

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope

    def get_nonce(self):
        return self.nonce

    def get_auth_time(self):
        return None

    get_acr = get_amr = get_auth_time


class Provider(AuthorizationServer):
    """The provider, at `url`."""

    def __init__(self, port, host="127.0.0.1"):
        super().__init__(scopes_supported=["openid", "email"])
        self.url = f"http://{host}:{port}"
        self.key = RSAKey.generate_key(2048, parameters={"kid": "first"}, auto_kid=True)
        self.claims = {"sub": "17", "email": "anna@example.org", "email_verified": True}
        self.spoil = None
        self.metadata = {}
        self.client = client = Client()
        self.codes = codes = {}
        self.nonces = nonces = set()
        provider = self

        class Grant(AuthorizationCodeGrant):
            TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic",)

            def save_authorization_code(self, code, request):
                data = request.payload.data
                nonces.add(data["nonce"])
                codes[code] = Code(
                    code=code, redirect_uri=data["redirect_uri"], scope=data["scope"], nonce=data["nonce"],
                    code_challenge=data["code_challenge"], code_challenge_method=data["code_challenge_method"],
                    claims=request.user,
                )  # fmt: skip

            def query_authorization_code(self, code, client):
                return codes.get(code)

            def delete_authorization_code(self, authorization_code):
                del codes[authorization_code.code]

            def authenticate_user(self, authorization_code):
                return authorization_code.claims

        class Identity(OpenIDCode):
            def exists_nonce(self, nonce, request):
                return nonce in nonces

            def resolve_client_private_key(self, client):
                return provider.key

            def get_client_claims(self, client):
                return {"iss": provider.url}

            def get_encode_header(self, client):
                return {"alg": "RS256", "kid": provider.key.kid}

            def generate_user_info(self, user, scope):
                return user

            def encode_id_token(self, token, request):
                good = super().encode_id_token(token, request)
                return provider.spoil(good) if provider.spoil else good

        self.query_client = lambda client_id: client if client_id == CLIENT_ID else None
        self.save_token = lambda token, request: None
        self.register_token_generator("default", BearerTokenGenerator(lambda *_, **__: generate_token(42)))
        self.register_grant(Grant, [Identity(require_nonce=True), CodeChallenge(required=True)])

    # What Authlib asks of a framework

    def create_oauth2_request(self, request):
        method, uri, headers, data = request
        made = OAuth2Request(method, uri, headers={name.title(): value for name, value in headers.items()})
        made.payload = BasicOAuth2Payload(data)
        made._body = data
        return made

    def handle_response(self, status, body, headers):
        answer = JSONResponse(body, status) if isinstance(body, dict) else Response(body or "", status)
        answer.headers.update(dict(headers))
        return answer

    def send_signal(self, name, *args, **kwargs):
        pass

    # Pages

    def describe(self, request):
        return JSONResponse({
            "issuer": self.url, "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token", "jwks_uri": f"{self.url}/jwks",
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"], **self.metadata,
        })  # fmt: skip

    def keys(self, request):
        return JSONResponse(KeySet([self.key]).as_dict(private=False))

    async def ask(self, request):
        """Who are you? One button, which sends the same parameters by a form."""
        return HTMLResponse(
            "<!doctype html><title>Provider</title><form method=post><button>Continue</button></form>"
        )

    async def authorize(self, request):
        asked = (request.method, self.url + "/authorize", dict(request.headers), dict(request.query_params))
        made = self.create_oauth2_request(asked)
        grant = self.get_authorization_grant(made)
        return self.create_authorization_response(made, grant_user=self.claims, grant=grant)

    async def token(self, request):
        async with request.form() as form:
            return self.create_token_response(
                (request.method, self.url + "/token", dict(request.headers), dict(form))
            )

    def signed(self, token, key=None, header=None, **changed):
        """An ID token with other claims, or signed with another key."""
        claims = {**jwt.decode(token, self.key).claims, **changed}
        claims = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(header or {"alg": "RS256", "kid": self.key.kid}, claims, key or self.key)


@contextlib.contextmanager
def provider(host="127.0.0.1"):
    """A running provider, stopped at the end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = Provider(listener.getsockname()[1], host)
        app = Starlette(routes=[
            Route("/.well-known/openid-configuration", made.describe), Route("/jwks", made.keys),
            Route("/authorize", made.ask), Route("/authorize", made.authorize, methods=["POST"]),
            Route("/token", made.token, methods=["POST"]),
        ])  # fmt: skip
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield made
        finally:
            server.should_exit = True
            thread.join()
