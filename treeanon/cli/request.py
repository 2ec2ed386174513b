"""What is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import click

from treeanon.algorithms.algorithm import merged_parameters
from treeanon.algorithms.table.registry import PERMUTED_DEFAULT, TABLE_ALGORITHMS, TABLE_DEFAULT, table_algorithm_named
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS, TREE_DEFAULT
from treeanon.cli.html_page import PageAsked
from treeanon.cli.options import MODEL_PARAMETERS, Sectioned, model_options, reduce_option
from treeanon.cli.params import OPTIONS, search_options
from treeanon.cli.reading import Reading

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
            return self.algorithm in TABLE_ALGORITHMS
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
        if "effort" in own and table_algorithm_named(algorithm).takes("effort"):
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


_TAKEN = (*SHARED, "seed", "max_suppressed")
"""Options of searches of tables that the command has anyhow."""


_CHOICES = {
    name: click.Choice(one.choices) for name, one in merged_parameters(TREE_ALGORITHMS.built_in.values()).items()
}


class Releasing(Sectioned):
    """A command that makes a release: its options by what they are about, then the searches."""

    sections: ClassVar = {
        "What must hold": ("k", *MODEL_PARAMETERS),
        "The search": ("algorithm", "max_suppressed", "max_loss", "weights", "effort"),
        "Trees": (
            "m", "n", "attacker", "negative", "recoding", "objective", "g", "closed", "scope", "complete", "mining",
        ),
        "Tables (CSV and Parquet, or records made one row a person)": (
            "reduced", "publish", "release", "rest", *(name for name in OPTIONS if name not in _TAKEN),
        ),
        "Input and output": (
            "schema", "output", "target_format", "source_format", "solution", "html", "audience", "force",
            "engine", "sample",
        ),
    }  # fmt: skip

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, then the searches."""
        super().format_options(ctx, formatter)
        with formatter.section(f"Searches of trees (-a; {TREE_DEFAULT} unless named)"):
            formatter.write_dl([(one.name, one.summary) for one in TREE_ALGORITHMS.values()])
        defaults = f"{TABLE_DEFAULT} unless named; for --publish permuted {PERMUTED_DEFAULT}"
        with formatter.section(f"Searches of tables (-a; {defaults})"):
            formatter.write_dl([(one.name, one.summary) for one in TABLE_ALGORITHMS.values()])


def _weights(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, float] | None:
    """CLASS=NUMBER, any number of times."""
    weights = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            equals = ""
        if not equals or not name or not 0 <= weights[name] < float("inf"):
            raise click.BadParameter("must be CLASS=NUMBER, for example diagnosis=5", ctx, option)
    return weights or None


_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option(
        "-k", type=int, metavar="N", help="Nobody can be told from fewer than N persons (--max-loss: the least)."
    ),
    click.option("-m", type=int, metavar="N", help="Values an attacker may know of a person.  [default: 2]"),
    click.option("-n", type=int, metavar="N", help="Relations between them they may know.  [default: 1]"),
    click.option(
        "--attacker",
        type=click.Choice(["independent", "joint"]),
        default="independent",
        show_default=True,
        help="joint: they also know that relations speak of the same nodes.",
    ),
    model_options,
    click.option("--negative", multiple=True, metavar="CLASS", help="They may also know what of CLASS a person lacks."),
    click.option(
        "--algorithm",
        "-a",
        type=click.Choice([*TREE_ALGORITHMS, *TABLE_ALGORITHMS]),
        metavar="NAME",
        help="How the release is found: one of the searches below.",
    ),
    click.option("--recoding", type=_CHOICES["recoding"], help="sibling: let frequent values out of a general one."),
    click.option("--objective", type=_CHOICES["objective"], help="What the search makes as small as it can."),
    click.option(
        "--weight",
        "weights",
        multiple=True,
        callback=_weights,
        metavar="CLASS=N",
        help="What is dearer than the rest (1).",
    ),
    click.option("--effort", metavar="N|Ns", help="How long to search: 1 is usual, 2 twice as long; 30s: for so long."),
    click.option("--g", "g", type=int, metavar="N", help="gcs, ocs: cuts to keep in each step."),
    click.option("--closed", type=_CHOICES["closed"], help="acs, gcs, ocs: what is not tried again."),
    click.option("--scope", type=_CHOICES["scope"], help="acs, gcs, ocs: where RPDa counts the nodes of a level."),
    click.option("--complete", is_flag=True, help="acs, gcs, ocs: carry the cut on to a maximal one."),
    reduce_option,
    click.option(
        "--publish",
        type=click.Choice(["generalized", "permuted"]),
        help="permuted: quasi values as they are, and apart from the rows how often each group has each sensitive"
        " value; that hides whose a value is, not who is there: -k is then the size of groups.  [default: generalized]",
    ),
    search_options(*_TAKEN),
    click.option("--max-suppressed", default="0", metavar="N|N%", help="Persons that may be left out as outliers."),
    click.option("--max-loss", type=float, metavar="X", help="The largest k whose value loss (0 to 1) is at most X."),
)

_ALL = ("k", "algorithm", "max_suppressed")

_OF_TREES = ("m", "n", "attacker", "negative", "recoding", "objective", "g", "closed", "scope", "complete")

_OF_TABLES = (*MODEL_PARAMETERS, "reduced", "publish", *(name for name in OPTIONS if name not in _TAKEN))


class Asking(TypedDict):
    """What these options say, as `Asked` has it."""

    k: int | None
    algorithm: str | None
    max_suppressed: str
    options: dict[str, Any]
    trees: dict[str, Any]


def asking_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of every command that makes a release, which is given them together, as `asking`."""

    @wraps(command)
    def gathered(*args: Any, **given: Any) -> Any:
        asking = {name: given.pop(name) for name in _ALL}
        asking["trees"] = {name: given.pop(name) for name in _OF_TREES}
        asking["options"] = {name: given.pop(name) for name in (*_OF_TABLES, *SHARED)}
        return command(*args, asking=asking, **given)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


def models_of_options(k: int | None, given: Mapping[str, Any]) -> Any:
    """The models that options ask for."""
    from treeanon.privacy.models.registry import models_of

    return models_of(k, **{name: given[name] for name in MODEL_PARAMETERS if given.get(name) is not None})


def asks_for_table(given: Mapping[str, Any]) -> bool:
    """Whether an option asks for what only tables can have."""
    return any(given.get(name) is not None for name in ("c", "alpha", "t", "p")) or (
        given.get("diversity") in ("entropy", "recursive") or isinstance(given.get("l"), dict)
    )


def trees_asked(asked: Asked) -> Request:
    """The release of trees that is asked for; an error for what only tables have."""
    if asked.k is None and asked.options["max_loss"] is None:
        raise click.UsageError("Missing option '-k': the number of persons that nobody can be told apart among.")
    least, diversity = _diversity(asked.options)
    return asked.records(
        least, diversity, algorithm=asked.algorithm or TREE_DEFAULT, max_suppressed=asked.max_suppressed,
        max_loss=asked.options["max_loss"],
    )  # fmt: skip


def _diversity(given: Mapping[str, Any]) -> tuple[int | None, Any]:
    """The diversity asked of trees; an error for what only tables have."""
    mine = {"l", "diversity", "emd", "release", *SHARED}
    if asks_for_table(given):
        raise click.UsageError("--c, --alpha, --t, --p, and --l with a class or of another form, are for tables")
    others = [name for name, value in given.items() if value and name not in mine]
    if others or given["release"] != "table":
        names = ", ".join("--" + name.replace("_", "-") for name in (others or ["release"]))
        raise click.UsageError(f"{names}: only searches of tables have that; they are: {', '.join(TABLE_ALGORITHMS)}")
    return given["l"], given["diversity"]
