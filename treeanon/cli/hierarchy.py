"""`treeanon hierarchy`: build, show, check and convert generalization hierarchies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import refuse_own_input, refuse_two_on_stdout
from treeanon.cli.options import force_option, output_option, talking_options
from treeanon.cli.printing import printable, result, say

if TYPE_CHECKING:
    from treeanon.hierarchy import Builder, Hierarchy

_SCHEMA = click.option("--schema", "-s", metavar="FILE", help="The schema (TOML) that reads INPUT.")
_CLASS = click.option("--class", "class_name", metavar="NAME", help="The class of the schema whose values are meant.")
_TO = click.option("--to", type=click.Choice(["csv", "json"]), help="Form of the output, if its name does not tell.")
_FORMS = (".csv", ".json")


@click.group()
def command() -> None:
    """Build, show, check and convert generalization hierarchies.

    A hierarchy's file is ARX's CSV (one row per value: value, level 1, …, top) or JSON ({"child": "parent"}).
    """


@command.command()
@click.argument("file")
@click.option("--depth", type=click.IntRange(0), metavar="N", help="Show no more than N levels below the root.")
@click.option("--children", type=click.IntRange(1), metavar="N", help="Show no more than N children of a node.")
@talking_options
def show(file: str, depth: int | None, children: int | None, quiet: bool, as_json: bool) -> None:
    """Draw the tree of a hierarchy's FILE (.csv or .json)."""
    from treeanon.hierarchy import read_hierarchy, render

    hierarchy = read_hierarchy(Path(file))
    if as_json:
        result(_numbers(hierarchy), as_json=True)
    else:
        click.echo(render(hierarchy, max_depth=depth, max_children=children))


@command.command()
@click.argument("file")
@click.argument("source", required=False, metavar="[INPUT]")
@_SCHEMA
@_CLASS
@click.option("--show-values", is_flag=True, help="List the unknown values. These are values of the data.")
@talking_options
def check(
    file: str,
    source: str | None,
    schema: str | None,
    class_name: str | None,
    show_values: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Check that FILE is one tree, and that it knows all values of a class in INPUT, if one is given.

    Exit code 2: it is no tree, or there are values that it does not know.
    """
    from treeanon.hierarchy import read_hierarchy

    hierarchy = read_hierarchy(Path(file))
    found = _numbers(hierarchy)
    told = [_told(file, found)]
    unknown: dict[str, int] = {}
    if _asks_for_data(source, schema, class_name):
        from treeanon.infer.stats import class_values

        _, values = class_values(source or "", schema or "", class_name or "")
        unknown = {text: times for text, times in values.items() if hierarchy.find(text) is None}
        found |= {"values": len(values), "unknown_values": len(unknown), "unknown_occurrences": sum(unknown.values())}
        told.append(_told_unknown(values, unknown, show_values=show_values))
        if show_values:
            found["unknown"] = unknown
    if not as_json:
        say("\n".join(told), quiet=quiet and not unknown)
    result(found, as_json=as_json)
    if unknown:
        raise click.exceptions.Exit(2)


@command.command()
@click.argument("file")
@output_option
@_TO
@force_option
@talking_options
def convert(file: str, output: str, to: str | None, force: bool, quiet: bool, as_json: bool) -> None:
    """Write the hierarchy in FILE in its other form: CSV or JSON, by the ending of the output."""
    refuse_two_on_stdout(output, as_json=as_json)
    refuse_own_input([file], [output])
    from treeanon.hierarchy import read_hierarchy

    _write(read_hierarchy(Path(file)), output, to, force=force, quiet=quiet, as_json=as_json)


@command.command()
@click.argument("source", required=False, metavar="[INPUT]")
@_SCHEMA
@_CLASS
@click.option("--values", metavar="FILE", help="Values, one per line, instead of INPUT; `-` is standard input.")
@click.option("--intervals", metavar="W,W,…", help="Widths of nested intervals, such as 5,10,20.")
@click.option("--min", "low", metavar="N", help="The least number there can be.")
@click.option("--max", "high", metavar="N", help="The greatest number there can be.")
@click.option("--dates", metavar="LEVEL,…", help="Periods: day, month, quarter, year, decade, century.")
@click.option("--prefix", metavar="N,N,…", help="First characters that each level keeps, such as 3,2,1.")
@click.option("--groups", type=int, metavar="N", help="Neighbors in order that make a group.")
@click.option("--flat", is_flag=True, help="The value, or nothing.")
@output_option
@_TO
@force_option
@talking_options
def build(
    source: str | None,
    schema: str | None,
    class_name: str | None,
    values: str | None,
    intervals: str | None,
    low: str | None,
    high: str | None,
    dates: str | None,
    prefix: str | None,
    groups: int | None,
    flat: bool,
    output: str,
    to: str | None,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Build a hierarchy and write it to a file. What is built from values holds them: keep it as safe as the data.

    From INPUT by the builder that a schema names (or the one given here), from a list of values, or from whole
    numbers between bounds:

    \b
    treeanon hierarchy build patients.xml -s schema.toml --class zip -o zip.csv
    treeanon hierarchy build --values cities.txt --groups 5 -o city.csv
    treeanon hierarchy build --intervals 5,10,20 --min 0 --max 120 -o age.csv
    """
    refuse_two_on_stdout(output, as_json=as_json)
    refuse_own_input([given for given in (source, schema, values) if given], [output])
    from treeanon.hierarchy import Hierarchy
    from treeanon.infer.stats import class_values, listed_values

    table = _builder_table(intervals, low, high, dates, prefix, groups, flat=flat)
    if _asks_for_data(source, schema, class_name):
        if values is not None:
            raise click.UsageError("--values and INPUT are two sources of values; choose one")
        spec, found = class_values(source or "", schema or "", class_name or "")
        builder: Builder | Hierarchy = _builder_of(table, spec.type) if table else spec.hierarchy
        texts = list(found)
    else:
        builder = _builder_of(table, None)
        if values is None and not ("intervals" in table and low is not None and high is not None):
            raise click.UsageError("there are no values: name INPUT with --schema and --class, or --values FILE")
        texts = listed_values(values) if values is not None else []
    made = builder if isinstance(builder, Hierarchy) else builder.build(texts)
    _told_unplaced(made, texts, quiet=quiet)
    _write(made, output, to, force=force, quiet=quiet, as_json=as_json)


def _builder_table(
    intervals: str | None,
    low: str | None,
    high: str | None,
    dates: str | None,
    prefix: str | None,
    groups: int | None,
    *,
    flat: bool,
) -> dict[str, object]:
    """The builder that the options describe, as a schema's table; empty if they describe none."""
    given: dict[str, object | None] = {
        "intervals": None if intervals is None else [_number(part, "--intervals") for part in intervals.split(",")],
        "min": None if low is None else _number(low, "--min"),
        "max": None if high is None else _number(high, "--max"),
        "dates": None if dates is None else [part.strip() for part in dates.split(",")],
        "prefix": None if prefix is None else [_number(part, "--prefix") for part in prefix.split(",")],
        "groups": groups,
        "flat": flat or None,
    }
    return {key: value for key, value in given.items() if value is not None}


def _number(text: str, option: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(f"{option}: a number is expected") from None


def _builder_of(table: dict[str, object], value_type: str | None) -> Builder:
    """The builder of a table; without a type, the one that the builder itself needs."""
    from treeanon.hierarchy import parse_builder

    if value_type is None:
        value_type = "date" if "dates" in table else _number_type(table) if "intervals" in table else "text"
    builder, problems = parse_builder(table, value_type)
    if builder is None:
        told = "; ".join(f"--{key}: {message}" if key in table else message for key, message in problems)
        raise click.UsageError(told)
    return builder


def _number_type(table: dict[str, object]) -> str:
    widths = table["intervals"]
    numbers = [*(widths if isinstance(widths, list) else []), table.get("min"), table.get("max")]
    return "number" if any(isinstance(number, float) for number in numbers) else "integer"


def _asks_for_data(source: str | None, schema: str | None, class_name: str | None) -> bool:
    """Whether values of an input are meant; all three must be given, or none."""
    given = [source, schema, class_name]
    if any(given) and not all(given):
        raise click.UsageError("INPUT, --schema and --class go together; give all three")
    return all(given)


def _numbers(hierarchy: Hierarchy) -> dict[str, Any]:
    """What there is to count in a hierarchy."""
    import numpy as np

    depths = hierarchy.depth[hierarchy.leaf_nodes]
    return {
        "leaves": int(hierarchy.leaf_count[0]),
        "nodes": len(hierarchy),
        "height": hierarchy.height,
        "levels": np.bincount(hierarchy.depth).tolist(),
        "balanced": bool(len(np.unique(depths)) == 1),
    }


def _told(file: str, found: dict[str, Any]) -> str:
    levels = ", ".join(f"{count:,}" for count in found["levels"])
    balanced = "balanced" if found["balanced"] else "not balanced (leaves lie at different depths, which is fine)"
    return (
        f"{file} is one tree: {found['leaves']:,} leaves, {found['nodes']:,} nodes, height {found['height']}\n"
        f"{balanced}\n"
        f"nodes by level, from the root: {levels}"
    )


def _told_unknown(values: dict[str, int], unknown: dict[str, int], *, show_values: bool) -> str:
    if not unknown:
        return f"it knows all {len(values):,} values of the class"
    text = (
        f"it does not know {len(unknown):,} of the {len(values):,} values of the class"
        f" ({sum(unknown.values()):,} occurrences)"
    )
    if not show_values:
        return f"{text}; --show-values lists them"
    return "\n".join([f"{text}:", *(f"  {times:>9,}  {printable(value)}" for value, times in unknown.items())])


def _told_unplaced(hierarchy: Hierarchy, texts: list[str], *, quiet: bool) -> None:
    missing = sum(hierarchy.find(text) is None for text in texts)
    if missing:
        told = f"{missing:,} of {len(texts):,} values have no place in the hierarchy (wrong type, or out of range)"
        say(told, quiet=quiet)


def _write(hierarchy: Hierarchy, output: str, to: str | None, *, force: bool, quiet: bool, as_json: bool) -> None:
    """Writes a hierarchy in the form asked for, or that the name means."""
    from treeanon.hierarchy import dump_hierarchy
    from treeanon.io.output import open_output
    from treeanon.io.sources import plain_name

    form = to or Path(plain_name(output)).suffix.removeprefix(".")
    if f".{form}" not in _FORMS:
        raise click.UsageError(f"{output}: name a file that ends in .csv or .json, or say --to csv or --to json")
    text = dump_hierarchy(hierarchy, form)
    with open_output(output, force=force) as stream:
        stream.write(text.encode())
    say(f"{len(hierarchy):,} nodes written to {output}", quiet=quiet or output == "-")
    result({"output": output, **_numbers(hierarchy)}, as_json=as_json)
