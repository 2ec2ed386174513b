"""Who may see the page: only a browser that was given the token, on this machine, and by a request of the page itself.

A page of data that listens on a port can be reached by every other user and program of the machine, and by every web
page that the browser has open. So that none of these sees a value:

- the Host header must name this machine and port (a foreign name that resolves to 127.0.0.1 is refused);
- the token of the first address is changed for a cookie that scripts cannot read, and leaves the address bar. The
  cookie is bound to a path that nobody can guess, as cookies of 127.0.0.1 are sent to the servers of all its ports;
- requests that do something must have the page's own origin, and browsers must not say that they are of another site;
- what is sent may not be framed, stored, or load anything from elsewhere.
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
"""Sent with every answer: only the page's own script and style run, nothing is loaded from or sent to elsewhere."""


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass
class Access:
    """The secrets of one explorer on one port.

    `token` opens the page again and again. `once` does so one time: it is what a browser is started with, whose command
    line other users of the machine can see.
    """

    port: int
    room: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    token: str = field(default_factory=_secret)
    once: str | None = field(default_factory=_secret)
    pass_: str = field(default_factory=_secret)

    @property
    def path(self) -> str:
        """The path under which everything lies."""
        return f"/{self.room}/"

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return f"treeanon-{self.port}"

    def address(self, token: str) -> str:
        """Return the address that opens the page."""
        return f"http://{ADDRESS}:{self.port}{self.path}?token={token}"

    def lets_in(self, token: str) -> bool:
        """Return whether a token opens the page; the one for one time is used up by that."""
        if self.once is not None and _same(token, self.once):
            self.once = None
            return True
        return _same(token, self.token)

    def knows(self, cookies: str) -> bool:
        """Return whether the cookies of a request have the pass."""
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return found is not None and _same(found.value, self.pass_)

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a request may call this server."""
        return tuple(f"{name}:{self.port}" for name in (ADDRESS, "localhost"))


def _same(one: str, other: str) -> bool:
    """Return whether two secrets are the same, found in a time that does not tell how much of them is."""
    return hmac.compare_digest(one.encode("utf-8", "surrogateescape"), other.encode())


class Guard:
    """An ASGI application around another one: it answers 403 to all that may not see that."""

    def __init__(self, app: App, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, opens the page for a token, or refuses."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            # There are no websockets here; closed before it is accepted, one is answered with 403.
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
            # The page itself has never so many fields: no token opens it by such a request.
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
    """The headers of a request; one that comes twice counts as wrong."""

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
