"""`treeanon convert`: convert records to another format, keeping what the schema names."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from treeanon.cli.checks import (
    check_extra_output,
    check_folder,
    check_form,
    refuse_own_input,
    refuse_two_on_stdout,
    write_schema,
)
from treeanon.cli.options import (
    Command,
    force_option,
    output_option,
    printing_options,
    schema_option,
    schema_out_option,
    seed_option,
    to_option,
)
from treeanon.cli.printing import counted, print_result, printable, progress_bar, reading_notes, say
from treeanon.cli.reading import Reading, load_schema, read_records, reading_options


@click.command(cls=Command)
@click.argument("source", metavar="INPUT")
@schema_option
@output_option
@to_option
@schema_out_option
@force_option
@seed_option
@reading_options
@printing_options
def command(
    source: str,
    schema: str,
    output: str,
    target_format: str | None,
    schema_out: str | None,
    force: bool,
    seed: int | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Convert records between XML, JSON, NDJSON, trees files and tables, keeping what the schema names.

    INPUT is a file, folder, glob or zip of files, a URL, or `-`. Nothing is anonymized. Equal siblings
    are merged, records are written in random order, and fields that the schema does not name are dropped and counted.

    \b
    treeanon convert patients.xml -s schema.toml -o patients.ndjson --schema-out schema-json.toml
    treeanon convert patients.xml -s schema.toml -o patients.trees.jsonl.zst
    treeanon convert clinic.sqlite -s clinic.toml -o clinic-tables/
    """
    refuse_two_on_stdout(output, as_json=as_json)
    from treeanon.io import output_format, write
    from treeanon.io.output import refuse_existing
    from treeanon.metrics import objects_kept
    from treeanon.reports.text import object_lines
    from treeanon.schema.derive import for_trees

    refuse_own_input([source, schema], [output, schema_out])
    loaded = load_schema(schema, reading)
    refuse_existing(output, force=force)
    check_folder(output)
    if schema_out is not None:
        check_extra_output(schema_out, output, force=force, option="--schema-out")
    form = output_format(output, loaded, target_format)
    check_form(loaded, form, output, schema_out)
    forest = read_records(source, loaded, reading, quiet=quiet)
    check_form(forest.schema, form, output)
    with progress_bar("writing", quiet=quiet) as progress:
        write(forest, output, format=form.name, force=force, seed=seed, progress=progress)
    if schema_out is not None:
        target = for_trees(forest.schema, form.name) if form.names_classes else forest.schema.for_format(form.name)
        write_schema(target, loaded.source, schema_out, output, force=force)
    assert forest.report is not None
    counts: dict[str, Any] = {"records": len(forest), "nodes": forest.nodes, **forest.report.as_dict()}
    objects = objects_kept(forest, forest)
    if objects:
        counts["objects"] = {name: asdict(of) for name, of in objects.items()}
    say("\n".join([_summary(counts, output), *object_lines(objects, release="output")]), quiet=quiet)
    if missing := _never_seen(forest):
        say(f"warning: no values found for {', '.join(missing)}; check their paths in the schema", quiet=quiet)
    are_kin = form.kind == loaded.input.form.kind and not form.is_document
    if schema_out is None and not are_kin and forest.schema.for_format(form.name) is not forest.schema:
        say("Paths differ in this format; --schema-out FILE writes a schema that reads it.", quiet=quiet)
    print_result(counts, as_json=as_json)


def _never_seen(forest: Any) -> list[str]:
    """Return the published classes that no record has."""
    found = set(forest.classes.class_of[forest.label].tolist())
    return [name for index, name in enumerate(forest.classes.names) if index not in found]


def _summary(counts: dict[str, Any], output: str) -> str:
    from treeanon.io.relational.urls import shown

    lines = [f"{counted(counts['records'], 'record')}, {counted(counts['nodes'], 'node')} written to {shown(output)}"]
    lines += map(printable, reading_notes(counts))
    return "\n".join(lines)
