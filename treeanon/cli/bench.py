"""`treeanon bench`: repeat published experiments on synthetic tables and trees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.options import force_option, output_option, printing_options
from treeanon.cli.printing import print_result, progress_bar, say

if TYPE_CHECKING:
    from treeanon.bench.figures import Measure
    from treeanon.bench.run import FigureResult, Projections

Command = Callable[..., Any]

_ROWS = click.option(
    "--rows",
    "-n",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Number of rows of the table.",
)
_SEED = click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the synthetic values."
)


_FOLDER = click.option(
    "--output", "-o", metavar="FOLDER", help="Write each figure as CSV and SVG, and all as text, to a folder."
)


def _figures(default: str) -> Callable[[Command], Command]:
    return click.option("--figures", default=default, show_default=True, metavar="N-N,N", help="Figures to reproduce.")


def _limit(text: str) -> Callable[[Command], Command]:
    seconds = click.FloatRange(0, min_open=True)
    return click.option("--limit", type=seconds, default=60.0, show_default=True, metavar="S", help=text)


@click.group()
def command() -> None:
    """Repeat published experiments on synthetic tables and trees, or write such a table."""


@command.command(short_help="Repeat the experiments of the TODS 2009 framework.")
@_ROWS
@_figures("22-36")
@_FOLDER
@click.option(
    "--loss",
    type=click.Choice(["gcp", "gcp_set", "il1", "ilmax", "average_ncp", "maximum_ncp", "maximum_share", "volume"]),
    default="gcp",
    show_default=True,
    help="Loss metric of the figures of GCP.",
)
@click.option(
    "--projections",
    type=click.Choice(["all", "first"]),
    default="all",
    show_default=True,
    help="Of fewer columns than seven: the mean over all choices of them, or the first ones.",
)
@_limit("Time limit of a search in seconds; slower ones are skipped.")
@force_option
@_SEED
@printing_options
def flat(
    rows: int,
    figures: str,
    output: str | None,
    loss: Measure,
    projections: Projections,
    limit: float,
    force: bool,
    seed: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Repeat the experiments of the TODS 2009 framework for tables: loss, time, accuracy first, queries.

    Figures have the paper's numbers and panels: k-anonymity (22-24), ℓ-diversity (25-27), correlation (28), other
    losses (29-31), the accuracy-constrained problem (32-34), and group-by queries (35, 36), each printed as a table;
    under them, which of the paper's claims hold. Every release is verified. Compare shapes and ratios: the tables are
    synthetic and smaller. A search that exceeds --limit has a note in place of its number.

    \b
    treeanon bench flat --rows 20000 --figures 22,26 -o figures
    """
    from treeanon.bench.figures import FIGURES
    from treeanon.bench.output import all_as_text, write_figures
    from treeanon.bench.run import chosen, run
    from treeanon.io.output import refuse_existing

    wanted = chosen(figures, FIGURES)
    if output is not None:
        refuse_existing(output, force=force)
    with progress_bar("searching", quiet=quiet) as progress:
        done = run(wanted, rows, projections=projections, seed=seed, loss=loss, limit=limit, progress=progress)
    if output is not None:
        write_figures(done, output, force=force)
        say(f"{len(done)} panels written to {output}", quiet=quiet)
    if not as_json and not quiet:
        click.echo(all_as_text(done))
    print_result(_counts(done, rows, seed, output), as_json=as_json)


@command.command(short_help="Repeat the experiments on k^(m,n)-anonymity.")
@click.option(
    "--records",
    "-n",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Number of records of the collection.",
)
@_figures("15-21")
@click.option(
    "--parquet",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="TPC-H tables (tpchgen-cli parquet); without it, an invented collection of their shape.",
)
@_FOLDER
@_limit("Time limit of ACS, GCS and OCS in seconds; they end with the best so far.")
@force_option
@_SEED
@printing_options
def trees(
    records: int,
    figures: str,
    parquet: Path | None,
    output: str | None,
    limit: float,
    force: bool,
    seed: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Repeat the experiments of the paper on k^(m,n)-anonymity: losses and time of ACS, GCS, OCS and MiRaCle.

    Figures have the paper's numbers: GCS against its beam (15, 16), ACS and GCS over the records (17), and against k,
    m, n and the records RPD (18), ML² (19), dML² (20) and time (21), each printed as a table, with the default search
    beside the paper's; under them, which of the paper's claims hold. Every release is verified, for the guarantee as
    published.

    \b
    treeanon bench trees --records 2000 --figures 15,18 -o figures
    """
    from treeanon.bench.output import all_as_text, write_figures
    from treeanon.bench.run import chosen
    from treeanon.bench.tree_figures import FIGURES, run_trees
    from treeanon.io.output import refuse_existing

    wanted = chosen(figures, FIGURES)
    if output is not None:
        refuse_existing(output, force=force)
    with progress_bar("searching", quiet=quiet) as progress:
        data, done = run_trees(wanted, records, parquet=parquet, seed=seed, limit=limit, progress=progress)
    if output is not None:
        write_figures(done, output, data.sentence, force=force)
        say(f"{len(done)} panels written to {output}", quiet=quiet)
    if not as_json and not quiet:
        click.echo(f"{data.sentence}\n\n{all_as_text(done)}")
    counts = _counts(done, records, seed, output)
    counts["records"] = counts.pop("rows")
    print_result({**counts, "data": vars(data)}, as_json=as_json)


@command.command(short_help="Write a synthetic census with its schema.")
@_ROWS
@output_option
@click.option(
    "--sensitive",
    type=click.Choice(["occupation", "salary_class"]),
    default="occupation",
    show_default=True,
    help="Sensitive column; the schema does not publish the other one.",
)
@force_option
@_SEED
@printing_options
def census(rows: int, output: str, sensitive: str, force: bool, seed: int, quiet: bool, as_json: bool) -> None:
    """Write a synthetic census: a table (.csv, .parquet) with its schema and hierarchies beside it.

    \b
    treeanon bench census -n 30000 -o census.csv
    """
    from treeanon.bench.invented import census as invented
    from treeanon.bench.output import write_table_and_schema

    table = invented(rows, seed, sensitive=None)
    files = write_table_and_schema(table, Path(output), sensitive=sensitive, force=force, seed=seed)
    say(f"{rows:,} rows written to {output}, with the schema {files[1]} and {len(files) - 2} hierarchies", quiet=quiet)
    print_result({"rows": rows, "columns": len(table.columns), "seed": seed, "files": files}, as_json=as_json)


def _counts(done: list[FigureResult], rows: int, seed: int, output: str | None) -> dict[str, object]:
    from treeanon.bench.output import told

    figures, claims = [drawn.as_dict() for drawn in done], [one.as_dict() for one in told(done)]
    return {"rows": rows, "seed": seed, "output": output, "figures": figures, "claims": claims}
