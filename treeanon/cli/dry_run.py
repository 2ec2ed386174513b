"""What `anonymize` would do: the schema and the request are checked and told, no record is read, nothing is written."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import check_extra_output, check_folder, refuse_hierarchies
from treeanon.cli.html_page import check_page
from treeanon.cli.printing import counted, is_library, print_result, printable
from treeanon.cli.request import CommandRequest

if TYPE_CHECKING:
    from treeanon.release import Request, TableRequest


def tell(request: CommandRequest, engine: str) -> dict[str, Any]:
    """Check what can be checked without the data; print, and return, what would be read, searched and written."""
    from treeanon.io.output import refuse_existing
    from treeanon.io.relational.urls import is_database, shown
    from treeanon.io.room import room_for
    from treeanon.io.sources import following_links

    wanted = request.table_request() if request.is_table else request.tree_request()
    wanted.check(request.schema)
    if not is_database(request.output):
        refuse_existing(request.output, force=request.force)
    check_folder(request.output)
    check_extra_output(request.solution, request.output, force=request.force)
    check_page(request)
    refuse_hierarchies(request.schema, request.output, request.solution)
    with following_links(request.schema.input.follow_links):
        files, size = _found(request)
    room = None if request.is_table else room_for(request.source, request.schema, request.reading["format"])
    written = {"output": shown(request.output), "solution": request.solution, "html": request.page.target}
    written["report"] = request.page.report
    plan: dict[str, Any] = {
        "input": shown(request.source),
        "files": files,
        "bytes": size,
        "schema": request.schema.source,
        "classes": {spec.name: spec.role for spec in request.schema.classes},
        "kind": "table" if request.is_table else "trees",
        "engine": engine,
        "guarantee": _guarantee(wanted),
        "algorithm": wanted.algorithm,
        "parameters": {name: str(value) for name, value in wanted.options.items()},
        **({} if room is None else {"memory": asdict(room)}),
        **{name: target for name, target in written.items() if target is not None},
    }
    if not (request.as_json or request.quiet or is_library()):
        click.echo("\n".join(map(printable, _lines(plan))))
    print_result(plan, as_json=request.as_json)
    return plan


def _found(request: CommandRequest) -> tuple[int | None, int | None]:
    """Return the number of files of the input and their bytes; FileError if there are none, None where it is not told.

    A database is not asked, and standard input is not read.
    """
    from treeanon.io.reading import input_format
    from treeanon.io.relational.file_store import open_file_store
    from treeanon.io.relational.urls import is_database
    from treeanon.io.sources import find_sources

    source = request.source
    if source == "-" or is_database(source):
        return None, None
    form = input_format(source, request.schema, request.reading["format"])
    if form.in_folder:
        return len(open_file_store(source).names()), None
    found = find_sources(source, form.endings if Path(source).is_dir() or not Path(source).exists() else ("",))
    return len(found.items), found.size


def _guarantee(wanted: Request | TableRequest) -> str:
    from treeanon.release import TableRequest

    if isinstance(wanted, TableRequest):
        return ", ".join(map(str, wanted.models))
    return wanted.guarantee.sentence


def _lines(plan: dict[str, Any]) -> list[str]:
    from treeanon.io.room import Room

    roles = list(plan["classes"].values())
    told = ", ".join(f"{roles.count(role)} {role}" for role in dict.fromkeys(roles))
    size = "" if plan["bytes"] is None else f", {plan['bytes']:,} bytes"
    files = "" if plan["files"] is None else f" ({counted(plan['files'], 'file')}{size})"
    options = "".join(f", {name} {value}" for name, value in plan["parameters"].items())
    search = f"{plan['kind']}, algorithm {plan['algorithm']}{options}, engine {plan['engine']}"
    return [
        f"Dry run: {'a sample' if 'memory' in plan else 'no record'} was read, nothing was written.",
        f"Read:    {plan['input']}{files}, by {plan['schema']}: classes {told}",
        f"Search:  {search}",
        f"Promise: {plan['guarantee']}",
        *([f"Memory:  {Room(**plan['memory']).sentence}"] if "memory" in plan else []),
        *(f"Write:   {plan[name]}{more}" for name, more in _WRITTEN.items() if name in plan),
    ]


_WRITTEN = {
    "output": " (the release, after it is verified)",
    "solution": " (the solution)",
    "html": " (the page)",
    "report": " (the report to sign)",
}
