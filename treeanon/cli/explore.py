"""`treeanon explore`: a local page on which settings are moved, and a release of a sample follows."""

from __future__ import annotations

import contextlib
import webbrowser
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS
from treeanon.cli.checks import tell_of_compiling
from treeanon.cli.options import reduce_option, schema_option
from treeanon.cli.printing import say
from treeanon.cli.reading import Reading, read_as_table, read_records, reading_options, reductions_of

if TYPE_CHECKING:
    from socket import socket

    from treeanon.explore.settings import ExploredData
    from treeanon.schema import Schema

SAMPLE = 1000


@click.command()
@click.argument("source", metavar="INPUT")
@schema_option
@click.option("-k", type=click.IntRange(2), metavar="N", help="Where to begin: persons in a group.  [default: 5]")
@click.option("-m", type=click.IntRange(1), metavar="N", help="Values an attacker may know of a person.  [default: 2]")
@click.option("-n", type=click.IntRange(0), metavar="N", help="Relations between them they may know.  [default: 1]")
@click.option("--l", "l", type=click.IntRange(1), metavar="N", help="Diversity in sensitive classes.  [default: 2]")
@click.option(
    "--algorithm",
    "-a",
    type=click.Choice([*TREE_ALGORITHMS, *TABLE_ALGORITHMS]),
    metavar="NAME",
    help="The first search.",
)
@reduce_option
@click.option(
    "--sample",
    type=click.IntRange(2),
    default=SAMPLE,
    show_default=True,
    metavar="N",
    help="Persons to work on, chosen at random.",
)
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="Where to listen.  [default: any free port]")
@click.option("--no-browser", is_flag=True, help="Do not open a browser; open the address that is printed.")
@reading_options
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but the address and errors.")
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
    """Move k, m, n, weights and the search on a page in the browser, and see what a release would be.

    The page shows ORIGINAL DATA of some persons, before and after, with what would be lost and who could be singled
    out. It is served on this machine alone (127.0.0.1), to whoever has the address with its secret token; nothing
    leaves the machine. Searches work on a sample: k of a sample is not k of the whole. A button writes the command
    line that publishes the whole input. Ctrl-C ends it.

    \b
    treeanon explore patients.xml -s schema.toml
    treeanon explore people.csv -s schema.toml -k 10 --sample 5000 --no-browser
    """
    _need_extra()
    from treeanon.explore.server import listening
    from treeanon.explore.settings import ground_of
    from treeanon.schema import Schema

    with contextlib.closing(listening(port)) as found:
        loaded = Schema.load(schema)
        tell_of_compiling(quiet=quiet)
        data = _read(source, loaded, algorithm, reductions_of(reduced), reading, quiet, trees=(start["m"], start["n"]))
        ground = ground_of(data, sample, source=source, schema=schema, reading=dict(reading, reduced=reduced))
        del data
        _serve(ground, {"algorithm": algorithm, **start}, found, no_browser=no_browser, quiet=quiet)


def _need_extra() -> None:
    """UsageError that says what to install, if it is not there."""
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        from treeanon.errors import UsageError

        raise UsageError("explore needs Starlette and uvicorn: pip install 'treeanon[explore]'")


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
    """The trees of the input; or its rows, as `anonymize` would take them by the same options."""
    from treeanon.io.reading import input_format
    from treeanon.schema.model import FLAT

    rows = input_format(source, schema, reading["format"]).name in FLAT and all(one is None for one in trees)
    if algorithm in TABLE_ALGORITHMS or reductions or (algorithm is None and rows):
        return read_as_table(source, schema, reductions, reading, quiet=quiet)
    return read_records(source, schema, reading, quiet=quiet)


def _serve(ground: ExploredData, start: dict[str, Any], found: socket, *, no_browser: bool, quiet: bool) -> None:
    """Serves the page until Ctrl-C."""
    from treeanon.explore.access import Access
    from treeanon.explore.server import server_of
    from treeanon.explore.session import Session
    from treeanon.explore.settings import default_settings

    settings = default_settings(ground.kind, sensitive=bool(ground.of_role("sensitive")), **start)
    access = Access(found.getsockname()[1])
    with contextlib.closing(Session(ground)) as session:
        session.prepare(settings)
        say(_about(ground), quiet=quiet)
        click.echo(f"open {access.address(access.token)}", err=True)
        if not no_browser and access.once is not None:
            webbrowser.open(access.address(access.once))
        # A signal ends the server first, then raises what it would have raised before.
        with contextlib.suppress(KeyboardInterrupt):
            server_of(session, settings, access).run(sockets=[found])
        say("ended", quiet=quiet)


def _about(ground: ExploredData) -> str:
    things = "persons" if ground.kind == "trees" else "rows"
    part = f"all {ground.total:,} {things}" if ground.whole else f"{ground.persons:,} of {ground.total:,} {things}"
    return f"exploring {part}; the page shows original data; Ctrl-C ends it"
