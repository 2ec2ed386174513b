"""Checks before the work: no command overwrites what it reads, or fails late for want of a place to write to."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from treeanon.cli.printing import say

if TYPE_CHECKING:
    from treeanon.cli.request import CommandRequest
    from treeanon.formats import Format
    from treeanon.schema import Schema


class WithSolution(Protocol):
    """A release whose solution can be written."""

    def write_solution(self, target: str, *, force: bool = False) -> None:
        """Write the solution to a file."""


def refuse_own_input(sources: Sequence[str], targets: Sequence[str | None]) -> None:
    """Refuse, also with --force, to overwrite an input."""
    from treeanon.io.relational.urls import file_of, is_remote, shown

    for target in targets:
        if target is not None and is_remote(target) and shown(target) in map(shown, sources):
            raise click.UsageError(f"{shown(target)} is an input; choose another output")
        for read in map(file_of, sources):
            # The tables of a package lie beside its description.
            read = os.path.dirname(os.path.abspath(read)) if read.endswith("datapackage.json") else read  # noqa: PTH100, PTH120
            # os.path answers "no" where Path raises: for a name that is too long.
            if target and os.path.exists(target) and os.path.exists(read) and os.path.samefile(target, read):  # noqa: PTH110, PTH121
                raise click.UsageError(f"{target} is an input; choose another output")
            if target and os.path.isdir(read) and _lies_in(target, read):  # noqa: PTH112
                raise click.UsageError(f"{target} is inside an input folder; choose another output")


def refuse_hierarchies(schema: Schema, *targets: str | None) -> None:
    """Refuse to overwrite the schema's hierarchies."""
    from treeanon.schema.dump import hierarchy_files

    refuse_own_input(hierarchy_files(schema), targets)


def _lies_in(target: str, folder: str) -> bool:
    inner, outer = os.path.realpath(target), os.path.realpath(folder)
    return inner.startswith(outer.rstrip(os.sep) + os.sep)


def check_folder(output: str) -> None:
    """Refuse an output in a folder that does not exist."""
    from treeanon.errors import FileError
    from treeanon.io.relational.urls import is_database, is_remote

    if is_remote(output):
        from treeanon.io.remote import refuse_remote_target

        refuse_remote_target(output)
        return
    if output == "-" or is_database(output):
        return
    if not os.path.isdir(os.path.dirname(os.path.abspath(output.rstrip("/")))):  # noqa: PTH112, PTH120, PTH100
        raise FileError(f"{output}: its folder does not exist")


def check_form(schema: Schema, form: Format, output: str, *others: str | None) -> None:
    """Refuse what a format cannot express, and to overwrite the schema's hierarchies by the output or `others`.

    Where this depends on the tables of the input, call it again when they are known.
    """
    from treeanon.schema.relational import is_settled

    refuse_hierarchies(schema, output, *others)
    settled = is_settled(schema)
    if settled:
        written = schema.for_format(form.name)
        _ = written.layout
    if form.is_relational:
        from treeanon.io.relational.writing import plan_of, tables_writer

        tables_writer(form).check(output, plan_of(written) if settled else None)


def check_memory(request: CommandRequest, schema: Schema) -> None:
    """Refuse an input whose trees will not fit into memory, and tell Spark's command; warn where it is tight."""
    if request.ignore_memory:
        return
    from treeanon.io.relational.urls import shown
    from treeanon.io.room import room_for

    room = room_for(request.source, schema, request.reading["format"])
    if room is None or not room.is_tight:
        return
    told = f"{shown(request.source)}: {room.sentence}"
    instead = f"Spark takes no more for more records:\n  {spark_command(request)}"
    if not room.fits:
        raise click.UsageError(f"{told}. {instead}\n--ignore-memory begins here all the same")
    say(f"{told}: it may not be enough. {instead}", quiet=request.quiet)


def spark_command(request: CommandRequest) -> str:
    """Return the command by which Spark makes a release, into a folder."""
    from treeanon.io.relational.urls import shown
    from treeanon.io.sources import plain_name

    given = {"-s": request.schema.source, "-k": request.k, "-m": request.m, "-n": request.n, "--l": request.models["l"]}
    name = shown(request.output)
    folder = name if request.output == "-" else name[: len(os.path.splitext(plain_name(name))[0])]  # noqa: PTH122
    output = "release" if folder in ("-", "") else folder
    words = ["treeanon", "anonymize", shown(request.source)]
    for option, value in given.items():
        words += [] if value is None or isinstance(value, dict) else [option, str(value)]
    return shlex.join([*words, "--engine", "spark", "-o", output])


def check_extra_output(path: str | None, output: str, *, force: bool, option: str = "--solution") -> None:
    """Refuse a file of the option that cannot be written beside the output."""
    from treeanon.errors import FileError
    from treeanon.io.output import naming, refuse_existing
    from treeanon.io.relational.urls import is_remote, shown

    if path is None:
        return
    if is_remote(path):
        raise click.UsageError(f"{shown(path)}: {option} requires a local file")
    if path == "-":
        raise click.UsageError(f"{option} requires a file name")
    with naming(path):
        if Path(path).resolve() == Path(output).resolve():
            raise click.UsageError(f"{option} and --output name the same file")
        if not Path(path).resolve().parent.is_dir():
            raise FileError(f"{path}: its folder does not exist")
        if Path(path).is_dir():
            raise FileError(f"{path}: is a folder")
    refuse_existing(path, force=force)


@contextmanager
def beside(output: str) -> Iterator[None]:
    """Say where what goes beside an output fails that the output itself is there and complete."""
    try:
        yield
    except Exception:
        from treeanon.io.relational.urls import shown

        say(f"The output is complete: {shown(output)}; only what goes beside it failed", quiet=False)
        raise


def write_solution_of(release: WithSolution, request: CommandRequest) -> None:
    """Write the solution of a release, if it is requested."""
    if request.solution is not None:
        with beside(request.output):
            release.write_solution(request.solution, force=request.force)


class _Announcement:
    """Prints once in a command that kernels are being compiled."""

    waits = False

    def end(self) -> None:
        """End the announcements of this command: the next one of the same process may be quiet."""
        self.waits = False

    def __call__(self, more: int) -> None:
        if self.waits and more > 0:
            self.waits = False
            # A progress bar may be in the line.
            clear = "\r\x1b[K" if sys.stderr.isatty() else ""
            click.echo(f"{clear}compiling kernels; this takes some seconds on the first run only", err=True)


@cache
def _announcement() -> _Announcement:
    from treeanon.kernels import ahead
    from treeanon.kernels.jit import watch

    found = _Announcement()
    watch(found)
    ahead.watch()
    return found


def announce_compilation(*, quiet: bool) -> None:
    """Have the command announce it if kernels have to be compiled, which takes long on the first run."""
    announcement = _announcement()
    announcement.waits = not quiet
    if (context := click.get_current_context(silent=True)) is not None:
        context.call_on_close(announcement.end)


def refuse_two_on_stdout(output: str, *, as_json: bool) -> None:
    """Refuse to write both the data and the result to standard output."""
    if as_json and output == "-":
        raise click.UsageError("--json and --output - would both write to standard output; choose one")


def write_schema(schema: Schema, source: str, target: str, output: str, *, force: bool) -> None:
    """Write the schema of an output, with the paths of its hierarchy files relative to its new place."""
    from treeanon.io.output import open_output
    from treeanon.schema.dump import dump_schema, relocated

    text = dump_schema(relocated(schema, Path(source).resolve().parent, Path(target).resolve().parent))
    with beside(output), open_output(target, force=force) as stream:
        stream.write(text.encode())
