"""`treeanon anonymize`: a release of which nobody can be singled out, checked before it appears."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import click

from treeanon.algorithms.flat.options import OPTIONS
from treeanon.algorithms.flat.registry import FLAT_ALGORITHMS, FLAT_DEFAULT, PERMUTED_DEFAULT
from treeanon.algorithms.registry import ALGORITHMS, CLOSED, DEFAULT, OBJECTIVES, RECODINGS, SCOPES
from treeanon.cli.anonymize_documents import anonymize_documents
from treeanon.cli.anonymize_permuted import anonymize_permuted
from treeanon.cli.anonymize_table import anonymize_table
from treeanon.cli.anonymize_trees import anonymize_trees
from treeanon.cli.asked import SHARED, Asked
from treeanon.cli.common import (
    Reading,
    force_option,
    output_option,
    reading_options,
    refuse_two_on_stdout,
    schema_option,
    seed_option,
    talking_options,
)
from treeanon.cli.releasing import refuse_own_input
from treeanon.cli.table_options import (
    MODEL_PARAMETERS,
    Sectioned,
    asks_for_table,
    model_options,
    reduce_option,
    search_options,
)

_TAKEN = (*SHARED, "seed", "max_suppressed")
"""Options of searches of tables that the command has anyhow."""


class _Anonymize(Sectioned):
    """The options by what they are about."""

    sections: ClassVar = {
        "What must hold": ("k", *MODEL_PARAMETERS),
        "The search": ("algorithm", "max_suppressed", "max_loss", "weights", "effort"),
        "Trees": (
            "m", "n", "attacker", "negative", "recoding", "objective", "g", "closed", "scope", "complete", "mining",
        ),
        "Tables (CSV and Parquet, or records made one row a person)": (
            "reduced", "publish", "release", "rest", *(name for name in OPTIONS if name not in _TAKEN),
        ),
        "Input and output": ("schema", "output", "target_format", "source_format", "solution", "force"),
    }  # fmt: skip

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, then the searches."""
        super().format_options(ctx, formatter)
        with formatter.section(f"Searches of trees (-a; {DEFAULT} unless named)"):
            formatter.write_dl([(one.name, one.help) for one in ALGORITHMS.values()])
        defaults = f"{FLAT_DEFAULT} unless named; for --publish permuted {PERMUTED_DEFAULT}"
        with formatter.section(f"Searches of tables (-a; {defaults})"):
            formatter.write_dl([(one.name, one.help) for one in FLAT_ALGORITHMS.values()])


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


@click.command(cls=_Anonymize)
@click.argument("source", metavar="INPUT")
@schema_option
@output_option
@click.option("-k", type=int, metavar="N", help="Nobody can be told from fewer than N persons (--max-loss: the least).")
@click.option("-m", type=int, metavar="N", help="Values an attacker may know of a person.  [default: 2]")
@click.option("-n", type=int, metavar="N", help="Relations between them they may know.  [default: 1]")
@click.option(
    "--attacker",
    type=click.Choice(["independent", "joint"]),
    default="independent",
    show_default=True,
    help="joint: they also know that relations speak of the same nodes.",
)
@model_options
@click.option("--negative", multiple=True, metavar="CLASS", help="They may also know what of CLASS a person lacks.")
@click.option(
    "--algorithm",
    "-a",
    type=click.Choice([*ALGORITHMS, *FLAT_ALGORITHMS]),
    metavar="NAME",
    help="How the release is found: one of the searches below.",
)
@click.option("--recoding", type=click.Choice(RECODINGS), help="sibling: let frequent values out of a general one.")
@click.option("--objective", type=click.Choice(OBJECTIVES), help="What the search makes as small as it can.")
@click.option(
    "--weight", "weights", multiple=True, callback=_weights, metavar="CLASS=N", help="What is dearer than the rest (1)."
)
@click.option("--effort", metavar="N|Ns", help="How long to search: 1 is usual, 2 twice as long; 30s: for so long.")
@click.option("--g", "g", type=int, metavar="N", help="gcs, ocs: cuts to keep in each step.")
@click.option("--closed", type=click.Choice(CLOSED), help="acs, gcs, ocs: what is not tried again.")
@click.option("--scope", type=click.Choice(SCOPES), help="acs, gcs, ocs: where RPDa counts the nodes of a level.")
@click.option("--complete", is_flag=True, help="acs, gcs, ocs: carry the cut on to a maximal one.")
@reduce_option
@click.option(
    "--publish",
    type=click.Choice(["generalized", "permuted"]),
    help="permuted: quasi values as they are, and apart from the rows how often each group has each sensitive value;"
    " that hides whose a value is, not who is there: -k is then the size of groups.  [default: generalized]",
)
@click.option(
    "--release",
    type=click.Choice(["table", "documents"]),
    default="table",
    show_default=True,
    help="documents: the records again, with what the table has made of the classes of the person.",
)
@click.option(
    "--rest",
    type=click.Choice(["drop", "anonymize"]),
    help="documents: leave out what a person has several times [default], or make the whole trees safe by -m and -n.",
)
@search_options(*_TAKEN)
@click.option("--max-suppressed", default="0", metavar="N|N%", help="Persons that may be left out as outliers.")
@click.option("--max-loss", type=float, metavar="X", help="The largest k whose value loss (0 to 1) is at most X.")
@click.option("--solution", metavar="FILE", help="Also write what was done, for `treeanon apply`. Not for publishing.")
@click.option("--mining", is_flag=True, help="Also measure ML2 and dML2: the frequent subtrees that are lost.")
@click.option("--to", "target_format", metavar="FORMAT", help="Format of the output, if its name does not tell.")
@force_option
@seed_option
@reading_options
@talking_options
def command(
    source: str,
    schema: str,
    output: str,
    k: int | None,
    m: int | None,
    n: int | None,
    attacker: Literal["independent", "joint"],
    negative: tuple[str, ...],
    algorithm: str | None,
    recoding: str | None,
    objective: str | None,
    weights: dict[str, float] | None,
    effort: str | None,
    g: int | None,
    closed: str | None,
    scope: str | None,
    complete: bool,
    max_suppressed: str,
    max_loss: float | None,
    solution: str | None,
    mining: bool,
    target_format: str | None,
    force: bool,
    seed: int | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
    **of_tables: Any,
) -> None:
    """Publish records so that nobody can be singled out, and check what was written before it appears.

    Whoever knows up to M values of a person, and up to N relations between them (this diagnosis in that hospital),
    finds no person in the output, or at least K. Values become more general, and relations are taken apart, as little
    as the search can. If that cannot be reached, or the check fails, there is no output and the exit code is 1.

    Of a table (CSV, Parquet; or any records with one of the searches of tables) a row is a person, and whoever knows
    all of the quasi columns finds at least K rows alike. Sensitive columns can be protected by more models.

    \b
    treeanon anonymize patients.xml -s schema.toml -k 5 -m 2 -n 1 -o out.xml
    treeanon anonymize patients.xml -s schema.toml -k 5 -o out.xml --solution out.solution.json
    treeanon anonymize people.csv -s schema.toml -k 5 --l 3 --max-suppressed 1% -o out.csv
    treeanon anonymize patients.xml -s schema.toml -a samarati -k 5 --reduce disease=set -o out.csv
    treeanon anonymize patients.xml -s schema.toml -a samarati -k 5 --release documents -o out.xml
    treeanon anonymize people.csv -s schema.toml --publish permuted --l 3 --diversity frequency -o out/
    """
    refuse_two_on_stdout(output, as_json=as_json)
    refuse_own_input([source, schema], [output, solution])
    from treeanon.schema import Schema

    loaded = Schema.load(schema)
    asked = Asked(
        source, loaded, output, k, algorithm, max_suppressed, solution, target_format, force, seed, quiet, as_json,
        mining,
        options={**of_tables, "weights": weights, "effort": effort, "max_loss": max_loss},
        trees={
            "m": m, "n": n, "attacker": attacker, "negative": negative, "recoding": recoding, "objective": objective,
            "g": g, "closed": closed, "scope": scope, "complete": complete,
        },
        reading=reading,
    )  # fmt: skip
    if not _is_table(asked):
        anonymize_trees(asked)
    elif of_tables["publish"] == "permuted":
        anonymize_permuted(asked)
    elif of_tables["release"] == "documents":
        anonymize_documents(asked)
    else:
        anonymize_table(asked)


def _is_table(asked: Asked) -> bool:
    """Whether a release of a table is asked for: by the search, by a model that only tables have, or by the input."""
    from treeanon.io.reading import input_format
    from treeanon.schema.model import FLAT

    given, trees = asked.options, asked.trees
    if asked.algorithm is not None:
        return asked.algorithm in FLAT_ALGORITHMS
    if asks_for_table(given) or given["reduced"] or given["publish"] or given["release"] == "documents":
        return True
    of_trees = trees["m"] is not None or trees["n"] is not None or trees["negative"]
    return not of_trees and input_format(asked.source, asked.schema, asked.reading["format"]).name in FLAT
