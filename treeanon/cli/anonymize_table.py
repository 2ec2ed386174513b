"""`treeanon anonymize` where rows are released: of a table, or of records made one row a person."""

from __future__ import annotations

from treeanon.cli.checks_and_texts import check_folder, check_solution_target, refuse_hierarchies, tell_of_compiling
from treeanon.cli.html_page import check_page, write_page_of
from treeanon.cli.request import Asked
from treeanon.cli.shared import progress_bar, result, say
from treeanon.cli.table_io import read_as_table, told_table_release
from treeanon.cli.table_options import reductions_of


def anonymize_table(asked: Asked) -> None:
    """Reads, searches, writes and tells."""
    from treeanon.io.columns.write_table import table_format
    from treeanon.io.output import refuse_existing
    from treeanon.release import fulfill_table

    asked.refuse_of_others()
    request = asked.rows
    request.check(asked.schema)
    reductions = reductions_of(asked.options["reduced"])
    refuse_existing(asked.output, force=asked.force)
    check_folder(asked.output)
    check_solution_target(asked.solution, asked.output, force=asked.force)
    check_page(asked)
    refuse_hierarchies(asked.schema, asked.output, asked.solution)
    form = table_format(asked.output, asked.target_format)
    tell_of_compiling(quiet=asked.quiet)
    table = read_as_table(asked.source, asked.schema, reductions, asked.reading, quiet=asked.quiet)
    with progress_bar("searching", quiet=asked.quiet) as progress:
        release = fulfill_table(request, table, seed=asked.seed, progress=progress)
        release.write(asked.output, format=form, force=asked.force, seed=asked.seed, progress=progress)
    if asked.solution is not None:
        release.write_solution(asked.solution, force=asked.force)
    say(told_table_release(release, asked.output, asked.solution), quiet=asked.quiet)
    write_page_of(asked, release, table)
    result({**release.as_dict(), "output": asked.output}, as_json=asked.as_json)
