"""`treeanon explore`: explore settings on a local page that shows the release of a sample."""

from __future__ import annotations

import contextlib
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import announce_compilation
from treeanon.cli.options import AlgorithmName, Command, reduce_option, schema_option
from treeanon.cli.printing import say
from treeanon.cli.reading import Reading, load_schema, read_as_table, read_records, reading_options, reductions_of

if TYPE_CHECKING:
    from socket import socket

    from treeanon.explore.editor import Editor
    from treeanon.explore.settings import ExploredData
    from treeanon.schema import Schema

SAMPLE = 1000


@click.command(cls=Command)
@click.argument("source", metavar="INPUT")
@schema_option
@click.option("-k", type=click.IntRange(2), metavar="N", help="Initial minimum group size [default: 5].")
@click.option("-m", type=click.IntRange(1), metavar="N", help="Trees: values an attacker may know [default: 2].")
@click.option("-n", type=click.IntRange(0), metavar="N", help="Trees: relations between them [default: 1].")
@click.option("--l", "l", type=click.IntRange(1), metavar="N", help="l-diversity of sensitive classes [default: 2].")
@click.option("--algorithm", "-a", type=AlgorithmName(), metavar="NAME", help="Initial search algorithm.")
@reduce_option
@click.option(
    "--sample",
    type=click.IntRange(2),
    default=SAMPLE,
    show_default=True,
    metavar="N",
    help="Number of persons, drawn at random.",
)
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="Port to listen on [default: any free port].")
@click.option("--no-browser", is_flag=True, help="Print the address, but do not open a browser.")
@reading_options
@click.option("--quiet", "-q", is_flag=True, help="Print only the address and errors.")
def command(
    source: str,
    schema: str,
    algorithm: str | None,
    reduced: tuple[str, ...],
    sample: int,
    port: int | None,
    no_browser: bool,
    reading: Reading,
    quiet: bool,
    **start: Any,
) -> None:
    """Explore k, m, n, weights and algorithms in the browser, and see the release that they lead to.

    The page shows ORIGINAL DATA of some persons, before and after, with the information loss and the risks. It is
    served on this machine only (127.0.0.1), at an address with a secret token; nothing leaves the machine. Searches
    work on a sample: k of a sample is not k of the whole input. A button shows the command that anonymizes the whole
    input. Press Ctrl-C to stop.

    \b
    treeanon explore patients.xml -s schema.toml
    treeanon explore people.csv -s schema.toml -k 10 --sample 5000 --no-browser
    """
    _need_extra()
    from treeanon.explore.editor import Editor
    from treeanon.explore.server import listening
    from treeanon.explore.settings import explored_data

    with contextlib.closing(listening(port)) as found:
        loaded = load_schema(schema, reading)
        say(_plan(source, sample), quiet=quiet)
        announce_compilation(quiet=quiet)

        def reread(by: Schema, *, quiet: bool = True) -> ExploredData:
            trees = (start["m"], start["n"])
            data = _read(source, by, algorithm, reductions_of(reduced), reading, quiet, trees=trees)
            return explored_data(data, sample, source=source, schema=schema, reading=dict(reading, reduced=reduced))

        explored = reread(loaded, quiet=quiet)
        editor = None if source == "-" else Editor(loaded, reread, Path.cwd())
        _serve(explored, editor, {"algorithm": algorithm, **start}, found, no_browser=no_browser, quiet=quiet)


def _need_extra() -> None:
    """Raise UsageError with the command to install what is missing."""
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        from treeanon.errors import UsageError

        raise UsageError("explore requires Starlette and uvicorn: pip install 'treeanon[explore]'")


def _read(
    source: str,
    schema: Schema,
    algorithm: str | None,
    reductions: dict[str, str],
    reading: Reading,
    quiet: bool,
    *,
    trees: tuple[int | None, ...],
) -> Any:
    """Read the input as trees or as rows, as `anonymize` would with the same options."""
    from treeanon.io.reading import holds_rows
    from treeanon.release.parameters import is_of_rows

    asked = dict(zip(("m", "n"), trees, strict=True))
    if reductions or is_of_rows(algorithm, asked, lambda: holds_rows(source, schema, reading["format"])):
        return read_as_table(source, schema, reductions, reading, quiet=quiet)
    return read_records(source, schema, reading, quiet=quiet)


def _serve(
    explored: ExploredData,
    editor: Editor | None,
    start: dict[str, Any],
    found: socket,
    *,
    no_browser: bool,
    quiet: bool,
) -> None:
    """Serve the page until Ctrl-C."""
    from treeanon.explore.access import Access
    from treeanon.explore.server import server_of
    from treeanon.explore.session import Session
    from treeanon.explore.settings import default_settings

    settings = default_settings(explored.kind, sensitive=bool(explored.of_role("sensitive")), **start)
    access = Access(found.getsockname()[1])
    with contextlib.closing(Session(explored)) as session:
        session.prepare(settings)
        say(_about(explored), quiet=quiet)
        click.echo(f"open {access.address(access.token)}", err=True)
        if not no_browser and access.once is not None:
            webbrowser.open(access.address(access.once))
        # A signal stops the server first, then raises as usual.
        with contextlib.suppress(KeyboardInterrupt):
            server_of(session, settings, access, editor).run(sockets=[found])
        say("stopped", quiet=quiet)


def _plan(source: str, sample: int) -> str:
    """Return what the command does until its address appears, which can take a while."""
    from treeanon.io.relational.urls import shown

    return (
        f"Reading {shown(source)}, of which a sample of at most {sample:,} persons is explored. Then a page with"
        " original data is served to this machine alone; its address follows. Nothing is released."
    )


def _about(explored: ExploredData) -> str:
    things = "persons" if explored.kind == "trees" else "rows"
    part = (
        f"all {explored.total:,} {things}" if explored.whole else f"{explored.persons:,} of {explored.total:,} {things}"
    )
    return f"Exploring {part}. The page shows original data. Press Ctrl-C to stop."
