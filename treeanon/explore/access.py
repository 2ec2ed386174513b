"""Access control: only a browser with the token, on this machine, and only requests of the page itself.

A server on a local port can be reached by every user and program of the machine, and by every web page that is open in
the browser. To keep the data from them:

- the Host header must name this machine and port (DNS rebinding is refused);
- the token of the first address is exchanged for a cookie that scripts cannot read, and disappears from the address
bar. The cookie is bound to a secret path, as cookies of 127.0.0.1 are sent to the servers of all its ports;
- requests with an effect must have the page's own origin, and must not be marked as cross-site by the browser;
- responses may not be framed or stored, and may not load external resources.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ADDRESS = "127.0.0.1"
_SAFE = ("GET", "HEAD")
_OWN_SITE = ("", "none", "same-origin")

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'none';"
        " base-uri 'none'; frame-ancestors 'none'; img-src data:"
    ),
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
"""Headers of every response: only the page's own script and style are allowed, and no external connections."""


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass
class Access:
    """The secrets of one explorer on one port.

    `token` opens the page any number of times. `once` works once: it is passed to the browser, whose command line other
    users of the machine can see.
    """

    port: int
    room: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    token: str = field(default_factory=_secret)
    once: str | None = field(default_factory=_secret)
    pass_: str = field(default_factory=_secret)

    @property
    def path(self) -> str:
        """The secret path of the page and its resources."""
        return f"/{self.room}/"

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return f"treeanon-{self.port}"

    def address(self, token: str) -> str:
        """Return the address that opens the page."""
        return f"http://{ADDRESS}:{self.port}{self.path}?token={token}"

    def lets_in(self, token: str) -> bool:
        """Return whether a token opens the page; `once` is used up."""
        if self.once is not None and _same(token, self.once):
            self.once = None
            return True
        return _same(token, self.token)

    def knows(self, cookies: str) -> bool:
        """Return whether the cookies of a request hold the pass."""
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return found is not None and _same(found.value, self.pass_)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The valid values of the Host header."""
        return tuple(f"{name}:{self.port}" for name in (ADDRESS, "localhost"))


def _same(one: str, other: str) -> bool:
    """Return whether two secrets are equal, compared in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "surrogateescape"), other.encode())


class Guard:
    """An ASGI application that protects another one: unauthorized requests get 403."""

    def __init__(self, app: App, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, open the page for a token, or refuse."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            # There are no websockets here; one that is closed before it is accepted gets 403.
            await send({"type": "websocket.close", "code": 1008})
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        headers = _Headers(scope)
        if headers.one("host") not in self.access.hosts or not scope["path"].startswith(self.access.path):
            await _refuse(with_headers)
        elif (token := self._token(scope)) is not None:
            await (self._open(with_headers) if self.access.lets_in(token) else _refuse(with_headers))
        elif self._may(scope["method"], headers):
            await self.app(scope, receive, with_headers)
        else:
            await _refuse(with_headers)

    def _token(self, scope: Scope) -> str | None:
        """Return the token of a request for the page itself, if it has one."""
        if scope["method"] != "GET" or scope["path"] != self.access.path:
            return None
        try:
            query = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=10)
        except ValueError:
            # More fields than a request of the page has: no token is accepted.
            return ""
        return query["token"][0] if "token" in query else None

    def _may(self, method: str, headers: _Headers) -> bool:
        if not self.access.knows(headers.one("cookie")) or headers.one("sec-fetch-site") not in _OWN_SITE:
            return False
        return method in _SAFE or headers.one("origin") == f"http://{headers.one('host')}"

    async def _open(self, send: Send) -> None:
        cookie = f"{self.access.cookie}={self.access.pass_}; Path={self.access.path}; HttpOnly; SameSite=Strict"
        headers = [(b"location", self.access.path.encode()), (b"set-cookie", cookie.encode())]
        await _answer(send, 303, headers, b"")


class _Headers:
    """The headers of a request; a duplicate counts as invalid."""

    def __init__(self, scope: Scope) -> None:
        self.all = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]

    def one(self, name: str) -> str:
        """Return the value of a header: empty if missing, and equal to nothing expected if it occurs twice."""
        found = [value for own, value in self.all if own == name]
        return found[0] if len(found) == 1 else "" if not found else "\n"


async def _refuse(send: Send) -> None:
    text = b"403: open the address that `treeanon explore` has printed.\n"
    await _answer(send, 403, [(b"content-type", b"text/plain; charset=utf-8")], text)


async def _answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})
