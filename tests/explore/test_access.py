"""Who may see the explorer's page: nobody but the browser that was given the token, by requests of the page itself."""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.explorers import Served, hospital_ground, served
from tests.support.hospital import WORD
from tests.support.waiting import WAIT
from treeanon.errors import FileError
from treeanon.explore.server import listening


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(hospital_ground(tmp_path_factory.mktemp("ground"))) as found:
        yield found


def test_the_token_becomes_a_cookie_and_leaves_the_address(explorer: Served) -> None:
    access = explorer.access
    status, headers, text = explorer.ask(path=f"{access.path}?token={access.token}", cookie=None, origin=None)
    assert (status, headers["location"], text) == (303, access.path, "")
    cookie = headers["set-cookie"]
    assert cookie.startswith(explorer.cookie + "; ")
    assert {"HttpOnly", "SameSite=Strict", f"Path={access.path}"} <= {*cookie.split("; ")}
    assert access.token not in cookie and access.token not in headers["location"]
    status, _, text = explorer.ask(origin=None)
    assert status == 200 and "<form" in text and access.token not in text and access.pass_ not in text


def test_the_token_of_a_started_browser_opens_the_page_once(explorer: Served) -> None:
    access = explorer.access
    access.once = "once-only"
    path = f"{access.path}?token=once-only"
    assert [explorer.ask(path=path, cookie=None)[0] for _ in range(2)] == [303, 403]


PATHS = [
    "",
    "explore.js",
    "explore.css",
    "look",
    "command",
    "editor.js",
    "edit",
    "pin",
    "unpin",
    "nothing",
    "?token=",
    "?token=x",
    "?token=%FF",
    "?x=1",
    "?" + "x&" * 11,
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "PUT", "OPTIONS"])
def test_without_the_cookie_all_is_refused(explorer: Served, method: str, path: str) -> None:
    for cookie in (None, "", f"{explorer.access.cookie}=", f"{explorer.access.cookie}=wrong", "\x80=;;;", "a" * 3000):
        status, headers, text = explorer.ask(method, explorer.access.path + path, cookie=cookie)
        assert status == 403 and WORD not in text and "set-cookie" not in headers


@pytest.mark.parametrize("path", ["/", "/explore.js", "//", "/../", "/favicon.ico", "/robots.txt"])
def test_nothing_is_said_outside_the_room(explorer: Served, path: str) -> None:
    assert explorer.ask(path=path)[0] == 403
    assert explorer.ask(path=f"{path}?token={explorer.access.token}")[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", "0.0.0.0:{port}", "", None])
def test_foreign_hosts_are_refused(explorer: Served, host: str | None) -> None:
    host = host and host.format(port=explorer.access.port)
    # A request without any Host header is no HTTP at all.
    assert explorer.ask(host=host)[0] in ((403,) if host is not None else (400, 403))
    assert explorer.ask(path=f"{explorer.access.path}?token={explorer.access.token}", host=host)[0] in (400, 403)


def test_localhost_is_a_name_of_this_machine(explorer: Served) -> None:
    host = f"localhost:{explorer.access.port}"
    assert explorer.ask(host=host)[0] == 200
    assert explorer.post("command", host=host, origin=f"http://{host}")[0] == 200
    assert explorer.post("command", host=host)[0] == 403  # from 127.0.0.1: another origin


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1", "https://{host}", "", None])
def test_foreign_origins_cannot_do_anything(explorer: Served, origin: str | None) -> None:
    origin = origin and origin.format(host=explorer.host)
    for what in ("look", "command", "edit", "pin", "unpin"):
        assert explorer.post(what, origin=origin)[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_other_sites_ask_for_is_refused(explorer: Served, site: str) -> None:
    for path in ("", "explore.js", "explore.css"):
        assert explorer.ask(path=explorer.access.path + path, sec_fetch_site=site)[0] == 403
    assert explorer.ask(sec_fetch_site="same-origin")[0] == 200


def test_headers_that_come_twice_are_refused(explorer: Served) -> None:
    for extra in (f"Host: {explorer.host}", f"Cookie: {explorer.cookie}"):
        answer = _raw(explorer, f"Host: {explorer.host}\r\nCookie: {explorer.cookie}\r\n{extra}\r\n")
        assert answer.split()[1] in (b"400", b"403")


def test_no_websocket_is_opened(explorer: Served) -> None:
    key = base64.b64encode(os.urandom(16)).decode()
    handshake = (
        f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
    )
    own = f"Host: {explorer.host}\r\nOrigin: http://{explorer.host}\r\n"
    assert _raw(explorer, own + handshake).split()[1] == b"403"
    # Not even for the page itself: there are none.
    answer = _raw(explorer, own + f"Cookie: {explorer.cookie}\r\n" + handshake, explorer.access.path + "look")
    assert answer.split()[1] == b"405" and b"101" not in answer.splitlines()[0]


def _raw(explorer: Served, headers: str, path: str | None = None) -> bytes:
    with socket.create_connection(("127.0.0.1", explorer.access.port), timeout=WAIT) as connection:
        request = f"GET {path or explorer.access.path} HTTP/1.1\r\n{headers}\r\n"
        connection.sendall(request.replace("Connection: Upgrade", "Connection: Upgrade, close").encode())
        return connection.recv(65536)


def test_every_answer_forbids_what_can_be_forbidden(explorer: Served) -> None:
    answers = [
        explorer.ask(),
        explorer.ask(cookie=None),
        explorer.ask(path=explorer.access.path + "nothing"),
        explorer.ask(path=f"{explorer.access.path}?token={explorer.access.token}"),
        explorer.ask("POST", explorer.access.path + "look", "k=5"),
    ]
    assert [status for status, _, _ in answers] == [200, 403, 404, 303, 200]
    for _, headers, _ in answers:
        assert headers["referrer-policy"] == "no-referrer" and headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-resource-policy"] == headers["cross-origin-opener-policy"] == "same-origin"
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert (
            policy["default-src"]
            == policy["frame-ancestors"]
            == policy["base-uri"]
            == policy["form-action"]
            == "'none'"
        )
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert not {"server", "access-control-allow-origin", "x-powered-by"} & {*headers}


def test_the_page_names_no_other_place(explorer: Served) -> None:
    for path in ("", "explore.js", "explore.css"):
        text = explorer.ask(path=explorer.access.path + path)[2]
        assert "//" not in text.replace("\n//", "") or path == "explore.js"
        assert "http:" not in text and "https:" not in text


def test_large_and_broken_requests_are_refused(explorer: Served) -> None:
    for body, status in (("k=" + "9" * 70_000, 413), ("a=1&" * 5000, 400), ("k=%FF&n=%00", 200)):
        for what in ("look", "pin", "command"):
            found = explorer.ask("POST", explorer.access.path + what, body)[0]
            assert found == status or (what == "command" and found == 422)
    assert explorer.ask()[0] == 200


def test_only_this_machine_is_listened_to() -> None:
    with listening() as found:
        address, port = found.getsockname()
        assert address == "127.0.0.1"
        with pytest.raises(FileError, match=f"port {port}"):
            listening(port)


def test_another_pass_for_every_explorer(tmp_path: Path) -> None:
    with served(hospital_ground(tmp_path / "a")) as one, served(hospital_ground(tmp_path / "b")) as other:
        assert other.ask(cookie=one.cookie)[0] == 403
        secrets = [one.access.token, one.access.pass_, one.access.room, other.access.token, other.access.pass_]
        assert len({*secrets}) == len(secrets) and min(map(len, secrets)) >= 16
