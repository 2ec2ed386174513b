"""`treeanon anonymize` where rows are released: of a table, or of records made one row a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from treeanon.algorithms.flat.options import OPTIONS
from treeanon.algorithms.flat.registry import flat_algorithm_named
from treeanon.cli.common import Reading, progress_bar, result, say
from treeanon.cli.releasing import check_folder, check_solution_target, tell_of_compiling
from treeanon.cli.table_options import models_of_options, reductions_of
from treeanon.cli.tables import read_as_table, refuse_hierarchies, told_table_release

if TYPE_CHECKING:
    from treeanon.release import TableRequest
    from treeanon.release.table_request import Publish
    from treeanon.schema import Schema


@dataclass(frozen=True)
class Asked:
    """What the command line asks for where rows are released; `trees` has what only trees can have."""

    source: str
    schema: Schema
    output: str
    k: int | None
    algorithm: str | None
    max_suppressed: str
    solution: str | None
    target_format: str | None
    force: bool
    seed: int | None
    quiet: bool
    as_json: bool
    mining: bool
    options: Mapping[str, Any]
    trees: Mapping[str, Any]
    reading: Reading

    @property
    def rows(self) -> TableRequest:
        """The release of rows that is asked for."""
        from treeanon.release import TableRequest
        from treeanon.release.table_request import default_search, unprotected_by

        given = self.options
        names = [*OPTIONS, "weights", "effort", "max_loss"]
        own = {name: given[name] for name in names if given.get(name) is not None}
        models = models_of_options(self.k, given)
        publish: Publish = "permuted" if given.get("publish") == "permuted" else "generalized"
        algorithm = self.algorithm or default_search(publish)
        if "effort" in own and "effort" in flat_algorithm_named(algorithm).options:
            own["effort"] = _whole_effort(own["effort"])
        bare = unprotected_by(given["l"])
        return TableRequest(models, algorithm, self.max_suppressed, own, unprotected=bare, publish=publish)

    def refuse_trees(self, more: str = "") -> None:
        """Refuses options that only trees have."""
        given = {name: one for name, one in self.trees.items() if one or (one == 0 and one is not False)}
        flags = [f"-{name}" if name in ("m", "n") else f"--{name}" for name in given]
        if flags:
            words = f"{' and '.join(flags)} {'is' if len(flags) == 1 else 'are'} of trees"
            raise click.UsageError(f"{words}: of a row all quasi columns count as known{more}")

    def refuse_of_others(self) -> None:
        """Refuses options that only releases of trees or documents have."""
        if self.mining:
            raise click.UsageError("--mining is of trees")
        if self.options["rest"] is not None:
            raise click.UsageError("--rest is of --release documents: rows are all that is written otherwise")
        self.refuse_trees()


def _whole_effort(text: object) -> int:
    """The effort as searches of tables take it."""
    try:
        return int(str(text))
    except ValueError:
        raise click.UsageError("--effort: of a search of tables it is a whole number") from None


def anonymize_table(asked: Asked) -> None:
    """Reads, searches, writes and tells."""
    from treeanon.io.output import refuse_existing
    from treeanon.release import fulfil_table
    from treeanon.table.out import table_format

    asked.refuse_of_others()
    request = asked.rows
    request.check(asked.schema)
    reductions = reductions_of(asked.options["reduced"])
    refuse_existing(asked.output, force=asked.force)
    check_folder(asked.output)
    check_solution_target(asked.solution, asked.output, force=asked.force)
    refuse_hierarchies(asked.schema, asked.output, asked.solution)
    form = table_format(asked.output, asked.target_format)
    tell_of_compiling("tuples", quiet=asked.quiet)
    table = read_as_table(asked.source, asked.schema, reductions, asked.reading, quiet=asked.quiet)
    with progress_bar("searching", quiet=asked.quiet):
        release = fulfil_table(request, table, seed=asked.seed)
    release.write(asked.output, format=form, force=asked.force, seed=asked.seed)
    if asked.solution is not None:
        release.write_solution(asked.solution, force=asked.force)
    say(told_table_release(release, asked.output, asked.solution), quiet=asked.quiet)
    result({**release.as_dict(), "output": asked.output}, as_json=asked.as_json)
