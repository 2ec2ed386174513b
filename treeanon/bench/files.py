"""Figures and invented tables as files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from treeanon.bench.plot import as_svg
from treeanon.bench.run import Drawn
from treeanon.bench.text import as_csv, as_text
from treeanon.errors import UsageError
from treeanon.hierarchy import dump_hierarchy
from treeanon.io.columns.write_table import table_format, write_table
from treeanon.io.output import naming, open_folder, open_output, refuse_existing
from treeanon.schema import Schema
from treeanon.schema.dump import dump_schema
from treeanon.schema.model import ClassSpec, InputSpec
from treeanon.table import Table

_OURS = re.compile(r"figure-[0-9]+\.(csv|svg)|figures\.txt")


def write_figures(figures: Iterable[Drawn], target: str, *, force: bool = False) -> None:
    """Writes a folder of the figures: figure-22.csv and figure-22.svg for each, and figures.txt of all.

    An existing folder is replaced only with `force`, and only if it holds nothing else.
    """
    figures = list(figures)
    with open_folder(target, force=force, is_ours=_holds_figures) as folder:
        for drawn in figures:
            for form, text in (("csv", as_csv(drawn)), ("svg", as_svg(drawn))):
                folder.add(f"figure-{drawn.figure.number}.{form}", text.encode())
        folder.add("figures.txt", ("\n\n".join(map(as_text, figures)) + "\n").encode())


def _holds_figures(folder: Path) -> bool:
    return all(_OURS.fullmatch(path.name) for path in folder.iterdir())


def write_table_and_schema(
    table: Table, target: Path, *, sensitive: str, force: bool = False, seed: int | None = None
) -> list[str]:
    """Writes an invented table, a schema that reads it, and the hierarchies that this names; the paths of all.

    The schema publishes no other sensitive column than the one told.
    """
    if str(target) == "-":
        raise UsageError("several files cannot go to standard output; name a file")
    form = table_format(target)
    schema_path = target.with_name(target.name.partition(".")[0] + ".toml")
    # Files of a schema are named from its folder.
    trees = {
        schema_path.parent / str(c.spec.hierarchy_source): c.hierarchy
        for c in table.columns
        if isinstance(c.spec.hierarchy_source, str)
    }
    for path in (target, schema_path, *trees):
        refuse_existing(path, force=force)
    specs = [_spec(column.spec, sensitive) for column in table.columns]
    text = dump_schema(Schema(InputSpec(form), tuple(specs)))
    write_table(table, target, force=force, seed=seed)
    for path, content in {
        schema_path: text,
        **{path: dump_hierarchy(own, "csv") for path, own in trees.items()},
    }.items():
        with naming(str(path)):
            path.parent.mkdir(exist_ok=True)
        with open_output(path, force=force) as stream:
            stream.write(content.encode())
    return [str(path) for path in (target, schema_path, *trees)]


def _spec(spec: ClassSpec, sensitive: str) -> ClassSpec:
    return replace(spec, role="drop") if spec.role == "sensitive" and spec.name != sensitive else spec
