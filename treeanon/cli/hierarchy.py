"""`treeanon hierarchy`: build, show, check and convert generalization hierarchies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treeanon.builders import BUILDERS, LEAVES, keys_of_all
from treeanon.cli.checks import refuse_own_input, refuse_two_on_stdout
from treeanon.cli.options import force_option, output_option, printing_options
from treeanon.cli.printing import print_result, printable, say
from treeanon.parameters import Parameter

if TYPE_CHECKING:
    from treeanon.hierarchy import Builder, Hierarchy

_SCHEMA = click.option("--schema", "-s", metavar="FILE", help="Schema of INPUT (TOML).")
_CLASS = click.option("--class", "class_name", metavar="NAME", help="Class of the schema whose values are used.")
_TO = click.option("--to", type=click.Choice(["csv", "json"]), help="Format of the output [default: by its name].")
_FORMS = (".csv", ".json")


@click.group()
def command() -> None:
    """Build, show, check and convert generalization hierarchies.

    A hierarchy file is CSV as in ARX (one row per value: value, level 1, …, top) or JSON ({"child": "parent"}).
    """


@command.command()
@click.argument("file")
@click.option("--depth", type=click.IntRange(0), metavar="N", help="Show at most N levels below the root.")
@click.option("--children", type=click.IntRange(1), metavar="N", help="Show at most N children of a node.")
@printing_options
def show(file: str, depth: int | None, children: int | None, quiet: bool, as_json: bool) -> None:
    """Draw the tree of a hierarchy FILE (.csv or .json)."""
    from treeanon.hierarchy import read_hierarchy, render

    hierarchy = read_hierarchy(Path(file))
    if as_json:
        print_result(_numbers(hierarchy), as_json=True)
    else:
        click.echo(render(hierarchy, max_depth=depth, max_children=children))


@command.command()
@click.argument("file")
@click.argument("source", required=False, metavar="[INPUT]")
@_SCHEMA
@_CLASS
@click.option("--show-values", is_flag=True, help="List the unknown values, which are values of the data.")
@printing_options
def check(
    file: str,
    source: str | None,
    schema: str | None,
    class_name: str | None,
    show_values: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Check that FILE is a tree, and that it contains all values of a class in INPUT, if one is given.

    Exit code 2: it is not a tree, or does not contain all values.
    """
    from treeanon.hierarchy import read_hierarchy

    hierarchy = read_hierarchy(Path(file))
    found = _numbers(hierarchy)
    lines = [_counts_text(file, found)]
    unknown: dict[str, int] = {}
    if _asks_for_data(source, schema, class_name):
        from treeanon.infer.sampling import class_values

        _, values = class_values(source or "", schema or "", class_name or "")
        unknown = {text: times for text, times in values.items() if hierarchy.find(text) is None}
        found |= {"values": len(values), "unknown_values": len(unknown), "unknown_occurrences": sum(unknown.values())}
        lines.append(_unknown_text(values, unknown, show_values=show_values))
        if show_values:
            found["unknown"] = unknown
    if not as_json:
        say("\n".join(lines), quiet=quiet and not unknown)
    print_result(found, as_json=as_json)
    if unknown:
        raise click.exceptions.Exit(2)


@command.command()
@click.argument("file")
@output_option
@_TO
@force_option
@printing_options
def convert(file: str, output: str, to: str | None, force: bool, quiet: bool, as_json: bool) -> None:
    """Convert the hierarchy in FILE to CSV or JSON, by the ending of the output."""
    refuse_two_on_stdout(output, as_json=as_json)
    refuse_own_input([file], [output])
    from treeanon.hierarchy import read_hierarchy

    _write(read_hierarchy(Path(file)), output, to, force=force, quiet=quiet, as_json=as_json)


def _flag(parameter: Parameter) -> str:
    return f"--{parameter.name.replace('_', '-')}"


def _builder_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each key of a builder, as the table of builders declares it; files always have the values."""
    for parameter in reversed([one for name, one in keys_of_all().items() if name != LEAVES]):
        among = f" Out of {', '.join(parameter.choices)}." if parameter.kind == "names" else ""
        if parameter.kind == "flag" and parameter.required:
            option = click.option(_flag(parameter), parameter.name, is_flag=True, help=parameter.help)
        else:
            option = click.option(
                _flag(parameter),
                parameter.name,
                metavar=_METAVARS.get(parameter.kind, "N"),
                multiple=parameter.kind == "files",
                help=parameter.help + among,
            )
        function = option(function)
    return function


_METAVARS = {
    "numbers": "N,N,…", "ints": "N,N,…", "names": "NAME,…", "choice": "NAME", "flag": "true|false",
    "file": "FILE", "files": "FILE", "text": "TEXT", "day": "DAY",
}  # fmt: skip


@command.command()
@click.argument("source", required=False, metavar="[INPUT]")
@_SCHEMA
@_CLASS
@click.option("--values", metavar="FILE", help="Read values, one per line, instead of INPUT; - is standard input.")
@_builder_options
@output_option
@_TO
@force_option
@printing_options
def build(
    source: str | None,
    schema: str | None,
    class_name: str | None,
    values: str | None,
    output: str,
    to: str | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    **keys: Any,
) -> None:
    """Build a hierarchy and write it to a file. A hierarchy built from values contains them: protect it like the data.

    Values come from INPUT, with the builder that the schema or an option names, from a list, or are the whole numbers
    between two bounds:

    \b
    treeanon hierarchy build patients.xml -s schema.toml --class zip -o zip.csv
    treeanon hierarchy build --values cities.txt --groups 5 -o city.csv
    treeanon hierarchy build --intervals 5,10,20 --min 0 --max 120 -o age.csv
    """
    refuse_two_on_stdout(output, as_json=as_json)
    table = _builder_table(keys)
    refuse_own_input([given for given in (source, schema, values, *_files_of(table)) if given], [output])
    from treeanon.hierarchy import Hierarchy
    from treeanon.hierarchy.levels import NamedHierarchy
    from treeanon.infer.sampling import class_values, listed_values

    if _asks_for_data(source, schema, class_name):
        if values is not None:
            raise click.UsageError("choose one of --values and INPUT")
        spec, found = class_values(source or "", schema or "", class_name or "")
        builder: Builder | Hierarchy = _builder_of(table, spec.type) if table else spec.hierarchy
        texts = list(found)
    else:
        builder = _builder_of(table, None)
        if values is None and not {"intervals", "min", "max"} <= {*table}:
            raise click.UsageError("no values: give INPUT with --schema and --class, or --values FILE")
        texts = listed_values(values) if values is not None else []
    made = builder if isinstance(builder, Hierarchy) else builder.build(texts)
    if isinstance(made, NamedHierarchy):
        raise click.UsageError("leaves = false cannot be kept in a file, by which no value could be read")
    _note_unplaced(made, texts, quiet=quiet)
    _write(made, output, to, force=force, quiet=quiet, as_json=as_json)


def _builder_table(given: Mapping[str, object]) -> dict[str, object]:
    """Return the builder of the options as a table of a schema; empty if no option names one."""
    table: dict[str, object] = {}
    for name, parameter in keys_of_all().items():
        value = given.get(name)
        if value in (None, False, ()):
            continue
        try:
            table[name] = value if isinstance(value, bool | tuple) else parameter.parse(str(value))
        except ValueError:
            raise click.UsageError(f"{_flag(parameter)}: must be {parameter.expected}") from None
    return {name: list(value) if isinstance(value, tuple) else value for name, value in table.items()}


def _files_of(table: Mapping[str, object]) -> list[str]:
    """Return the files that a table of a builder names."""
    names = {name for builder in BUILDERS.values() for name in builder.files}
    given = [table[name] for name in names if name in table]
    return [str(file) for files in given for file in (files if isinstance(files, list) else [files])]


def _builder_of(table: dict[str, object], value_type: str | None) -> Builder:
    """Return the builder of a table; without a type, with the one that the builder requires."""
    from treeanon.hierarchy import parse_builder

    if value_type is None:
        value_type = (
            "date" if "dates" in table or "ages" in table else _number_type(table) if "intervals" in table else "text"
        )
    builder, problems = parse_builder(table, value_type)
    if builder is None:
        reasons = "; ".join(f"--{key}: {message}" if key in table else message for key, message in problems)
        raise click.UsageError(reasons)
    return builder


def _number_type(table: dict[str, object]) -> str:
    from treeanon.hierarchy.intervals import BOUNDS

    widths = table["intervals"]
    numbers = [*(widths if isinstance(widths, list) else []), *(table.get(name) for name in BOUNDS)]
    return "number" if any(isinstance(number, float) for number in numbers) else "integer"


def _asks_for_data(source: str | None, schema: str | None, class_name: str | None) -> bool:
    """Return whether values of an input are used; all three must be given, or none."""
    given = [source, schema, class_name]
    if any(given) and not all(given):
        raise click.UsageError("INPUT, --schema and --class must be given together")
    return all(given)


def _numbers(hierarchy: Hierarchy) -> dict[str, Any]:
    """Return the counts of a hierarchy."""
    import numpy as np

    from treeanon.arrays import unique_values

    depths = hierarchy.depth[hierarchy.leaf_nodes]
    return {
        "leaves": int(hierarchy.leaf_count[0]),
        "nodes": len(hierarchy),
        "height": hierarchy.height,
        "levels": np.bincount(hierarchy.depth).tolist(),
        "balanced": bool(len(unique_values(depths)) == 1),
    }


def _counts_text(file: str, found: dict[str, Any]) -> str:
    levels = ", ".join(f"{count:,}" for count in found["levels"])
    balanced = "balanced" if found["balanced"] else "not balanced (leaves at different depths are allowed)"
    return (
        f"{file} is a tree: {found['leaves']:,} leaves, {found['nodes']:,} nodes, height {found['height']}\n"
        f"{balanced}\n"
        f"nodes by level, from the root: {levels}"
    )


def _unknown_text(values: dict[str, int], unknown: dict[str, int], *, show_values: bool) -> str:
    if not unknown:
        return f"contains all {len(values):,} values of the class"
    text = (
        f"does not contain {len(unknown):,} of the {len(values):,} values of the class"
        f" ({sum(unknown.values()):,} occurrences)"
    )
    if not show_values:
        return f"{text}; --show-values lists them"
    return "\n".join([f"{text}:", *(f"  {times:>9,}  {printable(value)}" for value, times in unknown.items())])


def _note_unplaced(hierarchy: Hierarchy, texts: list[str], *, quiet: bool) -> None:
    missing = sum(hierarchy.find(text) is None for text in texts)
    if missing:
        say(f"warning: {missing:,} of {len(texts):,} values are outside the hierarchy (type or range)", quiet=quiet)


def _write(hierarchy: Hierarchy, output: str, to: str | None, *, force: bool, quiet: bool, as_json: bool) -> None:
    """Write a hierarchy in the format requested, or that of the file name."""
    from treeanon.hierarchy import dump_hierarchy
    from treeanon.io.output import open_output
    from treeanon.io.sources import plain_name

    form = to or Path(plain_name(output)).suffix.removeprefix(".")
    if f".{form}" not in _FORMS:
        raise click.UsageError(f"{output}: must end in .csv or .json (or give --to csv or --to json)")
    text = dump_hierarchy(hierarchy, form)
    with open_output(output, force=force) as stream:
        stream.write(text.encode())
    say(f"{len(hierarchy):,} nodes written to {output}", quiet=quiet or output == "-")
    print_result({"output": output, **_numbers(hierarchy)}, as_json=as_json)
