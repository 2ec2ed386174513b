"""Checks before the work."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from treeanon.io.registry import Format
    from treeanon.schema import ClassSpec, Schema


def refuse_own_input(sources: Sequence[str], targets: Sequence[str | None]) -> None:
    """Refuses, also with --force, to write over what is being read."""
    from treeanon.io.relational.urls import file_of

    for target in targets:
        for read in map(file_of, sources):
            # The tables of a package lie beside its description.
            read = os.path.dirname(os.path.abspath(read)) if read.endswith("datapackage.json") else read  # noqa: PTH100, PTH120
            # os.path answers "no" where Path raises: for a name that is too long.
            if target and os.path.exists(target) and os.path.exists(read) and os.path.samefile(target, read):  # noqa: PTH110, PTH121
                raise click.UsageError(f"{target} is read; write to another file")
            if target and os.path.isdir(read) and _lies_in(target, read):  # noqa: PTH112
                raise click.UsageError(f"{target} lies in the folder that is read; write to another place")


def refuse_hierarchies(schema: Schema, *targets: str | None) -> None:
    """Refuses to write over the schema's hierarchies."""
    home = os.path.dirname(os.path.abspath(schema.source))  # noqa: PTH100, PTH120
    files = [spec.hierarchy_source for spec in schema.classes if isinstance(spec.hierarchy_source, str)]
    refuse_own_input([os.path.join(home, name) for name in files], targets)  # noqa: PTH118


def _lies_in(target: str, folder: str) -> bool:
    inner, outer = os.path.realpath(target), os.path.realpath(folder)
    return inner.startswith(outer.rstrip(os.sep) + os.sep)


def check_folder(output: str) -> None:
    """Refuses, before any work, an output in a folder that is not there."""
    from treeanon.errors import FileError
    from treeanon.io.relational.urls import is_database

    if output == "-" or is_database(output):
        return
    if not os.path.isdir(os.path.dirname(os.path.abspath(output.rstrip("/")))):  # noqa: PTH112, PTH120, PTH100
        raise FileError(f"{output}: its folder does not exist")


def check_form(schema: Schema, form: Format, output: str, *others: str | None) -> None:
    """Refuses what a format cannot express, and to write over the schema's hierarchies, here or to `others`.

    Where only the tables of the input decide, that is asked again when they are known.
    """
    from treeanon.io.relational.writing import check_target, plan_of
    from treeanon.schema.model import RELATIONAL
    from treeanon.schema.relational import is_settled

    refuse_hierarchies(schema, output, *others)
    settled = is_settled(schema)
    if settled:
        written = schema.for_format(form.name)
        _ = written.layout
    if form.name in RELATIONAL:
        check_target(form.name, output, plan_of(written) if settled else None)


def check_solution_target(solution: str | None, output: str, *, force: bool, option: str = "--solution") -> None:
    """Refuses, before any work, a place for the solution file (or that of another option) that cannot be."""
    from treeanon.errors import FileError
    from treeanon.io.output import naming, refuse_existing

    if solution is None:
        return
    if solution == "-":
        raise click.UsageError(f"{option} needs the name of a file")
    with naming(solution):
        if Path(solution).resolve() == Path(output).resolve():
            raise click.UsageError(f"{option} and --output name the same file")
        if not Path(solution).resolve().parent.is_dir():
            raise FileError(f"{solution}: its folder does not exist")
        if Path(solution).is_dir():
            raise FileError(f"{solution}: is a folder")
    refuse_existing(solution, force=force)


class _Telling:
    """Says that kernels are being compiled: when that begins, and once in a command."""

    waits = False

    def end(self) -> None:
        """The command is over: the next one of the same process may not want to be told."""
        self.waits = False

    def __call__(self, more: int) -> None:
        if self.waits and more > 0:
            self.waits = False
            # A bar may stand in the line.
            clear = "\r\x1b[K" if sys.stderr.isatty() else ""
            click.echo(f"{clear}compiling kernels on the first run: this takes some seconds, once", err=True)


@cache
def _telling() -> _Telling:
    from treeanon.kernels.jit import watch

    found = _Telling()
    watch(found)
    return found


def tell_of_compiling(*, quiet: bool) -> None:
    """Sees to it that the command says so, should it have to compile kernels: that takes long, once."""
    telling = _telling()
    telling.waits = not quiet
    if (context := click.get_current_context(silent=True)) is not None:
        context.call_on_close(telling.end)


def refuse_two_on_stdout(output: str, *, as_json: bool) -> None:
    """Standard output can hold the data or the result, not both."""
    if as_json and output == "-":
        raise click.UsageError("--json and --output - would both write to standard output; choose one")


def check_schema_out(schema_out: str, output: str, *, force: bool) -> None:
    """Refuses, before any work, a place for the schema that cannot be."""
    from treeanon.errors import FileError
    from treeanon.io.output import naming, refuse_existing

    if schema_out == "-":
        raise click.UsageError("--schema-out needs the name of a file")
    with naming(schema_out):
        if Path(schema_out).resolve() == Path(output).resolve():
            raise click.UsageError("--schema-out and --output name the same file")
        if not Path(schema_out).resolve().parent.is_dir():
            raise FileError(f"{schema_out}: its folder does not exist")
    refuse_existing(schema_out, force=force)


def write_schema(schema: Schema, source: str, target: str, *, force: bool) -> None:
    """Writes a schema, its hierarchy files named from where it is written to."""
    from treeanon.io.output import open_output
    from treeanon.schema.dump import dump_schema

    home, goal = Path(source).resolve().parent, Path(target).resolve().parent

    def moved(spec: ClassSpec) -> ClassSpec:
        if not isinstance(spec.hierarchy_source, str):
            return spec
        return replace(spec, hierarchy_source=os.path.relpath(home / spec.hierarchy_source, goal))

    text = dump_schema(replace(schema, classes=tuple(moved(spec) for spec in schema.classes)))
    with open_output(target, force=force) as stream:
        stream.write(text.encode())
