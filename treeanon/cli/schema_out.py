"""What commands share that also write a schema, by which their output is read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from treeanon.schema import ClassSpec, Schema


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
