"""`treeanon anonymize` where rows are released: of a table, or of records made one row a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from treeanon.algorithms.flat.options import OPTIONS
from treeanon.algorithms.flat.registry import FLAT_DEFAULT
from treeanon.cli.common import progress_bar, result, say
from treeanon.cli.releasing import check_folder, check_solution_target, compiles_first
from treeanon.cli.table_options import models_of_options, reductions_of
from treeanon.cli.tables import read_as_table, refuse_hierarchies, told_table_release
from treeanon.schema import Schema


def anonymize_table(
    source: str,
    schema: Schema,
    output: str,
    *,
    k: int | None,
    algorithm: str | None,
    max_suppressed: str,
    solution: str | None,
    target_format: str | None,
    force: bool,
    seed: int | None,
    quiet: bool,
    as_json: bool,
    options: Mapping[str, Any],
    rest: tuple[int | None, int | None],
    mining: bool,
    reading: Mapping[str, Any],
) -> None:
    """Reads, searches, writes and tells."""
    if compiles_first("tuples"):
        say("compiling kernels on the first run: this takes some seconds, once", quiet=quiet)
    from treeanon.io.output import refuse_existing
    from treeanon.release import TableRequest, fulfil_table
    from treeanon.table.out import table_format

    if mining:
        raise click.UsageError("--mining is of trees")
    if rest != (None, None):
        raise click.UsageError("-m and -n are of trees: of a row all quasi columns count as known")
    names = [*OPTIONS, "weights", "effort", "max_loss"]
    own = {name: options[name] for name in names if options.get(name) is not None}
    models = models_of_options(k, options)
    request = TableRequest(models, algorithm or FLAT_DEFAULT, max_suppressed, own, unprotected=options["l"] == 1)
    request.check(schema)
    reductions = reductions_of(options["reduced"])
    refuse_existing(output, force=force)
    check_folder(output)
    check_solution_target(solution, output, force=force)
    refuse_hierarchies(schema, output, solution)
    form = table_format(output, target_format)
    table = read_as_table(source, schema, reductions, quiet=quiet, **reading)
    with progress_bar("searching", quiet=quiet):
        release = fulfil_table(request, table, seed=seed)
    release.write(output, format=form, force=force, seed=seed)
    if solution is not None:
        release.write_solution(solution, force=force)
    say(told_table_release(release, output, solution), quiet=quiet)
    result({**release.as_dict(), "output": output}, as_json=as_json)
