"""Explorers for tests: a small hospital or a table as ground, sessions that are closed, servers in a thread."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

import treeanon as ta
from tests.support.hospital import folder_of, write_persons
from tests.support.waiting import WAIT, wait_until
from treeanon.explore.access import Access
from treeanon.explore.editor import Editor
from treeanon.explore.server import listening, server_of
from treeanon.explore.session import Choice, Event, Finished, Session
from treeanon.explore.settings import ExploredData, Settings, default_settings, explored_data


def hospital(folder: Path, persons: int = 60, *extra: str) -> Path:
    """A folder with a schema and persons."""
    folder_of(folder, *extra)
    write_persons(folder / "in.ndjson", 1, persons)
    return folder


def hospital_ground(folder: Path, persons: int = 60, sample: int = 1000) -> ExploredData:
    hospital(folder, persons)
    forest = ta.read(folder / "in.ndjson", ta.Schema.load(folder / "s.toml"))
    return explored_data(forest, sample, source=str(folder / "in.ndjson"), schema=str(folder / "s.toml"))


def editor_of(folder: Path) -> tuple[ExploredData, Editor]:
    """The explored hospital in a folder, and the editor of its schema, which saves there."""
    schema = ta.Schema.load(folder / "s.toml")

    def reread(by: ta.Schema) -> ExploredData:
        forest = ta.read(folder / "in.ndjson", by)
        return explored_data(forest, 1000, source=str(folder / "in.ndjson"), schema=str(folder / "s.toml"))

    return reread(schema), Editor(schema, reread, folder)


def rows_ground(rows: int = 40) -> ExploredData:
    """People of two sexes and many ages, with a sensitive illness."""
    rng = np.random.default_rng(1)
    ages = [str(age) for age in range(20, 60)]
    decades = ta.Hierarchy.from_paths([[age, f"{age[0]}0-{age[0]}9", "*"] for age in ages])
    columns = {
        "age": ([ages[i] for i in rng.integers(0, len(ages), rows)], decades),
        "sex": ([["f", "m"][i] for i in rng.integers(0, 2, rows)], ta.Hierarchy.flat(["f", "m"])),
        "ill": (
            [["flu", "cold", "acne"][i] for i in rng.integers(0, 3, rows)],
            ta.Hierarchy.flat(["flu", "cold", "acne"]),
        ),
    }
    return explored_data(ta.Table.of_texts(columns, {"ill": "sensitive"}), 1000)


@contextlib.contextmanager
def session_of(explored: ExploredData) -> Iterator[Session]:
    with contextlib.closing(Session(explored)) as session:
        yield session


def looked(session: Session, settings: Settings, choice: Choice = "typical") -> list[Event]:
    """All events of a look."""
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    session.look(settings, choice, events.put)
    found: list[Event] = []
    while not found or not isinstance(found[-1], Finished):
        found.append(events.get(timeout=WAIT))
    return found


def start_of(explored: ExploredData, **given: Any) -> Settings:
    return default_settings(explored.kind, sensitive=bool(explored.of_role("sensitive")), **given)


@dataclass
class Served:
    """A server that runs, and its secrets."""

    access: Access
    session: Session

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.access.port}"

    @property
    def cookie(self) -> str:
        return f"{self.access.cookie}={self.access.pass_}"

    def ask(
        self, method: str = "GET", path: str | None = None, body: str | None = None, **headers: str | None
    ) -> tuple[int, dict[str, str], str]:
        """The status, headers and text of an answer; the request is one of the page unless headers say otherwise."""
        own = {"host": self.host, "cookie": self.cookie, "origin": f"http://{self.host}"}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}  # type: ignore[misc]
        connection = http.client.HTTPConnection("127.0.0.1", self.access.port, timeout=WAIT)
        with contextlib.closing(connection):
            connection.putrequest(method, path or self.access.path, skip_host=True, skip_accept_encoding=True)
            for name, value in own.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("content-length", str(len(body.encode())))
            connection.endheaders(body.encode() if body is not None else None)
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text

    def post(self, what: str, fields: dict[str, str] | None = None, **headers: str | None) -> tuple[int, str]:
        status, _, text = self.ask("POST", self.access.path + what, urlencode(fields or {}), **headers)
        return status, text

    def look(self, fields: dict[str, str]) -> dict[str, str]:
        """The parts of the page after a look."""
        status, text = self.post("look", fields)
        assert status == 200
        parts: dict[str, str] = {}
        for line in text.splitlines():
            parts |= json.loads(line)
        return parts


@contextlib.contextmanager
def served(explored: ExploredData, start: Settings | None = None, editor: Editor | None = None) -> Iterator[Served]:
    """The explorer of a ground, in a thread."""
    start = start or start_of(explored)
    with contextlib.closing(listening()) as found, session_of(explored) as session:
        session.prepare(start)
        access = Access(found.getsockname()[1])
        server = server_of(session, start, access, editor)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [found]})
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield Served(access, session)
        finally:
            server.should_exit = True
            thread.join()
