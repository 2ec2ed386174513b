"""`treeanon anonymize`: a release of which nobody can be singled out, checked before it appears."""

from __future__ import annotations

import click

from treeanon.cli.anonymize_documents import anonymize_documents
from treeanon.cli.anonymize_permuted import anonymize_permuted
from treeanon.cli.anonymize_spark import EngineAsked, anonymize_spark, engine_options
from treeanon.cli.anonymize_table import anonymize_table
from treeanon.cli.anonymize_trees import anonymize_trees
from treeanon.cli.checks_and_texts import refuse_own_input
from treeanon.cli.html_page import PageAsked, page_options
from treeanon.cli.request import Asked
from treeanon.cli.request_options import Asking, Releasing, asking_options
from treeanon.cli.shared import (
    Reading,
    force_option,
    output_option,
    reading_options,
    refuse_two_on_stdout,
    schema_option,
    seed_option,
    talking_options,
)


@click.command(cls=Releasing)
@click.argument("source", metavar="INPUT")
@schema_option
@output_option
@asking_options
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
@click.option("--solution", metavar="FILE", help="Also write what was done, for `treeanon apply`. Not for publishing.")
@click.option("--mining", is_flag=True, help="Also measure ML2 and dML2: the frequent subtrees that are lost.")
@click.option("--to", "target_format", metavar="FORMAT", help="Format of the output, if its name does not tell.")
@page_options
@engine_options
@force_option
@seed_option
@reading_options
@talking_options
def command(
    source: str,
    schema: str,
    output: str,
    asking: Asking,
    release: str,
    rest: str | None,
    solution: str | None,
    mining: bool,
    target_format: str | None,
    page: PageAsked,
    engine: EngineAsked,
    force: bool,
    seed: int | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
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
    treeanon anonymize patients.xml -s schema.toml -k 5 -o out.xml --html page.html
    treeanon anonymize people.csv -s schema.toml -k 5 --l 3 --max-suppressed 1% -o out.csv
    treeanon anonymize patients.xml -s schema.toml -a samarati -k 5 --reduce disease=set -o out.csv
    treeanon anonymize patients.xml -s schema.toml -a samarati -k 5 --release documents -o out.xml
    treeanon anonymize people.csv -s schema.toml --publish permuted --l 3 --diversity frequency -o out/
    treeanon anonymize patients.ndjson -s schema.toml -k 5 --engine spark -o out/
    """
    refuse_two_on_stdout(output, as_json=as_json)
    refuse_own_input([source, schema], [output, solution, page.target])
    from treeanon.schema import Schema

    asking["options"] |= {"release": release, "rest": rest}
    asked = Asked(
        source=source, schema=Schema.load(schema), output=output, solution=solution, target_format=target_format,
        force=force, seed=seed, quiet=quiet, as_json=as_json, mining=mining, reading=reading, page=page, **asking,
    )  # fmt: skip
    if engine.name == "spark":
        anonymize_spark(asked, engine)
    elif not asked.is_table:
        anonymize_trees(asked)
    elif asked.options["publish"] == "permuted":
        anonymize_permuted(asked)
    elif release == "documents":
        anonymize_documents(asked)
    else:
        anonymize_table(asked)
