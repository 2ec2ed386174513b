"""What the commands that publish share: checks before the work, the note about the first run, and the words after."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.shared import printable, told_reading

if TYPE_CHECKING:
    from treeanon.io.registry import Format
    from treeanon.metrics import MiningLoss
    from treeanon.release import Release
    from treeanon.schema import Schema
    from treeanon.spark.interface import Published


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


def told_release(
    release: Release | Published, output: str, solution: str | None = None, mining: MiningLoss | None = None
) -> str:
    """What a release is, what it cost and where it went, in plain words and without a value of the data."""
    from treeanon.io.relational.urls import shown
    from treeanon.report import losses_text

    told = release.as_dict()
    counts = told["counts"]
    lines = (
        release.solution.guarantee.sentence,
        f"Verified by counting in what was written: {release.verdict.sentence}",
        f"{counts['published_records']:,} of {counted(counts['records'], 'record')}, {counts['published_nodes']:,} of"
        f" {counts['nodes']:,} nodes written to {shown(output)}",
        *([f"solution written to {solution}, {_use_of(release)}: not for publishing"] if solution else []),
        *told_sacrifices(told),
        *told_reading(counts),
        "",
        *losses_text(release.loss, mining).splitlines(),
    )
    # Names of files and classes may hold control characters that would steer the terminal.
    return "\n".join(map(printable, lines))


def _use_of(release: Release | Published) -> str:
    local = release.solution.cut is None
    return "which cannot be applied again, as it recodes each record by itself" if local else "for `treeanon apply`"


def told_sacrifices(told: Mapping[str, Any]) -> list[str]:
    """Lines that tell what trees have lost beside details of values, and what is published as it is."""
    lines = []
    if told["withheld"]:
        lines.append(f"withheld, as too rare to be published safely: {', '.join(told['withheld'])}")
    if told["suppressed"]:
        lines.append(f"{counted(told['suppressed'], 'person')} left out as outliers")
    if told["disassociated"]:
        total = sum(part["pairs"] for part in told["disassociated"])
        listed = ", ".join(f"{part['upper']} ⇝ {part['lower']} ({part['pairs']:,})" for part in told["disassociated"])
        lines.append(f"{counted(total, 'relation')} taken apart: {listed}")
    for role, names in told["published_as_they_are"].items():
        sensitive = "sensitive, diverse in every group" if told["guarantee"].get("l", 1) > 1 else "sensitive"
        declared = {"keep": "declared safe by the schema", "sensitive": sensitive}.get(role, role)
        lines.append(f"published as they are ({declared}): {', '.join(names)}")
    return lines


def counted(number: int, thing: str) -> str:
    """A number of things, in words."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
