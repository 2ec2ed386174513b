"""What `treeanon anonymize` is asked for, and the releases of rows and of trees that this means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from treeanon.algorithms.table.options import OPTIONS
from treeanon.algorithms.table.registry import FLAT_ALGORITHMS, flat_algorithm_named
from treeanon.cli.html_page import PageAsked
from treeanon.cli.shared import Reading
from treeanon.cli.table_options import asks_for_table, models_of_options

if TYPE_CHECKING:
    from treeanon.release import Request, TableRequest
    from treeanon.release.table_request import Publish
    from treeanon.schema import Schema

SHARED = ("weights", "effort", "max_loss")
"""What both searches of trees and searches of tables may be told; `options` has it."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line asks for; `trees` has what only trees can have, `options` the rest of what may be asked."""

    source: str
    schema: Schema
    reading: Reading
    k: int | None
    algorithm: str | None
    max_suppressed: str
    options: Mapping[str, Any]
    trees: Mapping[str, Any]
    output: str = ""
    solution: str | None = None
    target_format: str | None = None
    force: bool = False
    seed: int | None = None
    quiet: bool = False
    as_json: bool = False
    mining: bool = False
    page: PageAsked = field(default_factory=PageAsked)

    @property
    def is_table(self) -> bool:
        """Whether a release of a table is asked for: by the search, by what only tables have, or by the input."""
        from treeanon.io.reading import input_format
        from treeanon.schema.model import FLAT

        given, trees = self.options, self.trees
        if self.algorithm is not None:
            return self.algorithm in FLAT_ALGORITHMS
        if asks_for_table(given) or given["reduced"] or given["publish"] or given["release"] == "documents":
            return True
        of_trees = trees["m"] is not None or trees["n"] is not None or trees["negative"]
        return not of_trees and input_format(self.source, self.schema, self.reading["format"]).name in FLAT

    @property
    def rows(self) -> TableRequest:
        """The release of rows that is asked for."""
        from treeanon.release import TableRequest
        from treeanon.release.table_request import default_search, unprotected_by

        given = self.options
        own = {name: given[name] for name in (*OPTIONS, *SHARED) if given.get(name) is not None}
        models = models_of_options(self.k, given)
        publish: Publish = "permuted" if given.get("publish") == "permuted" else "generalized"
        algorithm = self.algorithm or default_search(publish)
        if "effort" in own and "effort" in flat_algorithm_named(algorithm).options:
            own["effort"] = _whole_effort(own["effort"])
        bare = unprotected_by(given["l"])
        return TableRequest(models, algorithm, self.max_suppressed, own, unprotected=bare, publish=publish)

    def records(self, least: int | None, diversity: Any, **more: Any) -> Request:
        """The release of trees that is asked for, with this diversity; `more` is what else is said of it."""
        from treeanon.release import Request

        trees = self.trees
        given = {name: trees[name] for name in ("recoding", "objective", "g", "closed", "scope")}
        given |= {name: self.options[name] for name in ("weights", "effort")}
        return Request(
            self.k,
            2 if trees["m"] is None else trees["m"],
            1 if trees["n"] is None else trees["n"],
            trees["attacker"],
            least,
            diversity,
            trees["negative"],
            complete=trees["complete"],
            seed=self.seed,
            jobs=self.reading["jobs"],
            options={name: value for name, value in given.items() if value is not None},
            **more,
        )

    def refuse_trees(self, more: str = "") -> None:
        """Refuses options that only trees have."""
        given = {name: one for name, one in self.trees.items() if one or (one == 0 and one is not False)}
        if given["attacker"] == "independent":
            del given["attacker"]
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
