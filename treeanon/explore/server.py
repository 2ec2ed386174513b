"""The server of the page: Starlette and uvicorn, on 127.0.0.1 only.

Why not a larger framework: NiceGUI takes 107 MB and 49 packages, and its pages need inline scripts and styles, which a
strict content security policy refuses. Starlette and uvicorn take 6 MB and 7 packages. The page is plain HTML with the
browser's own form elements and one short script, which sends the form and inserts the responses. Nothing is built at
install or loaded from a network, and the policy allows only that script. Responses stream over plain HTTP; there are no
websockets to protect.

Also the command line that anonymizes the whole input with the settings.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from importlib import resources
from pathlib import PurePath
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from treeanon.errors import FileError, UsageError
from treeanon.explore.access import ADDRESS, Access, Guard
from treeanon.explore.editor import Editor
from treeanon.explore.editor_page import edited
from treeanon.explore.page import page
from treeanon.explore.parts import parts_of, pins_html
from treeanon.explore.session import Choice, Event, Finished, Problem, RiskReady, Session
from treeanon.explore.settings import QUICK, ExploredData, Settings, adapted, settings_of
from treeanon.io.relational.urls import is_database, shown
from treeanon.reports.page.elements import style

_READING = {"format": "--from", "delimiter": "--delimiter", "on_error": "--on-error", "strict": "--strict"}


def command_line(settings: Settings, explored: ExploredData) -> str:
    """Return the command line, quoted for a shell, with the default effort instead of the quick one.

    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"age": (["34"], Hierarchy.flat(["34"]))})
    >>> explored = ExploredData(table, 1, 1, 1, source="my census.csv", schema="s.toml")
    >>> command_line(Settings("table", k=7, algorithm="local"), explored)
    "treeanon anonymize 'my census.csv' -s s.toml -k 7 -a local -o 'my census-release.csv'"
    """
    source = shown(explored.source)
    # After `--` nothing is an option, whatever the name of the input.
    named = ["--", source] if source.startswith("-") and source != "-" else [source]
    words = [f"-s={explored.schema}"] if explored.schema.startswith("-") else ["-s", explored.schema]
    options = [*words, *_asked(settings), *_reading(explored), "-o", output_name(explored.source)]
    words = [*options, *named] if named[0] == "--" else [*named, *options]
    return shlex.join(["treeanon", "anonymize", *words])


def _asked(settings: Settings) -> Iterator[str]:
    yield from ("-k", str(settings.k))
    if settings.kind == "trees":
        yield from ("-m", str(settings.m), "-n", str(settings.n))
    if settings.attacker != "independent":
        yield from ("--attacker", settings.attacker)
    if settings.l is not None:
        yield from ("--l", str(settings.l))
    yield from ("-a", settings.algorithm)
    for name, weight in settings.weights if settings.takes("weights") else ():
        yield from ("--weight", f"{name}={weight:g}")
    if settings.options.get("effort", QUICK) != QUICK:
        yield from ("--effort", settings.effort)
    if settings.suppressed != "0":
        yield from ("--max-suppressed", settings.suppressed)


def _reading(explored: ExploredData) -> Iterator[str]:
    for reduction in explored.reading.get("reduced", ()):
        yield from ("--reduce", reduction)
    for name, flag in _READING.items():
        given = explored.reading.get(name)
        if given is True:
            yield flag
        elif given and given != "error":
            yield from (flag, str(given))


def output_name(source: str) -> str:
    """Return a file name for the release, next to its input and in the same format.

    >>> output_name("data/patients.xml.gz"), output_name("clinic/"), output_name("-"), output_name("postgresql://u@h/d")
    ('patients-release.xml.gz', 'clinic-release', 'release', 'release')
    """
    if source == "-" or is_database(source):
        return "release"
    path = PurePath(shown(source))
    endings = "".join(path.suffixes)
    stem = path.name.removesuffix(endings).replace("*", "") or "release"
    return f"{stem}-release{endings}"


SCRIPTS = ("explore.js", "editor.js")

_MOST_BYTES = 64 * 1024
_MOST_FIELDS = 1000

_PATIENCE = 0.5
_COMPILING = "Compiling (only the first time; takes some seconds) …"


def listening(port: int | None = None) -> socket.socket:
    """Return a socket on 127.0.0.1 that listens on a port, or on any free one; FileError if it is in use."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if port:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((ADDRESS, port or 0))
        found.listen(64)
    except OSError as problem:
        found.close()
        raise FileError(f"port {port}: {problem.strerror}") from None
    return found


def server_of(session: Session, start: Settings, access: Access, editor: Editor | None = None) -> uvicorn.Server:
    """Return the protected server of a session's page; `run(sockets=[…])` serves."""
    app = Guard(application(session, start, access, editor), access)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="critical",
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def application(session: Session, start: Settings, access: Access, editor: Editor | None = None) -> Starlette:
    """Return the application without access control."""

    def home(request: Request) -> Response:
        # Loaded anew after an edit, the page goes on where it was.
        was = session.last if editor is not None and editor.revision else None
        settings = adapted(was or start, session.explored)
        return Response(page(session.explored, settings, editor), media_type="text/html; charset=utf-8")

    def script(request: Request) -> Response:
        return Response(_static(PurePath(request.url.path).name), media_type="text/javascript; charset=utf-8")

    def styles(request: Request) -> Response:
        return Response(style() + _static("explore.css"), media_type="text/css; charset=utf-8")

    async def look(request: Request) -> Response:
        return StreamingResponse(_lines(session, await _fields(request)), media_type="application/x-ndjson")

    async def command(request: Request) -> Response:
        try:
            file = editor.schema_file() if editor is not None else None
            explored = session.explored if file is None else replace(session.explored, schema=file)
            text = command_line(_settings(session, await _fields(request)), explored)
        except UsageError as problem:
            return Response(str(problem), status_code=422, media_type="text/plain; charset=utf-8")
        return Response(text, media_type="text/plain; charset=utf-8")

    async def edit(request: Request) -> Response:
        if editor is None:
            raise HTTPException(404)
        return JSONResponse(await run_in_threadpool(edited, editor, session, await _fields(request)))

    async def pin(request: Request) -> Response:
        fields, problem = await _fields(request), None
        try:
            session.pin(_settings(session, fields), editor.label if editor is not None else "as given")
        except UsageError as wrong:
            problem = str(wrong)
        return JSONResponse({"pins": pins_html(session, problem)})

    async def unpin(request: Request) -> Response:
        number = (await _fields(request)).get("pin", "")
        if number.isdecimal() and len(number) < 4:
            session.unpin(int(number))
        return JSONResponse({"pins": pins_html(session)})

    at = access.path
    return Starlette(
        routes=[
            Route(at, home),
            *(Route(f"{at}{name}", script) for name in SCRIPTS),
            Route(f"{at}explore.css", styles),
            Route(f"{at}look", look, methods=["POST"]),
            Route(f"{at}command", command, methods=["POST"]),
            Route(f"{at}edit", edit, methods=["POST"]),
            Route(f"{at}pin", pin, methods=["POST"]),
            Route(f"{at}unpin", unpin, methods=["POST"]),
        ]
    )


def _static(name: str) -> str:
    return (resources.files(__package__) / "static" / name).read_text(encoding="utf-8")


async def _fields(request: Request) -> dict[str, str]:
    """Return the fields of the form."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            raise HTTPException(413)
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise HTTPException(400) from None


def _settings(session: Session, fields: dict[str, str]) -> Settings:
    explored = session.explored
    return settings_of(fields, explored.kind, explored.of_role("quasi"), sensitive=bool(explored.of_role("sensitive")))


def _choice(session: Session, fields: dict[str, str]) -> Choice:
    """Return the choice of records; the form counts from 1, with the numbers of the whole input."""
    if fields.get("show") != "number":
        return "worst" if fields.get("show") == "worst" else "typical"
    number = fields.get("number", "")
    place = session.explored.place(int(number) - 1) if number.isdecimal() and len(number) < 16 else None
    if place is None:
        raise UsageError("no record with that number in the sample")
    return (place,)


async def _lines(session: Session, fields: dict[str, str]) -> AsyncIterator[str]:
    """Yield the results as lines of JSON: the HTML of parts of the page by name."""
    try:
        settings, choice = _settings(session, fields), _choice(session, fields)
    except UsageError as problem:
        yield _line(Problem(str(problem)), session)
        yield _line(Finished(True), session)
        return
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[Event] = asyncio.Queue()

    def notify(event: Event) -> None:
        # The loop may have ended with the server while a search was still running.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(events.put_nowait, event)

    session.last = settings
    end = session.look(settings, choice, notify)
    try:
        event: Event | None = None
        while not isinstance(event, Finished):
            try:
                event = await asyncio.wait_for(events.get(), _PATIENCE)
                yield _line(event, session)
            except TimeoutError:
                # Results that are already shown remain.
                if event is None and session.worker.compiling:
                    yield json.dumps({"status": _COMPILING}) + "\n"
    finally:
        end()


def _line(event: Event, session: Session) -> str:
    parts = parts_of(event, session.explored)
    if isinstance(event, RiskReady) and session.pins:
        # What was pinned before its risk was known has it now.
        parts["pins"] = pins_html(session)
    return json.dumps(parts) + "\n"
